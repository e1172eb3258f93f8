"""Exact percentiles of the squared distances of all pairs, without a list of the distances.

A random sample of the pairs tells roughly where a percentile lies: in a bracket with few distances. One pass
over all pairs counts the distances below the bracket and collects those in it; the percentile is one of
these. If it is not, which happens once in ten thousand times, the pass is repeated with a wider bracket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array, Indices

from ..pairs.pair_differences import PairDifferences
from ..pairs.rough_distances import COLUMNS, ROWS, ScaledSamples, upper_tiles
from .counted_distances import CountedDistances, CountedSamples

_DEVIATIONS = 4.0  # half the width of a bracket, in standard deviations of a rank in the random sample
_LEAST_DRAWN = 10_000
_CROWDED = 3.0  # if rounding errors multiply the number of distances in doubt by this, use double precision
_WAITING = 2_000_000  # this number of distances is collected before equal ones are counted


def distances_at(samples: CountedSamples, positions: Sequence[float], n_threads: int = 1) -> list[float]:
    """Return the squared distances at positions in the sorted list of all pairs.

    Between two whole positions the distances are interpolated, as `numpy.percentile` does.

    Parameters
    ----------
    samples : CountedSamples
        At least two distinct samples.
    positions : sequence of float
        Positions from 0 to the number of pairs − 1.
    n_threads : int
        Number of threads; the result does not depend on it.
    """
    scaled = ScaledSamples.of(samples.Z)
    # As the pairs of distinct samples to the power 2/3; how often samples count must not make this large.
    n_drawn = max(_LEAST_DRAWN, int(len(samples.Z) ** (4.0 / 3.0)))
    # The seed changes the time, but not the result.
    pairs = samples.drawn_pairs(n_drawn, np.random.RandomState(0))
    drawn = np.sort(PairDifferences(*pairs).distances(scaled.Z))
    deviations, found = _DEVIATIONS, dict.fromkeys(positions, np.nan)
    missing = list(found)
    while missing:
        shares = [min(max(place / max(samples.n_pairs - 1.0, 1.0), 0.0), 1.0) for place in missing]
        brackets = [_bracket(drawn, share, deviations) for share in shares]
        lists = _BracketPass(samples, scaled, brackets, drawn).run(n_threads)
        for position, bracket, distances in zip(missing, brackets, lists, strict=True):
            if distances.has(position, *bracket):
                found[position] = float(np.ldexp(distances.at(position), 2 * scaled.exponent))
        missing = [position for position in missing if np.isnan(found[position])]
        deviations *= 4.0
    return [found[position] for position in positions]


def _bracket(drawn: Array, share: float, deviations: float) -> tuple[float, float]:
    """Return distances between which the given share of all distances ends, almost certainly."""
    n = len(drawn)
    margin = deviations * np.sqrt(n * share * (1.0 - share)) + deviations**2
    first, last = int(share * n - margin), int(np.ceil(share * n + margin))
    return (float(drawn[first]) if first > 0 else -np.inf), (float(drawn[last]) if last < n else np.inf)


class _BracketPass:
    """Count all distances below brackets, and collect those inside."""

    def __init__(
        self,
        samples: CountedSamples,
        scaled: ScaledSamples,
        brackets: list[tuple[float, float]],
        drawn: Array,
    ) -> None:
        self._samples, self._scaled, self._brackets = samples, scaled, brackets
        self._kind = self._precision(drawn)
        self._left, self._right = scaled.factors(self._kind)

    def _precision(self, drawn: Array) -> type[np.floating[Any]]:
        """Return the precision that suffices, judged by the distances that its errors leave in doubt."""
        error = 2.0 * self._scaled.error(np.float32) * float(np.median(self._scaled.squares))
        lows, highs = np.array(self._brackets).T
        inside = np.searchsorted(drawn, highs, side="right") - np.searchsorted(drawn, lows)
        doubt = np.searchsorted(drawn, highs + error, side="right") - np.searchsorted(drawn, lows - error)
        single = self._scaled.fits_single and (doubt <= _CROWDED * (inside + 1)).all()
        return np.float32 if single else np.float64

    def run(self, n_threads: int) -> list[CountedDistances]:
        """Return the distances in each bracket."""
        below = np.zeros(len(self._brackets))
        lists = [_Collected() for _ in self._brackets]
        for numbers, parts in _mapped(self._rows, list(upper_tiles(len(self._left))), n_threads):
            below += numbers
            for collected, part in zip(lists, parts, strict=True):
                collected.add(*part)
        results = []
        for (low, _), number, collected in zip(self._brackets, below.tolist(), lists, strict=True):
            if low > 0.0:
                number += self._samples.zeros
            else:
                collected.add(np.zeros(1), np.array([self._samples.zeros]))
            results.append(collected.joined()._replace(below=number))
        return results

    def _rows(self, task: tuple[slice, list[slice]]) -> tuple[Array, list[tuple[Array, Array]]]:
        """Return the numbers below, and the distances inside with their counts, of some rows."""
        rows, all_columns = task
        below = np.zeros(len(self._brackets))
        doubtful: list[list[tuple[Indices, Indices]]] = [[] for _ in self._brackets]
        memory, masks = np.empty(ROWS * COLUMNS, dtype=self._kind), np.empty((2, ROWS * COLUMNS), np.bool_)
        for columns in all_columns:
            d, error = self._distances(rows, columns, memory)
            low_mask, high_mask = (mask[: d.size].reshape(d.shape) for mask in masks)
            for k, (low, high) in enumerate(self._brackets):
                np.less(d, self._rounded(low - error, -1), out=low_mask)
                np.less_equal(d, self._rounded(high + error, 1), out=high_mask)
                below[k] += self._number(low_mask, rows, columns)
                np.not_equal(low_mask, high_mask, out=high_mask)
                i, j = np.divmod(np.flatnonzero(high_mask), d.shape[1])
                doubtful[k].append((i + rows.start, j + columns.start))
        inside = []
        for k, (low, high) in enumerate(self._brackets):
            i, j = (np.concatenate(ends) for ends in zip(*doubtful[k], strict=True))
            values = PairDifferences(i, j).distances(self._scaled.Z)
            counts = self._samples.pair_counts(i, j)
            below[k] += counts[values < low].sum()
            within = (values >= low) & (values <= high)
            inside.append((values[within], counts[within]))
        return below, inside

    def _distances(self, rows: slice, columns: slice, memory: NDArray[Any]) -> tuple[NDArray[Any], float]:
        """Return rough distances of a tile, infinite unless i < j, and a bound on their errors."""
        shape = rows.stop - rows.start, columns.stop - columns.start
        out = memory[: shape[0] * shape[1]].reshape(shape)
        d = np.matmul(self._left[rows], self._right[columns].T, out=out)
        if columns.start < rows.stop:
            d[np.arange(rows.start, rows.stop)[:, None] >= np.arange(columns.start, columns.stop)] = np.inf
        squares = self._scaled.squares
        return d, self._scaled.error(self._kind) * float(squares[rows].max() + squares[columns].max())

    def _rounded(self, value: float, side: int) -> np.floating[Any]:
        """Round down (−1) or up (1) to a finite number, because infinite entries of a tile are no pairs."""
        largest = float(np.finfo(self._kind).max)
        near = self._kind(min(max(value, -largest), largest))
        rounded: np.floating[Any] = np.nextafter(near, self._kind(side * largest))
        return rounded

    def _number(self, mask: NDArray[np.bool_], rows: slice, columns: slice) -> float:
        copies = self._samples.copies
        if copies is None:
            return float(np.count_nonzero(mask))
        return float(copies[rows] @ (mask @ copies[columns]))


class _Collected:
    """Distances with counts; equal ones are counted together when there are many."""

    def __init__(self) -> None:
        self._parts: list[tuple[Array, Array]] = []
        self._limit = _WAITING

    def add(self, values: Array, counts: Array) -> None:
        self._parts.append((values, counts))
        if sum(len(part) for part, _ in self._parts) > self._limit:
            joined = self.joined()
            self._parts = [(joined.values, joined.counts)]
            self._limit = max(_WAITING, 2 * len(joined.values))

    def joined(self) -> CountedDistances:
        values, counts = (np.concatenate(arrays) for arrays in zip(*self._parts, strict=True))
        return CountedDistances.of(values, counts)


def _mapped(function: Callable[[Any], Any], tasks: Sequence[Any], n_threads: int) -> Iterator[Any]:
    """Yield the results of all tasks in their order, so that sums have the same bits with any threads."""
    if n_threads == 1 or len(tasks) == 1:
        yield from map(function, tasks)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(function, tasks)
