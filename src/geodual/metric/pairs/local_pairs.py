"""Local pairs: each sample with its nearest neighbours in its class and in other classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodual.arrays import Array, Indices

from ..base import check_whole
from .neighbours import neighbour_pairs


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
        pairs = neighbour_pairs(Z, labels, self.n_similar, self.n_dissimilar)
        # Numbers that stand for sorted pairs are compared much faster than the pairs.
        first, second = np.sort(pairs, axis=1).T
        return np.column_stack(np.divmod(np.unique(first * len(Z) + second), len(Z)))
