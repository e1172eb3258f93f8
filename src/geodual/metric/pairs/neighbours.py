"""The nearest neighbours of all samples inside and outside their class, from blocks of matrix products."""

from __future__ import annotations

import numpy as np

from geodual.arrays import Array, Indices

from .gram import gram_factors
from .streamed_neighbours import streamed_neighbours

_MANY = 6_000  # with more samples, rough distances first are faster
_ENTRIES = 500_000  # 4 MB: distances of this many pairs are computed at once


def neighbour_pairs(Z: Array, labels: Indices, n_similar: int, n_dissimilar: int) -> Indices:
    """Return each sample with its nearest neighbours in its class and with those in other classes.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples. The nearest are those of the smallest Euclidean distance.
    labels : array of shape (n_samples,)
        Their classes as 0, 1, …
    n_similar, n_dissimilar : int
        Numbers of neighbours of each kind; all samples of a kind if there are fewer.

    Returns
    -------
    array of shape (n_pairs, 2)
        Row numbers. A pair that is found from both sides is there twice.
    """
    # Sorted by class, the samples of a class are a slice.
    order = np.argsort(labels, kind="stable")
    if len(Z) > _MANY:
        found = streamed_neighbours(Z[order], labels[order], (n_similar, n_dissimilar))
        if found is not None:
            return np.asarray(order[found])
    ends = np.cumsum(np.bincount(labels))
    left, right = gram_factors(*2 * (Z[order] - Z.mean(axis=0),))
    step = max(_ENTRIES // len(Z), 16)
    pairs = []
    for start, end in zip(np.concatenate([[0], ends[:-1]]).tolist(), ends.tolist(), strict=True):
        for first in range(start, end, step):
            rows = np.arange(first, min(first + step, end))
            distance = left[rows] @ right.T
            distance[np.arange(len(rows)), rows] = np.inf
            inside = _smallest(distance[:, start:end], min(n_similar, end - start - 1))
            distance[:, start:end] = np.inf
            outside = _smallest(distance, min(n_dissimilar, len(Z) - (end - start)))
            neighbours = np.hstack([inside + start, outside])
            pairs.append(np.column_stack([np.repeat(rows, neighbours.shape[1]), neighbours.ravel()]))
    return np.asarray(order[np.vstack(pairs)])


def distinct_pairs(pairs: Indices, n_samples: int) -> Indices:
    """Return pairs of row numbers sorted, the smaller number first, and each once.

    Parameters
    ----------
    pairs : array of shape (n_pairs, 2)
        Pairs of row numbers, in which a pair may be there twice, also the other way round.
    n_samples : int
        Number of rows.
    """
    # Numbers that stand for sorted pairs are compared much faster than the pairs.
    numbers = np.sort(pairs.min(axis=1) * n_samples + pairs.max(axis=1))
    return np.column_stack(np.divmod(numbers[np.diff(numbers, prepend=-1) > 0], n_samples))


def _smallest(distance: Array, count: int) -> Indices:
    """Return the places of the smallest entries of each row."""
    n_rows, n_columns = distance.shape
    size = n_columns // max(4 * count, 1)
    if count < 1 or size < 4:
        return np.argpartition(distance, count - 1, axis=1)[:, :count] if count else _none(n_rows)
    # The smallest entries of groups of columns bound the wanted entries, so that few remain to be sorted.
    n_groups = n_columns // size
    groups = distance[:, : size * n_groups].reshape(n_rows, size, n_groups).min(axis=1)
    bound = np.partition(groups, count - 1, axis=1)[:, count - 1 : count]
    row, column = np.nonzero(distance <= bound)
    order = np.lexsort((distance[row, column], row))
    starts = np.searchsorted(row, np.arange(n_rows))
    return np.asarray(column[order[starts[:, None] + np.arange(count)]])


def _none(n_rows: int) -> Indices:
    return np.empty((n_rows, 0), dtype=np.intp)
