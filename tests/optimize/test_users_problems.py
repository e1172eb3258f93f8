"""Problems from users' fields. Each claim of a result is checked by other means: closed forms or solvers."""

import numpy as np
import pytest

from geodual.manifolds import Euclidean
from geodual.optimize import Constraint, Problem, Quantile, Term, minimize


def linear(A: np.ndarray, b: np.ndarray | float = 0.0) -> Constraint:
    """Return the map x → A x + b with its derivatives."""
    return Constraint(
        lambda x: A @ x + b,
        lambda x, w: A.T @ w,
        directional=lambda x, u: A @ u,
        hessian_product=lambda x, w, u: np.zeros_like(u),
    )


def nothing(n: int, **parts) -> Problem:
    """Return a problem without a smooth cost."""
    return Problem(Euclidean(n), lambda x: 0.0, lambda x: np.zeros(n), lambda x, u: np.zeros(n), **parts)


@pytest.mark.parametrize("budget", range(6))
def test_the_best_feasible_point_costs_what_is_said(budget: int) -> None:
    """The terms at their prox points once counted, which cost less than any point before convergence."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(30, 3)), 10.0 * rng.normal(size=30)
    loss = Quantile(0.8)
    result = minimize(nothing(3, terms=[Term(loss, linear(-X, y))]), np.zeros(3), max_iter=budget)
    assert result.best_feasible is not None
    assert result.best_feasible.cost == pytest.approx(loss.value(y - X @ result.best_feasible.x), abs=1e-9)
    assert result.best_cost == pytest.approx(loss.value(y - X @ result.best_x), abs=1e-9) or budget == 0
