"""Near neighbours of very many samples from an index that misses some of the nearest."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from geodual.arrays import Array, Indices

from .neighbours import in_usual_units

_FEW = 2_000  # samples of a class up to which an exact search is faster
_LEAST = 30  # neighbours that the index keeps per sample: fewer would make it less accurate

# From samples and a number of neighbours to their distances and places in a class, the nearest first.
Search = Callable[[Array, int], tuple[Array, Indices]]


def approximate_neighbours(Z: Array, labels: Indices, n_similar: int, n_dissimilar: int) -> Indices:
    """Return each sample with near neighbours in its class and with near ones in other classes.

    There is one index per class, and every sample asks all of them. So the time grows with the number of
    classes times the number of samples, rather than with its square.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples. Near are those of a small Euclidean distance.
    labels : array of shape (n_samples,)
        Their classes as 0, 1, …
    n_similar, n_dissimilar : int
        Numbers of neighbours of each kind; all samples of a kind if there are fewer.

    Returns
    -------
    array of shape (n_pairs, 2)
        Row numbers. A pair that is found from both sides is there twice.
    """
    make_index = _load_index()
    order = np.argsort(labels, kind="stable")
    Z = in_usual_units(Z[order]).astype(np.float32)
    n, edges = len(Z), np.concatenate([[0], np.cumsum(np.bincount(labels))])
    nearest, rows = np.full((n, n_dissimilar), np.inf), np.full((n, n_dissimilar), -1)
    pairs = []
    for start, end in pairwise(edges.tolist()):
        search = _class_search(Z[start:end], max(_LEAST, n_similar + 1), make_index)
        others = np.concatenate([np.arange(start), np.arange(end, n)])
        distance, place = search(Z[others], n_dissimilar)
        nearest[others], rows[others] = _nearer(
            np.hstack([nearest[others], distance]), np.hstack([rows[others], place + start]), n_dissimilar
        )
        own, (distance, place) = np.arange(end - start), search(Z[start:end], n_similar + 1)
        # A sample is its own nearest neighbour, unless copies come first.
        inside = _nearer(np.where(place == own[:, None], np.inf, distance), place + start, n_similar)[1]
        pairs.append(_listed(own + start, inside))
    pairs.append(_listed(np.arange(n), rows))
    return np.asarray(order[np.vstack(pairs)])


def _load_index() -> Any:
    try:
        return import_module("pynndescent").NNDescent
    except ImportError:
        raise ImportError(
            'LocalPairs(index="approximate") needs the package pynndescent: install geodual[neighbours], or '
            'leave `index` at "exact".'
        ) from None


def _class_search(Z: Array, n_kept: int, make_index: Any) -> Search:
    """Return the search for neighbours in a class."""
    if len(Z) <= max(_FEW, n_kept):
        exact = NearestNeighbors(algorithm="brute").fit(Z)
        return lambda queries, count: exact.kneighbors(queries, min(count, len(Z)))
    # The seed makes results repeatable.
    index = make_index(Z, n_neighbors=n_kept, random_state=0, n_jobs=1)

    def search(queries: Array, count: int) -> tuple[Array, Indices]:
        place, distance = index.query(queries, min(count, len(Z)))
        return np.where(place < 0, np.inf, distance), place  # what the index did not find has the place −1

    return search


def _nearer(distance: Array, rows: Indices, count: int) -> tuple[Array, Indices]:
    """Return the smallest distances of each line with their row numbers; −1 where none is finite."""
    order = np.argsort(distance, axis=1, kind="stable")[:, :count]
    nearest = np.take_along_axis(distance, order, axis=1)
    return nearest, np.where(np.isfinite(nearest), np.take_along_axis(rows, order, axis=1), -1)


def _listed(samples: Indices, neighbours: Indices) -> Indices:
    """Return the pairs of samples with their neighbours; −1 is none."""
    pairs = np.column_stack([np.repeat(samples, neighbours.shape[1]), neighbours.ravel()])
    return pairs[pairs[:, 1] >= 0]
