"""Sheets of an Excel workbook: tables with real dates, percentages, and numbers that lose no digit."""

from __future__ import annotations

import datetime
import importlib
import math
import re
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from geodual.errors import DataError
from geodual.extras import import_extra

MAX_ROWS = 1_048_576  # rows of a sheet in Excel, the header included
PERCENT, NUMBER, DAY = "0.00%", "0.0000", "yyyy-mm-dd"
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_FORMULA_MARKS = ("=", "+", "-", "@")
_SAMPLE = 200  # rows that decide how wide a column is
_NARROW, _WIDE = 11, 60  # widths of columns, in characters
_LABELS, _TEXTS = 24, 110  # widths of the two columns of a list


def load_openpyxl(path: Path) -> Any:
    """Return the package that writes Excel files; raise if it is missing or the file is not an .xlsx.

    Parameters
    ----------
    path : Path
        The file to be written.
    """
    if path.suffix.lower() != ".xlsx":
        raise DataError(f"{path}: an Excel file must end in .xlsx. Choose a name such as study.xlsx.")
    return import_extra("openpyxl", "excel", f"{path}: writing Excel needs openpyxl")


def add_table(book: Any, title: str, table: pd.DataFrame, percent: Collection[str] | None) -> None:
    """Add a table as a sheet with a bold, frozen header and filters; if it is too long, as several sheets.

    Parameters
    ----------
    book : openpyxl.Workbook
        A write-only workbook.
    title : str
        Name of the sheet; further sheets of a long table are numbered.
    table : DataFrame
        Its index is written too if it has a name.
    percent : collection of str or None
        The columns to show as percentages; None for all columns of decimal numbers.
    """
    flat = table.reset_index(drop=all(name is None for name in table.index.names))
    most = MAX_ROWS - 1
    for part, start in enumerate(range(0, max(len(flat), 1), most), 1):
        rows = flat.iloc[start : start + most]
        _add_part(book, title if part == 1 else f"{title} {part}", rows, percent)


def add_list(book: Any, title: str, rows: Iterable[tuple[str, Any]]) -> None:
    """Add a sheet of two columns: bold labels, and what they stand for.

    Parameters
    ----------
    book : openpyxl.Workbook
        A write-only workbook.
    title : str
        Name of the sheet.
    rows : iterable of (str, value)
        A value is a text, a number, a day, a bool, or None.
    """
    styles, sheet = _load("styles"), book.create_sheet(title)
    sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = _LABELS, _TEXTS
    for label, value in rows:
        cells = [_make_cell(sheet, label, ""), _make_cell(sheet, value, "")]
        cells[0].font = styles.Font(bold=True)
        for cell in cells:
            cell.alignment = styles.Alignment(wrap_text=True, vertical="top", horizontal="left")
        sheet.append(cells)


@cache  # asked for once per cell
def _load(module: str) -> Any:
    return importlib.import_module(f"openpyxl.{module}")


def _add_part(book: Any, title: str, table: pd.DataFrame, percent: Collection[str] | None) -> None:
    sheet, letter = book.create_sheet(title), _load("utils").get_column_letter
    names = [str(name) for name in table.columns]
    columns = [_plain_values(table.iloc[:, at]) for at in range(len(names))]
    formats = [PERCENT if percent is None or name in percent else NUMBER for name in names]
    # A write-only sheet wants its layout before its first row.
    sheet.freeze_panes = "A2"
    for at, (name, values) in enumerate(zip(names, columns, strict=True), 1):
        sheet.column_dimensions[letter(at)].width = _fitting_width(name, values)
    sheet.append([_make_header(sheet, name) for name in names])
    for row in zip(*columns, strict=True):
        sheet.append([_make_cell(sheet, *pair) for pair in zip(row, formats, strict=True)])
    sheet.auto_filter.ref = f"A1:{letter(len(names))}{len(table) + 1}"


def _plain_values(column: pd.Series[Any]) -> list[Any]:
    """Return the values of a column as objects of Python, None where one is missing."""
    return [None if gone else value for value, gone in zip(column.tolist(), column.isna(), strict=True)]


def _fitting_width(name: str, values: list[Any]) -> int:
    texts = [len(value) for value in values[:_SAMPLE] if isinstance(value, str)]
    return min(max(_NARROW, len(name) + 4, *(length + 2 for length in texts)), _WIDE)  # + 4: filter button


def _make_header(sheet: Any, name: str) -> Any:
    cell = _make_cell(sheet, name, "")
    cell.font = _load("styles").Font(bold=True)
    return cell


def _make_cell(sheet: Any, value: Any, number_format: str) -> Any:
    """Return a cell of the right type; decimal numbers are shown in the format given."""
    make = _load("cell").WriteOnlyCell
    if isinstance(value, datetime.date):
        cell = make(sheet, value)
        cell.number_format = DAY
        return cell
    if value is None or isinstance(value, bool):
        return make(sheet, value)
    if isinstance(value, int | float) and math.isfinite(value):
        # openpyxl would round to 16 digits, one too few for a double: give it the digits as text.
        cell = make(sheet, repr(value))
        cell.data_type = "n"
        if isinstance(value, float):
            cell.number_format = number_format or "General"
        return cell
    text = _NOT_XML.sub("\ufffd", str(value))
    cell = make(sheet, text)
    cell.data_type = "s"  # openpyxl takes "=…" for a formula and "#N/A" for an error
    if text.startswith(_FORMULA_MARKS):
        cell.quotePrefix = True  # Excel keeps the cell a text even when someone edits it
    return cell
