"""Neighbors with similar and with other targets: numbers, several numbers, or sets of labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

from geodual.arrays import Array, Indices

from ..geometry.distances import gram_factors

_WINDOW = 0.1  # ranks of targets, from 0 to 1, that differ by at most this are close
_ENTRIES = 500_000  # pairs whose distances are computed at once: 4 MB
MOST_ASKING = 10_000  # largest number of samples whose neighbors are found; more are subsampled

Neighbors = tuple[Indices, Indices, NDArray[np.bool_]]
"""Row numbers of samples, in increasing order, and of their neighbors, and which are similar."""

# From row numbers to an array of shape (n_rows, n_samples): which samples are similar to each of them.
Similar = Callable[[Indices], NDArray[np.bool_]]


def graded_neighbors(Z: Any, ranks: Array, n_similar: int, n_dissimilar: int, distance: str) -> Neighbors:
    """Return samples, in increasing order, their neighbors, and which of these have close targets.

    Samples without any other sample of close target are left out.

    Parameters
    ----------
    Z : array or sparse array of shape (n_samples, n_features)
        Samples.
    ranks : array of shape (n_samples,) or (n_samples, n_outputs)
        Ranks of their targets, from 0 to 1. Targets are close if ranks differ by at most 0.1 on average over
        the outputs. With several outputs, at least the tenth of all samples with the nearest targets counts
        as close, because few may be close in many outputs.
    n_similar, n_dissimilar : int
        Numbers of neighbors with close and with other targets; fewer if there are too few samples.
    distance : "l1" or "l2"
        Neighbors by the city-block or the Euclidean distance.
    """

    def similar(rows: Indices) -> NDArray[np.bool_]:
        if ranks.ndim == 1:
            return np.asarray(np.abs(ranks[rows, None] - ranks) <= _WINDOW)
        difference = cdist(ranks[rows], ranks, "cityblock") / ranks.shape[1]
        return _within(difference, rows, max(len(ranks) // 10, 1), _WINDOW)

    return neighbors(Z, similar, n_similar, n_dissimilar, distance)


def label_set_neighbors(Z: Any, sets: Array, n_similar: int, n_dissimilar: int, distance: str) -> Neighbors:
    """Return samples, in increasing order, their neighbors, and which of these have similar label sets.

    Parameters
    ----------
    Z : array or sparse array of shape (n_samples, n_features)
        Samples.
    sets : array of shape (n_samples, n_labels)
        Their sets of labels: 1 for each label of a sample, 0 for others. Samples are similar if their sets
        differ in at most m labels, where m is the smallest number with `n_similar` such samples: 0 if enough
        have the same set.
    n_similar, n_dissimilar, distance : int, int, str
        As in `graded_neighbors`.
    """

    def similar(rows: Indices) -> NDArray[np.bool_]:
        return _within(cdist(sets[rows], sets, "cityblock"), rows, n_similar, 0.0)

    return neighbors(Z, similar, n_similar, n_dissimilar, distance)


def _within(difference: Array, rows: Indices, count: int, limit: float) -> NDArray[np.bool_]:
    """Return which targets differ from those of rows by at most a limit, or are among the nearest `count`."""
    count = min(count, difference.shape[1] - 1)
    others = difference.copy()
    others[np.arange(len(rows)), rows] = np.inf
    reached = np.partition(others, count - 1, axis=1)[:, count - 1, None]
    return np.asarray(difference <= np.maximum(reached, limit))


def neighbors(Z: Any, similar: Similar, n_similar: int, n_dissimilar: int, distance: str) -> Neighbors:
    """Return samples, in increasing order, their nearest similar and other samples, and which are similar.

    Samples without any similar one are left out. With very many samples, neighbors are found only for some,
    drawn with a fixed seed: more would take long, and hardly change a mean over them.

    Parameters
    ----------
    Z : array or sparse array of shape (n_samples, n_features)
        Samples.
    similar : callable
        Returns which samples are similar to each of the given rows.
    n_similar, n_dissimilar : int
        Numbers of neighbors of both kinds; fewer if there are too few samples.
    distance : "l1" or "l2"
        Neighbors by the city-block or the Euclidean distance.
    """
    n_samples = Z.shape[0]
    asking = np.arange(n_samples)
    if n_samples > MOST_ASKING:
        asking = np.sort(np.random.RandomState(0).choice(n_samples, MOST_ASKING, replace=False))
    between = _distances(Z, distance)
    found, step = [], max(_ENTRIES // n_samples, 1)
    for start in range(0, len(asking), step):
        rows = asking[start : start + step]
        d = between(rows)
        d[np.arange(len(rows)), rows] = np.inf
        near = similar(rows)
        own = _nearest(np.where(near, d, np.inf), n_similar)
        other = _nearest(np.where(near, np.inf, d), n_dissimilar)
        pairs = np.hstack([own, other])
        kept = (pairs >= 0) & (own >= 0).any(axis=1, keepdims=True)
        place, column = np.nonzero(kept)
        found.append((rows[place], pairs[kept], column < own.shape[1]))
    i, j, is_similar = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return i, j, is_similar


def _distances(Z: Any, distance: str) -> Callable[[Indices], Array]:
    """Return a function from rows to their (possibly squared) distances from all samples."""
    if distance == "l1":
        measure = manhattan_distances if issparse(Z) else lambda A, B: cdist(A, B, "cityblock")
        return lambda rows: np.asarray(measure(Z[rows], Z))
    if issparse(Z):
        return lambda rows: np.asarray(euclidean_distances(Z[rows], Z, squared=True))
    left, right = gram_factors(*2 * (Z - Z.mean(axis=0),))
    return lambda rows: np.asarray(left[rows] @ right.T)


def _nearest(d: Array, count: int) -> Indices:
    """Return the nearest samples of each row, or −1 if there are no more."""
    count = min(count, d.shape[1])
    places = np.argpartition(d, count - 1, axis=1)[:, :count]
    return np.where(np.isfinite(np.take_along_axis(d, places, axis=1)), places, -1)
