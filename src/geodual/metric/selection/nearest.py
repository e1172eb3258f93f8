"""Find nearest samples: bound all distances in single precision, then compute the few left exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from geodual.arrays import Array, Indices

from ..geometry.distances import PairDifferences, gram_factors

_ROWS, _COLUMNS = 256, 2048  # of a block, to stay in the cache
_RATIO = 6  # a search among every sixth sample bounds the distances for the search among all
_KEPT = 1_000_000  # pairs whose distances are computed at once
_COARSE = 16.0  # times the expected number of pairs; with more left, single precision is too coarse
_LARGEST = 1e30  # largest squared norm for which products do not overflow in single precision


class Interval(NamedTuple):
    """Row numbers from `start` up to, but not including, `end`."""

    start: int
    end: int

    def every(self, step: int) -> Interval:
        """Return the positions of its numbers among 0, step, 2 step, …."""
        return Interval(-(-self.start // step), -(-self.end // step))

    def within(self, other: Interval) -> Interval:
        """Return the intersection with another interval, which may be empty."""
        start = min(max(self.start, other.start), other.end)
        return Interval(start, max(start, min(self.end, other.end)))

    @property
    def size(self) -> int:
        """Number of row numbers."""
        return self.end - self.start


class Group(NamedTuple):
    """Consecutive queries, by positions in a list, that share an interval of row numbers."""

    queries: slice
    own: Interval


class NearestSearch:
    """Search for nearest samples by Euclidean distance.

    Products of blocks in single precision give lower bounds on squared distances: the products minus the
    largest possible rounding error. Only few pairs are below an upper bound on the distance sought, which
    comes from a search among fewer samples; their distances are computed from differences in double
    precision. So the neighbors are exact up to the rounding of these distances.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples, in units in which squares neither underflow nor overflow.
    """

    def __init__(self, Z: Array) -> None:
        self._Z = Z
        self._factors: dict[type[np.floating], tuple[Array, Array]] = {}
        small = float(np.einsum("ij,ij->i", Z, Z).max(initial=0.0)) < _LARGEST
        self.kind: type[np.floating] = np.float32 if small else np.float64
        self._memory = np.empty(0)

    def among(self, queries: Indices, count: int, interval: Interval) -> Indices:
        """Return the `count` nearest samples of an interval to each query, other than itself.

        Parameters
        ----------
        queries : array of shape (n_queries,)
            Row numbers.
        count : int
            Number of neighbors.
        interval : Interval
            The interval to search.

        Returns
        -------
        array of shape (n_queries, count)
            Row numbers, nearest first; −1 if there are no more samples.
        """
        return self._search(queries, count, interval, [])

    def outside(self, queries: Indices, count: int, groups: list[Group]) -> Indices:
        """Return the `count` nearest samples to each query outside the interval of its group.

        Parameters and result are as in `among`; the groups contain all queries, in order.
        """
        return self._search(queries, count, Interval(0, len(self._Z)), groups)

    def _search(self, queries: Indices, count: int, interval: Interval, groups: list[Group]) -> Indices:
        found = np.full((len(queries), count), -1)
        first = 0
        for start in range(0, len(queries), _ROWS):
            end = min(start + _ROWS, len(queries))
            while groups and groups[first].queries.stop <= start:
                first += 1
            hidden = []
            for group in groups[first:]:
                if group.queries.start >= end:
                    break
                rows = slice(max(group.queries.start - start, 0), min(group.queries.stop, end) - start)
                hidden.append(Group(rows, group.own))
            found[start:end] = _Block(self, queries[start:end], count, interval, hidden).nearest()
        return found

    def factors(self, kind: type[np.floating]) -> tuple[Array, Array]:
        """Return A and B for which entries of A Bᵀ, rounded in any order, are at most squared distances."""
        if kind not in self._factors:
            A, B = gram_factors(self._Z, self._Z)
            # A sum of K products of rounded numbers, of sizes f, g and 2 √(f g) ≤ f + g for the squared
            # norms f and g, has an error below (K + 2) ε (f + g).
            slack = 1.0 - (B.shape[1] + 4) * float(np.finfo(kind).eps)
            A[:, -2] *= slack
            B[:, -1] *= slack
            self._factors[kind] = A.astype(kind), B.astype(kind)
        return self._factors[kind]

    def product(self, A: Array, B: Array) -> Array:
        """Return A Bᵀ, in memory that the next product reuses, because allocating takes time."""
        size = len(A) * len(B)
        if self._memory.dtype != A.dtype or len(self._memory) < size:
            self._memory = np.empty(_ROWS * _COLUMNS, A.dtype)
        return np.matmul(A, B.T, out=self._memory[:size].reshape(len(A), len(B)))

    def distances(self, i: Indices, j: Indices) -> Array:
        """Return the squared distances of pairs of row numbers."""
        return PairDifferences(i, j).distances(self._Z)


class _Block:
    """The search for some queries among the samples of an interval, except the hidden ones."""

    def __init__(
        self,
        search: NearestSearch,
        queries: Indices,
        count: int,
        interval: Interval,
        hidden: list[Group],
    ) -> None:
        self._search, self._queries, self._count = search, queries, count
        self._interval, self._hidden = interval, hidden
        self._kind = search.kind
        self._bound = np.full(len(queries), np.inf)  # of the distance of the last neighbor

    def nearest(self) -> Indices:
        """Return the row numbers of the nearest samples, or −1 if there are no more."""
        step = 1
        while self._interval.size > _RATIO * step * self._count:
            step *= _RATIO
        while step >= 1:
            row, column = self._survey(step)
            step //= _RATIO
        place = _places_in_runs(row)
        found = np.full((len(self._queries), self._count), -1)
        found[row, place] = column
        return found

    def _survey(self, step: int) -> tuple[Indices, Indices]:
        """Return the nearest among every `step`-th sample as pairs of row and sample; lower the bounds."""
        rows: list[Indices] = []
        columns: list[Indices] = []
        n_kept = n_left = 0
        for row, column in self._candidates(step):
            rows.append(row)
            columns.append(column)
            n_kept, n_left = n_kept + len(row), n_left + len(row)
            if n_kept > _KEPT:
                kept = self._best(np.concatenate(rows), np.concatenate(columns))
                rows, columns, n_kept = [kept[0]], [kept[1]], len(kept[0])
        if n_left > _COARSE * _RATIO * self._count * len(self._queries):
            self._kind = np.float64  # in the following surveys
        if not rows:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        return self._best(np.concatenate(rows), np.concatenate(columns))

    def _best(self, row: Indices, column: Indices) -> tuple[Indices, Indices]:
        """Return the nearest of the given pairs, by row and distance; lower the bounds."""
        d = self._search.distances(self._queries[row], column)
        order = np.argsort(d)
        # Row numbers of a block fit into 16 bits, which sort in linear time.
        order = order[np.argsort(row[order].astype(np.uint16), kind="stable")]
        row, column, d = row[order], column[order], d[order]
        place = _places_in_runs(row)
        last = place == self._count - 1
        self._bound[row[last]] = np.minimum(self._bound[row[last]], d[last])
        kept = place < self._count
        return row[kept], column[kept]

    def _candidates(self, step: int) -> Iterator[tuple[Indices, Indices]]:
        """Yield pairs of row and sample whose distances may be within the bounds."""
        A, B = self._search.factors(self._kind)
        A, B = A[self._queries], B[::step]
        interval = self._interval.every(step)
        for start in range(interval.start, interval.end, _COLUMNS):
            chunk = Interval(start, min(start + _COLUMNS, interval.end))
            parts = [(rows, own.every(step).within(chunk)) for rows, own in self._hidden]
            if parts and all(part.size == chunk.size for _, part in parts):
                continue
            D = self._search.product(A, B[chunk.start : chunk.end])
            for rows, part in parts:
                D[rows, part.start - chunk.start : part.end - chunk.start] = np.nan
            # Round up, so that the last neighbor is within its bound.
            bound = np.nextafter(self._bound.astype(self._kind), np.inf, dtype=self._kind)
            row, place = np.divmod(np.flatnonzero(bound[:, None] >= D), chunk.size)
            column = (place + chunk.start) * step
            others = column != self._queries[row]
            yield row[others], column[others]


def _places_in_runs(row: Indices) -> Indices:
    """Return the position of each entry within its run of equal entries."""
    counts = np.bincount(row)
    starts = np.cumsum(counts) - counts
    return np.arange(len(row)) - starts[row]
