"""Small files that would fill the memory or run for minutes: each is one error, made before that happens."""

import gzip
import io
import json
import struct
import tomllib
import tracemalloc
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from pyarrow import parquet

from geodual.bounded_reading import parse_nested, read_arrays
from geodual.errors import DataError
from geodual.funds.config import read_config
from geodual.funds.sources.reading.excel_file import check_sheet
from geodual.funds.sources.reading.nav_file import read_nav
from tests.funds.fake_akshare import fetch, make_market

SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%s</sheetData></worksheet>'
STYLES = b'<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cellXfs>%s</cellXfs></styleSheet>'
FIRST = "xl/worksheets/sheet1.xml"


def workbook() -> bytes:
    book, buffer = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["date", "000001"])
    book.save(buffer)
    return buffer.getvalue()


def changed_workbook(name: str, content: bytes, extra: Iterable[str] = ()) -> bytes:
    """Return a workbook with another content of a member, and with more members that are empty."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook())) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        for member in old.namelist():
            new.writestr(member, content if member == name else old.read(member))
        for member in extra:
            new.writestr(member, b"")
    return buffer.getvalue()


def far_cells() -> bytes:
    """Return a sheet whose rows have one cell each, in the last column that there is."""
    return SHEET % b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (at, at) for at in range(1, 520))


def table_bytes(columns: dict[str, object], **options: object) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(pa.table(columns), buffer, compression="zstd", **options)
    return buffer.getvalue()


def same_text() -> bytes:
    """Return a Parquet file of 200 equal texts of a million characters, of which it stores one."""
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(200, np.int32)), pa.array(["x" * 1_000_000]))
    return table_bytes({"date": texts, "000001": np.ones(200)}, store_schema=False)


BOMBS = {
    "gzip": (
        lambda: gzip.compress(bytes(1 << 24)) * 9,
        "unpacks to 135.3 MB or more, and 134.2 MB is the limit",
    ),
    "parquet": (lambda: table_bytes({"a": np.zeros(17_000_000)}), "unpacks to 136.0 MB or more"),
    "one text": (same_text, "unpacks to 200.0 MB or more"),
    "sheet": (lambda: changed_workbook(FIRST, bytes(1 << 27)), r"unpacks to 134\.\d MB or more"),
    "cells": (
        lambda: changed_workbook(FIRST, SHEET % (b"<x:c/>" * 8_400_000)),
        "at least 8,.* cells in its sh",
    ),
    "far cells": (lambda: changed_workbook(FIRST, far_cells()), "at least 8,404,992 cells in a sheet"),
    "styles": (lambda: changed_workbook("xl/styles.xml", STYLES % (b"<xf/>" * 1_048_576)), "tags outside"),
    "members": (
        lambda: changed_workbook("", b"", map(str, range(10_000))),
        "members, and 10,000 is the limit",
    ),
    "columns": (lambda: b"date" + b"," * 100_000 + b"\n1,2\n", "a line has 100,001 fields, and 100,000"),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_small_file_that_holds_too_much_is_refused_before_it_is_unpacked(kind: str, tmp_path: Path) -> None:
    make, told = BOMBS[kind]
    path = tmp_path / "nav"
    path.write_bytes(make())
    assert path.stat().st_size < 1_000_000
    with pytest.raises(DataError, match=rf"^{path}: [^\n]*{told}[^\n]*\. [A-Z][^\n]+\.$"):
        read_nav(path)


def test_a_sheet_ends_where_those_of_excel_end() -> None:
    check_sheet(1 << 20, 8, "nav.xlsx")
    with pytest.raises(DataError, match="at least 1,048,577 rows in a sheet, and 1,048,576 is the limit"):
        check_sheet((1 << 20) + 1, 1, "nav.xlsx")


def test_a_fund_that_unpacks_to_too_much_is_fetched_again(tmp_path: Path) -> None:
    (tmp_path / "funds").mkdir()
    (tmp_path / "funds" / "000001.parquet").write_bytes(BOMBS["parquet"][0]())
    market = make_market(n_funds=2)
    fetch(tmp_path, market)
    assert market.asked() == ["000001", "000002"]


def nested_members(n_members: int, size: int) -> bytes:
    """Return an .npz file whose members share their bytes: each array holds all members after it."""
    parts, directory, offset = [bytes(size)], [], 0
    for at in range(n_members):
        name, length = b"%05d.npy" % (n_members - at), sum(map(len, parts))
        header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }" % length
        start = b"\x93NUMPY\x01\x00" + struct.pack("<H", 117) + header.ljust(116) + b"\n"
        data = start + b"".join(parts)
        fields = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, zlib.crc32(data), len(data), len(data), 9, 0)
        parts = [b"PK\3\4" + fields + name, start, *parts]
        directory.append((name, fields, sum(map(len, parts))))
    body, entries = b"".join(parts), b""
    for name, fields, distance in directory:
        offset = len(body) - distance
        entries += (
            b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, offset) + name
        )
    end = struct.pack("<HHHHIIH", 0, 0, n_members, n_members, len(entries), len(body), 0)
    return body + entries + b"PK\5\6" + end


def compressed_arrays() -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, a=np.zeros(1_000_000))
    return buffer.getvalue()


@pytest.mark.parametrize("make", [lambda: nested_members(40, 100_000), compressed_arrays])
def test_arrays_hold_no_more_than_their_file(make) -> None:
    data = make()
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"members are compressed or overlap: \d+ bytes in a file of \d+"):
        read_arrays(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500_000


def test_members_that_share_bytes_are_told_in_a_workbook(tmp_path: Path) -> None:
    (tmp_path / "nav.xlsx").write_bytes(nested_members(3, 1000))
    with pytest.raises(
        DataError, match=r"nav\.xlsx: its members overlap.*Save the table as CSV or Parquet\.$"
    ):
        read_nav(tmp_path / "nav.xlsx")


TOO_DEEP = {
    "list": (json.loads, "[" * 33 + "]" * 33),
    "table": (json.loads, '{"a":' * 33 + "1" + "}" * 33),
    "deeper": (json.loads, "[" * 900 + "]" * 900),
    "beyond the stack": (json.loads, "[" * 100_000),
    "TOML list": (tomllib.loads, "a = " + "[" * 32 + "]" * 32),  # the file itself is a table
    "TOML table": (tomllib.loads, "a." * 900 + "a = 1"),
    "TOML beyond the stack": (tomllib.loads, "a = " + "[" * 10_000),
}


@pytest.mark.parametrize("kind", TOO_DEEP)
def test_what_is_nested_too_deeply_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="it is nested more than 32 levels deep"):
        parse_nested(*TOO_DEEP[kind])


def test_what_is_not_nested_too_deeply_is_parsed() -> None:
    assert parse_nested(json.loads, "[" * 32 + "]" * 32) == json.loads("[" * 32 + "]" * 32)
    assert parse_nested(json.loads, "3") == 3
    assert parse_nested(tomllib.loads, "a = [{b = [1]}]\n") == {"a": [{"b": [1]}]}


@pytest.mark.parametrize("text", ["k = " + "[" * 10_000, "k" + ".k" * 900 + " = 1", "k = " + "1" * 5_000])
def test_a_hostile_configuration_is_one_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(
        DataError, match=r"study\.toml: not a TOML file \([^\n]+\); write lines such as `k = 10`"
    ):
        read_config(tmp_path / "study.toml")
