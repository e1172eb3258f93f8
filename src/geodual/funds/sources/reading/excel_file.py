"""Read a table from an Excel workbook (.xlsx): the first sheet, or the only one that holds a table."""

from __future__ import annotations

import datetime
import io
import warnings
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from geodual.bounded_reading import check_archive
from geodual.errors import DataError
from geodual.extras import import_extra

from .raw_table import SAMPLE, RawTable, find_header

OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # first bytes of .xls files, and of encrypted .xlsx files
ZIP = b"PK\x03\x04"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")

Grid = list[tuple[int, tuple[Any, ...]]]  # filled rows, each with its number in the sheet
_ROWS = 1 << 20  # all that a sheet of Excel has
_CELLS = 8 * _ROWS  # eight full columns, or 2,500 days of 3,300 funds
_TAGS = 1 << 20  # outside of the sheets: 250,000 different texts
_CHUNK = 1 << 20
_REMEDY = "Save the table as CSV or Parquet"


def read_workbook(data: bytes, source: str) -> RawTable:
    """Return the table of a workbook that is given as bytes."""
    if data.startswith(OLD_EXCEL):
        if _ENCRYPTED in data:
            raise DataError(f"{source}: the Excel file has a password. Save it without one.")
        raise DataError(f"{source}: this is an old Excel file. Save it as .xlsx or CSV.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_workbook(archive, len(data), source)
            names = archive.namelist()
    except DataError:
        raise
    except Exception:  # as below
        raise DataError(f"{source}: the zip or Excel file is damaged or cut short. Save it again.") from None
    if "xl/workbook.xml" not in names:
        raise DataError(f"{source}: this zip file is not from Excel. Save the table as .xlsx or CSV.")
    tables = _read_tables(data, source)
    if not tables:
        raise DataError(f"{source}: no sheet holds a table. Give a header and rows.")
    if len(tables) > 1:
        listed = ", ".join(map(repr, tables))
        raise DataError(f"{source}: the sheets {listed} hold tables. Move the right one to the front.")
    return _table_of(next(iter(tables.values())), source)


def _read_tables(data: bytes, source: str) -> dict[str, Grid]:
    """Return the sheets that hold a table: the first alone if it does, otherwise all that do."""
    openpyxl = import_extra("openpyxl", "excel", f"{source}: reading Excel needs openpyxl")
    tables: dict[str, Grid] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and the like, which do not matter here
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            for at, sheet in enumerate(each for each in book.worksheets if each.sheet_state == "visible"):
                sheet.reset_dimensions()  # some programs write wrong ones
                grid = _filled_rows(sheet, source)
                if _holds_table(grid):
                    tables[sheet.title] = grid
                    if at == 0:
                        break
            book.close()
    except DataError:
        raise
    except Exception:  # a damaged file raises whatever comes first: errors of zip, XML, keys or types
        raise DataError(f"{source}: the Excel file is damaged. Save it again.") from None
    return tables


def _filled_rows(sheet: Any, source: str) -> Grid:
    filled: Grid = []
    width = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        width = max(width, len(row))
        check_sheet(number, width, source)
        if any(cell is not None and cell != "" for cell in row):
            filled.append((number, row))
    return filled


def _holds_table(grid: Grid) -> bool:
    """Return whether there are two rows of two cells or more, and not only a text."""
    wide = sum(sum(cell is not None for cell in row) > 1 for _, row in grid[:SAMPLE])
    return wide > 1


def _table_of(grid: Grid, source: str) -> RawTable:
    header = find_header([[_text(cell) for cell in row] for _, row in grid[:SAMPLE]])
    body = grid[header + 1 :]
    width = max(len(row) for _, row in grid[header:])
    names = tuple(_text(cell).strip() for cell in _padded(grid[header][1], width))
    cells = zip(*(_padded(row, width) for _, row in body), strict=True)
    numbers = [number for number, _ in body]
    return RawTable(source, names, tuple(map(_column_of, cells)), lambda row: f"row {numbers[row]}")


def _padded(row: Sequence[Any], width: int) -> tuple[Any, ...]:
    return (*row, *[None] * (width - len(row)))


def _column_of(cells: tuple[Any, ...]) -> pd.Series[Any]:
    """Return cells as days or numbers if all of them are, and as texts otherwise."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds and kinds <= {datetime.datetime, datetime.date}:
        return pd.Series(pd.to_datetime(pd.Series(cells)))
    if kinds == {int}:
        return pd.Series(pd.array(cells, dtype="Int64"))
    if kinds and kinds <= {int, float}:
        numbers = np.array([np.nan if cell is None else cell for cell in cells], dtype=float)
        whole = bool((numbers[~np.isnan(numbers)] % 1.0 == 0.0).all())
        return pd.Series(numbers).astype("Int64") if whole else pd.Series(numbers)
    return pd.Series([None if cell is None else _text(cell) for cell in cells], dtype=object)


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    # A code such as 519001 is sometimes stored as 519001.0.
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def check_workbook(archive: zipfile.ZipFile, packed: int, source: str) -> None:
    """Raise if a workbook would take too much memory or time, by a look at its bytes.

    Parameters
    ----------
    archive : ZipFile
        The workbook.
    packed : int
        Bytes of the file.
    source : str
        Its name.
    """
    check_archive(archive, packed, source, _REMEDY)
    cells = tags = 0
    for member in archive.infolist():
        is_sheet = member.filename.startswith("xl/worksheets/")
        with archive.open(member) as file:
            while chunk := file.read(_CHUNK):
                # Cells are <c>, or <x:c> with a prefix. UTF-16 would hide them, and only it has zero bytes.
                cells += sum(map(chunk.count, (b"<c", b":c", b"\0"))) if is_sheet else 0
                tags += 0 if is_sheet else chunk.count(b"<")
                _check(cells, _CELLS, "cells in its sheets", source)
                _check(tags, _TAGS, "tags outside of its sheets", source)


def check_sheet(n_rows: int, n_columns: int, source: str) -> None:
    """Raise if a sheet is too large, empty cells included.

    Parameters
    ----------
    n_rows, n_columns : int
        Its size so far.
    source : str
        Name of the file.
    """
    _check(n_rows, _ROWS, "rows in a sheet", source)
    _check(n_rows * n_columns, _CELLS, "cells in a sheet with the empty ones", source)


def _check(count: int, limit: int, what: str, source: str) -> None:
    if count > limit:
        raise DataError(
            f"{source}: there are at least {count:,} {what}, and {limit:,} is the limit. {_REMEDY}."
        )
