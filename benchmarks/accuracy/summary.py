"""Tables of a study: scores, mean ranks, tests and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, studentized_range, wilcoxon

from ..timing import format_table
from .methods import Study

_LEAST_SECONDS = 1e-4  # shorter processor times are not accurate


@dataclass(frozen=True, eq=False)
class Results:
    """The measurements on some of the sets.

    Attributes
    ----------
    title : str
        Description of the sets.
    study : Study
        The methods and their comparisons.
    sets : list of str
        Names of the sets.
    scores : array of shape (n_sets, n_methods)
        Shares of correctly classified samples, or errors of regressors.
    seconds : array of shape (n_sets, n_methods)
        Processor times of a fit.
    """

    title: str
    study: Study
    sets: list[str]
    scores: NDArray[np.float64]
    seconds: NDArray[np.float64]

    def column(self, name: str) -> int:
        """Return the column of a method."""
        return list(self.study.methods).index(name)

    @property
    def merits(self) -> NDArray[np.float64]:
        """Merit of each method on each set: accuracy in percent, or minus the logarithm of the error."""
        return (-np.log(self.scores) if self.study.regression else 100.0 * self.scores).round(8)

    @property
    def ranks(self) -> NDArray[np.float64]:
        """Rank of each ranked method on each set; 1 is best, and equal merits share a rank."""
        ranked = [self.column(name) for name in self.study.ranked]
        return np.array([rankdata(-row) for row in self.merits[:, ranked]])

    @property
    def relative_seconds(self) -> NDArray[np.float64]:
        """Time of each method relative to that of `clock`, as the geometric mean over the sets."""
        spent = np.log(np.maximum(self.seconds, _LEAST_SECONDS))
        return np.asarray(np.exp((spent - spent[:, [self.column(self.study.clock)]]).mean(axis=0)))

    @property
    def levels(self) -> list[str]:
        """Mean accuracy of each method, or the geometric mean of its errors over those of `reference`."""
        if not self.study.regression:
            return [f"{value:.2f}" for value in self.merits.mean(axis=0)]
        gains = self.merits - self.merits[:, [self.column(self.study.reference)]]
        return [f"{value:.3f}" for value in np.exp(-gains.mean(axis=0))]


def critical_difference(n_methods: int, n_sets: int) -> float:
    """Return the smallest difference of mean ranks that is significant at 5 % by Nemenyi's test."""
    quantile = float(studentized_range.ppf(0.95, n_methods, np.inf)) / np.sqrt(2.0)
    return quantile * float(np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for the number of tests by Holm's method."""
    order = np.argsort(p_values)
    adjusted = np.empty(len(p_values))
    steps = np.asarray(p_values)[order] * np.arange(len(p_values), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(p) for p in adjusted]


def summary(results: Results) -> str:
    """Return the ranks, the tests and the times as text."""
    study, merits, levels = results.study, results.merits, results.levels
    ranks = dict(zip(study.ranked, results.ranks.mean(axis=0).tolist(), strict=True))
    better = (merits > merits[:, [results.column(study.reference)]]).sum(axis=0)
    rows = []
    for name in sorted(study.methods, key=lambda name: ranks.get(name, np.inf)):
        k = results.column(name)
        rank = f"{ranks[name]:.2f}" if name in ranks else "–"
        rows.append([name, rank, levels[k], str(better[k]), f"{results.relative_seconds[k]:.2g}"])
    score = "RMSE" if study.regression else "accuracy"
    meaning = (
        f"RMSE divided by that of {study.reference} (geometric mean)"
        if study.regression
        else "mean accuracy in percent"
    )
    head = (
        f"{results.title}: {len(results.sets)} sets. Mean rank of {len(study.ranked)} methods (1 is best), "
        f"{meaning},\nnumber of sets on which a method is better than {study.reference}, and processor time "
        f"of fits relative to {study.clock} (geometric mean).\nCritical difference of ranks "
        f"{critical_difference(len(study.ranked), len(results.sets)):.2f}."
    )
    table = format_table(["method", "rank", score, "better", "time"], rows)
    return "\n\n".join([head, table, *([_tests(results)] if study.ours in study.methods else [])])


def _tests(results: Results) -> str:
    study, merits = results.study, results.merits
    gaps = [
        (merits[:, results.column(study.ours)] - merits[:, results.column(rival)]).round(8)
        for rival in study.rivals
    ]
    raw = [float(wilcoxon(gap).pvalue) if gap.any() else 1.0 for gap in gaps]
    rows = [
        [
            rival,
            f"{np.exp(-gap.mean()):.3f}" if study.regression else f"{gap.mean():+.2f}",
            f"{(gap > 0).sum()}",
            f"{(gap < 0).sum()}",
            f"{p:.2g}",
            f"{q:.2g}",
        ]
        for rival, gap, p, q in zip(study.rivals, gaps, raw, holm(raw), strict=True)
    ]
    difference = "RMSE ratio" if study.regression else "points"
    return f"{study.ours} against, with Wilcoxon's signed-rank test and Holm's correction\n\n" + format_table(
        ["rival", difference, "won", "lost", "p", "p, Holm"], rows
    )


def scores(results: Results) -> str:
    """Return the score of every method on every set as text."""
    regression = results.study.regression
    values = results.scores if regression else 100.0 * results.scores
    rows = [
        [name, *(f"{value:.3f}" if regression else f"{value:.1f}" for value in row)]
        for name, row in zip(results.sets, values, strict=True)
    ]
    meaning = "RMSE over the standard deviation of the target" if regression else "accuracy in percent"
    return f"{results.title}: {meaning}\n\n" + format_table(["set", *results.study.methods], rows)
