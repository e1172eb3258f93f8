"""Means over nearest neighbors, with their number and weights chosen by leave-one-out."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from geodual.arrays import Array, Indices

from .geometry import MappedSamples
from .targets import Targets, squared_error

NUMBERS = (1, 3, 5, 7, 11, 15, 21, 31)  # of neighbors to try
WEIGHTS = ("uniform", "distance")
_ENTRIES = 4_000_000  # of the values of neighbors: 32 MB


class NeighborMean(NamedTuple):
    """A mean over neighbors; for classes, their shares.

    Attributes
    ----------
    n_neighbors : int
        Number of neighbors.
    weights : "uniform" or "distance"
        Whether neighbors have equal weights, or inverse distances.
    scores : array of shape (n_samples, n_columns)
        Leave-one-out predictions.
    """

    n_neighbors: int
    weights: str
    scores: Array

    def predict(self, A: Array, among: MappedSamples, targets: Targets) -> Array:
        """Predict the targets of new samples, which are already mapped."""
        parts = []
        for rows in blocks(len(A), self.n_neighbors * len(targets.means)):
            d, near = among.index.kneighbors(A[rows], self.n_neighbors)
            parts.append(means(d, targets.weight[near], values_at(near, targets), self.weights))
        return np.vstack(parts)

    @property
    def settings(self) -> dict[str, float | str]:
        """The chosen settings."""
        return {"n_neighbors": self.n_neighbors, "weights": self.weights}


def best_neighbors(D: Array, targets: Targets) -> NeighborMean:
    """Return the best mean for distances D of all samples; copies of a sample are its neighbors."""
    near, d, counts = left_out_neighbors(D, targets, max(NUMBERS))
    numbers = sorted({min(number, near.shape[1]) for number in NUMBERS})
    settings, parts = list(itertools.product(numbers, WEIGHTS)), []
    for rows in blocks(len(D), near.shape[1] * len(targets.means)):
        values = values_at(near[rows], targets)
        parts.append(
            [means(d[rows, :k], counts[rows, :k], values[:, :k], weights) for k, weights in settings]
        )
    tried = [
        (squared_error(scores, targets), NeighborMean(k, weights, scores))
        for (k, weights), scores in zip(settings, map(np.vstack, zip(*parts, strict=True)), strict=True)
    ]
    return min(tried, key=lambda pair: pair[0])[1]


def blocks(n: int, entries: int) -> list[slice]:
    """Return blocks of rows, so that arrays with this many entries per row stay small."""
    step = max(_ENTRIES // entries, 1)
    return [slice(start, start + step) for start in range(0, max(n, 1), step)]


def values_at(places: Indices, targets: Targets) -> Array:
    """Return the values of the samples at these positions, of shape (…, n_columns)."""
    return np.asarray(targets.part(places.ravel()).values.reshape(*places.shape, -1))


def left_out_neighbors(D: Array, targets: Targets, most: int) -> tuple[Indices, Array, Array]:
    """Return the nearest neighbors of each left-out sample, their distances and their weights.

    If copies of a sample are left, they are its nearest neighbor.
    """
    left = targets.weight * (1.0 - targets.left_out)
    own = np.arange(len(D))
    D = D.copy()
    D[own, own] = np.where(left > 0.0, 0.0, np.inf)
    most = min(most, len(D) - 1)
    near = np.argpartition(D, most - 1, axis=1)[:, :most]
    d = np.take_along_axis(D, near, axis=1)
    order = np.argsort(d, axis=1, kind="stable")
    near, d = np.take_along_axis(near, order, axis=1), np.take_along_axis(d, order, axis=1)
    return near, d, np.where(near == own[:, None], left[:, None], targets.weight[near])


def means(d: Array, counts: Array, values: Array, weights: str) -> Array:
    """Return means over neighbors, given by their distances, counts and values."""
    voices = counts * _closeness(d) if weights == "distance" else counts
    voices = voices / voices.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("ij,ijc->ic", voices, values))


def _closeness(d: Array) -> Array:
    """Return the nearest distance over each neighbor's; neighbors at distance zero get all the weight."""
    return np.asarray(np.divide(d[:, :1], d, out=np.ones_like(d), where=d > 0.0))
