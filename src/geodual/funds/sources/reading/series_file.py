"""Read series of numbers that are neither NAVs nor levels: interest rates, and returns of factors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from .nav_file import find_dates, merge_days, turn_days_down
from .raw_table import read_days
from .table_file import open_source


def read_series(source: str | Path | pd.DataFrame | pd.Series[float]) -> pd.DataFrame:
    """Read a table of numbers by day; they may be negative.

    Parameters
    ----------
    source : path, DataFrame or Series
        A column of days and one or more columns of numbers, in the formats that `read_nav` reads.

    Returns
    -------
    DataFrame
        Day × column, in increasing order of days; NaN where a cell is empty. Days without any number are left
        out.

    Raises
    ------
    DataError
        If there is no column of days or of numbers, a cell is not a number, or a day has two rows that
        differ.
    """
    if isinstance(source, pd.Series):
        source = source.to_frame(source.name or "value")
    table = turn_days_down(open_source(source))
    date = find_dates(table)
    others = [at for at in range(len(table.names)) if at != date]
    names = [table.names[at] for at in others]
    if not others:
        raise table.error("there is no column other than the days", "Give a column of numbers")
    if (twice := pd.Index(names).duplicated()).any():
        raise table.error(f"two columns are named {names[int(twice.argmax())]!r}", "Give each its own name")
    values, days = np.column_stack([table.numbers(at) for at in others]), read_days(table, date)
    if len(bad := np.argwhere(np.isinf(values))):
        row, column = int(bad[0][0]), others[int(bad[0][1])]
        raise table.error(f"the value {table.shown(row, column)} is infinite", "Correct it", row, column)
    kept = merge_days(table, days, values, date)
    series = pd.DataFrame(values[kept], index=days[kept], columns=names).dropna(how="all").sort_index()
    if series.empty:
        raise table.error("there is no number at all", "Fill in the values")
    return series
