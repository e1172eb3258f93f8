"""The choice of pairs: nearest neighbours, random pairs, or given pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.random import sample_without_replacement

from geodual.arrays import Array, Indices

from .weights import check_pair_weight

N_SIMILAR = 5
N_DISSIMILAR = 15
_SMALL_CLASS = 64  # up to this size, computing all distances is faster than a search structure per class
_ROWS = 256  # number of samples whose distances to all others are computed at once


def local_pairs(Z: Array, labels: Indices) -> Indices:
    """Return the pairs of each sample with its 5 nearest of the same class and 15 nearest of other classes.

    Distances are Euclidean in Z. A pair that is found from both sides is kept once.
    """
    sizes = np.bincount(labels)
    pairs = _pairs_of_small_classes(Z, labels, np.flatnonzero(sizes[labels] <= _SMALL_CLASS))
    for label in np.flatnonzero(sizes > _SMALL_CLASS):
        inside, outside = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
        near = NearestNeighbors(n_neighbors=N_SIMILAR).fit(Z[inside]).kneighbors(return_distance=False)
        pairs.append(_joined(inside, inside[near]))
        search = NearestNeighbors(n_neighbors=min(N_DISSIMILAR, len(outside))).fit(Z[outside])
        near = search.kneighbors(Z[inside], return_distance=False)
        pairs.append(_joined(inside, outside[near]))
    return np.unique(np.sort(np.vstack(pairs), axis=1), axis=0)


def _pairs_of_small_classes(Z: Array, labels: Indices, samples: Indices) -> list[Indices]:
    """Return the local pairs of some samples, from their distances to all samples."""
    pairs = []
    for start in range(0, len(samples), _ROWS):
        rows = samples[start : start + _ROWS]
        distance = cdist(Z[rows], Z, "sqeuclidean")
        distance[np.arange(len(rows)), rows] = np.inf
        same = labels[rows, None] == labels
        for kind, count in ((same, N_SIMILAR), (~same, N_DISSIMILAR)):
            apart = np.where(kind, distance, np.inf)
            # Where a kind has fewer than `count` samples, infinite distances fill the rest.
            near = np.argpartition(apart, min(count, len(Z)) - 1, axis=1)[:, :count]
            found = np.isfinite(np.take_along_axis(apart, near, axis=1))
            pairs.append(_joined(rows, near)[found.ravel()])
    return pairs


def _joined(samples: Indices, neighbours: Indices) -> Indices:
    return np.column_stack([np.repeat(samples, neighbours.shape[1]), neighbours.ravel()])


def sampled_pairs(labels: Indices, n_pairs: int, rng: np.random.RandomState) -> Indices:
    """Return random pairs without repetition; half of them are similar, if there are enough of each kind."""
    if n_pairs < 1:
        raise ValueError(f"`pairs` must be positive if it is a number, got {n_pairs}.")
    n = len(labels)
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], labels[order], side="right")
    after = np.arange(1, n + 1)
    # In this order, sample k makes similar pairs with the samples k + 1 … end of its class, and dissimilar
    # pairs with those after it. So pairs of a kind can be numbered, and drawn without listing them.
    kinds = ((after, ends - after), (ends, n - ends))
    n_similar_all, n_dissimilar_all = (int(counts.sum()) for _, counts in kinds)
    wanted = min(n_pairs, n_similar_all + n_dissimilar_all)
    n_similar = min(max((wanted + 1) // 2, wanted - n_dissimilar_all), n_similar_all)
    pairs = []
    for (first, counts), drawn in zip(kinds, (n_similar, wanted - n_similar), strict=True):
        numbers = sample_without_replacement(int(counts.sum()), drawn, random_state=rng)
        # From the number of a pair to its first sample k, and from the rest to its second sample.
        reached = np.cumsum(counts)
        k = np.searchsorted(reached, numbers, side="right")
        pairs.append(np.column_stack([k, first[k] + numbers - (reached - counts)[k]]))
    return np.asarray(order[np.vstack(pairs)])


def given_pairs(
    pairs: Any, n_samples: int, sample_weight: Array | None, pair_weight: Any
) -> tuple[Indices, Array]:
    """Return the given pairs of positive weight, as rows of the samples of positive weight, and weights."""
    indices = check_index_pairs(pairs, n_samples)
    weight = check_pair_weight(pair_weight, len(indices), "pair_weight")
    if sample_weight is not None:
        weight = weight * sample_weight[indices].prod(axis=1)
        # Samples of weight zero are dropped later; these are the row numbers of the others then.
        indices = (np.cumsum(sample_weight > 0.0) - 1)[indices]
    if not weight.any():
        raise ValueError(
            "All `pairs` have weight zero; give both samples of some pair a positive `sample_weight`."
        )
    return indices[weight > 0.0], weight[weight > 0.0]


def check_index_pairs(pairs: Any, n_samples: int) -> Indices:
    """Return given pairs of row numbers as an array; raise if they are invalid."""
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
        raise ValueError(f"Pair {row} of `pairs` joins sample {array[row, 0]} with itself; remove it.")
    return array.astype(np.intp)
