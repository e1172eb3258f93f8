"""Differences of pairs by feature: distances that are linear in feature weights, and sums."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from geodual.arrays import Array, Indices

_KEPT = 25_000_000  # up to this number (200 MB), differences are formed once, otherwise in every pass
_CHUNK = 50_000  # differences formed at once otherwise: 0.4 MB, to stay in the cache


class FeatureDifferences:
    """The absolute or squared differences V of pairs, an array of shape (n_pairs, n_features).

    For sparse samples they are sparse, and zeros take neither time nor memory.

    Parameters
    ----------
    X : array or sparse array by rows, of shape (n_samples, n_features)
        Samples.
    i, j : array of shape (n_pairs,)
        Row numbers of the samples of each pair.
    squared : bool
        Whether differences are squared.
    """

    def __init__(self, X: Any, i: Indices, j: Indices, squared: bool) -> None:
        self._X, self._i, self._j, self._squared = X, i, j, squared
        # Differences per pair; for sparse samples, the maximum for samples of mean size.
        self._width = max(2 * X.nnz // X.shape[0], 1) if issparse(X) else X.shape[1]

    def _formed(self, pairs: slice) -> Any:
        V = self._X[self._i[pairs]] - self._X[self._j[pairs]]
        values = V.data if issparse(V) else V
        _ = np.square(values, out=values) if self._squared else np.abs(values, out=values)
        return V

    @cached_property
    def _kept(self) -> Any:
        few = len(self._i) * self._width <= _KEPT
        return self._formed(slice(None)) if few else None

    def _parts(self) -> Iterator[tuple[slice, Any]]:
        """Yield the differences of pairs in parts, with the positions of the pairs."""
        if self._kept is not None:
            yield slice(0, len(self._i)), self._kept
            return
        step = max(_CHUNK // self._width, 1)
        for start in range(0, len(self._i), step):
            pairs = slice(start, min(start + step, len(self._i)))
            yield pairs, self._formed(pairs)

    def distances(self, w: Array) -> Array:
        """Return the distances V w of all pairs under weights w, or their changes for changes of w."""
        return np.concatenate([V @ w for _, V in self._parts()])

    def sums(self, u: Array) -> Array:
        """Return Vᵀ u: for each feature, a sum over the pairs."""
        return np.asarray(sum(u[pairs] @ V for pairs, V in self._parts()))

    def squared_sums(self, u: Array) -> Array:
        """Return (V²)ᵀ u."""
        return np.asarray(sum(u[pairs] @ V**2 for pairs, V in self._parts()))

    def scatter(self, u: Array, p: Array, starts: Indices) -> Array | None:
        """Return Vᵀ diag(u) V minus that of the means of groups; None if there are too many pairs.

        Parameters
        ----------
        u : array of shape (n_pairs,)
            Weights of the pairs, in each group a multiple of p.
        p : array of shape (n_pairs,)
            Shares of the pairs of a group in its mean.
        starts : array of int
            Start positions of the groups.
        """
        V = self._kept
        if V is None:
            return None
        size = np.add.reduceat(u, starts)
        if issparse(V):
            groups = csr_array((p, np.arange(len(p)), np.append(starts, len(p))), (len(starts), len(p)))
            means = groups @ V
            weighted = V.multiply(u[:, None]).tocsr(), means.multiply(size[:, None]).tocsr()
            return np.asarray((V.T @ weighted[0] - means.T @ weighted[1]).toarray())
        means = np.add.reduceat(p[:, None] * V, starts, axis=0)
        return np.asarray((V.T * u) @ V - (means.T * size) @ means)
