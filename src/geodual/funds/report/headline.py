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
from ..language import phrase, reword, say, say_all
from .wording import (
    PERIOD_PHRASES,
    count_terms,
    format_equal_p,
    format_number,
    join_words,
    name_forecaster,
    name_term,
)

LEVEL = 0.05  # of significance
_TYPES_NAMED = 3  # types of funds
_LEAST_NAMED = 0.05  # share of a type
_EXPLAIN_IC = phrase("The IC is the rank correlation of forecasts and returns: 0 is no skill, 1 is perfect.")
_TOO_SHORT = phrase("the record is too short to tell this from chance")
_MORE = phrase("more than chance alone would produce ({evidence})")
_WITHIN = phrase("within what chance alone would produce ({evidence})")


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
    sentences : tuple of str
        The headline: what speaks against the index, what did best, and how it compares with the baselines.
    notes : tuple of str
        Sentences that put the headline into proportion.
    """

    period: str
    best: str
    verdict: str
    sentences: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The headline in one paragraph."""
        return say_all(*self.sentences)


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
        sentence = say(
            "No {term} with a forecast has ended yet, so no forecaster can be judged.",
            term=name_term(frequency),
        )
        return Headline("both", "", say("It cannot be judged yet."), (sentence,), ())
    period = study.judged_period
    rows = pd.DataFrame(table.loc[period])
    means = rows["ic_mean"]
    order = rank_by_ic(study.ic.loc[study.decided(period), list(study.config.compared)])
    best = order[0]
    n = int(rows["n"][best])
    told = {
        "period": say(PERIOD_PHRASES[period]),
        "forecaster": name_forecaster(best),
        "number": format_number(means[best]),
        "terms": count_terms(n, frequency),
    }
    if len(order) == 1:
        sentence = say("{period} {forecaster} had a mean IC of {number} over {terms}.", **told)
    else:
        sentence = say_all(
            say("{period} {forecaster} did best, with a mean IC of {number} over {terms}.", **told),
            _describe_lead(order, study, period),
        )
    warning = _warn_of_index(study, period, best)
    sentences = (*([warning] if warning else []), *_add_baseline(sentence, study, period))
    notes = (
        _judge_ic(study, period, best, rows.T[best]),
        *_compare_periods(study, best, period),
        say(_EXPLAIN_IC),
    )
    return Headline(period, best, _give_verdict(study, period, best, n), sentences, notes)


def _warn_of_index(study: StudyTables, period: str, best: str) -> str:
    """Return the sentence that comes first if the portfolio of a forecaster and the index are not alike."""
    warning = warn_of_beta(float(study.against_index["beta"].get((period, best), np.nan)), study.index_name)
    if not warning:
        return ""
    types = pd.DataFrame() if study.exposure.empty else study.exposure.xs(best, level="forecaster")
    shares = pd.Series(types.mean()).sort_values(ascending=False).head(_TYPES_NAMED)
    held = join_words([f"{share:.0%} {kind}" for kind, share in shares.items() if share >= _LEAST_NAMED])
    return say_all(reword(warning), say("It held {types} on average.", types=held) if held else "")


def _give_verdict(study: StudyTables, period: str, best: str, n: int) -> str:
    """Return whether the forecasts rank funds better than chance; yes only if the corrected p says so."""
    mean, p = study.skill["ic_mean"][period, best], study.skill["p"][period, best]
    if n < FEWEST or pd.isna(p):
        return say("It is too early to tell.")
    if not mean > 0.0:
        return say("No: even the best mean IC is not above zero.")
    if p < LEVEL:
        return say("Its forecasts ranked funds better than chance.")
    return say("Not shown: the result may well be chance.")


def _add_baseline(sentence: str, study: StudyTables, period: str) -> tuple[str, ...]:
    """Return the headline, with the best of what was learned against the best baseline."""
    rivals = study.best_against_baseline(period)
    if rivals is None:
        return (sentence,)
    own, mean = format_number(rivals.learned_ic), format_number(rivals.baseline_ic)
    told = {
        "forecaster": name_forecaster(rivals.learned),
        "other": name_forecaster(rivals.baseline),
        "lead": format_number(abs(rivals.difference)),
        "verdict": _judge_baseline(rivals),
        "terms": count_terms(rivals.n, study.config.frequency),
    }
    # A baseline over 12 months has an IC on fewer days.
    fewer = rivals.n < int(study.table()["n"][period, rivals.learned])
    shared = count_terms(rivals.n_shared, study.config.frequency)
    chosen = say(_CHOSEN, terms=shared) if rivals.is_topped and rivals.n_shared < rivals.n else ""
    if rivals.difference >= 0.0:
        return sentence, say_all(say(_ABOVE[fewer], **told, own=own, mean=mean), chosen)
    told |= {"period": say(PERIOD_PHRASES[period]), "mean": mean}
    lead = say("This is {lead} above {forecaster}, the best of what was learned: {verdict}.", **told)
    best = say_all(say(_BELOW[fewer], **told), chosen, lead)
    return best, say("Without the baselines: {sentence}", sentence=sentence)


# By whether the baseline has an IC on fewer days.
_ABOVE = {
    False: phrase("{forecaster} is {lead} above the best baseline, {other} ({mean}): {verdict}."),
    True: phrase(
        "{forecaster} is {lead} above the best baseline, {other} over the {terms} that both have ({own} "
        "against {mean}): {verdict}."
    ),
}
_BELOW = {
    False: phrase("{period} a baseline that learns nothing did best: {other}, with a mean IC of {mean}."),
    True: phrase(
        "{period} a baseline that learns nothing did best: {other}, with a mean IC of {mean} over the "
        "{terms} that both have."
    ),
}


# Where a table shows a higher mean IC of another baseline, over fewer days.
_CHOSEN = phrase("The best is chosen over the {terms} that all of them have.")


def _judge_baseline(rivals: AgainstBaseline) -> str:
    """Return in words whether the difference to the best baseline is more than chance."""
    if rivals.n < FEWEST or np.isnan(rivals.p):
        return say(_TOO_SHORT)
    # of the lead: that of the baseline, if it is ahead
    low, high = (rivals.low, rivals.high) if rivals.difference >= 0.0 else (-rivals.high, -rivals.low)
    evidence = say(
        "{p}; 95\u202f% interval {low} to {high}; both corrected for the choice",
        p=format_equal_p(rivals.p),
        low=format_number(low),
        high=format_number(high),
    )
    return say(_MORE if rivals.p < LEVEL else _WITHIN, evidence=evidence)


def _describe_lead(order: list[str], study: StudyTables, period: str) -> str:
    """Return the lead of the first forecaster over the second and the baseline, and whether it is chance."""
    comparisons = pd.DataFrame(study.comparisons_by_period.loc[period])
    best, second = order[:2]
    # Name the baseline, too, unless it is one of the two.
    rivals = [second] if BASELINE in (best, second) or BASELINE not in order else [second, BASELINE]
    differences, p_values = zip(*(_difference(comparisons, best, rival) for rival in rivals), strict=True)
    n = int(comparisons["n"].min())
    leads = [
        say(_role(rival, second), lead=format_number(difference), forecaster=name_forecaster(rival))
        for rival, difference in zip(rivals, differences, strict=True)
    ]
    # Settings that were tried count as forecasters of their own: they give more pairs to compare.
    n_pairs = comb(study.n_choices(period), 2)
    factor = max(1.0, n_pairs / len(comparisons))
    verdict = _judge(rivals, factor * np.array(p_values), n_pairs) if n >= FEWEST else say(_TOO_SHORT)
    return say("This is {leads}: {verdict}.", leads=join_words(leads), verdict=verdict)


def _role(rival: str, second: str) -> str:
    """Return how to say the lead over a rival: the next best, the plain distance, or both."""
    if rival != BASELINE:
        return phrase("{lead} above {forecaster} (next best)")
    if rival != second:
        return phrase("{lead} above {forecaster} (plain distance)")
    return phrase("{lead} above {forecaster} (next best, and the plain distance)")


def _difference(comparisons: pd.DataFrame, best: str, rival: str) -> tuple[float, float]:
    """Return the mean IC of one forecaster minus that of another, and the corrected p-value."""
    # Each pair is compared once, in the order of the forecasters: turn the sign if it is the other way round.
    sign = 1.0 if (best, rival) in comparisons.index else -1.0
    pair = (best, rival) if sign > 0.0 else (rival, best)
    return sign * comparisons["difference"][pair], comparisons["p_holm"][pair]


def _judge(rivals: list[str], p_values: np.ndarray, n_tests: int) -> str:
    """Return in words whether the leads are more than chance, with their p-values."""
    if np.isnan(p_values).any():  # too few values for a test
        return say(_TOO_SHORT)
    evidence = join_words([format_equal_p(min(p, 1.0)) for p in p_values])
    if n_tests > 1:
        evidence = say("{p}, Holm-corrected for {n} comparisons", p=evidence, n=n_tests)
    clear = [rival for rival, p in zip(rivals, p_values, strict=True) if p < LEVEL]
    if len(clear) == len(rivals) or not clear:
        return say(_MORE if clear else _WITHIN, evidence=evidence)
    return say(
        "only the lead over {forecaster} is more than chance alone would produce ({evidence})",
        forecaster=name_forecaster(clear[0]),
        evidence=evidence,
    )


def _judge_ic(study: StudyTables, period: str, best: str, row: pd.Series[float]) -> str:
    """Return whether the mean IC of the best forecaster differs from zero, the choice of the best counted."""
    p, choices = study.skill["p"][period, best], study.n_choices(period)
    if pd.isna(p):
        return say("There are too few values to tell whether its IC differs from zero.")
    clear = p < LEVEL and row["n"] >= FEWEST
    told = {"p": format_equal_p(p), "low": format_number(row["low"]), "high": format_number(row["high"])}
    if choices == 1:
        return say(_DIFFERS if clear else _DIFFERS_NOT, **told)
    return say(_DIFFERS_CHOSEN if clear else _DIFFERS_NOT_CHOSEN, **told, n=choices)


_DIFFERS = phrase("Its IC differs from zero ({p}; 95\u202f% interval {low} to {high}).")
_DIFFERS_NOT = phrase("Its IC does not clearly differ from zero ({p}; 95\u202f% interval {low} to {high}).")
_DIFFERS_CHOSEN = phrase(
    "Its IC differs from zero ({p}, corrected for the choice among {n}; 95\u202f% interval without this "
    "correction {low} to {high})."
)
_DIFFERS_NOT_CHOSEN = phrase(
    "Its IC does not clearly differ from zero ({p}, corrected for the choice among {n}; 95\u202f% interval "
    "without this correction {low} to {high})."
)


def _compare_periods(study: StudyTables, best: str, period: str) -> list[str]:
    """Return notes on the two periods apart: whether the forecaster is as good, or the best, in each."""
    if study.known_periods != ("validation", "test", "both"):
        return []
    table, frequency = study.table(), study.config.frequency
    means = {part: table["ic_mean"][part, best] for part in ("validation", "test")}
    notes = []
    if period == "both":
        counted = [count_terms(int(table["n"][part, best]), frequency) for part in means]
        notes = [
            say(
                "In the validation period its mean IC was {first} over {terms}; in the test period its mean "
                "IC was {second} over {others}.",
                first=format_number(means["validation"]),
                terms=counted[0],
                second=format_number(means["test"]),
                others=counted[1],
            )
        ]
    for part in ("validation", *(("test",) if period == "both" else ())):
        first = str(table.loc[part]["ic_mean"].idxmax())
        if first != best:
            told = {"period": say(PERIOD_PHRASES[part]), "forecaster": name_forecaster(first)}
            notes.append(say("{period} {forecaster} was best instead.", **told))
    return notes
