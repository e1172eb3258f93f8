"""The interface of a set of pairs: sums over all pairs, computed in passes that need little memory.

Z are the samples in the coordinates of a frame. A pass needs the squared distances d = ‖zᵢ − zⱼ‖², the
quadratic forms (zᵢ − zⱼ)ᵀ S (zᵢ − zⱼ), and sums Σ a (zᵢ − zⱼ)(zᵢ − zⱼ)ᵀ = Zᵀ Lap(a) Z, where Lap(a) is the
Laplacian of the graph with the edge weights a.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array, Indices

from ..losses import PairLoss

_SHARE = 0.3  # of the samples; a pass takes an eleventh of the time
_PER_FEATURE = 15  # with fewer samples per feature, the optimum of a part is far from that of all
_MOST = 0.35  # of the samples; with more, too little is saved
_FEW = 2_000_000  # number of pairs below which thinning does not pay off


class LossPass(NamedTuple):
    """Sums of the loss φ and its derivatives over all pairs with differences z.

    Attributes
    ----------
    value, conjugate : float
        Σ φ and Σ φ*.
    slope_sum : array of shape (n_features, n_features)
        Σ φ′ z zᵀ.
    curvature_total : float
        Σ φ″.
    curvatures : object
        φ″ of all pairs, in a form known only to the set of pairs.
    noise : float
        Upper estimate of the error of Σ φ from rounded distances.
    """

    value: float
    conjugate: float
    slope_sum: Array
    curvature_total: float
    curvatures: Any
    noise: float


class PairTable(NamedTuple):
    """A list of pairs: row numbers of both samples, whether they are similar, and weights."""

    i: Indices
    j: Indices
    similar: NDArray[np.bool_]
    weight: Array


class Pairs(ABC):
    """A set of similar and dissimilar pairs.

    Attributes
    ----------
    n_pairs : int
        Number of pairs.
    total_weight : float
        Sum of the weights of the pairs.
    """

    n_pairs: int
    total_weight: float

    @abstractmethod
    def evaluate(self, Z: Array, loss: PairLoss) -> LossPass:
        """Return the sums of the loss, in one pass over the pairs."""

    @abstractmethod
    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: Any) -> Array:
        """Return Σ φ″(d) (zᵀ S z) z zᵀ over the differences z, in one pass over the pairs."""

    def thinned(self, n_features: int) -> Pairs | None:
        """Return a part of the pairs that represents all; None if no part is good enough.

        Parameters
        ----------
        n_features : int
            Number of features: the more features, the more samples are needed.
        """
        return None

    @abstractmethod
    def curvature_moment(self, Z: Array, loss: PairLoss, losses: LossPass) -> Array:
        """Return Σ φ″ z zᵀ over the differences z, given the sums of the loss; it need not be accurate."""

    def turned(self, Z: Array, basis: Array, losses: LossPass) -> Array:
        """Return the samples of the last `curvature_moment` as Z Q, for an orthogonal Q.

        They are used for curvature products, and need not be more accurate than these.
        """
        return np.asarray(Z @ basis)

    @abstractmethod
    def index_list(self, limit: int) -> PairTable:
        """Return all pairs as a list; raise an error if there are more than `limit`."""

    def _check_limit(self, limit: int) -> None:
        if self.n_pairs > limit:
            raise ValueError(
                f"{self.n_pairs:,} pairs are too many to list (at most {limit:,}); give `pairs` a number."
            )


class ThinnedPairs(Pairs):
    """Pairs of some samples, with sums scaled to the total weight of all pairs.

    Parameters
    ----------
    pairs : Pairs
        The pairs of these samples.
    rows : array of shape (n_chosen,), or slice
        Row numbers of these samples among the samples passed to the methods.
    total_weight : float
        Sum of the weights of all pairs.
    """

    def __init__(self, pairs: Pairs, rows: Indices | slice, total_weight: float) -> None:
        self._pairs, self._rows = pairs, rows
        self._scale = total_weight / pairs.total_weight
        self.n_pairs, self.total_weight = pairs.n_pairs, total_weight

    def evaluate(self, Z: Array, loss: PairLoss) -> LossPass:
        found, scale = self._pairs.evaluate(Z[self._rows], loss), self._scale
        return LossPass(
            scale * found.value,
            scale * found.conjugate,
            scale * found.slope_sum,
            scale * found.curvature_total,
            found.curvatures,
            scale * found.noise,
        )

    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: Any) -> Array:
        return self._scale * self._pairs.curvature_product(Z[self._rows], S, loss, curvatures)

    def curvature_moment(self, Z: Array, loss: PairLoss, losses: LossPass) -> Array:
        own = losses._replace(curvature_total=losses.curvature_total / self._scale)
        return self._scale * self._pairs.curvature_moment(Z[self._rows], loss, own)

    def index_list(self, limit: int) -> PairTable:
        return self._pairs.index_list(limit)


def thinned_rows(labels: Indices, n_features: int) -> Indices | None:
    """Return row numbers of random samples of every class that represent all; None if this would not pay off.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Classes in increasing order.
    n_features : int
        Number of features.
    """
    n = len(labels)
    wanted = max(_SHARE * n, _PER_FEATURE * n_features)
    if wanted > _MOST * n or n * (n - 1) // 2 < _FEW:
        return None
    # Sort by class and shuffle within classes, so that evenly spaced samples contain each class by its share.
    order = np.lexsort((np.random.default_rng(0).random(n), labels))
    return np.sort(order[np.linspace(0, n - 1, int(wanted)).astype(np.intp)])


class JointPairs(Pairs):
    """Two sets of pairs: one of the first samples, and one of the remaining samples.

    Parameters
    ----------
    first : Pairs
        Pairs of the first samples.
    n_first : int
        Number of these samples.
    second : PairList
        Pairs of the other samples, with row numbers from 0.
    """

    def __init__(self, first: Pairs, n_first: int, second: Pairs) -> None:
        self._first, self._n_first, self._second = first, n_first, second
        self.n_pairs = first.n_pairs + second.n_pairs
        self.total_weight = first.total_weight + second.total_weight

    def evaluate(self, Z: Array, loss: PairLoss) -> LossPass:
        one = self._first.evaluate(Z[: self._n_first], loss)
        two = self._second.evaluate(Z[self._n_first :], loss)
        # The curvatures of the second set are computed again, so that those of the first may have any form.
        return LossPass(
            one.value + two.value,
            one.conjugate + two.conjugate,
            one.slope_sum + two.slope_sum,
            one.curvature_total + two.curvature_total,
            one.curvatures,
            one.noise + two.noise,
        )

    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: Any) -> Array:
        others = Z[self._n_first :]
        known = self._second.evaluate(others, loss).curvatures
        return self._first.curvature_product(
            Z[: self._n_first], S, loss, curvatures
        ) + self._second.curvature_product(others, S, loss, known)

    def curvature_moment(self, Z: Array, loss: PairLoss, losses: LossPass) -> Array:
        others = Z[self._n_first :]
        moment = self._second.curvature_moment(others, loss, self._second.evaluate(others, loss))
        return moment + self._first.curvature_moment(Z[: self._n_first], loss, losses)

    def index_list(self, limit: int) -> PairTable:
        self._check_limit(limit)
        one, two = self._first.index_list(limit), self._second.index_list(limit)
        return PairTable(
            np.concatenate([one.i, two.i + self._n_first]),
            np.concatenate([one.j, two.j + self._n_first]),
            np.concatenate([one.similar, two.similar]),
            np.concatenate([one.weight, two.weight]),
        )
