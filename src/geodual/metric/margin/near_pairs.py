"""Pairs of near samples of different classes, found tile by tile."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from geodual.arrays import Array, Indices

from ..pairs.gram import gram_factors

_ROWS = 256  # of a tile: its distances stay in the cache
_COLUMNS = 512
_BLOCK = 65_536  # a block is full when it has this number of pairs


class PairBlock(NamedTuple):
    """Near pairs: row numbers of the first (sorted) and of the second samples, and squared distances."""

    first: Indices
    second: Indices
    squared_distance: Array


_NO_PAIRS = PairBlock(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))


class _Tile(NamedTuple):
    rows: slice
    columns: slice


class NearPairs:
    """Find all pairs of different classes with ‖y − y′‖² < max(r, r′), for samples y and squared reaches r.

    All distances are computed, in tiles that stay in the cache: for some thousand samples this takes no
    longer than lists of pairs that are kept while samples move.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Classes in increasing order.
    """

    def __init__(self, labels: Indices) -> None:
        self._tiles = list(_tiles_between_classes(labels))
        self._scratch = np.empty(_ROWS * _COLUMNS)

    def blocks(self, Y: Array, squared_reach: Array) -> Iterator[PairBlock]:
        """Yield all near pairs in blocks of limited size.

        Parameters
        ----------
        Y : array of shape (n_samples, n_components)
            The samples.
        squared_reach : array of shape (n_samples,)
            r ≥ 0 of each sample.
        """
        factors = gram_factors(Y, Y)
        waiting: list[PairBlock] = []
        n_waiting = 0
        for tile in self._tiles:
            block = self._block(tile, factors, squared_reach[tile.rows], squared_reach[tile.columns])
            waiting.append(block)
            n_waiting += len(block.first)
            if n_waiting >= _BLOCK:
                yield _joined(waiting)
                waiting, n_waiting = [], 0
        yield _joined(waiting or [_NO_PAIRS])

    def _block(self, tile: _Tile, factors: tuple[Array, Array], r: Array, s: Array) -> PairBlock:
        """Return the pairs of a tile with a squared distance below r (first sample) or s (second sample)."""
        shape = len(r), len(s)
        distances = self._scratch[: len(r) * len(s)].reshape(shape)
        np.matmul(factors[0][tile.rows], factors[1][tile.columns].T, out=distances)
        near = distances < r[:, None]
        near |= distances < s
        flat = np.flatnonzero(near)
        first, second = np.divmod(flat, shape[1])
        return PairBlock(first + tile.rows.start, second + tile.columns.start, distances.take(flat))


def _tiles_between_classes(labels: Indices) -> Iterator[_Tile]:
    """Cut the part of the distance matrix above the class blocks into tiles, so each pair occurs once."""
    edges = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    for start, stop in pairwise(edges):
        for row in range(start, stop, _ROWS):
            for column in range(stop, len(labels), _COLUMNS):
                rows = slice(row, min(row + _ROWS, stop))
                yield _Tile(rows, slice(column, min(column + _COLUMNS, len(labels))))


def _joined(blocks: list[PairBlock]) -> PairBlock:
    if len(blocks) == 1:
        return blocks[0]
    first, second, distances = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    order = np.argsort(first, kind="stable")  # `PairBlock` promises first samples in increasing order
    return PairBlock(first[order], second[order], distances[order])
