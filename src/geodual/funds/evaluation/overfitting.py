"""Is the best of several portfolios more than the luckiest? Deflated Sharpe ratios, and overfitting.

Both measures ask what choosing the best of several portfolios does to its result. They need the curves of all
portfolios that were tried, one per column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import norm, rankdata

from geodual.arrays import Array

from .performance import row_returns, sharpe, sharpe_per_row, spread_of
from .risk_free import RiskFree, row_rates

_BLOCKS = 16  # 12,870 splits into halves
_FEWEST_ROWS = 2  # of returns per block


@dataclass(frozen=True)
class Trials:
    """All that a sweep tried, which the corrections in each of its studies count.

    Attributes
    ----------
    choices : mapping of str to int
        Number of forecasters and settings in all studies of the sweep, by period.
    sharpe_spread : float
        Standard deviation of the Sharpe ratios, per row, of all portfolios.
    overfitting_probability : float
        `overfitting_probability` of all portfolios.
    """

    choices: Mapping[str, int]
    sharpe_spread: float
    overfitting_probability: float


def expected_best_sharpe(trials: int, spread: float) -> float:
    """Return the Sharpe ratio to expect of the best of several portfolios without skill.

    spread·((1 − γ) Φ⁻¹(1 − 1/N) + γ Φ⁻¹(1 − 1/(N e))), with Euler's constant γ and N trials (Bailey and
    López de Prado, 2014).

    Parameters
    ----------
    trials : int
        Number N of portfolios tried.
    spread : float
        Standard deviation of their Sharpe ratios.

    Returns
    -------
    float
        0 for one trial; NaN if the spread is NaN and there are more.
    """
    if trials < 2:
        return 0.0
    quantiles = norm.ppf([1.0 - 1.0 / trials, 1.0 - 1.0 / (trials * np.e)])
    return float(spread * (quantiles @ [1.0 - np.euler_gamma, np.euler_gamma]))


def probabilistic_sharpe(returns: Array, hurdle: float = 0.0, rates: Array | float = 0.0) -> float:
    """Return the probability that the true Sharpe ratio is above a hurdle.

    Φ((s − s₀) √(n − 1) / √(1 − g s + (k − 1)/4·s²)), with the Sharpe ratio s per row, the hurdle s₀, and
    skewness g and kurtosis k (3 if normal) of the returns less `rates`, as pandas estimates them.

    Parameters
    ----------
    returns : array of shape (n,)
        Returns from row to row.
    hurdle : float
        Sharpe ratio per row (not annualized).
    rates : float or array of shape (n,)
        Returns of the risk-free rate in the same time.

    Returns
    -------
    float
        NaN for fewer than four returns, or if they do not vary.
    """
    ratio, sample = float(sharpe_per_row(returns, rates)), pd.Series(returns - rates, dtype=float)
    skew, kurtosis = float(sample.skew()), float(sample.kurt()) + 3.0  # type: ignore[arg-type]
    variance = 1.0 - skew * ratio + 0.25 * (kurtosis - 1.0) * ratio**2
    if not variance > 0.0:  # NaN, too
        return np.nan
    return float(norm.cdf((ratio - hurdle) * np.sqrt((len(returns) - 1) / variance)))


def sharpe_ratios(equity: pd.DataFrame, risk_free: RiskFree = 0.0) -> Array:
    """Return the Sharpe ratio per row of each portfolio, day × portfolio; NaN for constant curves."""
    return np.asarray(sharpe_per_row(row_returns(equity), row_rates(equity.index, risk_free)))


def spread_of_sharpe(ratios: Array) -> float:
    """Return the standard deviation of those Sharpe ratios that are known."""
    return float(spread_of(ratios[np.isfinite(ratios)]))


def deflate_sharpe(
    equity: pd.DataFrame, trials: int, risk_free: RiskFree = 0.0, spread: float | None = None
) -> pd.DataFrame:
    """Return the Sharpe ratio of each portfolio, and how probable it is that the true one is above zero.

    The deflated Sharpe ratio (Bailey and López de Prado, 2014) is the probabilistic one with the hurdle that
    the best of `trials` portfolios without skill is expected to reach. With the portfolios given as the only
    trials, ffn has the same values.

    Parameters
    ----------
    equity : DataFrame
        Day × portfolio.
    trials : int
        Number of portfolios and settings tried, at least the number of columns.
    risk_free : float or Series
        Risk-free rate per year, or such rates by day.
    spread : float, optional
        Standard deviation of the Sharpe ratios, per row, of all that was tried; by default, of the portfolios
        given.

    Returns
    -------
    DataFrame
        By portfolio: `sharpe` (per year), `deflated_sharpe` (a probability), `probabilistic_sharpe` (the same
        with hurdle 0), `trials`. NaN for constant curves. The deflated one is also NaN if there are several
        trials but fewer than two Sharpe ratios to measure their spread.
    """
    returns, rates = row_returns(equity), row_rates(equity.index, risk_free)
    own = spread_of_sharpe(sharpe_per_row(returns, rates)) if spread is None else spread
    hurdle = expected_best_sharpe(trials, own)
    rows = {
        name: {
            "sharpe": sharpe(equity[name], risk_free),
            "deflated_sharpe": probabilistic_sharpe(curve, hurdle, rates),
            "probabilistic_sharpe": probabilistic_sharpe(curve, rates=rates),
            "trials": trials,
        }
        for name, curve in zip(equity.columns, returns.T, strict=True)
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("forecaster")


def overfitting_probability(
    equity: pd.DataFrame, n_blocks: int = _BLOCKS, risk_free: RiskFree = 0.0
) -> float:
    """Return the probability of backtest overfitting, by combinatorially symmetric cross-validation.

    The returns are cut into blocks. For every way to take half of the blocks, the portfolio with the highest
    Sharpe ratio in this half is ranked by its Sharpe ratio in the other half. The answer is the share of
    these splits in which it is not above the median there: about 0.5 if choosing the best is of no use, near
    0 if the best stays the best (Bailey, Borwein, López de Prado and Zhu, 2017). Ties are treated as in ffn,
    which has the same value: the first of equals is chosen, and equals share their average rank.

    Parameters
    ----------
    equity : DataFrame
        Day × portfolio.
    n_blocks : int
        Number of blocks, even. Returns beyond a multiple of it are left out at the end.
    risk_free : float or Series
        Risk-free rate per year, or such rates by day.

    Returns
    -------
    float
        NaN for fewer than two portfolios or two returns per block, and if a portfolio is constant over half
        of the blocks.
    """
    returns = row_returns(equity) - row_rates(equity.index, risk_free)[:, None]
    rows, trials = len(returns) // n_blocks, returns.shape[1]
    if trials < 2 or rows < _FEWEST_ROWS:
        return np.nan
    blocks = returns[: rows * n_blocks].reshape(n_blocks, rows, trials)
    halves = np.array(list(combinations(range(n_blocks), n_blocks // 2)))
    ratios = _sharpe_of_halves(blocks, halves)
    if not np.isfinite(ratios).all():
        return np.nan
    # Combinations come in lexicographic order: the other half of the first one is the last one.
    best, ranks = ratios.argmax(axis=1), rankdata(ratios[::-1], axis=1)
    reached = ranks[np.arange(len(halves)), best] / (trials + 1.0)
    return float((reached <= 0.5).mean())


def _sharpe_of_halves(blocks: Array, halves: Array) -> Array:
    """Return the Sharpe ratio of each portfolio in each half, from the sums of the blocks."""
    center = blocks.mean(axis=(0, 1))  # sums of squares about a value near the mean keep their digits
    apart = blocks - center
    n = halves.shape[1] * blocks.shape[1]
    # Added block by block, so that equal portfolios get equal bits and tie.
    mean = apart.sum(axis=1)[halves].sum(axis=1) / n
    squares = (apart**2).sum(axis=1)[halves].sum(axis=1) - n * mean**2
    lowest, highest = blocks.min(axis=1)[halves].min(axis=1), blocks.max(axis=1)[halves].max(axis=1)
    varies = (highest > lowest) & (squares > 0.0)
    return np.asarray((mean + center) / np.sqrt(np.where(varies, squares, np.nan) / (n - 1)))
