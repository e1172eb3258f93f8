"""Limits of an Excel workbook: openpyxl takes ten seconds and more for a million cells."""

from __future__ import annotations

import zipfile

from geodual.bounded_reading import check_archive
from geodual.errors import DataError

_ROWS = 1 << 20  # all that a sheet of Excel has
_CELLS = 8 * _ROWS  # eight full columns, or 2,500 days of 3,300 funds
_TAGS = 1 << 20  # outside of the sheets: 250,000 different texts
_CHUNK = 1 << 20
_REMEDY = "Save the table as CSV or Parquet"


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
