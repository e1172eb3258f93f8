"""Functions may write every result to the same memory, and many constraints need little of it."""

import tracemalloc

import numpy as np
import pytest

from geodual.manifolds import Euclidean
from geodual.optimize import Constraint, Problem, minimize


def problem(seed: int, *, reuse: bool) -> Problem:
    """A convex quadratic cost under three quadratic inequalities."""
    rng = np.random.default_rng(seed)
    A, B, b = rng.standard_normal((3, 4)), rng.standard_normal((4, 4)), 3.0 * rng.standard_normal(4)
    Q = B @ B.T + np.eye(4)
    memory = {"gradient": np.zeros(4), "value": np.zeros(3), "product": np.zeros(4)}

    def kept(name: str, result: np.ndarray) -> np.ndarray:
        if not reuse:
            return result
        memory[name][:] = result
        return memory[name]

    return Problem(
        Euclidean(4),
        lambda x: 0.5 * float(x @ Q @ x) - float(b @ x),
        lambda x: kept("gradient", Q @ x - b),
        lambda x, u: Q @ u,
        inequalities=lambda x: kept("value", A @ x + 0.1 * (x @ x) - 1.0),
        jacobian_product=lambda x, w: kept("product", A.T @ w + 0.2 * w.sum() * x),
    )


@pytest.mark.parametrize("method", ["proximal-lagrangian", "interior-point"])
@pytest.mark.parametrize("seed", range(4))
def test_a_solve_does_not_depend_on_where_functions_write_their_results(seed: int, method: str) -> None:
    fresh, reused = (
        minimize(problem(seed, reuse=reuse), np.zeros(4), method=method) for reuse in (False, True)
    )
    assert fresh.success
    assert reused.success, reused.message
    np.testing.assert_array_equal(reused.x, fresh.x)


def test_separate_gradients_take_no_more_memory_than_they_need() -> None:
    """A matrix of all weights would have m² entries, here 200 MB."""
    m = 5000
    rule = Constraint(lambda x: np.full(m, x[0]), lambda x, w: np.array([w.sum()]))
    tracemalloc.start()
    try:
        rows = rule.rows(np.zeros(1), np.arange(3))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows == [1.0, 1.0, 1.0]
    assert peak < 20 * 8 * m
