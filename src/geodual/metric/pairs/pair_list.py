"""Sums over a list of pairs of samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.threads import product_operations

from .pair_loss import PairLoss
from .pair_set import LossPass, Pairs, PairTable

_CHUNK = 2048  # number of differences formed at once: they stay in the cache


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
        """Yield the differences zᵢ − zⱼ of some pairs at a time, with their positions in the list.

        Products of samples would take fewer operations, but would lose digits for pairs far from the origin.
        """
        for start in range(0, len(self.i), _CHUNK):
            part = slice(start, start + _CHUNK)
            yield part, Z[self.i[part]] - Z[self.j[part]]


class PairList(Pairs):
    """A list of pairs of samples.

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

    def evaluate(self, Z: Array, loss: PairLoss) -> LossPass:
        total = np.zeros((Z.shape[1], Z.shape[1]))
        value = conjugate = curvature_total = 0.0
        curvatures = []
        for group in self._groups:
            for part, V in group.differences(Z):
                weight = None if group.weight is None else group.weight[part]
                terms = loss.terms(np.einsum("kf,kf->k", V, V), group.similar, weight)
                value += terms.value
                conjugate += terms.conjugate
                curvature_total += float(terms.curvature.sum())
                total += (V.T * terms.slope) @ V
                curvatures.append(terms.curvature)
        return LossPass(value, conjugate, total, curvature_total, curvatures, 0.0)

    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: list[Array] | None) -> Array:
        assert curvatures is not None  # `evaluate` always keeps them
        total = np.zeros_like(S)
        parts = (V for group in self._groups for _, V in group.differences(Z))
        for V, curvature in zip(parts, curvatures, strict=True):
            total += (V.T * (curvature * np.einsum("kf,kf->k", V @ S, V))) @ V
        return total

    def second_moment(self, Z: Array) -> Array:
        total = np.zeros((Z.shape[1], Z.shape[1]))
        for group in self._groups:
            weights = group.weights
            for part, V in group.differences(Z):
                total += (V.T * weights[part]) @ V
        return total / max(self.total_weight, 1e-300)

    def index_list(self, limit: int) -> PairTable:
        self._check_limit(limit)
        i, j, weight = (
            np.concatenate([getattr(group, name) for group in self._groups]) for name in ("i", "j", "weights")
        )
        return PairTable(i, j, np.repeat([True, False], [len(group.i) for group in self._groups]), weight)
