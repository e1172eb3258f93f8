"""Problems on positive definite matrices whose cost is a trace minus a log-determinant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from geodual.manifolds import SPD
from geodual.optimize import Constraint

from .case import Array, BenchmarkProblem, Cost, LastPoint, linear_constraint


def determinant_under_trace(n: int = 10, c: float = 5.0, seed: int = 0) -> BenchmarkProblem:
    """Maximize the determinant under a trace bound: min −logdet x s.t. tr(Ax) ≤ c.

    The constraint is active and the gradient of the Lagrangian is λA − x⁻¹. So x = (c/n)A⁻¹ and λ = n/c.
    """
    A = SPD(n).random_point(np.random.default_rng(seed))
    x = (c / n) * np.linalg.inv(A)
    objective = log_det_cost(np.zeros((n, n)))
    return BenchmarkProblem(
        "logdet under trace",
        SPD(n),
        objective,
        inequalities=(trace_constraint(A, c),),
        feasible_start=(0.5 * c / np.trace(A)) * np.eye(n),
        infeasible_start=(5.0 * c / np.trace(A)) * np.eye(n),
        x=x,
        cost=objective.value(x),
        multipliers=np.array([n / c]),
    )


def duplicated_constraint(n: int = 10, c: float = 5.0, seed: int = 0) -> BenchmarkProblem:
    """Return `determinant_under_trace` with its constraint written twice.

    The gradients of the active constraints are dependent, so all λ ≥ 0 with λ₁ + λ₂ = n/c are multipliers.
    """
    case = determinant_under_trace(n, c, seed)
    return replace(
        case,
        name="duplicate constraint",
        inequalities=case.inequalities * 2,
        multipliers=np.full(2, 0.5 * n / c),
        unique_multipliers=False,
    )


def rank_one_constraints(n: int = 10, m: int = 30, active: int = 10, seed: int = 0) -> BenchmarkProblem:
    """Stay near a prior under distance bounds, as in metric learning: min ½ D(x, W₀) s.t. aₖᵀ x aₖ ≤ bₖ.

    D is the LogDet divergence tr(xW₀⁻¹) − logdet(xW₀⁻¹) − n. Multipliers λ are drawn first, positive on
    the first `active` constraints. They give x = (W₀⁻¹ + 2 Σ λₖ aₖaₖᵀ)⁻¹, and x gives the bounds.
    """
    rng = np.random.default_rng(seed)
    W0 = SPD(n).random_point(rng)
    a = rng.standard_normal((m, n)) / np.sqrt(n)
    lam = np.where(np.arange(m) < active, rng.uniform(0.5, 1.5, m), 0.0)
    x = np.linalg.inv(np.linalg.inv(W0) + 2.0 * (a.T * lam) @ a)
    b = _squared_lengths(a, x) + np.where(lam > 0.0, 0.0, rng.uniform(0.1, 1.0, m))
    objective = _divergence_cost(W0)
    return BenchmarkProblem(
        f"rank-one, n={n} m={m}",
        SPD(n),
        objective,
        inequalities=(rank_one_constraint(a, b),),
        feasible_start=0.5 * float(np.min(b / _squared_lengths(a, W0))) * W0,
        infeasible_start=W0,
        x=x,
        cost=objective.value(x),
        multipliers=lam,
    )


def far_start(n: int = 10, m: int = 30, distance: float = 1e4, seed: int = 0) -> BenchmarkProblem:
    """Return `rank_one_constraints` with starts too small or too large by a factor of `distance`."""
    case = rank_one_constraints(n, m, seed=seed)
    return replace(
        case,
        name="far start",
        feasible_start=case.feasible_start / distance,
        infeasible_start=case.infeasible_start * distance,
    )


def sparse_precision(n: int = 10, zeros: int = 20, seed: int = 0) -> BenchmarkProblem:
    """Estimate a precision matrix with known zeros: min tr(Sx) − logdet x s.t. x_ij = 0 on a set.

    The sparse x and small multipliers y are drawn first. The gradient of the Lagrangian is
    S − x⁻¹ + Σ y_ij (E_ij + E_ji)/2, so S is x⁻¹ minus the last sum.
    """
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(np.column_stack(np.triu_indices(n, 1)))
    (fixed, free), y = (pairs[:zeros], pairs[zeros:]), rng.uniform(-0.5, 0.5, zeros)
    entries = fixed_entries_constraint(n, fixed[:, 0], fixed[:, 1], np.zeros(zeros))
    x = np.zeros((n, n))
    x[free[:, 0], free[:, 1]] = rng.uniform(-0.5, 0.5, len(free))
    x += x.T
    # Diagonally dominant, so positive definite.
    x += np.diag(np.abs(x).sum(axis=0) + rng.uniform(0.2, 1.0, n))
    inverse = np.linalg.inv(x)
    normal = entries.jacobian_product(x, y)
    # Small enough for S to stay positive definite.
    y *= 0.5 * np.linalg.eigvalsh(inverse)[0] / np.linalg.norm(normal, 2)
    S = inverse - entries.jacobian_product(x, y)
    objective = log_det_cost(S)
    return BenchmarkProblem(
        "sparse precision",
        SPD(n),
        objective,
        equalities=(entries,),
        feasible_start=np.diag(1.0 / np.diag(S)),
        infeasible_start=np.linalg.inv(S),
        x=x,
        cost=objective.value(x),
        equality_multipliers=y,
    )


def log_det_cost(S: Array, weight: float = 1.0, offset: float = 0.0) -> Cost:
    """Return weight · (tr(Sx) − logdet x) + offset; it is +∞ if x is numerically singular."""
    factorized = LastPoint(_log_det_and_inverse)

    def value(x: Array) -> float:
        return weight * (float(np.vdot(S, x)) - factorized(x)[0]) + offset

    def gradient(x: Array) -> Array:
        return np.asarray(weight * (S - factorized(x)[1]))

    def hessian_product(x: Array, u: Array) -> Array:
        inverse = factorized(x)[1]
        return np.asarray(weight * (inverse @ u @ inverse))

    return Cost(value, gradient, hessian_product)


def trace_constraint(A: Array, c: float) -> Constraint:
    """Return tr(Ax) − c for a symmetric A."""
    return linear_constraint(lambda x: np.array([np.vdot(A, x)]), lambda w: w[0] * A, c)


def rank_one_constraint(a: Array, b: Array) -> Constraint:
    """Return aₖᵀ x aₖ − bₖ for the rows aₖ of `a`."""
    return linear_constraint(
        lambda x: _squared_lengths(a, x),
        lambda w: (a.T * w) @ a,
        b,
        gradients=lambda x, k: a[k, :, None] * a[k, None, :],
    )


def fixed_entries_constraint(n: int, rows: Array, columns: Array, values: Array) -> Constraint:
    """Return (x_ij + x_ji)/2 − s_ij for the given pairs i ≠ j of rows and columns."""

    def adjoint(w: Array) -> Array:
        result = np.zeros((n, n))
        result[rows, columns] = result[columns, rows] = 0.5 * w
        return result

    return linear_constraint(lambda x: 0.5 * (x[rows, columns] + x[columns, rows]), adjoint, values)


def _divergence_cost(W0: Array) -> Cost:
    n = len(W0)
    return log_det_cost(np.linalg.inv(W0), 0.5, 0.5 * (np.linalg.slogdet(W0)[1] - n))


def _squared_lengths(a: Array, x: Array) -> Array:
    return np.einsum("ki,ki->k", a @ x, a)


def _log_det_and_inverse(x: Array) -> tuple[float, Array]:
    try:
        L = np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        return -np.inf, np.full_like(x, np.nan)
    return 2.0 * float(np.log(np.diag(L)).sum()), np.linalg.inv(x)
