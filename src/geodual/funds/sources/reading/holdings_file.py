"""Read what an investor holds: one row per lot, with units or value, and the day of purchase if known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from geodual.arrays import Array, Indices

from ...csv_cells import unmark_text
from .nav_file import FUND_NAMES
from .raw_table import RawTable, read_days
from .table_file import find_named, open_source

# Known column names in order of preference, compared without case, spaces, signs and anything in brackets.
_UNIT_NAMES = ("units", "shares", "quantity", "持有份额", "持仓份额", "份额", "份数")
_VALUE_NAMES = ("value", "marketvalue", "amount", "持有市值", "参考市值", "市值", "金额")
_DAY_NAMES = (
    *("bought", "boughton", "purchased", "purchasedate", "buydate", "acquired", "date"),
    *("买入日期", "购买日期", "申购日期", "确认日期"),
)


@dataclass(frozen=True, eq=False)
class Holdings:
    """What an investor holds.

    Parameters
    ----------
    lots : DataFrame
        One row per lot: `code`; `units`, NaN if only the value is known; `value`, NaN if only the units are
        known; `bought`, NaT if the day of purchase is not known.
    source : str
        Where they come from.

    See Also
    --------
    read_holdings : Read them from a file or a DataFrame.

    Examples
    --------
    >>> import pandas as pd
    >>> from geodual.funds import read_holdings
    >>> holdings = read_holdings(pd.DataFrame({"code": ["000001", "000001"], "units": [100, 50.5]}))
    >>> holdings.lots["units"].tolist(), int(holdings.lots["bought"].notna().sum())
    ([100.0, 50.5], 0)
    """

    lots: pd.DataFrame
    source: str = "DataFrame"


def no_holdings() -> Holdings:
    """Return holdings of an investor who has money only."""
    days = pd.Series([], dtype="datetime64[ns]")
    lots = {"code": pd.Series([], dtype=str), "units": [], "value": [], "bought": days}
    return Holdings(pd.DataFrame(lots).astype({"units": float, "value": float}), "none")


def take_holdings(source: Holdings | pd.DataFrame | str | Path) -> Holdings:
    """Return holdings in any form in which a user may give them."""
    return source if isinstance(source, Holdings) else read_holdings(source)


def read_holdings(source: str | Path | pd.DataFrame) -> Holdings:
    r"""Read what an investor holds: a table with one row per lot.

    Columns are recognized by their English or Chinese names: `code`; `units` or `value` (if both are given,
    units count); and `bought`, the day of purchase, which may be missing. Other columns are ignored.

    Parameters
    ----------
    source : path or DataFrame
        CSV, Excel or Parquet, in the formats that `read_nav` reads; or a DataFrame.

    Returns
    -------
    Holdings
        The lots. Codes are texts, unchanged ("000001" keeps its zeros).

    Raises
    ------
    DataError
        If a column is missing, a number or a day cannot be read, units or value are not positive, or two rows
        are the same.

    See Also
    --------
    select : Choose funds, with orders that lead from these holdings to them.
    watch : What has changed for these holdings since a day.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from geodual.funds import read_holdings
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.csv"
    ...     _ = path.write_text("code;units;bought\n000001;100,5;02.01.2015\n000002;20;\n", "utf-8")
    ...     lots = read_holdings(path).lots
    >>> lots["units"].tolist(), str(lots["bought"][0].date())
    ([100.5, 20.0], '2015-01-02')
    """
    table = open_source(source)
    code = _find(table, FUND_NAMES)
    if code is None:
        raise table.error("there is no column of fund codes", "Name it 'code'")
    units, value, day = (_find(table, known) for known in (_UNIT_NAMES, _VALUE_NAMES, _DAY_NAMES))
    if units is None and value is None:
        raise table.error("there is no column of units or values", "Name it 'units' or 'value'")
    lots = pd.DataFrame(
        {
            "code": [unmark_text(text) for text in table.fund_codes(code).to_pylist()],
            "units": _amounts(table, units),
            "value": _amounts(table, value),
            "bought": _days(table, day),
        }
    )
    _check(table, lots, units if units is not None else value)
    return Holdings(lots, table.source)


def _find(table: RawTable, known: tuple[str, ...]) -> int | None:
    return next(iter(find_named(table, known)), None)


def _amounts(table: RawTable, column: int | None) -> Array:
    """Return a column of positive numbers, NaN where a cell is empty or there is no column."""
    if column is None:
        return np.full(len(table.columns[0]), np.nan)
    values = table.numbers(column)
    bad = np.flatnonzero((values <= 0.0) | np.isinf(values))
    if len(bad):
        row = int(bad[0])
        remedy = "Give what is held, or leave out the row"
        raise table.error(f"{table.shown(row, column)} is not a positive number", remedy, row, column)
    return values


def _days(table: RawTable, column: int | None) -> pd.DatetimeIndex:
    """Return the days of a column, NaT where a cell is empty or there is no column."""
    days = np.full(len(table.columns[0]), np.datetime64("NaT", "us"))
    if column is not None:
        rows = np.flatnonzero(table.known_texts(column).is_valid().to_numpy(zero_copy_only=False))
        days[rows] = (
            read_days(_rows(table, rows), column).to_numpy("datetime64[us]") if len(rows) else days[:0]
        )
    return pd.DatetimeIndex(days)


def _rows(table: RawTable, rows: Indices) -> RawTable:
    """Return some rows of a table, which keep their places in messages."""
    columns = tuple(column.iloc[rows].reset_index(drop=True) for column in table.columns)
    return replace(table, columns=columns, place=partial(_place, table, rows))


def _place(table: RawTable, rows: Indices, row: int) -> str:
    return table.place(int(rows[row]))


def _check(table: RawTable, lots: pd.DataFrame, column: int | None) -> None:
    missing = np.flatnonzero(lots["units"].isna() & lots["value"].isna())
    if len(missing):
        raise table.error("there are neither units nor a value", "Write one of them", int(missing[0]), column)
    again = lots.duplicated()
    if again.any():
        row = int(again.argmax())
        same = lots.eq(lots.iloc[row]) | (lots.isna() & lots.iloc[row].isna())
        first = int(same.all(axis=1).argmax())
        problem = f"the row says the same as {table.place(first)}"
        raise table.error(problem, "Remove it; or, of two equal lots, write one row with their sum", row)
