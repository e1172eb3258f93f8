"""Sums over a list of pairs, from differences of pairs or from products over samples."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from geodual.arrays import Array, Indices
from geodual.threads import product_operations

from ..losses import LossTerms, PairLoss
from .distances import PairDifferences
from .pair_set import LossPass, Pairs, PairTable

_EPS = float(np.finfo(float).eps)
_ROWS = 2048  # number of pairs in a typical matrix product
# With at least this number of features, and of pairs per sample, products over samples are faster.
_MANY_FEATURES = 16
_MANY_PAIRS = 3.0
_LOST_DIGITS = 1e4  # largest loss of relative accuracy in sums from products over samples
_ENTRIES = 131_072  # 1 MB: total entries of the rows gathered at once, to stay in the cache
_MANY = 100_000  # number of entries of samples above which second derivatives are in single precision
_SINGLE_RANGE = (1e-12, 1e12)  # of coordinates whose squares do not under- or overflow in single precision
_GRAPH_LOST_DIGITS = 1e3  # largest loss of relative accuracy there


def chunk_operations(n_features: int) -> float:
    """Return the number of operations of the largest matrix product in a pass over a list of pairs."""
    return product_operations(n_features, _ROWS, n_features)


class Curvatures(NamedTuple):
    """φ″ of all listed pairs, and whether sums are taken from products over samples or from differences."""

    values: Array
    by_samples: bool


class PairList(Pairs):
    """A list of pairs of samples.

    Few pairs, or pairs in few dimensions, are summed by differences. Otherwise products over samples are
    faster, see `PairGraph`; they are used as long as they lose few digits.

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
            Y = self._graph.centered(Z)
            d = self._graph.distances(Y)
            terms = self._terms(d, loss)
            size = self._graph.size(Y, terms.slope)
            if size <= _LOST_DIGITS * float(np.abs(terms.slope) @ d):
                total = self._graph.laplacian_form(Y, terms.slope)
                return _loss_pass(terms, total, Curvatures(terms.curvature, by_samples=True), _EPS * size)
        terms = self._terms(self._differences.distances(Z), loss)
        total = self._differences.weighted_sum(Z, terms.slope)
        return _loss_pass(terms, total, Curvatures(terms.curvature, by_samples=False), 0.0)

    def _terms(self, d: Array, loss: PairLoss) -> LossTerms:
        """Return the loss at the squared distances of all pairs; the values are sums over the pairs."""
        kinds = []
        for part, similar in ((slice(self._n_similar), True), (slice(self._n_similar, None), False)):
            weight = None if self._weight is None else self._weight[part]
            # Copy, because a loss may overwrite the distances.
            kinds.append(loss.terms(d[part].copy(), similar, weight))
        near, far = kinds
        return LossTerms(
            near.value + far.value,
            np.concatenate([near.slope, far.slope]),
            np.concatenate([near.curvature, far.curvature]),
            near.conjugate + far.conjugate,
        )

    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: Curvatures) -> Array:
        sums = self._graph if curvatures.by_samples else self._differences
        return sums.form_sum(Z, S, curvatures.values)

    def curvature_moment(self, Z: Array, loss: PairLoss, losses: LossPass) -> Array:
        curvatures: Curvatures = losses.curvatures
        if curvatures.by_samples:
            return self._graph.moment(Z, curvatures.values)
        return self._differences.weighted_sum(Z, curvatures.values)

    def turned(self, Z: Array, basis: Array, losses: LossPass) -> Array:
        by_samples = losses.curvatures.by_samples
        return self._graph.turned(Z, basis) if by_samples else super().turned(Z, basis, losses)

    def index_list(self, limit: int) -> PairTable:
        self._check_limit(limit)
        weight = np.ones(self.n_pairs) if self._weight is None else self._weight
        return PairTable(self._i, self._j, np.arange(self.n_pairs) < self._n_similar, weight)


def _loss_pass(terms: LossTerms, total: Array, curvatures: Curvatures, noise: float) -> LossPass:
    curvature = float(terms.curvature.sum())
    return LossPass(terms.value, terms.conjugate, total, curvature, curvatures, noise)


class PairGraph:
    """The graph with one edge per pair.

    Curvature products at a point take three calls in this order: `moment` chooses the precision, `turned`
    returns the samples in other coordinates, and `form_sum` uses these samples, any number of times.

    For N samples of n features, sums take 4 N n² operations and some gathering of rows, compared with 4 m n²
    operations for the differences of m pairs. But sums lose digits if samples are far from the origin
    compared with their distances; `size` measures how many.

    Parameters
    ----------
    i, j : array of shape (n_pairs,)
        Row numbers of the two samples of each pair.
    """

    def __init__(self, i: Indices, j: Indices) -> None:
        used = np.bincount(np.concatenate([i, j])) > 0
        self.rows = np.flatnonzero(used)
        place = np.cumsum(used) - 1
        self._i, self._j = place[i], place[j]
        n = len(self.rows)
        self._degree = np.bincount(np.concatenate([self._i, self._j]), minlength=n)
        # Each pair is one entry; the other half of the adjacency matrix is the transpose.
        self._pair = np.lexsort((self._j, self._i))  # the pair of each entry
        starts = np.concatenate([[0], np.cumsum(np.bincount(self._i, minlength=n))])
        self._adjacency = csr_array((np.ones(len(self._i)), self._j[self._pair], starts), shape=(n, n))
        # Reuse memory, because allocating it takes longer than using it.
        self._buffers, self._product = np.empty((2, 0, 0)), np.empty((0, 0))
        self._kind: type[np.floating] = np.float64  # precision of sums of forms
        self._prepared: tuple[Array, Array] | None = None  # samples, and the same centered, in that precision

    def centered(self, Z: Array) -> Array:
        """Return the samples in pairs, minus the mean of the ends of all pairs."""
        used = Z if len(self.rows) == len(Z) else Z[self.rows]
        return np.asarray(used - self._degree @ used / self._degree.sum())

    def distances(self, Z: Array) -> Array:
        """Return the squared distances of all pairs from differences, to full accuracy."""
        d = np.empty(len(self._i))
        for part, first, second in self._gathered(Z, Z):
            first -= second
            np.einsum("kf,kf->k", first, first, out=d[part])
        return d

    def forms(self, Z: Array, Y: Array) -> Array:
        """Return (zᵢ − zⱼ)ᵀ(yᵢ − yⱼ) of all pairs, for Y = Z S with S symmetric."""
        own = np.einsum("kf,kf->k", Z, Y)
        cross = np.empty(len(self._i))
        for part, first, second in self._gathered(Z, Y):
            np.einsum("kf,kf->k", first, second, out=cross[part])
        return np.asarray(own[self._i] + own[self._j] - 2.0 * cross)

    def laplacian_form(self, Z: Array, a: Array) -> Array:
        """Return Σ a (zᵢ − zⱼ)(zᵢ − zⱼ)ᵀ = Zᵀ Lap(a) Z for centered samples, in their precision."""
        unit = float(np.abs(a).max(initial=0.0)) or 1.0  # single precision has a small range
        a = a / unit
        self._adjacency.data = a[self._pair].astype(Z.dtype)
        if self._product.shape != Z.shape or self._product.dtype != Z.dtype:
            self._product = np.empty_like(Z)
        degree = (0.5 * self._weighted_degree(a)).astype(Z.dtype)
        product = np.multiply(degree[:, None], Z, out=self._product)
        product -= self._adjacency @ Z
        half = (Z.T @ product).astype(float)
        return np.asarray(unit * (half + half.T))

    def moment(self, Z: Array, a: Array) -> Array:
        """Return Σ a (zᵢ − zⱼ)(zᵢ − zⱼ)ᵀ for a ≥ 0, and choose the precision of the sums of forms.

        With many samples, both are computed in single precision, because they need not be accurate.
        """
        Y, (least, most) = self.centered(Z), _SINGLE_RANGE
        self._kind = np.float64
        if Y.size >= _MANY and least < float(np.abs(Y).max()) < most:
            rough = Y.astype(np.float32)
            total = self.laplacian_form(rough, a)
            if self.size(Y, a) <= _GRAPH_LOST_DIGITS * float(np.trace(total)):
                self._kind, self._prepared = np.float32, (Z, rough)
                return total
        return self.laplacian_form(Y, a)

    def turned(self, Z: Array, basis: Array) -> Array:
        """Return the samples of the last `moment` in other coordinates, for `form_sum` only."""
        if self._kind is np.float64:
            return np.asarray(Z @ basis)
        assert self._prepared is not None
        Y = self._prepared[1] @ basis.astype(np.float32)
        self._prepared = Y, Y
        return np.asarray(Y)

    def form_sum(self, Z: Array, S: Array, a: Array) -> Array:
        """Return Σ a (zᵀ S z) z zᵀ over the differences z = zᵢ − zⱼ.

        Z are the samples of the last `moment`, possibly `turned`.
        """
        if self._prepared is None or self._prepared[0] is not Z:
            self._prepared = Z, self.centered(Z).astype(self._kind)
        Y = self._prepared[1]
        return self.laplacian_form(Y, a * self.forms(Y, Y @ S.astype(Y.dtype)))

    def size(self, Z: Array, a: Array) -> float:
        """Return Σ |a| (‖zᵢ‖² + ‖zⱼ‖²), which scales the rounding error of `laplacian_form`."""
        return float(self._weighted_degree(np.abs(a)) @ np.einsum("kf,kf->k", Z, Z))

    def _weighted_degree(self, a: Array) -> Array:
        n = len(self.rows)
        return np.asarray(np.bincount(self._i, a, n) + np.bincount(self._j, a, n))

    def _gathered(self, Z: Array, Y: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Yield zᵢ and yⱼ of pairs in parts, with their positions; they may be overwritten."""
        step = max(_ENTRIES // Z.shape[1], 16)
        if self._buffers.shape != (2, step, Z.shape[1]) or self._buffers.dtype != Z.dtype:
            self._buffers = np.empty((2, step, Z.shape[1]), Z.dtype)
        for start in range(0, len(self._i), step):
            part = slice(start, start + step)
            i, j = self._i[part], self._j[part]
            first, second = self._buffers[:, : len(i)]
            # With "clip", `take` does not check row numbers and writes to the buffer directly.
            yield part, Z.take(i, axis=0, out=first, mode="clip"), Y.take(j, axis=0, out=second, mode="clip")
