"""The funds that may be chosen: those that the settings leave, and of these the universe of a day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array, Indices
from geodual.errors import DataError

from ..calendar import DAYS_PER_YEAR, rows_in
from ..config import StudyConfig
from ..forecasters.peers import Groups, peer_groups, rows_of_groups
from ..language import phrase
from ..panel import Panel, fund_blocks
from ..sources.reading.fund_facts import FundFacts
from ..sources.reading.quality import LONG_STALE_ROWS

_SHOWN = 8  # types listed in an error
_LEAST_STILL = 3  # equal values on weekly and monthly tables; two may be chance
_LIMIT = 3.0  # z-scores are clipped to ±3, so that one outlier cannot dominate a distance


def filter_funds(panel: Panel, config: StudyConfig, facts: FundFacts) -> Panel:
    """Return a panel with the funds that `types`, `include` and `exclude` leave; the same one if all remain.

    Raises
    ------
    DataError
        If a setting matches no fund, or needs facts that are not known.
    """
    funds = list(panel.nav.columns)
    check_known(config, facts, funds)
    kept = set(funds)
    if config.types:
        kept &= _of_types(funds, config.types, facts.types)
    if config.include:
        kept &= _matching("include", config.include, funds, facts.names)
    if config.exclude:
        kept -= _matching("exclude", config.exclude, funds, facts.names)
    if len(kept) == len(funds):
        return panel
    if not kept:
        raise DataError(
            f"{panel.source}: `types`, `include` and `exclude` leave no fund; relax these settings."
        )
    return Panel(panel.nav[[fund for fund in funds if fund in kept]], panel.source, panel.findings)


def check_known(config: StudyConfig, facts: FundFacts, funds: Sequence[str]) -> None:
    """Raise if a setting asks for types or companies and these are known of no fund of the table."""
    by_type = config.types or config.settlement_lag or config.max_type < 1.0
    for needed, known, what in (
        (bool(by_type), facts.types, "types"),
        (config.max_company < 1.0, facts.companies, "companies"),
    ):
        if not needed or any(fund in known for fund in funds):
            continue
        if known:
            raise DataError(
                f"{facts.source}: the {what} belong to other funds, such as {next(iter(known))!r}, while "
                f"the NAV table has {funds[0]!r}. Write the codes as in the NAV table."
            )
        raise DataError(
            f"The settings ask for the {what} of funds, which are not known. Give fund facts with them "
            "(`facts` in Python, --meta in the command)."
        )


def _of_types(funds: Sequence[str], wanted: Sequence[str], types: Mapping[str, str]) -> set[str]:
    of_funds = {fund: types[fund] for fund in funds if fund in types}
    for name in wanted:
        if not any(fits(kind, name) for kind in of_funds.values()):
            known = sorted({types[fund] for fund in of_funds})
            shown = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
            raise DataError(f"`types`: no fund has the type {name!r}; known are {shown or 'none'}.")
    return {fund for fund, kind in of_funds.items() if any(fits(kind, name) for name in wanted)}


def _matching(
    setting: str, patterns: Sequence[str], funds: Sequence[str], names: Mapping[str, str]
) -> set[str]:
    """Return the funds whose code or name fits one of the patterns."""
    found: set[str] = set()
    for pattern in patterns:
        matched = {fund for fund in funds if fits(fund, pattern) or fits(names.get(fund, fund), pattern)}
        if not matched:
            raise DataError(
                f"`{setting}`: no fund has the code or name {pattern!r}; check it, or use * for any text."
            )
        found |= matched
    return found


def fits(text: str, pattern: str) -> bool:
    """Return whether a text fits a pattern with * for any text; capitals do not matter."""
    # Nothing else has a meaning: a name may contain a question mark or a bracket.
    plain = pattern.casefold().replace("[", "[[]").replace("?", "[?]")
    return fnmatchcase(text.casefold(), plain)


class FundHistory:
    """The past of all funds at some rows of a NAV table, each from rows up to it only.

    Parameters
    ----------
    nav : DataFrame of shape (n_days, n_funds)
        NAVs, NaN where there is no value.
    days : DatetimeIndex
        The days to look at; they must be rows of `nav`.
    per_year : int
        Rows of the table per year.

    Attributes
    ----------
    has_value : array of bool, of shape (len(days), n_funds)
        Whether a fund has a value on the day.
    last_value : array
        The last value up to the day; NaN before the first.
    n_values : array of int
        Number of values up to the day.
    n_still : array of int
        Number of values since the NAV changed last, on rows on which at least half of the other funds moved.
    stale_after : int
        Number of values after which a fund that has not changed is not priced any more: those of a month.
    """

    def __init__(self, nav: pd.DataFrame, days: pd.DatetimeIndex, per_year: int = DAYS_PER_YEAR) -> None:
        self.stale_after = rows_in(LONG_STALE_ROWS, per_year, _LEAST_STILL)
        rows, blocks = nav.index.get_indexer(days), list(fund_blocks(nav.shape))
        lively = _lively_rows(nav, blocks)
        shape = len(rows), nav.shape[1]
        self.has_value: NDArray[np.bool_] = np.empty(shape, dtype=bool)
        self.last_value: Array = np.empty(shape)
        self.n_values: Indices = np.empty(shape, dtype=np.intp)
        self.n_still: Indices = np.empty(shape, dtype=np.intp)
        for some in blocks:
            known, filled, changed, _ = _changes(nav.iloc[:, some])
            still = (known & lively[:, None]).cumsum(axis=0)
            since = still - np.maximum.accumulate(np.where(changed, still, 0))
            self.has_value[:, some], self.last_value[:, some] = known[rows], filled[rows]
            self.n_values[:, some], self.n_still[:, some] = known.cumsum(axis=0)[rows], since[rows]


def _lively_rows(nav: pd.DataFrame, blocks: list[slice]) -> NDArray[np.bool_]:
    """Return the rows on which a fund that stands still is remarkable: at least half of the others moved.

    On other rows, such as holidays, standing still says nothing about a fund.
    """
    moved, seen = np.zeros(len(nav), dtype=np.intp), np.zeros(len(nav), dtype=np.intp)
    for some in blocks:
        known, _, changed, before = _changes(nav.iloc[:, some])
        moved += (changed & before).sum(axis=1)
        seen += (known & before).sum(axis=1)
    return np.asarray((moved > 0) & (2 * moved >= seen - 1))  # − 1: the fund itself, which stood still


def _changes(
    nav: pd.DataFrame,
) -> tuple[NDArray[np.bool_], Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return where funds have values, the last values, where these change, and where there are earlier ones.

    A first value counts as a change.
    """
    known, filled = nav.notna().to_numpy(), nav.ffill().to_numpy(float)
    before = np.vstack([np.full((1, filled.shape[1]), np.nan), filled[:-1]])
    return known, filled, known & (filled != before), ~np.isnan(before)


@dataclass(frozen=True, eq=False)
class CrossSection:
    """The universe of one day with its standardized factors.

    Attributes
    ----------
    day : Timestamp
        The day.
    funds : Index
        Funds that may be chosen: with a value on that day, a history long enough for every factor, a NAV that
        moves, and no better share class.
    features : array of shape (n_funds, n_factors)
        z-scores across these funds, or across those of the same group, clipped to ±3; 0 where a factor is
        missing.
    known : array of shape (n_funds,)
        Share of the factors of each fund that are not missing.
    left_out : Series of str
        Why the other funds may not be chosen, by fund.
    groups : array of shape (n_funds,)
        The peer group of each fund; empty if all are compared with each other.
    """

    day: pd.Timestamp
    funds: pd.Index[str]
    features: Array
    known: Array
    left_out: pd.Series[str]
    groups: Groups

    @property
    def coverage(self) -> float:
        """Share of all factors of all funds that are not missing; 0 without funds."""
        return float(self.known.mean()) if len(self.known) else 0.0


def take_cross_section(
    funds: pd.Index[str],
    day: pd.Timestamp,
    history: FundHistory,
    row: int,
    factors: Array,
    values_needed: int,
    facts: FundFacts | None = None,
    types: Mapping[str, str] | None = None,
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
    values_needed : int
        Number of values that a fund must have before every factor is defined.
    facts : FundFacts, optional
        If given, one share class per group belongs to the universe: the cheapest; of several, that with the
        longest history up to the day.
    types : mapping of str to str, optional
        From `types_compared`: the types within which funds are compared.
    """
    known = np.isfinite(factors).mean(axis=1) if factors.shape[1] else np.ones(len(funds))
    why = _reasons_against(day, history, row, values_needed)
    if facts is not None:
        why = _leave_one_class(funds, why, history.n_values[row], facts)
    member = why == ""
    left_out = pd.Series(why[~member], index=funds[~member], dtype=object)
    groups = peer_groups(funds[member], types or {})
    features = np.zeros((int(member.sum()), factors.shape[1]))
    for rows in rows_of_groups(groups, len(features)):
        features[rows] = standardized(factors[member][rows])
    return CrossSection(day, funds[member], features, known[member], left_out, groups)


def _reasons_against(day: pd.Timestamp, history: FundHistory, row: int, needed: int) -> NDArray[np.object_]:
    """Return why each fund may not be chosen, "" if there is no reason; the first reason counts."""
    absent, why = phrase("no value on {date}", date=day.date()), []
    of_funds = (each[row].tolist() for each in (history.has_value, history.n_values, history.n_still))
    for has_value, n_values, n_still in zip(*of_funds, strict=True):
        if not has_value:
            why.append(absent)
        elif n_values < needed:
            why.append(phrase("{n} values, {n_needed} are needed", n=n_values, n_needed=needed))
        # Such a fund is not priced any more; its factors would say that it has no risk.
        elif n_still >= history.stale_after:
            why.append(phrase("no change in {n} values while other funds moved", n=n_still))
        else:
            why.append("")
    return np.array(why, dtype=object)


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
        reasons[at] = phrase(
            "another share class of it is chosen, {fund}", fund=by_group[facts.groups[funds[at]]]
        )
    return reasons


def standardized(raw: Array) -> Array:
    """Return z-scores by column, clipped to ±3; 0 where a value is missing or a column is constant."""
    known = np.isfinite(raw)
    count = np.maximum(known.sum(axis=0), 1)
    centered = np.where(known, raw, 0.0)
    centered = np.where(known, raw - centered.sum(axis=0) / count, 0.0)
    # Scaling by the largest value first keeps the squares from overflowing or vanishing.
    size = np.maximum(np.abs(centered).max(axis=0, initial=0.0), np.finfo(float).tiny)
    spread = size * np.sqrt(np.square(centered / size).sum(axis=0) / count)
    # A spread that is only rounding error means that the column is constant.
    negligible = spread <= 1e-12 * np.abs(np.where(known, raw, 0.0)).max(axis=0, initial=0.0)
    scores = centered / np.where(negligible | (spread == 0.0), np.inf, spread)
    return np.asarray(np.clip(scores, -_LIMIT, _LIMIT))
