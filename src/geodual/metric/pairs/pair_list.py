"""Sums over a list of pairs of samples."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.threads import product_operations

from .pair_differences import PairDifferences
from .pair_graph import PairGraph
from .pair_loss import LossTerms, PairLoss
from .pair_set import LossPass, Pairs, PairTable

_EPS = float(np.finfo(float).eps)
_ROWS = 2048  # number of pairs in a typical matrix product
# With at least this number of features, and of pairs per sample, products over samples are faster.
_MANY_FEATURES = 16
_MANY_PAIRS = 3.0
_LOST_DIGITS = 1e4  # largest loss of relative accuracy in sums from products over samples


def chunk_operations(n_features: int) -> float:
    """Return the operation count of the largest matrix product in a pass over a list of pairs."""
    return product_operations(n_features, _ROWS, n_features)


class PairList(Pairs):
    """A list of pairs of samples.

    Few pairs, or pairs in few dimensions, are added up from their differences. Otherwise products over
    samples are faster, see `PairGraph`; they are used as long as they lose few digits.

    Parameters
    ----------
    indices : array of shape (n_pairs, 2)
        Row numbers of the two samples of each pair.
    similar : array of bool of shape (n_pairs,)
        Which pairs are similar.
    weight : array of shape (n_pairs,), optional
        Weights of the pairs; all 1 by default.
    """

    def __init__(
        self, indices: NDArray[np.intp], similar: NDArray[np.bool_], weight: Array | None = None
    ) -> None:
        order = np.argsort(~similar, kind="stable")  # similar pairs first
        self._i, self._j = indices[order].T.copy()
        self._weight = None if weight is None else weight[order]
        self._n_similar = int(similar.sum())
        self.n_pairs = len(indices)
        self.total_weight = float(len(indices) if weight is None else weight.sum())
        self._n_used = int((np.bincount(indices.ravel()) > 0).sum())
        self._differences = PairDifferences(self._i, self._j)

    @cached_property
    def _graph(self) -> PairGraph:
        return PairGraph(self._i, self._j)

    def _prefers_samples(self, Z: Array) -> bool:
        return Z.shape[1] >= _MANY_FEATURES and self.n_pairs >= _MANY_PAIRS * self._n_used

    def evaluate(self, Z: Array, loss: PairLoss) -> LossPass:
        if self._prefers_samples(Z):
            Y = self._graph.centred(Z)
            d = self._graph.distances(Y)
            terms = self._terms(d, loss)
            size = self._graph.size(Y, terms.slope)
            if size <= _LOST_DIGITS * float(np.abs(terms.slope) @ d):
                total = self._graph.laplacian_form(Y, terms.slope)
                return _loss_pass(terms, total, [terms.curvature], _EPS * size)
        terms = self._terms(self._differences.distances(Z), loss)
        total = self._differences.weighted_sum(Z, terms.slope)
        return _loss_pass(terms, total, np.split(terms.curvature, [self._n_similar]), 0.0)

    def _terms(self, d: Array, loss: PairLoss) -> LossTerms:
        """Return the loss at the squared distances of all pairs; the values are sums over the pairs."""
        kinds = []
        for part, similar in ((slice(self._n_similar), True), (slice(self._n_similar, None), False)):
            weight = None if self._weight is None else self._weight[part]
            # A copy, because a loss may overwrite the distances.
            kinds.append(loss.terms(d[part].copy(), similar, weight))
        near, far = kinds
        return LossTerms(
            near.value + far.value,
            np.concatenate([near.slope, far.slope]),
            np.concatenate([near.curvature, far.curvature]),
            near.conjugate + far.conjugate,
        )

    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: list[Array] | None) -> Array:
        assert curvatures is not None  # `evaluate` always keeps them
        if len(curvatures) == 1:  # of all pairs together: `evaluate` used products over samples
            return self._graph.form_sum(Z, S, curvatures[0])
        return self._differences.form_sum(Z, S, np.concatenate(curvatures))

    def curvature_moment(self, Z: Array, loss: PairLoss, losses: LossPass) -> Array:
        curvatures = losses.curvatures
        assert curvatures is not None
        if len(curvatures) == 1:
            return self._graph.moment(Z, curvatures[0])
        return self._differences.weighted_sum(Z, np.concatenate(curvatures))

    def turned(self, Z: Array, basis: Array, losses: LossPass) -> Array:
        graph = losses.curvatures is not None and len(losses.curvatures) == 1
        return self._graph.turned(Z, basis) if graph else super().turned(Z, basis, losses)

    def index_list(self, limit: int) -> PairTable:
        self._check_limit(limit)
        weight = np.ones(self.n_pairs) if self._weight is None else self._weight
        return PairTable(self._i, self._j, np.arange(self.n_pairs) < self._n_similar, weight)


def _loss_pass(terms: LossTerms, total: Array, curvatures: list[Array], noise: float) -> LossPass:
    curvature = float(terms.curvature.sum())
    return LossPass(terms.value, terms.conjugate, total, curvature, curvatures, noise)
