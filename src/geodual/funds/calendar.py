"""When a portfolio is rebalanced: on the last trading days of months, quarters or years in the data."""

from __future__ import annotations

import numpy as np
import pandas as pd

from geodual.errors import DataError

from .config import FREQUENCIES

MONTHS = {"monthly": 1, "quarterly": 3, "yearly": 12}
# Weekdays at the end of a month, quarter or year on which exchanges may be closed; the Spring Festival can
# end January.
_HOLIDAYS = {"monthly": 7, "quarterly": 4, "yearly": 4}


def rebalance_days(days: pd.DatetimeIndex, frequency: str = "quarterly") -> pd.DatetimeIndex:
    """Return the last row of each month, quarter or year, if that is over.

    Whether the last one is over is judged from the last row alone: at most four weekdays may follow it, seven
    in a month.

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
        raise DataError(f"`frequency` must be one of {', '.join(FREQUENCIES)}, got {frequency!r}.")
    if not len(days):
        return days
    ends = days.to_series().groupby(days.to_period(FREQUENCIES[frequency])).max()
    day = pd.Timedelta(days=1)
    weekdays_left = np.busday_count((ends.iloc[-1] + day).date(), (ends.index[-1].end_time + day).date())
    return pd.DatetimeIndex(ends if weekdays_left <= _HOLIDAYS[frequency] else ends.iloc[:-1], name=days.name)
