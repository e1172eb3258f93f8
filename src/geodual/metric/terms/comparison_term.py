"""The term of relative comparisons: the near pair should have the smaller distance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geodual.arrays import Array, Indices

from ..geometry.pair_set import LossPass
from ..losses import PairLoss
from .term import Term

_EPS = float(np.finfo(float).eps)
_CHUNK = 1024  # number of comparisons whose differences are formed at once, to stay in the cache


class ComparisonTerm(Term):
    """Comparisons of two pairs each; the loss is a function φ of t = d(a, b) − d(c, d).

    t is linear in the metric, like a distance: with the differences v of the near and w of the far pair,
    t = vᵀWv − wᵀWw. So the LogDet program and its certificate are the same as for pairs, with vvᵀ − wwᵀ
    instead of vvᵀ. The loss is that of similar pairs, and may be positive even for negative t.

    Parameters
    ----------
    indices : array of shape (n_comparisons, 4)
        Row numbers of the samples a and b of the near pairs, and c and d of the far ones.
    weight : array of shape (n_comparisons,)
        Weights of the comparisons.
    """

    def __init__(self, indices: Indices, weight: Array, loss: PairLoss) -> None:
        self.n_pairs = 2 * len(indices)
        self._indices, self._weight, self._loss = indices, weight, loss

    def _differences(self, Z: Array) -> Iterator[tuple[slice, Array]]:
        """Yield the differences of near pairs, in parts, followed by those of the far pairs."""
        for start in range(0, len(self._indices), _CHUNK):
            part = slice(start, start + _CHUNK)
            a, b, c, d = self._indices[part].T
            yield part, np.vstack([Z[a] - Z[b], Z[c] - Z[d]])

    def evaluate(self, Z: Array) -> LossPass:
        total = np.zeros((Z.shape[1], Z.shape[1]))
        curvature = np.empty(len(self._indices))
        value = conjugate = noise = 0.0
        for part, V in self._differences(Z):
            near, far = np.einsum("kf,kf->k", V, V).reshape(2, -1)
            t, weight = near - far, self._weight[part]
            # The two distances may cancel, so rounding errors grow with their sum. The loss is convex and
            # nondecreasing, so it changes most toward larger t.
            above = float(weight @ self._loss.value(t + 4.0 * _EPS * (near + far), True))
            terms = self._loss.terms(t, True, weight)
            value += terms.value
            conjugate += terms.conjugate
            total += _signed_sum(V, terms.slope)
            curvature[part] = terms.curvature
            noise += above - terms.value
        return LossPass(value, conjugate, total, float(curvature.sum()), [curvature], max(noise, 0.0))

    def curvature_product(self, Z: Array, S: Array, losses: LossPass) -> Array:
        assert losses.curvatures is not None  # `evaluate` always keeps them
        total = np.zeros_like(S)
        for part, V in self._differences(Z):
            near, far = np.einsum("kf,kf->k", V @ S, V).reshape(2, -1)
            total += _signed_sum(V, losses.curvatures[0][part] * (near - far))
        return total

    def curvature_moment(self, Z: Array, losses: LossPass) -> Array:
        # For independent normal v and w of covariance Σ, the mean of ⟨S, vvᵀ − wwᵀ⟩ (vvᵀ − wwᵀ) is 4 ΣSΣ, as
        # for one difference of covariance √2 Σ, and Σ is the mean of (vvᵀ + wwᵀ)/2.
        assert losses.curvatures is not None  # `evaluate` always keeps them
        total = np.zeros((Z.shape[1], Z.shape[1]))
        for part, V in self._differences(Z):
            total += (V.T * np.tile(losses.curvatures[0][part], 2)) @ V
        return np.asarray(np.sqrt(0.5) * total)


def _signed_sum(V: Array, a: Array) -> Array:
    """Return Σ a (vvᵀ − wwᵀ) for the rows v of the first half of V and w of the second half."""
    return np.asarray((V.T * np.concatenate([a, -a])) @ V)
