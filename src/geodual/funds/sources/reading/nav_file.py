"""Read net asset values and index levels from files and DataFrames, in all common layouts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.arrays import Array

from ...panel import Finding, Panel
from .day_column import looks_like_day, read_days
from .quality import inspect_quality
from .raw_table import RawTable, table_of_frame
from .table_file import read_table

# Known column names in order of preference, compared without case, spaces, signs and anything in brackets.
_DATE_NAMES = (
    *("date", "navdate", "tradedate", "tradingdate", "day", "datetime", "timestamp", "time", "datum"),
    *("净值日期", "日期", "交易日期", "交易日"),
)
_FUND_NAMES = (
    *("fundcode", "code", "symbol", "ticker", "isin", "fundid", "id", "fund", "fundname", "name", "asset"),
    *("基金代码", "代码", "证券代码", "基金", "基金简称", "基金名称"),
)
# Adjusted NAVs first, then accumulated ones: unit NAVs fall at every distribution.
_NAV_NAMES = (
    *("adjustednav", "adjnav", "navadjusted", "adjustedclose", "adjclose", "复权净值", "复权单位净值"),
    *("accumulatednav", "accnav", "cumulativenav", "累计净值", "累计单位净值"),
    *("nav", "unitnav", "netassetvalue", "price", "close", "value", "level"),
    *("单位净值", "净值", "收盘", "收盘价"),
)
_PAPER_INDEX = "930950"  # the CSI index of Chinese equity and mixed funds that the paper compares with
_LISTED = 20  # names that a message lists at most


def read_nav(source: str | Path | pd.DataFrame) -> Panel:
    r"""Read and check a table of net asset values.

    The layout is recognised: *wide* (a column of days, then one column per fund) or *long* (columns for day,
    fund and NAV, recognised by their English or Chinese names or by their content). If a long table has
    several columns of NAVs, the adjusted one is preferred to the accumulated one, and that to the unit NAV.

    Parameters
    ----------
    source : path or DataFrame
        CSV (comma, semicolon or tab; UTF-8, UTF-16 or GBK; decimal point or comma) or Parquet, plain or
        compressed with gzip; or a DataFrame with the days in its index or in a column.

    Returns
    -------
    Panel
        Days in increasing order, funds in the order of the source. Names of funds are texts, unchanged
        ("000001" keeps its zeros). The findings are those of `inspect_quality` and of the reading itself.

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
    table = _open(source)
    date = _find_dates(table)
    days = read_days(table, date)
    roles = _find_long(table, date, days)
    nav, findings = _from_wide(table, date, days) if roles is None else _from_long(table, days, *roles)
    if not nav.notna().to_numpy().any():
        raise table.error("there is no value at all", "Fill in the NAVs")
    blank = nav.index[nav.isna().all(axis=1)]
    if len(blank):
        message = f"{len(blank)} days have no value at all and were left out."
        findings.append(Finding("empty-day", False, "", f"{blank.min():%Y-%m-%d}", len(blank), message))
    nav = nav.drop(index=blank)
    if len(nav) < 2:
        raise table.error(f"there is only one day, {nav.index[0]:%Y-%m-%d}", "Give at least two")
    empty = nav.columns[nav.isna().all()]
    findings += [Finding("empty-fund", True, fund, "", len(nav), "Has no value; left out.") for fund in empty]
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
        If the table cannot be used, or it is unclear which column to take.

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
    table = _open(source)
    date = _find_dates(table)
    others = [at for at in range(len(table.names)) if at != date]
    chosen = _choose_index(table, others, column)
    days = read_days(table, date)
    _check_unique(table, days, date)
    levels = pd.Series(table.levels(chosen), index=days, name=table.names[chosen]).dropna().sort_index()
    if len(levels) < 2:
        raise table.error("there are fewer than two levels", "Give one per day", column=chosen)
    return levels


def _choose_index(table: RawTable, others: list[int], column: str | None) -> int:
    names = [table.names[at] for at in others]
    listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    if not names:
        raise table.error("there is no column besides the days", "Give the levels of the index")
    if column is None and len(names) > 1 and _PAPER_INDEX not in names:
        raise table.error(f"there are {len(names)} columns besides the days", f"Choose one of: {listed}")
    wanted = column or (names[0] if len(names) == 1 else _PAPER_INDEX)
    if names.count(wanted) != 1:
        raise table.error(f"{names.count(wanted)} columns are named {wanted!r}", f"Choose one of: {listed}")
    return others[names.index(wanted)]


def _open(source: str | Path | pd.DataFrame) -> RawTable:
    table = table_of_frame(source, "DataFrame") if isinstance(source, pd.DataFrame) else read_table(source)
    table = table.select([at for at in range(len(table.names)) if not _is_filler(table, at)])
    if not table.columns or not len(table.columns[0]):
        raise table.error("there is no row", "Give one row per day")
    return table


def _is_filler(table: RawTable, column: int) -> bool:
    """Tell whether a column without a name is empty, as after a last delimiter, or only numbers the rows."""
    if table.names[column] not in ("", "Unnamed: 0"):
        return False
    cells = table.texts(column).to_pylist()
    return not any(cells) or cells in ([str(at + start) for at in range(len(cells))] for start in (0, 1))


def _find_named(table: RawTable, known: tuple[str, ...]) -> list[int]:
    """Return the columns with a known name, the preferred ones first."""
    plain = [re.sub(r"[(（].*|[\s_\-.]", "", name).casefold() for name in table.names]
    return [at for name in known for at, candidate in enumerate(plain) if candidate == name]


def _find_dates(table: RawTable) -> int:
    """Return the column of days: by name, otherwise the first column whose first value is a day."""
    remedy = "Give a first line with 'date' and the names of the funds"
    if looks_like_day(table.names[0]):
        raise table.error(f"there is no header, the first name is {table.names[0]!r}", remedy)
    across = table.names[1:]
    if across and all(looks_like_day(name) for name in across):
        raise table.error(f"days such as {across[0]} stand in the header", "Transpose: one row per day")
    named = _find_named(table, _DATE_NAMES)
    if named:
        return named[0]
    for at, cells in enumerate(table.columns):
        first = cells.dropna().head(1)
        if not pd.api.types.is_float_dtype(cells.dtype) and looks_like_day(str(first.squeeze()).strip()):
            return at
    raise table.error("there is no column of days", "Name it 'date' and write days as 2012-01-04")


def _find_long(table: RawTable, date: int, days: pd.DatetimeIndex) -> tuple[int, int] | None:
    """Return the columns of funds and NAVs of a long table; None if the table is wide."""
    others = [at for at in range(len(table.names)) if at != date]
    funds = [at for at in _find_named(table, _FUND_NAMES) if at != date and not table.looks_like_levels(at)]
    navs = [at for at in _find_named(table, _NAV_NAMES) if at != date]
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


def _from_wide(table: RawTable, date: int, days: pd.DatetimeIndex) -> tuple[pd.DataFrame, list[Finding]]:
    _check_unique(table, days, date)
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
    return pd.DataFrame(values, index=days, columns=names), _find_disorder(days, np.zeros(len(days)))


def _check_unique(table: RawTable, days: pd.DatetimeIndex, date: int) -> None:
    repeated = np.flatnonzero(days.duplicated())
    if not len(repeated):
        return
    row = int(repeated[0])
    first = table.place(int(np.flatnonzero(days == days[row])[0]))
    remedy = "Keep one row per day, or name the columns of a long table date, fund and nav"
    raise table.error(f"the day {days[row]:%Y-%m-%d} is also in {first}", remedy, row, date)


def _from_long(
    table: RawTable, days: pd.DatetimeIndex, fund: int, nav: int
) -> tuple[pd.DataFrame, list[Finding]]:
    encoded = table.texts(fund).fill_null("").dictionary_encode()
    column, names = encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
    if "" in names:
        row = int(np.flatnonzero(column == names.index(""))[0])
        raise table.error("there is no fund", "Write its code", row, fund)
    calendar, line = np.unique(days.to_numpy(), return_inverse=True)
    cell = line * len(names) + column  # position in the flattened table, day × fund
    repeated = np.flatnonzero(pd.Index(cell).duplicated())
    if len(repeated):
        row = int(repeated[0])
        first = table.place(int(np.flatnonzero(cell == cell[row])[0]))
        problem = f"the fund {names[column[row]]!r} has a value on {days[row]:%Y-%m-%d} in {first} too"
        raise table.error(problem, "Keep one row per fund and day", row, nav)
    values = np.full(len(calendar) * len(names), np.nan)
    values[cell] = table.levels(nav)
    index = pd.DatetimeIndex(calendar, name="date")
    frame = pd.DataFrame(values.reshape(len(calendar), -1), index=index, columns=pd.Index(names, name="fund"))
    return frame, _find_disorder(days, column) + _find_unused_navs(table, nav)


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
    others = [table.names[at] for at in _find_named(table, _NAV_NAMES) if at != nav]
    if not others:
        return []
    message = f"The NAVs were read from column {table.names[nav]!r}; not used: {', '.join(others)}."
    return [Finding("column", False, "", "", len(others), message)]
