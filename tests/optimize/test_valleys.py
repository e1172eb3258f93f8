"""Equalities whose gradients vanish where they hold: other valleys are looked at, and the lowest is taken."""

import numpy as np
import pytest

from geodual.manifolds import Euclidean, FixedRank, Sphere
from geodual.optimize import Constraint, ConstraintVector, Problem, feasibility, minimize

WELLS = 4


def power(x: np.ndarray) -> tuple[complex, complex]:
    """Return z⁴ and its derivative, where z = x₀ + i x₁."""
    z = complex(x[0], x[1])
    return z**WELLS, WELLS * z ** (WELLS - 1)


def circle_of_wells(squared: bool) -> Problem:
    """Return min −cos 4t − 0.3 cos t s.t. sin 4t = 0 on the circle, or with the square of the equality.

    The minima are near t = 0°, 90°, 180° and 270°, and the lowest is −1.3 at t = 0.
    """

    def equality_gradient(x: np.ndarray) -> np.ndarray:
        return np.array([power(x)[1].imag, power(x)[1].real])

    def square_gradient(x: np.ndarray) -> np.ndarray:
        return 2.0 * power(x)[0].imag * equality_gradient(x)

    plain = Constraint(lambda x: np.array([power(x)[0].imag]), lambda x, w: w[0] * equality_gradient(x))
    square = Constraint(lambda x: np.array([power(x)[0].imag ** 2]), lambda x, w: w[0] * square_gradient(x))
    return Problem(
        Sphere(2),
        lambda x: -power(x)[0].real - 0.3 * x[0],
        gradient=lambda x: np.array([-power(x)[1].real - 0.3, power(x)[1].imag]),
        equalities=[square if squared else plain],
    )


def at_angle(degrees: float) -> np.ndarray:
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


@pytest.mark.parametrize("degrees", [80.0, 95.0, 185.0, 265.0])
def test_the_lowest_well_is_found_from_another_one(degrees: float, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, start = circle_of_wells(squared=True), at_angle(degrees)
    result = minimize(problem, start, tol=1e-6)
    assert result.success
    assert result.cost == pytest.approx(-1.3, abs=1e-5)
    monkeypatch.setattr(feasibility, "_LOOKS", 0)
    alone = minimize(problem, start, tol=1e-6)
    assert alone.success
    assert alone.cost > -1.1  # one descent ends in the well where it started


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("degrees", [88.0, 90.5, 271.0])
def test_squares_are_told_from_other_equalities(squared: bool, degrees: float) -> None:
    constraints = ConstraintVector(circle_of_wells(squared), at_angle(50.0))
    assert feasibility.are_squares(constraints, constraints.evaluate(at_angle(degrees))) is squared


def test_without_equalities_there_are_no_squares() -> None:
    problem = Problem(Sphere(2), lambda x: x[0], gradient=lambda x: np.array([1.0, 0.0]))
    constraints = ConstraintVector(problem, at_angle(10.0))
    assert not feasibility.are_squares(constraints, constraints.evaluate(at_angle(10.0)))


def test_an_equality_that_holds_exactly_is_no_square() -> None:
    constraints = ConstraintVector(circle_of_wells(squared=False), at_angle(50.0))
    assert not feasibility.are_squares(constraints, constraints.evaluate(np.array([1.0, 0.0])))


def test_a_manifold_without_a_longest_step_is_not_searched() -> None:
    """min ½‖X − A‖² s.t. (tr X − 1)² = 0 over rank one, with A = diag(2, 0, 0): X = diag(1, 0, 0)."""
    A = np.diag([2.0, 0.0, 0.0])
    trace = Constraint(
        lambda x: np.array([(np.trace(x) - 1.0) ** 2]),
        lambda x, w: 2.0 * w[0] * (np.trace(x) - 1.0) * np.eye(3),
    )
    problem = Problem(
        FixedRank(3, 3, 1),
        lambda x: 0.5 * np.sum((x - A) ** 2),
        gradient=lambda x: x - A,
        hessian_product=lambda x, u: u,
        equalities=[trace],
    )
    start = np.outer([1.5, 0.1, 0.0], [1.5, 0.0, 0.1])
    result = minimize(problem, start, tol=1e-5)
    assert result.success
    assert result.cost == pytest.approx(0.5, abs=0.02)


def test_a_constraint_without_a_slope_counts_as_a_square() -> None:
    problem = Problem(
        Euclidean(1), lambda x: 0.0, lambda x: 0.0 * x, equalities=lambda x: 0.1 + 0.0 * x,
        equality_jacobian_product=lambda x, w: 0.0 * x,
    )  # fmt: skip
    constraints = ConstraintVector(problem, np.ones(1))
    assert feasibility.are_squares(constraints, constraints.evaluate(np.ones(1)))
