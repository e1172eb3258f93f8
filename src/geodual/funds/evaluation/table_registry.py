"""The registry of tables: what a table of a study is about, and where it is saved and shown.

A table is named once, where `StudyTables` defines it: data with `stored`, results with `computed` or, for a
method, with `returned`. The run folder and its reader, the workbook and the report ask `tables_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import count
from typing import Any, TypeVar

import pandas as pd

from ..language import phrases

# Columns that are shares, by name; they are shown as percentages wherever they occur.
SHARES = frozenset(
    {
        *("hit_rate", "annual_return", "volatility", "max_drawdown", "depth", "coverage", "share", "known"),
        *("weight", "forecast", "realized", "earned", "past_low", "past_high", "turnover", "traded", "cost"),
        *("cash", "unfilled", "gross", "net", "excess", "break_even", "1", "2", "3", "4", "5", "spread"),
        *("alpha", "tracking_error", "up_capture", "down_capture", "cvar", "purchase_fee"),
    }
)
PERSISTENT = frozenset(  # columns of tables of persistence
    {"1", "2", "3", "4", "closed", "stay_top", "stay_bottom", "top_to_bottom", "excess"}
)
RANKED = SHARES - {"forecast"}  # where forecasts are ranks between −½ and ½

# What tables have in their headers and cells besides the names of funds, forecasters, factors and types.
WORDS = phrases(
    *("period", "validation", "test", "both", "date", "day", "month", "months", "year", "days"),
    *("forecaster", "against", "baseline", "index", "fund", "name", "type", "company", "funds"),
    *("group", "purchase_fee", "redemption_fees"),
    *("ic_mean", "ic_std", "icir", "t", "p", "p_holm", "low", "high", "hit_rate", "n", "mean", "difference"),
    *("annual_return", "volatility", "sharpe", "sortino", "cvar", "max_drawdown", "turnover"),
    *("kind", "factor", "momentum", "rest_ic", "rest_low", "rest_high", "rest_p", "return_12m"),
    *("spread", "rising", "quartile", "decile", "closed", "rank_correlation"),
    *("stay_top", "stay_bottom", "top_to_bottom", "alpha", "beta", "tracking_error", "information_ratio"),
    *("up_capture", "down_capture", "deflated_sharpe", "probabilistic_sharpe", "trials"),
    *("depth", "peak", "trough", "recovery", "traded", "cost", "cash", "unfilled", "gross", "net", "excess"),
    *("break_even", "weight", "forecast", "known", "realized", "decided", "executed", "n_held"),
    *("side", "buy", "sell", "closure", "keep", "price", "units", "value", "fee", "rate", "unknown"),
    *("coverage", "label", "sign", "median", "none", "matters", "count", "message"),
    *("neighbor", "distance", "earned", "view", "near", "apart", "adds", "share"),
    *("rank", "past_low", "past_high", "n_past", "finding", "neighbors", "factors", "why"),
    *("action", "units_before", "value_before", "weight_before", "weight_after"),
    *("bought", "days_held", "locked", "sold_units", "sold_value"),
)

_places = count()
_Method = TypeVar("_Method", bound=Callable[..., pd.DataFrame])


@dataclass(frozen=True)
class Table:
    """A table of a study: what it is about, and where it is saved and shown.

    Attributes
    ----------
    title : str
        Title of its sheet in a workbook; "" if it has none.
    about : str
        What it is about, in a few words.
    percent : collection of str or None
        Columns that a workbook shows as percentages; None for all columns of decimal numbers.
    file : str
        Name of its CSV in a run folder and in the report; by default that of the attribute.
    saved, embedded : bool
        Whether the run folder has it, and whether the report has it.
    indexed : bool
        Whether its index belongs to it.
    decimals : int, optional
        Decimals of its numbers in the report; by default all.
    key : str
        Of data: the column of the CSV that is the index; "" if there is none.
    columns : tuple of str
        Of data: the other columns of the CSV.
    per : str
        Of data with a column for each thing of a kind: "forecaster", "baseline", "factor", or "portfolio" if
        there may be none.
    sparse, gaps : bool
        Of data: whether there may be no rows, or rows for some forecasters only; whether values may be
        missing.
    is_new : bool
        Of data: whether folders of the first versions lack it.
    name : str
        Attribute of the study that holds or returns it.
    place : int
        Its place in the order of all tables.
    """

    title: str
    about: str
    percent: Collection[str] | None = SHARES
    file: str = ""
    saved: bool = False
    embedded: bool = True
    indexed: bool = True
    decimals: int | None = None
    key: str = ""
    columns: tuple[str, ...] = ()
    per: str = ""
    sparse: bool = False
    gaps: bool = False
    is_new: bool = False
    name: str = ""
    place: int = field(default_factory=_places.__next__)

    @property
    def is_data(self) -> bool:
        """Whether the table is data, which the run folder must have, and not a result."""
        return bool(self.key or self.columns)

    def of(self, study: Any) -> pd.DataFrame:
        """Return this table of a study."""
        found = getattr(study, self.name)
        return pd.DataFrame(found() if callable(found) else found)


class ComputedTable(cached_property[pd.DataFrame]):
    """A table that is computed when it is first asked for."""

    def __init__(self, compute: Callable[[Any], pd.DataFrame], table: Table) -> None:
        super().__init__(compute)
        self.table = table


def stored(title: str, about: str, *, key: str = "", default: Any = None, **options: Any) -> Any:
    """Return a field of a dataclass for a table of data, which is saved and read back; see `Table`.

    Parameters
    ----------
    title, about : str
        As in `Table`.
    key : str
        The column of the CSV that is the index; "" if there is none.
    default : callable, optional
        Returns the table of a study without it.
    **options
        Other attributes of `Table`. Data are not embedded in the report by default.
    """
    options = {"embedded": False, **options}
    table = Table(title, about, saved=True, indexed=bool(key), key=key, **options)
    if default is None:
        return field(repr=False, metadata={"table": table})
    return field(repr=False, metadata={"table": table}, default_factory=default)


def computed(
    title: str, about: str, **options: Any
) -> Callable[[Callable[[Any], pd.DataFrame]], ComputedTable]:
    """Return a decorator: the table becomes an attribute that is computed once; see `Table`."""
    table = Table(title, about, **options)
    return lambda compute: ComputedTable(compute, table)


def returned(title: str, about: str, **options: Any) -> Callable[[_Method], _Method]:
    """Return a decorator of a method that returns a table if it is called without arguments; see `Table`."""
    table = Table(title, about, **options)

    def mark(method: _Method) -> _Method:
        method.table = table  # type: ignore[attr-defined]
        return method

    return mark


def tables_of(kind: type) -> tuple[Table, ...]:
    """Return all tables of a class of studies, in the order in which they are defined."""
    found = {each.name: each.metadata["table"] for each in fields(kind) if "table" in each.metadata}
    for owner in reversed(kind.__mro__):
        tables = {name: getattr(thing, "table", None) for name, thing in vars(owner).items()}
        found |= {name: table for name, table in tables.items() if isinstance(table, Table)}
    named = [replace(table, name=name, file=table.file or name) for name, table in found.items()]
    return tuple(sorted(named, key=lambda table: table.place))
