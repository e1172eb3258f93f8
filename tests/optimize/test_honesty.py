"""No false certificate and no false alarm: cases in which an earlier version claimed too much."""

import jax.numpy as jnp
import numpy as np
import pymanopt
import pytest

from geodual.manifolds import SPD, Euclidean, Product, Sphere, Stiefel
from geodual.optimize import Constraint, Problem, minimize

LINE = Euclidean(1)


def test_a_steep_start_does_not_loosen_the_tolerance() -> None:
    """Residuals are relative to the size of the cost; at the start that is 10²¹ here, at the solution 1."""
    problem = Problem(LINE, lambda x: float(np.exp(x[0]) - x[0]), lambda x: np.exp(x) - 1.0)
    result = minimize(problem, [50.0])
    assert result.success, result.message
    assert abs(problem.gradient(result.x)[0]) <= 1e-7


def test_a_steep_start_on_spd() -> None:
    A = np.diag([1.0, 2.0, 3.0])
    problem = Problem(SPD(3), lambda x: float(np.sum((x - A) ** 2)), lambda x: 2 * (x - A))
    result = minimize(problem, 1e5 * np.eye(3))
    assert result.success, result.message
    np.testing.assert_allclose(result.x, A, atol=1e-8)


def test_a_steep_start_with_a_constraint() -> None:
    problem = Problem(
        LINE,
        lambda x: float(x[0] - np.log(x[0])),
        lambda x: 1.0 - 1.0 / x,
        inequalities=lambda x: x - 0.5,
        jacobian_product=lambda x, w: w,
    )
    result = minimize(problem, [1e-8])
    assert result.success, result.message
    assert result.x[0] == pytest.approx(0.5, abs=1e-7)


def test_a_steep_start_of_algorithm_1() -> None:
    problem = Problem(
        LINE,
        lambda x: float(np.exp(x[0]) - x[0]),
        lambda x: np.exp(x) - 1.0,
        inequalities=lambda x: x - 100.0,
        jacobian_product=lambda x, w: w,
    )
    result = minimize(problem, [50.0], method="primal-dual")
    assert not result.success or abs(problem.gradient(result.x)[0]) <= 1e-6


def test_an_infinite_gradient_of_a_constraint_is_refused() -> None:
    problem = Problem(
        LINE,
        lambda x: float((x[0] - 9.0) ** 2),
        lambda x: 2 * (x - 9.0),
        inequalities=lambda x: np.sqrt(x) - 2.0,
        jacobian_product=lambda x, w: w * 0.5 / np.sqrt(x),
    )
    with (
        np.errstate(divide="ignore"),
        pytest.raises(ValueError, match=r"gradient of inequalities\[0\] is not finite"),
    ):
        minimize(problem, [0.0])
    result = minimize(problem, [1.0])
    assert result.success
    assert result.x[0] == pytest.approx(4.0, rel=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_the_edge_of_a_domain_is_not_infinity(seed: int) -> None:
    """min cᵀx over the simplex under an entropy bound: x log x has no value for negative x."""
    rng = np.random.default_rng(seed)
    c = rng.uniform(0.5, 3.0, 4)
    problem = Problem(
        Euclidean(4),
        lambda x: float(c @ x),
        lambda x: c,
        inequalities=lambda x: float(np.sum(x * np.log(x))) + 0.9,
        jacobian_product=lambda x, w: w[0] * (np.log(x) + 1.0),
        equalities=lambda x: x.sum() - 1.0,
        equality_jacobian_product=lambda x, w: w[0] * np.ones(4),
    )
    result = minimize(problem, rng.uniform(0.05, 3.0, 4))
    assert result.success or "at the edge of where cost or constraints are defined" in result.message


def test_infeasible_returns_the_point_that_the_message_is_about() -> None:
    problem = Problem(
        Euclidean(2),
        lambda x: float(x @ x),
        lambda x: 2 * x,
        inequalities=lambda x: np.array([x[0], 1.0 - x[0]]),
        jacobian_product=lambda x, w: np.array([w[0] - w[1], 0.0]),
    )
    result = minimize(problem, [3.0, 4.0])
    assert result.status == "infeasible"
    assert 0.1 < result.x[0] < 0.9


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_small_contradictions_are_infeasible(gap: float) -> None:
    problem = Problem(
        LINE,
        lambda x: float(x[0] ** 2),
        lambda x: 2 * x,
        inequalities=lambda x: np.array([x[0], gap - x[0]]),
        jacobian_product=lambda x, w: np.array([w[0] - w[1]]),
    )
    assert minimize(problem, [1.0]).status == "infeasible"


def test_a_maximum_of_the_violation_is_left() -> None:
    """1 − ‖x‖² ≤ 0 from the origin, where the violation is largest and its gradient zero."""
    problem = Problem(
        Euclidean(2),
        lambda x: float((x[0] - 0.1) ** 2 + x[1] ** 2),
        lambda x: 2 * (x - [0.1, 0.0]),
        inequalities=lambda x: 1.0 - x @ x,
        jacobian_product=lambda x, w: -2 * w[0] * x,
    )
    result = minimize(problem, [0.0, 0.0])
    assert result.success, result.message
    assert np.linalg.norm(result.x) == pytest.approx(1.0)


def test_unbounded_on_a_product_with_a_flat_factor() -> None:
    problem = Problem(
        Product(SPD(2), Euclidean(1)),
        lambda z: -np.linalg.slogdet(z[0])[1] + float(z[1] @ z[1]),
        lambda z: (-np.linalg.inv(z[0]), 2 * z[1]),
        inequalities=lambda z: z[0][0, 0] - 1.0,
        jacobian_product=lambda z, w: (w[0] * np.diag([1.0, 0.0]), np.zeros(1)),
    )
    assert minimize(problem, (np.eye(2), np.ones(1))).status == "unbounded"


def test_far_minimizers_in_a_flat_factor_are_not_infinity() -> None:
    problem = Problem(
        Product(SPD(2), Euclidean(1)),
        lambda z: float(np.trace(z[0]) - np.linalg.slogdet(z[0])[1] + (z[1][0] - 1e6) ** 2),
        lambda z: (np.eye(2) - np.linalg.inv(z[0]), 2 * (z[1] - 1e6)),
    )
    result = minimize(problem, (np.eye(2), np.zeros(1)))
    assert result.success, result.message
    assert result.x[1][0] == pytest.approx(1e6)


def test_breakdown_returns_the_best_iterate() -> None:
    """The largest eigenvalue has no derivative where it is double, as it is at this solution."""
    problem = Problem.from_jax(
        SPD(3), lambda x: -jnp.linalg.slogdet(x)[1], inequalities=lambda x: jnp.linalg.eigvalsh(x)[-1] - 2.0
    )
    result = minimize(problem, np.diag([1.0, 0.9, 0.8]))
    assert result.status == "breakdown"
    assert result.kkt.worst <= 1.001 * min(
        max(row.stationarity, row.feasibility, row.complementarity) for row in result.history[1:]
    )


def test_best_cost_stays_finite_after_divergence() -> None:
    problem = Problem(LINE, lambda x: float(x[0] ** 3), lambda x: 3 * x**2)
    result = minimize(problem, [-1.0], method="primal-dual-linearized", step=1.0)
    assert result.status == "breakdown"
    assert np.isfinite(result.best_cost)
    assert np.isfinite(result.best_x).all()


def test_points_without_logarithm_are_a_breakdown_not_a_crash() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6))
    problem = Problem(Stiefel(6, 2), lambda x: float(np.vdot(x, (A + A.T) @ x)), lambda x: 2 * (A + A.T) @ x)
    for seed in range(4):
        start = Stiefel(6, 2).random_point(np.random.default_rng(seed))
        result = minimize(problem, start, method="primal-dual", step=10.0, max_iter=20)
        assert result.status in ("converged", "breakdown", "max_iterations")


def test_given_second_derivatives_are_used_beside_missing_ones() -> None:
    calls = []

    def hessian_product(x, u):
        calls.append(1)
        return 2 * u

    problem = Problem(
        Euclidean(2),
        lambda x: float(x @ x),
        lambda x: 2 * x,
        hessian_product,
        inequalities=lambda x: 1.0 - x[0],
        jacobian_product=lambda x, w: np.array([-w[0], 0.0]),
    )
    assert minimize(problem, np.ones(2) * 3).success
    assert calls


def test_without_directional_derivatives_gradients_are_formed_once_per_point() -> None:
    counted = []
    A = np.random.default_rng(0).standard_normal((30, 5))

    def jacobian_product(x, w):
        counted.append(1)
        return w @ A

    problem = Problem(
        Euclidean(5),
        lambda x: float(np.sum((x - 3.0) ** 4)),
        lambda x: 4 * (x - 3.0) ** 3,
        inequalities=lambda x: A @ x - 1.0,
        jacobian_product=jacobian_product,
    )
    result = minimize(problem, np.zeros(5))
    products = sum(row.hessian_products for row in result.history)
    assert result.success
    assert len(counted) < 30 * products


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"gradient": lambda x: np.zeros(3)},
            r"gradient of the cost has shape \(3,\), but a point has \(3, 3\)",
        ),
        ({"gradient": lambda x: 0.0}, r"gradient of the cost has shape \(\)"),
        ({"jacobian_product": lambda x, w: w}, r"gradient of inequalities\[0\] has shape \(1,\)"),
        ({"inequalities": lambda x: x}, r"must return a number or a vector, got an array of shape \(3, 3\)"),
        ({"cost": lambda x: np.diag(x)}, "must be a number, not an array"),
    ],
)
def test_wrong_shapes_are_named(changes: dict, message: str) -> None:
    parts = {
        "cost": lambda x: -np.linalg.slogdet(x)[1],
        "gradient": lambda x: -np.linalg.inv(x),
        "inequalities": lambda x: np.trace(x) - 6.0,
        "jacobian_product": lambda x, w: w[0] * np.eye(3),
    } | changes
    with pytest.raises(ValueError, match=message):
        minimize(Problem(SPD(3), **parts), np.eye(3))


def test_constraints_must_keep_their_number() -> None:
    problem = Problem(
        Euclidean(2),
        lambda x: float(x @ x),
        lambda x: 2 * x,
        inequalities=Constraint(
            lambda x: np.full(2 if x[0] == 1.0 else 3, x[0]), lambda x, w: np.array([w.sum(), 0.0])
        ),
    )
    with pytest.raises(ValueError, match="returned 3 numbers, but 2 at the start"):
        minimize(problem, np.ones(2))


def test_callbacks_see_the_last_iterate_and_may_answer_numpy_booleans() -> None:
    problem = Problem(LINE, lambda x: float(x[0] ** 2), lambda x: 2 * x)
    seen = []
    assert minimize(problem, [3.0], callback=seen.append).n_iter == len(seen) == 1
    slow = minimize(problem, [3.0], method="primal-dual", callback=lambda state: state.x[0] < 2.0)
    assert slow.status == "stopped"


def test_a_start_that_is_optimal_is_converged_at_once() -> None:
    problem = Problem(LINE, lambda x: float(x[0] ** 2), lambda x: 2 * x)
    result = minimize(problem, [0.0], max_iter=0)
    assert result.success
    assert result.n_iter == 0


def test_the_start_is_copied() -> None:
    x0 = np.array([3.0])
    problem = Problem(LINE, lambda x: float(x[0] ** 2), lambda x: 2 * x)
    assert not np.shares_memory(minimize(problem, x0, max_iter=0).x, x0)


def test_a_stall_is_not_a_matter_of_budget() -> None:
    problem = Problem(
        LINE,
        lambda x: float(x[0] ** 2),
        lambda x: 2 * x,
        inequalities=lambda x: 1.0 - x,
        jacobian_product=lambda x, w: -w,
    )
    result = minimize(problem, [3.0], method="primal-dual", alpha=0.1, max_iter=50)
    assert "stalls at a violation of αλ*" in result.message


class TestPymanoptManifolds:
    def test_a_product(self) -> None:
        spaces = [pymanopt.manifolds.Sphere(3), pymanopt.manifolds.Euclidean(2)]
        problem = Problem(
            pymanopt.manifolds.Product(spaces),
            lambda x: float(x[0] @ [1.0, 2.0, 3.0] + x[1] @ x[1]),
            lambda x: [np.array([1.0, 2.0, 3.0]), 2 * x[1]],
            inequalities=lambda x: np.concatenate([-x[0], 1.0 - x[1]]),
            jacobian_product=lambda x, w: [-w[:3], -w[3:]],
        )
        result = minimize(problem, [np.full(3, 3**-0.5), np.zeros(2)])
        assert result.success, result.message
        np.testing.assert_allclose(result.x[0], [1.0, 0.0, 0.0], atol=1e-6)
        np.testing.assert_allclose(result.x[1], 1.0, atol=1e-6)

    @pytest.mark.parametrize(
        ("manifold", "point"),
        [
            (pymanopt.manifolds.SymmetricPositiveDefinite(3), -np.eye(3)),
            (pymanopt.manifolds.SymmetricPositiveDefinite(3), np.eye(4)),
            (pymanopt.manifolds.Sphere(3), np.array([1.0, 1.0, 0.0])),
            (pymanopt.manifolds.Stiefel(3, 2), np.ones((3, 2))),
        ],
    )
    def test_points_elsewhere_are_refused(self, manifold, point) -> None:
        problem = Problem(manifold, lambda x: 0.0, np.zeros_like)
        with pytest.raises(ValueError, match="point"):
            minimize(problem, point)

    def test_lists_are_points(self) -> None:
        problem = Problem(pymanopt.manifolds.Sphere(2), lambda x: float(x[0]), lambda x: np.array([1.0, 0.0]))
        result = minimize(problem, [0.6, 0.8])
        assert result.success
        np.testing.assert_allclose(result.x, [-1.0, 0.0], atol=1e-8)


def test_stationary_means_first_order() -> None:
    """A start at a maximum is a KKT point; the message says that the statement is local."""
    problem = Problem(Sphere(2), lambda x: float(x[0]), lambda x: np.array([1.0, 0.0]))
    result = minimize(problem, [1.0, 0.0])
    assert result.success
    assert "local statement" in result.message
