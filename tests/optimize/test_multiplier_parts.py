"""Parts of the method of multipliers, each by itself: proximal terms, greed, returns and escapes."""

from types import SimpleNamespace

import numpy as np
import pytest

from geodual.manifolds import Euclidean
from geodual.optimize import KKT, Constraint, Problem, minimize
from geodual.optimize.proximal_lagrangian.method import is_feasible, next_proximal_weight
from geodual.optimize.proximal_lagrangian.safeguards import is_greedy
from geodual.optimize.proximal_lagrangian.state import FAST, PROXIMAL_WEIGHT, State


@pytest.mark.parametrize("hadamard", [False, True])
@pytest.mark.parametrize("closed", [False, True])
def test_a_proximal_term_needs_a_smooth_distance_that_is_known(hadamard: bool, closed: bool) -> None:
    method = SimpleNamespace(manifold=SimpleNamespace(hadamard=hadamard, closed_form_log=closed))
    weight = next_proximal_weight(method, SimpleNamespace(proximal_weight=0.5))
    assert weight == pytest.approx(0.05 if hadamard and closed else 0.0)


def test_a_constraint_that_does_not_matter_costs_no_further_iteration() -> None:
    far = Constraint(lambda x: x - 100.0, lambda x, w: w)
    problem = Problem(
        Euclidean(3), lambda x: float(np.sum((x - 1.0) ** 4 + x**2)),
        gradient=lambda x: 4.0 * (x - 1.0) ** 3 + 2.0 * x, inequalities=far,
    )  # fmt: skip
    assert minimize(problem, np.array([5.0, -3.0, 2.0])).n_iter == 1


@pytest.mark.parametrize("parts", [(9.0, 0.5, 0.5), (0.0, 2.0, 0.5), (0.0, 0.5, 2.0), (0.0, 1.0, 1.0)])
def test_feasible_means_without_violation_and_with_complementarity(parts: tuple[float, float, float]) -> None:
    update = SimpleNamespace(kkt=KKT(*parts))
    found = is_feasible(update, 1.0)
    assert found is (max(parts[1:]) <= 1.0)


def test_greed_compares_violations_in_the_same_units() -> None:
    weight, start = 0.01, np.array([1e5])  # the scaled violation at the start is 1000

    def greedy(violation: float, hadamard: bool = True) -> bool:
        manifold = SimpleNamespace(hadamard=hadamard)
        constraints = SimpleNamespace(
            problem=SimpleNamespace(manifold=manifold), prox=lambda z, t: np.minimum(z, 0.0)
        )
        function = SimpleNamespace(constraints=constraints, weights=np.array([weight]))
        point = SimpleNamespace(constraints=np.array([violation / weight]))
        return is_greedy(SimpleNamespace(function=function, point=point), SimpleNamespace(constraints=start))

    assert greedy(1.01 * 10.0 * 1000.0)
    assert not greedy(0.99 * 10.0 * 1000.0)
    assert not greedy(1.01 * 10.0 * 1000.0, hadamard=False)


def test_each_return_to_a_feasible_point_raises_the_penalty_a_hundredfold() -> None:
    state = State(None, np.ones(2), inner_tol=1e-9, proximal_weight=0.1)
    once = state.returned("there")
    twice = once.returned("there")
    assert [once.penalty, twice.penalty] == pytest.approx([100.0 * FAST.penalty, 1e4 * FAST.penalty])
    assert (once.restorations, twice.restorations) == (1, 2)
    assert (once.point, once.proximal_weight, once.inner_tol) == ("there", 0.0, FAST.inner_tol)
    np.testing.assert_array_equal(once.y, 0.0)


def test_an_escape_raises_the_penalty_and_the_proximal_weight_if_allowed() -> None:
    state = State(None, np.ones(2), penalty=3.0, proximal_weight=0.5)
    free, held = state.after_escape(may_weigh=False), state.after_escape(may_weigh=True)
    assert (free.penalty, free.proximal_weight, free.escapes) == (300.0, 0.0, 1)
    assert (held.penalty, held.proximal_weight, held.escapes) == (300.0, 5.0, 1)
    assert State(None, np.ones(2)).after_escape(may_weigh=True).proximal_weight == 10.0 * PROXIMAL_WEIGHT
