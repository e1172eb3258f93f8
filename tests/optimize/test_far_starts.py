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
