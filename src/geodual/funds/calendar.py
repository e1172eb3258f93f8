"""When a portfolio is rebalanced: on the last trading days of months, quarters or years in the data."""

from __future__ import annotations

import numpy as np
import pandas as pd

from geodual.errors import DataError

from .config import FREQUENCIES

MONTHS = {"monthly": 1, "quarterly": 3, "yearly": 12}
# Weekdays at the end of a month, quarter or year on which exchanges may be closed. Months need more, because
# the Spring Festival can close the exchanges for the last week of January.
_HOLIDAYS = {"monthly": 7, "quarterly": 4, "yearly": 4}


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
    if frequency not in FREQUENCIES:
        raise DataError(
            f"`frequency` must be one of {', '.join(FREQUENCIES)}, got {frequency!r}; choose one of these."
        )
    if not len(days):
        return days
    ends = days.to_series().groupby(days.to_period(FREQUENCIES[frequency])).max()
    day = pd.Timedelta(days=1)
    # Only the last interval can be unfinished: later rows follow all the others.
    weekdays_left = np.busday_count((ends.iloc[-1] + day).date(), (ends.index[-1].end_time + day).date())
    return pd.DatetimeIndex(ends if weekdays_left <= _HOLIDAYS[frequency] else ends.iloc[:-1], name=days.name)
