"""When a portfolio is rebalanced: on the last trading days of months, quarters or years in the data."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .config import FREQUENCIES, check_choice
from .panel import Panel

MONTHS = {"monthly": 1, "quarterly": 3, "yearly": 12}
# Weekdays at the end of a month, quarter or year on which exchanges may be closed. Months need more, because
# the Spring Festival can close the exchanges for the last week of January.
_HOLIDAYS = {"monthly": 7, "quarterly": 4, "yearly": 4}


_RECENT = 15  # days; a fund without a value for longer is not alive; no holiday lasts as long
_ENOUGH = 0.5  # share of the living funds that have a value on a trading day
_ENOUGH_WITH_INDEX = 0.2  # the same on a day on which the index has a level


def trading_rows(nav: pd.DataFrame, index_days: pd.Index | None = None) -> NDArray[np.bool_]:
    """Return which rows of a NAV table are trading days: enough of the living funds have a value.

    A fund counts as alive if it has a value on the day or in the 15 days before, so that a row is judged by
    itself and earlier rows only. A stray row, such as a holiday on which a few funds publish a
    value, is no trading day: it neither decides nor trades, and it cuts no factor.

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
    alive = days[:, None] - last <= _RECENT
    enough = np.full(len(given), _ENOUGH)
    if index_days is not None:
        enough[nav.index.isin(index_days)] = _ENOUGH_WITH_INDEX
    return np.asarray(given.sum(axis=1) >= enough * alive.sum(axis=1))


def keep_trading_days(panel: Panel, index_days: pd.Index | None = None) -> Panel:
    """Return a panel without the rows that are no trading days; the same panel if there are none."""
    kept = trading_rows(panel.nav, index_days)
    return panel if kept.all() else Panel(panel.nav.loc[kept], panel.source, panel.findings)


def rebalance_days(days: pd.DatetimeIndex, frequency: str = "quarterly") -> pd.DatetimeIndex:
    """Return the last trading day of each month, quarter or year that is over.

    The last month, quarter or year counts as over if few weekdays follow the last row: at most seven in a
    month, four in a quarter or year. These may be holidays.

    Parameters
    ----------
    days : DatetimeIndex
        The rows of the data, increasing.
    frequency : str
        "monthly", "quarterly" or "yearly".

    Returns
    -------
    DatetimeIndex
    """
    check_choice("frequency", frequency, tuple(FREQUENCIES))
    if not len(days):
        return days
    ends = days.to_series().groupby(days.to_period(FREQUENCIES[frequency])).max()
    day = pd.Timedelta(days=1)
    # Only the last interval can be unfinished: later rows follow all the others.
    weekdays_left = np.busday_count((ends.iloc[-1] + day).date(), (ends.index[-1].end_time + day).date())
    return pd.DatetimeIndex(ends if weekdays_left <= _HOLIDAYS[frequency] else ends.iloc[:-1], name=days.name)
