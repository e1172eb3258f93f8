"""Pairs of near samples of different classes, found by a list that is renewed when samples have moved far."""

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
_CHUNK = 2048  # number of listed pairs whose differences are formed at once
_CROWDED = 1 / 16  # above this share of near pairs, a Gram product of the whole tile is faster than a list
_MARGIN = 10.0  # a list should last for this number of steps of the last step length
_WIDE = 8.0  # a list with a skin this many times wider than needed is renewed, because it is too long
_SKINS = 1e-6, 0.01  # smallest and largest skin, relative to the norm of a sample

_TINY = float(np.finfo(float).tiny)  # avoids a division by zero for a sample at the origin


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
    """Find all pairs of different classes with ‖y − y′‖² < max(r, r′), while samples y and reaches √r change.

    A list of the pairs that are nearer than this plus a skin σ + σ′ stays complete until some sample has
    moved and extended its reach by more than its σ (Verlet's neighbour lists of molecular dynamics). So the
    result is exact, but distances of all pairs are rarely computed. Tiles of the distance matrix with many
    near pairs are not listed but computed every time, which limits the memory.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Classes in increasing order.
    """

    def __init__(self, labels: Indices) -> None:
        self._tiles = list(_tiles_between_classes(labels))
        self._list = _NO_PAIRS.first, _NO_PAIRS.second
        self._crowded: list[_Tile] = []
        self._last: tuple[Array, Array] | None = None
        self._reference: tuple[Array, Array] | None = None
        self._skin = np.inf
        self._sigma = np.zeros(len(labels))
        self._scratch = np.empty(_ROWS * _COLUMNS)
        self.n_searches = 0

    def blocks(self, Y: Array, squared_reach: Array) -> Iterator[PairBlock]:
        """Yield all near pairs in blocks of limited size.

        Parameters
        ----------
        Y : array of shape (n_samples, n_components)
            The samples.
        squared_reach : array of shape (n_samples,)
            The squared reach r ≥ 0 of each sample.
        """
        self._refresh(Y, np.sqrt(squared_reach))
        waiting: list[PairBlock] = []
        n_waiting = 0
        for block in self._parts(Y, squared_reach):
            waiting.append(block)
            n_waiting += len(block.first)
            if n_waiting >= _BLOCK:
                yield _joined(waiting)
                waiting, n_waiting = [], 0
        yield _joined(waiting or [_NO_PAIRS])

    def _parts(self, Y: Array, squared_reach: Array) -> Iterator[PairBlock]:
        for start in range(0, len(self._list[0]), _BLOCK):
            yield self._listed(slice(start, start + _BLOCK), Y, squared_reach)
        factors = gram_factors(Y, Y) if self._crowded else (Y, Y)
        for tile in self._crowded:
            yield self._block(tile, factors, squared_reach[tile.rows], squared_reach[tile.columns])

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

    def _listed(self, part: slice, Y: Array, squared_reach: Array) -> PairBlock:
        """Return the near pairs in a part of the list."""
        first, second = self._list[0][part], self._list[1][part]
        distances = np.empty(len(first))
        for start in range(0, len(first), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            difference = Y.take(first[chunk], axis=0)
            difference -= Y.take(second[chunk], axis=0)
            np.einsum("ij,ij->i", difference, difference, out=distances[chunk])
        near = distances < np.maximum(squared_reach.take(first), squared_reach.take(second))
        return PairBlock(first[near], second[near], distances[near])

    def _refresh(self, Y: Array, reach: Array) -> None:
        """Renew the list if samples have moved too far for it, or so little that a shorter list would do."""
        size = np.sqrt(np.einsum("ij,ij->i", Y, Y)) + reach + _TINY
        # Longer steps are cut before the division, which could overflow for a sample at the origin.
        step = np.minimum(_MARGIN * _movement(self._last, Y, reach), _SKINS[1] * size) / size
        wanted = max(float(step.max()), _SKINS[0])
        self._last = Y, reach
        if self._skin <= _WIDE * wanted and (_movement(self._reference, Y, reach) <= self._sigma).all():
            return
        self._skin, self._sigma = wanted, wanted * size
        self._reference = Y, reach
        self._search(Y, reach)

    def _search(self, Y: Array, reach: Array) -> None:
        """List all pairs within reach plus skin, tile by tile."""
        self.n_searches += 1
        factors = gram_factors(Y, Y)
        outer = reach + self._sigma
        self._crowded = []
        found = [_NO_PAIRS]
        for tile in self._tiles:
            rows, columns = tile
            # The skin of the other sample is replaced by the largest one in the tile: never too small.
            r = outer[rows] + self._sigma[columns].max()
            s = outer[columns] + self._sigma[rows].max()
            block = self._block(tile, factors, r * r, s * s)
            if len(block.first) > _CROWDED * len(r) * len(s):
                self._crowded.append(tile)
            else:
                found.append(block)
        joined = _joined(found)
        self._list = joined.first, joined.second


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


def _movement(before: tuple[Array, Array] | None, Y: Array, reach: Array) -> Array:
    """Return the distance that each sample has moved, plus the growth of its reach."""
    if before is None or before[0].shape != Y.shape:
        return np.full(len(Y), np.inf)
    difference = Y - before[0]
    return np.asarray(
        np.sqrt(np.einsum("ij,ij->i", difference, difference)) + np.maximum(reach - before[1], 0.0)
    )
