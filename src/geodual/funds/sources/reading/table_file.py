"""Read tables from files, recognized by content: CSV of any dialect, Parquet, Excel, gzip."""

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
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from geodual.bounded_reading import check_unpacked, unpack_gzip
from geodual.errors import DataError

from ...language import phrase
from ...panel import Finding
from .excel_file import OLD_EXCEL, ZIP, read_workbook
from .raw_table import SAMPLE, RawTable, find_header, table_of_frame

_DELIMITERS = ("\t", ";", "|", ",")  # the comma last: it may also be a decimal comma
BLOCK_BYTES = 1 << 26  # 64 MB: a row must fit into one block of pyarrow
_COLUMNS = 100_000  # each takes 11 KB, whatever is in it; China has 25,000 funds, all share classes counted
_BLANK_LINES = re.compile(r"\n[\t;|, ]+(?=\n|\Z)")  # spreadsheets save empty rows as lines of delimiters
# Western letters and signs in Windows-1252. They stand alone, or in twos inside a word, as in "Ações".
_SIGN = b"[%b\xc0-\xff]" % "€…ŠŒŽ‘’“”•–—™šœžŸ\xa0£§©ª«®°²´·º»".encode("cp1252")
_WESTERN = re.compile(rb"(?<![\x80-\xff])%b(?![\x80-\xff])|(?<=[A-Za-z])%b{2}(?=[A-Za-z])" % (_SIGN, _SIGN))
# Pairs of bytes in GBK; the group are common Chinese characters and punctuation, those of GB2312. Of other
# encodings few pairs are: two in five of Big5, half of Japanese in EUC, hardly any of Shift-JIS.
_CHINESE = re.compile(rb"([\xa1\xa3\xb0-\xf7][\xa1-\xfe])|[\x81-\xfe][\x40-\xfe]")
_MOST = 0.8  # share of the bytes that must look like it; names have a rare character now and then
_SHOWN = 1 << 20  # bytes from the first one beyond ASCII on that are looked at
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")  # characters that no text has: the file is binary
_VALUE = 8  # bytes of a number or a day
_REMEDY = "If you trust it, save the table as plain CSV"


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
    message = phrase(
        "The file is not UTF-8; it was read as {name}. If names look wrong, save it as UTF-8.", name=encoding
    )
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
    """Read a CSV: find its delimiter and its header, and split it into columns of texts."""
    text = _BLANK_LINES.sub("\n", f"\n{text}")[1:]
    first = [line for _, line in itertools.islice(_filled_lines(text), SAMPLE)]
    if not first:
        raise DataError(f"{source}: the file is empty. Give a header and rows.")
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
        raise DataError(f"{source}: there is a header but no row. Add at least one.")
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
            arrow_csv.ReadOptions(column_names=names, skip_rows=skipped, block_size=BLOCK_BYTES),
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
    return DataError(f"{source}: it is unclear where rows end. Check the quotation marks.")


def _line_place(text: str, header: int, row: int) -> str:
    return f"line {next(itertools.islice(_filled_lines(text), header + 1 + row, None))[0]}"


def decode_text(data: bytes, source: str) -> tuple[str, str]:
    """Return the text with plain line ends, and the name of its encoding if that is a guess, else ""."""
    utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    guess, text = "", _decode(data, "utf-16" if utf16 else "utf-8-sig")
    if text is None:
        guess, codec = _guess(data)
        text = _decode(data, codec)
    if text is None or "\0" in text or _CONTROL.search(text[:4096]):
        problem = "this is not text in UTF-8 or UTF-16, and does not look like GBK or Windows-1252 (Latin-1)"
        raise DataError(f"{source}: {problem}. Save it as CSV in UTF-8, or as Parquet.")
    return text.replace("\r\n", "\n").replace("\r", "\n"), guess


def _decode(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        return None


def _guess(data: bytes) -> tuple[str, str]:
    """Return the name and the codec of the encoding that bytes look like if they are not UTF-8."""
    first = re.search(rb"[\x80-\xff]", data)
    shown = data[max(first.start() - 1, 0) :][:_SHOWN] if first else b""
    needed = _MOST * len(re.findall(rb"[\x80-\xff]", shown))
    for name, codec, pattern in (("Windows-1252", "cp1252", _WESTERN), ("GBK", "gb18030", _CHINESE)):
        if sum(map(len, pattern.findall(shown))) >= needed:
            return name, codec
    return "", "ascii"


def read_parquet(data: bytes, source: str) -> pd.DataFrame:
    """Return the table of a Parquet file; a page that does not match its checksum is an error.

    Parameters
    ----------
    data : bytes
        The file.
    source : str
        Its name.

    Raises
    ------
    DataError
        If its values or texts would take more memory than its size allows.
    pyarrow.ArrowException, OSError, and others
        If it is damaged.
    """
    file = parquet.ParquetFile(io.BytesIO(data))
    check_unpacked(_declared_size(file.metadata), len(data), source, _REMEDY)
    texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
    if texts:
        check_unpacked(_text_size(data, texts), len(data), source, _REMEDY)
    return pd.read_parquet(io.BytesIO(data), page_checksum_verification=True)


def _declared_size(footer: Any) -> int:
    """Return the bytes of all values: equal ones take hardly any space in the file, but do in memory."""
    groups = [footer.row_group(at) for at in range(footer.num_row_groups)]
    values = sum(group.column(at).num_values for group in groups for at in range(group.num_columns))
    pages = sum(group.total_byte_size for group in groups)
    return int(max(_VALUE * values, _VALUE * footer.num_rows * footer.num_columns, pages))


def _text_size(data: bytes, names: list[str]) -> int:
    """Return the bytes of all texts, while those that occur often are in memory once only."""
    table = parquet.read_table(io.BytesIO(data), columns=names, read_dictionary=names)
    chunks = [chunk for column in table.columns for chunk in column.chunks]
    sizes = [pc.sum(pc.take(pc.binary_length(chunk.dictionary), chunk.indices)) for chunk in chunks]
    return sum(size.as_py() or 0 for size in sizes)


def _is_text(kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind))


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
