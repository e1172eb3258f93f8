"""A portfolio against an index: alpha, beta, tracking error, information ratio, and capture ratios.

The risk-free rate is 0. Both curves have the same days. The number of rows per year, A, is read off the days.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from geodual.arrays import Array

from .performance import row_returns, rows_per_year, spread_of
from .risk import month_curve, year_windows


def alpha_beta(equity: pd.Series[float], index: pd.Series[float]) -> tuple[float, float]:
    """Return alpha and beta: the line through the returns of portfolio and index, by least squares.

    β = cov(r, b)/var(b) and α = A·(mean(r) − β mean(b)). Alpha is annualised by the factor A, as in
    quantstats; empyrical compounds it instead.

    Parameters
    ----------
    equity, index : Series
        Value of the portfolio and of the index by day.

    Returns
    -------
    alpha, beta : float
        NaN for fewer than two returns, or if the index does not vary.
    """
    own, market = row_returns(equity), row_returns(index)
    beta = float(_slopes(own[:, None], market)[0])
    if np.isnan(beta):
        return np.nan, np.nan
    return float((own.mean() - beta * market.mean()) * rows_per_year(equity.index)), beta


def tracking_error(equity: pd.Series[float], index: pd.Series[float]) -> float:
    """Return the tracking error, std(r − b)·√A with ddof = 1.

    Parameters
    ----------
    equity, index : Series
        Value of the portfolio and of the index by day.

    Returns
    -------
    float
        NaN for fewer than two returns; exactly 0 if the difference is constant up to rounding.
    """
    spread = spread_of(row_returns(equity) - row_returns(index))
    return float(spread * np.sqrt(rows_per_year(equity.index)))


def information_ratio(equity: pd.Series[float], index: pd.Series[float]) -> float:
    """Return the information ratio, mean(r − b)/std(r − b)·√A.

    It is annualised, like a Sharpe ratio; that of quantstats, ffn and empyrical (`excess_sharpe`) is not.

    Parameters
    ----------
    equity, index : Series
        Value of the portfolio and of the index by day.

    Returns
    -------
    float
        NaN where the tracking error is NaN or 0.
    """
    error = tracking_error(equity, index)
    ahead = row_returns(equity) - row_returns(index)
    return float(ahead.mean() * rows_per_year(equity.index) / error) if error > 0.0 else np.nan


def capture_ratios(equity: pd.Series[float], index: pd.Series[float]) -> tuple[float, float]:
    """Return the up and the down capture ratio: what the portfolio made of the index's good and bad months.

    Of the months in which the index rose, the geometric annual return of the portfolio is divided by that of
    the index; likewise for the months in which it fell. Months are taken because annualising the good days
    alone would bend the ratio: a portfolio with half the return of the index on every day would have an up
    capture far below one half. Given monthly returns, empyrical has the same ratios. The first and the last
    month may be incomplete.

    Parameters
    ----------
    equity, index : Series
        Value of the portfolio and of the index by day.

    Returns
    -------
    up, down : float
        NaN if the index has no month of that kind.
    """
    curve = month_curve(pd.DataFrame({"own": equity, "index": index}))
    own, market = row_returns(curve).T
    per_year = rows_per_year(curve.index)
    up, down = (
        _annualised(own[chosen], per_year) / _annualised(market[chosen], per_year)
        for chosen in (market > 0.0, market < 0.0)
    )
    return up, down


def roll_beta(equity: pd.DataFrame) -> pd.DataFrame:
    """Return one-year rolling betas to the index: each value is the beta of the window that ends there.

    Parameters
    ----------
    equity : DataFrame
        Day × portfolio and `index`.

    Returns
    -------
    DataFrame
        Day × portfolio; NaN until the window is full, and where the index does not vary.
    """
    own = equity.drop(columns="index")
    returns, market = row_returns(own), row_returns(equity["index"])
    betas = np.full(own.shape, np.nan)
    for start, end, _ in year_windows(equity.index):
        betas[end] = _slopes(returns[start:end], market[start:end])
    return pd.DataFrame(betas, index=own.index, columns=own.columns)


def _slopes(returns: Array, market: Array) -> Array:
    """Return the slopes of several series of returns (n, n_curves) on that of the market (n,)."""
    if not spread_of(market) > 0.0:  # NaN for fewer than two returns
        return np.full(returns.shape[1], np.nan)
    ahead = market - market.mean()
    return np.asarray((ahead @ returns) / (ahead @ ahead))


def _annualised(returns: Array, per_year: float) -> float:
    """Return the geometric annual return; NaN without returns."""
    with np.errstate(over="ignore"):  # a few days can annualise to infinity
        return float(np.expm1(np.log1p(returns).mean() * per_year)) if len(returns) else np.nan
