"""Measures of equity curves: return, risk, drawdowns, and a portfolio against its index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from geodual.arrays import Array

from .risk_free import RiskFree, row_rates

YEAR = 365.25  # calendar days
_RETURN_ROUNDING = 8.0 * np.finfo(float).eps  # largest spread that rounding gives to equal returns
WINDOW = pd.Timedelta(days=365)  # of rolling measures
_MONTHS_PER_YEAR = 12.0
_TAIL = 0.05  # share of the returns that counts as the tail


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
    with np.errstate(over="ignore"):  # a few days can annualize to infinity
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


def sharpe(equity: pd.Series[float], risk_free: RiskFree = 0.0) -> float:
    """Return the Sharpe ratio, mean/std·√A of the returns less those of the risk-free rate.

    Parameters
    ----------
    equity : Series
        Value by trading day.
    risk_free : float or Series
        Risk-free rate per year, or such rates by day.

    Returns
    -------
    float
        NaN where the volatility is NaN or 0.
    """
    returns, per_year = _returns(equity), rows_per_year(equity.index)
    if not volatility(equity) > 0.0:
        return np.nan
    excess = returns - row_rates(equity.index, risk_free)
    spread = float(spread_of(excess) * np.sqrt(per_year))
    return float(excess.mean() * per_year / spread) if spread > 0.0 else np.nan


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


def describe(equity: pd.Series[float], risk_free: RiskFree = 0.0) -> pd.Series[float]:
    """Return all measures of an equity curve in one Series.

    Parameters
    ----------
    equity : Series
        Value by trading day.
    risk_free : float or Series
        Risk-free rate per year, or such rates by day.

    Returns
    -------
    Series
        `annual_return`, `volatility`, `sharpe`, `max_drawdown`.
    """
    measured = {
        "annual_return": annual_return(equity),
        "volatility": volatility(equity),
        "sharpe": sharpe(equity, risk_free),
        "max_drawdown": max_drawdown(equity),
    }
    return pd.Series(measured, name=equity.name)


def portfolio_row(curve: pd.Series[float], risk_free: RiskFree = 0.0) -> dict[str, Any]:
    """Return the columns of Table 1 that describe one equity curve; NaN if it has fewer than two days."""
    measured = describe(curve, risk_free)
    if len(curve) < 2:
        measured = measured * np.nan  # a single day has a drawdown of 0, which would look like a result
    return {str(key): value for key, value in measured.items()}


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


def sharpe_per_row(returns: Array, rates: Array | float = 0.0) -> Array:
    """Return the Sharpe ratio mean/std of returns, not annualized; NaN where they do not vary.

    Parameters
    ----------
    returns : array of shape (n,) or (n, n_curves)
        Returns in order of time.
    rates : float or array of shape (n,)
        Returns of the risk-free rate in the same time, from `row_rates`.

    Returns
    -------
    array of shape () or (n_curves,)
    """
    excess = (returns.T - rates).T
    varies, spread = spread_of(returns) > 0.0, spread_of(excess)
    mean = excess.mean(axis=0) if len(excess) else spread
    return np.asarray(mean / np.where(varies & (spread > 0.0), spread, np.nan))


def sortino(equity: pd.Series[float], risk_free: RiskFree = 0.0) -> float:
    """Return the Sortino ratio, mean(r)·√A / √mean(min(r, 0)²) over all returns r, with A rows per year.

    The returns r are those of the curve less those of the risk-free rate.

    This is the definition of empyrical and quantstats: the mean in the denominator is over all returns, not
    only over the losses.

    Parameters
    ----------
    equity : Series
        Value by day.
    risk_free : float or Series
        Risk-free rate per year, or such rates by day.

    Returns
    -------
    float
        NaN for fewer than two returns, or without a loss.
    """
    returns = row_returns(equity) - row_rates(equity.index, risk_free)
    loss = np.sqrt(np.mean(np.minimum(returns, 0.0) ** 2)) if len(returns) > 1 else 0.0
    return float(returns.mean() / loss * np.sqrt(rows_per_year(equity.index))) if loss > 0.0 else np.nan


def cvar(equity: pd.Series[float]) -> float:
    """Return the conditional value at risk: the mean of the worst 5 % of the returns from row to row.

    Of n returns the ⌊0.05 (n − 1)⌋ + 1 lowest count, as in empyrical and in the historical method of
    quantstats. It is not annualized, and it is below 0 unless the curve hardly ever falls.

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


def roll_sharpe(equity: pd.DataFrame, risk_free: RiskFree = 0.0) -> pd.DataFrame:
    """Return one-year rolling Sharpe ratios: each value is `performance.sharpe` of the window ending there.

    Parameters
    ----------
    equity : DataFrame
        Day × curve.
    risk_free : float or Series
        Risk-free rate per year, or such rates by day.

    Returns
    -------
    DataFrame
        Day × curve; NaN until the window is full, and where a window is constant.
    """
    returns, ratios = row_returns(equity), np.full(equity.shape, np.nan)
    rates = row_rates(equity.index, risk_free)
    for start, end, per_year in year_windows(equity.index):
        ratios[end] = sharpe_per_row(returns[start:end], rates[start:end]) * np.sqrt(per_year)
    return pd.DataFrame(ratios, index=equity.index, columns=equity.columns)


def alpha_beta(
    equity: pd.Series[float], index: pd.Series[float], risk_free: RiskFree = 0.0
) -> tuple[float, float]:
    """Return alpha and beta: the line through the returns of portfolio and index, by least squares.

    β = cov(r, b)/var(b) and α = A·(mean(r) − β mean(b)), both returns less those of the risk-free rate. Alpha
    is annualized by the factor A, as in quantstats; empyrical compounds it instead.

    Parameters
    ----------
    equity, index : Series
        Value of the portfolio and of the index by day.
    risk_free : float or Series
        Risk-free rate per year, or such rates by day.

    Returns
    -------
    alpha, beta : float
        NaN for fewer than two returns, or if the index does not vary.
    """
    rates = row_rates(equity.index, risk_free)
    own, market = row_returns(equity) - rates, row_returns(index) - rates
    if not spread_of(row_returns(index)) > 0.0:  # the rates may vary
        return np.nan, np.nan
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

    It is annualized, like a Sharpe ratio; that of quantstats, ffn and empyrical (`excess_sharpe`) is not. A
    risk-free rate would cancel in r − b.

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
    the index; likewise for the months in which it fell. Months are used because annualizing the good days
    alone would distort the ratio: a portfolio with half the return of the index on every day would have an up
    capture far below one half. Given monthly returns, empyrical has the same ratios. Months run from the last
    row of one to the last row of the next: the month in which the curve begins does not count, and the last
    one may be incomplete.

    Parameters
    ----------
    equity, index : Series
        Value of the portfolio and of the index by day.

    Returns
    -------
    up, down : float
        NaN if the index has no month of that kind.
    """
    curve = pd.DataFrame({"own": equity, "index": index})
    ends = ~pd.DatetimeIndex(curve.index).to_period("M").duplicated(keep="last")
    own, market = row_returns(curve[ends]).T
    up, down = (
        _annualized(own[chosen], _MONTHS_PER_YEAR) / _annualized(market[chosen], _MONTHS_PER_YEAR)
        for chosen in (market > 0.0, market < 0.0)
    )
    return up, down


def compare(equity: pd.Series[float], index: pd.Series[float], risk_free: RiskFree = 0.0) -> dict[str, float]:
    """Return alpha, beta, tracking error, information ratio, up and down capture of a curve, by name."""
    alpha, beta = alpha_beta(equity, index, risk_free)
    up, down = capture_ratios(equity, index)
    return {
        "alpha": alpha,
        "beta": beta,
        "tracking_error": tracking_error(equity, index),
        "information_ratio": information_ratio(equity, index),
        "up_capture": up,
        "down_capture": down,
    }


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


def _annualized(returns: Array, per_year: float) -> float:
    """Return the geometric annual return; NaN without returns."""
    with np.errstate(over="ignore"):  # a few days can annualize to infinity
        return float(np.expm1(np.log1p(returns).mean() * per_year)) if len(returns) else np.nan
