"""Read compressed and nested files from others within limits, so that a small file cannot fill memory."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from .errors import DataError

# Compression shrinks tables of funds by a factor of 3 to 10, and by 30 if 99 of 100 cells are empty. Apache
# POI, too, treats a workbook that shrinks by more than 100 as a zip bomb.
_LARGEST_RATIO = 100
_ALWAYS_ALLOWED = 1 << 27  # 128 MiB, which any machine has; smaller tables may shrink by any factor
_LARGEST = 1 << 31  # 2 GiB: 15 years of daily NAVs of 20,000 funds, in a CSV table of 24 bytes per row
_MEMBERS = 10_000  # a workbook with 1,000 sheets has about 3,000
_DEPTH = 32  # settings and results of geodual are at most 8 deep
_CHUNK = 1 << 20


def check_unpacked(unpacked: int, packed: int, source: str, remedy: str) -> None:
    """Raise an error if a file unpacks to more than the limit.

    Parameters
    ----------
    unpacked : int
        Size in memory, in bytes.
    packed : int
        Size of the file, in bytes.
    source : str
        Name of the file, for error messages.
    remedy : str
        What to do: a sentence without the final period.

    Raises
    ------
    DataError
        If the file unpacks to more than 128 MiB and more than 100 times its size, or to more than 2 GiB.
    """
    limit = min(max(_LARGEST_RATIO * packed, _ALWAYS_ALLOWED), _LARGEST)
    if unpacked > limit:
        raise DataError(
            f"{source}: this file of {_shown(packed)} unpacks to {_shown(unpacked)} or more, and "
            f"{_shown(limit)} is the limit for its size. {remedy}."
        )


def unpack_gzip(data: bytes, source: str) -> bytes:
    """Unpack a gzip file, after a first pass that only counts the bytes.

    Parameters
    ----------
    data : bytes
        The file.
    source : str
        Name of the file, for error messages.
    """
    unpacked = 0
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while chunk := file.read(_CHUNK):
            unpacked += len(chunk)
            check_unpacked(unpacked, len(data), source, "If you trust it, unpack it with gunzip first")
    return gzip.decompress(data)


def check_archive(archive: zipfile.ZipFile, packed: int, source: str, remedy: str) -> None:
    """Raise an error if a zip file has too many members, members that overlap, or too much content.

    `zipfile` reads no more of a member than the directory declares, so the declared sizes can be relied on.

    Parameters
    ----------
    archive : ZipFile
        The archive.
    packed : int
        Size of the file, in bytes.
    source : str
        Name of the file, for error messages.
    remedy : str
        What to do: a sentence without the final period.
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
    """Return the arrays of an ``.npz`` file written by `numpy.savez`, without executing any of its content.

    Parameters
    ----------
    data : bytes
        The file.

    Raises
    ------
    ValueError, zipfile.BadZipFile, and others
        If `numpy.savez` did not write the file, or the content is larger than the file: `numpy.savez` does
        not compress.
    """
    import numpy as np  # imported here, so that the command shows its help at once

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > len(data):
        raise ValueError(f"its members are compressed or overlap: {unpacked} bytes in a file of {len(data)}")
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def parse_nested(parse: Callable[[str], Any], text: str) -> Any:
    """Parse JSON or TOML, unless the text is nested too deeply.

    Parameters
    ----------
    parse : callable
        The parser, such as `json.loads`.
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
