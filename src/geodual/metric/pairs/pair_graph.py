"""A list of pairs as a graph of samples: sums over the pairs from products over the samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from geodual.arrays import Array, Indices

_ENTRIES = 131_072  # 1 MB: rows of this many entries in all are gathered at once, and stay in the cache


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
        self.rows, ends = np.unique(np.concatenate([i, j]), return_inverse=True)
        self._i, self._j = ends.reshape(2, -1)
        # The adjacency matrix is symmetric, so the pairs appear in it a second time, the other way round.
        first, second = np.concatenate([self._i, self._j]), np.concatenate([self._j, self._i])
        order = np.lexsort((second, first))
        self._pair = np.tile(np.arange(len(self._i)), 2)[order]  # the pair of each entry
        self._degree = np.bincount(first, minlength=len(self.rows))
        starts = np.concatenate([[0], np.cumsum(self._degree)])
        self._adjacency = csr_array((np.ones(len(order)), second[order], starts))
        self._buffers = np.empty((2, 0, 0))

    def centred(self, Z: Array) -> Array:
        """Return the samples that are in pairs, minus the mean of the ends of all pairs."""
        used = Z[self.rows]
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
        """Return Σ a (zᵢ − zⱼ)(zᵢ − zⱼ)ᵀ = Zᵀ Lap(a) Z."""
        self._adjacency.data = a[self._pair]
        product = self._weighted_degree(a)[:, None] * Z
        product -= self._adjacency @ Z
        return np.asarray(Z.T @ product)

    def size(self, Z: Array, a: Array) -> float:
        """Return Σ |a| (‖zᵢ‖² + ‖zⱼ‖²), which scales the rounding error of `laplacian_form`."""
        return float(self._weighted_degree(np.abs(a)) @ np.einsum("kf,kf->k", Z, Z))

    def _weighted_degree(self, a: Array) -> Array:
        n = len(self.rows)
        return np.asarray(np.bincount(self._i, a, n) + np.bincount(self._j, a, n))

    def _gathered(self, Z: Array, Y: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Yield zᵢ and yⱼ of some pairs at a time, with their positions; they may be overwritten."""
        step = max(_ENTRIES // Z.shape[1], 16)
        # Buffers are kept, because new memory of this size costs more time than what is done with it.
        if self._buffers.shape != (2, step, Z.shape[1]):
            self._buffers = np.empty((2, step, Z.shape[1]))
        for start in range(0, len(self._i), step):
            part = slice(start, start + step)
            i, j = self._i[part], self._j[part]
            first, second = self._buffers[:, : len(i)]
            # Without a check of the row numbers ("clip"), `take` writes to the buffer directly.
            yield part, Z.take(i, axis=0, out=first, mode="clip"), Y.take(j, axis=0, out=second, mode="clip")
