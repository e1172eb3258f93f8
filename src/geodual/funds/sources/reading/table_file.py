"""Read tables from files, recognised by content: CSV of any dialect, Parquet, Excel, gzip."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv

from geodual.bounded_reading import unpack_gzip
from geodual.errors import DataError

from ...panel import Finding
from ..parquet_file import read_parquet
from .excel_file import OLD_EXCEL, ZIP, read_workbook
from .header_row import SAMPLE, find_header
from .raw_table import RawTable, table_of_frame
from .text_encoding import decode_text

_DELIMITERS = ("\t", ";", "|", ",")  # the comma last: it may also be a decimal comma
_BLOCK_BYTES = 1 << 26  # 64 MB: a row must fit into one block of pyarrow
_COLUMNS = 100_000  # each takes 11 KB, whatever is in it; China has 25,000 funds, all share classes counted
_BLANK_LINES = re.compile(r"\n[\t;|, ]+(?=\n|\Z)")  # spreadsheets save empty rows as lines of delimiters


def read_table(path: str | Path) -> RawTable:
    """Read a file as a table of unparsed cells.

    The first bytes tell the kind of file, and the first lines the delimiter (tab, semicolon, bar, comma) and
    where the header is.
    """
    source = str(path)
    try:
        data = Path(path).expanduser().read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = unpack_gzip(data, source)
    except FileNotFoundError:
        raise DataError(f"{source}: there is no such file. Check the path.") from None
    except IsADirectoryError:
        raise DataError(f"{source}: this is a folder. Give a file in it.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DataError(f"{source}: the gzip file is damaged or cut short. Fetch it again.") from None
    except DataError:
        raise
    except (OSError, ValueError) as problem:
        raise DataError(f"{source}: cannot be read ({problem}). Check the path and permissions.") from None
    if data[:4] == b"PAR1":
        return _read_parquet(data, source)
    if data.startswith((ZIP, OLD_EXCEL)):
        return read_workbook(data, source)
    text, guess = decode_text(data, source)
    try:
        return replace(_read_text(text, source), findings=_tell_guess(guess))
    except csv.Error:
        told = f"there is a cell of more than {csv.field_size_limit():,} characters"
        remedy = "Separate columns by commas, semicolons or tabs, and check the quotation marks"
        raise DataError(f"{source}: {told}. {remedy}.") from None


def _tell_guess(encoding: str) -> tuple[Finding, ...]:
    if not encoding:
        return ()
    message = f"The file is not UTF-8; it was read as {encoding}. If names look wrong, save it as UTF-8."
    return (Finding("encoding", False, "", "", 1, message),)


def _read_parquet(data: bytes, source: str) -> RawTable:
    try:
        frame = read_parquet(data, source)
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError):
        raise DataError(f"{source}: the Parquet file is damaged or cut short. Write it again.") from None
    return table_of_frame(frame, source)


def _read_text(text: str, source: str) -> RawTable:
    text = _BLANK_LINES.sub("\n", f"\n{text}")[1:]
    first = [line for _, line in itertools.islice(_filled_lines(text), SAMPLE)]
    if not first:
        raise DataError(f"{source}: the file is empty. Give a header and one row per day.")
    widest = 1 + max(line.count(mark) for line in first for mark in _DELIMITERS)
    if widest > _COLUMNS:
        raise DataError(
            f"{source}: a line has {widest:,} fields, and {_COLUMNS:,} is the limit. Give a long table, with "
            "one row per fund and day."
        )
    delimiter, header = _find_delimiter(first)
    names = next(csv.reader(first[header:], delimiter=delimiter))
    if len(names) < 2:
        problem = f"the header {first[0].strip()[:40]!r} has one column"
        raise DataError(f"{source}, line 1: {problem}. Separate columns by commas, semicolons or tabs.")
    if len(first) < header + 2:
        raise DataError(f"{source}: there is a header but no row. Give one row per day.")
    columns = _read_cells(text, delimiter, header, len(names), source)
    place = partial(_line_place, text, header)
    return RawTable(source, tuple(name.strip() for name in names), columns, place, delimiter != ",")


def _filled_lines(text: str) -> Iterator[tuple[int, str]]:
    """Return the lines that are not empty, with their numbers."""
    return ((number, line) for number, line in enumerate(io.StringIO(text), 1) if line != "\n")


def _find_delimiter(lines: list[str]) -> tuple[str, int]:
    """Return the delimiter that gives the header and all lines below the same number of fields.

    Of several, it is the one whose header stands highest: fields may contain other delimiters, while the
    names above them do not. If there is none, return the one that gives the header the most fields. The
    position of the header among the lines is returned, too.
    """
    rows: dict[str, list[list[str]]] = {}
    for mark in _DELIMITERS:
        with contextlib.suppress(csv.Error):  # to a wrong delimiter, a long line is one cell: too long
            rows[mark] = list(csv.reader(lines, delimiter=mark))
    if not rows:
        raise csv.Error
    headers = {mark: find_header(cells) for mark, cells in rows.items()}
    widths = {mark: [len(row) for row in cells[headers[mark] :]] for mark, cells in rows.items()}
    even = [mark for mark, width in widths.items() if width[0] > 1 and len(set(width)) == 1]
    found = max(rows, key=lambda mark: widths[mark][0])
    found = min(even, key=lambda mark: headers[mark], default=found)
    return found, headers[found]


def _read_cells(text: str, delimiter: str, header: int, width: int, source: str) -> tuple[pd.Series, ...]:
    names = [str(at) for at in range(width)]  # numbers, as the names in the header may repeat
    skipped = next(itertools.islice(_filled_lines(text), header, None))[0]
    try:
        table = arrow_csv.read_csv(
            io.BytesIO(text.encode()),
            arrow_csv.ReadOptions(column_names=names, skip_rows=skipped, block_size=_BLOCK_BYTES),
            arrow_csv.ParseOptions(delimiter=delimiter),
            arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except pa.ArrowInvalid:
        raise _describe_bad_row(text, delimiter, skipped, width, source) from None
    return tuple(column.to_pandas() for column in table.columns)


def _describe_bad_row(text: str, delimiter: str, skipped: int, width: int, source: str) -> DataError:
    """Return the error for the first row with too many or too few fields, after the lines that were skipped.

    pyarrow's own message does not say which line it is.
    """
    rows = csv.reader(itertools.islice(io.StringIO(text), skipped, None), delimiter=delimiter)
    line = skipped + 1
    for row in rows:
        if row and len(row) != width:
            problem = f"the row has {len(row)} fields, the header has {width}"
            remedy = "Complete the row, or quote fields that contain the delimiter"
            return DataError(f"{source}, line {line}: {problem}. {remedy}.")
        line = skipped + rows.line_num + 1
    return DataError(f"{source}: the rows cannot be told apart. Check the quotation marks.")


def _line_place(text: str, header: int, row: int) -> str:
    return f"line {next(itertools.islice(_filled_lines(text), header + 1 + row, None))[0]}"
