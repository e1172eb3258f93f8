"""Read days as people write them: 2012-01-04, 20120104, 2012/1/4, 2012年1月4日, 04.01.2012, 1/31/2012.

Also 04-Jan-2012, 4 January 2012, Jan 4, 2012, and the numbers by which Excel counts days, such as 40912.
"""

from __future__ import annotations

import datetime
import re

import numpy as np
import pandas as pd

from .raw_table import RawTable

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


def looks_like_day(text: str) -> bool:
    """Return whether a text is written like a day, with or without a time and a zone."""
    if _COMPACT.fullmatch(text):  # eight digits may also be a fund code
        day = _day(text, day_first=True)
        return day is not None and _YEARS[0] <= day.year <= _YEARS[1]
    if _DAY_MONTH.fullmatch(text) or _MONTH_DAY.fullmatch(text):  # "5 Star 2000" may be a fund
        return _day(text, day_first=True) is not None
    return bool(_YEAR_FIRST.match(text) or _YEAR_LAST.match(text))


def read_days(table: RawTable, column: int, optional: bool = False) -> pd.DatetimeIndex:
    """Return the days of a column, without times, or raise an error at the first cell that is not a day.

    Where the year is last, the order of day and month is unclear. With points (04.01.2012) the day is first;
    otherwise a number above 12 somewhere in the column must tell. If days are optional, cells may be empty.
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
    if optional:
        is_bad &= ~table.is_blank(column)
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
