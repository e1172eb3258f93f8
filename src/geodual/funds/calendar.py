"""Rows and time: how many rows a table has per year, which are trading days, and when to rebalance."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.errors import DataError

from .config import FREQUENCIES, check_choice
from .language import phrase
from .panel import Panel

DAYS_PER_YEAR = 252  # trading days, as the paper counts them
# Rows per year of the tables that are told apart, and what one row stands for.
_ROW_NAMES = {DAYS_PER_YEAR: "day", 52: phrase("week"), 24: phrase("half-month"), 12: phrase("month")}
_ROW_NAMES |= {6: phrase("row"), 4: phrase("quarter"), 2: phrase("half-year"), 1: phrase("year")}
_YEAR = 365.25  # calendar days
MONTHS = {"monthly": 1, "quarterly": 3, "yearly": 12}
# Weekdays at the end of a month, quarter or year on which exchanges may be closed. Months need more, because
# the Spring Festival can close the exchanges for the last week of January.
_HOLIDAYS = {"monthly": 7, "quarterly": 4, "yearly": 4}

_RECENT = 15  # days; a fund without a value for longer is not alive; no holiday lasts as long
_ENOUGH = 0.5  # share of the living funds that have a value on a trading day
_ENOUGH_WITH_INDEX = 0.2  # the same on a day on which the index has a level


def rows_per_year(days: pd.Index) -> int:
    """Return how many rows a table has per year: 252 if daily, 52 if weekly, 12 if monthly, and so on.

    The median gap between two rows decides, so that missing days and holidays change nothing. A table with
    fewer than two rows counts as daily.

    Parameters
    ----------
    days : Index
        The rows, increasing.

    Returns
    -------
    int
    """
    if len(days) < 2:
        return DAYS_PER_YEAR
    gap = max(float(np.median(np.diff(days.to_numpy("datetime64[h]")).astype(float))) / 24.0, 1.0)
    return min(_ROW_NAMES, key=lambda number: abs(math.log(number * gap / _YEAR)))


def row_name(per_year: int) -> str:
    """Return what a row stands for, such as "month" for 12 rows per year."""
    return _ROW_NAMES.get(per_year, "row")


def rows_in(trading_days: int, per_year: int, least: int = 0) -> int:
    """Return the number of rows that cover some trading days; on a daily table one per day.

    Parameters
    ----------
    trading_days : int
        Length of time, in trading days.
    per_year : int
        Rows per year, from `rows_per_year`.
    least : int
        Fewest rows to return; a daily table has none.
    """
    if per_year == DAYS_PER_YEAR:
        return trading_days
    return max(round(trading_days * per_year / DAYS_PER_YEAR), least)


def half_gap(days: pd.Index) -> pd.Timedelta:
    """Return by how much the row that stands for a day may miss it: half of a usual gap, 0 if daily.

    A month after September 30 is October 30, and the row that stands for it is that of October 31.
    """
    per_year = rows_per_year(days)
    return pd.Timedelta(days=0 if per_year == DAYS_PER_YEAR else int(0.5 * _YEAR / per_year))


def trading_rows(nav: pd.DataFrame, index_days: pd.Index | None = None) -> NDArray[np.bool_]:
    """Return which rows of a NAV table are trading days: enough of the living funds have a value.

    A fund counts as alive if it has a value on the day or in the 15 days before (in a monthly table, a month
    and a half), so that a row is judged by itself and earlier rows only. A stray row, such as a holiday on
    which a few funds publish a value, is no trading day: it neither decides nor trades, and cuts no factor.

    Parameters
    ----------
    nav : DataFrame
        Day × fund, NaN where there is no value.
    index_days : Index, optional
        Days on which an index has a level; on them fewer funds are enough.

    Returns
    -------
    array of bool
    """
    given, days = nav.notna().to_numpy(), nav.index.to_numpy("datetime64[D]").astype(np.int64)
    last = np.maximum.accumulate(np.where(given, days[:, None], np.iinfo(np.int64).min // 2))
    per_year = rows_per_year(nav.index)
    recent = _RECENT if per_year == DAYS_PER_YEAR else max(_RECENT, int(1.5 * _YEAR / per_year))
    alive = days[:, None] - last <= recent
    enough = np.full(len(given), _ENOUGH)
    if index_days is not None:
        enough[nav.index.isin(index_days)] = _ENOUGH_WITH_INDEX
    return np.asarray(given.sum(axis=1) >= enough * alive.sum(axis=1))


def keep_trading_days(panel: Panel, index_days: pd.Index | None = None) -> Panel:
    """Return a panel without the rows that are no trading days; the same panel if there are none."""
    kept = trading_rows(panel.nav, index_days)
    return panel if kept.all() else Panel(panel.nav.loc[kept], panel.source, panel.findings)


def rebalance_days(days: pd.DatetimeIndex, frequency: str = "quarterly") -> pd.DatetimeIndex:
    """Return the last row of each month, quarter or year that is over.

    The last month, quarter or year counts as over if few weekdays follow the last row: at most seven in a
    month, four in a quarter or year. These may be holidays. It is also over if the next row of a weekly or
    monthly table would lie after its end: the quarter ends with a row of December 1 if rows are the first of
    each month.

    Parameters
    ----------
    days : DatetimeIndex
        The rows of the data, increasing.
    frequency : str
        "monthly", "quarterly" or "yearly".

    Returns
    -------
    DatetimeIndex

    Raises
    ------
    DataError
        If the table has fewer rows than rebalance days.
    """
    check_choice("frequency", frequency, tuple(FREQUENCIES))
    if not len(days):
        return days
    per_year = rows_per_year(days)
    if per_year * MONTHS[frequency] < 12:
        coarser = [name for name, months in MONTHS.items() if per_year * months >= 12]
        raise DataError(
            f"`frequency` is {frequency}, but the table has only {per_year} rows per year; choose "
            f"{' or '.join(coarser)}, or give a table with more rows."
        )
    ends = days.to_series().groupby(days.to_period(FREQUENCIES[frequency])).max()
    day = pd.Timedelta(days=1)
    # Only the last interval can be unfinished: later rows follow all the others.
    end = ends.index[-1].end_time
    weekdays_left = np.busday_count((ends.iloc[-1] + day).date(), (end + day).date())
    is_over = weekdays_left <= _HOLIDAYS[frequency] or _next_row(ends.iloc[-1], per_year) > end
    return pd.DatetimeIndex(ends if is_over else ends.iloc[:-1], name=days.name)


def _next_row(last: pd.Timestamp, per_year: int) -> pd.Timestamp:
    """Return the day on which the row after the last one is due."""
    if per_year <= 12:  # by the calendar: months differ in length
        return last + pd.DateOffset(months=12 // per_year)
    return last + pd.Timedelta(days=int(_YEAR / per_year))
