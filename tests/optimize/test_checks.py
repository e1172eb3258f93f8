"""The derivative check passes what is right and names what is wrong."""

import math

import numpy as np
import pytest

from geodual.manifolds import SPD, Euclidean, Hyperbolic, Power
from geodual.optimize import Constraint, Problem, check_gradient
from geodual.optimize.checks import STEPS, remainder_slope


def problem(**changes) -> Problem:
    parts = {
        "cost": lambda x: float(np.trace(x @ x @ x)),
        "gradient": lambda x: 3 * x @ x,
        "hessian_product": lambda x, u: 3 * (x @ u + u @ x),
        "value": lambda x: np.array([np.trace(x @ x), x[0, 1]]),
        "jacobian_product": lambda x, w: 2 * w[0] * x + w[1] * np.eye(3)[[1, 0, 2]] * [[1], [0], [0]],
        "directional": lambda x, u: np.array([2 * np.vdot(x, u), u[0, 1]]),
        "constraint_hessian": lambda x, w, u: 2 * w[0] * u,
    } | changes
    constraint = Constraint(
        parts["value"], parts["jacobian_product"], parts["directional"], parts["constraint_hessian"]
    )
    return Problem(
        SPD(3), parts["cost"], parts["gradient"], parts["hessian_product"], inequalities=constraint
    )


X = SPD(3).random_point(np.random.default_rng(0))


def test_right_derivatives_pass() -> None:
    check = check_gradient(problem(), X)
    assert check.passed, f"\n{check}"
    assert len(check.checks) == 5


@pytest.mark.parametrize(
    ("part", "wrong", "name"),
    [
        ("gradient", lambda x: 2.9 * x @ x, "gradient of cost"),
        ("hessian_product", lambda x, u: 6 * x @ u * 1.01, "Hessian of cost"),
        ("jacobian_product", lambda x, w: 2 * w[0] * x, "gradient of inequalities[0]"),
        ("directional", lambda x, u: np.array([np.vdot(x, u), u[0, 1]]), "directional derivative"),
        ("constraint_hessian", lambda x, w, u: w[0] * u, "Hessian of inequalities[0]"),
        ("gradient", lambda x: np.full((3, 3), np.nan), "gradient of cost"),
    ],
)
def test_wrong_derivatives_are_named(part: str, wrong, name: str) -> None:
    check = check_gradient(problem(**{part: wrong}), X)
    assert not check
    failed = [row.name for row in check.checks if not row.passed]
    assert any(name in row for row in failed)
    assert "FAIL" in str(check)


def test_linear_functions_pass_though_their_remainder_is_rounding() -> None:
    linear = Problem(SPD(3), lambda x: -np.linalg.slogdet(x)[1], lambda x: -np.linalg.inv(x))
    assert check_gradient(linear, np.eye(3))


def test_other_manifolds_and_generators() -> None:
    a = np.array([3.0, 1.0, 2.0])
    cost = Problem(Hyperbolic(2), lambda x: float(a @ x), lambda x: a, lambda x, u: 0 * u)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        assert check_gradient(cost, Hyperbolic(2).random_point(rng), rng)


def test_a_derivative_of_the_wrong_structure_is_named() -> None:
    points = Power(Hyperbolic(1), 5)  # its frames take one part of a gradient each
    x = points.random_point(np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"gradient of cost has shape \(\), .* check gradient\(x\)"):
        check_gradient(Problem(points, lambda x: 0.0, gradient=lambda x: 0.5), x)


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_separate_gradients_are_checked(factor: float) -> None:
    A = np.random.default_rng(0).standard_normal((2, 3, 3))
    rule = Constraint(
        lambda x: np.array([np.vdot(a, x) for a in A]),
        lambda x, w: np.tensordot(w, A, 1),
        gradients=lambda x, indices: [factor * A[k] for k in indices],
    )
    check = check_gradient(Problem(SPD(3), np.trace, lambda x: np.eye(3), inequalities=rule), X)
    assert [row.name for row in check.checks if not row.passed] == (
        [] if factor == 1.0 else ["separate gradients of inequalities[0]"]
    )


def test_a_block_without_constraints_passes() -> None:
    empty = Constraint(lambda x: [], lambda x, w: 0.0 * x, lambda x, u: [], gradients=lambda x, indices: [])
    assert check_gradient(Problem(SPD(3), np.trace, lambda x: np.eye(3), equalities=empty), X)


def test_the_order_of_a_remainder_is_that_of_the_smallest_steps() -> None:
    """Of t² for small steps, and of t for the large ones."""
    remainder = np.where(1.01 * STEPS[-6] > STEPS, STEPS**2, STEPS * STEPS[-6])
    assert remainder_slope(remainder, 0.0) == pytest.approx(2.0)
    assert remainder_slope(np.zeros(len(STEPS)), 0.0) == math.inf
    assert remainder_slope(np.full(len(STEPS), np.nan), 0.0) == -math.inf


def test_rounding_errors_of_a_large_constraint_beside_a_small_one_are_no_error() -> None:
    block = Constraint(
        lambda x: np.array([1e10 * x[0] / 3.0, 0.0]),
        lambda x, w: np.array([1e10 * w[0] / 3.0, 0.0]),
        directional=lambda x, u: np.array([1e10 * u[0] / 3.0, 0.0]),
    )
    problem = Problem(Euclidean(2), lambda x: float(x @ x), lambda x: 2.0 * x, inequalities=block)
    check = check_gradient(problem, np.array([0.7, 0.3]))
    assert check, f"\n{check}"
