"""Read net asset values and index levels from files and DataFrames, in all common layouts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array

from ...language import phrase
from ...panel import Finding, Panel
from .quality import inspect_quality
from .raw_table import RawTable, looks_like_day, read_days
from .table_file import find_named, open_source

_PAPER_INDEX = "930950"  # the CSI index of Chinese equity and mixed funds that the paper compares with
_LISTED = 20  # names that a message lists at most
# Known column names in order of preference, compared without case, spaces, signs and anything in brackets.
DATE_NAMES = (
    *("date", "navdate", "tradedate", "tradingdate", "day", "datetime", "timestamp", "time", "datum"),
    *("净值日期", "日期", "交易日期", "交易日"),
)
FUND_NAMES = (
    *("fundcode", "code", "symbol", "ticker", "isin", "fundid", "id", "fund", "fundname", "name", "asset"),
    *("基金代码", "代码", "证券代码", "基金", "基金简称", "基金名称"),
)
# Adjusted NAVs first, then accumulated ones: unit NAVs fall at every distribution.
NAV_NAMES = (
    *("adjustednav", "adjnav", "navadjusted", "adjustedclose", "adjclose", "复权净值", "复权单位净值"),
    *("accumulatednav", "accnav", "cumulativenav", "累计净值", "累计单位净值"),
    *("nav", "unitnav", "netassetvalue", "price", "close", "value", "level"),
    *("单位净值", "净值", "收盘", "收盘价"),
)

Mask = NDArray[np.bool_]


def read_nav(source: str | Path | pd.DataFrame) -> Panel:
    r"""Read and check a table of net asset values.

    The layout is recognized: *wide* (a column of days, then one column per fund) or *long* (columns for day,
    fund and NAV, recognized by their English or Chinese names or by their content). A wide table may also be
    transposed: one row per fund, one column per day. If a long table has several columns of NAVs, the
    adjusted one is preferred to the accumulated one, and that to the unit NAV.

    Parameters
    ----------
    source : path or DataFrame
        CSV (comma, semicolon or tab; decimal point or comma) or Parquet, plain or compressed with gzip; Excel
        (.xlsx: the first sheet, or the only one with a table); or a DataFrame with the days in its index or
        in a column, of pandas or of a library with `to_pandas`, such as polars. Lines above the header are
        skipped. Days are written as 2012-01-04, 20120104, 04.01.2012, 04-Jan-2012, Jan 4, 2012 or similar.
        CSV is UTF-8 or, with a byte order mark, UTF-16. Other text is read as Windows-1252 (Latin-1) or GBK
        if its bytes look like it, and a finding says which; otherwise it is refused.

    Returns
    -------
    Panel
        Days in increasing order, funds in the order of the source. Names of funds are texts, unchanged
        ("000001" keeps its zeros). Rows that repeat another one are left out. The findings are those of
        `inspect_quality` and of the reading itself.

    Raises
    ------
    DataError
        If the table cannot be used; the message says what is wrong, where, and what to do.

    See Also
    --------
    read_index : Read the levels of an index to compare with.
    inspect_quality : What is looked for in the values.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from geodual.funds import read_nav
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "nav.csv"
    ...     _ = path.write_text("date;000001;000002\n05.01.2015;1,02;\n06.01.2015;1,03;0,99\n")
    ...     panel = read_nav(path)
    >>> panel.nav.loc["2015-01-06"].to_dict()
    {'000001': 1.03, '000002': 0.99}
    >>> [finding.kind for finding in panel.findings]
    ['short', 'late-start', 'survivorship']
    """
    table = turn_days_down(open_source(source))
    date = find_dates(table)
    days = read_days(table, date)
    roles = find_long(table, date, days)
    nav, found = read_wide(table, date, days) if roles is None else read_long(table, days, *roles)
    findings = [*table.findings, *found]
    if not nav.notna().to_numpy().any():
        raise table.error("there is no value at all", "Fill in the NAVs")
    blank = nav.index[nav.isna().all(axis=1)]
    if len(blank):
        message = phrase("{n} days have no value at all and were left out.", n=len(blank))
        findings.append(Finding("empty-day", False, "", f"{blank.min():%Y-%m-%d}", len(blank), message))
    nav = nav.drop(index=blank)
    if len(nav) < 2:
        raise table.error(f"there is only one day, {nav.index[0]:%Y-%m-%d}", "Give at least two")
    empty = nav.columns[nav.isna().all()]
    message = phrase("Has no value; left out.")
    findings += [Finding("empty-fund", True, fund, "", len(nav), message) for fund in empty]
    nav = nav.drop(columns=empty).sort_index()
    return Panel(nav, table.source, (*findings, *inspect_quality(nav)))


def read_index(
    source: str | Path | pd.DataFrame | pd.Series[Any], column: str | None = None
) -> pd.Series[float]:
    """Read the levels of one index, to compare portfolios with.

    Parameters
    ----------
    source : path, DataFrame or Series
        A file or DataFrame with a column of days and one column per index, in the formats that `read_nav`
        reads; or a Series of levels by day.
    column : str, optional
        Name of the index; needed if there are several and none is the paper's 930950.

    Returns
    -------
    Series
        Levels by day, in increasing order and without missing levels; named like the column.

    Raises
    ------
    DataError
        If the table cannot be used, or it is unclear which column to use.

    See Also
    --------
    read_nav : Read the net asset values of funds.
    backtest : Run a study, with an index to compare with.

    Examples
    --------
    >>> import pandas as pd
    >>> from geodual.funds import read_index
    >>> table = pd.DataFrame({"date": ["2015-01-06", "2015-01-05"], "930950": [1010.0, 1000.0]})
    >>> read_index(table).tolist()
    [1000.0, 1010.0]
    """
    if isinstance(source, pd.Series):
        source = source.to_frame(column or source.name or "index")
    table = turn_days_down(open_source(source))
    date = find_dates(table)
    others = [at for at in range(len(table.names)) if at != date]
    chosen = _choose_index(table, others, column)
    days = read_days(table, date)
    values = table.levels(chosen)
    kept = merge_days(table, days, values, date)
    levels = pd.Series(values[kept], index=days[kept], name=table.names[chosen]).dropna().sort_index()
    if len(levels) < 2:
        raise table.error("there are fewer than two levels", "Give one per day", column=chosen)
    return levels


def read_indices(source: Any) -> pd.Series[float] | pd.DataFrame:
    """Read one index, or an index for each type of funds.

    Parameters
    ----------
    source : path, Series, or mapping of str to path or Series
        As for `read_index`; as a mapping, by type of funds.

    Returns
    -------
    Series or DataFrame
        Levels by day; as a DataFrame, with a column per type, and the names of the indices in its `attrs`.
    """
    if not isinstance(source, Mapping):
        return read_index(source)
    levels = {kind: read_index(own) for kind, own in source.items()}
    table = pd.DataFrame(levels)
    table.attrs["names"] = {kind: str(own.name) for kind, own in levels.items()}
    return table


def _choose_index(table: RawTable, others: list[int], column: str | None) -> int:
    names = [table.names[at] for at in others]
    listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    if not names:
        raise table.error("there is no column other than the days", "Give the levels of the index")
    if column is None and len(names) > 1 and _PAPER_INDEX not in names:
        raise table.error(f"there are {len(names)} columns other than the days", f"Choose one of: {listed}")
    wanted = column or (names[0] if len(names) == 1 else _PAPER_INDEX)
    if wanted not in names:
        raise table.error(f"no column is named {wanted!r}", f"Choose one of: {listed}")
    if names.count(wanted) > 1:
        raise table.error(f"{names.count(wanted)} columns are named {wanted!r}", "Give each its own name")
    return others[names.index(wanted)]


def find_dates(table: RawTable) -> int:
    """Return the column of days: by name, otherwise the first column whose first value is a day."""
    remedy = "Give a first line with 'date' and the names of the funds"
    if looks_like_day(table.names[0]):
        raise table.error(f"there is no header, the first name is {table.names[0]!r}", remedy)
    found = find_named(table, DATE_NAMES) or [at for at in range(len(table.names)) if holds_days(table, at)]
    if not found:
        raise table.error("there is no column of days", "Name it 'date' and write days as 2012-01-04")
    return found[0]


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
    message = phrase(
        "Funds stand in rows and days in columns; the funds are those of column {name!r}.",
        name=table.names[fund],
    )
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
        raise table.error("there is no column other than the days", "Give one column per fund")
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
    message = phrase("{n} rows repeat an earlier row with the same value and were left out.", n=len(days))
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
    message = phrase(
        "{n} rows are earlier than the row before them; the rows were sorted by day.", n=earlier.sum()
    )
    return [Finding("unsorted", False, "", first, int(earlier.sum()), message)]


def _find_unused_navs(table: RawTable, nav: int) -> list[Finding]:
    others = [table.names[at] for at in find_named(table, NAV_NAMES) if at != nav]
    if not others:
        return []
    message = phrase(
        "The NAVs were read from column {name!r}; not used: {other}.",
        name=table.names[nav],
        other=", ".join(others),
    )
    return [Finding("column", False, "", "", len(others), message)]
