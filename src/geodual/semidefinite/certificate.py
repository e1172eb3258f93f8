"""Prove a lower bound of a semidefinite program from multipliers and the smallest eigenvalue of S.

For every X ⪰ 0 that satisfies all constraints, ⟨C, X⟩ = bᵀy + ⟨S, X⟩ ≥ bᵀy + λ_min(S) trace(X) with
S = C − A*(y), whatever y is, as long as multipliers of inequalities ≤ are not positive. So only a lower bound
of λ_min(S) has to be proved. An iterative method cannot do that: its residual encloses some eigenvalue, not
necessarily the smallest. A completed Cholesky factorization of S + sI can, with bounds on the rounding
errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from geodual.arrays import Array

from .linear_map import Symmetric, dense

_UNIT = float(np.finfo(float).eps) / 2.0  # the unit roundoff
_LANCZOS = 500  # rows above which Lanczos beats a dense eigenvalue solver
_DENSE = 8000  # largest number of rows of a matrix to factorize: half a gigabyte
_KRYLOV = 60  # vectors kept by Lanczos's method; with fewer it restarts too often if eigenvalues are close
_RESTARTS = 300  # then the Rayleigh quotient of the best vector is used
_SHIFTS = 4  # attempts at a factorization, each with ten times the margin


@dataclass(frozen=True)
class SmallestEigenvalue:
    """The smallest eigenvalue of a matrix: an estimate, and a lower bound.

    Attributes
    ----------
    value : float
        Estimate; a Rayleigh quotient, and so an upper bound of the smallest eigenvalue.
    bound : float
        If `proved`, no eigenvalue is smaller; otherwise the estimate minus its residual.
    proved : bool
        Whether a factorization proved `bound`.
    """

    value: float
    bound: float
    proved: bool


def smallest_eigenvalue(S: Symmetric, size: float, accuracy: float, error: float) -> SmallestEigenvalue:
    """Return the smallest eigenvalue of S and a lower bound.

    `size` bounds the norm of S, `accuracy` is the acceptable error of the estimate, and `error` bounds the
    norm of the rounding error of S itself.
    """
    n = S.shape[0]
    full = dense(S) if n <= _DENSE else None
    values, vectors = smallest_eigenvectors(S, 1, size, accuracy)
    residual = float(np.linalg.norm(S @ vectors[:, 0] - values[0] * vectors[:, 0]))
    bound = None if full is None else proved_bound(full, values[0], residual)
    if bound is None and full is not None and n > _LANCZOS:  # Lanczos's method missed the smallest one
        values = scipy.linalg.eigh(full, eigvals_only=True, subset_by_index=[0, 0])
        bound = proved_bound(full, values[0], 0.0)
    value = float(values[0])
    if bound is None:
        return SmallestEigenvalue(value, value - residual - error, proved=False)
    # The rounding errors inside an operator are unknown.
    return SmallestEigenvalue(value, bound - error, not isinstance(S, LinearOperator))


def smallest_eigenvectors(S: Symmetric, k: int, size: float, accuracy: float) -> tuple[Array, Array]:
    """Estimate the k smallest eigenvalues of S, ascending, and their vectors.

    For multiple eigenvalues, Lanczos's method is slow if k > 1 and the accuracy is high.
    """
    n = S.shape[0]
    k = min(k, n)
    if n <= _LANCZOS:
        values, vectors = scipy.linalg.eigh(dense(S), subset_by_index=[0, k - 1])
        return values, vectors
    # Accuracy is relative to the eigenvalue, which may be 0 for S; so look for the largest one of sI - S.
    mirrored = LinearOperator(
        S.shape, matvec=lambda v: size * v - S @ v, matmat=lambda V: size * V - S @ V, dtype=float
    )
    start = np.random.default_rng(0).standard_normal(n)
    tol = max(accuracy / (2.0 * size), _UNIT)
    try:
        values, vectors = eigsh(mirrored, k, which="LA", v0=start, tol=tol, ncv=_KRYLOV, maxiter=_RESTARTS)
    except ArpackNoConvergence as failed:
        if len(failed.eigenvalues) == 0:
            return np.array([np.vdot(start, S @ start)]) / np.vdot(start, start), start[
                :, None
            ] / np.linalg.norm(start)
        values, vectors = failed.eigenvalues, failed.eigenvectors
    order = np.argsort(-values)
    return size - values[order], vectors[:, order]


def proved_bound(full: Array, estimate: float, residual: float) -> float | None:
    """Return a proved lower bound of the eigenvalues of a dense matrix near an estimate, or None.

    If the Cholesky factorization of M = S + sI completes in floating-point arithmetic, then
    λ_min(M) ≥ −γ trace(M) / (1 − γ) with γ = (n + 1)u / (1 − (n + 1)u) (Higham, "Accuracy and Stability of
    Numerical Algorithms", Theorem 10.3; Rump, "Verification of positive definiteness", 2006).
    """
    n = len(full)
    gamma = (n + 1) * _UNIT / (1.0 - (n + 1) * _UNIT)
    size = float(np.abs(np.diag(full)).sum()) + n * abs(estimate)
    margin = residual + gamma * size  # a smaller one would fail because of rounding
    for _ in range(_SHIFTS):
        shift = margin - estimate
        M = full.copy()
        M.flat[:: n + 1] += shift
        try:
            scipy.linalg.cholesky(M, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            margin *= 10.0
            continue
        # The last term covers the rounding of the diagonal of M.
        return float(-shift - gamma / (1.0 - gamma) * (size + n * abs(shift)) - _UNIT * (size + abs(shift)))
    return None


def forming_error(sizes: Array, terms: int) -> float:
    """Return a bound of the norm of the rounding error of a sum of symmetric matrices.

    `sizes` are the row sums of the absolute values of all `terms` matrices.
    """
    return float((terms + 1) * _UNIT * sizes.max())


def lower_bound(terms: Array, eigenvalue: float, trace: float) -> float:
    """Return bᵀy + λ trace(X), rounded down, given the terms of the sum bᵀy."""
    total = math.fsum([*terms, eigenvalue * trace])
    return total - 4.0 * _UNIT * (float(np.abs(terms).sum()) + abs(eigenvalue) * trace)
