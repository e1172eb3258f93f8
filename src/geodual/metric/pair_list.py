"""Pairs of samples that are given one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from geodual.manifolds.base import Array

from .pair_loss import PairLoss
from .pairs import LossPass, Pairs, PairTable

_CHUNK = 8192  # pairs whose samples are gathered at once: they stay in the cache


@dataclass(frozen=True)
class _Group:
    """Pairs of one kind from a list."""

    i: NDArray[np.intp]
    j: NDArray[np.intp]
    similar: bool
    weight: Array | None

    @property
    def weights(self) -> Array:
        return np.ones(len(self.i)) if self.weight is None else self.weight

    def chunks(self) -> Iterator[slice]:
        for start in range(0, len(self.i), _CHUNK):
            yield slice(start, start + _CHUNK)

    def forms(self, Z: Array, Y: Array) -> Array:
        """Return (zᵢ − zⱼ)ᵀ(yᵢ − yⱼ) for Y = Z S with S symmetric."""
        own = np.einsum("if,if->i", Z, Y)
        cross = [np.einsum("kf,kf->k", Z[self.i[c]], Y[self.j[c]]) for c in self.chunks()]
        return np.asarray(own[self.i] + own[self.j] - 2.0 * np.concatenate(cross)) if cross else np.zeros(0)

    @cached_property
    def _graph(self) -> tuple[NDArray[np.intp], csr_matrix]:
        """The order of the pairs by rows, and a matrix with an entry for each, whose pattern is made once."""
        order = np.lexsort((self.j, self.i))
        rows = int(max(self.i.max(initial=-1), self.j.max(initial=-1))) + 1
        starts = np.searchsorted(self.i[order], np.arange(rows + 1))
        return order, csr_matrix((np.empty(len(order)), self.j[order], starts), shape=(rows, rows))

    def laplacian_sum(self, Z: Array, a: Array) -> Array:
        order, graph = self._graph
        n = graph.shape[0]
        Z = Z[:n]  # later samples are in no pair
        graph.data = a[order]
        degrees = np.bincount(self.i, a, n) + np.bincount(self.j, a, n)
        cross = Z.T @ (graph @ Z)
        return np.asarray((Z.T * degrees) @ Z - cross - cross.T)


class PairList(Pairs):
    """Given pairs of sample indices.

    Parameters
    ----------
    indices : array of shape (n_pairs, 2)
        Rows of the two samples of each pair.
    similar : array of bool
        Which pairs are similar.
    weight : array, optional
        Weights of the pairs.
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
        terms = [
            loss.terms(np.maximum(group.forms(Z, Z), 0.0), group.similar, group.weight)
            for group in self._groups
        ]
        sums = [group.laplacian_sum(Z, t.slope) for group, t in zip(self._groups, terms, strict=True)]
        return LossPass(
            sum(t.value for t in terms),
            sum(t.conjugate for t in terms),
            np.sum(sums, axis=0),
            sum(float(t.curvature.sum()) for t in terms),
            [t.curvature for t in terms],
        )

    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: list[Array] | None) -> Array:
        assert curvatures is not None
        Y = Z @ S
        parts = zip(self._groups, curvatures, strict=True)
        sums = [group.laplacian_sum(Z, c * group.forms(Z, Y)) for group, c in parts]
        return np.asarray(np.sum(sums, axis=0))

    def second_moment(self, Z: Array) -> Array:
        sums = [group.laplacian_sum(Z, group.weights) for group in self._groups]
        return np.asarray(np.sum(sums, axis=0) / max(self.total_weight, 1e-300))

    def index_list(self, limit: int) -> PairTable:
        self._check_limit(limit)
        i, j, weight = (
            np.concatenate([getattr(group, name) for group in self._groups]) for name in ("i", "j", "weights")
        )
        return PairTable(i, j, np.repeat([True, False], [len(group.i) for group in self._groups]), weight)
