"""Which pairs a learner sees: all, the local ones, a number of sampled ones, or given ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from geodual.manifolds.base import Array

N_SIMILAR = 5
N_DISSIMILAR = 15

Indices = NDArray[np.intp]


def local_pairs(Z: Array, labels: Indices) -> Indices:
    """Return each sample with its 5 nearest of the same class and its 15 nearest of other classes.

    Distances are Euclidean in Z. Pairs that come up from both sides are kept once.
    """
    pairs = []
    for label in np.unique(labels):
        inside, outside = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
        same = min(N_SIMILAR, len(inside) - 1)
        if same > 0:
            near = NearestNeighbors(n_neighbors=same).fit(Z[inside]).kneighbors(return_distance=False)
            pairs.append(_joined(inside, inside[near]))
        other = min(N_DISSIMILAR, len(outside))
        near = (
            NearestNeighbors(n_neighbors=other).fit(Z[outside]).kneighbors(Z[inside], return_distance=False)
        )
        pairs.append(_joined(inside, outside[near]))
    return np.unique(np.sort(np.vstack(pairs), axis=1), axis=0)


def _joined(samples: Indices, neighbours: Indices) -> Indices:
    return np.column_stack([np.repeat(samples, neighbours.shape[1]), neighbours.ravel()])


def sampled_pairs(labels: Indices, n_pairs: int, rng: np.random.RandomState) -> Indices:
    """Return pairs drawn without replacement, half of them similar where there are so many of each kind."""
    if n_pairs < 1:
        raise ValueError(f"`pairs` must be positive, got {n_pairs}.")
    n = len(labels)
    counts = np.bincount(labels)
    n_similar_all = int((counts * (counts - 1) // 2).sum())
    n_dissimilar_all = n * (n - 1) // 2 - n_similar_all
    wanted = min(n_pairs, n_similar_all + n_dissimilar_all)
    n_similar = min(max((wanted + 1) // 2, wanted - n_dissimilar_all), n_similar_all)
    kinds = ((True, n_similar, n_similar_all), (False, wanted - n_similar, n_dissimilar_all))
    return np.vstack([_draw(labels, similar, count, total, rng) for similar, count, total in kinds])


def _draw(labels: Indices, similar: bool, count: int, total: int, rng: np.random.RandomState) -> Indices:
    """Draw `count` of the `total` pairs of one kind."""
    n = len(labels)
    if count == 0:
        return np.empty((0, 2), dtype=np.intp)
    if 4 * count > total or n < 200:
        rows, columns = np.triu_indices(n, 1)
        chosen = np.flatnonzero((labels[rows] == labels[columns]) == similar)
        chosen = chosen[rng.permutation(len(chosen))[:count]]
        return np.column_stack([rows[chosen], columns[chosen]])
    found = np.empty((0, 2), dtype=np.intp)
    while len(found) < count:
        i, j = rng.randint(n, size=(2, 4 * count + 100))
        fits = (i != j) & ((labels[i] == labels[j]) == similar)
        candidates = np.sort(np.column_stack([i[fits], j[fits]]), axis=1)
        joined = np.vstack([found, candidates])
        _, first = np.unique(joined, axis=0, return_index=True)
        found = joined[np.sort(first)]
    return found[:count]


def check_index_pairs(pairs: Any, n_samples: int) -> Indices:
    """Return given pairs of sample indices, or say what is wrong with them."""
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2 or not len(array) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"`pairs` must be an integer array of shape (n_pairs, 2), got shape {array.shape} and dtype "
            f"{array.dtype}."
        )
    if array.min() < 0 or array.max() >= n_samples:
        raise ValueError(
            f"`pairs` must hold row numbers from 0 to {n_samples - 1}, got {array.min()} to {array.max()}."
        )
    if (array[:, 0] == array[:, 1]).any():
        row = int(np.flatnonzero(array[:, 0] == array[:, 1])[0])
        raise ValueError(f"Pair {row} of `pairs` joins sample {array[row, 0]} with itself.")
    return array.astype(np.intp)
