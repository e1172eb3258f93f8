"""The nearest neighbours of all samples, of each kind, among the pairs seen so far."""

from __future__ import annotations

import numpy as np

from geodual.arrays import Array, Indices

from .pair_differences import PairDifferences

_WAITING = 1_000_000  # at least this number of neighbours is collected before the farther ones are dropped


class NearestSoFar:
    """Keep the nearest neighbours of each sample in its class and in other classes, pair by pair.

    Of neighbours at the same distance, those with the smaller row numbers are kept. So the result does not
    depend on the order in which pairs are seen.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples.
    labels : array of shape (n_samples,)
        Their classes.
    counts : (int, int)
        Numbers of neighbours to keep in the class of a sample, and in other classes.
    reach : array of shape (2, n_samples)
        Squared distances within which these neighbours are known to lie; infinite if nothing is known.

    Attributes
    ----------
    reach : array of shape (2, n_samples)
        The same, given the pairs seen so far; a new array whenever it falls.
    """

    def __init__(self, Z: Array, labels: Indices, counts: tuple[int, int], reach: Array) -> None:
        self._Z, self._labels, self._counts = Z, labels, np.array(counts)
        self.reach = reach
        # At the end of its reach, a sample has its neighbours up to this row number.
        self._last = np.full(reach.shape, len(Z))
        self._kept = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)
        self._new: list[tuple[Indices, Indices, Array]] = []

    def add(self, i: Indices, j: Indices) -> None:
        """Take pairs of row numbers into account, each of which may be given once only."""
        distance = PairDifferences(i, j).distances(self._Z)
        kind = (self._labels[i] != self._labels[j]).astype(np.intp)
        for sample, neighbour in ((i, j), (j, i)):
            reach = self.reach[kind, sample]
            near = (distance < reach) | ((distance == reach) & (neighbour < self._last[kind, sample]))
            self._new.append((2 * sample[near] + kind[near], neighbour[near], distance[near]))
        if sum(len(group) for group, _, _ in self._new) > max(_WAITING, len(self._kept[0]) // 2):
            self._settle()

    def pairs(self) -> Indices:
        """Return the pairs of each sample with its neighbours: in its class, then in others, by distance."""
        self._settle()
        group, neighbour, _ = self._kept
        return np.column_stack([group // 2, neighbour])

    def _settle(self) -> None:
        """Drop all but the nearest, and see how far they reach."""
        group, neighbour, distance = map(np.concatenate, zip(self._kept, *self._new, strict=True))
        order = _sorted_places(group, neighbour, distance)
        group, neighbour, distance = group[order], neighbour[order], distance[order]
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        rank = np.arange(len(group)) - np.repeat(starts, np.diff(starts, append=len(group)))
        wanted = self._counts[group % 2]
        last = rank == wanted - 1
        self.reach = self.reach.copy()
        self.reach[group[last] % 2, group[last] // 2] = distance[last]
        self._last[group[last] % 2, group[last] // 2] = neighbour[last]
        near = rank < wanted
        self._kept, self._new = (group[near], neighbour[near], distance[near]), []


def _sorted_places(group: Indices, neighbour: Indices, distance: Array) -> Indices:
    """Return the order by group, then by distance, then by neighbour."""
    # One key in place of the first two is sorted several times faster: numbers ≥ 0 have increasing bits.
    rounded = np.minimum(distance, np.finfo(np.float32).max).astype(np.float32)
    key = (group << 32) | rounded.view(np.uint32)
    order = np.argsort(key)
    key = key[order]
    equal = key[1:] == key[:-1]
    # Only where the rounded keys are equal, the rest decides.
    tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    among = order[tied]
    order[tied] = among[np.lexsort((neighbour[among], distance[among], key[tied]))]
    return order
