"""The headline of a report: which forecaster did best, by how much, and whether that is more than chance."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
import pandas as pd

from geodual.metric.registry import BASELINE

from ..evaluation.alike import warn_of_beta
from ..evaluation.skill import AgainstBaseline
from ..evaluation.statistics import FEWEST, rank_by_ic
from ..evaluation.study_tables import StudyTables
from ..forecasters.registry import forecaster_label
from .wording import (
    PERIOD_PHRASES,
    TERMS,
    count_terms,
    format_equal_p,
    format_number,
    join_words,
)

LEVEL = 0.05  # of significance
_TYPES_NAMED = 3  # types of funds
_LEAST_NAMED = 0.05  # share of a type
_EXPLAIN_IC = "The IC is the rank correlation of forecasts and returns: 0 is no skill, 1 is perfect."
_TOO_SHORT = "the record is too short to tell this from chance"


@dataclass(frozen=True)
class Headline:
    """The main result of a study in words.

    Attributes
    ----------
    period : str
        The period that the headline is about: "both", or "test" if settings were tuned before it.
    best : str
        The forecaster with the highest mean IC in that period, `Study.strategy`, or "" if there are no ICs.
    verdict : str
        Whether the forecasts of this forecaster rank funds better than chance, in a few words.
    sentence : str
        The headline.
    notes : tuple of str
        Sentences that put the headline into proportion.
    """

    period: str
    best: str
    verdict: str
    sentence: str
    notes: tuple[str, ...]


def write_headline(study: StudyTables) -> Headline:
    """Say which forecaster did best by mean IC, by how much, and whether that is more than chance.

    Decisions are out of sample, so all of them count; where settings were tuned, those after the validation
    period. All claims are corrected for the choice among forecasters and, where they were tried on the same
    period, among settings.

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
        sentence = f"No {TERMS[frequency]} with a forecast has ended yet, so no forecaster can be judged."
        return Headline("both", "", "It cannot be judged yet.", sentence, ())
    period = study.judged_period
    rows = pd.DataFrame(table.loc[period])
    means = rows["ic_mean"]
    order = rank_by_ic(study.ic.loc[study.decided(period), list(study.config.compared)])
    best = order[0]
    n = int(rows["n"][best])
    mean, phrase, terms = format_number(means[best]), PERIOD_PHRASES[period], count_terms(n, frequency)
    if len(order) == 1:
        sentence = f"{phrase} {forecaster_label(best)} had a mean IC of {mean} over {terms}."
    else:
        lead = _describe_lead(order, study, period)
        sentence = (
            f"{phrase} {forecaster_label(best)} did best, with a mean IC of {mean} over {terms}. {lead}."
        )
    sentence = _warn_of_index(study, period, best) + _add_baseline(sentence, study, period)
    notes = (
        _judge_ic(study, period, best, rows.T[best]),
        *_compare_periods(study, best, period),
        _EXPLAIN_IC,
    )
    return Headline(period, best, _give_verdict(study, period, best, n), sentence, notes)


def _warn_of_index(study: StudyTables, period: str, best: str) -> str:
    """Return the sentence that comes first if the portfolio of a forecaster and the index are not alike."""
    warning = warn_of_beta(float(study.against_index["beta"].get((period, best), np.nan)), study.index_name)
    if not warning:
        return ""
    types = pd.DataFrame() if study.exposure.empty else study.exposure.xs(best, level="forecaster")
    shares = pd.Series(types.mean()).sort_values(ascending=False).head(_TYPES_NAMED)
    held = join_words([f"{share:.0%} {kind}" for kind, share in shares.items() if share >= _LEAST_NAMED])
    return f"{warning} {f'It held {held} on average. ' if held else ''}"


def _give_verdict(study: StudyTables, period: str, best: str, n: int) -> str:
    """Return whether the forecasts rank funds better than chance; yes only if the corrected p says so."""
    mean, p = study.skill["ic_mean"][period, best], study.skill["p"][period, best]
    if n < FEWEST or pd.isna(p):
        return "It is too early to tell."
    if not mean > 0.0:
        return "No: even the best mean IC is not above zero."
    if p < LEVEL:
        return "Its forecasts ranked funds better than chance."
    return "Not shown: the result may well be chance."


def _add_baseline(sentence: str, study: StudyTables, period: str) -> str:
    """Return the headline, with the best of what was learned against the best baseline."""
    rivals = study.best_against_baseline(period)
    if rivals is None:
        return sentence
    learned, baseline = forecaster_label(rivals.learned), forecaster_label(rivals.baseline)
    lead, verdict = format_number(abs(rivals.difference)), _judge_baseline(rivals)
    mean, own = format_number(rivals.baseline_ic), format_number(rivals.learned_ic)
    # A baseline over 12 months has an IC on fewer days.
    fewer = rivals.n < int(study.table()["n"][period, rivals.learned])
    terms = f" over the {count_terms(rivals.n, study.config.frequency)} that both have" if fewer else ""
    if rivals.difference >= 0.0:
        against = f"{own} against {mean}" if fewer else mean
        above = f"{lead} above the best baseline, {baseline}{terms} ({against})"
        return f"{sentence} {learned} is {above}: {verdict}."
    return (
        f"{PERIOD_PHRASES[period]} a baseline that learns nothing did best: {baseline}, with a mean IC of "
        f"{mean}{terms}. This is {lead} above {learned}, the best of what was learned: {verdict}. Without "
        f"the baselines: {sentence}"
    )


def _judge_baseline(rivals: AgainstBaseline) -> str:
    """Return in words whether the difference to the best baseline is more than chance."""
    if rivals.n < FEWEST or np.isnan(rivals.p):
        return _TOO_SHORT
    clear = "more than" if rivals.p < LEVEL else "within what"
    interval = f"{format_number(rivals.low)} to {format_number(rivals.high)}"
    evidence = f"{format_equal_p(rivals.p)}; 95\u202f% interval {interval}; both corrected for the choice"
    return f"{clear} chance alone would produce ({evidence})"


def _describe_lead(order: list[str], study: StudyTables, period: str) -> str:
    """Return the lead of the first forecaster over the second and the baseline, and whether it is chance."""
    comparisons = pd.DataFrame(study.comparisons_by_period.loc[period])
    best, second = order[:2]
    # Name the baseline, too, unless it is one of the two.
    rivals = [second] if BASELINE in (best, second) or BASELINE not in order else [second, BASELINE]
    differences, p_values = zip(*(_difference(comparisons, best, rival) for rival in rivals), strict=True)
    n = int(comparisons["n"].min())
    roles = {second: "next best", BASELINE: "plain distance"}
    if second == BASELINE:
        roles[second] = "next best, and the plain distance"
    leads = [
        f"{format_number(difference)} above {forecaster_label(rival)} ({roles[rival]})"
        for rival, difference in zip(rivals, differences, strict=True)
    ]
    # Settings that were tried count as forecasters of their own: they give more pairs to compare.
    n_pairs = comb(study.n_choices(period), 2)
    factor = max(1.0, n_pairs / len(comparisons))
    verdict = _judge(rivals, factor * np.array(p_values), n_pairs) if n >= FEWEST else _TOO_SHORT
    return f"This is {join_words(leads)}: {verdict}"


def _difference(comparisons: pd.DataFrame, best: str, rival: str) -> tuple[float, float]:
    """Return the mean IC of one forecaster minus that of another, and the corrected p-value."""
    # Each pair is compared once, in the order of the forecasters: turn the sign if it is the other way round.
    sign = 1.0 if (best, rival) in comparisons.index else -1.0
    pair = (best, rival) if sign > 0.0 else (rival, best)
    return sign * comparisons["difference"][pair], comparisons["p_holm"][pair]


def _judge(rivals: list[str], p_values: np.ndarray, n_tests: int) -> str:
    """Return in words whether the leads are more than chance, with their p-values."""
    if np.isnan(p_values).any():  # too few values for a test
        return _TOO_SHORT
    shown = join_words([format_equal_p(min(p, 1.0)) for p in p_values])
    evidence = shown + (f", Holm-corrected for {n_tests} comparisons" if n_tests > 1 else "")
    clear = [rival for rival, p in zip(rivals, p_values, strict=True) if p < LEVEL]
    if len(clear) == len(rivals):
        return f"more than chance alone would produce ({evidence})"
    if clear:
        rival = forecaster_label(clear[0])
        return f"only the lead over {rival} is more than chance alone would produce ({evidence})"
    return f"within what chance alone would produce ({evidence})"


def _judge_ic(study: StudyTables, period: str, best: str, row: pd.Series[float]) -> str:
    """Return whether the mean IC of the best forecaster differs from zero, the choice of the best counted."""
    p, choices = study.skill["p"][period, best], study.n_choices(period)
    if pd.isna(p):
        return "There are too few values to tell whether its IC differs from zero."
    clear = p < LEVEL and row["n"] >= FEWEST
    verdict = "differs" if clear else "does not clearly differ"
    interval = f"{format_number(row['low'])} to {format_number(row['high'])}"
    if choices == 1:
        return f"Its IC {verdict} from zero ({format_equal_p(p)}; 95\u202f% interval {interval})."
    return (
        f"Its IC {verdict} from zero ({format_equal_p(p)}, corrected for the choice among {choices}; "
        f"95\u202f% interval without this correction {interval})."
    )


def _compare_periods(study: StudyTables, best: str, period: str) -> list[str]:
    """Return notes on the two periods apart: whether the forecaster is as good, or the best, in each."""
    if study.known_periods != ("validation", "test", "both"):
        return []
    table, frequency = study.table(), study.config.frequency
    means = {part: table["ic_mean"][part, best] for part in ("validation", "test")}
    notes = []
    if period == "both":
        parts = [
            f"{PERIOD_PHRASES[part]} its mean IC was {format_number(mean)} over "
            f"{count_terms(int(table['n'][part, best]), frequency)}"
            for part, mean in means.items()
        ]
        notes = [f"{parts[0]}; {parts[1][0].lower()}{parts[1][1:]}."]
    for part in ("validation", *(("test",) if period == "both" else ())):
        first = str(table.loc[part]["ic_mean"].idxmax())
        if first != best:
            notes.append(f"{PERIOD_PHRASES[part]} {forecaster_label(first)} was best instead.")
    return notes
