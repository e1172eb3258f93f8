"""Risk and calendar views of equity curves: Sortino ratio, worst days, months, and rolling Sharpe ratios.

An equity curve is a Series of positive values by day, in order; a table of curves has one column per curve.
As in `performance`, the number of rows per year is read off the days, and what a short or constant curve does
not define is NaN.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from geodual.arrays import Array

from .performance import YEAR, row_returns, rows_per_year, spread_of

WINDOW = pd.Timedelta(days=365)  # of rolling measures
_TAIL = 0.05  # share of the returns that counts as the tail


def sharpe_per_row(returns: Array) -> Array:
    """Return the Sharpe ratio mean/std of returns, not annualised; NaN where they do not vary.

    Parameters
    ----------
    returns : array of shape (n,) or (n, n_curves)
        Returns in order of time.

    Returns
    -------
    array of shape () or (n_curves,)
    """
    spread = spread_of(returns)
    mean = returns.mean(axis=0) if len(returns) else spread
    return np.asarray(mean / np.where(spread > 0.0, spread, np.nan))


def sortino(equity: pd.Series[float]) -> float:
    """Return the Sortino ratio, mean(r)·√A / √mean(min(r, 0)²) over all returns r, with A rows per year.

    This is the definition of empyrical and quantstats: the mean in the denominator is over all returns, not
    only over the losses.

    Parameters
    ----------
    equity : Series
        Value by day.

    Returns
    -------
    float
        NaN for fewer than two returns, or without a loss.
    """
    returns = row_returns(equity)
    loss = np.sqrt(np.mean(np.minimum(returns, 0.0) ** 2)) if len(returns) > 1 else 0.0
    return float(returns.mean() / loss * np.sqrt(rows_per_year(equity.index))) if loss > 0.0 else np.nan


def cvar(equity: pd.Series[float]) -> float:
    """Return the conditional value at risk: the mean of the worst 5 % of the returns from row to row.

    Of n returns the ⌊0.05 (n − 1)⌋ + 1 lowest count, as in empyrical and in the historical method of
    quantstats. It is not annualised, and it is below 0 unless the curve hardly ever falls.

    Parameters
    ----------
    equity : Series
        Value by day.

    Returns
    -------
    float
        NaN without returns.
    """
    returns = np.sort(row_returns(equity))
    return float(returns[: int(_TAIL * (len(returns) - 1)) + 1].mean()) if len(returns) else np.nan


def month_curve(equity: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that monthly returns are made of: the first row, and the last row of each month."""
    months = pd.DatetimeIndex(equity.index).to_period("M")
    kept = ~months.duplicated(keep="last")
    kept[:1] = True
    return equity[kept]


def monthly_returns(equity: pd.DataFrame) -> pd.DataFrame:
    """Return the returns of calendar months; the first and the last month may be incomplete.

    Parameters
    ----------
    equity : DataFrame
        Day × curve.

    Returns
    -------
    DataFrame
        Month (its first day) × curve. A month without a row, or with only the first row of the table, is left
        out.
    """
    curve = month_curve(equity)
    months = pd.DatetimeIndex(curve.index[1:]).to_period("M").to_timestamp()
    return pd.DataFrame(row_returns(curve), index=months.rename("month"), columns=equity.columns)


def year_windows(days: pd.Index) -> list[tuple[int, int, float]]:
    """Return the full windows of one year (365 calendar days): start row, end row, and rows per year in it.

    A window ends on each row and starts on the last row that is at least a year older. Its returns are
    ``row_returns(equity)[start:end]``. Rows without an older row have no window.
    """
    rows = pd.DatetimeIndex(days)
    starts = rows.searchsorted(rows - WINDOW, side="right") - 1
    ends = np.flatnonzero(starts >= 0)
    starts = starts[ends]
    years = (rows[ends] - rows[starts]) / pd.Timedelta(days=YEAR)
    return list(zip(starts.tolist(), ends.tolist(), ((ends - starts) / years).tolist(), strict=True))


def roll_sharpe(equity: pd.DataFrame) -> pd.DataFrame:
    """Return one-year rolling Sharpe ratios: each value is `performance.sharpe` of the window ending there.

    Parameters
    ----------
    equity : DataFrame
        Day × curve.

    Returns
    -------
    DataFrame
        Day × curve; NaN until the window is full, and where a window is constant.
    """
    returns, ratios = row_returns(equity), np.full(equity.shape, np.nan)
    for start, end, per_year in year_windows(equity.index):
        ratios[end] = sharpe_per_row(returns[start:end]) * np.sqrt(per_year)
    return pd.DataFrame(ratios, index=equity.index, columns=equity.columns)
