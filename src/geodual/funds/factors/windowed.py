r"""Factors of the last w days only: ROC, MDD, STDDEV, Sharpe, Sortino, Calmar, Stability.

All windows start at the decision day and go back in time, so one pass serves them all: a `Trail` holds
running sums and minima over the lags, and each factor reads them at its w. Running sums add in the same order
for any number of funds, so a factor is the same to the last bit whichever other funds are in the table.

P is the NAV, r the daily return, A = 252 the number of trading days per year. If a value that a formula needs
is missing, the factor is missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geodual.arrays import Array

DAYS_A_YEAR = 252
_ROOT_YEAR = math.sqrt(DAYS_A_YEAR)
_ROUNDING = 4.0 * float(np.finfo(float).eps)  # rounding error of a daily return: smaller moves mean nothing


@dataclass(frozen=True, eq=False)
class Trail:
    """The NAVs of all funds up to a decision day, seen backwards from it.

    Parameters
    ----------
    nav : array of shape (n_lags + 1, n_funds)
        Row k holds the NAVs k rows before the decision day; NaN where there is none.
    """

    nav: Array

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
    return _deviation(trail, w) * _ROOT_YEAR


def sharpe(trail: Trail, w: int) -> Array:
    """Return the Sharpe ratio mean(r)/std(r)·√A of w returns: missing where the deviation is 0."""
    return _ratio(_mean(trail, w) * _ROOT_YEAR, _deviation(trail, w))


def sortino(trail: Trail, w: int) -> Array:
    """Return the Sortino ratio mean(r)·√A/√mean(min(r, 0)²) of w returns: missing without a loss."""
    return _ratio(_mean(trail, w) * _ROOT_YEAR, np.sqrt(trail.loss_sums[w - 1] / w))


def calmar(trail: Trail, w: int) -> Array:
    """Return the Calmar ratio ((P_t/P_{t−w})^{A/w} − 1)/|MDD|: missing where the drawdown is 0."""
    annual = np.expm1(DAYS_A_YEAR / w * np.log1p(roc(trail, w)))  # (1 + roc)^{A/w} − 1, accurate near 0
    return _ratio(annual, -mdd(trail, w))


def stability(trail: Trail, w: int) -> Array:
    """Return R² of the regression of log P on time over w NAVs: missing where P is flat."""
    total, squares, moments = (sums[w - 1] for sums in trail.log_sums)
    # R² = S_ky²/(S_kk·S_yy) with centred sums S, where S_kk = w(w² − 1)/12 for the lags k = 0 … w − 1.
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
