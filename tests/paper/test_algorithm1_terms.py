"""Algorithm 1 with terms: f is lower semicontinuous, as the paper allows, and its proximal step is exact."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geodual.manifolds import SPD, Euclidean
from geodual.optimize import L1, Box, Constraint, Problem, Term, minimize, theorem1_bound

TARGET = np.array([2.0, 0.3, -1.5])


def problem(*terms: Term, rows: np.ndarray | None = None) -> Problem:
    below = None
    if rows is not None:
        below = Constraint(lambda x: rows @ x - 0.5, lambda x, w: rows.T @ w, lambda x, u: rows @ u)
    return Problem(
        Euclidean(3),
        lambda x: 0.5 * float(np.sum((x - TARGET) ** 2)),
        lambda x: x - TARGET,
        lambda x, u: u,
        inequalities=below,
        terms=terms,
    )


def soft(z: np.ndarray, cut: float) -> np.ndarray:
    return np.sign(z) * np.maximum(np.abs(z) - cut, 0.0)


def test_each_proximal_step_is_that_of_the_whole_function() -> None:
    # Eq. (3) for f(x) + μ‖x‖₁ has the closed form soft((x/η + target)/(1/η + 1), μ/(1/η + 1)).
    eta, mu, x = 0.5, 0.4, np.array([0.2, -1.0, 0.0])
    expected = [x]
    for _ in range(5):
        weight = 1.0 / eta + 1.0
        expected.append(soft((expected[-1] / eta + TARGET) / weight, mu / weight))
    seen = []
    minimize(
        problem(Term(L1(mu))),
        x,
        method="primal-dual",
        step=eta,
        max_iter=5,
        callback=lambda i: seen.append(i.x),
    )
    assert_allclose(seen, expected[1:], atol=1e-11)


def test_it_agrees_with_the_default_method_under_constraints() -> None:
    rows = np.array([[1.0, 1.0, 0.0]])
    case = problem(Term(L1(0.4)), Term(Box(-1.0, 1.0)), rows=rows)
    theirs = minimize(case, np.zeros(3), method="primal-dual", step=1.0, max_iter=400)
    ours = minimize(case, np.zeros(3))
    assert theirs.success
    assert_allclose(theirs.x, ours.x, atol=1e-7)
    assert_allclose(theirs.multipliers, ours.multipliers, atol=1e-6)
    for one, other in zip(theirs.terms, ours.terms, strict=True):
        assert_allclose(one.multiplier, other.multiplier, atol=1e-6)
    assert theirs.dual_average.shape == (1,)


def test_theorem_1_bounds_the_cost_with_its_terms() -> None:
    rows = np.array([[1.0, 1.0, 0.0]])
    case, start = problem(Term(L1(0.4)), rows=rows), np.array([0.0, 0.0, 1.0])
    best = minimize(case, start)
    run = minimize(
        case, start, method="primal-dual", max_iter=60, record={"h": lambda x: abs(rows @ x - 0.5)[0]}
    )
    steps = 1.0 / np.sqrt(np.arange(1.0, run.n_iter + 1.0))
    largest = max(row.recorded["h"] for row in run.history)
    bound = theorem1_bound(steps, float(np.linalg.norm(best.x - start)), 1, largest)
    costs = np.minimum.accumulate([row.cost for row in run.history[1:]])
    assert (costs - best.cost <= bound + 1e-9).all()


def test_on_positive_definite_matrices() -> None:
    # −log det x + tr(s x) + μ‖x‖₁ for a diagonal s: the solution is diagonal, 1/(s + μ).
    s, mu = np.diag([1.0, 2.0, 4.0]), 0.5
    case = Problem(
        SPD(3),
        lambda x: float(np.sum(s * x) - np.linalg.slogdet(x)[1]),
        lambda x: s - np.linalg.inv(x),
        terms=[Term(L1(mu))],
    )
    run = minimize(case, np.eye(3), method="primal-dual", step=2.0, max_iter=60, tol=1e-7)
    assert run.success
    assert_allclose(run.terms[0].value, np.diag(1.0 / (np.diag(s) + mu)), atol=1e-6)


def test_the_linearized_form_refuses_terms() -> None:
    with pytest.raises(ValueError, match="A gradient step takes inequalities"):
        minimize(problem(Term(L1(0.1))), np.zeros(3), method="primal-dual-linearized")
