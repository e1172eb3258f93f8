"""Open a table, and find its columns by the names that people give them, in English or Chinese."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd

from geodual.errors import DataError

from .raw_table import RawTable, table_of_frame
from .table_file import read_table

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


def open_source(source: Any) -> RawTable:
    """Return a file or a DataFrame, of pandas or another library, without columns that hold nothing."""
    # polars, pyarrow and others have `to_pandas`.
    frame = source.to_pandas() if hasattr(source, "to_pandas") else source
    if isinstance(frame, pd.DataFrame):
        table = table_of_frame(frame, "DataFrame")
    elif isinstance(frame, str | Path):
        table = read_table(frame)
    else:
        raise DataError(
            f"`source` must be a path or a DataFrame, got {type(source).__name__}; turn it into one."
        )
    table = table.select([at for at in range(len(table.names)) if not _is_filler(table, at)])
    if not table.columns or not len(table.columns[0]):
        raise table.error("there is no row", "Fill in the table")
    return table


def _is_filler(table: RawTable, column: int) -> bool:
    """Return whether a column without a name is empty, as after a last delimiter, or numbers the rows."""
    if table.names[column] not in ("", "Unnamed: 0"):
        return False
    cells = table.texts(column).to_pylist()
    return not any(cells) or cells in ([str(at + start) for at in range(len(cells))] for start in (0, 1))


def find_named(table: RawTable, known: tuple[str, ...]) -> list[int]:
    """Return the columns with a known name, the preferred names first."""
    plain = [re.sub(r"[(（].*|[\s_\-.]", "", name).casefold() for name in table.names]
    return [at for name in known for at, candidate in enumerate(plain) if candidate == name]
