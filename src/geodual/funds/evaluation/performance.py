"""Measures of an equity curve: return, volatility, drawdowns, calendar years.

An equity curve is a Series of positive values by day, in order. The number of rows per year is read off the
days, so that daily, weekly and monthly curves of any calendar are annualised alike. A measure that a short or
constant curve does not define is NaN.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from geodual.arrays import Array

YEAR = 365.25  # calendar days
_RETURN_ROUNDING = 8.0 * np.finfo(float).eps  # largest spread that rounding gives to equal returns


def years_between(days: pd.Index) -> float:
    """Return the years from the first to the last of some days."""
    return float((days[-1] - days[0]) / pd.Timedelta(days=YEAR)) if len(days) else 0.0


def rows_per_year(days: pd.Index) -> float:
    """Return the number of rows per year; NaN for fewer than two days."""
    years = years_between(days)
    return (len(days) - 1) / years if years > 0.0 else np.nan


def row_returns(equity: pd.Series[float] | pd.DataFrame) -> Array:
    """Return the returns from each row to the next, of a curve (n,) or a table of curves (n, n_curves)."""
    values = equity.to_numpy(dtype=float)
    return np.asarray(values[1:] / values[:-1] - 1.0)


def spread_of(returns: Array) -> Array:
    """Return the standard deviation (ddof = 1) down the rows; exactly 0 if all are equal up to rounding.

    Parameters
    ----------
    returns : array of shape (n,) or (n, n_curves)
        Returns in order of time.

    Returns
    -------
    array of shape () or (n_curves,)
        NaN for fewer than two rows.
    """
    if len(returns) < 2:
        return np.full(returns.shape[1:], np.nan)
    return np.where(np.ptp(returns, axis=0) > _RETURN_ROUNDING, returns.std(axis=0, ddof=1), 0.0)


def annual_return(equity: pd.Series[float]) -> float:
    """Return the geometric annual return, (E_n/E_0)^{1/T} − 1 over T calendar years.

    Parameters
    ----------
    equity : Series
        Value by trading day.

    Returns
    -------
    float
        NaN for fewer than two values.
    """
    values = _values(equity)
    if len(values) < 2:
        return np.nan
    with np.errstate(over="ignore"):  # a few days can annualise to infinity
        return float(np.expm1(np.log(values[-1] / values[0]) / years_between(equity.index)))


def volatility(equity: pd.Series[float]) -> float:
    """Return the standard deviation (ddof = 1) of returns times √A, with A rows per year.

    Parameters
    ----------
    equity : Series
        Value by trading day.

    Returns
    -------
    float
        NaN for fewer than two returns; exactly 0 if all are equal up to rounding.
    """
    return float(spread_of(_returns(equity)) * np.sqrt(rows_per_year(equity.index)))


def sharpe(equity: pd.Series[float]) -> float:
    """Return the Sharpe ratio, mean/std·√A of returns, with a risk-free rate of 0.

    Parameters
    ----------
    equity : Series
        Value by trading day.

    Returns
    -------
    float
        NaN where the volatility is NaN or 0.
    """
    spread = volatility(equity)
    return float(_returns(equity).mean() * rows_per_year(equity.index) / spread) if spread > 0.0 else np.nan


def max_drawdown(equity: pd.Series[float]) -> float:
    """Return the maximum drawdown from an earlier peak, min_t (E_t / max_{s ≤ t} E_s) − 1 ≤ 0.

    Parameters
    ----------
    equity : Series
        Value by trading day.

    Returns
    -------
    float
        NaN for an empty curve.
    """
    values = _values(equity)
    return float((values / np.maximum.accumulate(values)).min() - 1.0) if len(values) else np.nan


def rolling_drawdown(equity: pd.Series[float], window: int = 365) -> pd.Series[float]:
    """Return for each day the maximum drawdown of the window that ends on it.

    Parameters
    ----------
    equity : Series
        Value by day.
    window : int
        Length of the window in calendar days; it is shorter on the first days.

    Returns
    -------
    Series
        At most 0, by day.
    """
    if window < 1:
        raise ValueError(f"`window` must be positive, got {window}. Use 365 for one year.")
    values, days = _values(equity), pd.DatetimeIndex(equity.index).to_numpy("datetime64[D]")
    lowest, worst = values.copy(), np.ones(len(values))
    # Number of rows that each window reaches back.
    reach = np.arange(len(days)) - np.searchsorted(days, days - np.timedelta64(window, "D"))
    for lag in range(1, int(reach.max(initial=0)) + 1):
        start = values[:-lag]
        # The lowest value from `start` to the day; the loss counts if the window reaches back to `start`.
        lowest[lag:] = np.minimum(lowest[lag:], start)
        loss = np.where(reach[lag:] >= lag, lowest[lag:] / start, 1.0)
        worst[lag:] = np.minimum(worst[lag:], loss)
    return pd.Series(worst - 1.0, index=equity.index, name=equity.name)


def annual_returns(equity: pd.Series[float]) -> pd.Series[float]:
    """Return the return of each calendar year; the first and the last year may be incomplete.

    Parameters
    ----------
    equity : Series
        Value by trading day.

    Returns
    -------
    Series
        By year. A year that holds only the first value of the curve has no return and is left out.
    """
    values = _values(equity)
    # A daily return belongs to the year of its last day, so a year starts from the close before it.
    year = pd.DatetimeIndex(equity.index).year.to_numpy()[1:]
    years, first = np.unique(year, return_index=True)
    last = np.append(first, len(year))[1:]
    return pd.Series(values[last] / values[first] - 1.0, index=pd.Index(years, name="year"), name=equity.name)


def worst_drawdowns(equity: pd.Series[float], n: int = 5) -> pd.DataFrame:
    """Return the deepest drawdowns; each lasts from a peak until its value is reached again.

    Parameters
    ----------
    equity : Series
        Value by trading day.
    n : int
        Largest number of drawdowns to return.

    Returns
    -------
    DataFrame
        Deepest first: `peak` (the last day at the peak), `trough`, `recovery` (NaT if still below the peak
        on the last day) and `depth` < 0.
    """
    if n < 0:
        raise ValueError(f"`n` must not be negative, got {n}. Use 0 for an empty table.")
    values = _values(equity)
    depth = values / np.maximum.accumulate(values) - 1.0
    below = np.concatenate([[False], depth < 0.0, [False]])
    # Each run of days below the peak is a drawdown: `first` is its first day, `end` the day of recovery.
    first, end = np.flatnonzero(below[1:] != below[:-1]).reshape(-1, 2).T
    trough = np.array([a + depth[a:b].argmin() for a, b in zip(first, end, strict=True)], dtype=int)
    days = pd.DatetimeIndex(equity.index)
    # A drawdown that has not ended yet points behind the last day, where NaT is.
    recovery = days.insert(len(days), pd.NaT)[end]
    table = pd.DataFrame(
        {"peak": days[first - 1], "trough": days[trough], "recovery": recovery, "depth": depth[trough]}
    )
    return table.sort_values("depth", kind="stable").head(n).reset_index(drop=True)


def describe(equity: pd.Series[float]) -> pd.Series[float]:
    """Return all measures of an equity curve in one Series.

    Parameters
    ----------
    equity : Series
        Value by trading day.

    Returns
    -------
    Series
        `annual_return`, `volatility`, `sharpe`, `max_drawdown`.
    """
    measures = (annual_return, volatility, sharpe, max_drawdown)
    return pd.Series({measure.__name__: measure(equity) for measure in measures}, name=equity.name)


def _values(equity: pd.Series[float]) -> Array:
    """Return the values of a curve; raise if they are not positive and finite."""
    values = equity.to_numpy(dtype=float)
    if not (np.isfinite(values) & (values > 0.0)).all():
        raise ValueError("`equity` must be positive and finite. Fill or drop missing days first.")
    return values


def _returns(equity: pd.Series[float]) -> Array:
    """Return the returns of a curve; raise if its values are not positive and finite."""
    _values(equity)
    return row_returns(equity)
