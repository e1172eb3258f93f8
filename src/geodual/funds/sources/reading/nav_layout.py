"""Turn a table of net asset values into a frame, day × fund, from its wide or its long layout."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array

from ...panel import Finding
from .day_column import looks_like_day
from .known_columns import DATE_NAMES, FUND_NAMES, NAV_NAMES, find_named
from .raw_table import RawTable

Mask = NDArray[np.bool_]


def turn_days_down(table: RawTable) -> RawTable:
    """Return a table with one row per day, also if the days stand in its header and the funds in its rows."""
    first = _find_days_across(table)
    if first is None:
        return table
    fund = next((at for at in find_named(table, FUND_NAMES) if at < first), 0)
    names = table.fund_codes(fund).to_pylist()
    if (twice := pd.Index(names).duplicated()).any():
        row = int(twice.argmax())
        raise table.error(f"the fund {names[row]!r} has two rows", "Keep one", row, fund)
    values = np.array([table.levels(at) for at in range(first, len(table.names))]).T
    columns = (pd.Series(table.names[first:]), *map(pd.Series, values))
    message = f"Funds stand in rows and days in columns; the funds are those of column {table.names[fund]!r}."
    found = (*table.findings, Finding("transposed", False, "", "", len(names), message))
    return RawTable(table.source, ("date", *names), columns, lambda _: "the header", findings=found)


def _find_days_across(table: RawTable) -> int | None:
    """Return the column from which on all names are days; None if there is none or the rows have days."""
    if not looks_like_day(table.names[-1]) or find_named(table, DATE_NAMES) or holds_days(table, 0):
        return None
    is_day = list(map(looks_like_day, table.names))
    first = is_day.index(True)
    return first if first and all(is_day[first:]) else None


def holds_days(table: RawTable, column: int) -> bool:
    """Return whether the first value of a column is a day."""
    cells = table.columns[column]
    first = str(cells.dropna().head(1).squeeze()).strip()
    return not pd.api.types.is_float_dtype(cells.dtype) and looks_like_day(first)


def find_long(table: RawTable, date: int, days: pd.DatetimeIndex) -> tuple[int, int] | None:
    """Return the columns of funds and NAVs of a long table; None if the table is wide."""
    others = [at for at in range(len(table.names)) if at != date]
    funds = [at for at in find_named(table, FUND_NAMES) if at != date and not table.looks_like_levels(at)]
    navs = [at for at in find_named(table, NAV_NAMES) if at != date]
    if funds and navs:
        return funds[0], navs[0]
    # Without known names, a long table has two columns besides the days, and days that repeat.
    if not funds and (len(others) != 2 or days.is_unique):
        return None
    levels = [at for at in others if table.looks_like_levels(at)]
    if len(levels) == 1:
        fund = funds[0] if funds else next(at for at in others if at not in levels)
        return fund, levels[0]
    if funds:
        problem = f"it is unclear which column has the NAVs of the funds in {table.names[funds[0]]!r}"
        raise table.error(problem, "Name it 'nav'")
    return None


def read_wide(table: RawTable, date: int, days: pd.DatetimeIndex) -> tuple[pd.DataFrame, list[Finding]]:
    """Return the values of a table with one column per fund, and what was found while reading."""
    funds = [at for at in range(len(table.names)) if at != date]
    if not funds:
        raise table.error("there is no column besides the days", "Give one column per fund")
    seen: set[str] = set()
    for at in funds:
        if not table.names[at]:
            raise table.error(f"column {at + 1} has no name", "Write the fund's code in the header")
        if table.names[at] in seen:
            raise table.error(f"the fund {table.names[at]!r} has two columns", "Keep one")
        seen.add(table.names[at])
    names = pd.Index([table.names[at] for at in funds], name="fund")
    values = np.column_stack([table.levels(at) for at in funds])
    kept = merge_days(table, days, values, date)
    findings = [*_find_disorder(days, np.zeros(len(days))), *_tell_merged(days[~kept])]
    return pd.DataFrame(values[kept], index=days[kept], columns=names), findings


def merge_days(table: RawTable, days: pd.DatetimeIndex, values: Array, date: int) -> Mask:
    """Return which rows to keep: those that repeat another go; two rows of a day that differ are an error."""
    kept = ~days.duplicated()
    first = np.flatnonzero(kept)[days[kept].get_indexer(days)]  # the first row of the same day
    same = (values == values[first]) | (np.isnan(values) & np.isnan(values[first]))
    differing = np.flatnonzero(~same.reshape(len(days), -1).all(axis=1))
    if len(differing):
        row = int(differing[0])
        problem = f"the day {days[row]:%Y-%m-%d} is also in {table.place(int(first[row]))}"
        remedy = "Keep one row per day, or name the columns of a long table date, fund and nav"
        raise table.error(problem, remedy, row, date)
    return np.asarray(kept)


def _tell_merged(days: pd.DatetimeIndex) -> list[Finding]:
    if not len(days):
        return []
    message = f"{len(days)} rows repeat an earlier row with the same value and were left out."
    return [Finding("duplicate", False, "", f"{days.min():%Y-%m-%d}", len(days), message)]


def read_long(
    table: RawTable, days: pd.DatetimeIndex, fund: int, nav: int
) -> tuple[pd.DataFrame, list[Finding]]:
    """Return the values of a table with one row per fund and day, and what was found while reading."""
    encoded = table.fund_codes(fund).dictionary_encode()
    column, names = encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
    calendar, line = np.unique(days.to_numpy(), return_inverse=True)
    cell = line * len(names) + column  # position in the flattened table, day × fund
    levels = table.levels(nav)
    values = np.full(len(calendar) * len(names), np.nan)
    repeated = pd.Index(cell).duplicated()
    values[cell[~repeated]] = levels[~repeated]
    differing = np.flatnonzero((values[cell] != levels) & ~(np.isnan(values[cell]) & np.isnan(levels)))
    if len(differing):
        row = int(differing[0])
        first = table.place(int(np.flatnonzero(cell == cell[row])[0]))
        problem = f"the fund {names[column[row]]!r} has another value on {days[row]:%Y-%m-%d} in {first}"
        raise table.error(problem, "Keep one row per fund and day", row, nav)
    index = pd.DatetimeIndex(calendar, name="date")
    frame = pd.DataFrame(values.reshape(len(calendar), -1), index=index, columns=pd.Index(names, name="fund"))
    found = [*_find_disorder(days, column), *_tell_merged(days[repeated]), *_find_unused_navs(table, nav)]
    return frame, found


def _find_disorder(days: pd.DatetimeIndex, group: Array) -> list[Finding]:
    """Find rows that are earlier than the row before them of the same group, such as a fund."""
    order = np.argsort(group, kind="stable")
    sorted_days = days[order]
    earlier = (sorted_days[1:] < sorted_days[:-1]) & (np.diff(group[order]) == 0)
    if not earlier.any():
        return []
    first = sorted_days[1:][earlier][0].strftime("%Y-%m-%d")
    message = f"{earlier.sum()} rows are earlier than the row before them; the rows were sorted by day."
    return [Finding("unsorted", False, "", first, int(earlier.sum()), message)]


def _find_unused_navs(table: RawTable, nav: int) -> list[Finding]:
    others = [table.names[at] for at in find_named(table, NAV_NAMES) if at != nav]
    if not others:
        return []
    message = f"The NAVs were read from column {table.names[nav]!r}; not used: {', '.join(others)}."
    return [Finding("column", False, "", "", len(others), message)]
