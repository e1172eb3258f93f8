"""Neighbours of samples with a numeric target: near samples of a near target, and of other targets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from geodual.arrays import Array, Indices

_WINDOW = 0.1  # ranks of targets, from 0 to 1, that differ by no more than this are near
_ENTRIES = 500_000  # 4 MB: distances of this many pairs are computed at once


def graded_neighbours(
    Z: Array, ranks: Array, n_similar: int, n_dissimilar: int, distance: str
) -> tuple[Indices, Indices, NDArray[np.bool_]]:
    """Return samples, in increasing order, their neighbours, and which of these have a near target.

    Samples without any other of a near target are left out: they have nobody to ask.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples.
    ranks : array of shape (n_samples,)
        Ranks of their targets, from 0 to 1.
    n_similar, n_dissimilar : int
        Numbers of neighbours of a near target, and of other targets; fewer if there are too few samples.
    distance : "l1" or "l2"
        The city-block or the Euclidean distance decides who is near.
    """
    found, step = [], max(_ENTRIES // len(Z), 1)
    for start in range(0, len(Z), step):
        rows = np.arange(start, min(start + step, len(Z)))
        d = cdist(Z[rows], Z, "cityblock" if distance == "l1" else "sqeuclidean")
        d[np.arange(len(rows)), rows] = np.inf
        near = np.abs(ranks[rows, None] - ranks) <= _WINDOW
        own = _nearest(np.where(near, d, np.inf), n_similar)
        other = _nearest(np.where(near, np.inf, d), n_dissimilar)
        pairs = np.hstack([own, other])
        similar = np.arange(pairs.shape[1]) < own.shape[1]
        kept = (pairs >= 0) & (own >= 0).any(axis=1, keepdims=True)
        place, column = np.nonzero(kept)
        found.append((rows[place], pairs[kept], similar[column]))
    i, j, similar = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return i, j, similar


def _nearest(d: Array, count: int) -> Indices:
    """Return the nearest samples of each row, and −1 where there are no more."""
    count = min(count, d.shape[1])
    places = np.argpartition(d, count - 1, axis=1)[:, :count]
    return np.where(np.isfinite(np.take_along_axis(d, places, axis=1)), places, -1)
