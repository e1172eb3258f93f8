"""Read packed and nested files of others within limits, so that no small file fills the memory."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from .errors import DataError

# Tables of funds shrink by 3 to 10 when packed, and by 30 if 99 of 100 cells are empty. Apache POI takes a
# workbook that shrinks by more than 100 for a bomb, too.
_LARGEST_RATIO = 100
_ALWAYS_ALLOWED = 1 << 27  # 128 MiB, which any machine has: tiny tables may shrink by any factor
_LARGEST = 1 << 31  # 2 GiB: 15 years of daily NAVs of 20,000 funds, in a CSV table of 24 bytes per row
_MEMBERS = 10_000  # a workbook with 1,000 sheets has about 3,000
_DEPTH = 32  # settings and results of geodual are at most 8 deep
_CHUNK = 1 << 20


def check_unpacked(unpacked: int, packed: int, source: str, remedy: str) -> None:
    """Raise if a file holds more than it may.

    Parameters
    ----------
    unpacked : int
        Bytes that it takes in memory.
    packed : int
        Bytes of the file.
    source : str
        Its name.
    remedy : str
        What to do: a sentence without its full stop.

    Raises
    ------
    DataError
        If it holds more than 128 MiB and more than 100 times its size, or more than 2 GiB.
    """
    limit = min(max(_LARGEST_RATIO * packed, _ALWAYS_ALLOWED), _LARGEST)
    if unpacked > limit:
        raise DataError(
            f"{source}: this file of {_shown(packed)} unpacks to {_shown(unpacked)} or more, and "
            f"{_shown(limit)} is the limit for its size. {remedy}."
        )


def unpack_gzip(data: bytes, source: str) -> bytes:
    """Return what a gzip file holds, after a pass that only counts its bytes.

    Parameters
    ----------
    data : bytes
        The file.
    source : str
        Its name.
    """
    unpacked = 0
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while chunk := file.read(_CHUNK):
            unpacked += len(chunk)
            check_unpacked(unpacked, len(data), source, "If you trust it, unpack it with gunzip first")
    return gzip.decompress(data)


def check_archive(archive: zipfile.ZipFile, packed: int, source: str, remedy: str) -> None:
    """Raise if a zip file has too many members, members that share bytes, or too much in them.

    `zipfile` reads no more of a member than the directory declares, so what is declared can be relied on.

    Parameters
    ----------
    archive : ZipFile
        The archive.
    packed : int
        Bytes of the file.
    source : str
        Its name.
    remedy : str
        What to do: a sentence without its full stop.
    """
    members = archive.infolist()
    if len(members) > _MEMBERS:
        raise DataError(
            f"{source}: it has {len(members):,} members, and {_MEMBERS:,} is the limit. {remedy}."
        )
    if sum(member.compress_size for member in members) > packed:
        raise DataError(f"{source}: its members overlap, which no honest program writes. {remedy}.")
    check_unpacked(sum(member.file_size for member in members), packed, source, remedy)


def read_arrays(data: bytes) -> dict[str, Any]:
    """Return the arrays of an ``.npz`` file that `numpy.savez` wrote; nothing in it is executed.

    Parameters
    ----------
    data : bytes
        The file.

    Raises
    ------
    ValueError, zipfile.BadZipFile, and others
        If it is no such file, or holds more than its own size: `numpy.savez` compresses nothing.
    """
    import numpy as np  # here, so that the command shows its help at once

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > len(data):
        raise ValueError(f"its members are compressed or overlap: {unpacked} bytes in a file of {len(data)}")
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def parse_nested(parse: Callable[[str], Any], text: str) -> Any:
    """Return what a parser of JSON or TOML makes of a text that is not nested too deeply.

    Parameters
    ----------
    parse : callable
        Such as `json.loads`.
    text : str
        The text.

    Raises
    ------
    ValueError
        If lists and tables are nested more than 32 deep, or the parser refuses the text.
    """
    with suppress(RecursionError):
        value = parse(text)
        level = [value]
        for _ in range(_DEPTH):
            level = [part for whole in level for part in _parts(whole) if isinstance(part, dict | list)]
            if not level:
                return value
    raise ValueError(f"it is nested more than {_DEPTH} levels deep")


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _shown(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size:,} bytes"
