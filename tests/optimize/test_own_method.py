"""A user's own method: a function that yields updates."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from geodual.manifolds import Euclidean
from geodual.optimize import (
    KKT,
    Constraint,
    ConstraintVector,
    EvaluatedPoint,
    Problem,
    Stop,
    Update,
    minimize,
)

SQUARE = Problem(Euclidean(2), cost=lambda x: x @ x, gradient=lambda x: 2.0 * x)


def halve(constraints: ConstraintVector, start: EvaluatedPoint) -> Iterator[Update | Stop]:
    point = start
    while True:
        point = constraints.evaluate(0.5 * point.x)
        yield Update(point, np.zeros(constraints.size), step_size=0.5)


def test_a_function_is_a_method_and_minimize_decides_when_it_is_over() -> None:
    result = minimize(SQUARE, np.array([3.0, 4.0]), method=halve, tol=1e-6)
    expected = int(np.ceil(np.log2(10.0 / 1e-6)))  # the gradient is 10 at the start and halves with each step
    assert (result.status, result.n_iter) == ("converged", expected)
    assert [row.step_size for row in result.history[1:]] == [0.5] * expected
    assert np.isnan([row.penalty for row in result.history]).all()


def test_the_budget_of_an_own_method_is_1000_iterations_unless_given() -> None:
    def stay(constraints: ConstraintVector, start: EvaluatedPoint) -> Iterator[Update | Stop]:
        while True:
            yield Update(start, np.zeros(0))

    assert minimize(SQUARE, np.ones(2), method=stay).n_iter == 1000
    assert minimize(SQUARE, np.ones(2), method=stay, max_iter=7).status == "max_iterations"


def test_a_method_receives_its_options_and_what_it_asks_for_by_name() -> None:
    seen = {}

    def curious(constraints, start, *, tol, units, pace=1.0) -> Iterator[Update | Stop]:
        seen.update(tol=tol, cost_unit=units.cost_unit, pace=pace)
        yield Stop("breakdown", "Seen enough.")

    result = minimize(SQUARE, np.ones(2), method=curious, tol=1e-5, pace=3.0)
    assert (result.status, result.message) == ("breakdown", "Seen enough.")
    assert seen == {"tol": 1e-5, "cost_unit": 1.0, "pace": 3.0}


def test_a_method_that_ends_early_or_yields_nonsense_is_told_so() -> None:
    result = minimize(SQUARE, np.ones(2), method=lambda constraints, start: [])
    assert result.status == "breakdown"
    assert "yielded no more updates" in result.message
    with pytest.raises(TypeError, match="must yield `Update` or `Stop`, got float"):
        minimize(SQUARE, np.ones(2), method=lambda constraints, start: [1.0])


def test_an_unknown_name_is_refused_with_a_list_of_names() -> None:
    with pytest.raises(ValueError, match="'primal-dual-linearized', or a function, got 'nope'"):
        minimize(SQUARE, np.ones(2), method="nope")


LEVEL = Constraint(lambda x: x[:1] - 1.0, lambda x, w: np.array([w[0], 0.0]))
BELOW = Problem(Euclidean(2), cost=lambda x: x @ x, gradient=lambda x: 2.0 * x, inequalities=LEVEL)


@pytest.mark.parametrize("measured", [None, KKT(0.0, 0.0, 0.0)])
def test_a_negative_multiplier_of_an_inequality_is_no_certificate(measured: KKT | None) -> None:
    """On the line x₀ = 1 it balances the gradient, but the minimum under x₀ ≤ 1 is 0."""

    def greatest(constraints: ConstraintVector, start: EvaluatedPoint) -> Iterator[Update | Stop]:
        yield Update(constraints.evaluate(np.array([1.0, 0.0])), np.array([-2.0]), kkt=measured)

    result = minimize(BELOW, np.ones(2), method=greatest)
    assert result.status == "breakdown"
    assert result.kkt.stationarity == pytest.approx(2.0)
    np.testing.assert_array_equal(result.multipliers, 0.0)


def test_a_negative_multiplier_of_an_equality_is_one() -> None:
    def right(constraints: ConstraintVector, start: EvaluatedPoint) -> Iterator[Update | Stop]:
        yield Update(constraints.evaluate(np.array([1.0, 0.0])), np.array([-2.0]))

    equal = Problem(Euclidean(2), cost=lambda x: x @ x, gradient=lambda x: 2.0 * x, equalities=LEVEL)
    assert minimize(equal, np.ones(2), method=right).success


def test_an_update_with_the_wrong_number_of_multipliers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one multiplier per constraint, 1, got shape \(2,\)"):
        minimize(BELOW, np.ones(2), method=lambda constraints, start: [Update(start, np.zeros(2))])


def test_the_best_feasible_iterate_has_a_cost() -> None:
    def costs(x: np.ndarray) -> float:
        return float(x @ x) if x[0] > -3.0 else np.nan

    def walk(constraints: ConstraintVector, start: EvaluatedPoint) -> Iterator[Update | Stop]:
        yield Update(constraints.evaluate(np.array([-4.0, 0.0])), np.zeros(1))

    problem = Problem(Euclidean(2), costs, gradient=lambda x: 2.0 * x, inequalities=LEVEL)
    result = minimize(problem, np.array([2.0, 0.0]), method=walk)
    assert (result.status, result.best_feasible) == ("breakdown", None)


@pytest.mark.parametrize("values", [[3.0, 1.0, 2.0], [1.5, 3.0, 2.0]])
def test_the_best_iterate_is_kept_but_the_start_does_not_count(values: list[float]) -> None:
    def walk(constraints, start):  # from 0.5, where the cost is lowest
        for value in values:
            yield Update(constraints.evaluate(np.array([value])), np.zeros(0))
        yield Stop("breakdown", "the end of the walk")

    problem = Problem(Euclidean(1), lambda x: float(x @ x), gradient=lambda x: 2.0 * x)
    result = minimize(problem, np.array([0.5]), method=walk)
    assert result.best_cost == min(values) ** 2
    assert result.best_x == [min(values)]


def test_a_method_that_yields_infinite_costs_is_stopped_at_the_last_finite_iterate() -> None:
    def walk(constraints: Any, start: Any) -> Any:
        for value in (0.5, 2.0):
            yield Update(constraints.evaluate(np.array([value])), np.zeros(0))

    problem = Problem(
        Euclidean(1), lambda x: float(x @ x) if x[0] < 1.0 else math.inf, gradient=lambda x: 2.0 * x
    )
    result = minimize(problem, np.array([0.9]), method=walk)
    assert result.status == "breakdown"
    assert result.x == [0.5]
