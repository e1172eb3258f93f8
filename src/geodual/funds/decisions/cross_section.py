"""The funds of one day: which belong to the universe, and their standardised factors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array

from ..sources.reading.fund_facts import FundFacts
from ..sources.reading.quality import LONG_STALE_ROWS
from .fund_history import FundHistory

_LIMIT = 3.0  # z-scores are clipped to ±3, so that one outlier cannot dominate a distance


@dataclass(frozen=True, eq=False)
class CrossSection:
    """The universe of one day with its standardised factors.

    Attributes
    ----------
    day : Timestamp
        The day.
    funds : Index
        Funds that may be chosen: with a value on that day, a history long enough for every factor, a NAV that
        moves, and no better share class.
    features : array of shape (n_funds, n_factors)
        z-scores across these funds, clipped to ±3; 0 where a factor is missing.
    known : array of shape (n_funds,)
        Share of the factors of each fund that are not missing.
    left_out : Series of str
        Why the other funds may not be chosen, by fund.
    """

    day: pd.Timestamp
    funds: pd.Index[str]
    features: Array
    known: Array
    left_out: pd.Series[str]

    @property
    def coverage(self) -> float:
        """Share of all factors of all funds that are not missing; 0 without funds."""
        return float(self.known.mean()) if len(self.known) else 0.0


@dataclass(frozen=True, eq=False)
class Membership:
    """Who belongs to the universe of a day.

    Attributes
    ----------
    values_needed : int
        Number of values that a fund must have before every factor is defined.
    facts : FundFacts, optional
        If given, one share class per group belongs to it: the cheapest; of several, that with the longest
        history up to the day.
    """

    values_needed: int
    facts: FundFacts | None = None


def take_cross_section(
    funds: pd.Index[str],
    day: pd.Timestamp,
    history: FundHistory,
    row: int,
    factors: Array,
    membership: Membership,
) -> CrossSection:
    """Return the universe of a day, without looking at later rows.

    Parameters
    ----------
    funds : Index
        All funds.
    day : Timestamp
        The day.
    history : FundHistory
        The past of these funds.
    row : int
        Position of the day in it.
    factors : array of shape (n_funds, n_factors)
        Factors of the day.
    membership : Membership
        Who belongs to the universe.
    """
    known = np.isfinite(factors).mean(axis=1) if factors.shape[1] else np.ones(len(funds))
    why = np.full(len(funds), "", dtype=object)
    for reasons in _exclusions(day, history, row, membership):
        why = np.where(why == "", reasons, why)
    if membership.facts is not None:
        why = _leave_one_class(funds, why, history.n_values[row], membership.facts)
    member = why == ""
    left_out = pd.Series(why[~member], index=funds[~member], dtype=object)
    return CrossSection(day, funds[member], standardised(factors[member]), known[member], left_out)


def _exclusions(
    day: pd.Timestamp, history: FundHistory, row: int, membership: Membership
) -> Iterator[NDArray[np.object_]]:
    """Yield the reasons against each fund, "" if there is none; the first reason counts."""
    needed, n_values, n_still = membership.values_needed, history.n_values[row], history.n_still[row]
    yield np.where(history.has_value[row], "", f"no value on {day.date()}").astype(object)
    yield _reasons(n_values < needed, lambda at: f"{n_values[at]} values, {needed} are needed")
    # Such a fund is not priced any more; its factors would say that it has no risk.
    yield _reasons(
        n_still >= LONG_STALE_ROWS, lambda at: f"no change in {n_still[at]} values while other funds moved"
    )


def _reasons(applies: NDArray[np.bool_], say: Callable[[int], str]) -> NDArray[np.object_]:
    reasons = np.full(len(applies), "", dtype=object)
    for at in np.flatnonzero(applies).tolist():
        reasons[at] = say(at)
    return reasons


def _leave_one_class(
    funds: pd.Index[str], why: NDArray[np.object_], n_values: Array, facts: FundFacts
) -> NDArray[np.object_]:
    """Return the reasons, with all but one of the share classes of a group left out."""
    eligible = pd.Series(n_values, index=funds)[why == ""]
    chosen = facts.one_per_group(eligible)
    by_group = {facts.groups[fund]: fund for fund in chosen if fund in facts.groups}
    other = ~funds.isin(chosen) & (why == "")
    reasons = why.copy()
    for at in np.flatnonzero(other).tolist():
        reasons[at] = f"another share class of it is chosen, {by_group[facts.groups[funds[at]]]}"
    return reasons


def standardised(raw: Array) -> Array:
    """Return z-scores by column, clipped to ±3; 0 where a value is missing or a column is constant."""
    known = np.isfinite(raw)
    count = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, raw, 0.0)
    centred = np.where(known, raw - centred.sum(axis=0) / count, 0.0)
    # Scaling by the largest value first keeps the squares from overflowing or vanishing.
    size = np.maximum(np.abs(centred).max(axis=0, initial=0.0), np.finfo(float).tiny)
    spread = size * np.sqrt(np.square(centred / size).sum(axis=0) / count)
    # A spread that is only rounding error means that the column is constant.
    negligible = spread <= 1e-12 * np.abs(np.where(known, raw, 0.0)).max(axis=0, initial=0.0)
    scores = centred / np.where(negligible | (spread == 0.0), np.inf, spread)
    return np.asarray(np.clip(scores, -_LIMIT, _LIMIT))
