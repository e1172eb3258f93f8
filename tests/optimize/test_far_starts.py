"""Starts so far away that numbers almost overflow: no certificate may be in the units of such a start."""

import numpy as np
import pytest

from geodual.manifolds import Euclidean
from geodual.optimize import Constraint, Problem, minimize

TARGET = np.array([3.0, -1.0, 2.0])


def projection(hessian: bool) -> Problem:
    """Project a point onto the unit ball: the solution is TARGET/‖TARGET‖."""
    return Problem(
        Euclidean(3),
        lambda x: 0.5 * float(np.sum((x - TARGET) ** 2)),
        gradient=lambda x: x - TARGET,
        hessian_product=(lambda x, u: u) if hessian else None,
        inequalities=[Constraint(lambda x: 0.5 * (x @ x - 1.0), lambda x, w: w[0] * x)],
    )


@pytest.mark.parametrize("hessian", [True, False])
@pytest.mark.parametrize("method", ["proximal-lagrangian", "interior-point"])
@pytest.mark.parametrize("distance", [1e6, 1e12, 1e20, 1e50, 1e150])
def test_a_far_start_gives_the_solution_or_no_certificate(
    method: str, distance: float, hessian: bool
) -> None:
    start = distance * np.array([1.0, 2.0, -3.0])
    # Few inner iterations, so that inner solves end unfinished.
    options = {"inner_iterations": 5} if method == "proximal-lagrangian" else {}
    result = minimize(projection(hessian), start, method, max_time=10.0, **options)
    assert np.isfinite(result.x).all()
    assert result.status != "unbounded"  # the cost falls by 10²⁴ and more, but not below 0
    if result.success:
        np.testing.assert_allclose(result.x, TARGET / np.linalg.norm(TARGET), atol=1e-6)


METHODS = ["proximal-lagrangian", "interior-point"]


def in_large_units(scale: float, target: np.ndarray = TARGET, **constraints) -> Problem:
    """½ ‖x/s − target‖² under constraints on x/s, whose derivatives are by x/s."""

    def rescaled(block: Constraint) -> Constraint:
        return Constraint(
            lambda x: block.value(x / scale), lambda x, w: block.jacobian_product(x / scale, w) / scale
        )

    return Problem(
        Euclidean(3),
        lambda x: 0.5 * float(np.sum((x / scale - target) ** 2)),
        gradient=lambda x: (x / scale - target) / scale,
        **{kind: rescaled(block) for kind, block in constraints.items()},
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("seed", "scale"), [(15, 3.5e5), (55, 4.6e6), (119, 4.5e7)])
def test_small_slopes_in_large_units_are_no_sign_of_infeasibility(
    seed: int, scale: float, method: str
) -> None:
    rule = Constraint(
        lambda z: np.array([np.sin(z[0]) - 0.5, z[1] * z[2] - 1.0]),
        lambda z, w: np.array([w[0] * np.cos(z[0]), w[1] * z[2], w[1] * z[1]]),
    )
    start = scale * np.random.default_rng(seed).standard_normal(3)
    result = minimize(in_large_units(scale, equalities=rule), start, method)
    assert result.success, result.message
    assert rule.value(result.x / scale) == pytest.approx(np.zeros(2), abs=1e-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_contradictions_in_large_units_are_infeasible(scale: float, method: str) -> None:
    rule = Constraint(lambda z: np.array([z[0], 1.0 - z[0]]), lambda z, w: np.array([w[0] - w[1], 0.0, 0.0]))
    result = minimize(in_large_units(scale, inequalities=rule), np.full(3, 2.0 * scale), method)
    assert result.status == "infeasible", result.message


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e6, 1e8])
def test_a_fall_from_far_above_the_start_is_not_without_bound(scale: float, method: str) -> None:
    """From the center of the ball, the first step out of it is a hundred times too long."""
    rule = Constraint(lambda z: 1.0 - z @ z, lambda z, w: -2.0 * w[0] * z)
    problem = in_large_units(scale, np.array([0.1, 0.0, 0.0]), inequalities=rule)
    result = minimize(problem, np.zeros(3), method)
    assert result.status in ("converged", "breakdown"), result.message
    assert result.x / scale == pytest.approx(np.array([1.0, 0.0, 0.0]), abs=1e-4)
