"""Read a Parquet file whose footer says that it holds no more than it may."""

from __future__ import annotations

import io
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from geodual.bounded_reading import check_unpacked

_VALUE = 8  # bytes of a number or a day
_REMEDY = "If you trust it, save the table as plain CSV"


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
