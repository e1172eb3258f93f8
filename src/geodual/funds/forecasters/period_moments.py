"""How factors go together with each other and with the target, period by period.

All funds of a period share a market. So a period is one observation, however many funds it has, and factors
and target are only compared within it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array


@dataclass(frozen=True, eq=False)
class PeriodMoments:
    """Correlations within each period, in order of time.

    Attributes
    ----------
    weights : array of shape (n_periods,)
        Weight of each period; the largest is 1.
    among : array of shape (n_periods, n_features, n_features)
        Γ, the correlations among the features; zero for a feature that is constant in the period.
    with_target : array of shape (n_periods, n_features)
        The information coefficients: correlations of the features with the target.
    spread : array of shape (n_features,)
        Mean standard deviation of each feature within periods; 1 for a feature that never varies.
    target_spread : float
        Mean standard deviation of the target within periods.
    centre : array of shape (n_features,)
        Weighted mean of the features over all rows.
    target_centre : float
        Weighted mean of the target over all rows.
    """

    weights: Array
    among: Array
    with_target: Array
    spread: Array
    target_spread: float
    centre: Array
    target_centre: float

    def linear_rule(self, b: Array) -> tuple[Array, float]:
        """Return slopes and intercept in the units of features and target, from standardised slopes."""
        slopes = b * self.target_spread / self.spread
        return slopes, float(self.target_centre - self.centre @ slopes)


def measure_periods(X: Array, y: Array, weights: Array, periods: NDArray[Any]) -> PeriodMoments:
    """Return the correlations of features and target within each period.

    Parameters
    ----------
    X : array of shape (n, n_features)
        Features.
    y : array of shape (n,)
        Target.
    weights : array of shape (n,)
        Weight of each row, not negative. A period weighs as much as its average row; rows and periods of
        weight 0 are left out.
    periods : array of shape (n,)
        Period of each row, in order of time.

    Returns
    -------
    PeriodMoments
    """
    found = []
    for period in np.unique(periods[weights > 0.0]):
        rows = (periods == period) & (weights > 0.0)
        found.append((weights[rows].mean(), *_correlations(X[rows], y[rows], weights[rows])))
    period_weights, among, with_target, spreads, target_spreads = (
        np.array(part) for part in zip(*found, strict=True)
    )
    spread = np.average(spreads, axis=0, weights=period_weights)
    return PeriodMoments(
        weights=period_weights / period_weights.max(),
        among=among,
        with_target=with_target,
        spread=np.where(spread > 0.0, spread, 1.0),
        target_spread=float(np.average(target_spreads, weights=period_weights)),
        centre=np.average(X, axis=0, weights=weights),
        target_centre=float(np.average(y, weights=weights)),
    )


def _correlations(X: Array, y: Array, weights: Array) -> tuple[Array, Array, Array, float]:
    """Return correlations among features and with the target, and the standard deviations."""
    share = weights / weights.sum()
    Z, spread = _standardised(X, share)
    target, target_spread = _standardised(y[:, None], share)
    return Z.T @ (share[:, None] * Z), Z.T @ (share * target[:, 0]), spread, float(target_spread[0])


def _standardised(X: Array, share: Array) -> tuple[Array, Array]:
    """Return columns with mean 0 and variance 1, or 0 where constant, and their standard deviations."""
    centred = X - share @ X
    spread = np.sqrt(share @ np.square(centred))
    # A spread that is only rounding error means that the column is constant.
    spread = np.where(spread > 1e-12 * np.abs(X).max(axis=0, initial=0.0), spread, 0.0)
    return centred / np.where(spread > 0.0, spread, np.inf), spread
