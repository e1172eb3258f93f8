"""L-BFGS on functions with known minima, on functions without one, and where the default method uses it."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from geodual.manifolds import SPD, Euclidean, Frame, Grassmann, Manifold, Oblique, Product, Sphere, Stiefel
from geodual.optimize import Constraint, ConstraintVector, Lagrangian, Problem, minimize
from geodual.optimize.proximal_lagrangian.method import prefers_quasi_newton
from geodual.optimize.quasi_newton import limited_memory


@dataclass
class Model:
    frame: Frame
    value: float
    gradient: Any
    noise: float = 1e-15

    def hessian_product(self, c):
        raise AssertionError("no second derivatives are needed")

    def precondition(self, c):
        return c


def quadratic(A: np.ndarray, b: np.ndarray):
    def objective(x):
        value = 0.5 * x @ A @ x - b @ x
        noise = 1e-15 * (1.0 + abs(x) @ abs(A) @ abs(x))  # terms of the sum cancel
        return Model(Euclidean(len(b)).frame(x), value, A @ x - b, noise)

    return objective


def rosenbrock(x: np.ndarray) -> Model:
    a, b = x[:-1], x[1:] - x[:-1] ** 2
    value = float(np.sum(100.0 * b**2 + (1.0 - a) ** 2))
    gradient = np.append(-400.0 * a * b - 2.0 * (1.0 - a), 0.0)
    gradient[1:] += 200.0 * b
    return Model(Euclidean(len(x)).frame(x), value, gradient, 1e-15 * (1.0 + value))


def spread_matrix(condition: float, n: int = 30) -> np.ndarray:
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    return (q * np.geomspace(1.0, condition, n)) @ q.T


@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4])
def test_quadratics(condition: float) -> None:
    A, b = spread_matrix(condition), np.ones(30)
    minimum = limited_memory(quadratic(A, b), quadratic(A, b)(np.zeros(30)), tol=1e-8)
    assert (minimum.status, minimum.n_products) == ("converged", 0)
    np.testing.assert_allclose(A @ minimum.point, b, atol=1e-7)


def test_a_curved_valley() -> None:
    minimum = limited_memory(rosenbrock, rosenbrock(np.array([-1.2, 1.0])), tol=1e-10)
    assert minimum.status == "converged"
    np.testing.assert_allclose(minimum.point, 1.0, rtol=1e-9)
    assert minimum.n_iter < 60


def cost_of(problem: Problem, x0: Any) -> Lagrangian:
    return Lagrangian(ConstraintVector(problem, x0), np.zeros(0))


def eigenvalue_problem(manifold: Manifold, A: np.ndarray) -> Problem:
    return Problem(manifold, lambda x: -np.sum(x * (A @ x)), gradient=lambda x: -2.0 * A @ x)


@pytest.mark.parametrize(
    ("manifold", "p"), [(Sphere(30), 1), (Stiefel(30, 3), 3), (Grassmann(30, 3), 3)], ids=str
)
def test_leading_eigenvalues(manifold: Manifold, p: int) -> None:
    A = spread_matrix(100.0)
    x0 = manifold.random_point(np.random.default_rng(1))
    cost = cost_of(eigenvalue_problem(manifold, A), x0)
    minimum = limited_memory(cost, cost(x0), tol=1e-7, step_limit=manifold.step_limit)
    assert minimum.status == "converged"
    manifold.check_point(minimum.point)
    assert -minimum.model.value == pytest.approx(np.linalg.eigvalsh(A)[-p:].sum(), rel=1e-12)


def test_pairs_are_carried_between_the_frames_of_a_curved_product() -> None:
    """½ d²(·, A) + ½ |v − b|² has its minimum at (A, b); frames of SPD change from point to point."""
    A, b = spread_matrix(50.0, 4), np.arange(3.0)
    manifold = Product(SPD(4), Euclidean(3))

    def objective(x):
        frame = manifold.frame(x)
        half = frame.half_squared_distance((A, b))
        return Model(frame, half.value, half.gradient, 1e-15)

    minimum = limited_memory(objective, objective((np.eye(4), np.zeros(3))), tol=1e-9)
    assert minimum.status == "converged"
    assert minimum.n_iter < 40
    np.testing.assert_allclose(minimum.point[0], A, rtol=1e-7)
    np.testing.assert_allclose(minimum.point[1], b, atol=1e-8)


def test_pymanopt_manifolds_without_a_transport_of_ours() -> None:
    pymanopt = pytest.importorskip("pymanopt")
    A = spread_matrix(100.0)
    problem = eigenvalue_problem(pymanopt.manifolds.Sphere(30), A)
    x0 = np.full(30, 30**-0.5)
    minimum = limited_memory(cost_of(problem, x0), cost_of(problem, x0)(x0), tol=1e-7, step_limit=1.0)
    assert minimum.status == "converged"
    assert -minimum.model.value == pytest.approx(100.0)


def test_negative_curvature_is_left() -> None:
    def saddle(x):
        a, b = x
        return Model(Euclidean(2).frame(x), a**4 / 4 - a**2 / 2 + b**2, np.array([a**3 - a, 2 * b]))

    minimum = limited_memory(saddle, saddle(np.array([1e-6, 1.0])), tol=1e-9)
    assert minimum.model.value == pytest.approx(-0.25)


def test_functions_without_a_lower_bound_run_away() -> None:
    def falling(x):
        return Model(Euclidean(1).frame(x), -float(x[0]), np.array([-1.0]))

    assert limited_memory(falling, falling(np.zeros(1)), tol=1e-8, fall_limit=1e9).status == "runaway"


def test_functions_without_values_block() -> None:
    def objective(x):
        return Model(Euclidean(1).frame(x), float(x[0]) if x[0] >= 1.0 else np.nan, np.array([1.0]))

    minimum = limited_memory(objective, objective(np.array([1.0])), tol=1e-8)
    assert (minimum.status, minimum.n_iter) == ("blocked", 0)


def test_a_wrong_gradient_and_a_tolerance_below_rounding_stall() -> None:
    def wrong(x):
        return Model(Euclidean(3).frame(x), float(x @ x), -2.0 * x)

    assert limited_memory(wrong, wrong(np.ones(3)), tol=1e-8).status == "stalled"
    A, b = spread_matrix(1e3), np.ones(30)
    objective = quadratic(A, b)
    minimum = limited_memory(objective, objective(np.zeros(30)), tol=1e-30, max_iter=5000)
    assert minimum.status == "stalled"
    np.testing.assert_allclose(A @ minimum.point, b, atol=1e-9)


def test_the_budget_and_stop_end_it() -> None:
    start = rosenbrock(np.array([-1.2, 1.0]))
    seen: list[Model] = []
    minimum = limited_memory(rosenbrock, start, tol=1e-10, max_iter=5, watch=seen.append)
    assert (minimum.status, minimum.n_iter, len(seen)) == ("max_iterations", 5, 6)
    values = [model.value for model in seen]
    assert values == sorted(values, reverse=True)
    assert limited_memory(rosenbrock, start, tol=1e-10, stop=lambda model: True).n_iter == 0


def test_ten_thousand_variables_within_few_gradients() -> None:
    """The leading singular value of a tall matrix; AᵀA is never formed."""
    d, calls = 10_000, Counter()
    rng = np.random.default_rng(2)
    A = rng.standard_normal((20, d)) * np.geomspace(1.0, 3.0, 20)[:, None]

    def gradient(x):
        calls["gradient"] += 1
        return -2.0 * A.T @ (A @ x)

    problem = Problem(Sphere(d), lambda x: -np.sum((A @ x) ** 2), gradient=gradient)
    x0 = np.full(d, d**-0.5)
    cost = cost_of(problem, x0)
    minimum = limited_memory(cost, cost(x0), tol=1e-3, step_limit=problem.manifold.step_limit)
    assert minimum.status == "converged"
    assert calls["gradient"] < 80
    assert -minimum.model.value == pytest.approx(np.linalg.eigvalsh(A @ A.T)[-1], rel=1e-10)


def halfspaces(d: int, m: int, *, with_directional: bool = False, with_hessian: bool = False):
    """Return min ½ xᵀHx − bᵀx subject to A x ≤ 0.01, with its data and a count of Jacobian products."""
    rng, calls = np.random.default_rng(3), Counter()
    A, H, b = rng.standard_normal((m, d)) / np.sqrt(d), np.geomspace(1.0, 100.0, d), rng.standard_normal(d)

    def jacobian_product(x, w):
        calls["jacobian"] += 1
        return A.T @ w

    below = Constraint(
        lambda x: A @ x - 0.01,
        jacobian_product,
        directional=(lambda x, u: A @ u) if with_directional else None,
    )
    problem = Problem(
        Euclidean(d),
        lambda x: 0.5 * x @ (H * x) - b @ x,
        gradient=lambda x: H * x - b,
        hessian_product=(lambda x, u: H * u) if with_hessian else None,
        inequalities=below,
    )
    return problem, A, H, b, calls


def test_the_default_method_uses_it_for_many_constraints_without_directional() -> None:
    assert prefers_quasi_newton(ConstraintVector(halfspaces(5, 500)[0], np.zeros(5)))
    assert not prefers_quasi_newton(ConstraintVector(halfspaces(5, 20)[0], np.zeros(5)))
    for option in ("with_directional", "with_hessian"):
        problem = halfspaces(5, 500, **{option: True})[0]
        assert not prefers_quasi_newton(ConstraintVector(problem, np.zeros(5)))


def test_many_constraints_without_directional_take_few_jacobian_products() -> None:
    d, m = 60, 500
    problem, A, H, b, calls = halfspaces(d, m)
    result = minimize(problem, np.zeros(d), tol=1e-6)
    assert result.success
    # One gradient per constraint at the start and in each of a few steps of the polish; not at every point.
    assert calls["jacobian"] < 8 * m
    # The KKT conditions of a strictly convex problem, written out, are a proof.
    slack = 0.01 - A @ result.x
    np.testing.assert_allclose(H * result.x + A.T @ result.multipliers, b, atol=1e-6)
    assert slack.min() > -1e-6
    assert result.multipliers.min() >= 0.0
    np.testing.assert_allclose(result.multipliers * slack, 0.0, atol=1e-6)


def test_oblique_with_bounds_but_without_directional() -> None:
    n, m = 4, 130
    rng = np.random.default_rng(4)
    C = rng.standard_normal((n, m))
    problem = Problem(
        Oblique(n, m),
        lambda x: -np.sum(C * x),
        gradient=lambda x: -C,
        inequalities=lambda x: -x.ravel(),
        jacobian_product=lambda x, w: -w.reshape(n, m),
    )
    result = minimize(problem, Oblique(n, m).random_point(rng), tol=1e-6)
    assert result.success
    # Every column is the positive part of C, normalized; the largest entry if none is positive.
    for x, c in zip(result.x.T, C.T, strict=True):
        best = np.maximum(c, 0.0) if (c > 0).any() else np.eye(n)[c.argmax()]
        np.testing.assert_allclose(x, best / np.linalg.norm(best), atol=1e-5)
