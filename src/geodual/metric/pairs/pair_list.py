"""Sums over a list of pairs of samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array, Indices
from geodual.threads import product_operations

from .pair_graph import PairGraph
from .pair_loss import PairLoss
from .pair_set import LossPass, Pairs, PairTable

_EPS = float(np.finfo(float).eps)
_CHUNK = 2048  # number of differences formed at once: they stay in the cache
# With at least this number of features, and of pairs per sample, products over samples are faster.
_MANY_FEATURES = 16
_MANY_PAIRS = 3.0
_LOST_DIGITS = 1e4  # largest loss of relative accuracy in sums from products over samples


def chunk_operations(n_features: int) -> float:
    """Return the operation count of the largest matrix product in a pass over a list of pairs."""
    return product_operations(n_features, _CHUNK, n_features)


@dataclass(frozen=True)
class _Group:
    """The similar or the dissimilar pairs of a list."""

    i: NDArray[np.intp]
    j: NDArray[np.intp]
    similar: bool
    weight: Array | None

    @property
    def weights(self) -> Array:
        return np.ones(len(self.i)) if self.weight is None else self.weight

    def differences(self, Z: Array) -> Iterator[tuple[slice, Array]]:
        """Yield the differences zᵢ − zⱼ of some pairs at a time, with their positions in the list."""
        # One buffer for all parts, because new memory costs time.
        first, second = np.empty((2, min(_CHUNK, len(self.i)), Z.shape[1]))
        for start in range(0, len(self.i), _CHUNK):
            part = slice(start, start + _CHUNK)
            i, j = self.i[part], self.j[part]
            # Without a check of the row numbers ("clip"), `take` writes to the buffer directly.
            V = Z.take(i, axis=0, out=first[: len(i)], mode="clip")
            V -= Z.take(j, axis=0, out=second[: len(i)], mode="clip")
            yield part, V


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
        self.n_pairs = len(indices)
        self.total_weight = float(len(indices) if weight is None else weight.sum())
        self._groups = [
            _Group(indices[kind, 0], indices[kind, 1], is_similar, None if weight is None else weight[kind])
            for kind, is_similar in ((similar, True), (~similar, False))
        ]
        self._n_used = len(np.unique(indices))

    @cached_property
    def _graph(self) -> PairGraph:
        i, j, _ = self._joined()
        return PairGraph(i, j)

    def _joined(self) -> tuple[Indices, Indices, Array]:
        """Return both samples and the weight of all pairs, similar ones first."""
        i, j, weight = (
            np.concatenate([getattr(group, name) for group in self._groups]) for name in ("i", "j", "weights")
        )
        return i, j, weight

    def _prefers_samples(self, Z: Array) -> bool:
        return Z.shape[1] >= _MANY_FEATURES and self.n_pairs >= _MANY_PAIRS * self._n_used

    def evaluate(self, Z: Array, loss: PairLoss) -> LossPass:
        if self._prefers_samples(Z) and (found := self._evaluate_by_samples(Z, loss)) is not None:
            return found
        total = np.zeros((Z.shape[1], Z.shape[1]))
        value = conjugate = 0.0
        curvatures: list[Array] = []
        for group in self._groups:
            curvature = np.empty(len(group.i))
            for part, V in group.differences(Z):
                weight = None if group.weight is None else group.weight[part]
                terms = loss.terms(np.einsum("kf,kf->k", V, V), group.similar, weight)
                value += terms.value
                conjugate += terms.conjugate
                total += (V.T * terms.slope) @ V
                curvature[part] = terms.curvature
            curvatures.append(curvature)
        return LossPass(value, conjugate, total, float(sum(map(np.sum, curvatures))), curvatures, 0.0)

    def _evaluate_by_samples(self, Z: Array, loss: PairLoss) -> LossPass | None:
        """Return the sums from products over samples; None if these would lose too many digits."""
        Z = self._graph.centred(Z)
        d = self._graph.distances(Z)
        similar, dissimilar = (
            loss.terms(part.copy(), group.similar, group.weight)
            for group, part in zip(self._groups, np.split(d, [len(self._groups[0].i)]), strict=True)
        )
        slope = np.concatenate([similar.slope, dissimilar.slope])
        size = self._graph.size(Z, slope)
        if size > _LOST_DIGITS * float(np.abs(slope) @ d):
            return None
        curvature = np.concatenate([similar.curvature, dissimilar.curvature])
        return LossPass(
            similar.value + dissimilar.value,
            similar.conjugate + dissimilar.conjugate,
            self._graph.laplacian_form(Z, slope),
            float(curvature.sum()),
            [curvature],
            _EPS * size,
        )

    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: list[Array] | None) -> Array:
        assert curvatures is not None  # `evaluate` always keeps them
        if len(curvatures) == 1:  # of all pairs together: `evaluate` used products over samples
            Z = self._graph.centred(Z)
            return self._graph.laplacian_form(Z, curvatures[0] * self._graph.forms(Z, Z @ S))
        total = np.zeros_like(S)
        for group, curvature in zip(self._groups, curvatures, strict=True):
            for part, V in group.differences(Z):
                total += (V.T * (curvature[part] * np.einsum("kf,kf->k", V @ S, V))) @ V
        return total

    def second_moment(self, Z: Array) -> Array:
        total_weight = max(self.total_weight, 1e-300)
        if self._prefers_samples(Z):
            weights, used = self._joined()[2], self._graph.centred(Z)
            total = self._graph.laplacian_form(used, weights)
            # The trace is the sum of all squared distances.
            if self._graph.size(used, weights) <= _LOST_DIGITS * float(np.trace(total)):
                return total / total_weight
        total = np.zeros((Z.shape[1], Z.shape[1]))
        for group in self._groups:
            weights = group.weights
            for part, V in group.differences(Z):
                total += (V.T * weights[part]) @ V
        return total / total_weight

    def index_list(self, limit: int) -> PairTable:
        self._check_limit(limit)
        i, j, weight = self._joined()
        return PairTable(i, j, np.repeat([True, False], [len(group.i) for group in self._groups]), weight)
