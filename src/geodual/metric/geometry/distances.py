"""Distances of pairs: for a list of pairs from differences, for all pairs from a matrix product."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geodual.arrays import Array, Indices

_KEPT = 2_000_000  # 16 MB: differences of all pairs are kept up to this number of entries
_CHUNK = 2048  # otherwise this number of differences is formed at once, to stay in the cache


class PairDifferences:
    """The differences of the samples of each pair.

    Parameters
    ----------
    i, j : array of shape (n_pairs,)
        Row numbers of the two samples of each pair.
    """

    def __init__(self, i: Indices, j: Indices) -> None:
        self._i, self._j = i, j
        self._kept: tuple[Array, Array] | None = None  # samples and their differences

    def distances(self, Z: Array) -> Array:
        """Return the squared distances of all pairs."""
        d = np.empty(len(self._i))
        for part, V in self._parts(Z):
            np.einsum("kf,kf->k", V, V, out=d[part])
        return d

    def weighted_sum(self, Z: Array, a: Array) -> Array:
        """Return Σ a z zᵀ over the differences z."""
        total = np.zeros((Z.shape[1], Z.shape[1]))
        for part, V in self._parts(Z):
            total += (V.T * a[part]) @ V
        return total

    def form_sum(self, Z: Array, S: Array, a: Array) -> Array:
        """Return Σ a (zᵀ S z) z zᵀ over the differences z."""
        total = np.zeros_like(S)
        for part, V in self._parts(Z):
            total += (V.T * (a[part] * np.einsum("kf,kf->k", V @ S, V))) @ V
        return total

    def _parts(self, Z: Array) -> Iterator[tuple[slice, Array]]:
        """Yield the differences of pairs in parts, with their positions; all at once if they fit."""
        if len(self._i) * Z.shape[1] <= _KEPT:
            # Several Hessian products are taken at the same point.
            if self._kept is None or self._kept[0] is not Z:
                self._kept = (Z, Z.take(self._i, axis=0) - Z.take(self._j, axis=0))
            yield slice(None), self._kept[1]
            return
        # Use one buffer for all parts, because allocating memory takes time.
        first, second = np.empty((2, _CHUNK, Z.shape[1]))
        for start in range(0, len(self._i), _CHUNK):
            part = slice(start, start + _CHUNK)
            i, j = self._i[part], self._j[part]
            # With "clip", `take` does not check row numbers and writes to the buffer directly.
            V = Z.take(i, axis=0, out=first[: len(i)], mode="clip")
            V -= Z.take(j, axis=0, out=second[: len(i)], mode="clip")
            yield part, V


def gram_factors(Z: Array, Y: Array) -> tuple[Array, Array]:
    """Return A and B for which A Bᵀ has the entries (zᵢ − zⱼ)ᵀ(yᵢ − yⱼ), with Y = Z S and S symmetric."""
    # The entry is zᵢᵀyᵢ + zⱼᵀyⱼ − 2 yᵢᵀzⱼ; the two extra columns add the first two terms.
    forms = np.einsum("ij,ij->i", Z, Y)[:, None]
    ones = np.ones((len(Z), 1), dtype=Z.dtype)
    return np.hstack([-2.0 * Y, forms, ones]), np.hstack([Z, ones, forms])
