"""Eqs. (2)–(4): the iterates of Algorithm 1 satisfy them to 1e-10."""

import numpy as np
import pytest
from scipy.optimize import brentq

from geodual.manifolds import SPD
from geodual.optimize import Problem, minimize
from testing.problems import determinant_under_trace, hyperbolic_mean_in_ball, karcher_mean_under_trace

from .algorithm1_run import Run, run_algorithm1

CASES = [determinant_under_trace, karcher_mean_under_trace, hyperbolic_mean_in_ball]


@pytest.fixture(scope="module", params=CASES, ids=lambda build: build.__name__)
def run(request: pytest.FixtureRequest) -> Run:
    return run_algorithm1(request.param(), n_iter=25, alpha=0.1)


def test_starts_from_zero_multipliers_and_the_printed_steps(run: Run) -> None:
    np.testing.assert_allclose(run.steps, [1.0 / np.sqrt(t + 1) for t in range(25)], rtol=1e-15)
    assert run.result is not None
    assert run.result.n_iter == 25
    assert run.result.history[0].cost == run.f(run.x0)


def test_eq_2_the_dual_step_follows_the_gradient_of_the_lagrangian(run: Run) -> None:
    """The gradient of eq. (2) in λ, by differences, is the step of eq. (4) before the cut at zero."""
    for t in range(25):
        x, lam, eta = run.points[t + 1], run.multipliers[t], run.steps[t]
        unit = np.array([1.0])
        # L is quadratic in λ, so the central difference is exact for any step.
        slope = (run.lagrangian(x, lam + unit) - run.lagrangian(x, lam - unit)) / 2.0
        expected = max(lam[0] + eta * slope, 0.0)
        assert run.multipliers[t + 1][0] == pytest.approx(expected, abs=1e-10)


def test_eq_3_the_gradient_of_the_proximal_objective_vanishes(run: Run) -> None:
    manifold = run.case.manifold
    for t in range(25):
        x, x_next, lam, eta = run.points[t], run.points[t + 1], run.multipliers[t], run.steps[t]
        gradient = run.lagrangian_gradient(x_next, lam) - manifold.log(x_next, x) / eta
        assert manifold.norm(x_next, gradient) <= 1e-10


def test_eq_3_no_point_nearby_is_better(run: Run) -> None:
    manifold, rng = run.case.manifold, np.random.default_rng(0)
    for t in (0, 5, 24):
        x, x_next, lam, eta = run.points[t], run.points[t + 1], run.multipliers[t], run.steps[t]

        def objective(y, x=x, lam=lam, eta=eta):
            return run.lagrangian(y, lam) + manifold.dist(x, y) ** 2 / (2.0 * eta)

        for radius in (1e-3, 1e-1, 1.0):
            other = manifold.exp(x_next, radius * manifold.random_tangent(x_next, rng))
            assert objective(other) > objective(x_next)


def test_eq_3_agrees_with_a_scalar_root() -> None:
    """On SPD(1) with f = −log x and h = a x − c, the proximal point solves a scalar equation in log x."""
    a, c, eta, alpha = 2.0, 3.0, 0.7, 0.2
    problem = Problem(
        SPD(1),
        cost=lambda x: -np.log(x[0, 0]),
        gradient=lambda x: -1.0 / x,
        hessian_product=lambda x, u: u / x**2,
        inequalities=lambda x: a * x[0, 0] - c,
        jacobian_product=lambda x, w: np.array([[a * w[0]]]),
    )
    states = []
    minimize(
        problem, np.array([[5.0]]), "primal-dual", 1e-300,
        max_iter=6, callback=states.append, alpha=alpha, step=eta,
    )  # fmt: skip
    s, lam = np.log(5.0), 0.0
    for state in states:
        s = brentq(lambda r, s=s, lam=lam: -1.0 + lam * a * np.exp(r) + (r - s) / eta, -20, 20, xtol=1e-15)
        lam = max(lam + eta * (a * np.exp(s) - c - alpha * lam), 0.0)
        assert np.log(state.x[0, 0]) == pytest.approx(s, abs=1e-10)
        assert state.multipliers[0] == pytest.approx(lam, abs=1e-10)


def test_eq_4_projects_the_ascent_step(run: Run) -> None:
    for t in range(25):
        lam, eta = run.multipliers[t], run.steps[t]
        expected = np.maximum(lam + eta * (run.h(run.points[t + 1]) - run.alpha * lam), 0.0)
        np.testing.assert_allclose(run.multipliers[t + 1], expected, rtol=0, atol=1e-10)


def test_eq_4_cuts_off_where_the_constraint_is_slack() -> None:
    run = run_algorithm1(determinant_under_trace(), n_iter=3, step=0.1)
    assert run.h(run.points[1])[0] < 0.0
    assert run.multipliers[1][0] == 0.0


def test_best_iterate_and_dual_average(run: Run) -> None:
    assert run.result is not None
    costs = [run.f(x) for x in run.points[1:]]
    assert run.result.best_cost == min(costs)
    np.testing.assert_array_equal(run.result.best_x, run.points[1 + int(np.argmin(costs))])
    average = (
        sum(eta * lam for eta, lam in zip(run.steps, run.multipliers[:-1], strict=True)) / run.steps.sum()
    )
    np.testing.assert_allclose(run.result.dual_average, average, rtol=1e-12)


@pytest.mark.parametrize("exponential", [False, True])
def test_linearized_step_is_one_gradient_step(exponential: bool) -> None:
    case = karcher_mean_under_trace()
    manifold, states = case.manifold, []
    minimize(
        case.problem,
        case.feasible_start,
        "primal-dual-linearized",
        max_iter=5,
        callback=states.append,
        step=lambda t: 0.05 / (t + 1),
        exponential=exponential,
    )
    run = Run(case, 0.0, case.feasible_start, states)
    move = manifold.exp if exponential else manifold.retract
    for t in range(5):
        gradient = run.lagrangian_gradient(run.points[t], run.multipliers[t])
        expected = move(run.points[t], -run.steps[t] * gradient)
        np.testing.assert_allclose(run.points[t + 1], expected, rtol=1e-10)
        ascended = run.multipliers[t] + run.steps[t] * run.h(run.points[t + 1])
        np.testing.assert_allclose(run.multipliers[t + 1], np.maximum(ascended, 0.0), atol=1e-12)
