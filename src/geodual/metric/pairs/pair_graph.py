"""A list of pairs as a graph of samples: sums over the pairs from products over the samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from geodual.arrays import Array, Indices

_ENTRIES = 131_072  # 1 MB: rows of this many entries in all are gathered at once, and stay in the cache
_MANY = 100_000  # entries of the samples from which second derivatives are computed in single precision
_SINGLE_RANGE = (1e-12, 1e12)  # of coordinates whose squares neither under- nor overflow in single precision
_LOST_DIGITS = 1e3  # largest loss of relative accuracy there


class PairGraph:
    """The graph with an edge per pair.

    It takes 4 N n² operations and some gathering of rows to add up what takes 4 m n² operations with the
    differences of m pairs, for N samples of n features. But sums lose digits if samples are far from the
    origin compared with their distances; `size` tells how many.

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
        # Each pair is one entry; the other half of the adjacency matrix is the transpose of this one.
        self._pair = np.lexsort((self._j, self._i))  # the pair of each entry
        starts = np.concatenate([[0], np.cumsum(np.bincount(self._i, minlength=n))])
        self._adjacency = csr_array((np.ones(len(self._i)), self._j[self._pair], starts), shape=(n, n))
        # Memory is kept, because new memory costs more time than what is done with it.
        self._buffers, self._product = np.empty((2, 0, 0)), np.empty((0, 0))
        self._kind: type[np.floating] = np.float64  # precision of sums of forms
        self._prepared: tuple[Array, Array] | None = None  # samples, and the same centred, in that precision

    def centred(self, Z: Array) -> Array:
        """Return the samples that are in pairs, minus the mean of the ends of all pairs."""
        used = Z if len(self.rows) == len(Z) else Z[self.rows]
        return np.asarray(used - self._degree @ used / self._degree.sum())

    def distances(self, Z: Array) -> Array:
        """Return the squared distances of all pairs, from their differences, to full accuracy."""
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
        """Return Σ a (zᵢ − zⱼ)(zᵢ − zⱼ)ᵀ = Zᵀ Lap(a) Z for centred samples, in their precision."""
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

        If there are many samples, both are computed in single precision: they need not be accurate.
        """
        Y, (least, most) = self.centred(Z), _SINGLE_RANGE
        self._kind = np.float64
        if Y.size >= _MANY and least < float(np.abs(Y).max()) < most:
            rough = Y.astype(np.float32)
            total = self.laplacian_form(rough, a)
            if self.size(Y, a) <= _LOST_DIGITS * float(np.trace(total)):
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

        Z are the samples of the last `moment`, perhaps `turned`.
        """
        if self._prepared is None or self._prepared[0] is not Z:
            self._prepared = Z, self.centred(Z).astype(self._kind)
        Y = self._prepared[1]
        return self.laplacian_form(Y, a * self.forms(Y, Y @ S.astype(Y.dtype)))

    def size(self, Z: Array, a: Array) -> float:
        """Return Σ |a| (‖zᵢ‖² + ‖zⱼ‖²), which scales the rounding error of `laplacian_form`."""
        return float(self._weighted_degree(np.abs(a)) @ np.einsum("kf,kf->k", Z, Z))

    def _weighted_degree(self, a: Array) -> Array:
        n = len(self.rows)
        return np.asarray(np.bincount(self._i, a, n) + np.bincount(self._j, a, n))

    def _gathered(self, Z: Array, Y: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Yield zᵢ and yⱼ of some pairs at a time, with their positions; they may be overwritten."""
        step = max(_ENTRIES // Z.shape[1], 16)
        if self._buffers.shape != (2, step, Z.shape[1]) or self._buffers.dtype != Z.dtype:
            self._buffers = np.empty((2, step, Z.shape[1]), Z.dtype)
        for start in range(0, len(self._i), step):
            part = slice(start, start + step)
            i, j = self._i[part], self._j[part]
            first, second = self._buffers[:, : len(i)]
            # Without a check of the row numbers ("clip"), `take` writes to the buffer directly.
            yield part, Z.take(i, axis=0, out=first, mode="clip"), Y.take(j, axis=0, out=second, mode="clip")
