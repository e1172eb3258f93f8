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
from ..evaluation.skill import MOMENTUM
from ..evaluation.statistics import FEWEST
from ..evaluation.track_record import SelectionTables
from ..forecasters.registry import UNIVERSE, forecaster_label
from .wording import (
    TERMS,
    count_terms,
    count_things,
    format_day,
    format_equal_p,
    format_number,
    format_percent,
    join_words,
    name_factor,
)

_ALIKE = 0.8  # mean correlation from which the picks are nearly one bet
_LARGE = 0.5  # share of the portfolio in one type or company that is named
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
        Answer("What to buy?", *_say_what(selection, case)),
        Answer("Why?", *_say_why(selection, case)),
        Answer("After fees, what did it earn?", *_say_earned(case)),
        Answer("At what risk?", *_say_risk(case)),
        Answer("Against which peers and index?", *_say_against(selection, case)),
        Answer("How sure is that?", *_say_sure(selection, case)),
        Answer("What speaks against it?", *_say_doubts(selection, case)),
    ]


def label_of(curve: str, case: PickCase) -> str:
    """Return what a curve stands for: the portfolio, the index, all funds, or momentum."""
    names = {PICKS: "This strategy", INDEX: case.index_name, UNIVERSE: "All funds with equal weights"}
    return names.get(curve) or forecaster_label(curve)


def _inside(curve: str, case: PickCase) -> str:
    """Return the label of a curve within a sentence."""
    label = label_of(curve, case)
    return label if curve == INDEX else label[0].lower() + label[1:]


def _say_what(selection: SelectionTables, case: PickCase) -> tuple[str, str]:
    weights = selection.picks["weight"]
    if weights.empty:
        return "No fund.", ""
    if np.allclose(weights, weights.iloc[0]):
        each = " each" if len(weights) > 1 else ""
        return (
            f"{count_things(len(weights), 'fund')}, {format_percent(weights.iloc[0])} of the money{each}",
            "",
        )
    shown = f"{format_percent(weights.min())} to {format_percent(weights.max())}"
    return f"{count_things(len(weights), 'fund')}, each with {shown} of the money", ""


def _say_why(selection: SelectionTables, case: PickCase) -> tuple[str, str]:
    label, term = forecaster_label(selection.forecaster), TERMS[case.config.frequency]
    way = f"{label} forecasts the next {term}"
    if len(selection.neighbors):
        way += f" from the {case.config.k} past cases most like each fund"
    top = f"the {len(selection.picks)} best" if len(selection.picks) > 1 else "the best"
    held = " within the limits" if _is_limited(case) else ""
    main = Counter(selection.reasons.loc[selection.reasons["view"] != "apart", "factor"]).most_common(_NAMED)
    names = "; ".join(name_factor(factor, selection.factor_labels) for factor, _ in main)
    counted = f"Most often decisive: {names}." if names else ""
    return f"{way}; {top} of {case.n_funds:,} funds{held} are bought.", counted


def _is_limited(case: PickCase) -> bool:
    config = case.config
    return bool(config.keep_rank or config.min_holding) or min(config.max_type, config.max_company) < 1.0


def _say_earned(case: PickCase) -> tuple[str, str]:
    record = case.record
    measures = record.measures(case.risk_free)
    if PICKS not in measures.index:
        return "There is no past decision with a known outcome.", ""
    own, cost = measures.loc[PICKS], record.yearly_cost
    decided = count_things(len(record.intervals), "past decision")
    net = ", net of all costs." if cost > 0.0 else "; no costs were set."
    lead = f"{format_percent(own['annual_return'])} per year{net}"
    span = f"{format_day(own['first'])} to {format_day(own['last'])}, {decided}."
    return lead, span + tell_range(case)


def tell_range(case: PickCase) -> str:
    """Return the range of past outcomes, turnover and costs of the strategy in words, as far as known."""
    record, term = case.record, TERMS[case.config.frequency]
    (low, high), text = record.range, ""
    if not np.isnan(low):
        text += f" In 80\u202f% of the {term}s it earned {format_percent(low)} to {format_percent(high)}."
    if not np.isnan(record.turnover):
        cost = f"Costs took {format_percent(record.yearly_cost, 2)} per year, with"
        share = f"{format_percent(record.turnover, 0)} exchanged per {term}."
        text += f" {cost if record.yearly_cost > 0.0 else 'On average'} {share}"
    return text


def _say_risk(case: PickCase) -> tuple[str, str]:
    measures = case.record.measures(case.risk_free)
    told = []
    if PICKS in measures.index:
        told.append(f"Strategy: {_risk(measures.T[PICKS])}.")
    own = measure_mixed(case)
    if own is not None:
        told.append(f"These picks together, over the last {count_years(own['years'])}: {_risk(own)}.")
    if not np.isnan(alike := mean_correlation(case.correlations)):
        told.append(f"They move together with a mean correlation of {format_number(alike, 2)}.")
    return (told[0], " ".join(told[1:])) if told else ("It is not known.", "")


def _risk(row: pd.Series[float]) -> str:
    return (
        f"deepest loss {format_percent(row['max_drawdown'])}, worst quarter "
        f"{format_percent(row['worst_quarter'])}, volatility {format_percent(row['volatility'])}"
    )


def count_years(years: float) -> str:
    """Return "3 years" or "1.4 years"."""
    is_whole = years > 1.5 and abs(years - round(years)) < _NEAR
    return f"{years:.{0 if is_whole else 1}f} years"


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
        return "There is nothing to compare with.", ""
    shown = [f"{_inside(name, case)} {format_percent(measures['annual_return'][name])}" for name in rivals]
    wins = []
    for name in rivals:
        won, known = case.record.wins(name)
        wins.append(f"{_inside(name, case)} in {won} of {known}")
    lead = f"{format_percent(measures['annual_return'][PICKS])} per year against {join_words(shown)}."
    text = f"By {TERMS[case.config.frequency]}, it earned more than {join_words(wins)}."
    warning = warn_of_beta(selection.record.beta, case.index_name)
    return lead, " ".join(filter(None, [text + _tell_index(measures, case), warning]))


def _tell_index(measures: pd.DataFrame, case: PickCase) -> str:
    """Return a sentence if there is no index, or if it does not cover the days of the portfolio."""
    if INDEX not in measures.index:
        return " No index was given."
    own, index = measures.loc[PICKS], measures.loc[INDEX]
    if (index["first"], index["last"]) == (own["first"], own["last"]):
        return ""
    span = f"{format_day(index['first'])} to {format_day(index['last'])}"
    return f" {case.index_name} has levels from {span} only."


def _say_sure(selection: SelectionTables, case: PickCase) -> tuple[str, str]:
    record, terms = selection.record, count_terms(selection.record.n, case.config.frequency)
    if not record.n:
        return "It cannot be judged: no forecast has come due.", ""
    if record.n < FEWEST:
        return "It is too early to tell.", f"{terms} are too few to judge."
    lead = "The forecasts ranked funds better than chance."
    if not record.is_evidence:
        lead = "Not shown: it may be chance." if record.ic > 0.0 else "No: the mean IC is not above zero."
    points = (
        f"{_points(record.excess)} (95\u202f% {_points(record.excess_low)} to {_points(record.excess_high)})"
    )
    ic = "" if np.isnan(record.ic) else f"Mean IC {format_number(record.ic, 2)} over {terms}, "
    p = "" if np.isnan(record.p) else f"{format_equal_p(record.p)} after correction for the choice; "
    return lead, f"{ic}{p}{points} points per {TERMS[case.config.frequency]} over the average fund, net."


def _points(share: float) -> str:
    return format_number(100.0 * share, 1)


def _say_doubts(selection: SelectionTables, case: PickCase) -> tuple[str, str]:
    cautions = list_cautions(selection, case)
    if not cautions:
        return "Nothing was found.", "Past returns say little about future returns."
    more = len(cautions) - _NAMED
    rest = f" {count_things(more, 'more reason')} below." if more > 0 else ""
    return cautions[0], " ".join(cautions[1:_NAMED]) + rest


def list_cautions(selection: SelectionTables, case: PickCase) -> list[str]:
    """Return the reasons for caution, the weightiest first, each a sentence.

    Parameters
    ----------
    selection : SelectionTables
        The picks; its notes come after what is found here.
    case : PickCase
        What speaks for and against them.
    """
    return [
        *_behind(case),
        *_concentrated(selection, case),
        *_doubtful(selection),
        *selection.notes,
    ]


def _behind(case: PickCase) -> Iterator[str]:
    """Tell of what needs no forecasts and earned more."""
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
            yield f"{label_of(name, case)} earned {ahead} points per year more."


def _concentrated(selection: SelectionTables, case: PickCase) -> Iterator[str]:
    """Tell of picks that move together, or share a type or a company."""
    if (alike := mean_correlation(case.correlations)) >= _ALIKE:
        yield f"The picks are nearly one bet: their mean correlation is {format_number(alike, 2)}."
    if len(selection.picks) < 2:
        return
    for word, of_fund in (("type", _types(selection)), ("company", _companies(selection))):
        shares = selection.picks["weight"].groupby(of_fund).sum()
        shares = shares[shares.index != ""]
        if len(shares) and shares.max() >= _LARGE:
            yield f"{format_percent(shares.max(), 0)} of the money is in one {word}, {shares.idxmax()}."


def _types(selection: SelectionTables) -> list[str]:
    known = selection.picks.get("type", pd.Series("", index=selection.picks.index))
    return ["" if pd.isna(kind) else str(kind) for kind in known]


def _companies(selection: SelectionTables) -> list[str]:
    companies = {} if selection.facts is None else selection.facts.companies
    return [companies.get(fund, "") for fund in selection.picks["fund"]]


def _doubtful(selection: SelectionTables) -> Iterator[str]:
    """Tell of picks with findings in their data, or with unknown factors."""
    for pick in selection.picks.to_dict("records"):
        if isinstance(finding := pick.get("finding"), str) and finding:
            yield f"{pick['fund']}: {finding}"
        if pick.get("known", 1.0) < _KNOWN:
            share = format_percent(pick["known"], 0)
            yield f"{pick['fund']}: only {share} of its factors are known; the others count as average."
