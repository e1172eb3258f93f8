"""Sums over the pairs of two blocks of samples, tile by tile, for loops, threads and clusters.

The distances of a tile are computed, used and discarded while they are in the cache.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array, Indices
from geodual.manifolds.spd import symmetrized

from ..losses import LossTerms, PairLoss
from .distances import gram_factors

# The distances of a tile fit into a core's cache, and its matrix products are large enough to be fast.
_ROWS = 256
_COLUMNS = 1024
_CHUNK = 2_000_000  # pairs in one task of a thread
_KEPT_PLAIN = 500_000  # curvatures of up to this number of pairs are kept unchanged,
_KEPT_BITS = 1_000_000_000  # as one bit per pair up to this number (125 MB),
_KEPT_FLOATS = 32_000_000  # or as four bytes per pair up to this number


class Tile(NamedTuple):
    """A rectangle of the distance matrix with one kind of pairs.

    Attributes
    ----------
    rows, columns : slice
        The samples.
    similar : bool
        Whether the pairs are similar.
    halved : bool
        Whether it is a square on the diagonal, which contains every pair twice.
    """

    rows: slice
    columns: slice
    similar: bool
    halved: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.shape[0] * self.shape[1]

    @property
    def share(self) -> float:
        """Weight of an entry."""
        return 0.5 if self.halved else 1.0


def class_tiles(labels: Indices, n_rows: int | None = None) -> Iterator[Tile]:
    """Cut the upper triangle of the distance matrix of samples, sorted by class, into tiles.

    If `n_rows` is given, take only the rectangle of pairs between the first `n_rows` samples and the others.
    """
    n, end = len(labels), len(labels) if n_rows is None else n_rows
    edges = np.concatenate([[0], np.flatnonzero(np.diff(labels[:end])) + 1, [end]])
    for start, stop in pairwise(edges.tolist()):
        same = int(np.searchsorted(labels, labels[start], side="right"))  # the end of the class
        for row in range(start, stop, _ROWS):
            rows = slice(row, min(row + _ROWS, stop))
            left = rows.stop if n_rows is None else n_rows
            if n_rows is None:
                yield Tile(rows, rows, similar=True, halved=True)
            for first, last, similar in ((left, same, True), (max(left, same), n, False)):
                for column in range(first, last, _COLUMNS):
                    yield Tile(rows, slice(column, min(column + _COLUMNS, last)), similar, halved=False)


def chunks_of(tiles: Sequence[Tile]) -> list[list[Tile]]:
    """Split tiles into tasks of about two million pairs, for any number of threads."""
    numbers = np.cumsum([tile.size for tile in tiles]) // _CHUNK
    edges = np.flatnonzero(np.diff(numbers, prepend=-1, append=-1)).tolist()
    return [list(tiles[start:stop]) for start, stop in pairwise(edges)]


class Block(NamedTuple):
    """Samples, prepared for all tiles.

    Attributes
    ----------
    Z : array of shape (n_samples, n_features)
        The samples in the coordinates of a frame.
    left, right : array of shape (n_samples, n_features + 2)
        Factors whose products are the squared distances, or the forms of a direction.
    with_ones : array of shape (n_samples, n_features + 1)
        The samples and a column of ones.
    squares : array of shape (n_samples,)
        ‖z‖².
    weight : array of shape (n_samples,), or None
        Weight of each sample; None means 1.
    """

    Z: Array
    left: Array
    right: Array
    with_ones: Array
    squares: Array
    weight: Array | None

    @classmethod
    def of(cls, Z: Array, weight: Array | None, S: Array | None = None) -> Block:
        """Prepare the distances of samples, or their forms (zᵢ − zⱼ)ᵀ S (zᵢ − zⱼ)."""
        left, right = gram_factors(Z, Z if S is None else Z @ S)
        # The right factor is Z, a column of ones, and a last column.
        return cls(Z, left, right, right[:, :-1], np.einsum("ij,ij->i", Z, Z), weight)


class LossSums(NamedTuple):
    """Sums of φ, φ* and φ″ over some tiles, Σ φ′ zzᵀ as a `LaplacianSum`, and φ″ of each tile."""

    value: float
    conjugate: float
    curvature_total: float
    slopes: LaplacianSum
    curvatures: Kept


def loss_sums(block: Block, tiles: Sequence[Tile], loss: PairLoss, n_pairs: int) -> LossSums:
    """Sum the loss and its derivatives over tiles.

    Parameters
    ----------
    block : Block
        The samples, prepared for distances.
    tiles : sequence of Tile
        The tiles.
    loss : PairLoss
        The loss φ.
    n_pairs : int
        Number of pairs in all tiles of a pass, which decides whether curvatures are kept.
    """
    product, slopes = _TileProduct("distances", block, tiles), LaplacianSum(block, _rows_of(tiles))
    value = conjugate = curvature_total = 0.0
    curvatures: Kept = []
    for tile in tiles:
        terms = _loss_terms(block, tile, product(tile), loss)
        value += tile.share * terms.value
        conjugate += tile.share * terms.conjugate
        curvature_total += tile.share * terms.unit * _total(terms.curvature)
        slopes.add(tile, terms.slope, tile.share * terms.unit)
        curvatures.append(KeptCurvature.of(terms, n_pairs))
    return LossSums(value, conjugate, curvature_total, slopes, curvatures)


def curvature_sums(
    block: Block, distances: Block | None, tiles: Sequence[Tile], loss: PairLoss, curvatures: Kept
) -> LaplacianSum:
    """Sum φ″ (zᵀSz) zzᵀ over tiles.

    Parameters
    ----------
    block : Block
        The samples, prepared for the forms of S.
    distances : Block, optional
        The samples, prepared for distances; needed if curvatures were not kept.
    tiles : sequence of Tile
        The tiles.
    loss : PairLoss
        The loss φ.
    curvatures : list
        φ″ of each tile, if kept.
    """
    product, sums = _TileProduct("forms", block, tiles), LaplacianSum(block, _rows_of(tiles))
    again = None if distances is None else _TileProduct("distances", distances, tiles)
    for tile, kept in zip(tiles, curvatures, strict=True):
        forms = product(tile)
        if kept is None:
            assert distances is not None
            assert again is not None
            terms = _loss_terms(distances, tile, again(tile), loss)
            kept = KeptCurvature(terms.curvature, terms.unit)
        kept.multiply(forms)
        sums.add(tile, forms, tile.share * kept.unit)
    return sums


def moment_sums(block: Block, tiles: Sequence[Tile], curvatures: Kept) -> LaplacianSum:
    """Sum φ″ zzᵀ over tiles, all with kept curvatures."""
    sums = LaplacianSum(block, _rows_of(tiles))
    for tile, kept in zip(tiles, curvatures, strict=True):
        assert kept is not None
        ones = np.ones(tile.shape, dtype=block.Z.dtype)
        kept.multiply(ones)
        sums.add(tile, ones, tile.share * kept.unit)
    return sums


def _loss_terms(block: Block, tile: Tile, d: Array, loss: PairLoss) -> LossTerms:
    # The distance of a sample from itself is exactly zero.
    if tile.halved:
        np.fill_diagonal(d, 0.0)
    if block.weight is None:
        return loss.tile_terms(d, tile.similar)
    np.maximum(d, 0.0, out=d)
    return loss.terms(d, tile.similar, np.outer(block.weight[tile.rows], block.weight[tile.columns]))


def _rows_of(tiles: Sequence[Tile]) -> slice:
    return slice(min(tile.rows.start for tile in tiles), max(tile.rows.stop for tile in tiles))


def _total(curvature: NDArray[Any]) -> float:
    # Counting bits is much faster than adding them.
    return float(np.count_nonzero(curvature) if curvature.dtype == np.bool_ else curvature.sum())


class _Memory(threading.local):
    """Memory for one tile, kept by each thread, because allocating it takes as long as filling it."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], NDArray[Any]] = {}

    def of(self, purpose: str, size: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return an array of at least `size` numbers, separate for each purpose."""
        if len(self._taken.get((purpose, kind.char), ())) < size:
            self._taken[purpose, kind.char] = np.empty(size, dtype=kind)
        return self._taken[purpose, kind.char]


_memory = _Memory()


class _TileProduct:
    """Compute the distances or forms of one tile after another in the same memory."""

    def __init__(self, purpose: str, block: Block, tiles: Sequence[Tile]) -> None:
        self._left, self._right = block.left, block.right
        self._memory = _memory.of(purpose, max(tile.size for tile in tiles), block.Z.dtype)

    def __call__(self, tile: Tile) -> Array:
        out = self._memory[: tile.size].reshape(tile.shape)
        return np.asarray(np.matmul(self._left[tile.rows], self._right[tile.columns].T, out=out))


class LaplacianSum:
    """Sum Zᵀ Lap(a) Z over tiles of edge weights a.

    Zᵀ Lap(a) Z is the symmetric part of Zᵀ (diag(degrees) Z − 2 A Z), where row i of A Z is the sum of a zⱼ
    over the pairs (i, j), and each pair counts once.

    Parameters
    ----------
    block : Block
        The samples.
    rows : slice, optional
        The rows that tiles may have; all by default. With few rows, a sum takes little memory and is fast to
        join.

    Attributes
    ----------
    size : float
        Σ |a| (‖zᵢ‖² + ‖zⱼ‖²), which scales the rounding error; a has one sign within a tile.
    """

    def __init__(self, block: Block, rows: slice | None = None) -> None:
        self._block, self._rows = block, rows or slice(0, len(block.Z))
        # A Z, and the degrees of the rows.
        self._sums = np.zeros((self._rows.stop - self._rows.start, block.Z.shape[1] + 1))
        self._degrees = np.zeros(len(block.Z))  # of the columns
        self._ones = np.ones(_ROWS, dtype=block.Z.dtype)
        self.size = 0.0

    def add(self, tile: Tile, a: NDArray[Any], share: float) -> None:
        """Add a tile of edge weights, times `share`."""
        sums = a @ self._block.with_ones[tile.columns]  # the column of ones yields the degrees of the rows
        degrees = self._ones[: len(a)] @ a  # faster than a sum over the first axis
        self._part(tile.rows)[:] += share * sums
        self._degrees[tile.columns] += share * degrees
        squares = self._block.squares
        size = abs(float(sums[:, -1] @ squares[tile.rows])) + abs(float(degrees @ squares[tile.columns]))
        self.size += abs(share) * size

    def join(self, other: LaplacianSum) -> None:
        """Add the tiles of another sum over the same samples; its rows must be among those of this one."""
        self._part(other._rows)[:] += other._sums
        self._degrees += other._degrees
        self.size += other.size

    def total(self, Z: Array) -> Array:
        """Return Zᵀ Lap(a) Z for the samples Z in double precision."""
        degrees = self._degrees.copy()
        degrees[self._rows] += self._sums[:, -1]
        terms = degrees[:, None] * Z
        terms[self._rows] -= 2.0 * self._sums[:, :-1]
        return symmetrized(Z.T @ terms)

    def _part(self, rows: slice) -> Array:
        return self._sums[rows.start - self._rows.start : rows.stop - self._rows.start]


class KeptCurvature(NamedTuple):
    """φ″/unit of the pairs of a tile; for many pairs, as bits or in single precision."""

    values: NDArray[Any]
    unit: float

    @classmethod
    def of(cls, terms: LossTerms, n_pairs: int) -> KeptCurvature | None:
        """Keep the curvatures of a tile, unless all `n_pairs` pairs would take too much memory."""
        if n_pairs <= _KEPT_PLAIN:
            return cls(terms.curvature.astype(float), terms.unit)
        if terms.curvature.dtype == np.bool_:
            return cls(np.packbits(terms.curvature), terms.unit) if n_pairs <= _KEPT_BITS else None
        return cls(terms.curvature.astype(np.float32), terms.unit) if n_pairs <= _KEPT_FLOATS else None

    def multiply(self, forms: Array) -> None:
        """Multiply the forms of a tile by φ″/unit, in place."""
        if self.values.dtype == np.uint8:
            forms *= np.unpackbits(self.values, count=forms.size).reshape(forms.shape)
        else:
            forms *= self.values


Kept = list[KeptCurvature | None]
