"""Local pairs: each sample with its nearest neighbours in its class and in other classes."""

from __future__ import annotations

from dataclasses import dataclass

from geodual.arrays import Array, Indices

from ..parameter_checks import check_whole
from .approximate_neighbours import approximate_neighbours
from .neighbours import distinct_pairs, neighbour_pairs


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
    index : "exact" or "approximate"
        How they are found. "approximate" misses some of them, and saves time with hundreds of thousands of
        samples in few classes; it needs the package pynndescent. `neighbours_are_exact_` of the learner
        tells which it was.

    See Also
    --------
    RPDML : Learns from these pairs with ``pairs=LocalPairs(3, 9)``.
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

    def __post_init__(self) -> None:
        check_whole("n_similar", self.n_similar, 1)
        check_whole("n_dissimilar", self.n_dissimilar, 1)
        if self.index not in ("exact", "approximate"):
            raise ValueError(f'`index` must be "exact" or "approximate", got {self.index!r}.')

    def __repr__(self) -> str:
        index = "" if self.is_exact else f", index={self.index!r}"
        return f"LocalPairs(n_similar={self.n_similar}, n_dissimilar={self.n_dissimilar}{index})"

    @property
    def is_exact(self) -> bool:
        """Whether the pairs are those of the nearest neighbours, without exception."""
        return self.index == "exact"

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
        search = neighbour_pairs if self.is_exact else approximate_neighbours
        return distinct_pairs(search(Z, labels, self.n_similar, self.n_dissimilar), len(Z))
