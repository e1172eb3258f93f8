"""An index per type of funds: the benchmark of a portfolio is the mix of them by its weights in the types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from geodual.errors import DataError

from ..calendar import rows_in, rows_per_year
from ..decisions.observations import Observations
from ..decisions.universe import fits
from ..evaluation.ledger import run_ledger
from ..language import phrase

_SHOWN = 5  # types listed in an error
_LATE = 5  # trading days by which an index may end before the data; at least a row
_FILLED = 0.05  # warn above this share of missing index days


def index_of_funds(indices: Iterable[str], types: Mapping[str, str], funds: Iterable[str]) -> dict[str, str]:
    """Return the index that each fund is compared with: the first whose type fits, * standing for any text.

    Parameters
    ----------
    indices : iterable of str
        The types that have an index.
    types : mapping of str to str
        Types by fund; a fund of unknown type has the type "unknown".
    funds : iterable of str
        All funds.

    Raises
    ------
    DataError
        If a type has no index.
    """
    names = list(indices)
    kinds = {fund: types.get(fund, "unknown") for fund in funds}
    found = {kind: next((each for each in names if fits(kind, each)), None) for kind in set(kinds.values())}
    without = sorted(kind for kind, index in found.items() if index is None)
    if without:
        shown = ", ".join(without[:_SHOWN]) + (", …" if len(without) > _SHOWN else "")
        raise DataError(
            f"`index`: there is none for funds of the type {shown}. Give one for each type, or *=… for all "
            "others."
        )
    return {fund: str(found[kind]) for fund, kind in kinds.items()}


@dataclass(frozen=True, eq=False)
class IndexMix:
    """The indices of all types on the days of a study.

    Attributes
    ----------
    levels : DataFrame
        Day × type: levels of the index of each type, without gaps; the days are rows of the study.
    of_fund : mapping of str to str
        The type whose index each fund is compared with.
    name : str
        Names of the indices, by type.
    """

    levels: pd.DataFrame
    of_fund: Mapping[str, str]
    name: str

    def follow(self, targets: Mapping[Any, pd.Series[float]], execution_lag: int) -> pd.Series[float]:
        """Return the value of the indices held as a portfolio holds types: on the same days, without costs.

        Parameters
        ----------
        targets : mapping from Timestamp to Series
            Weights by fund that the portfolio wants, by day of decision. What it leaves in cash is spread
            over the indices.
        execution_lag : int
            Rows from a decision to its execution.
        """
        mixed = {
            day: own.groupby(own.index.map(self.of_fund)).sum() / own.sum() for day, own in targets.items()
        }
        return run_ledger(self.levels, mixed, execution_lag=execution_lag).equity


def each_index(levels: pd.Series[float] | pd.DataFrame) -> list[pd.Series[float]]:
    """Return the levels of the single indices, each on its own days."""
    if isinstance(levels, pd.Series):
        return [levels]
    names = levels.attrs["names"]
    return [levels[kind].dropna().rename(names[kind]) for kind in levels]


def name_indices(levels: pd.Series[float] | pd.DataFrame) -> str:
    """Return the name of an index, or the names of several, by type."""
    if isinstance(levels, pd.Series):
        return str(levels.name or "index")
    return ", ".join(f"{kind}: {name}" for kind, name in levels.attrs["names"].items())


def index_by_fund(
    levels: pd.Series[float] | pd.DataFrame, types: Mapping[str, str], funds: Iterable[str]
) -> dict[str, pd.Series[float]]:
    """Return the levels that each fund alone is compared with: those of its type, or of the only index."""
    if isinstance(levels, pd.Series):
        return dict.fromkeys(funds, levels)
    own = dict(zip(levels.columns, each_index(levels), strict=True))
    return {fund: own[kind] for fund, kind in index_of_funds(levels.columns, types, funds).items()}


def mix_indices(levels: pd.DataFrame, observations: Observations, first: int) -> IndexMix:
    """Return the indices of the types on the days of a study, from its decision on the rebalance day `first`.

    Parameters
    ----------
    levels : DataFrame
        From `read_indices`.
    observations : Observations
        The days and the funds.
    first : int
        Position of the first rebalance day on which a decision is made.
    """
    days = pd.DatetimeIndex(observations.panel.nav.index)
    days = days[days >= observations.days[first]]
    own = dict(zip(levels.columns, each_index(levels), strict=True))
    table = pd.DataFrame({kind: aligned_levels(each, days)[0] for kind, each in own.items()})
    of_fund = index_of_funds(levels.columns, observations.facts.types, observations.funds)
    return IndexMix(table, of_fund, name_indices(levels))


def aligned_levels(levels: pd.Series[float], days: pd.DatetimeIndex) -> tuple[pd.Series[float], list[str]]:
    """Return index levels on some days, filled forward, and a note if many levels are missing."""
    first, last = levels.index[0], levels.index[-1]
    if len(days) and first > days[0]:
        raise DataError(
            f"The index begins on {first.date()}, after the first trade, on {days[0].date()}. Give an "
            "`index` with earlier levels."
        )
    missing = int((days > last).sum())
    if missing > rows_in(_LATE, rows_per_year(days), 1):
        raise DataError(
            f"The index ends on {last.date()}, {missing} rows before the last day, {days[-1].date()}. Give "
            "an `index` with later levels."
        )
    filled = int((~days.isin(levels.index)).sum())
    note = phrase(
        "The index has no level on {n} of {n_days} days; the last earlier level is used.",
        n=filled,
        n_days=len(days),
    )
    # Fill forward before choosing the days, so that levels between two of them are used.
    aligned = levels.reindex(levels.index.union(days)).ffill().reindex(days)
    return aligned, [note] if filled > _FILLED * len(days) else []
