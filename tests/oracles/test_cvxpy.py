"""Ordinary convex programs, for which cvxpy gives the optimum and the multipliers."""

import cvxpy as cp
import numpy as np
import pytest

from geodual.manifolds import SPD, Euclidean
from geodual.optimize import Constraint, Problem, minimize


@pytest.mark.parametrize("seed", range(4))
def test_quadratic_program_with_inequalities_and_equalities(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m, p = 12, 20, 3
    root = rng.standard_normal((n, n))
    Q, q = root @ root.T / n + np.eye(n), rng.standard_normal(n)
    A, b = rng.standard_normal((m, n)), rng.uniform(0.1, 0.5, m)
    B, d = rng.standard_normal((p, n)), 0.1 * rng.standard_normal(p)
    x = cp.Variable(n)
    h, g = A @ x <= b, B @ x == d
    oracle = cp.Problem(cp.Minimize(0.5 * cp.quad_form(x, cp.psd_wrap(Q)) + q @ x), [h, g])
    oracle.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    problem = Problem(
        Euclidean(n),
        lambda x: float(0.5 * x @ Q @ x + q @ x),
        lambda x: Q @ x + q,
        lambda x, u: Q @ u,
        inequalities=Constraint(
            lambda x: A @ x - b, lambda x, w: w @ A, lambda x, u: A @ u, lambda x, w, u: 0 * u
        ),
        equalities=Constraint(
            lambda x: B @ x - d, lambda x, w: w @ B, lambda x, u: B @ u, lambda x, w, u: 0 * u
        ),
    )
    result = minimize(problem, np.zeros(n))
    assert result.success, result.message
    assert result.cost == pytest.approx(oracle.value, rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(result.x, x.value, atol=1e-6)
    np.testing.assert_allclose(result.multipliers, h.dual_value, atol=1e-5)
    np.testing.assert_allclose(result.equality_multipliers, g.dual_value, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_logdet_program_with_rank_one_constraints(seed: int) -> None:
    """A program like that of metric learning: min tr(W W₀⁻¹) − logdet W s.t. aᵢᵀWaᵢ ≤ bᵢ."""
    rng = np.random.default_rng(seed)
    n, m = 5, 12
    inverse_prior = SPD(n).random_point(rng)
    V, b = rng.standard_normal((m, n)), rng.uniform(0.5, 2.0, m)
    W = cp.Variable((n, n), symmetric=True)
    h = [cp.quad_form(v, W) <= bound for v, bound in zip(V, b, strict=True)]
    oracle = cp.Problem(cp.Minimize(cp.trace(inverse_prior @ W) - cp.log_det(W)), h)
    oracle.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    problem = Problem(
        SPD(n),
        lambda x: float(np.vdot(inverse_prior, x) - np.linalg.slogdet(x)[1]),
        lambda x: inverse_prior - np.linalg.inv(x),
        lambda x, u: np.linalg.solve(x, np.linalg.solve(x, u).T),
        inequalities=Constraint(
            lambda x: np.einsum("ki,ij,kj->k", V, x, V) - b,
            lambda x, w: (V.T * w) @ V,
            lambda x, u: np.einsum("ki,ij,kj->k", V, u, V),
            lambda x, w, u: 0 * u,
        ),
    )
    result = minimize(problem, np.eye(n))
    assert result.success, result.message
    assert result.cost == pytest.approx(oracle.value, rel=1e-6)
    # The error of the oracle's W and multipliers is of the order of the square root of its gap.
    np.testing.assert_allclose(result.x, W.value, atol=1e-5)
    np.testing.assert_allclose(result.multipliers, [c.dual_value for c in h], atol=1e-5)
