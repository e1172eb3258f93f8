"""What a committee asks about some picks, in order, answered in a sentence or two each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..evaluation import performance
from ..evaluation.alike import warn_of_beta
from ..evaluation.case import INDEX, PICKS, PickCase, worst_quarter
from ..evaluation.concentration import CONCENTRATION
from ..evaluation.skill import MOMENTUM
from ..evaluation.statistics import FEWEST
from ..evaluation.track_record import SelectionTables
from ..forecasters.registry import UNIVERSE
from ..language import phrase, reword, say, say_all
from .wording import (
    count_terms,
    count_things,
    format_day,
    format_equal_p,
    format_number,
    format_percent,
    join_words,
    name_factor,
    name_forecaster,
    name_index,
    name_term,
    span_days,
)

# By frequency, because the plural of its word differs.
_RANGES = {
    "monthly": phrase("In 80\u202f% of the months it earned {low} to {high}."),
    "quarterly": phrase("In 80\u202f% of the quarters it earned {low} to {high}."),
    "yearly": phrase("In 80\u202f% of the years it earned {low} to {high}."),
}
_KNOWN = 0.9  # share of a fund's factors below which it is named
_NEAR = 0.03  # of a year: so near is a whole number of them
_NAMED = 3  # factors, or reasons, that an answer names


@dataclass(frozen=True)
class Answer:
    """A question of the committee, and the answer.

    Attributes
    ----------
    question : str
        The question.
    lead : str
        The answer in a few words, or its main number.
    text : str
        The rest of the answer.
    """

    question: str
    lead: str
    text: str = ""


def answer_all(selection: SelectionTables, case: PickCase) -> list[Answer]:
    """Return the seven answers in order; the first names the funds to buy."""
    return [
        Answer(
            say("What to buy?" if selection.orders is None else "What to buy and sell?"),
            *_say_what(selection, case),
        ),
        Answer(say("Why?"), *_say_why(selection, case)),
        Answer(say("After fees, what did it earn?"), *_say_earned(case)),
        Answer(say("At what risk?"), *_say_risk(case)),
        Answer(say("Against which peers and index?"), *_say_against(selection, case)),
        Answer(say("How sure is that?"), *_say_sure(selection, case)),
        Answer(say("What speaks against it?"), *_say_doubts(selection, case)),
    ]


def label_of(curve: str, case: PickCase) -> str:
    """Return what a curve stands for: the portfolio, the index, all funds, or momentum."""
    names = {
        PICKS: say("This strategy"),
        INDEX: name_index(case.index_name),
        UNIVERSE: say("All funds with equal weights"),
    }
    return names.get(curve) or name_forecaster(curve)


def _inside(curve: str, case: PickCase) -> str:
    """Return the label of a curve within a sentence."""
    label = label_of(curve, case)
    return label if curve == INDEX else label[0].lower() + label[1:]


def _say_what(selection: SelectionTables, case: PickCase) -> tuple[str, str]:
    weights = selection.picks["weight"]
    if weights.empty:
        return say("No fund."), ""
    counted = count_things(len(weights), "{n} fund", "{n} funds")
    least, most = format_percent(weights.min()), format_percent(weights.max())
    if not np.allclose(weights, weights.iloc[0]):
        lead = say("{funds}, each with {least} to {most} of the money", funds=counted, least=least, most=most)
        return lead, ""
    if len(weights) > 1:
        return say("{funds}, {share} of the money each", funds=counted, share=least), ""
    return say("{funds}, {share} of the money", funds=counted, share=least), ""


def _say_why(selection: SelectionTables, case: PickCase) -> tuple[str, str]:
    told = {"forecaster": name_forecaster(selection.forecaster), "term": name_term(case.config.frequency)}
    way = say("{forecaster} forecasts the next {term}", **told)
    if len(selection.neighbors):
        way = say(
            "{forecaster} forecasts the next {term} from the {n} past cases most like each fund",
            **told,
            n=case.config.k,
        )
    main = Counter(selection.reasons.loc[selection.reasons["view"] != "apart", "factor"]).most_common(_NAMED)
    names = say("; ").join(name_factor(factor, selection.factor_labels) for factor, _ in main)
    counted = say("Most often decisive: {factors}.", factors=names) if names else ""
    return _say_choice(way, len(selection.picks), case), counted


def _say_choice(way: str, n_picks: int, case: PickCase) -> str:
    """Return how the funds are chosen; `way` says how they are forecast."""
    told = {"way": way, "n": n_picks, "n_funds": case.n_funds}
    if case.config.keep_rank or case.config.min_holding:
        return say(
            "{way}; funds protected by the holding rules are kept, and then the best of {n_funds:,} are "
            "bought.",
            **told,
        )
    if n_picks > 1 and _is_limited(case):
        return say("{way}; the {n} best of {n_funds:,} funds within the limits are bought.", **told)
    if n_picks > 1:
        return say("{way}; the {n} best of {n_funds:,} funds are bought.", **told)
    if _is_limited(case):
        return say("{way}; the best of {n_funds:,} funds within the limits are bought.", **told)
    return say("{way}; the best of {n_funds:,} funds are bought.", **told)


def _is_limited(case: PickCase) -> bool:
    return min(case.config.max_type, case.config.max_company) < 1.0


def _say_earned(case: PickCase) -> tuple[str, str]:
    record = case.record
    measures = record.measures(case.risk_free)
    if PICKS not in measures.index:
        return say("There is no past decision with a known outcome."), ""
    own = measures.loc[PICKS]
    decided = count_things(len(record.intervals), "{n} past decision", "{n} past decisions")
    earned = format_percent(own["annual_return"])
    lead = say("{earned} per year; no costs were set.", earned=earned)
    if record.yearly_cost > 0.0:
        lead = say("{earned} per year, net of all costs.", earned=earned)
    span = say("{days}, {decisions}.", days=span_days(own["first"], own["last"]), decisions=decided)
    return lead, say_all(span, tell_range(case))


def tell_range(case: PickCase) -> str:
    """Return the range of past outcomes, turnover and costs of the strategy in words, as far as known."""
    record, frequency = case.record, case.config.frequency
    (low, high), told = record.range, []
    if not np.isnan(low):
        interval = {"low": format_percent(low), "high": format_percent(high)}
        told.append(say(_RANGES[frequency], **interval))
    if not np.isnan(record.turnover):
        share, term = format_percent(record.turnover, 0), name_term(frequency)
        if record.yearly_cost > 0.0:
            cost = format_percent(record.yearly_cost, 2)
            told.append(
                say(
                    "Costs took {cost} per year, with {share} exchanged per {term}.",
                    cost=cost,
                    share=share,
                    term=term,
                )
            )
        else:
            told.append(say("On average {share} exchanged per {term}.", share=share, term=term))
    return say_all(*told)


def _say_risk(case: PickCase) -> tuple[str, str]:
    measures = case.record.measures(case.risk_free)
    told = []
    if PICKS in measures.index:
        told.append(say("Strategy: {risk}.", risk=_risk(measures.T[PICKS])))
    own = measure_mixed(case)
    if own is not None:
        told.append(
            say(
                "These picks together, over the last {years}: {risk}.",
                years=count_years(own["years"]),
                risk=_risk(own),
            )
        )
    if not np.isnan(alike := mean_correlation(case.correlations)):
        told.append(
            say("They move together with a mean correlation of {number}.", number=format_number(alike, 2))
        )
    return (told[0], say_all(*told[1:])) if told else (say("It is not known."), "")


def _risk(row: pd.Series[float]) -> str:
    return say(
        "deepest loss {loss}, worst quarter {quarter}, volatility {volatility}",
        loss=format_percent(row["max_drawdown"]),
        quarter=format_percent(row["worst_quarter"]),
        volatility=format_percent(row["volatility"]),
    )


def count_years(years: float) -> str:
    """Return "3 years" or "1.4 years"."""
    is_whole = years > 1.5 and abs(years - round(years)) < _NEAR
    return say("{n} years", n=f"{years:.{0 if is_whole else 1}f}")


def measure_mixed(case: PickCase) -> pd.Series[float] | None:
    """Return the risk of the picks together, and over how many years; None without common values."""
    mixed = case.mixed
    if len(mixed) < 2:
        return None
    row = performance.portfolio_row(mixed) | {"worst_quarter": worst_quarter(mixed)}
    return pd.Series(row | {"years": performance.years_between(mixed.index)})


def mean_correlation(correlations: pd.DataFrame) -> float:
    """Return the mean correlation of different funds; NaN for fewer than two."""
    pairs = correlations.to_numpy(float)[np.triu_indices(len(correlations), 1)]
    known = pairs[~np.isnan(pairs)]
    return float(known.mean()) if len(known) else np.nan


def _say_against(selection: SelectionTables, case: PickCase) -> tuple[str, str]:
    measures = case.record.measures(case.risk_free)
    rivals = [name for name in (UNIVERSE, INDEX, MOMENTUM) if name in measures.index]
    if PICKS not in measures.index or not rivals:
        return say("There is nothing to compare with."), ""
    shown, wins = [], []
    for name in rivals:
        earned = format_percent(measures["annual_return"][name])
        shown.append(f"{_inside(name, case)} {earned}")
        won, known = case.record.wins(name)
        wins.append(say("{forecaster} in {n} of {n_all}", forecaster=_inside(name, case), n=won, n_all=known))
    lead = say(
        "{earned} per year against {others}.",
        earned=format_percent(measures["annual_return"][PICKS]),
        others=join_words(shown),
    )
    text = say(
        "By {term}, it earned more than {wins}.", term=name_term(case.config.frequency), wins=join_words(wins)
    )
    warning = reword(warn_of_beta(selection.record.beta, case.index_name))
    return lead, say_all(text, _tell_index(measures, case), warning)


def _tell_index(measures: pd.DataFrame, case: PickCase) -> str:
    """Return a sentence if there is no index, or if it does not cover the days of the portfolio."""
    if INDEX not in measures.index:
        return say("No index was given.")
    own, index = measures.loc[PICKS], measures.loc[INDEX]
    if (index["first"], index["last"]) == (own["first"], own["last"]):
        return ""
    return say(
        "{index} has levels from {first} to {last} only.",
        index=name_index(case.index_name),
        first=format_day(index["first"]),
        last=format_day(index["last"]),
    )


def _say_sure(selection: SelectionTables, case: PickCase) -> tuple[str, str]:
    record, frequency = selection.record, case.config.frequency
    terms = count_terms(record.n, frequency)
    if not record.n:
        return say("It cannot be judged: no forecast has come due."), ""
    if record.n < FEWEST:
        return say("It is too early to tell."), say("{terms} are too few to judge.", terms=terms)
    lead = say("The forecasts ranked funds better than chance.")
    if not record.is_evidence:
        lead = say("Not shown: it may be chance.")
        if not record.ic > 0.0:
            lead = say("No: the mean IC is not above zero.")
    told = [
        say(
            "{points} (95\u202f% {low} to {high}) points per {term} over the average fund, net.",
            points=_points(record.excess),
            low=_points(record.excess_low),
            high=_points(record.excess_high),
            term=name_term(frequency),
        )
    ]
    if not np.isnan(record.p):
        told.insert(0, say("{p} after correction for the choice; ", p=format_equal_p(record.p)))
    if not np.isnan(record.ic):
        ic = format_number(record.ic, 2)
        told.insert(0, say("Mean IC {number} over {terms}, ", number=ic, terms=terms))
    return lead, "".join(told)


def _points(share: float) -> str:
    return format_number(100.0 * share, 1)


def _say_doubts(selection: SelectionTables, case: PickCase) -> tuple[str, str]:
    cautions = list_cautions(selection, case)
    if not cautions:
        return say("Nothing was found."), say("Past returns say little about future returns.")
    more = len(cautions) - _NAMED
    rest = count_things(more, "{n} more reason below.", "{n} more reasons below.") if more > 0 else ""
    return cautions[0], say_all(*cautions[1:_NAMED], rest)


def list_cautions(selection: SelectionTables, case: PickCase) -> list[str]:
    """Return the reasons for caution, the weightiest first, each a sentence.

    Parameters
    ----------
    selection : SelectionTables
        The picks; its notes come after what is found here.
    case : PickCase
        What speaks for and against them.
    """
    concentrated = [note for note in selection.notes if note.startswith(CONCENTRATION)]
    return [
        *_behind(case),
        *map(reword, concentrated),
        *_doubtful(selection),
        *(reword(note) for note in selection.notes if note not in concentrated),
    ]


def _behind(case: PickCase) -> Iterator[str]:
    """Yield what needs no forecasts and earned more."""
    measures = case.record.measures(case.risk_free)
    if PICKS not in measures.index:
        return
    own = measures.loc[PICKS]
    for name in (UNIVERSE, MOMENTUM, INDEX):
        if name not in measures.index:
            continue
        row = measures.loc[name]
        same = (row["first"], row["last"]) == (own["first"], own["last"])
        if same and row["annual_return"] > own["annual_return"]:
            ahead = _points(measures["annual_return"][name] - measures["annual_return"][PICKS])
            yield say(
                "{forecaster} earned {points} points per year more.",
                forecaster=label_of(name, case),
                points=ahead,
            )


def _doubtful(selection: SelectionTables) -> Iterator[str]:
    """Yield picks with findings in their data, or with unknown factors."""
    for pick in selection.picks.to_dict("records"):
        if isinstance(finding := pick.get("finding"), str) and finding:
            yield say("{fund}: {finding}", fund=pick["fund"], finding=reword(finding))
        if pick.get("known", 1.0) < _KNOWN:
            share = format_percent(pick["known"], 0)
            yield say(
                "{fund}: only {share} of its factors are known; the others count as average.",
                fund=pick["fund"],
                share=share,
            )
