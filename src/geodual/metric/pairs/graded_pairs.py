"""Sums over pairs that each have a bound of their own: what their squared distance should be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geodual.arrays import Array, Indices

from .pair_graph import PairGraph
from .pair_loss import LossTerms, PairLoss
from .pair_set import LossPass, Pairs, PairTable

_EPS = float(np.finfo(float).eps)
_CHUNK = 2048  # number of differences formed at once: they stay in the cache
# With at least this number of features, and of pairs per sample, products over samples are faster.
_MANY_FEATURES = 16
_MANY_PAIRS = 3.0
_LOST_DIGITS = 1e4  # largest loss of relative accuracy in sums from products over samples


@dataclass(frozen=True)
class SquaredError(PairLoss):
    """The loss ½ t²/ρ of the excess t = d − b of a pair over its bound: too far and too near cost the same.

    Attributes
    ----------
    scale : float
        ρ.
    """

    scale: float

    def value(self, d: Array, similar: bool) -> Array:
        return np.asarray(0.5 * d**2 / self.scale)

    def slope(self, d: Array, similar: bool) -> Array:
        return np.asarray(d / self.scale)

    def curvature(self, d: Array, similar: bool) -> Array:
        return np.full_like(d, 1.0 / self.scale)

    def conjugate(self, a: Array, similar: bool) -> Array:
        return np.asarray(0.5 * self.scale * a**2)


class GradedPairs(Pairs):
    """Pairs with a bound b each; the loss is a function φ of the excess t = d − b.

    As a function of d, it has the conjugate φ*(a) + a b, so the LogDet program and its certificate are the
    same as for other pairs. The loss is that of similar pairs: it may be positive also for negative t.

    Parameters
    ----------
    indices : array of shape (n_pairs, 2)
        Row numbers of the two samples of each pair.
    bounds : array of shape (n_pairs,)
        The bounds b ≥ 0.
    weight : array of shape (n_pairs,)
        Weights of the pairs.
    """

    def __init__(self, indices: Indices, bounds: Array, weight: Array) -> None:
        self.n_pairs = len(indices)
        self.total_weight = float(weight.sum())
        self._indices, self._bounds, self._weight = indices, bounds, weight

    @cached_property
    def _graph(self) -> PairGraph:
        return PairGraph(*self._indices.T)

    def _samples(self, Z: Array) -> Array | None:
        """Return the centred samples that are in pairs, if products over them are faster than differences."""
        if Z.shape[1] < _MANY_FEATURES or self.n_pairs < _MANY_PAIRS * len(self._graph.rows):
            return None
        return self._graph.centred(Z)

    def _differences(self, Z: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Yield the differences of some pairs at a time, with their positions and squared distances."""
        for start in range(0, self.n_pairs, _CHUNK):
            part = slice(start, start + _CHUNK)
            V = Z[self._indices[part, 0]] - Z[self._indices[part, 1]]
            yield part, V, np.einsum("kf,kf->k", V, V)

    def _terms(self, d: Array, loss: PairLoss, part: slice = slice(None)) -> tuple[LossTerms, float]:
        """Return the loss at squared distances, as a function of these, and the error from rounding them."""
        bounds = self._bounds[part]
        terms = loss.terms(d - bounds, True, self._weight[part])
        noise = 4.0 * _EPS * float(np.abs(terms.slope) @ (d + bounds))
        return terms._replace(conjugate=terms.conjugate + float(terms.slope @ bounds)), noise

    def evaluate(self, Z: Array, loss: PairLoss) -> LossPass:
        Y = self._samples(Z)
        if Y is not None and (found := self._evaluate_by_samples(Y, loss)) is not None:
            return found
        total = np.zeros((Z.shape[1], Z.shape[1]))
        sums = np.zeros(4)
        for part, V, d in self._differences(Z):
            terms, noise = self._terms(d, loss, part)
            total += (V.T * terms.slope) @ V
            sums += terms.value, terms.conjugate, float(terms.curvature.sum()), noise
        value, conjugate, curvature, noise = sums.tolist()
        return LossPass(value, conjugate, total, curvature, None, noise)

    def _evaluate_by_samples(self, Y: Array, loss: PairLoss) -> LossPass | None:
        """Return the sums from products over samples; None if these would lose too many digits."""
        d = self._graph.distances(Y)
        terms, noise = self._terms(d, loss)
        size = self._graph.size(Y, terms.slope)
        if size > _LOST_DIGITS * float(np.abs(terms.slope) @ d):
            return None
        return LossPass(
            terms.value,
            terms.conjugate,
            self._graph.laplacian_form(Y, terms.slope),
            float(terms.curvature.sum()),
            [terms.curvature],
            noise + _EPS * size,
        )

    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: list[Array] | None) -> Array:
        if curvatures is not None:  # `evaluate` used products over samples
            Y = self._graph.centred(Z)
            return self._graph.laplacian_form(Y, curvatures[0] * self._graph.forms(Y, Y @ S))
        total = np.zeros_like(S)
        for part, V, d in self._differences(Z):
            curvature = self._terms(d, loss, part)[0].curvature
            total += (V.T * (curvature * np.einsum("kf,kf->k", V @ S, V))) @ V
        return total

    def curvature_moment(self, Z: Array, loss: PairLoss, losses: LossPass) -> Array:
        # As if φ″ were the same for all pairs, which is true of the squared error.
        scale = losses.curvature_total / self.total_weight
        Y = self._samples(Z)
        if Y is not None:
            return scale * self._graph.laplacian_form(Y, self._weight)
        total = np.zeros((Z.shape[1], Z.shape[1]))
        for part, V, _ in self._differences(Z):
            total += (V.T * self._weight[part]) @ V
        return scale * total

    def index_list(self, limit: int) -> PairTable:
        """Return the pairs as a list, in which those with a bound up to the mean bound are similar."""
        self._check_limit(limit)
        i, j = self._indices.T
        return PairTable(i, j, self._bounds <= np.average(self._bounds, weights=self._weight), self._weight)
