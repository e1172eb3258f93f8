"""Parts of the interior-point method, each by itself: its barrier, restarts, trust region, preconditioner."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pymanopt
import pytest

from geodual.manifolds import Euclidean, Sphere
from geodual.optimize import KKT, Constraint, ConstraintVector, Problem, Stop, Update, minimize
from geodual.optimize.barrier import Barrier, BarrierPreconditioner
from geodual.optimize.interior_point import InteriorPoint, take_step
from geodual.optimize.kkt import Units
from geodual.optimize.updates import Progress


def update_of(residual: float) -> Update:
    return Update(SimpleNamespace(), np.zeros(0), kkt=KKT(residual, 0.0, 0.0))


def line_problem(n_inequalities: int = 1, unit: float = 1.0) -> Problem:
    """Return min x s.t. x ≥ 0, with the constraint in some unit, one or several times."""
    rule = Constraint(
        lambda x: -unit * np.repeat(x, n_inequalities), lambda x, w: -unit * w.sum(keepdims=True)
    )
    return Problem(Euclidean(1), lambda x: float(x[0]), gradient=np.ones_like, inequalities=rule)


def method_for(problem: Problem, x: np.ndarray, unit: float = 1.0, tol: float = 1e-8) -> InteriorPoint:
    constraints = ConstraintVector(problem, x)
    units = Units(1.0, np.full(constraints.size, unit))
    return InteriorPoint(constraints, constraints.evaluate(x), units, tol, None)


@pytest.mark.parametrize(("n", "mu"), [(1, 0.1), (3, 0.1), (30, 0.01)])
def test_many_inequalities_begin_with_a_weaker_barrier(n: int, mu: float) -> None:
    assert method_for(line_problem(n), np.ones(1)).first_mu == pytest.approx(mu)


def test_given_multipliers_tell_how_small_the_barrier_may_be() -> None:
    """At x = 0.5 with z = 0.01 the product of slack and multiplier is 0.005, whatever the unit."""
    for unit in (1.0, 20.0):
        method = method_for(line_problem(unit=unit), np.array([0.5]), unit)
        state = method.started(method.start, np.array([0.01]))
        assert state.model.function.mu == pytest.approx(0.005)


def test_the_barrier_is_tightened_while_its_problem_is_solved() -> None:
    """At x = μ and z = 1 the residual is 0; for another μ it is |1 · μ − μ′|, so μ falls once to below it."""
    method = method_for(line_problem(), np.array([0.1]))
    state = method.started(method.start, np.ones(1))
    assert state.model.function.mu == pytest.approx(0.1)
    tight = method.tightened(state)
    mu = [0.1]
    while abs(0.1 - mu[-1]) <= 10.0 * mu[-1]:
        mu.append(min(0.2 * mu[-1], mu[-1] ** 1.5))
    assert tight.model.function.mu == pytest.approx(mu[-1])
    np.testing.assert_array_equal(tight.model.function.centers, [1.0])


def test_the_weakest_barrier_is_tightened_once_by_its_softness_only() -> None:
    method = method_for(line_problem(), np.array([1e-9]))
    state = method.started(method.start, np.ones(1))
    assert state.model.function.mu == method.last_mu == pytest.approx(1e-9)
    tight = method.tightened(state)
    assert (tight.model.function.mu, tight.softness) == (method.last_mu, 0.1)


def test_reductions_at_which_the_violation_fell_too_little_are_counted_in_a_row() -> None:
    method = method_for(line_problem(), np.array([-0.5]))
    state = method.started(method.start, np.zeros(1))
    assert state.update.kkt.feasibility == 0.5
    first = method.recentered(state, 0.02)
    assert (first.violation, first.misses) == (0.5, 0)  # there was none before
    second_time = method.recentered(first, 0.004)
    assert second_time.misses == 1
    assert method.recentered(second_time, 0.001).misses == 2
    inside = method_for(line_problem(), np.array([0.5]))
    state = inside.recentered(inside.started(inside.start, np.zeros(1)), 0.02)
    assert inside.recentered(state, 0.004).misses == 0


def test_a_saddle_point_no_lower_than_the_last_one_is_not_left_again() -> None:
    A = np.diag([1.0, 2.0, 5.0])
    problem = Problem(
        Sphere(3), lambda x: float(x @ A @ x), lambda x: 2.0 * A @ x, hessian_product=lambda x, u: 2.0 * A @ u
    )
    method = method_for(problem, np.eye(3)[1])
    state = method.started(method.start, np.zeros(0))
    left = method.judged(state)
    assert left.model.point.cost < 2.0
    assert method.saddle_cost == left.model.point.cost
    method.saddle_cost = 2.0
    (end,) = method.judged(state)
    assert end.second_order == "fails"


@pytest.mark.parametrize("step", ["stalled", "blocked"])
def test_where_no_step_succeeds_a_restart_comes_first_and_then_the_best_update(step: str) -> None:
    method = method_for(line_problem(), np.ones(1))
    method.step = lambda state: step
    best, restarted = update_of(0.5), Stop("infeasible", "from the restart")
    method.progress.note(best, unfinished=False)
    method.restarted = lambda state: (restarted,)
    assert list(method.iterate(np.zeros(1))) == [restarted]
    method.restarted = lambda state: None
    last, stop = method.iterate(np.zeros(1))
    assert last is best
    assert ("edge" in stop.message) is (step == "blocked")
    method.progress = Progress()
    last, stop = method.iterate(np.zeros(1))
    np.testing.assert_array_equal(last.point.x, [1.0])


def test_restarts_are_counted_and_limited() -> None:
    method = method_for(line_problem(), np.array([-2.0]))
    state = method.started(method.start, np.zeros(1))
    for number in range(1, 4):
        assert method.restarted(state).model.violation <= 1e-7
        assert method.restarts == number
    assert method.restarted(state) is None
    inside = method_for(line_problem(), np.ones(1))
    assert inside.restarted(inside.started(inside.start, np.zeros(1))) is None


def test_escapes_are_unbounded_if_feasible_and_else_begin_again_a_few_times() -> None:
    inside = method_for(line_problem(), np.ones(1))
    (end,) = inside.after_escape(inside.started(inside.start, np.zeros(1)))
    assert end.status == "unbounded"
    method = method_for(line_problem(), np.array([-2.0]))
    state = method.started(method.start, np.zeros(1))
    for number in range(1, 6):
        assert method.after_escape(state).softness == pytest.approx(0.01**number)
    (end,) = method.after_escape(state)
    assert end.status == "breakdown"


@pytest.mark.parametrize(("cost", "away"), [(-1e13, True), (-1e11, False)])
def test_a_very_deep_fall_counts_as_running_away(cost: float, away: bool) -> None:
    method = method_for(line_problem(), np.ones(1))
    assert method.has_run_away(SimpleNamespace(cost=cost, x=np.ones(1))) is away


def barrier_at(problem: Problem, x: np.ndarray, mu: float = 0.1) -> Any:
    constraints = ConstraintVector(problem, x)
    units, size = Units(1.0, np.ones(constraints.size)), constraints.size
    start = constraints.evaluate(x)
    make = BarrierPreconditioner(constraints, start).at
    return Barrier(constraints, units, make, mu, 1e-6, np.ones(size), True).at(start, np.full(size, mu))


def test_the_trust_region_follows_steps_that_are_cut_and_grows_after_perfect_ones() -> None:
    """Along −100 x the barrier of x ≤ 1 cuts the step. ½ x² is its own model: the radius grows fourfold."""
    rule = Constraint(lambda x: x - 1.0, lambda x, w: w)
    falling = Problem(
        Euclidean(1),
        lambda x: -100.0 * float(x[0]),
        gradient=lambda x: np.array([-100.0]),
        hessian_product=lambda x, u: 0.0 * u,
        inequalities=rule,
    )
    step = take_step(barrier_at(falling, np.zeros(1)), 10.0, 1e-8)
    moved = float(step.model.point.x[0])
    assert 0.9 < moved < 1.0
    assert step.radius == pytest.approx(max(2.0 * moved, 5.0))
    near = take_step(barrier_at(falling, np.zeros(1)), 1.5, 1e-8)
    assert near.radius == pytest.approx(2.0 * float(near.model.point.x[0]))
    bowl = Problem(
        Euclidean(1), lambda x: 0.5 * float(x @ x), gradient=lambda x: x, hessian_product=lambda x, u: u
    )
    step = take_step(barrier_at(bowl, np.array([10.0])), 1.0, 1e-8)
    assert step.model.point.x == pytest.approx([9.0])
    assert step.radius == pytest.approx(4.0)
    assert take_step(barrier_at(bowl, np.array([10.0])), 50.0, 1e-8).radius == 50.0


def test_preconditioned_vectors_are_tangent() -> None:
    rule = Constraint(lambda x: np.array([x[0] + x[1] - 3.0]), lambda x, w: w[0] * np.array([1.0, 1.0, 0.0]))
    problem = Problem(Sphere(3), lambda x: float(x @ x), gradient=lambda x: 2.0 * x, inequalities=rule)
    x = np.array([0.6, 0.0, 0.8])
    model = barrier_at(problem, x)
    assert x @ model.precondition(np.array([1.0, 2.0, 3.0])) == pytest.approx(0.0, abs=1e-12)


def test_without_stiff_constraints_the_preconditioner_divides_by_the_curvature() -> None:
    """On a manifold of pymanopt, whose vectors may only be added, scaled and paired."""
    rule = Constraint(lambda x: np.array([x[0] - 1e9]), lambda x, w: w[0] * np.array([1.0, 0.0, 0.0]))
    problem = Problem(
        pymanopt.manifolds.Euclidean(3),
        lambda x: 2.0 * float(x @ x),
        gradient=lambda x: 4.0 * x,
        hessian_product=lambda x, u: 4.0 * u,
        inequalities=rule,
    )
    c = np.array([1.0, -2.0, 3.0])
    model = barrier_at(problem, np.ones(3))
    made = model.precondition(model.frame.coordinates(c))
    np.testing.assert_allclose(model.frame.tangent(made), c / 4.0)


def test_the_products_of_all_steps_are_in_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step takes those of conjugate gradients, and one for the preconditioner."""
    taken = []

    def noted(*arguments: Any) -> Any:
        step = take_step(*arguments)
        if not isinstance(step, str):
            taken.append(step.n_products + 1)
        return step

    monkeypatch.setattr("geodual.optimize.interior_point.take_step", noted)
    result = minimize(line_problem(3), np.array([2.0]), "interior-point")
    assert result.success
    assert sum(row.hessian_products for row in result.history) == sum(taken)


def test_a_step_to_where_only_the_constraints_have_no_value_is_refused() -> None:
    def above_zero(x: np.ndarray) -> np.ndarray:
        return -np.sqrt(x) if x[0] >= 0.0 else np.array([np.nan])

    rule = Constraint(above_zero, lambda x, w: -0.5 * w / np.sqrt(x))
    problem = Problem(Euclidean(1), lambda x: float(x @ x), gradient=lambda x: 2.0 * x, inequalities=rule)
    constraints = ConstraintVector(problem, np.ones(1))
    barrier = Barrier(constraints, Units(1.0, np.ones(1)), lambda _: lambda c: c, 0.1, 0.1, np.ones(1), True)
    local = barrier.at(constraints.evaluate(np.ones(1)), np.ones(1))
    assert local.moved(np.array([-2.0])) is None
    assert local.moved(np.array([-0.5])) is not None


def test_the_residual_of_a_barrier_vanishes_on_its_central_path() -> None:
    """Of x ≥ 0 with cost x: x = μ and z = 1."""
    rule = Constraint(lambda x: -x, lambda x, w: -w)
    problem = Problem(Euclidean(1), lambda x: float(x[0]), gradient=np.ones_like, inequalities=rule)
    constraints = ConstraintVector(problem, np.ones(1))
    barrier = Barrier(constraints, Units(1.0, np.ones(1)), lambda _: lambda c: c, 0.1, 0.1, np.ones(1), True)
    point = constraints.evaluate(np.array([0.1]))
    assert barrier.at(point, np.ones(1)).residual == pytest.approx(0.0, abs=1e-15)
    assert barrier.at(point, np.array([1.2])).residual == pytest.approx(0.2)
    assert barrier.at(constraints.evaluate(np.array([0.5])), np.ones(1)).residual == pytest.approx(0.4)


def test_the_interior_point_method_counts_its_hessian_products() -> None:
    asked = []

    def curve(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        asked.append(u)
        return 2.0 * u

    rule = Constraint(lambda x: 1.0 - x, lambda x, w: -w)
    problem = Problem(
        Euclidean(1),
        lambda x: float(x @ x),
        gradient=lambda x: 2.0 * x,
        hessian_product=curve,
        inequalities=rule,
    )
    result = minimize(problem, np.array([3.0]), "interior-point")
    assert result.x == pytest.approx([1.0])
    assert result.n_iter < sum(row.hessian_products for row in result.history) <= len(asked)


def test_the_gradients_of_the_stiffest_constraints_are_formed() -> None:
    """Of those that depend on several entries, at most 300, and none that is not stiff."""
    A = np.random.default_rng(0).standard_normal((305, 2))
    rule = Constraint(lambda x: A @ x - 9.0, lambda x, w: A.T @ w)
    problem = Problem(Euclidean(2), lambda x: 0.0, lambda x: 0.0 * x, inequalities=rule, lower=0.0)
    constraints = ConstraintVector(problem, np.zeros(2))
    preconditioner = BarrierPreconditioner(constraints, constraints.evaluate(np.zeros(2)))
    model = SimpleNamespace(stiffness=np.append(np.arange(305.0), [1e6, 1e6]))
    assert preconditioner.stiff_indices(model, 1.0).tolist() == list(range(5, 305))
    assert preconditioner.stiff_indices(model, 100.0).tolist() == list(range(301, 305))
