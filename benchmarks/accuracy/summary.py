"""Tables of the accuracy study: accuracies, mean ranks, tests and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, studentized_range, wilcoxon

from ..timing import format_table
from .methods import CLASSIFIERS, METRICS, OURS, RIVAL

_TESTED = (RIVAL, "ITML, all pairs", "ITML, local", "LMNN")  # the rivals that must be beaten
_LEAST_SECONDS = 1e-4  # shorter processor times are not measured well


@dataclass(frozen=True, eq=False)
class Half:
    """What was measured on one half of the sets.

    Attributes
    ----------
    title : str
        What the half is.
    sets : list of str
        Names of the sets.
    accuracy, seconds : array of shape (n_sets, n_methods, n_seeds, n_folds)
        Accuracies, and processor times of fits, of `METRICS` and then of `CLASSIFIERS`.
    """

    title: str
    sets: list[str]
    accuracy: NDArray[np.float64]
    seconds: NDArray[np.float64]

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean accuracy per set and method, in per cent."""
        return np.asarray(100.0 * self.accuracy.mean(axis=(2, 3)))

    @property
    def ranks(self) -> NDArray[np.float64]:
        """Rank of each metric on each set; 1 is best, and equal accuracies share a rank."""
        return np.array([rankdata(-row) for row in self.means[:, : len(METRICS)].round(8)])

    @property
    def relative_seconds(self) -> NDArray[np.float64]:
        """Time of each method relative to NCA, as the geometric mean over the sets."""
        spent = np.maximum(self.seconds.mean(axis=(2, 3)), _LEAST_SECONDS)
        rival = spent[:, list(METRICS).index(RIVAL)]
        return np.asarray(np.exp(np.log(spent / rival[:, None]).mean(axis=0)))


def critical_difference(n_methods: int, n_sets: int) -> float:
    """Return the difference of mean ranks that Nemenyi's test calls significant at 5 %."""
    quantile = float(studentized_range.ppf(0.95, n_methods, np.inf)) / np.sqrt(2.0)
    return quantile * float(np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values that are adjusted for the number of tests, by Holm's method."""
    order = np.argsort(p_values)
    adjusted = np.empty(len(p_values))
    steps = np.asarray(p_values)[order] * np.arange(len(p_values), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(p) for p in adjusted]


def summary(half: Half) -> str:
    """Return the ranks, the tests and the times of one half as text."""
    names, means, ranks = [*METRICS, *CLASSIFIERS], half.means, half.ranks
    order = [*np.argsort(ranks.mean(axis=0)).tolist(), *range(len(METRICS), len(names))]
    rows = [
        [
            names[k],
            f"{ranks[:, k].mean():.2f}" if k < len(METRICS) else "–",
            f"{means[:, k].mean():.2f}",
            f"{half.relative_seconds[k]:.2g}",
        ]
        for k in order
    ]
    head = (
        f"{half.title}: {len(half.sets)} sets. Mean rank of {len(METRICS)} metrics (1 is best), mean "
        f"accuracy in per cent,\nand processor time of fits relative to {RIVAL} (geometric mean). Critical "
        f"difference of ranks {critical_difference(len(METRICS), len(half.sets)):.2f}."
    )
    table = format_table(["method", "rank", "accuracy", "time"], rows)
    return f"{head}\n\n{table}\n\n{_tests(half)}"


def _tests(half: Half) -> str:
    names, means = [*METRICS, *CLASSIFIERS], half.means
    ours = means[:, names.index(OURS)]
    rivals = (*_TESTED, *CLASSIFIERS)
    gaps = [ours - means[:, names.index(rival)] for rival in rivals]
    raw = [float(wilcoxon(gap.round(8)).pvalue) if gap.round(8).any() else 1.0 for gap in gaps]
    rows = [
        [rival, f"{gap.mean():+.2f}", f"{(gap > 0).sum()}", f"{(gap < 0).sum()}", f"{p:.2g}", f"{q:.2g}"]
        for rival, gap, p, q in zip(rivals, gaps, raw, holm(raw), strict=True)
    ]
    return f"{OURS} against, with Wilcoxon's signed-rank test and Holm's correction\n\n" + format_table(
        ["rival", "points", "won", "lost", "p", "p, Holm"], rows
    )


def accuracies(half: Half) -> str:
    """Return the accuracy of every method on every set as text."""
    rows = [
        [name, *(f"{value:.1f}" for value in row)] for name, row in zip(half.sets, half.means, strict=True)
    ]
    return f"{half.title}: accuracy in per cent\n\n" + format_table(["set", *METRICS, *CLASSIFIERS], rows)
