"""The formulas of the factors of the paper.

ROC, MDD, STDDEV, Sharpe, Sortino, Calmar and Stability are *windowed*: they depend on the last w days only.
All windows start at the decision day and go back in time, so one pass serves them all: a `Trail` holds
running sums and minima over the lags, and each factor reads them at its w. Running sums add in the same order
for any number of funds, so a factor is the same to the last bit whichever other funds are in the table. If a
value that a formula needs is missing, the factor is missing.

EMA, RSI and MACD are *recursive*: they depend on the whole history. They skip missing values: on a missing
day the factor is missing and its state does not change, and the change across a gap counts as one change.
Where no value is missing, they agree with TA-Lib. The start of the history is forgotten slowly: after 3w
values the seed still weighs about e⁻⁴ = 2 % in an EMA of window w, and e⁻² = 14 % in an RSI.

P is the NAV, r the return of a row, w a number of rows, and A the number of rows per year: 252 on a daily
table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array

from ..calendar import DAYS_PER_YEAR

_ROUNDING = 4.0 * float(np.finfo(float).eps)  # rounding error of a daily return: smaller moves mean nothing


@dataclass(frozen=True, eq=False)
class Trail:
    """The NAVs of all funds up to a decision day, seen backwards from it.

    Parameters
    ----------
    nav : array of shape (n_lags + 1, n_funds)
        Row k holds the NAVs k rows before the decision day; NaN where there is none.
    rows_per_year : int
        Rows of the table per year, to annualize with.
    """

    nav: Array
    rows_per_year: int = DAYS_PER_YEAR

    @cached_property
    def returns(self) -> Array:
        """Returns r of the day k rows before the decision day, in row k: shape (n_lags, n_funds)."""
        return np.asarray((self.nav[:-1] - self.nav[1:]) / self.nav[1:])

    @cached_property
    def drawdowns(self) -> Array:
        """Worst loss from a NAV to a later one among rows 0 … k, in row k; at most 0."""
        # Going back in time, the running minimum is the lowest NAV from a day to the decision day.
        lowest_since = np.minimum.accumulate(self.nav)
        return np.minimum.accumulate((lowest_since - self.nav) / self.nav)

    @cached_property
    def excess_sums(self) -> tuple[Array, Array]:
        """Running sums of r − r₀ and (r − r₀)², with r₀ the latest return.

        Subtracting r₀ keeps the variance accurate. Since r₀ is in every window, (mean − r₀)² is at most the
        sum of squares about the mean, so computing this sum as a difference loses at most a factor w of
        precision.
        """
        excess = self.returns - self.returns[0]
        return excess.cumsum(axis=0), (excess**2).cumsum(axis=0)

    @cached_property
    def loss_sums(self) -> Array:
        """Running sum of min(r, 0)²."""
        return (np.minimum(self.returns, 0.0) ** 2).cumsum(axis=0)

    @cached_property
    def log_sums(self) -> tuple[Array, Array, Array]:
        """Running sums of y, y² and k y over the lags k, with y = log(P_{t−k}/P_t)."""
        # log1p of the relative change: log of the ratio would lose digits where the NAV hardly moves.
        y = np.log1p((self.nav - self.nav[0]) / self.nav[0])
        k = np.arange(len(y), dtype=float)[:, None]
        return y.cumsum(axis=0), (y**2).cumsum(axis=0), (k * y).cumsum(axis=0)


def roc(trail: Trail, w: int) -> Array:
    """Return the rate of change P_t/P_{t−w} − 1; only these two NAVs are needed."""
    return np.asarray((trail.nav[0] - trail.nav[w]) / trail.nav[w])


def mdd(trail: Trail, w: int) -> Array:
    """Return the maximum drawdown over w returns, min over i ≤ j of P_j/P_i − 1: at most 0."""
    return np.asarray(trail.drawdowns[w])


def stddev(trail: Trail, w: int) -> Array:
    """Return the annual volatility std(r, ddof=1)·√A of w returns: 0 if they are equal up to rounding."""
    return _deviation(trail, w) * math.sqrt(trail.rows_per_year)


def sharpe(trail: Trail, w: int) -> Array:
    """Return the Sharpe ratio mean(r)/std(r)·√A of w returns: missing where the deviation is 0."""
    return _ratio(_mean(trail, w) * math.sqrt(trail.rows_per_year), _deviation(trail, w))


def sortino(trail: Trail, w: int) -> Array:
    """Return the Sortino ratio mean(r)·√A/√mean(min(r, 0)²) of w returns: missing without a loss."""
    return _ratio(_mean(trail, w) * math.sqrt(trail.rows_per_year), np.sqrt(trail.loss_sums[w - 1] / w))


def calmar(trail: Trail, w: int) -> Array:
    """Return the Calmar ratio ((P_t/P_{t−w})^{A/w} − 1)/|MDD|: missing where the drawdown is 0."""
    # (1 + roc)^{A/w} − 1, accurate near 0
    annual = np.expm1(trail.rows_per_year / w * np.log1p(roc(trail, w)))
    return _ratio(annual, -mdd(trail, w))


def stability(trail: Trail, w: int) -> Array:
    """Return R² of the regression of log P on time over w NAVs: missing where P is flat."""
    total, squares, moments = (sums[w - 1] for sums in trail.log_sums)
    # R² = S_ky²/(S_kk·S_yy) with centered sums S, where S_kk = w(w² − 1)/12 for the lags k = 0 … w − 1.
    # Lags run backwards in time, which changes only the sign of S_ky.
    variation = squares - total**2 / w
    covariation = moments - 0.5 * (w - 1) * total
    flat = variation <= w * _ROUNDING**2
    return _ratio(covariation**2, np.where(flat, 0.0, variation * (w * (w * w - 1.0) / 12.0)))


def _mean(trail: Trail, w: int) -> Array:
    return np.asarray(trail.returns[0] + trail.excess_sums[0][w - 1] / w)


def _deviation(trail: Trail, w: int) -> Array:
    total, squares = (sums[w - 1] for sums in trail.excess_sums)
    variance = (squares - total**2 / w) / (w - 1)
    return np.where(variance <= _ROUNDING**2, 0.0, np.sqrt(variance))


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Return the quotient, NaN where it is not a finite number."""
    quotient = numerator / denominator
    return np.where(np.isfinite(quotient), quotient, np.nan)


class GaplessHistory:
    """The values of each fund without gaps, and the positions of the decision days among them.

    Parameters
    ----------
    nav : array of shape (n_days, n_funds)
        NAVs, NaN where there is none.
    rows : array of int, of shape (n_decisions,)
        The decision days, as rows of `nav`.

    Attributes
    ----------
    nav : array of shape (n_days, n_funds)
        The values of each fund without gaps, the first one in row 0; NaN after the last one.
    """

    def __init__(self, nav: Array, rows: NDArray[np.intp]) -> None:
        present = ~np.isnan(nav)
        # Move the values of each fund up over its gaps; transposed, since masks go through arrays row by row.
        closed = np.full(nav.T.shape, np.nan)
        closed[np.arange(len(nav)) < present.sum(axis=0)[:, None]] = nav.T[present.T]
        self.nav = np.ascontiguousarray(closed.T)
        # Row of the value on each decision day; −1 where a fund has none.
        self._row = np.where(present[rows], present.cumsum(axis=0)[rows] - 1, -1)

    @cached_property
    def moves(self) -> Array:
        """Rises and falls from one value to the next, both as positive numbers: (n_days − 1, 2, n_funds)."""
        change = np.diff(self.nav, axis=0)
        return np.stack([np.maximum(change, 0.0), np.maximum(-change, 0.0)], axis=1)

    def at_decisions(self, x: Array) -> Array:
        """Return the values of x on the decision days of each fund: (n_decisions, n_funds).

        x may have fewer rows than `nav`: the first rows, where it is not yet defined, are then left out.
        """
        row = self._row - (len(self.nav) - len(x))
        if not len(x):
            return np.full(row.shape, np.nan)
        return np.where(row >= 0, x[np.maximum(row, 0), np.arange(x.shape[1])], np.nan)


def ema(history: GaplessHistory, w: int) -> Array:
    """Return EMA_w(P)_t/P_t − 1 with α = 2/(w+1), defined from value w−1 on."""
    nav = history.at_decisions(history.nav)
    return (history.at_decisions(average(history.nav, w)) - nav) / nav


def rsi(history: GaplessHistory, w: int) -> Array:
    """Return Wilder's relative strength index 100·G/(G+L), defined from value w on; 0 for a flat fund.

    G and L are the gains and losses of P, each smoothed with α = 1/w.
    """
    moves = smooth(history.moves, w, 1.0 / w)
    gain, loss = history.at_decisions(moves[:, 0]), history.at_decisions(moves[:, 1])
    return np.where(gain + loss == 0.0, 0.0, 100.0 * gain / (gain + loss))


def macd(history: GaplessHistory, w: int) -> Array:
    """Return the MACD histogram (DIF − EMA_s(DIF))/P_t with DIF = EMA_f(P) − EMA_w(P), from value w+s−2 on.

    f = round(12w/26) and s = round(9w/26), in the proportions of the usual 12, 26 and 9. As in TA-Lib, the
    seeds of both averages end at value w−1.
    """
    fast, signal = min(max(2, round(12 * w / 26)), w), _signal_window(w)
    # Starting w − fast values later, the fast average has its first value on the same day as the slow one.
    difference = average(history.nav[w - fast :], fast) - average(history.nav, w)
    histogram = difference[signal - 1 :] - average(difference, signal)
    return history.at_decisions(histogram) / history.at_decisions(history.nav)


def macd_values_needed(w: int) -> int:
    """Return the number of values that MACD over w rows needs."""
    return w + _signal_window(w) - 1


def _signal_window(w: int) -> int:
    return max(1, round(9 * w / 26))


def average(x: Array, w: int) -> Array:
    """Return the exponential moving average over w rows: `smooth` with α = 2/(w+1)."""
    return smooth(x, w, 2.0 / (w + 1.0))


def smooth(x: Array, w: int, alpha: float) -> Array:
    r"""Return the exponential average along the first axis, seeded with the mean of the first w rows.

    .. math:: s_{w-1} = \frac1w \sum_{i<w} x_i, \qquad s_t = s_{t-1} + α (x_t - s_{t-1}).

    Parameters
    ----------
    x : array of shape (n, …)
        Values.
    w : int
        Number of rows in the seed.
    alpha : float
        Weight of the latest value.

    Returns
    -------
    array of shape (max(n − w + 1, 0), …)
        The averages from row w−1 on.
    """
    result = np.empty((max(len(x) - w + 1, 0), *x.shape[1:]))
    if len(result):
        # The mean as x₀ plus a mean difference: exact for a constant series. A running sum adds in the same
        # order for any number of funds, which `mean` does not.
        result[0] = x[0] + (x[:w] - x[0]).cumsum(axis=0)[-1] / w
    step = np.empty(x.shape[1:])  # one buffer for all steps
    for value, before, after in zip(x[w:], result[:-1], result[1:], strict=True):
        np.subtract(value, before, out=step)
        step *= alpha
        np.add(before, step, out=after)
    return result
