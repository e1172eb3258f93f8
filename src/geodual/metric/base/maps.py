"""The map L of a metric W = LᵀL: in full, its leading rows, or diagonal plus low rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack, issparse
from scipy.sparse.linalg import LinearOperator

from geodual.arrays import Array

from .checks import check_n_components

MANY_FEATURES = 5_000  # with more, feature-by-feature matrices are not formed if low rank is enough
TOO_EXTREME = (
    "The learned distances of the samples are too small or too large to compute with; scale the features and "
    "weights, or drop outliers."
)
LARGEST = 1e150  # the square of a larger number may overflow
_ENTRIES = 2_000_000  # of a block of features: 16 MB


class LowRankPlusDiagonal(LinearOperator):
    """A square matrix diag(d) + U C Vᵀ, stored by its factors: U and V have few columns.

    It is a `scipy.sparse.linalg.LinearOperator`: ``W @ x``, ``x @ W``, ``W.T`` and ``W.shape`` work as for an
    array. `to_dense` or ``numpy.asarray`` forms the matrix; for 50,000 features, it takes 20 GB.

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
    >>> from geodual.metric.base.maps import LowRankPlusDiagonal
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
        """Return MᵀM for this matrix M; its factors have twice as many columns."""
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

        Its entries are the contributions of the features to the variance of X Lᵀ, for W = LᵀL.

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
    """Return slices of the features, so that dense blocks of all samples take little memory."""
    step = max(_ENTRIES // n_samples, 64)
    return [slice(start, min(start + step, n_features)) for start in range(0, n_features, step)]


def mapped(X: Any, L: Array | LowRankPlusDiagonal) -> Array:
    """Return X Lᵀ for samples X, which may be sparse."""
    return L.map_rows(X) if isinstance(L, LowRankPlusDiagonal) else np.asarray(X @ L.T)


def precision_of(X: Any) -> Any:
    """Return the dtype of transformed samples: single precision is kept, otherwise double."""
    return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64


def check_map(X: Any, L: Array | LowRankPlusDiagonal) -> None:
    """Raise an error unless a learned map L is finite and the entries of L x can be squared for all x.

    A `LowRankPlusDiagonal` is not checked: its samples have too many features.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
        The samples.
    L : array of shape (n_components, n_features), or LowRankPlusDiagonal
        The map.
    """
    if isinstance(L, LowRankPlusDiagonal):
        return
    # Do not copy the samples.
    largest = np.maximum(_dense(X.max(axis=0)), -_dense(X.min(axis=0))).ravel()
    with np.errstate(all="ignore"):
        reach = float((np.abs(L) @ largest).max())
    if not reach < LARGEST:  # also true for NaN
        raise ValueError(TOO_EXTREME)


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if issparse(matrix) else matrix)


def leading_components(W: Array, n_components: int | None) -> Array:
    """Return L with LᵀL = W: a Cholesky factor or, for a lower rank, the leading scaled eigenvectors.

    At full rank, the Cholesky factor is preferred because it is unique; eigenvectors of equal eigenvalues are
    not.
    """
    check_n_components(n_components, len(W))
    if n_components is None:
        return factor(W).T
    return _scaled_rows(*np.linalg.eigh(W), n_components)


def factor(W: Array) -> Array:
    """Return L with LLᵀ = W: the Cholesky factor, or the symmetric root if rounding made W semidefinite."""
    try:
        return np.asarray(np.linalg.cholesky(W))
    except np.linalg.LinAlgError:
        return symmetric_root(W)


def symmetric_root(A: Array) -> Array:
    """Return the symmetric root of a positive definite matrix."""
    spectrum, vectors = np.linalg.eigh(A)
    return np.asarray((vectors * np.sqrt(np.maximum(spectrum, 0.0))) @ vectors.T)


def leading_components_in_span(A: Array, Q: Array, n_components: int) -> Array:
    """Return the leading scaled eigenvectors of W = I + Q (A − I) Qᵀ, without forming W.

    The eigenvalues of W are those of A, and 1 outside the span of Q. Of equal ones, directions in the span
    are preferred.

    Parameters
    ----------
    A : array of shape (n_span, n_span)
        The matrix in the span.
    Q : array of shape (n_features, n_span)
        An orthonormal basis of the span.
    n_components : int
        Number of rows of the result.
    """
    n_features, n_span = Q.shape
    check_n_components(n_components, n_features)
    spectrum, basis = np.linalg.eigh(A)
    used = spectrum.argsort()[-n_components:]
    directions, values = Q @ basis[:, used], spectrum[used]
    # All directions outside that may be among the leading ones.
    n_outside = min(n_components - int((values >= 1.0).sum()), n_features - n_span)
    if n_outside > 0:
        # The columns of a QR factor after those of Q are orthogonal to the span.
        outside = np.linalg.qr(np.hstack([Q, np.eye(n_features, n_outside)]))[0][:, n_span:]
        directions, values = np.hstack([outside, directions]), np.concatenate([np.ones(n_outside), values])
    return _scaled_rows(values, directions, n_components)


def _scaled_rows(spectrum: Array, basis: Array, n_components: int) -> Array:
    """Return the eigenvectors of the largest eigenvalues, times their roots; ties go to the last."""
    order = np.argsort(spectrum, kind="stable")[::-1][:n_components]
    directions = basis[:, order]
    # A fixed sign makes results the same on every machine.
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(len(order))])
    return np.asarray((directions * signs * np.sqrt(np.maximum(spectrum[order], 0.0))).T)
