"""Terms to learn a metric from, besides the prior; here, the base class and the term of pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from geodual.arrays import Array

from ..geometry.pair_set import LossPass, Pairs
from ..losses import PairLoss


class Term(ABC):
    """A convex function of W ≻ 0 that depends only on squared distances under W.

    Samples are given as Z = X L with W = LLᵀ, so the distances are Euclidean. Derivatives are with respect to
    S, for W = L (I + S) Lᵀ.

    Attributes
    ----------
    n_pairs : int
        Number of pairs whose distances count.
    """

    n_pairs: int

    @abstractmethod
    def evaluate(self, Z: Array) -> LossPass:
        """Return the value, the gradient, and the conjugate that bounds the optimum, in one pass."""

    @abstractmethod
    def curvature_product(self, Z: Array, S: Array, losses: LossPass) -> Array:
        """Return the product of the second derivative with S, given the result of `evaluate`."""

    @abstractmethod
    def curvature_moment(self, Z: Array, losses: LossPass) -> Array:
        """Return Σ φ″ z zᵀ over the differences z, for a preconditioner; it need not be accurate."""

    def turned(self, Z: Array, basis: Array, losses: LossPass) -> Array:
        """Return Z Q for an orthogonal Q, after `curvature_moment`; only for curvature products."""
        return np.asarray(Z @ basis)

    def thinned(self, n_features: int) -> Term | None:
        """Return a smaller term that represents this one; None if none is good enough."""
        return None


class PairTerm(Term):
    """The sum of a loss over pairs.

    Parameters
    ----------
    pairs : Pairs
        The pairs that count, and which of them are similar.
    loss : PairLoss
        The loss φ of the squared distance of a pair.
    """

    def __init__(self, pairs: Pairs, loss: PairLoss) -> None:
        self.pairs, self.loss, self.n_pairs = pairs, loss, pairs.n_pairs

    def evaluate(self, Z: Array) -> LossPass:
        return self.pairs.evaluate(Z, self.loss)

    def curvature_product(self, Z: Array, S: Array, losses: LossPass) -> Array:
        return self.pairs.curvature_product(Z, S, self.loss, losses.curvatures)

    def curvature_moment(self, Z: Array, losses: LossPass) -> Array:
        return self.pairs.curvature_moment(Z, self.loss, losses)

    def turned(self, Z: Array, basis: Array, losses: LossPass) -> Array:
        return self.pairs.turned(Z, basis, losses)

    def thinned(self, n_features: int) -> PairTerm | None:
        pairs = self.pairs.thinned(n_features)
        return None if pairs is None else PairTerm(pairs, self.loss)
