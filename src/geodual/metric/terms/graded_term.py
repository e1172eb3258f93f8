"""The term of graded pairs: each has its own target for its squared distance."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from geodual.arrays import Array, Indices

from ..geometry.pair_list import PairGraph
from ..geometry.pair_set import LossPass
from ..losses import LossTerms
from .term import Term

_EPS = float(np.finfo(float).eps)
_CHUNK = 2048  # number of differences formed at once, to stay in the cache
# With at least this number of features, and of pairs per sample, products over samples are faster.
_MANY_FEATURES = 16
_MANY_PAIRS = 3.0
_LOST_DIGITS = 1e4  # largest loss of relative accuracy in sums from products over samples


class GradedTerm(Term):
    """The squared error Σ w ½ (d − b)²/ρ of squared distances d, each with its own target b.

    Too large and too small distances cost the same. As a function of d, the loss has the conjugate ½ ρ a² + a
    b.

    Parameters
    ----------
    indices : array of shape (n_pairs, 2)
        Row numbers of the two samples of each pair.
    bounds : array of shape (n_pairs,)
        The bounds b ≥ 0.
    weight : array of shape (n_pairs,)
        Weights w of the pairs.
    scale : float
        ρ > 0.
    """

    def __init__(self, indices: Indices, bounds: Array, weight: Array, scale: float) -> None:
        self.n_pairs = len(indices)
        self.total_weight = float(weight.sum())
        self._indices, self._bounds, self._weight = indices, bounds, weight
        self._scale = scale

    @cached_property
    def _graph(self) -> PairGraph:
        return PairGraph(*self._indices.T)

    def _samples(self, Z: Array) -> Array | None:
        """Return the centered samples in pairs if products over them are faster than differences."""
        if Z.shape[1] < _MANY_FEATURES or self.n_pairs < _MANY_PAIRS * len(self._graph.rows):
            return None
        return self._graph.centered(Z)

    def _differences(self, Z: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Yield the differences of pairs in parts, with their positions and squared distances."""
        for start in range(0, self.n_pairs, _CHUNK):
            part = slice(start, start + _CHUNK)
            V = Z[self._indices[part, 0]] - Z[self._indices[part, 1]]
            yield part, V, np.einsum("kf,kf->k", V, V)

    def _terms(self, d: Array, part: slice = slice(None)) -> tuple[LossTerms, float]:
        """Return the loss and its derivatives at squared distances, and the error from rounding them."""
        bounds, weight = self._bounds[part], self._weight[part]
        excess = d - bounds
        multiplier = excess / self._scale
        slope = weight * multiplier
        terms = LossTerms(
            float(np.vdot(weight, 0.5 * excess**2 / self._scale)),
            slope,
            weight * (1.0 / self._scale),
            float(np.vdot(weight, 0.5 * self._scale * multiplier**2)) + float(slope @ bounds),
        )
        return terms, 4.0 * _EPS * float(np.abs(slope) @ (d + bounds))

    def evaluate(self, Z: Array) -> LossPass:
        Y = self._samples(Z)
        if Y is not None and (found := self._evaluate_by_samples(Y)) is not None:
            return found
        total = np.zeros((Z.shape[1], Z.shape[1]))
        sums = np.zeros(4)
        for part, V, d in self._differences(Z):
            terms, noise = self._terms(d, part)
            total += (V.T * terms.slope) @ V
            sums += terms.value, terms.conjugate, float(terms.curvature.sum()), noise
        value, conjugate, curvature, noise = sums.tolist()
        return LossPass(value, conjugate, total, curvature, None, noise)

    def _evaluate_by_samples(self, Y: Array) -> LossPass | None:
        """Return the sums from products over samples; None if they would lose too many digits."""
        d = self._graph.distances(Y)
        terms, noise = self._terms(d)
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

    def curvature_product(self, Z: Array, S: Array, losses: LossPass) -> Array:
        if losses.curvatures is not None:  # `evaluate` used products over samples
            Y = self._graph.centered(Z)
            return self._graph.laplacian_form(Y, losses.curvatures[0] * self._graph.forms(Y, Y @ S))
        total = np.zeros_like(S)
        for part, V, _ in self._differences(Z):
            curvature = self._weight[part] * (1.0 / self._scale)
            total += (V.T * (curvature * np.einsum("kf,kf->k", V @ S, V))) @ V
        return total

    def curvature_moment(self, Z: Array, losses: LossPass) -> Array:
        # Treat φ″ as equal for all pairs, which is true for the squared error.
        scale = losses.curvature_total / self.total_weight
        Y = self._samples(Z)
        if Y is not None:
            return scale * self._graph.laplacian_form(Y, self._weight)
        total = np.zeros((Z.shape[1], Z.shape[1]))
        for part, V, _ in self._differences(Z):
            total += (V.T * self._weight[part]) @ V
        return scale * total
