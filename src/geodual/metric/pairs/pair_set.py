"""The interface of a set of pairs: sums over all its pairs, computed in passes that need little memory.

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

from .pair_loss import PairLoss


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
    curvatures : list, or None
        φ″ of all pairs, in a form that only their set of pairs reads.
    noise : float
        Upper estimate of the error of Σ φ from rounded distances.
    """

    value: float
    conjugate: float
    slope_sum: Array
    curvature_total: float
    curvatures: list[Any] | None
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
    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: list[Any] | None) -> Array:
        """Return Σ φ″(d) (zᵀ S z) z zᵀ over the differences z, in one pass over the pairs."""

    def thinned(self, n_features: int) -> Pairs | None:
        """Return a part of the pairs that stands for all of them; None if no part would serve.

        Parameters
        ----------
        n_features : int
            Number of features: the more there are, the more samples are needed.
        """
        return None

    @abstractmethod
    def curvature_moment(self, Z: Array, loss: PairLoss, losses: LossPass) -> Array:
        """Return Σ φ″ z zᵀ over the differences z, given the sums of the loss; it need not be accurate."""

    def turned(self, Z: Array, basis: Array, losses: LossPass) -> Array:
        """Return the samples of the last `curvature_moment` as Z Q, for an orthogonal Q.

        They are for curvature products, and need not be more accurate than these.
        """
        return np.asarray(Z @ basis)

    @abstractmethod
    def index_list(self, limit: int) -> PairTable:
        """Return all pairs as a list; raise if there are more than `limit`."""

    def _check_limit(self, limit: int) -> None:
        if self.n_pairs > limit:
            raise ValueError(
                f"{self.n_pairs:,} pairs are too many to list (at most {limit:,}); give `pairs` a number."
            )
