"""Badly scaled variables: a solve is right, or says that it is not; and a claim has a radius."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.special import expit

from geodual.manifolds import SPD, Euclidean, PositiveOrthant, Power, Product
from geodual.optimize import Problem, Result, Update, minimize

METHODS = ("proximal-lagrangian", "interior-point")


@dataclass
class Case:
    """A convex problem with the cost of its minimum, and the minimum."""

    problem: Problem
    optimum: float
    solution: Any


def scales(exponent: float, n: int) -> np.ndarray:
    return 10.0 ** np.random.default_rng(5).permutation(np.linspace(-exponent, exponent, n))


def without_second_derivatives(case: Case) -> Case:
    case.problem.hessian_product = None
    return case


def diagonal(exponent: float, n: int = 17) -> Case:
    """Σ (sᵢxᵢ − 1)² with s·x ≤ 12: all sᵢxᵢ are equal, and the minimum is (n − 12)²/n."""
    s = 10.0 ** np.linspace(-exponent, exponent, n)
    problem = Problem(
        Euclidean(n),
        lambda x: float(np.sum((s * x - 1.0) ** 2)),
        lambda x: 2.0 * s * (s * x - 1.0),
        lambda x, u: 2.0 * s * s * u,
        inequalities=lambda x: np.array([s @ x - 12.0]),
        jacobian_product=lambda x, w: w[0] * s,
        geodesically_convex=True,
    )
    return Case(problem, (n - 12.0) ** 2 / n, 12.0 / n / s)


def quadratic(
    exponent: float, seed: int, n: int = 10, **constraints: Any
) -> tuple[Problem, np.ndarray, Any, Any]:
    """½ (Sx − z)ᵀ Q (Sx − z) with a well-conditioned dense Q; return s, Q and z, too."""
    rng = np.random.default_rng(seed)
    s, B, z = scales(exponent, n), rng.standard_normal((n, n)), rng.standard_normal(n)
    Q = B @ B.T / n + np.eye(n)
    problem = Problem(
        Euclidean(n),
        lambda x: float(0.5 * (s * x - z) @ Q @ (s * x - z)),
        lambda x: s * (Q @ (s * x - z)),
        lambda x, u: s * (Q @ (s * u)),
        geodesically_convex=True,
        **{name: value(s) if callable(value) else value for name, value in constraints.items()},
    )
    return problem, s, Q, z


def dense(exponent: float) -> Case:
    problem, s, _, z = quadratic(exponent, 0)
    return Case(problem, 0.0, z / s)


def equality(exponent: float) -> Case:
    a = np.linspace(-1.0, 2.0, 10)
    problem, s, Q, z = quadratic(
        exponent,
        1,
        equalities=lambda s: lambda x: np.array([a @ (s * x) - 1.0]),
        equality_jacobian_product=lambda s: lambda x, w: w[0] * a * s,
    )
    direction = np.linalg.solve(Q, a)
    t = (a @ z - 1.0) / (a @ direction)
    return Case(problem, 0.5 * t**2 * float(a @ direction), (z - t * direction) / s)


def bounds(exponent: float) -> Case:
    """Non-negative least squares, which scipy solves by another method."""
    problem, s, Q, z = quadratic(exponent, 3, lower=0.0)
    L = np.linalg.cholesky(Q).T
    y, residual = nnls(L, L @ z)
    return Case(problem, 0.5 * residual**2, y / s)


def logistic(exponent: float) -> Case:
    rng = np.random.default_rng(2)
    s, A, target = scales(exponent, 6), rng.standard_normal((80, 6)), rng.standard_normal(6)
    y = np.where(rng.uniform(size=80) < expit(A @ target), 1.0, -1.0)

    def weights(x: np.ndarray) -> np.ndarray:
        p = expit(A @ (s * x))
        return p * (1.0 - p)

    problem = Problem(
        Euclidean(6),
        lambda x: float(np.logaddexp(0.0, -y * (A @ (s * x))).sum()),
        lambda x: -s * (A.T @ (y * expit(-y * (A @ (s * x))))),
        lambda x, u: s * (A.T @ (weights(x) * (A @ (s * u)))),
        geodesically_convex=True,
    )
    v = np.zeros(6)
    for _ in range(30):  # Newton's method in variables that are well scaled
        p = expit(-y * (A @ v))
        v = v + np.linalg.solve(A.T * (p * (1.0 - p)) @ A, A.T @ (y * p))
    return Case(problem, problem.cost(v / s), v / s)


def product(exponent: float) -> Case:
    """Two independent problems: tr(Ap) − log det p on SPD(3), and the diagonal one."""
    s, A = scales(exponent, 8), np.diag([1.0, 2.0, 3.0])
    problem = Problem(
        Product(SPD(3), Euclidean(8)),
        lambda x: float(np.sum(A * x[0]) - np.linalg.slogdet(x[0])[1] + np.sum((s * x[1] - 1.0) ** 2)),
        lambda x: (A - np.linalg.inv(x[0]), 2.0 * s * (s * x[1] - 1.0)),
        lambda x, u: (np.linalg.inv(x[0]) @ u[0] @ np.linalg.inv(x[0]), 2.0 * s * s * u[1]),
        inequalities=lambda x: np.array([s @ x[1] - 6.0]),
        jacobian_product=lambda x, w: (np.zeros((3, 3)), w[0] * s),
        geodesically_convex=True,
    )
    return Case(problem, 3.0 + math.log(6.0) + 0.5, (np.linalg.inv(A), 0.75 / s))


def orthant(exponent: float) -> Case:
    """Σ wᵢ (xᵢ/aᵢ − log xᵢ/aᵢ), which is convex along the geodesics of the orthant."""
    w, a = scales(exponent, 8), np.exp(np.linspace(-1.0, 1.0, 8))
    problem = Problem(
        PositiveOrthant(8),
        lambda x: float(np.sum(w * (x / a - np.log(x / a)))),
        lambda x: w * (1.0 / a - 1.0 / x),
        lambda x, u: w / x**2 * u,
        geodesically_convex=True,
    )
    return Case(problem, float(w.sum()), a)


def straight(exponent: float) -> Case:
    """Half of the variables have no curvature: they go to their bounds."""
    s, c = scales(exponent, 10), np.linspace(0.5, 1.0, 5)
    problem = Problem(
        Euclidean(10),
        lambda x: float(np.sum((s[:5] * x[:5] - 1.0) ** 2) - c @ (s[5:] * x[5:])),
        lambda x: np.concatenate([2.0 * s[:5] * (s[:5] * x[:5] - 1.0), -c * s[5:]]),
        lambda x, u: np.concatenate([2.0 * s[:5] ** 2 * u[:5], np.zeros(5)]),
        upper=np.concatenate([np.full(5, np.inf), 1.0 / s[5:]]),
        geodesically_convex=True,
    )
    return Case(problem, -float(c.sum()), 1.0 / s)


FAMILIES = (diagonal, dense, equality, bounds, logistic, product, orthant)


def start(case: Case, where: str) -> Any:
    x = case.solution[1] if isinstance(case.solution, tuple) else case.solution
    if isinstance(case.problem.manifold, PositiveOrthant):
        return np.exp({"near": 0.0, "far": 5.0}[where] * np.random.default_rng(1).standard_normal(x.shape))
    # Logistic losses are flat far out: all steps there are short.
    far = (1.0 if case.problem.manifold.dim == 6 else 1e3) * np.random.default_rng(1).standard_normal(x.shape)
    x0 = np.zeros_like(x) if where == "near" else far
    return (np.eye(3), x0) if isinstance(case.solution, tuple) else x0


def assert_true(case: Case, result: Result) -> None:
    """No claim is false: the gap holds for the minimum, and a global minimum costs what the minimum costs."""
    excess = result.cost - case.optimum
    rounding = 1e-12 * max(1.0, abs(case.optimum))
    assert excess <= result.global_gap(case.problem.manifold.dist(result.x, case.solution)) + rounding
    if result.global_minimum:
        assert result.success
        assert excess <= result.tol**0.5 * max(abs(result.cost), 1.0)


@pytest.mark.parametrize("where", ["near", "far"])
@pytest.mark.parametrize("exponent", [2, 4, 8])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_badly_scaled_problems_are_solved(family: Callable[[float], Case], exponent: int, where: str) -> None:
    case = family(exponent)
    result = minimize(case.problem, start(case, where))
    assert_true(case, result)
    if exponent == 8 and where == "far" and not result.success:
        return  # curvatures differ by 1e32, more than doubles resolve: a solve is right or honest
    assert result.global_minimum
    assert result.cost == pytest.approx(case.optimum, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_the_interior_point_method_and_gradients_alone_solve_them_too(
    family: Callable[[float], Case],
) -> None:
    for case, method in ((family(6), METHODS[1]), (without_second_derivatives(family(4)), METHODS[0])):
        result = minimize(case.problem, start(case, "near"), method)
        assert result.success
        assert result.cost == pytest.approx(case.optimum, rel=1e-6, abs=1e-6)
        assert_true(case, result)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("exponent", [2, 4, 6, 8])
def test_variables_without_curvature_make_no_claim_false(exponent: int, method: str) -> None:
    case = straight(exponent)
    result = minimize(case.problem, start(case, "near"), method)
    assert_true(case, result)
    assert result.success
    assert result.global_minimum or exponent > 6


def test_a_few_products_tell_the_scale() -> None:
    """Ordinary problems pay two Hessian products; badly scaled ones not many more than a well-scaled copy."""

    def products(exponent: float) -> int:
        case, count = dense(exponent), [0]
        given = case.problem.hessian_product

        def counted(x: np.ndarray, u: np.ndarray) -> np.ndarray:
            count[0] += 1
            return given(x, u)

        case.problem.hessian_product = counted
        minimize(case.problem, np.zeros(10))
        return count[0]

    assert products(8) <= products(0) + 20


def test_points_are_not_scaled() -> None:
    case = diagonal(4)
    seen: list[np.ndarray] = []
    result = minimize(case.problem, np.zeros(17), callback=lambda iterate: seen.append(iterate.x))
    np.testing.assert_allclose(result.x, case.solution, rtol=1e-6)
    assert seen[-1] is result.x
    assert "Euclidean(17)" in repr(case.problem.manifold)
    assert type(case.problem.manifold) is Euclidean, "the problem of the user keeps its metric"


def test_a_start_where_curvatures_are_others_is_measured_again() -> None:
    """cosh is flat at the start of one variable and steep at that of the other; at the end it is reversed."""
    s = np.array([1.0, 1e-6])
    problem = Problem(
        Euclidean(2),
        lambda x: float(np.logaddexp(s * x - 30.0, 30.0 - s * x).sum()),
        lambda x: s * np.tanh(s * x - 30.0),
        lambda x, u: s**2 / np.cosh(s * x - 30.0) ** 2 * u,
        geodesically_convex=True,
    )
    result = minimize(problem, np.array([30.0, 0.0]))
    assert_true(Case(problem, 2.0 * math.log(2.0), 30.0 / s), result)
    assert not result.success or result.cost == pytest.approx(2.0 * math.log(2.0), abs=1e-9)


@pytest.mark.parametrize("top", [10.0, 1e3, 1e5])
def test_polynomials_of_large_arguments_are_fitted(top: float) -> None:
    """Powers up to t⁶ differ by up to 10³⁰, and no curvature is near 1."""
    t = np.linspace(0.0, top, 50)
    V, y = np.vander(t, 7, increasing=True), np.sin(6.0 * t / top)
    problem = Problem(
        Euclidean(7),
        lambda x: 0.5 * float(np.sum((V @ x - y) ** 2)),
        lambda x: V.T @ (V @ x - y),
        lambda x, u: V.T @ (V @ u),
        geodesically_convex=True,
    )
    lengths = np.linalg.norm(V, axis=0)
    solution = np.linalg.lstsq(V / lengths, y, rcond=None)[0] / lengths
    result = minimize(problem, np.zeros(7))
    assert result.global_minimum
    assert result.cost == pytest.approx(problem.cost(solution), rel=1e-9)


def test_powers_of_flat_spaces_are_scaled() -> None:
    s = np.geomspace(1e-5, 1e5, 12).reshape(4, 3)
    problem = Problem(
        Power(Euclidean(3), 4),
        lambda x: float(np.sum((s * x - 1.0) ** 2)),
        lambda x: 2.0 * s * (s * x - 1.0),
        lambda x, u: 2.0 * s * s * u,
    )
    np.testing.assert_allclose(minimize(problem, np.ones((4, 3))).x, 1.0 / s, rtol=1e-6)


def test_the_paper_s_algorithm_keeps_the_metric_and_claims_nothing_false() -> None:
    case = diagonal(4)
    for method in ("primal-dual", "primal-dual-linearized"):
        result = minimize(case.problem, np.zeros(17), method, max_iter=20)
        assert_true(case, result)


def test_the_gap_is_exact_for_a_linear_cost() -> None:
    """x₀ + 2x₁ + 2x₂ falls by three times the distance along its gradient, and nothing falls faster."""
    c = np.array([1.0, 2.0, 2.0])
    problem = Problem(
        Euclidean(3), lambda x: float(c @ x), lambda x: c, lambda x, u: 0.0 * u, geodesically_convex=True
    )
    result = minimize(problem, np.ones(3), max_iter=0)
    assert result.global_gap(7.0) == pytest.approx(21.0)
    assert not result.global_minimum


def test_the_gap_counts_constraints_that_are_not_active() -> None:
    """With λ = 2 for x ≥ −3 at x = 2 the Lagrangian of x² has the slope 4 − 2 and lies 10 below the cost."""
    problem = Problem(
        Euclidean(1),
        lambda x: float(x @ x),
        lambda x: 2.0 * x,
        lambda x, u: 2.0 * u,
        inequalities=lambda x: -x - 3.0,
        jacobian_product=lambda x, w: -w,
        geodesically_convex=True,
    )

    def stay(constraints: Any, start: Any) -> Any:
        while True:
            yield Update(start, np.array([2.0]))

    result = minimize(problem, np.array([2.0]), stay, max_iter=1)
    assert result.global_gap(0.0) == pytest.approx(10.0)
    assert result.global_gap(5.0) == pytest.approx(20.0)


def test_without_a_declaration_there_is_no_gap() -> None:
    problem = Problem(Euclidean(1), lambda x: float(x @ x), lambda x: 2.0 * x)
    result = minimize(problem, np.ones(1))
    assert result.global_gap(1.0) == math.inf
    assert not result.global_minimum
    with pytest.raises(ValueError, match="`radius` must be a number of at least 0"):
        result.global_gap(-1.0)
    with pytest.raises(ValueError, match="`radius` must be a number of at least 0"):
        result.global_gap(math.nan)


def test_a_weak_slope_up_to_a_far_bound_is_no_global_minimum() -> None:
    """−10⁻⁹ x is stationary to the tolerance at 0, but the bound allows x = 10⁹."""
    problem = Problem(
        Euclidean(2),
        lambda x: float(-1e-9 * x[0] + x[1] ** 2),
        lambda x: np.array([-1e-9, 2.0 * x[1]]),
        lambda x, u: np.array([0.0, 2.0 * u[1]]),
        upper=np.array([1e9, np.inf]),
        geodesically_convex=True,
    )
    result = minimize(problem, np.zeros(2))
    assert result.global_minimum == (result.cost < -0.999)
    assert result.global_gap(1e9) >= result.cost + 1.0 - 1e-9


def dispatch(unit: float) -> Case:
    """The cheapest power of four plants that meets three demands, with limits of power and of its change."""
    a, b, demand = (
        np.array([1.0, 2.0, 1.5, 5.0]) / unit,
        np.array([10.0, 12.0, 11.0, 9.0]),
        np.array([3.0, 4.2, 3.4]),
    )
    changes = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])

    def limits(x: np.ndarray) -> np.ndarray:
        change = x @ changes.T
        return np.concatenate([change.ravel(), -change.ravel()]) - 0.4 * unit

    problem = Problem(
        Euclidean(4, 3),
        lambda x: float(np.sum(a[:, None] * x * x + b[:, None] * x)),
        lambda x: 2.0 * a[:, None] * x + b[:, None],
        lambda x, u: 2.0 * a[:, None] * u,
        equalities=lambda x: x.sum(axis=0) - unit * demand,
        equality_jacobian_product=lambda x, w: np.tile(w, (4, 1)),
        inequalities=limits,
        jacobian_product=lambda x, w: (w[:8] - w[8:]).reshape(4, 2) @ changes,
        lower=0.1 * unit,
        upper=1.5 * unit,
        geodesically_convex=True,
    )
    return Case(problem, 128.054824959606 * unit, None)  # the optimum by Clarabel


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [1.0, 1e8])
def test_powers_in_watts_are_as_easy_as_in_hundreds_of_megawatts(unit: float, method: str) -> None:
    """At 1e8 the default method broke down, and the interior-point method ran out of iterations."""
    case = dispatch(unit)
    result = minimize(case.problem, np.full((4, 3), unit), method, max_iter=100)
    assert result.success
    assert result.global_minimum
    assert result.cost == pytest.approx(case.optimum, rel=1e-9)
