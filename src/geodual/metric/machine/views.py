"""Views of features: transformations before distances are computed, and medians for missing values."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np
from scipy.special import ndtri

from geodual.arrays import Array

_ROUNDING = 64.0 * float(np.finfo(float).eps)  # relative spread below which a feature is constant
_LIMIT = 3.0  # Gaussian scores are clipped here, so that the rarest values are not far from all others
_KNOTS = 2_000  # values of a feature whose ranks are kept; others are interpolated


class View(Protocol):
    """A transformation of features learned from weighted samples without targets."""

    name: str

    def fit(self, X: Array, weight: Array) -> Self:
        """Learn the transformation."""

    def transform(self, X: Array) -> Array:
        """Transform samples."""


class Standardized:
    """Features with mean 0 and standard deviation 1; constant features become 0."""

    name = "standard"

    def fit(self, X: Array, weight: Array) -> Self:
        """Learn means and standard deviations."""
        share = weight / weight.sum()
        self._mean = share @ X
        spread = np.sqrt(share @ (X - self._mean) ** 2)
        constant = spread <= _ROUNDING * np.abs(X).max(axis=0)
        self._factor = np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, spread))
        return self

    def transform(self, X: Array) -> Array:
        """Return standardized samples."""
        return np.asarray((X - self._mean) * self._factor)


class RankGauss:
    """Gaussian scores of ranks, clipped at ±3 and standardized; ties share their mean rank.

    The smallest and the largest value of a feature, and all values beyond, have the scores ∓3. This removes
    outliers, skewness and the shape of the distribution.
    """

    name = "rank"

    def fit(self, X: Array, weight: Array) -> Self:
        """Learn ranks."""
        self._knots = [_ranks(values, weight) for values in X.T]
        self._units = Standardized().fit(self._scores(X), weight)
        return self

    def _scores(self, X: Array) -> Array:
        scores = [ndtri(np.interp(x, *knots)) for x, knots in zip(X.T, self._knots, strict=True)]
        return np.asarray(np.clip(np.column_stack(scores), -_LIMIT, _LIMIT))

    def transform(self, X: Array) -> Array:
        """Return standardized scores."""
        return self._units.transform(self._scores(X))


def _ranks(values: Array, weight: Array) -> tuple[Array, Array]:
    """Return some values of a feature in increasing order, and their ranks from 0 to 1."""
    knots, place = np.unique(values, return_inverse=True)
    if len(knots) == 1:
        return knots, np.array([0.5])
    share = np.bincount(place, weight) / weight.sum()
    ranks = np.cumsum(share) - 0.5 * share
    ranks[0], ranks[-1] = 0.0, 1.0
    kept = np.unique(np.linspace(0, len(knots) - 1, min(len(knots), _KNOTS)).astype(np.intp))
    return knots[kept], ranks[kept]


VIEWS: dict[str, type[Standardized | RankGauss]] = {"standard": Standardized, "rank": RankGauss}


def medians(X: Array, weight: Array) -> Array:
    """Return the weighted median of the known values of each feature; 0 if all are missing."""
    return np.array([_median(values[~np.isnan(values)], weight[~np.isnan(values)]) for values in X.T])


def _median(values: Array, weight: Array) -> float:
    if not weight.any():
        return 0.0
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    # Average ties in the middle, so that copies count like weights.
    low, high = (
        np.searchsorted(reached, 0.5 * reached[-1]),
        np.searchsorted(reached, 0.5 * reached[-1], "right"),
    )
    return 0.5 * float(values[order[low]] + values[order[min(high, len(order) - 1)]])
