"""Squared distances that count several times, and samples that do: what percentiles are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

from geodual.arrays import Array, Indices

from ..scatter import distinct_rows


class CountedDistances(NamedTuple):
    """Squared distances that follow each other in the sorted list of all distances.

    Attributes
    ----------
    values : array of shape (n_values,)
        The distances, in increasing order.
    counts : array of shape (n_values,)
        How often each counts.
    below : float
        How often the distances below them count together.
    """

    values: Array
    counts: Array
    below: float

    @classmethod
    def of(cls, values: Array, counts: Array) -> CountedDistances:
        """Sort distances, drop those that count nothing, and count equal ones together."""
        order = np.argsort(values)
        order = order[counts[order] > 0.0]
        first = np.flatnonzero(np.diff(values[order], prepend=-1.0))
        return cls(values[order[first]], np.add.reduceat(counts[order], first), 0.0)

    @property
    def total(self) -> float:
        """How often all count together, with those below."""
        return float(self.below + self.counts.sum())

    def has(self, position: float, low: float, high: float) -> bool:
        """Tell whether a position is among these distances, which are all from `low` to `high`."""
        if not len(self.values):
            return False
        return (self.below <= position or low == -np.inf) and (position <= self.total - 1.0 or high == np.inf)

    def at(self, positions: Any) -> Array:
        """Return the distances at positions in the sorted list in which each is repeated as it counts."""
        ends = self.below + np.cumsum(self.counts)
        starts = ends - self.counts
        # Positions of the first and of the last copy of each; `np.percentile` interpolates between them.
        places = np.column_stack([starts, np.maximum(ends - 1.0, starts)]).ravel()
        return np.asarray(np.interp(positions, places, np.repeat(self.values, 2)))


def counted_percentiles(values: Array, counts: Array | None, percentiles: Sequence[float]) -> Array:
    """Return percentiles of distances as if each were repeated as often as it counts; None means once."""
    if counts is None:
        return np.asarray(np.percentile(values, percentiles))
    distances = CountedDistances.of(values, counts)
    return distances.at(np.asarray(percentiles) / 100.0 * (distances.total - 1.0))


class CountedSamples:
    """Distinct samples with the number of copies of each.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples.
    copies : array of shape (n_samples,), optional
        How often each sample counts; once by default.

    Attributes
    ----------
    Z : array of shape (n_distinct, n_features)
        The distinct samples.
    copies : array of shape (n_distinct,), or None
        How often each counts; None means once.
    zeros : float
        Number of pairs of copies of the same sample.
    n_pairs : float
        Number of all pairs.
    """

    def __init__(self, Z: Array, copies: Array | None) -> None:
        first, place = distinct_rows(Z)
        self.Z, self.copies = Z, copies
        if len(first) < len(Z):
            self.Z, self.copies = Z[first], np.bincount(place, copies).astype(float)
        count = np.ones(len(self.Z)) if self.copies is None else self.copies
        # A sample of c copies makes c (c − 1)/2 pairs of distance zero with itself.
        self.zeros = max(0.5 * float(count @ (count - 1.0)), 0.0)
        self.n_pairs = 0.5 * (float(count.sum()) ** 2 - float(count @ count)) + self.zeros

    def all_distances(self) -> tuple[Array, Array | None]:
        """Return the squared distances of all pairs, and how often each counts; None means once."""
        values = np.asarray(pdist(self.Z, "sqeuclidean"))
        if self.copies is None:
            return values, None
        counts = self.pair_counts(*np.triu_indices(len(self.Z), 1))
        return np.append(values, 0.0), np.append(counts, self.zeros)

    def pair_counts(self, i: Indices, j: Indices) -> Array:
        """Return how often pairs of distinct samples count."""
        return np.ones(len(i)) if self.copies is None else self.copies[i] * self.copies[j]

    def drawn_pairs(self, n_drawn: int, rng: np.random.RandomState) -> tuple[Indices, Indices]:
        """Draw pairs of different copies at random, and return the row numbers of their samples."""
        n = len(self.Z)
        if self.copies is None:
            i, j = rng.randint(n, size=n_drawn), rng.randint(n - 1, size=n_drawn)
            return i, j + (j >= i)
        odds = self.copies / self.copies.sum()
        i, j = rng.choice(n, (2, n_drawn), p=odds)
        same = np.flatnonzero(i == j)
        # Two draws of a sample with c copies hit the same copy with probability 1/c; these are drawn again.
        while (same := same[rng.uniform(size=len(same)) * self.copies[i[same]] < 1.0]).size:
            j[same] = rng.choice(n, len(same), p=odds)
            same = same[i[same] == j[same]]
        return i, j
