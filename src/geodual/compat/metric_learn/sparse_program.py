"""The program of SDML: a LogDet program with a penalty on entries, so that the metric is sparse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodual.arrays import Array

_RELAXATION = 1.6  # of the steps; values from 1.5 to 1.8 are usual
_BALANCE = 10.0  # largest ratio of the residuals before the step size changes
_EVERY = 10  # iterations between two such changes


@dataclass(frozen=True)
class SparseMetric:
    """A sparse metric with its certificate.

    Attributes
    ----------
    W : array of shape (n, n)
        The matrix of the metric.
    primal, dual : float
        Its objective, and a lower bound on the objective of any matrix.
    n_iter : int
        Number of iterations.
    """

    W: Array
    primal: float
    dual: float
    n_iter: int

    @property
    def gap(self) -> float:
        """The duality gap per feature, which does not depend on units."""
        return (self.primal - self.dual) / len(self.W)


def sparse_metric(S: Array, penalty: float, tol: float, max_iter: int) -> SparseMetric:
    r"""Minimise tr(SW) − log det W + λ Σ |Wᵢⱼ| over positive definite W; the sum is over i ≠ j.

    The alternating direction method of multipliers splits W from a sparse copy Z. Its multipliers U have
    |Uᵢⱼ| ≤ λ and Uᵢᵢ = 0, so that n + log det(S + U) is a lower bound on the optimum. S may be indefinite.
    Features are brought into units in which the diagonal of S is one.

    Parameters
    ----------
    S : array of shape (n, n)
        A symmetric matrix.
    penalty : float
        λ.
    tol : float
        Duality gap per feature to reach.
    max_iter : int
        Maximal number of iterations.

    References
    ----------
    S. Boyd et al., "Distributed optimization and statistical learning via the alternating direction method of
    multipliers", Foundations and Trends in Machine Learning 3(1), 2011, Section 6.5.
    """
    scales = np.sqrt(np.maximum(np.diag(S), 0.0))
    if not scales.min() > 0.0:
        raise _unbounded()
    units = np.outer(scales, scales)
    S, limits = S / units, penalty / units
    np.fill_diagonal(limits, 0.0)
    offset, n = 2.0 * float(np.log(scales).sum()), len(S)
    W, primal, dual = np.eye(n), np.inf, -np.inf
    Z, U, step = np.eye(n), np.zeros((n, n)), 1.0
    for n_iter in range(1, max_iter + 1):
        X = _log_det_step(S + U - step * Z, step)
        before, mixed = Z, _RELAXATION * X + (1.0 - _RELAXATION) * Z + U / step
        Z = np.sign(mixed) * np.maximum(np.abs(mixed) - limits / step, 0.0)
        U = step * (mixed - Z)
        value = float(np.sum(S * Z) + np.sum(limits * np.abs(Z))) - _log_det(Z)
        if value < primal:
            W, primal = Z, value
        dual = max(dual, n + _log_det(S + U))
        if primal - dual <= tol * n:
            break
        if n_iter % _EVERY == 0:
            apart, moved = np.linalg.norm(X - Z), step * np.linalg.norm(Z - before)
            step *= 2.0 if apart > _BALANCE * moved else 0.5 if moved > _BALANCE * apart else 1.0
    if not np.isfinite(primal - dual):
        raise _unbounded()
    return SparseMetric(W / units, primal + offset, dual + offset, n_iter)


def _log_det_step(Q: Array, step: float) -> Array:
    """Return the minimiser X of ⟨Q, X⟩ − log det X + step/2 ‖X‖²."""
    q, basis = np.linalg.eigh(Q)
    root = np.sqrt(q**2 + 4.0 * step)
    # Two forms of the same root, so that no digits cancel.
    x = np.where(q > 0.0, 2.0 / (np.abs(q) + root), (np.abs(q) + root) / (2.0 * step))
    return np.asarray((basis * x) @ basis.T)


def _log_det(A: Array) -> float:
    """Return log det A, or −∞ unless A is positive definite."""
    try:
        return 2.0 * float(np.log(np.diag(np.linalg.cholesky(A))).sum())
    except np.linalg.LinAlgError:
        return -np.inf


def _unbounded() -> ValueError:
    return ValueError(
        "SDML has no optimum for these pairs, because dissimilar ones weigh too much; lower `balance_param`, "
        "or raise `sparsity_param`."
    )
