"""A table as it was found, before its columns are understood: names, cells and their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.errors import DataError

from ...panel import Finding

# Texts that mean "no value", in lower case.
_MISSING = pa.array(["", "nan", "na", "n/a", "#n/a", "<na>", "nat", "null", "none", "-", "--"])
_SAMPLE = 1000  # rows that show what a column holds
_RETURNS = 0.1  # from this share of negative values on, a column holds returns: even bond funds lose so often
_GROUP = 1000.0  # what a mark that groups thousands multiplies by
_GROUPED = r"^[1-9][0-9]{0,2}\.[0-9]{3}$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def row_place(row: int) -> str:
    """Name a row, counted from 1, of a table that has no lines."""
    return f"row {row + 1}"


@dataclass(frozen=True, eq=False)
class RawTable:
    """Named columns of cells of any type, and their places in the source.

    Parameters
    ----------
    source : str
        Name of the table in messages: the path as given, or ``"DataFrame"``.
    names : tuple of str
        The header; names may repeat or be empty.
    columns : tuple of Series
        The cells, one Series per column.
    place : callable
        Returns the place of a row (from 0) in the source, such as ``"line 7"``.
    decimal_comma : bool
        Whether ``1,25`` may mean 1.25.
    findings : tuple of Finding
        What its user should know about how the table was read.
    """

    source: str
    names: tuple[str, ...]
    columns: tuple[pd.Series[Any], ...]
    place: Callable[[int], str] = row_place
    decimal_comma: bool = True
    findings: tuple[Finding, ...] = ()

    def select(self, kept: Sequence[int]) -> RawTable:
        """Return the table with some of its columns."""
        names, columns = tuple(self.names[at] for at in kept), tuple(self.columns[at] for at in kept)
        return replace(self, names=names, columns=columns)

    def error(
        self, problem: str, remedy: str, row: int | None = None, column: int | None = None
    ) -> DataError:
        """Return the exception for a problem, in one line: where, what is wrong, and what to do."""
        where = [self.source]
        if row is not None:
            where.append(self.place(row))
        if column is not None:
            where.append(f"column {self.names[column]!r}")
        return DataError(f"{', '.join(where)}: {problem}. {remedy}.")

    def shown(self, row: int, column: int) -> str:
        """Return a cell as it is quoted in messages, at most 40 characters long."""
        cell = self.columns[column].iloc[row]
        text = repr(cell) if isinstance(cell, str) else str(cell)
        return text if len(text) <= 40 else f"{text[:37]}..."

    def texts(self, column: int) -> pa.Array:
        """Return the cells of a column as texts without surrounding space."""
        cells = self.columns[column]
        if cells.dtype != "str":
            # Once more as objects: pandas makes days of a column that holds nothing but missing days.
            cells = cells.astype(object).map(str, na_action="ignore").astype(object)
        text = pc.utf8_trim_whitespace(pa.array(cells, pa.string()))
        return text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text

    def known_texts(self, column: int) -> pa.Array:
        """Return the cells of a column as texts, null where they mean "no value"."""
        return _given(self.texts(column))

    def fund_codes(self, column: int) -> pa.Array:
        """Return the cells of a column of funds as texts; an empty cell is an error."""
        text = self.texts(column).fill_null("")
        if (row := pc.index(text, "").as_py()) >= 0:
            raise self.error("there is no fund code", "Write it", row, column)
        return text

    def is_blank(self, column: int) -> NDArray[np.bool_]:
        """Return which cells of a column mean "no value"."""
        return np.asarray(self.known_texts(column).is_null().to_numpy(zero_copy_only=False), dtype=bool)

    def levels(self, column: int) -> Array:
        """Return a column of positive numbers, NaN where a cell is empty; anything else is an error."""
        cells = self.columns[column]
        if pd.api.types.is_any_real_numeric_dtype(cells.dtype):
            values = cells.to_numpy(float, na_value=np.nan)
        else:
            values = self._parsed(column)
        bad = np.flatnonzero((values <= 0.0) | np.isinf(values))
        if not len(bad):
            return values
        negative, known = np.flatnonzero(values < 0.0), np.count_nonzero(~np.isnan(values))
        row = int((negative if len(negative) else bad)[0])
        problem = "is infinite" if np.isinf(values[row]) else "is not positive"
        remedy = "Correct the value, or leave the cell empty"
        if len(negative) >= _RETURNS * known:
            problem = f"is negative, as {len(negative)} of {known} values are; these look like returns"
            remedy = "Turn returns (0.01 for 1 %) into NAVs by `(1 + returns).cumprod()`"
        raise self.error(f"the value {self.shown(row, column)} {problem}", remedy, row, column)

    def _parsed(self, column: int) -> Array:
        text = _given(self.texts(column))
        if self.decimal_comma and pc.any(pc.match_substring(text, ",")).as_py():
            # Next to decimal commas, a point groups thousands or is a mistake. The "?" makes such a number
            # unreadable, so that it is reported rather than guessed.
            text = pc.replace_substring(pc.replace_substring(text, ".", "?"), ",", ".")
        try:
            values = np.asarray(pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False), dtype=float)
        except pa.ArrowInvalid:
            row = pc.index(pc.match_substring_regex(text, _NUMBER), False).as_py()
            problem = f"the value {self.shown(row, column)} is not a number"
            remedy = "Write it as 1234.5, or leave the cell empty"
            raise self.error(problem, remedy, row, column) from None
        row = _find_thousands(text, values)
        if row is None:
            return values
        number = text[row].as_py()
        problem = f"the mark in {self.shown(row, column)} seems to group thousands, beside whole numbers"
        remedy = f"Write {number.replace('.', '')} if it does, and {number}0 if not"
        raise self.error(problem, remedy, row, column)

    def looks_like_levels(self, column: int) -> bool:
        """Return whether the cells look like NAVs and not like fund codes: numbers, some with decimals."""
        cells = self.columns[column]
        if pd.api.types.is_numeric_dtype(cells.dtype):
            return pd.api.types.is_float_dtype(cells.dtype)
        text = _given(self.texts(column)[:_SAMPLE]).drop_null()
        if self.decimal_comma:
            text = pc.replace_substring(text, ",", ".")
        readable = pc.all(pc.match_substring_regex(text, _NUMBER)).as_py()
        return bool(readable and pc.any(pc.match_substring(text, ".")).as_py())


def _given(text: pa.Array) -> pa.Array:
    """Return texts with null in place of those that mean "no value"."""
    return pc.if_else(pc.is_in(pc.utf8_lower(text), value_set=_MISSING), None, text)


def _find_thousands(text: pa.Array, values: Array) -> int | None:
    """Return the first number in a column such as 999, 1.003 that seems to mean 1003; None if there is none.

    All numbers are whole and below 1000, or have three decimals, and are nearer to each other without the
    point.
    """
    low, high = np.fmin.reduce(values, initial=np.inf), np.fmax.reduce(values, initial=0.0)
    if high / _GROUP**0.5 < low:
        return None  # as in most columns: without the points, the numbers would be further apart
    grouped, whole = (pc.match_substring_regex(text, form) for form in (_GROUPED, r"^[1-9][0-9]{0,2}$"))
    if not pc.all(pc.or_(grouped, whole)).as_py():
        return None
    other = np.where(grouped.fill_null(False).to_numpy(zero_copy_only=False), _GROUP * values, values)
    nearer = np.nanmax(other) / np.nanmin(other) < high / low
    return pc.index(grouped, True).as_py() if nearer else None


def table_of_frame(frame: pd.DataFrame, source: str) -> RawTable:
    """Return a DataFrame as a table; index levels that have a name or hold days become its first columns."""
    if frame.columns.nlevels > 1:
        problem = f"the columns have {frame.columns.nlevels} levels"
        raise DataError(f"{source}: {problem}. Select one, such as `frame['Close']`.")
    levels = [frame.index.get_level_values(level) for level in range(frame.index.nlevels)]
    levels = [level for level in levels if _carries_data(level)]
    names = [_level_name(level) for level in levels]
    columns = [pd.Series(level) for level in levels]
    for at, name in enumerate(frame.columns):
        names.append(str(name).strip())
        columns.append(frame.iloc[:, at].reset_index(drop=True))
    return RawTable(source, tuple(names), tuple(columns))


def _carries_data(level: pd.Index[Any]) -> bool:
    """Return whether a level of an index is more than row numbers."""
    if isinstance(level, pd.RangeIndex):
        return False
    numbers = pd.api.types.is_any_real_numeric_dtype(level.dtype)
    # Whole numbers from 19000101 on are days without separators.
    return level.name is not None or not numbers or bool(len(level) and level[0] >= 19000101)


def _level_name(level: pd.Index[Any]) -> str:
    if level.name is not None:
        return str(level.name).strip()
    return "date" if isinstance(level, pd.DatetimeIndex | pd.PeriodIndex) else ""
