"""CSV files that no spreadsheet executes: texts that look like formulas are marked, and unmarked when read.

Spreadsheets take a cell for a formula if it begins with one of ``= + - @``, and a formula can run programs or
send data away. Names of funds and metrics come from files of others, so such a text gets an apostrophe in
front, as a user would type it. Numbers are left alone, negative ones too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from geodual.atomic_file import write_atomically

# Apostrophes in front are matched too, so that a text that begins with one is read back as it was.
_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")

# Before version 3, pandas read some numbers one unit in the last place off unless told not to.
_EXACT: dict[str, Any] = {"float_precision": "round_trip"} if pd.__version__ < "3" else {}


def mark_text(text: str) -> str:
    """Return a text as no spreadsheet takes it for a formula: an apostrophe goes before what looks like one.

    Parameters
    ----------
    text : str
        The text of a cell. A number, such as "-1.5", is returned as it is.
    """
    return f"'{text}" if _FORMULA.match(text) and not _is_number(text) else text


def unmark_text(text: str) -> str:
    """Return the text that `mark_text` marked.

    Parameters
    ----------
    text : str
        The text of a cell.
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def csv_text(table: pd.DataFrame, keep_index: bool) -> str:
    """Return a table as CSV, with all texts marked that look like formulas, names of columns too.

    Parameters
    ----------
    table : DataFrame
        The table; it is not changed.
    keep_index : bool
        Whether the index is written.
    """
    safe = _map_texts(table, mark_text)
    return safe.to_csv(index=keep_index, date_format="%Y-%m-%d", lineterminator="\n")


def write_csv(path: Path, table: pd.DataFrame, *, keep_index: bool) -> None:
    """Write a table as CSV like `csv_text`, whole or not at all.

    Parameters
    ----------
    path : Path
        File to create or replace; it is compressed if its name ends in .gz.
    table : DataFrame
        The table; it is not changed.
    keep_index : bool
        Whether the index is written.
    """
    safe = _map_texts(table, mark_text)
    write_atomically(
        path, lambda place: safe.to_csv(place, index=keep_index, date_format="%Y-%m-%d", lineterminator="\n")
    )


def read_csv(path: Path, **options: Any) -> pd.DataFrame:
    """Read a table that `write_csv` wrote, with all texts as they were.

    Parameters
    ----------
    path : Path
        The file.
    **options
        Options of `pandas.read_csv`.
    """
    return _map_texts(pd.read_csv(path, **_EXACT, **options), unmark_text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _map_texts(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """Return a table with changed texts in cells, index and names of columns."""
    mapped = table.copy(deep=False)
    for at, dtype in enumerate(table.dtypes):
        if not _is_text(dtype):
            continue
        column = table.iloc[:, at]
        # Few texts occur in many rows, and hardly ever is one of them changed.
        other = {text: change(text) for text in column.unique() if isinstance(text, str)}
        if any(text != changed for text, changed in other.items()):
            mapped.isetitem(at, [other.get(value, value) for value in column])
    mapped.index = _map_labels(table.index, change)
    mapped.columns = _map_labels(table.columns, change)
    return mapped


def _map_labels(labels: Any, change: Callable[[str], str]) -> Any:
    names = [change(name) if isinstance(name, str) else name for name in labels.names]
    if isinstance(labels, pd.MultiIndex):
        return labels.set_levels([_map_labels(level, change) for level in labels.levels]).set_names(names)
    if _is_text(labels.dtype):
        texts = [change(label) if isinstance(label, str) else label for label in labels]
        labels = pd.Index(texts, dtype=labels.dtype)
    return labels.set_names(names)


def _is_text(dtype: Any) -> bool:
    return bool(pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype))
