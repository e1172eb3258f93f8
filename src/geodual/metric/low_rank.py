"""Matrices of very many features, kept as a diagonal plus a product of few columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack, issparse
from scipy.sparse.linalg import LinearOperator

from geodual.arrays import Array

MANY_FEATURES = 5_000  # with more, matrices of the features are not formed if a low rank will do
TOO_EXTREME = (
    "The learnt distances of the samples are too small or too large to compute with; scale the features and "
    "weights, or drop outliers."
)
LARGEST = 1e150  # the square of a larger number may overflow
_ENTRIES = 2_000_000  # 16 MB: features of this many entries in all are worked on at once


class LowRankPlusDiagonal(LinearOperator):
    """A square matrix diag(d) + U C Vᵀ, which is never formed: U and V have few columns.

    It is a `scipy.sparse.linalg.LinearOperator`: ``W @ x``, ``x @ W``, ``W.T`` and ``W.shape`` work as for an
    array. `to_dense`, or ``numpy.asarray``, forms the matrix; 50,000 features take 20 GB.

    Parameters
    ----------
    diagonal : array of shape (n_features,)
        d.
    left, right : array or sparse array of shape (n_features, n_columns)
        U and V.
    core : array of shape (n_columns, n_columns)
        C.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.metric.low_rank import LowRankPlusDiagonal
    >>> U = np.array([[1.0], [0.0], [2.0]])
    >>> W = LowRankPlusDiagonal(np.ones(3), U, np.array([[0.5]]), U)
    >>> W @ np.array([1.0, 1.0, 0.0])
    array([1.5, 1. , 1. ])
    >>> W.diagonal()
    array([1.5, 1. , 3. ])
    """

    def __init__(self, diagonal: Array, left: Any, core: Array, right: Any) -> None:
        super().__init__(np.dtype(float), (len(diagonal), len(diagonal)))
        self._diagonal, self._left, self._core, self._right = diagonal, left, core, right

    def __len__(self) -> int:
        return len(self._diagonal)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.to_dense()

    def _matmat(self, X: Any) -> Array:
        return self.map_rows(X.T).T

    def _transpose(self) -> LowRankPlusDiagonal:
        return LowRankPlusDiagonal(self._diagonal, self._right, self._core.T, self._left)

    _adjoint = _transpose

    def map_rows(self, X: Any) -> Array:
        """Return X Mᵀ for this matrix M and the rows of an array or sparse array X."""
        own = X.multiply(self._diagonal).toarray() if issparse(X) else X * self._diagonal
        return np.asarray(own + _dense(self._left @ (self._core @ _dense(X @ self._right).T)).T)

    def to_dense(self) -> Array:
        """Return the matrix as an array of shape (n_features, n_features)."""
        matrix = _dense(_dense(self._left @ self._core) @ self._right.T)
        matrix.flat[:: len(self) + 1] += self._diagonal
        return matrix

    def parts(self) -> tuple[Array, Any, Array, Any]:
        """Return d, U, C and V."""
        return self._diagonal, self._left, self._core, self._right

    def scaled(self, factor: float) -> LowRankPlusDiagonal:
        """Return a multiple of the matrix."""
        return LowRankPlusDiagonal(factor * self._diagonal, self._left, factor * self._core, self._right)

    def diagonal(self) -> Array:
        """Return the diagonal of the matrix (not only d)."""
        products = _dense(self._left @ self._core)
        low_rank = (
            self._right.multiply(products).sum(axis=1)
            if issparse(self._right)
            else np.einsum("ij,ij->i", products, self._right)
        )
        return np.asarray(self._diagonal + np.asarray(low_rank).ravel())

    def gram(self) -> LowRankPlusDiagonal:
        """Return MᵀM of this matrix M; it has twice as many columns."""
        d, U, C, V = self._diagonal, self._left, self._core, self._right
        if issparse(U):
            columns: Any = csr_array(hstack([diags_array(d) @ U, V]))
        else:
            columns = np.hstack([d[:, None] * U, V])
        # MᵀM = d² + d U C Vᵀ + V Cᵀ Uᵀ d + V Cᵀ (UᵀU) C Vᵀ.
        core = np.block([[np.zeros_like(C), C], [C.T, C.T @ _dense(U.T @ U) @ C]])
        return LowRankPlusDiagonal(d**2, columns, core, columns)

    def scatter_diagonal(self, X: Any, weight: Array) -> Array:
        """Return the diagonal of W Σ w (x − m)(x − m)ᵀ for this symmetric W, in blocks of features.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Samples x; m is their weighted mean.
        weight : array of shape (n_samples,)
            Their weights w.
        """
        mean = np.asarray(weight @ X) / weight.sum()
        inner = (_dense(X @ self._right) - mean @ self._right) @ self._core.T
        result = np.empty(len(self))
        X = X.tocsc() if issparse(X) else X
        for block in feature_blocks(*X.shape):
            Z = _dense(X[:, block]) - mean[block]
            product = Z * self._diagonal[block] + inner @ _dense(self._left[block]).T
            result[block] = np.einsum("ij,ij,i->j", Z, product, weight)
        return result


def feature_blocks(n_samples: int, n_features: int) -> list[slice]:
    """Return slices of the features, so that a dense block of all samples takes little memory."""
    step = max(_ENTRIES // n_samples, 64)
    return [slice(start, min(start + step, n_features)) for start in range(0, n_features, step)]


def mapped(X: Any, L: Array | LowRankPlusDiagonal) -> Array:
    """Return X Lᵀ for samples X that may be sparse."""
    return L.map_rows(X) if isinstance(L, LowRankPlusDiagonal) else np.asarray(X @ L.T)


def check_map(X: Any, L: Array | LowRankPlusDiagonal) -> None:
    """Raise unless a learnt map L is finite and the entries of L x can be squared for all samples x.

    A `LowRankPlusDiagonal` is not looked at: its samples are too many features wide.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
        The samples.
    L : array of shape (n_components, n_features), or LowRankPlusDiagonal
        The map.
    """
    if isinstance(L, LowRankPlusDiagonal):
        return
    # Without a copy of the samples.
    largest = np.maximum(_dense(X.max(axis=0)), -_dense(X.min(axis=0))).ravel()
    with np.errstate(all="ignore"):
        reach = float((np.abs(L) @ largest).max())
    if not reach < LARGEST:  # also if it is NaN
        raise ValueError(TOO_EXTREME)


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if issparse(matrix) else matrix)
