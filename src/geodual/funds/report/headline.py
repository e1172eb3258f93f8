"""The headline of a report: which metric did best, by how much, and whether that is more than chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from geodual.metric.registry import BASELINE, find_metric, metric_label, metric_names

from ..evaluation.statistics import corrected_p
from ..evaluation.study_tables import StudyTables
from .wording import (
    PERIOD_PHRASES,
    TERMS,
    count_terms,
    format_number,
    format_p,
    format_percent,
    join_words,
)

_LEVEL = 0.05  # of significance
_FEW = 12  # with fewer values the reader is warned
_LEAST = 8  # with fewer values no claim is made
_TOO_SHORT = "the record is too short to tell this from chance"


@dataclass(frozen=True)
class Headline:
    """The main result of a study in words.

    Attributes
    ----------
    period : str
        The period that the headline is about: "test", or "both" if there is no test period.
    best : str
        The metric with the highest mean IC in that period, or "" if there are no ICs.
    sentence : str
        The headline.
    notes : tuple of str
        Sentences that put the headline into proportion.
    """

    period: str
    best: str
    sentence: str
    notes: tuple[str, ...]


def write_headline(study: StudyTables) -> Headline:
    """Say which metric did best by mean IC, by how much, and whether that is more than chance.

    Parameters
    ----------
    study : StudyTables
        A finished study.

    Returns
    -------
    Headline
    """
    periods, frequency, table = study.known_periods, study.config.frequency, study.table()
    if not periods:
        sentence = f"No {TERMS[frequency]} with a forecast has ended yet, so no metric can be judged."
        return Headline("both", "", sentence, ())
    period = "test" if "test" in periods else "both"
    rows = pd.DataFrame(table.loc[period])
    means = rows.loc[list(study.config.metrics), "ic_mean"].dropna()
    order = [str(name) for name in means.sort_values(ascending=False, kind="stable").index]
    best = order[0]
    n = int(rows["n"][best])
    mean, phrase, terms = format_number(means[best]), PERIOD_PHRASES[period], count_terms(n, frequency)
    if len(order) == 1:
        sentence = f"{phrase} {metric_label(best)} had a mean IC of {mean} over {terms}."
    else:
        lead = _describe_lead(order, pd.DataFrame(study.comparisons_by_period.loc[period]))
        sentence = f"{phrase} {metric_label(best)} did best, with a mean IC of {mean} over {terms}. {lead}."
    notes = [
        *([] if period == "test" else [_explain_missing_test(study)]),
        _judge_ic(study, period, best, rows.T[best]),
        *_compare_with_validation(table, best, periods),
        _report_returns(rows, best, study),
        *_warn_of_few(n, frequency),
        *(finding.message for finding in study.findings if finding.kind == "survivorship"),
    ]
    return Headline(period, best, sentence, tuple(notes))


def _describe_lead(order: list[str], comparisons: pd.DataFrame) -> str:
    """Return the lead of the first metric over the second and the baseline, and whether it is chance."""
    best, second = order[:2]
    # Name the baseline, too, unless it is one of the two.
    rivals = [second] if BASELINE in (best, second) or BASELINE not in order else [second, BASELINE]
    differences, p_values = zip(*(_difference(comparisons, best, rival) for rival in rivals), strict=True)
    n = int(comparisons["n"].min())
    roles = {second: "next best", BASELINE: "plain distance"}
    if second == BASELINE:
        roles[second] = "next best, and the plain distance"
    leads = [
        f"{format_number(difference)} above {metric_label(rival)} ({roles[rival]})"
        for rival, difference in zip(rivals, differences, strict=True)
    ]
    verdict = _judge(rivals, p_values, len(comparisons)) if n >= _LEAST else _TOO_SHORT
    return f"This is {join_words(leads)}: {verdict}"


def _difference(comparisons: pd.DataFrame, best: str, rival: str) -> tuple[float, float]:
    """Return the mean IC of one metric minus that of another, and the corrected p-value."""
    # Each pair is compared once, in the order of the metrics: turn the sign if it is the other way round.
    sign = 1.0 if (best, rival) in comparisons.index else -1.0
    pair = (best, rival) if sign > 0.0 else (rival, best)
    return sign * comparisons["difference"][pair], comparisons["p_holm"][pair]


def _judge(rivals: list[str], p_values: tuple[float, ...], n_tests: int) -> str:
    """Return in words whether the leads are more than chance, with their p-values."""
    if np.isnan(p_values).any():  # too few values for a test
        return _TOO_SHORT
    shown = join_words([_show_p(p) for p in p_values])
    evidence = shown + (f", Holm-corrected for {n_tests} comparisons" if n_tests > 1 else "")
    clear = [rival for rival, p in zip(rivals, p_values, strict=True) if p < _LEVEL]
    if len(clear) == len(rivals):
        return f"more than chance alone would produce ({evidence})"
    if clear:
        rival = metric_label(clear[0])
        return f"only the lead over {rival} is more than chance alone would produce ({evidence})"
    return f"within what chance alone would produce ({evidence})"


def _show_p(p: float) -> str:
    text = format_p(p, 3 if p < 0.1 else 2)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _explain_missing_test(study: StudyTables) -> str:
    term = TERMS[study.config.frequency]
    return (
        f"There is no test period: no forecast for a {term} from {study.config.test_start} on can be checked "
        "yet. All numbers come from the validation period, on which choices may have been based."
    )


def _judge_ic(study: StudyTables, period: str, best: str, row: pd.Series[float]) -> str:
    """Return whether the mean IC of the best metric differs from zero, the choice of the best counted."""
    choices = len(study.config.metrics)
    if study.config.tune and period != "test":  # the period on which settings were tried
        choices += sum(map(_count_candidates, study.chosen))
    p = corrected_p(study.ic.loc[study.decided(period), best], choices)
    if pd.isna(p):
        return "There are too few values to tell whether its IC differs from zero."
    verdict = "differs" if p < _LEVEL else "does not clearly differ"
    counted = f", corrected for the choice among {choices}" if choices > 1 else ""
    interval = f"95 % interval {format_number(row['low'])} to {format_number(row['high'])}"
    return f"Its IC {verdict} from zero ({_show_p(p)}{counted}; {interval})."


def _count_candidates(name: str) -> int:
    """Return how many settings tuning tried; at least one if the metric is not registered in this process."""
    return len(find_metric(name).grid) if name in metric_names() else 1


def _compare_with_validation(table: pd.DataFrame, best: str, periods: tuple[str, ...]) -> list[str]:
    """Return a note if another metric was best in the validation period."""
    if periods != ("validation", "test", "both"):
        return []
    first = str(table.loc["validation"]["ic_mean"].idxmax())
    return [] if first == best else [f"In the validation period {metric_label(first)} was best instead."]


def _report_returns(rows: pd.DataFrame, best: str, study: StudyTables) -> str:
    """Return what the portfolio of the best metric earned, next to the index and the best portfolio."""
    returns = rows["annual_return"]
    if pd.isna(returns[best]):
        return "Its portfolio has no return in this period."
    rate = study.config.cost
    cost = f"after trading costs of {format_percent(rate, 2)}" if rate else "before trading costs"
    text = (
        f"Its portfolio returned {format_percent(returns[best])} per year {cost}, "
        f"the index {format_percent(returns['index'])}"
    )
    earner = str(returns.drop("index").idxmax())
    if earner == best:
        return f"{text}."
    return f"{text}; {metric_label(earner)} earned most, {format_percent(returns[earner])}."


def _warn_of_few(n: int, frequency: str) -> list[str]:
    if n >= _FEW:
        return []
    return [f"With only {count_terms(n, frequency)}, p-values and intervals are too optimistic."]
