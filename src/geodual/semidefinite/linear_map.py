"""Symmetric matrices given by users, and the linear map X ↦ (⟨A₁, X⟩, …, ⟨Aₘ, X⟩) with its adjoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from geodual.arrays import Array

Symmetric = Any
"""A symmetric matrix: a CSR array, a dense array, or a `LinearOperator`."""

_ASYMMETRY = 1e-12  # of an entry, relative to the largest one; a different order of summation causes less
_PROBES = 16  # random sign vectors; they estimate the norm of an operator to within about a quarter


def as_symmetric(A: Any, name: str, n: int | None = None) -> Symmetric:
    """Return a matrix as a CSR array, a dense array or an operator; raise an error if it is not valid."""
    if isinstance(A, LinearOperator):
        _check_shape(A.shape, name, n)
        return A
    try:
        matrix = sp.csr_array(A, dtype=float) if sp.issparse(A) else np.asarray(A, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"`{name}` must be a symmetric matrix of real numbers; got {A!r}.") from None
    _check_shape(matrix.shape, name, n)
    entries = matrix.data if sp.issparse(matrix) else matrix
    if not np.isfinite(entries).all():
        raise ValueError(f"`{name}` has an entry that is NaN or infinite; remove it.")
    difference = abs(matrix - matrix.T).max()
    if difference > _ASYMMETRY * abs(matrix).max():
        raise ValueError(
            f"`{name}` must be symmetric, but an entry and its transpose differ by {difference:.3g}; use "
            "(A + A.T) / 2."
        )
    return (matrix + matrix.T) / 2.0


def _check_shape(shape: tuple[int, ...], name: str, n: int | None) -> None:
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0 or n not in (None, shape[0]):
        wanted = "square and not empty" if n is None else f"of shape ({n}, {n}), as `C` is"
        raise ValueError(f"`{name}` must be {wanted}, got shape {tuple(shape)}.")


def frobenius_norm(A: Symmetric) -> float:
    """Return the Frobenius norm; for an operator, estimate it by products with random signs."""
    if isinstance(A, LinearOperator):
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (A.shape[0], _PROBES))
        return float(np.linalg.norm(A @ signs) / np.sqrt(_PROBES))  # E‖Az‖² = ‖A‖² for random signs z
    return float(np.linalg.norm(A.data if sp.issparse(A) else A))


def padded(A: Symmetric) -> Symmetric:
    """Return the matrix with one more row and column of zeros."""
    n = A.shape[0]
    if isinstance(A, LinearOperator):
        return LinearOperator(
            (n + 1, n + 1),
            matvec=lambda v: np.append(A @ v.ravel()[:n], 0.0),
            matmat=lambda V: np.vstack([A @ V[:n], np.zeros((1, V.shape[1]))]),
            dtype=float,
        )
    return sp.block_diag([A, sp.csr_array((1, 1))], "csr") if sp.issparse(A) else np.pad(A, (0, 1))


def dense(A: Symmetric) -> Array:
    """Return the matrix as a dense array; an operator is applied to the unit vectors."""
    if isinstance(A, LinearOperator):
        columns = A @ np.eye(A.shape[0])
        return np.asarray(columns + columns.T) / 2.0
    return A.toarray() if sp.issparse(A) else np.array(A)


class LinearMap:
    """X ↦ (⟨A₁, X⟩, …, ⟨Aₘ, X⟩) on X = YYᵀ, and its adjoint w ↦ Σ wₖ Aₖ.

    All sparse matrices share one pattern, so that a few products of arrays suffice for any number of
    constraints.

    Parameters
    ----------
    matrices : sequence of Symmetric
        A₁, …, Aₘ.
    n : int
        Number of rows of each.
    """

    def __init__(self, matrices: Sequence[Symmetric], n: int) -> None:
        self.n, self.m = n, len(matrices)
        sparse = {k: sp.coo_array(A) for k, A in enumerate(matrices) if sp.issparse(A)}
        self._others = {k: A for k, A in enumerate(matrices) if k not in sparse}
        self._has_operators = any(isinstance(A, LinearOperator) for A in self._others.values())
        places = [A.coords[0].astype(np.int64) * n + A.coords[1] for A in sparse.values()]
        used, place = np.unique(np.concatenate([np.zeros(0, np.int64), *places]), return_inverse=True)
        owner = np.concatenate([np.zeros(0, np.int64), *(np.full(A.nnz, k) for k, A in sparse.items())])
        values = np.concatenate([np.zeros(0), *(A.data for A in sparse.values())])
        self._rows, self._columns = np.divmod(used, n)
        # Row j has the values of all matrices at position j of the pattern.
        self._values = sp.csr_array((values, (place, owner)), shape=(len(used), self.m))

    def pairing(self, Y: Array, U: Array) -> Array:
        """Return ⟨Aₖ, YUᵀ⟩ for all k."""
        result = self._values.T @ np.einsum("ij,ij->i", Y[self._rows], U[self._columns])
        for k, A in self._others.items():
            result[k] = np.vdot(A @ U, Y)
        return np.asarray(result)

    def adjoint(self, w: Array, Y: Array) -> Array:
        """Return Σ wₖ Aₖ Y."""
        result = self._sparse(w) @ Y
        for k, A in self._others.items():
            result += w[k] * (A @ Y)
        return np.asarray(result)

    def subtracted(self, C: Symmetric, w: Array) -> Symmetric:
        """Return C − Σ wₖ Aₖ: an operator if any term is one, else dense if any term is, else sparse."""
        if isinstance(C, LinearOperator) or self._has_operators:
            return LinearOperator(
                C.shape,
                matvec=lambda v: (C @ v.reshape(-1, 1) - self.adjoint(w, v.reshape(-1, 1))).ravel(),
                matmat=lambda V: C @ V - self.adjoint(w, V),
                dtype=float,
            )
        result = C - self._sparse(w)
        for k, A in self._others.items():
            result = result - w[k] * A
        return result

    def sizes(self, w: Array) -> Array:
        """Return the row sums of Σ |wₖ| |Aₖ|, over all matrices that are not operators."""
        result = np.zeros(self.n) + np.bincount(self._rows, abs(self._values) @ np.abs(w), self.n)
        for k, A in self._others.items():
            if not isinstance(A, LinearOperator):
                result += abs(w[k]) * np.abs(A).sum(axis=1)
        return result

    def _sparse(self, w: Array) -> sp.csr_array:
        entries = self._values @ w
        return sp.csr_array((entries, (self._rows, self._columns)), shape=(self.n, self.n))


def row_sizes(A: Symmetric) -> Array:
    """Return the row sums of |A|; 0 for an operator."""
    return np.zeros(A.shape[0]) if isinstance(A, LinearOperator) else np.asarray(abs(A).sum(axis=1)).ravel()
