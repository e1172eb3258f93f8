"""The whole Hessian as a preconditioner, where conjugate gradients take more steps than it has rows."""

import numpy as np
import pytest

from geodual.manifolds import SPD, Euclidean, Manifold, PositiveOrthant, Sphere
from geodual.optimize import Constraint, ConstraintVector, Lagrangian, Problem, minimize, newton_cg
from geodual.optimize.dense_hessian import DenseHessian
from geodual.optimize.lagrangian import LocalLagrangian


def quadratic(manifold: Manifold, weights: np.ndarray, seed: int = 0) -> LocalLagrangian:
    """½ Σ wᵢ xᵢ² − Σ xᵢ on a manifold, at a random point."""
    x = manifold.random_point(np.random.default_rng(seed))
    problem = Problem(
        manifold,
        lambda x: float(np.sum(0.5 * weights * x**2 - x)),
        lambda x: weights * x - 1.0,
        lambda x, u: weights * u,
    )
    return Lagrangian(ConstraintVector(problem, x), np.zeros(0))(x)


def after_steps(model: LocalLagrangian, n: int) -> DenseHessian:
    """Prepare a model, and again after a system that took n steps."""
    helper = DenseHessian(model.function.constraints.problem.manifold)
    helper.prepare(model)
    for _ in range(n):
        model.precondition(model.gradient)
    helper.prepare(model)
    return helper


def test_it_is_formed_once_a_system_took_more_steps_than_dimensions() -> None:
    model = quadratic(Euclidean(5), np.geomspace(1.0, 1e6, 5))
    c = np.arange(5.0)
    assert after_steps(model, 5).n_products == 0
    np.testing.assert_array_equal(model.precondition(c), c)
    assert after_steps(model, 6).n_products == 5
    np.testing.assert_allclose(model.precondition(c), c / np.geomspace(1.0, 1e6, 5), rtol=1e-9)


def test_steps_of_several_short_systems_do_not_add_up() -> None:
    model = quadratic(Euclidean(5), np.ones(5))
    helper = DenseHessian(Euclidean(5))
    for _ in range(10):
        helper.prepare(model)
        model.precondition(model.gradient)
    assert helper.n_products == 0


def test_after_negative_curvature_it_waits_longer_and_then_helps_again() -> None:
    model = quadratic(Euclidean(2), np.array([4.0, -2.0]))
    helper = after_steps(model, 3)
    assert helper.n_products == 2
    np.testing.assert_array_equal(model.precondition(np.ones(2)), np.ones(2))
    there = quadratic(Euclidean(2), np.array([4.0, 2.0]))
    helper.prepare(there)
    for n_products in (2, 2, 4):  # formed again after more than four times as many steps
        for _ in range(3):
            there.precondition(there.gradient)
        helper.prepare(there)
        assert helper.n_products == n_products
    np.testing.assert_allclose(there.precondition(np.ones(2)), [0.25, 0.5])


@pytest.mark.parametrize("manifold", [SPD(3), Sphere(4)], ids=str)
def test_it_inverts_on_the_tangent_space_where_coordinates_are_redundant(manifold: Manifold) -> None:
    rng = np.random.default_rng(1)
    shape = manifold.random_point(rng).shape
    model = quadratic(manifold, np.full(shape, 50.0))  # large enough for positive curvature
    after_steps(model, manifold.dim + 1)
    c = model.frame.random(rng)
    np.testing.assert_allclose(model.hessian_product(model.precondition(c)), c, atol=1e-9)


def test_elsewhere_it_stays_tangent_and_positive_definite() -> None:
    weights = np.linspace(1.0, 1.3, 4)
    helper = after_steps(quadratic(Sphere(4), weights), 4)
    there = quadratic(Sphere(4), weights, seed=3)
    helper.prepare(there)
    for seed in range(4, 9):  # 3 is that of the point, whose draw has no tangent part
        c = there.frame.random(np.random.default_rng(seed))
        image = there.precondition(c)
        assert not np.allclose(image, c)
        assert abs(image @ there.frame.point) < 1e-12
        assert image @ c > 0.0


def test_newton_steps_of_an_ill_conditioned_problem_take_few_products() -> None:
    start = quadratic(Euclidean(40), np.geomspace(1e-9, 1.0, 40))
    plain = newton_cg(start.function, start, tol=1e-12, step_limit=1e12)
    helper = DenseHessian(Euclidean(40))
    helped = newton_cg(start.function, start, tol=1e-12, step_limit=1e12, prepare=helper.prepare)
    assert helped.status == "converged"
    assert helped.n_products + helper.n_products < 0.5 * plain.n_products


def test_entropic_transport_is_solved_to_the_tolerance() -> None:
    """Masses fall to 1e-20, and with them the curvature: alone, conjugate gradients ended at 1e-7."""
    n, eps, rng = 12, 0.02, np.random.default_rng(0)
    a, b = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
    C = np.subtract.outer(np.linspace(0.0, 1.0, n), np.linspace(0.0, 1.0, n)) ** 2
    marginals = Constraint(
        lambda P: np.concatenate([P.sum(1) - a, P.sum(0) - b]),
        lambda P, w: w[:n, None] + w[n:],
        directional=lambda P, u: np.concatenate([u.sum(1), u.sum(0)]),
        hessian_product=lambda P, w, u: np.zeros((n, n)),
    )
    problem = Problem(
        PositiveOrthant(n, n),
        lambda P: float(np.sum(P * C) + eps * np.sum(P * (np.log(P) - 1.0))),
        lambda P: C + eps * np.log(P),
        lambda P, u: eps * u / P,
        equalities=marginals,
    )
    result = minimize(problem, np.outer(a, b))
    assert result.success, result.message
    # By rounding errors of the machine, H may be indefinite at first, and is then formed again later.
    assert sum(row.hessian_products for row in result.history) < 30_000
    # Sinkhorn's scaling of exp(−C/ε) is the solution.
    K, u, v = np.exp(-C / eps), np.ones(n), np.ones(n)
    for _ in range(5000):
        u = a / (K @ v)
        v = b / (K.T @ u)
    np.testing.assert_allclose(result.x, u[:, None] * K * v, atol=1e-6)
