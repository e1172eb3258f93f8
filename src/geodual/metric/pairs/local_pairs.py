"""Local pairs: each sample with its nearest neighbours in its class and in other classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from geodual.arrays import Array, Indices

from ..base import check_whole

_SMALL_CLASS = 64  # up to this size, computing all distances is faster than a search structure per class
_ROWS = 256  # number of samples whose distances to all others are computed at once


@dataclass(frozen=True)
class LocalPairs:
    """Pairs of each sample with its nearest neighbours: a value for the parameter `pairs` of a learner.

    Choose it if the numbers of neighbours of ``pairs="local"``, which stands for ``LocalPairs()``, do not
    suit: more similar pairs for classes of one cluster each, fewer pairs of either kind to save time.

    Parameters
    ----------
    n_similar : int
        Number of nearest neighbours in the same class; fewer in classes that have too few samples.
    n_dissimilar : int
        Number of nearest neighbours in other classes.

    See Also
    --------
    RPDML : Learns from these pairs with ``pairs=LocalPairs(3, 9)``.
    ITML : Learns from the same pairs with another loss.
    RPDMLCV : Chooses among kinds of pairs by cross-validation.

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

    def __post_init__(self) -> None:
        check_whole("n_similar", self.n_similar, 1)
        check_whole("n_dissimilar", self.n_dissimilar, 1)

    def find(self, Z: Array, labels: Indices) -> Indices:
        """Return the pairs of row numbers, each once, also if a pair is found from both sides.

        Parameters
        ----------
        Z : array of shape (n_samples, n_features)
            Samples. The nearest are those of the smallest Euclidean distance.
        labels : array of shape (n_samples,)
            Their classes as 0, 1, …; at least two.

        Returns
        -------
        array of shape (n_pairs, 2)
            Sorted pairs, the smaller number first.
        """
        sizes = np.bincount(labels)
        pairs = self._of_small_classes(Z, labels, np.flatnonzero(sizes[labels] <= _SMALL_CLASS))
        for label in np.flatnonzero(sizes > _SMALL_CLASS):
            inside, outside = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
            search = NearestNeighbors(n_neighbors=min(self.n_similar, len(inside) - 1)).fit(Z[inside])
            pairs.append(_joined(inside, inside[search.kneighbors(return_distance=False)]))
            search = NearestNeighbors(n_neighbors=min(self.n_dissimilar, len(outside))).fit(Z[outside])
            pairs.append(_joined(inside, outside[search.kneighbors(Z[inside], return_distance=False)]))
        # Numbers that stand for sorted pairs are compared much faster than the pairs.
        first, second = np.sort(np.vstack(pairs), axis=1).T
        return np.column_stack(np.divmod(np.unique(first * len(Z) + second), len(Z)))

    def _of_small_classes(self, Z: Array, labels: Indices, samples: Indices) -> list[Indices]:
        """Return the local pairs of some samples, from their distances to all samples."""
        pairs = []
        for start in range(0, len(samples), _ROWS):
            rows = samples[start : start + _ROWS]
            distance = cdist(Z[rows], Z, "sqeuclidean")
            distance[np.arange(len(rows)), rows] = np.inf
            same = labels[rows, None] == labels
            for kind, count in ((same, self.n_similar), (~same, self.n_dissimilar)):
                apart = np.where(kind, distance, np.inf)
                # Where a kind has fewer than `count` samples, infinite distances fill the rest.
                near = np.argpartition(apart, min(count, len(Z)) - 1, axis=1)[:, :count]
                found = np.isfinite(np.take_along_axis(apart, near, axis=1))
                pairs.append(_joined(rows, near)[found.ravel()])
        return pairs


def _joined(samples: Indices, neighbours: Indices) -> Indices:
    return np.column_stack([np.repeat(samples, neighbours.shape[1]), neighbours.ravel()])
