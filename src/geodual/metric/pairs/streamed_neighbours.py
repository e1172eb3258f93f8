"""The nearest neighbours of many samples: rough distances of all pairs, exact ones of the few that matter."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array, Indices

from .nearest_so_far import NearestSoFar
from .rough_distances import COLUMNS, ROWS, Rough, ScaledSamples, upper_tiles

_SEEN_FIRST = 4096  # samples among which neighbours are looked for first
_GROUPS = 8  # times the number of neighbours: groups of samples, of which only the nearest counts at first
_DOUBT = 0.01  # errors above this share of the reach of a sample are too large,
_DOUBTFUL = 0.05  # for at most this share of the samples
_CROWDED = 0.2  # share of the pairs that may be near
_TINY = 1e-30  # what single precision may lose below its smallest number


def streamed_neighbours(Z: Array, labels: Indices, counts: tuple[int, int]) -> Indices | None:
    """Return each sample with its nearest neighbours in its class and with those in other classes.

    The k nearest of an even choice of samples bound the distances of the k nearest of all. Then each tile of
    the distance matrix is computed once for both samples of its pairs, in single precision if its errors are
    small enough. Only pairs that may lie within the bounds get an exact distance, and tighten the bounds. So
    the result is exact.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples, sorted by class. The nearest are those of the smallest Euclidean distance.
    labels : array of shape (n_samples,)
        Their classes in increasing order.
    counts : (int, int)
        Numbers of neighbours in the class of a sample, and in other classes; all if there are fewer.

    Returns
    -------
    array of shape (n_pairs, 2)
        Row numbers. A pair that is found from both sides is there twice. None if so many pairs are near, as
        where most distances are equal, that this search would take too long.
    """
    samples = ScaledSamples.of(Z)
    kind, reach = _first_reach(samples, labels, counts)
    nearest = NearestSoFar(samples.Z, labels, counts, reach)
    tiles = _NearTiles(*samples.factors(kind, side=-1), labels)
    for rows, all_columns in upper_tiles(len(Z)):
        found = [tiles.near_pairs(rows, columns, nearest.reach) for columns in all_columns]
        i, j = (np.concatenate(ends) for ends in zip(*found, strict=True))
        if len(i) > _CROWDED * (rows.stop - rows.start) * (len(Z) - rows.start):
            return None
        nearest.add(i, j)
    return nearest.pairs()


def _first_reach(
    samples: ScaledSamples, labels: Indices, counts: tuple[int, int]
) -> tuple[type[np.floating[Any]], Array]:
    """Return the precision that suffices, and bounds on the distances of the wanted neighbours."""
    if samples.fits_single:
        reach = _reach_of_some(samples, labels, counts, np.float32)
        error = 4.0 * samples.error(np.float32) * samples.squares
        if (error > _DOUBT * reach).mean() <= _DOUBTFUL:
            return np.float32, reach
    return np.float64, _reach_of_some(samples, labels, counts, np.float64)


def _reach_of_some(
    samples: ScaledSamples, labels: Indices, counts: tuple[int, int], kind: type[np.floating[Any]]
) -> Array:
    """Return bounds on the squared distances of the wanted neighbours, from some samples."""
    n = len(labels)
    chosen = np.unique(np.linspace(0, n - 1, min(_SEEN_FIRST, n)).astype(np.intp))
    left, right = samples.factors(kind, side=1)
    few, reach = right[chosen].T, np.full((2, n), np.inf)
    for start in range(0, n, ROWS):
        rows = np.arange(start, min(start + ROWS, n))
        distance = left[rows] @ few
        distance[rows[:, None] == chosen] = np.inf
        same = labels[rows][:, None] == labels[chosen]
        for place, (count, other) in enumerate(zip(counts, (~same, same), strict=True)):
            reach[place, rows] = _bound_of_smallest(np.where(other, np.inf, distance), count)
    return reach


def _bound_of_smallest(distance: Rough, count: int) -> Rough:
    """Return a number per row that at least `count` of its entries do not exceed."""
    n_rows, n_columns = distance.shape
    n_groups = _GROUPS * count
    if n_groups < n_columns:
        # Each group of columns is represented by its smallest entry.
        size = n_columns // n_groups
        distance = distance[:, : size * n_groups].reshape(n_rows, size, n_groups).min(axis=1)
    if count > distance.shape[1]:
        return np.full(n_rows, np.inf, dtype=distance.dtype)
    return np.asarray(np.partition(distance, count - 1, axis=1)[:, count - 1])


class _NearTiles:
    """Find the pairs of a tile that may be near enough, always in the same memory."""

    def __init__(self, left: Rough, right: Rough, labels: Indices) -> None:
        self._left, self._right, self._labels = left, right, labels
        self._distance = np.empty(ROWS * COLUMNS, dtype=left.dtype)
        self._masks = np.empty((2, ROWS * COLUMNS), dtype=np.bool_)
        self._reach: tuple[Array, Rough] | None = None

    def near_pairs(self, rows: slice, columns: slice, reach: Array) -> tuple[Indices, Indices]:
        """Return the row numbers i < j of pairs that may lie within the reach of one of their samples."""
        rough, labels = self._rough(reach), self._labels
        shape = rows.stop - rows.start, columns.stop - columns.start
        size = shape[0] * shape[1]
        d = np.matmul(self._left[rows], self._right[columns].T, out=self._distance[:size].reshape(shape))
        first, second = (mask[:size].reshape(shape) for mask in self._masks)
        if labels[rows.start] == labels[columns.stop - 1]:
            near = _within(d, rough[0], rows, columns, first, second)
        elif labels[rows.stop - 1] < labels[columns.start]:
            near = _within(d, rough[1], rows, columns, first, second)
        else:
            similar = _within(d, rough[0], rows, columns, first, second).copy()
            near = _within(d, rough[1], rows, columns, first, second)
            near = np.where(labels[rows][:, None] == labels[columns], similar, near)
        i, j = np.divmod(np.flatnonzero(near), shape[1])
        i, j = i + rows.start, j + columns.start
        if columns.start >= rows.stop:
            return i, j
        return i[i < j], j[i < j]

    def _rough(self, reach: Array) -> Rough:
        """Return the reach in the precision of the distances, rounded up."""
        if self._reach is None or self._reach[0] is not reach:
            rounded = (reach + _TINY).astype(self._left.dtype)
            self._reach = reach, np.nextafter(rounded, np.inf, dtype=rounded.dtype)
        return self._reach[1]


def _within(
    d: Rough,
    reach: Rough,
    rows: slice,
    columns: slice,
    first: NDArray[np.bool_],
    second: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    np.less_equal(d, reach[rows, None], out=first)
    np.less_equal(d, reach[columns], out=second)
    return np.logical_or(first, second, out=first)
