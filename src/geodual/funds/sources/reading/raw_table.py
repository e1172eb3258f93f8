"""A table as it was found, before its columns are understood: header, and cells as texts, numbers or days.

Days are read as people write them: 2012-01-04, 20120104, 2012/1/4, 2012年1月4日, 04.01.2012, 1/31/2012,
04-Jan-2012, 4 January 2012, Jan 4, 2012, and the numbers by which Excel counts days, such as 40912.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median_low
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

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
_TIME = r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})[-/.年](\d{{1,2}})[-/.月](\d{{1,2}})日?{_TIME}")
_COMPACT = re.compile(rf"(\d{{4}})(\d\d)(\d\d){_TIME}")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})[-/.](\d{{4}}){_TIME}")
_DAY_MONTH = re.compile(rf"(\d{{1,2}})[-/. ]?([A-Za-z]{{3,9}})\.?[-/, ]*(\d{{4}}){_TIME}")
_MONTH_DAY = re.compile(rf"([A-Za-z]{{3,9}})\.?[- ](\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}}){_TIME}")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_SERIAL = re.compile(r"(\d{5})(?:\.\d+)?")
_SERIAL_START = datetime.date(1899, 12, 30)  # Excel's day 0
_SERIALS = (14_611, 73_415)  # from 1940 to 2100; other numbers are no days
# A time followed by a zone: the day would depend on where the reader is.
_ZONE = re.compile(r".*\d:\d\d.*(?:Z|UTC|[+-]\d\d:?\d\d)")
_YEARS = (1900, 2199)  # days outside are misprints, or fund codes that look like days
_REMEDY = "Write days as 2012-01-04"
SAMPLE = 40  # filled rows among which the header is looked for

Row = Sequence[str]


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
        text = self.texts(column)
        return pc.if_else(pc.is_in(pc.utf8_lower(text), value_set=_MISSING), None, text)

    def number_texts(self, column: int) -> pa.Array:
        """Return the known cells of a column of numbers as texts, with decimal points in place of commas."""
        text = self.known_texts(column)
        if self.decimal_comma and pc.any(pc.match_substring(text, ",")).as_py():
            # Next to decimal commas, a point groups thousands or is a mistake. The "?" makes such a number
            # unreadable, so that it is reported rather than guessed.
            text = pc.replace_substring(pc.replace_substring(text, ".", "?"), ",", ".")
        return text

    def fund_codes(self, column: int) -> pa.Array:
        """Return the cells of a column of funds as texts; an empty cell is an error."""
        text = self.texts(column).fill_null("")
        if (row := pc.index(text, "").as_py()) >= 0:
            raise self.error("there is no fund code", "Write it", row, column)
        return text

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
        """Return a column as numbers; raise at the first text that is not a number."""
        text = self.number_texts(column)
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
        text = self.known_texts(column)[:_SAMPLE].drop_null()
        if self.decimal_comma:
            text = pc.replace_substring(text, ",", ".")
        readable = pc.all(pc.match_substring_regex(text, _NUMBER)).as_py()
        return bool(readable and pc.any(pc.match_substring(text, ".")).as_py())


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


def looks_like_day(text: str) -> bool:
    """Return whether a text is written like a day, with or without a time and a zone."""
    if _COMPACT.fullmatch(text):  # eight digits may also be a fund code
        day = _day(text, day_first=True)
        return day is not None and _YEARS[0] <= day.year <= _YEARS[1]
    if _DAY_MONTH.fullmatch(text) or _MONTH_DAY.fullmatch(text):  # "5 Star 2000" may be a fund
        return _day(text, day_first=True) is not None
    return bool(_YEAR_FIRST.match(text) or _YEAR_LAST.match(text))


def read_days(table: RawTable, column: int) -> pd.DatetimeIndex:
    """Return the days of a column, without times, or raise an error at the first cell that is not a day.

    Where the year is last, the order of day and month is unclear. With points (04.01.2012) the day is first;
    otherwise a number above 12 somewhere in the column must tell.
    """
    cells = table.columns[column]
    if isinstance(cells.dtype, pd.PeriodDtype):
        cells = cells.dt.to_timestamp()
    if isinstance(cells.dtype, pd.DatetimeTZDtype):
        raise table.error("the days carry a time zone", "Remove it with `tz_localize(None)`", column=column)
    if pd.api.types.is_datetime64_dtype(cells.dtype):
        days = pd.DatetimeIndex(cells).normalize().as_unit("us")
    else:
        days = _parsed(table, column)
    is_bad = days.isna() | (days.year < _YEARS[0]) | (days.year > _YEARS[1])
    if is_bad.any():
        row = int(is_bad.argmax())
        raise table.error(f"{table.shown(row, column)} is not a day", _REMEDY, row, column)
    return days.rename("date")


def _parsed(table: RawTable, column: int) -> pd.DatetimeIndex:
    # Parse each different text once: a long table repeats its days for every fund.
    encoded = table.texts(column).fill_null("").dictionary_encode()
    codes, written = encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
    zoned = np.flatnonzero([bool(_ZONE.fullmatch(text)) for text in written])
    if len(zoned):
        row = int(np.flatnonzero(codes == zoned[0])[0])
        raise table.error(f"{table.shown(row, column)} has a time zone", _REMEDY, row, column)
    day_first = _is_day_first(table, column, written)
    days = pd.DatetimeIndex([_day(text, day_first) for text in written], dtype="datetime64[us]")
    return days.take(codes)


def _is_day_first(table: RawTable, column: int, written: list[str]) -> bool:
    """Return, from the whole column, whether the day precedes the month where the year is last."""
    found = [match for match in map(_YEAR_LAST.fullmatch, written) if match and match[2] != "."]
    first, second = (any(int(match[at]) > 12 for match in found) for at in (1, 3))
    if found and first == second:
        problem = f"{found[0][0]!r} may be day/month or month/day, and the column does not tell which"
        raise table.error(problem, _REMEDY, column=column)
    return first


def _day(text: str, day_first: bool) -> datetime.date | None:
    if match := _SERIAL.fullmatch(text):
        number = int(match[1])
        return _SERIAL_START + datetime.timedelta(number) if _SERIALS[0] <= number <= _SERIALS[1] else None
    try:
        return datetime.date(*_year_month_day(text, day_first))
    except ValueError:
        return None


def _year_month_day(text: str, day_first: bool) -> tuple[int, int, int]:
    """Return the parts of a day; raise ValueError if the text is not written like one."""
    if match := _YEAR_FIRST.fullmatch(text) or _COMPACT.fullmatch(text):
        year, month, day = match.groups()
    elif match := _YEAR_LAST.fullmatch(text):
        first, mark, second, year = match.groups()
        day, month = (first, second) if day_first or mark == "." else (second, first)
    elif match := _DAY_MONTH.fullmatch(text):
        day, month, year = match[1], _month(match[2]), match[3]
    elif match := _MONTH_DAY.fullmatch(text):
        day, month, year = match[2], _month(match[1]), match[3]
    else:
        raise ValueError(text)
    return int(year), int(month), int(day)


def _month(name: str) -> str:
    """Return the number of a month from its English name, whole or cut off; "0" if there is none."""
    found = [at for at, month in enumerate(_MONTHS, 1) if month.startswith(name.casefold())]
    return str(found[0] if found else 0)


def find_header(rows: Sequence[Row]) -> int:
    """Return the position of the header among the first filled rows of a table.

    If a column of days begins, the header is the row above it. Otherwise, it is the first row that is at
    least half as wide as the rows usually are, with another row below it.
    """
    for at, row in enumerate(rows):
        for column, cell in enumerate(row):
            if looks_like_day(cell.strip()) and _days_begin(rows, at, column):
                if at == 0:
                    return 0  # there is no header
                # A header names a column besides the days; a title stands alone.
                if any(name.strip() for other, name in enumerate(rows[at - 1]) if other != column):
                    return at - 1
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    usual = median_low(filled)
    wide = [at for at, width in enumerate(filled[:-1]) if width > 1 and 2 * width >= usual]
    return wide[0] if wide else 0


def _days_begin(rows: Sequence[Row], at: int, column: int) -> bool:
    """Return whether days begin in a cell: there is none above it, and most cells below are days."""
    near = rows[max(at - 1, 0) :]
    is_day = [column < len(row) and looks_like_day(row[column].strip()) for row in near]
    if at == 0:  # a day in a banner is followed by something else, and days without a header by days
        return all(is_day[:2])
    return not is_day[0] and 2 * sum(is_day[2:]) >= len(is_day) - 2
