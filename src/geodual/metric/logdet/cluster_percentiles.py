"""Exact percentiles of the squared distances of all pairs of samples on a cluster.

A pass counts the distances in bins; the bin of a percentile is divided again by the next pass, until it holds
few distances. A last pass collects these. So what is sent does not grow with the number of samples.

Bins are ranges of the 64 bits of a number: read as whole numbers, they have the order of the positive
numbers. So bins become wider with the distances, and a few passes find any distance, however far away
outliers are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array, Indices
from geodual.cluster import gathered, on_worker, summed

from ..pairs.pair_differences import PairDifferences
from ..pairs.sample_blocks import SampleBlock, SampleBlocks, joined_samples, joined_weights
from ..pairs.tiles import Block
from ..pairs.weights import copy_weight
from .counted_distances import CountedDistances

_BINS = 4096  # a power of two
_FEW = 50_000  # distances in a bracket that are collected
_NARROW = 2**19  # numbers in a bracket that is not divided any further: a relative width of 1e-10
_DRAWN = 2_000  # samples that tell roughly where a percentile is: within this share of all distances
_MARGIN = 0.04
_ROWS, _COLUMNS = 256, 1024  # of a tile
_ROUGH = 1e-3  # relative error of a rough distance from which on it is computed again
_EPS = float(np.finfo(float).eps)


class Bracket(NamedTuple):
    """A range of squared distances, with both ends, and how many distances it holds.

    The number is only a guide: it is counted with rounding errors, and infinite if it is not known.
    """

    low: float
    high: float
    inside: float = np.inf

    @property
    def codes(self) -> tuple[int, int]:
        """The bits of both ends, as whole numbers."""
        low, high = np.array([self.low, self.high]).view(np.int64).tolist()
        return low, high

    @property
    def shift(self) -> int:
        """The number of last bits that are the same bin."""
        low, high = self.codes
        return max((high - low).bit_length() - (_BINS - 1).bit_length(), 0)

    def narrowed(self, counts: Array, places: tuple[float, float], top: float) -> Bracket:
        """Return the bins of two positions in the sorted list; a wider bracket if they are not in this one.

        Parameters
        ----------
        counts : array of shape (_BINS + 1,)
            Numbers of distances below the bracket, and in each of its bins.
        places : (float, float)
            The positions.
        top : float
            A number that no distance exceeds.
        """
        reached = np.cumsum(counts)
        # Only a guess can miss. Others seem to if the number of pairs is rounded; to widen them has no end.
        is_guess = self.inside == np.inf
        if is_guess and places[0] < reached[0] and self.low > 0.0:
            return Bracket(0.0, self.high)
        if is_guess and places[1] >= reached[-1] and self.high < top:
            return Bracket(self.low, top)
        within = np.minimum(places, np.nextafter(reached[-1], 0.0))
        first, last = np.maximum(np.searchsorted(reached, within, side="right"), 1).tolist()
        low, high = self.codes
        ends = low + ((first - 1) << self.shift), min(low + (last << self.shift) - 1, high)
        return _bracket(*ends, float(reached[last] - reached[first - 1]))

    def widened(self, top: float) -> Bracket:
        """Return a bracket that reaches farther to both sides, from 0 up to the largest number `top`."""
        low, high = self.codes
        margin = 8 * max(high - low, _NARROW)
        return _bracket(max(low - margin, 0), min(high + margin, Bracket(0.0, top).codes[1]))


def _bracket(low: int, high: int, inside: float = np.inf) -> Bracket:
    """Return the bracket whose ends have these bits."""
    ends = np.array([low, high], dtype=np.int64).view(float)
    return Bracket(float(ends[0]), float(ends[1]), inside)


class ClusterDistances:
    """The squared distances of all pairs of samples, in increasing order; they are never listed.

    Parameters
    ----------
    blocks : SampleBlocks
        The samples.
    L : array of shape (n_features, n_features)
        Distances are those of X L.

    Attributes
    ----------
    zeros : float
        Number of pairs of copies of the same sample, at distance zero.
    n_pairs : float
        Number of all pairs.
    """

    def __init__(self, blocks: SampleBlocks, L: Array) -> None:
        copies = blocks.counts / copy_weight(blocks.counts)
        self.zeros = max(0.5 * float(copies @ (copies - 1.0)), 0.0)
        self.n_pairs = 0.5 * (float(copies.sum()) ** 2 - float(copies @ copies)) + self.zeros
        self._blocks, self._couples, self._copy = blocks, blocks.couples(), copy_weight(blocks.counts)
        self._L = L
        # No distance is larger than twice the largest norm, but for rounding errors.
        self._top = 4.01 * max(gathered([on_worker(_largest, part, L) for part in blocks.parts]))
        if not np.isfinite(self._top):
            raise ValueError("The samples are too far apart to square their distances; scale the features.")

    def at(self, positions: Sequence[float]) -> list[float]:
        """Return the distances at positions from 0 to the number of pairs − 1, interpolated between these."""
        brackets = self._narrowed(self._first(positions), positions)
        while True:
            lists = self._collected(brackets)
            found = list(zip(lists, positions, strict=True))
            if all(d.has(q, *self._ends(bracket)) for (d, q), bracket in zip(found, brackets, strict=True)):
                return [float(d.at(q)) for d, q in found]
            # Bins are rounded, so a position may be just outside its bracket.
            brackets = [bracket.widened(self._top) for bracket in brackets]

    def smallest(self) -> float:
        """Return the smallest positive distance."""
        n_zero = self._collected([Bracket(0.0, 0.0)])[0].total
        return self.at([n_zero])[0]

    def _first(self, positions: Sequence[float]) -> list[Bracket]:
        """Return a bracket for each position, from some of the samples if there are many."""
        n = len(self._blocks.labels)
        if n <= 2 * _DRAWN:
            return [Bracket(0.0, self._top) for _ in positions]
        rows = np.linspace(0, n - 1, _DRAWN).astype(np.intp)
        some = ClusterDistances(self._blocks.taken(rows), self._L)
        shares = [q / (self.n_pairs - 1.0) + side for q in positions for side in (-_MARGIN, _MARGIN)]
        values = some.at([min(max(share, 0.0), 1.0) * (some.n_pairs - 1.0) for share in shares])
        lows = [value if share > 0.0 else 0.0 for share, value in zip(shares[::2], values[::2], strict=True)]
        # Zero says that many of these samples are equal, and nothing on the others.
        highs = [
            value if share < 1.0 and value > 0.0 else self._top
            for share, value in zip(shares[1::2], values[1::2], strict=True)
        ]
        return list(map(Bracket, lows, highs))

    def _narrowed(self, brackets: list[Bracket], positions: Sequence[float]) -> list[Bracket]:
        """Divide brackets into bins until each holds few distances."""
        wide = set(range(len(brackets)))
        while wide:
            (counts,) = summed(self._tasks(_bin_counts, brackets))
            for k in sorted(wide):
                counts[k, 0 if brackets[k].low > 0.0 else 1] += self.zeros
                places = positions[k], min(positions[k] + 1.0, self.n_pairs - 1.0)
                brackets[k] = new = brackets[k].narrowed(counts[k], places, self._top)
                # More bins do not tell equal distances apart, so the number may stay large.
                is_narrow = new.codes[1] - new.codes[0] <= _NARROW and np.isfinite(new.inside)
                if new.inside <= _FEW or is_narrow:
                    wide.remove(k)
        return brackets

    def _ends(self, bracket: Bracket) -> tuple[float, float]:
        """Return the ends of a bracket, infinite where no distance lies beyond."""
        low, high = bracket.low, bracket.high
        return (low if low > 0.0 else -np.inf), (high if high < self._top else np.inf)

    def _collected(self, brackets: Sequence[Bracket]) -> list[CountedDistances]:
        """Return the distances in each bracket."""
        parts = gathered(self._tasks(_collect, brackets))
        results = []
        for k, bracket in enumerate(brackets):
            values, counts, below = zip(*(part[k] for part in parts), strict=True)
            is_first = bracket.low <= 0.0
            found = CountedDistances.of(
                np.concatenate([*values, np.zeros(1)]),
                np.concatenate([*counts, np.full(1, self.zeros if is_first else 0.0)]),
            )
            results.append(found._replace(below=sum(below) + (0.0 if is_first else self.zeros)))
        return results

    def _tasks(self, function: Callable[..., Any], brackets: Sequence[Bracket]) -> list[Any]:
        L = on_worker(np.asarray, self._L)
        return [on_worker(function, *couple, L, self._copy, list(brackets)) for couple in self._couples]


class _Tile(NamedTuple):
    """Rough squared distances, infinite unless i < j, a bound on their errors, and numbers of copies."""

    rows: slice
    columns: slice
    d: Array
    error: float
    counts: Array | None

    def number(self, mask: NDArray[np.bool_]) -> float:
        """Return how often some of the pairs count together."""
        return float(np.count_nonzero(mask) if self.counts is None else self.counts[mask].sum())

    def numbers(self, places: Indices) -> Array:
        """Return how often each of some pairs counts."""
        return np.ones(len(places)) if self.counts is None else np.asarray(self.counts.take(places))

    def exact(self, Z: Array, places: Indices) -> Array:
        """Return the distances of some of the pairs, from differences of the samples Z."""
        i, j = np.divmod(places, self.d.shape[1])
        return PairDifferences(i + self.rows.start, j + self.columns.start).distances(Z)


def _tiles(a: SampleBlock, b: SampleBlock | None, Z: Array, copy: float) -> Iterator[_Tile]:
    """Yield the distances of the pairs of two blocks, whose samples are Z, tile by tile."""
    block, n_rows = Block.of(Z, None), len(a.X)
    weight = joined_weights(a, b)
    for start in range(0, n_rows, _ROWS):
        rows = slice(start, min(start + _ROWS, n_rows))
        for column in range(start if b is None else n_rows, len(Z), _COLUMNS):
            columns = slice(column, min(column + _COLUMNS, len(Z)))
            d = block.left[rows] @ block.right[columns].T
            if column < rows.stop:
                d[np.arange(start, rows.stop)[:, None] >= np.arange(column, columns.stop)] = np.inf
            largest = float(block.squares[rows].max() + block.squares[columns].max())
            counts = None if weight is None else np.outer(weight[rows], weight[columns]) / copy**2
            yield _Tile(rows, columns, d, 2.0 * (Z.shape[1] + 4) * _EPS * largest, counts)


def _bin_counts(
    a: SampleBlock, b: SampleBlock | None, L: Array, copy: float, brackets: Sequence[Bracket]
) -> tuple[Array]:
    """Return the numbers of distances below each bracket, and in each of its bins."""
    Z, numbers = joined_samples(a, b) @ L, np.zeros((len(brackets), _BINS + 1))
    for tile in _tiles(a, b, Z, copy):
        # Equal samples have distance zero, and not a rounding error.
        if len(tiny := np.flatnonzero(tile.d <= tile.error / _ROUGH)):
            tile.d.put(tiny, tile.exact(Z, tiny))
        for k, bracket in enumerate(brackets):
            is_below = tile.d < bracket.low
            inside = np.flatnonzero((tile.d <= bracket.high) ^ is_below)
            bins = (tile.d.take(inside).view(np.int64) - bracket.codes[0]) >> bracket.shift
            numbers[k, 1:] += np.bincount(bins, tile.numbers(inside), _BINS)
            numbers[k, 0] += tile.number(is_below)
    return (numbers,)


def _collect(
    a: SampleBlock, b: SampleBlock | None, L: Array, copy: float, brackets: Sequence[Bracket]
) -> list[tuple[Array, Array, float]]:
    """Return, for each bracket, the distances inside, how often each counts, and how many are below."""
    Z = joined_samples(a, b) @ L
    found: list[tuple[list[Array], list[Array], list[float]]] = [([], [], []) for _ in brackets]
    for tile in _tiles(a, b, Z, copy):
        for (low, high, _), (values, numbers, below) in zip(brackets, found, strict=True):
            # Rounding errors leave some distances in doubt; these are computed again from differences.
            is_below = tile.d < low - tile.error
            doubtful = np.flatnonzero((tile.d <= high + tile.error) ^ is_below)
            exact, number = tile.exact(Z, doubtful), tile.numbers(doubtful)
            inside = (exact >= low) & (exact <= high)
            below.append(tile.number(is_below) + float(number[exact < low].sum()))
            # Equal distances may be very many, so they are counted together at once.
            few = CountedDistances.of(exact[inside], number[inside])
            values.append(few.values)
            numbers.append(few.counts)
    return [_few(*lists) for lists in found]


def _few(values: list[Array], numbers: list[Array], below: list[float]) -> tuple[Array, Array, float]:
    """Join the distances of a bracket, and count equal ones together."""
    joined = CountedDistances.of(np.concatenate(values), np.concatenate(numbers))
    return joined.values, joined.counts, sum(below)


def _largest(part: SampleBlock, L: Array) -> float:
    Z = part.X @ L
    return float(np.einsum("ij,ij->i", Z, Z).max())
