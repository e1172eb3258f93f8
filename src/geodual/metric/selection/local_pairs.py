"""Local pairs: each sample with its nearest neighbors in its class and in other classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from geodual.arrays import Array, Indices

from ..base.checks import check_whole
from ..geometry.distances import gram_factors
from .nearest import Group, Interval, NearestSearch

_MANY = 2_000  # with more samples, the searches for many are as fast; with fewer, they are slower
_ENTRIES = 500_000  # pairs whose distances are computed at once: 4 MB
_FEW = 2_000  # largest number of samples of a class for which an exact search is faster
_DISTANCES = 10_000_000_000  # in a search among all samples, which takes about 20 s
_ANCHORS = 20_000  # samples whose neighbors are always found; docs/scaling.md shows the cost of fewer
_LEAST = 30  # neighbors per sample in the index; fewer would make it less accurate


def grouped_neighbors(
    Z: Array, labels: Indices, n_similar: int, n_dissimilar: int, distance: str = "l2"
) -> tuple[Indices, Indices]:
    """Return the row numbers of samples, in increasing order, and of their neighbors of both kinds.

    Samples that are alone in their class are left out. The parameters are those of `neighbor_pairs`.
    """
    return _grouped(neighbor_pairs(Z, labels, n_similar, n_dissimilar, distance), labels)


def _grouped(pairs: Indices, labels: Indices) -> tuple[Indices, Indices]:
    joined = np.bincount(labels)[labels] > 1
    pairs = pairs[joined[pairs[:, 0]]]
    i, j = pairs[np.argsort(pairs[:, 0], kind="stable")].T
    return i.copy(), j.copy()


def neighbor_pairs(
    Z: Array,
    labels: Indices,
    n_similar: int,
    n_dissimilar: int,
    distance: str = "l2",
    anchors: Indices | None = None,
) -> Indices:
    """Return each sample with its nearest neighbors in its class and in other classes.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples.
    labels : array of shape (n_samples,)
        Their classes as 0, 1, …
    n_similar, n_dissimilar : int
        Numbers of neighbors of each kind; all samples of a kind if there are fewer.
    distance : "l1" or "l2"
        The city-block or the Euclidean distance decides who is near.
    anchors : array of shape (n_anchors,), optional
        Row numbers of the samples whose neighbors are requested; all by default. This needs the Euclidean
        distance.

    Returns
    -------
    array of shape (n_pairs, 2)
        Row numbers. A pair found from both sides occurs twice.
    """
    # When sorted by class, the samples of a class are a slice.
    order = np.argsort(labels, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(labels))]).tolist()
    if distance == "l2" and (len(Z) > _MANY or not (anchors is None or len(anchors) == len(Z))):
        asking = np.arange(len(Z)) if anchors is None else _places(order, anchors)
        return np.asarray(order[_product_search(Z[order], edges, asking, n_similar, n_dissimilar)])
    search = _library_search if len(Z) > _MANY else _block_search
    return np.asarray(order[np.vstack(list(search(Z[order], edges, n_similar, n_dissimilar, distance)))])


def _places(order: Indices, rows: Indices) -> Indices:
    """Return the positions of row numbers in an order of all rows, sorted."""
    chosen = np.zeros(len(order), dtype=bool)
    chosen[rows] = True
    return np.flatnonzero(chosen[order])


def _product_search(
    Z: Array, edges: list[int], asking: Indices, n_similar: int, n_dissimilar: int
) -> Indices:
    """Return the pairs of the samples `asking`, sorted by class, by a search with matrix products."""
    search = NearestSearch(in_usual_units(Z))
    ends = np.searchsorted(asking, edges).tolist()
    groups = [
        Group(slice(*rows), Interval(*own))
        for rows, own in zip(pairwise(ends), pairwise(edges), strict=True)
        if rows[0] < rows[1]
    ]
    inside = [search.among(asking[rows], n_similar, own) for rows, own in groups]
    pairs = [_listed(asking[group.queries], found) for group, found in zip(groups, inside, strict=True)]
    return np.vstack([*pairs, _listed(asking, search.outside(asking, n_dissimilar, groups))])


def _library_search(
    Z: Array, edges: list[int], n_similar: int, n_dissimilar: int, kind: str
) -> Iterator[Indices]:
    """Yield the pairs of each class by scikit-learn's search, which uses all cores."""
    Z = in_usual_units(Z)
    for start, end in pairwise(edges):
        own, others = np.arange(start, end), np.concatenate([np.arange(start), np.arange(end, len(Z))])
        for candidates, count, queries in (
            (own, min(n_similar, len(own) - 1), None),  # without a query, samples are not their own neighbors
            (others, min(n_dissimilar, len(others)), Z[own]),
        ):
            if count > 0:
                search = NearestNeighbors(n_neighbors=count, algorithm="brute", metric=kind)
                search.fit(Z[candidates])
                found = candidates[search.kneighbors(queries, return_distance=False)]
                yield np.column_stack([np.repeat(own, count), found.ravel()])


def in_usual_units(Z: Array) -> Array:
    """Return samples minus their median, in units in which half of them have a norm of at most about one.

    So squares neither underflow nor overflow, and a few distant samples do not cost the others their digits.
    The unit is a power of two, so that scaling has no rounding errors.
    """
    centered = Z - np.median(Z, axis=0)
    exponent = _exponent(float(np.abs(centered).max()))
    # In two steps, because squares of unscaled samples may underflow or overflow.
    squares = np.square(np.ldexp(centered, -exponent)).sum(axis=1)
    exponent += _exponent(float(np.sqrt(np.median(squares) or squares.max())))
    return np.asarray(np.ldexp(centered, -exponent))


def _exponent(size: float) -> int:
    return int(np.frexp(size)[1]) if 0.0 < size < np.inf else 0


def _block_search(
    Z: Array, edges: list[int], n_similar: int, n_dissimilar: int, kind: str
) -> Iterator[Indices]:
    """Yield pairs in parts, from blocks of the distance matrix."""
    left, right = gram_factors(*2 * (Z - Z.mean(axis=0),))
    step = max(_ENTRIES // len(Z), 16)
    for start, end in pairwise(edges):
        for first in range(start, end, step):
            rows = np.arange(first, min(first + step, end))
            distance = left[rows] @ right.T if kind == "l2" else cdist(Z[rows], Z, "cityblock")
            distance[np.arange(len(rows)), rows] = np.inf
            own = slice(start, end)
            inside = _nearest(distance, min(n_similar, end - start - 1), own)
            distance[:, own] = np.inf
            outside = _nearest(distance, min(n_dissimilar, len(Z) - (end - start)), slice(0, None))
            neighbors = np.hstack([inside, outside])
            yield np.column_stack([np.repeat(rows, neighbors.shape[1]), neighbors.ravel()])


def distinct_pairs(pairs: Indices, n_samples: int) -> Indices:
    """Sort pairs of row numbers, with the smaller number first, and remove duplicates.

    Parameters
    ----------
    pairs : array of shape (n_pairs, 2)
        Pairs of row numbers; a pair may occur twice, also reversed.
    n_samples : int
        Number of rows.
    """
    # Single numbers that encode sorted pairs are compared much faster than pairs.
    numbers = np.sort(pairs.min(axis=1) * n_samples + pairs.max(axis=1))
    return np.column_stack(np.divmod(numbers[np.diff(numbers, prepend=-1) > 0], n_samples))


def _nearest(distance: Array, count: int, among: slice) -> Indices:
    """Return the `count` nearest among some samples to each row, given the distances to all samples."""
    if count < 1:
        return np.empty((len(distance), 0), dtype=np.intp)
    distance = distance[:, among]
    if distance.shape[1] < 16 * count:
        return np.asarray(np.argpartition(distance, count - 1, axis=1)[:, :count] + among.start)
    row, column = np.nonzero(distance <= _bound_of_smallest(distance, count)[:, None])
    order = np.lexsort((distance[row, column], row))
    starts = np.searchsorted(row, np.arange(len(distance)))
    return np.asarray(column[order[starts[:, None] + np.arange(count)]] + among.start)


def _bound_of_smallest(distance: Array, count: int) -> Array:
    """Return a number per row that bounds at least `count` of its entries, and few others."""
    n_rows, n_columns = distance.shape
    size = n_columns // (4 * count)
    if size >= 4:
        # The smallest entries of groups of columns bound the entries sought, and are fewer.
        n_groups = n_columns // size
        distance = distance[:, : size * n_groups].reshape(n_rows, size, n_groups).min(axis=1)
    return np.asarray(np.partition(distance, count - 1, axis=1)[:, count - 1])


@dataclass(frozen=True)
class LocalPairs:
    """Pairs of each sample with its nearest neighbors, for the parameter `pairs` of a learner.

    Choose it to change the numbers of neighbors of ``pairs="local"``, which means ``LocalPairs()``: more
    similar pairs for classes with one cluster each, or fewer pairs of either kind to save time.

    Parameters
    ----------
    n_similar : int
        Number of nearest neighbors in the same class; fewer in classes with too few samples.
    n_dissimilar : int
        Number of nearest neighbors in other classes.
    index : "exact" or "approximate"
        How neighbors are found. "approximate" misses some of them, and saves time with hundreds of thousands
        of samples in few classes; it needs the package pynndescent. See `neighbors_are_exact_` of the
        learner.
    anchors : "auto", "all" or int
        Number of samples whose neighbors are found; the neighbors come from all samples. "auto": all samples
        if there are up to 100,000, or if the index is approximate; otherwise a random part of each class,
        10¹⁰/N of N samples but at least 20,000, so that the time of the search does not grow with N². A
        number: this many samples, at least one of each class. See `n_anchors_` of the learner.

    See Also
    --------
    RPDML : Learns from these pairs with ``pairs=LocalPairs(3, 9)``.
    NeighborRPDML : Learns from the same neighbors, with a loss for nearest neighbors.
    ITML : Learns from the same pairs with another loss.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from geodual.metric import RPDML, LocalPairs
    >>> X, y = load_iris(return_X_y=True)
    >>> few = RPDML(pairs=LocalPairs(n_similar=3, n_dissimilar=9)).fit(X, y)
    >>> few.n_pairs_ < RPDML(pairs="local").fit(X, y).n_pairs_
    True
    """

    n_similar: int = 5
    n_dissimilar: int = 15
    index: str = "exact"
    anchors: int | str = "auto"

    def __post_init__(self) -> None:
        check_whole("n_similar", self.n_similar, 1)
        check_whole("n_dissimilar", self.n_dissimilar, 1)
        if isinstance(self.anchors, str) and self.anchors not in ("auto", "all"):
            raise ValueError(f'`anchors` must be "auto", "all" or a number, got {self.anchors!r}.')
        if not isinstance(self.anchors, str):
            check_whole("anchors", self.anchors, 1)
        if self.index not in ("exact", "approximate"):
            raise ValueError(f'`index` must be "exact" or "approximate", got {self.index!r}.')

    def __repr__(self) -> str:
        index = "" if self.is_exact else f", index={self.index!r}"
        anchors = "" if self.anchors == "auto" else f", anchors={self.anchors!r}"
        return f"LocalPairs(n_similar={self.n_similar}, n_dissimilar={self.n_dissimilar}{index}{anchors})"

    @classmethod
    def given_as(cls, pairs: Any) -> LocalPairs | None:
        """Return the local pairs requested by a parameter `pairs`; None if it requests others."""
        if isinstance(pairs, cls):
            return pairs
        return cls() if isinstance(pairs, str) and pairs == "local" else None

    @property
    def is_exact(self) -> bool:
        """Whether all neighbors are the nearest ones."""
        return self.index == "exact"

    def find(self, Z: Array, labels: Indices) -> Indices:
        """Return the pairs of row numbers, each once even if found from both sides.

        Parameters
        ----------
        Z : array of shape (n_samples, n_features)
            Samples, compared by the Euclidean distance.
        labels : array of shape (n_samples,)
            Their classes as 0, 1, …; at least two.

        Returns
        -------
        array of shape (n_pairs, 2)
            Sorted pairs, with the smaller number first.
        """
        return distinct_pairs(self._search(Z, labels), len(Z))

    def find_by_sample(self, Z: Array, labels: Indices) -> tuple[Indices, Indices]:
        """Return the row numbers of samples, in increasing order, and of their neighbors of both kinds.

        Samples that are alone in their class are left out.
        """
        return _grouped(self._search(Z, labels), labels)

    def _search(self, Z: Array, labels: Indices) -> Indices:
        anchors = self.anchor_rows(labels)
        if self.is_exact:
            return neighbor_pairs(Z, labels, self.n_similar, self.n_dissimilar, anchors=anchors)
        return approximate_neighbors(Z, labels, self.n_similar, self.n_dissimilar, anchors)

    def anchor_rows(self, labels: Indices) -> Indices:
        """Return the row numbers of the samples whose neighbors are found, chosen with a fixed seed.

        They include the same share of each class, and at least one sample.
        """
        share = self._n_anchors(len(labels)) / len(labels)
        if share >= 1.0:
            return np.arange(len(labels))
        order = np.lexsort((np.random.RandomState(0).uniform(size=len(labels)), labels))
        sizes = np.bincount(labels)
        place = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.sort(order[place < np.ceil(share * sizes)[labels[order]]])

    def _n_anchors(self, n_samples: int) -> int:
        if not isinstance(self.anchors, str):
            return self.anchors
        if self.anchors == "all" or not self.is_exact:
            return n_samples
        return max(_DISTANCES // n_samples, _ANCHORS)


# From samples and a number of neighbors to distances and positions in a class, nearest first.
Search = Callable[[Array, int], tuple[Array, Indices]]


def approximate_neighbors(
    Z: Array, labels: Indices, n_similar: int, n_dissimilar: int, anchors: Indices | None = None
) -> Indices:
    """Return each sample with close neighbors in its class and in other classes.

    There is one index per class, and every sample queries all of them. So the time grows with the number of
    classes times the number of samples, not with its square.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples, compared by the Euclidean distance.
    labels : array of shape (n_samples,)
        Their classes as 0, 1, …
    n_similar, n_dissimilar : int
        Numbers of neighbors of each kind; all samples of a kind if there are fewer.
    anchors : array of shape (n_anchors,), optional
        Row numbers of the samples whose neighbors are requested; all by default.

    Returns
    -------
    array of shape (n_pairs, 2)
        Row numbers. A pair found from both sides occurs twice.
    """
    make_index = _load_index()
    order = np.argsort(labels, kind="stable")
    Z = in_usual_units(Z[order]).astype(np.float32)
    asking = np.arange(len(Z)) if anchors is None else _places(order, anchors)
    n, edges = len(asking), np.concatenate([[0], np.cumsum(np.bincount(labels))])
    ends = np.searchsorted(asking, edges).tolist()
    nearest, rows = np.full((n, n_dissimilar), np.inf), np.full((n, n_dissimilar), -1)
    pairs = []
    for (start, end), (first, last) in zip(pairwise(edges.tolist()), pairwise(ends), strict=True):
        search = _class_search(Z[start:end], max(_LEAST, n_similar + 1), make_index)
        others = np.concatenate([np.arange(first), np.arange(last, n)])
        distance, place = search(Z[asking[others]], n_dissimilar)
        nearest[others], rows[others] = _nearer(
            np.hstack([nearest[others], distance]), np.hstack([rows[others], place + start]), n_dissimilar
        )
        own = asking[first:last]
        distance, place = search(Z[own], n_similar + 1)
        # A sample is its own nearest neighbor, unless copies come first.
        inside = _nearer(np.where(place + start == own[:, None], np.inf, distance), place + start, n_similar)
        pairs.append(_listed(own, inside[1]))
    pairs.append(_listed(asking, rows))
    return np.asarray(order[np.vstack(pairs)])


def _load_index() -> Any:
    try:
        return import_module("pynndescent").NNDescent
    except ImportError:
        raise ImportError(
            'LocalPairs(index="approximate") needs the package pynndescent: install geodual[neighbors], or '
            'leave `index` at "exact".'
        ) from None


def _class_search(Z: Array, n_kept: int, make_index: Any) -> Search:
    """Return the search for neighbors in a class."""
    if len(Z) <= max(_FEW, n_kept):
        exact = NearestNeighbors(algorithm="brute").fit(Z)
        return lambda queries, count: exact.kneighbors(queries, min(count, len(Z)))
    # The seed makes results repeatable.
    index = make_index(Z, n_neighbors=n_kept, random_state=0, n_jobs=1)

    def search(queries: Array, count: int) -> tuple[Array, Indices]:
        place, distance = index.query(queries, min(count, len(Z)))
        return np.where(place < 0, np.inf, distance), place  # the position −1 means not found

    return search


def _nearer(distance: Array, rows: Indices, count: int) -> tuple[Array, Indices]:
    """Return the smallest distances in each line with their row numbers; −1 if none is finite."""
    order = np.argsort(distance, axis=1, kind="stable")[:, :count]
    nearest = np.take_along_axis(distance, order, axis=1)
    return nearest, np.where(np.isfinite(nearest), np.take_along_axis(rows, order, axis=1), -1)


def _listed(samples: Indices, neighbors: Indices) -> Indices:
    """Return the pairs of samples with their neighbors; −1 means no neighbor."""
    pairs = np.column_stack([np.repeat(samples, neighbors.shape[1]), neighbors.ravel()])
    return pairs[pairs[:, 1] >= 0]
