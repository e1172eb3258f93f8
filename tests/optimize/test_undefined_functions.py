"""Functions and derivatives that do not exist everywhere: solvers go around such points."""

import numpy as np
import pytest

from geodual.manifolds import Euclidean, NoLogarithmError, NotOnManifoldError, Sphere
from geodual.optimize import Constraint, ConstraintVector, Problem, check_convexity, minimize
from geodual.optimize.active_set import active_jacobian
from geodual.optimize.feasibility import elsewhere
from geodual.optimize.kkt import measure_units

ERRORS = [np.linalg.LinAlgError, NotOnManifoldError, NoLogarithmError]


def saddle(error: type[Exception], width: float) -> Problem:
    """The saddle x₁² − x₀² + x₀⁴/w², defined for |x₀| < w, with minima at x₀ = ± w/√2."""

    def cost(x: np.ndarray) -> float:
        if abs(x[0]) >= width:
            raise error("outside")
        return float(x[1] ** 2 - x[0] ** 2 + x[0] ** 4 / width**2)

    return Problem(
        Euclidean(2), cost, lambda x: np.array([-2.0 * x[0] + 4.0 * x[0] ** 3 / width**2, 2.0 * x[1]])
    )


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("method", ["proximal-lagrangian", "interior-point"])
def test_a_saddle_point_is_left_though_the_cost_has_no_value_one_unit_away(error, method: str) -> None:
    result = minimize(saddle(error, 0.25), np.zeros(2), method=method)
    assert result.success, result.message
    assert np.abs(result.x) == pytest.approx([0.25 / np.sqrt(2.0), 0.0], abs=1e-7)


def cone() -> Problem:
    """½ ‖x‖² in the cone ‖(x₁, x₂)‖ ≤ x₀, whose function has no derivative at the solution 0."""
    rule = Constraint(
        lambda x: np.linalg.norm(x[1:]) - x[0],
        lambda x, w: w[0] * np.concatenate([[-1.0], x[1:] / np.linalg.norm(x[1:])]),
    )
    return Problem(Euclidean(3), lambda x: 0.5 * float(x @ x), lambda x: x, lambda x, u: u, inequalities=rule)


def test_a_minimum_where_an_active_constraint_has_no_derivative_is_found() -> None:
    result = minimize(cone(), np.array([3.0, 1.0, 1.0]))
    assert result.success, result.message
    assert result.x == pytest.approx(np.zeros(3), abs=1e-8)
    assert result.second_order == "holds"  # without the constraint, too, because its multiplier is 0


@np.errstate(invalid="ignore")
def test_there_is_no_jacobian_of_constraints_without_a_derivative() -> None:
    constraints, frame = ConstraintVector(cone(), np.ones(3)), Euclidean(3).frame(np.zeros(3))
    assert active_jacobian(constraints, frame, np.ones(1), np.array([True])) is None


@pytest.mark.parametrize("error", ERRORS)
def test_constraints_without_a_value_near_the_start_are_measured_and_checked(error) -> None:
    """x₀² − 1 on the sphere, defined for |x₁| < 0.1 only; probes and geodesics go further."""

    def value(x: np.ndarray) -> float:
        if abs(x[1]) >= 0.1:
            raise error("outside")
        return x[0] ** 2 - 1.0

    rule = Constraint(value, lambda x, w: 2.0 * w[0] * x[0] * np.eye(3)[0])
    problem = Problem(Sphere(3), lambda x: float(x[2]), lambda x: np.eye(3)[2], equalities=rule)
    constraints = ConstraintVector(problem, np.eye(3)[2])
    point = constraints.evaluate(np.eye(3)[2])
    assert measure_units(constraints, point).constraints == pytest.approx(1.0, rel=0.5)
    rng = np.random.default_rng(0)
    assert None in [elsewhere(constraints, point, 1.0, rng) for _ in range(20)]
    assert check_convexity(problem, point.x).checks[1].n_geodesics < 100
