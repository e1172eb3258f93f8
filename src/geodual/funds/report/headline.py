"""The headline of a report: which metric did best, by how much, and whether that is more than noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from geodual.metric.registry import BASELINE, metric_label

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

_LEVEL = 0.05
_FEW = 12
_LEAST = 8  # with fewer values no claim is made
_TOO_SHORT = "on too short a record to tell from noise"


@dataclass(frozen=True)
class Headline:
    """What a reader should take away.

    Attributes
    ----------
    period : str
        The period it is about: "test", or "both" where there is no test period.
    best : str
        The metric with the highest mean IC in it, or "" if none has one.
    sentence : str
        The headline.
    notes : tuple of str
        What puts it into proportion.
    """

    period: str
    best: str
    sentence: str
    notes: tuple[str, ...]


def write_headline(study: StudyTables) -> Headline:
    """Say which metric did best by mean IC, by how much, and whether that is more than noise.

    Parameters
    ----------
    study : StudyTables
        A finished study.
    """
    periods, frequency, table = study.known_periods, study.config.frequency, study.table()
    if not periods:
        sentence = f"No {TERMS[frequency]} with a forecast is over yet, so no metric can be judged."
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
        sentence = f"{phrase} {metric_label(best)} did best, with a mean IC of {mean} over {terms}: {lead}."
    notes = [
        *([] if period == "test" else [_explain_missing_test(study)]),
        _judge_ic(rows.T[best]),
        *_compare_with_validation(table, best, periods),
        _report_returns(rows, best, study),
        *_warn_of_few(n, frequency),
        *(finding.message for finding in study.findings if finding.kind == "survivorship"),
    ]
    return Headline(period, best, sentence, tuple(notes))


def _describe_lead(order: list[str], comparisons: pd.DataFrame) -> str:
    """Return by how much the first leads the second and the baseline, and whether that is more than noise."""
    best, second = order[:2]
    rivals = [second] if BASELINE in (best, second) or BASELINE not in order else [second, BASELINE]
    differences, p_values = zip(*(_difference(comparisons, best, rival) for rival in rivals), strict=True)
    n = int(comparisons["n"].min())
    roles = {second: "the next best", BASELINE: "the plain distance"}
    if second == BASELINE:
        roles[second] = "the next best and the plain distance"
    leads = [
        f"{format_number(difference)} above {metric_label(rival)} ({roles[rival]})"
        for rival, difference in zip(rivals, differences, strict=True)
    ]
    return f"{join_words(leads)}, {_judge(rivals, p_values, len(comparisons)) if n >= _LEAST else _TOO_SHORT}"


def _difference(comparisons: pd.DataFrame, best: str, rival: str) -> tuple[float, float]:
    """Return the mean IC of one metric less that of another, and its corrected p-value."""
    sign = 1.0 if (best, rival) in comparisons.index else -1.0
    pair = (best, rival) if sign > 0.0 else (rival, best)
    return sign * comparisons["difference"][pair], comparisons["p_holm"][pair]


def _judge(rivals: list[str], p_values: tuple[float, ...], n_tests: int) -> str:
    """Return whether differences are more than noise, in words, with their p-values."""
    if np.isnan(p_values).any():
        return _TOO_SHORT
    shown = join_words([_show_p(p) for p in p_values])
    evidence = shown + (f", Holm-corrected for {n_tests} comparisons" if n_tests > 1 else "")
    clear = [rival for rival, p in zip(rivals, p_values, strict=True) if p < _LEVEL]
    if len(clear) == len(rivals):
        return f"which is more than noise ({evidence})"
    if clear:
        return f"of which only the lead over {metric_label(clear[0])} is more than noise ({evidence})"
    return f"which is no more than noise could give ({evidence})"


def _show_p(p: float) -> str:
    text = format_p(p, 3 if p < 0.1 else 2)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _explain_missing_test(study: StudyTables) -> str:
    return (
        f"There is no test period: no return that is over begins on {study.config.test_start} or later. "
        "All figures are from the period on which choices may have been made."
    )


def _judge_ic(row: pd.Series[float]) -> str:
    """Return whether the mean IC itself differs from nil."""
    if pd.isna(row["t"]):
        return "Whether its IC differs from zero cannot be told from so few values."
    clear = row["low"] > 0.0 or row["high"] < 0.0
    verdict = "differs" if clear else "does not clearly differ"
    interval = f"{format_number(row['low'])} to {format_number(row['high'])}"
    return f"Its IC {verdict} from zero: 95 % interval {interval}, t = {format_number(row['t'], 1)}."


def _compare_with_validation(table: pd.DataFrame, best: str, periods: tuple[str, ...]) -> list[str]:
    """Return a note if another metric led on the validation period."""
    if periods != ("validation", "test", "both"):
        return []
    first = str(table.loc["validation"]["ic_mean"].idxmax())
    return [] if first == best else [f"On the validation period {metric_label(first)} was first instead."]


def _report_returns(rows: pd.DataFrame, best: str, study: StudyTables) -> str:
    """Return what the portfolio of the best metric earned, against the index and the best earner."""
    returns = rows["annual_return"]
    if pd.isna(returns[best]):
        return "Its portfolio has no return in this period."
    cost = (
        f"after a cost of {format_percent(study.config.cost, 2)}" if study.config.cost else "before any cost"
    )
    text = (
        f"Its portfolio returned {format_percent(returns[best])} a year {cost}, "
        f"the index {format_percent(returns['index'])}"
    )
    earner = str(returns.drop("index").idxmax())
    if earner == best:
        return f"{text}."
    return f"{text}; {metric_label(earner)} earned most, {format_percent(returns[earner])}."


def _warn_of_few(n: int, frequency: str) -> list[str]:
    if n >= _FEW:
        return []
    verb = "is" if n == 1 else "are"
    return [f"{count_terms(n, frequency)} {verb} few: p-values and intervals are optimistic."]
