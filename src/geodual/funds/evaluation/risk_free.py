"""The risk-free rate: a number per year, or rates by day; and what it earns from row to row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from geodual.arrays import Array
from geodual.errors import DataError

from ..config import check_rate
from ..sources.reading.series_file import read_series

_YEAR = np.timedelta64(31_557_600, "s")  # 365.25 days

RiskFree = float | pd.Series  # a share per year, or such shares by day, each of which holds until the next


def take_risk_free(given: float | str | Path | pd.Series[float]) -> RiskFree:
    """Return a risk-free rate in any form in which a user may give it: number, path of a table, or Series.

    Parameters
    ----------
    given : float, path or Series
        A share per year, such as 0.06; or such shares by day.

    Returns
    -------
    float or Series
        The rate, or the rates in order of days, without missing ones.
    """
    if not isinstance(given, pd.Series):
        given = check_rate(given)
    if isinstance(given, float):
        return given
    table = read_series(given)
    if table.shape[1] > 1:
        raise DataError(
            f"`risk_free`: there are {table.shape[1]} columns other than the days, "
            f"{', '.join(map(str, table))}; keep one."
        )
    rates = table.iloc[:, 0].dropna()
    for rate in (rates.min(), rates.max()):
        check_rate(float(rate))
    return rates


def row_rates(days: pd.Index, risk_free: RiskFree) -> Array:
    """Return what the risk-free rate earns from each row to the next, (1 + f)^{years between them} − 1.

    Parameters
    ----------
    days : Index of shape (n,)
        Days in order.
    risk_free : float or Series
        The rate per year. Of rates by day, that of the first of the two rows counts.

    Returns
    -------
    array of shape (n − 1,)
    """
    years = np.diff(days.to_numpy("datetime64[s]")) / _YEAR
    if not isinstance(risk_free, pd.Series):
        return np.asarray(np.expm1(np.log1p(risk_free) * years))
    at = risk_free.index.searchsorted(days[:-1], side="right") - 1
    if len(at) and at[0] < 0:
        raise DataError(
            f"`risk_free`: the first rate is of {risk_free.index[0]:%Y-%m-%d}, after {days[0]:%Y-%m-%d}, "
            "where the values begin; give earlier rates, or one number."
        )
    return np.asarray(np.expm1(np.log1p(risk_free.to_numpy(float)[at]) * years))


def rate_table(risk_free: RiskFree, first: pd.Timestamp) -> pd.DataFrame:
    """Return a risk-free rate as a table, day × rate; a number holds from `first` on, and 0 has no row."""
    if not isinstance(risk_free, pd.Series):
        rates, days = ([risk_free], [first]) if risk_free else ([], [])
        risk_free = pd.Series(rates, pd.DatetimeIndex(days))
    return risk_free.astype(float).rename_axis("date").to_frame("rate")


def rate_of_table(table: pd.DataFrame) -> RiskFree:
    """Return the risk-free rate in such a table."""
    return pd.Series(table["rate"], dtype=float) if len(table) else 0.0
