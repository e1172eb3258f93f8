"""Read net asset values and index levels from files and DataFrames, in all common layouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from ...panel import Finding, Panel
from .day_column import looks_like_day, read_days
from .known_columns import DATE_NAMES, find_named, open_source
from .nav_layout import find_long, holds_days, merge_days, read_long, read_wide, turn_days_down
from .quality import inspect_quality
from .raw_table import RawTable

_PAPER_INDEX = "930950"  # the CSI index of Chinese equity and mixed funds that the paper compares with
_LISTED = 20  # names that a message lists at most


def read_nav(source: str | Path | pd.DataFrame) -> Panel:
    r"""Read and check a table of net asset values.

    The layout is recognised: *wide* (a column of days, then one column per fund) or *long* (columns for day,
    fund and NAV, recognised by their English or Chinese names or by their content). A wide table may also be
    transposed: one row per fund, one column per day. If a long table has several columns of NAVs, the
    adjusted one is preferred to the accumulated one, and that to the unit NAV.

    Parameters
    ----------
    source : path or DataFrame
        CSV (comma, semicolon or tab; decimal point or comma) or Parquet, plain or compressed with gzip; Excel
        (.xlsx: the first sheet, or the only one with a table); or a DataFrame with the days in its index or
        in a column, of pandas or of a library with `to_pandas`, such as polars. Lines above the header are
        skipped. Days are written as 2012-01-04, 20120104, 04.01.2012, 04-Jan-2012, Jan 4, 2012 or alike. CSV
        is UTF-8 or, with a byte order mark, UTF-16. Other text is read as Windows-1252 (Latin-1) or GBK if
        its bytes look like it, a finding says which, and otherwise it is refused.

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
    date = _find_dates(table)
    days = read_days(table, date)
    roles = find_long(table, date, days)
    nav, found = read_wide(table, date, days) if roles is None else read_long(table, days, *roles)
    findings = [*table.findings, *found]
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
    table = turn_days_down(open_source(source))
    date = _find_dates(table)
    others = [at for at in range(len(table.names)) if at != date]
    chosen = _choose_index(table, others, column)
    days = read_days(table, date)
    values = table.levels(chosen)
    kept = merge_days(table, days, values, date)
    levels = pd.Series(values[kept], index=days[kept], name=table.names[chosen]).dropna().sort_index()
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


def _find_dates(table: RawTable) -> int:
    """Return the column of days: by name, otherwise the first column whose first value is a day."""
    remedy = "Give a first line with 'date' and the names of the funds"
    if looks_like_day(table.names[0]):
        raise table.error(f"there is no header, the first name is {table.names[0]!r}", remedy)
    found = find_named(table, DATE_NAMES) or [at for at in range(len(table.names)) if holds_days(table, at)]
    if not found:
        raise table.error("there is no column of days", "Name it 'date' and write days as 2012-01-04")
    return found[0]
