"""Samples with numeric targets, and pairs of them to learn a metric for the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.random import sample_without_replacement

from geodual.arrays import Array, Indices

from ..base.scatter import distinct_rows
from .local_pairs import distinct_pairs

_CHUNK = 65_536  # number of pairs whose differences are formed at once


@dataclass(frozen=True, eq=False)
class TargetSamples:
    """Distinct samples, sorted, with their mean targets; copies are merged to their total weight.

    Equal samples have distance zero in every metric, so pairs of them would be useless.

    Attributes
    ----------
    X : array or sparse array of shape (n_samples, n_features)
        The samples.
    y : array of shape (n_samples,) or (n_samples, n_outputs)
        Their targets, averaged over copies.
    ranks : array of the shape of y
        The ranks of their targets among all samples, from 0 to 1 and averaged over copies.
    weight : array of shape (n_samples,)
        Weight of each sample.
    """

    X: Any
    y: Array
    ranks: Array
    weight: Array

    @classmethod
    def merged(cls, X: Any, y: Array, weight: Array) -> TargetSamples:
        """Merge copies among samples of positive weight."""
        first, place = distinct_rows(X)
        total = np.asarray(np.bincount(place, weight), dtype=float)
        share = weight / total[place]

        def mean(values: Array) -> Array:
            return np.bincount(place, share * values).astype(float)

        ranks = np.apply_along_axis(counted_ranks, 0, y, weight)
        mean_y, mean_rank = (np.apply_along_axis(mean, 0, values) for values in (y, ranks))
        return cls(X[first], mean_y, mean_rank, total)


def counted_ranks(values: Array, counts: Array) -> Array:
    """Return ranks from 0 to 1 as if each value were repeated by its weight; ties share their mean.

    The rank is the share of smaller values plus half of the share of equal ones.
    """
    _, place = np.unique(values, return_inverse=True)
    share = np.bincount(place, counts) / counts.sum()
    return np.asarray((np.cumsum(share) - 0.5 * share)[place])


def nearest_pairs(Z: Array, n_neighbors: int) -> Indices:
    """Return the sorted pairs of each sample with its nearest neighbors, without duplicates.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples, at least two, compared by the Euclidean distance.
    n_neighbors : int
        Number of neighbors; fewer if there are too few samples.

    Returns
    -------
    array of shape (n_pairs, 2)
        Row numbers, the smaller one first.
    """
    search = NearestNeighbors(n_neighbors=min(n_neighbors, len(Z) - 1)).fit(Z)
    near = search.kneighbors(return_distance=False)
    ends = np.column_stack([np.repeat(np.arange(len(Z)), near.shape[1]), near.ravel()])
    return distinct_pairs(ends, len(Z))


def random_pairs(n_samples: int, n_pairs: int, rng: np.random.RandomState) -> Indices:
    """Return random pairs of row numbers without repetition, or all pairs if there are no more."""
    n_all = n_samples * (n_samples - 1) // 2
    numbers = sample_without_replacement(n_all, min(n_pairs, n_all), random_state=rng)
    # Sample k forms pairs with the samples after it, so pairs can be numbered, and drawn without a list.
    reached = np.cumsum(np.arange(n_samples - 1, 0, -1))
    k = np.searchsorted(reached, numbers, side="right")
    return np.column_stack([k, n_samples - (reached[k] - numbers)])


def pair_distances(Z: Array, indices: Indices) -> Array:
    """Return the squared Euclidean distances of pairs of rows of Z."""
    distances = np.empty(len(indices))
    # In parts, so that differences of all pairs are never in memory at once.
    for start in range(0, len(indices), _CHUNK):
        part = slice(start, start + _CHUNK)
        V = Z[indices[part, 0]] - Z[indices[part, 1]]
        distances[part] = np.einsum("kf,kf->k", V, V)
    return distances
