"""Limits and safeguards of the solvers: what they do is seen only where something is large, rare or wrong."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from geodual.manifolds import Euclidean
from geodual.optimize import (
    Constraint,
    ConstraintVector,
    Lagrangian,
    Problem,
    Update,
    check_convexity,
    check_gradient,
    limited_memory,
    minimize,
)
from geodual.optimize import barrier as preconditioning
from geodual.optimize.active_set import _conjugate_gradients, _Stored
from geodual.optimize.bounds import _as_slice
from geodual.optimize.checks import _STEPS, _slope
from geodual.optimize.convexity import _direction, _Search
from geodual.optimize.feasibility import are_squares
from geodual.optimize.interior_point import _CG_ACCURACY, _accuracy
from geodual.optimize.newton_cg import _next_radius
from geodual.optimize.quasi_newton import _between
from geodual.optimize.second_order import Curvature, _would_have_shown


@pytest.mark.parametrize(("condition", "found"), [(1.0, True), (5.0, True), (1000.0, False)])
def test_a_gram_system_counts_as_solved_near_the_accuracy(condition: float, found: bool) -> None:
    """For the condition 5, thirty steps leave a residual of about 1e-12: more than asked, but good enough."""
    A = np.linspace(1.0, condition, 60)
    r = np.random.default_rng(0).standard_normal(60)
    w, solved = _conjugate_gradients(lambda v: A * v, r)
    assert solved is found
    if condition == 5.0:
        assert 1e-14 < np.linalg.norm(A * w - r) / np.linalg.norm(r) < 1e-10


def test_a_gram_system_is_solved_in_spite_of_its_shift() -> None:
    rows = np.diag([1.0, 1e-3]) @ np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0]])
    r = np.array([1.0, 2.0])
    np.testing.assert_allclose(rows @ rows.T @ _Stored(rows).solve_gram(r), r, rtol=1e-9)


def test_the_gradients_of_the_stiffest_constraints_are_formed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preconditioning, "_MOST_ROWS", 2)
    entries = SimpleNamespace(entries=np.array([-1, -1, 3, -1, -1]))
    model = SimpleNamespace(stiffness=np.array([50.0, 1.0, 1e3, 40.0, 60.0]))
    stiff = preconditioning.BarrierPreconditioner._stiff(entries, model, 10.0)
    assert stiff.tolist() == [0, 4]
    assert preconditioning.BarrierPreconditioner._stiff(entries, model, 15.0).tolist() == [0, 4]
    assert preconditioning.BarrierPreconditioner._stiff(entries, model, 18.0).tolist() == [4]


@pytest.mark.parametrize(
    ("present", "norm", "target", "expected"),
    [
        (1e-4, 1.0, 0.0, 1e-2 * 1e-4),  # √present is the smaller factor
        (1.0, 1e2, 0.0, 0.1 * 1.0 / 1e2),  # a tenth is
        (1e-4, 1.0, 1e-3, 0.3 * 1e-3),  # the target is not that small
        (1e-12, 1.0, 0.0, _CG_ACCURACY[0]),
        (1.0, 1e-3, 0.0, _CG_ACCURACY[1]),
    ],
)
def test_newton_systems_of_the_barrier_are_solved_as_well_as_their_step_deserves(
    present: float, norm: float, target: float, expected: float
) -> None:
    frame = SimpleNamespace(norm=abs)
    model = SimpleNamespace(frame=frame, lagrangian=SimpleNamespace(gradient=present), gradient=norm)
    assert _accuracy(model, target) == pytest.approx(expected)


def test_the_radius_follows_how_good_the_steps_are() -> None:
    def radius(fraction: float, ratio: float, at_boundary: bool, length: float = 3.0) -> float:
        step = SimpleNamespace(decrease=2.0, at_boundary=at_boundary)
        return _next_radius(10.0, length, step, fraction, 2.0 * ratio)

    assert radius(0.5, 1.0, True) == 6.0
    assert radius(0.5, 1.0, True, length=0.1) == 1.0  # not below a tenth
    assert radius(1.0, 0.05, True) == 5.0
    assert radius(1.0, 0.3, True) == 10.0
    assert radius(1.0, 0.9, True) == 20.0
    assert radius(1.0, 0.9, False) == 10.0
    assert _next_radius(10.0, 3.0, SimpleNamespace(decrease=0.0, at_boundary=True), 1.0, 1.0) == 5.0


def test_a_step_beside_a_saddle_tries_both_sides_and_ever_shorter_lengths() -> None:
    asked = []

    def moved(c: np.ndarray) -> SimpleNamespace | None:
        asked.append(float(c[0]))
        return SimpleNamespace(value=-1.0 if c[0] == -0.25 else 1.0, point="there")

    assert Curvature(-2.0, np.ones(1)).lower_point(moved, 0.0, 1.0) == "there"
    assert asked == [1.0, -1.0, 0.5, -0.5, 0.25, -0.25]


def test_a_constraint_without_a_slope_counts_as_a_square() -> None:
    problem = Problem(
        Euclidean(1), lambda x: 0.0, lambda x: 0.0 * x, equalities=lambda x: 0.1 + 0.0 * x,
        equality_jacobian_product=lambda x, w: 0.0 * x,
    )  # fmt: skip
    constraints = ConstraintVector(problem, np.ones(1))
    assert are_squares(constraints, constraints.evaluate(np.ones(1)))


@pytest.mark.parametrize(("indices", "expected"), [([2, 3, 4], slice(2, 5)), ([2], slice(2, 3))])
def test_a_range_of_entries_is_a_slice(indices: list[int], expected: slice) -> None:
    assert _as_slice(np.array(indices)) == expected
    gap = np.array([0, 2, 3])
    assert _as_slice(gap) is gap


def test_the_order_of_a_remainder_is_that_of_the_smallest_steps() -> None:
    """Of t² for small steps, and of t for the large ones."""
    remainder = np.where(1.01 * _STEPS[-6] > _STEPS, _STEPS**2, _STEPS * _STEPS[-6])
    assert _slope(remainder, 0.0) == pytest.approx(2.0)
    assert _slope(np.zeros(len(_STEPS)), 0.0) == math.inf
    assert _slope(np.full(len(_STEPS), np.nan), 0.0) == -math.inf


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


def test_inner_steps_are_numbered_from_zero_in_each_iteration() -> None:
    seen = []
    rule = Constraint(lambda x: 1.0 - x, lambda x, w: -w)
    problem = Problem(Euclidean(2), lambda x: float(np.sum(x**4)), lambda x: 4.0 * x**3, inequalities=rule)
    minimize(problem, np.array([3.0, 2.0]), inner_callback=lambda step: seen.append((step.iteration, step.inner)) and None)  # noqa: E501 # fmt: skip
    for iteration in {iteration for iteration, _ in seen}:
        numbers = [inner for each, inner in seen if each == iteration]
        assert numbers == list(range(len(numbers)))


def test_a_quantity_that_fails_is_named_and_its_error_raised() -> None:
    problem = Problem(Euclidean(1), lambda x: float(x @ x), lambda x: 2.0 * x)
    with pytest.raises(ZeroDivisionError) as caught:
        minimize(problem, np.ones(1), record={"size": lambda x: 1 / 0})
    assert "record['size']" in caught.value.__notes__[0]


def test_a_convexity_check_skips_geodesics_that_overflow() -> None:
    problem = Problem(Euclidean(1), lambda x: float(x @ x), lambda x: 2.0 * x)
    check = check_convexity(problem, np.ones(1), radius=1e3)
    assert check.passed if hasattr(check, "passed") else bool(check)


def test_a_manifold_without_directions_has_the_direction_zero() -> None:
    frame = SimpleNamespace(random=lambda rng: np.zeros(2), norm=np.linalg.norm)
    np.testing.assert_array_equal(_direction(frame, np.random.default_rng(0)), 0.0)


@pytest.mark.parametrize(("best", "kept"), [(0.0, 1.1), (9.0, 1.5), (1.3, 1.3), (math.nan, 1.1)])
def test_a_trial_is_kept_away_from_both_ends(best: float, kept: float) -> None:
    assert _between(best, 1.0, 2.0) == pytest.approx(kept)


def test_rounding_errors_of_a_large_constraint_beside_a_small_one_are_no_error() -> None:
    block = Constraint(
        lambda x: np.array([1e10 * x[0] / 3.0, 0.0]),
        lambda x, w: np.array([1e10 * w[0] / 3.0, 0.0]),
        directional=lambda x, u: np.array([1e10 * u[0] / 3.0, 0.0]),
    )
    problem = Problem(Euclidean(2), lambda x: float(x @ x), lambda x: 2.0 * x, inequalities=block)
    check = check_gradient(problem, np.array([0.7, 0.3]))
    assert check, f"\n{check}"


def test_a_picture_leaves_out_zeros_only() -> None:
    problem = Problem(Euclidean(1), lambda x: float(np.cosh(x[0]) + x[0]), lambda x: np.sinh(x) + 1.0)
    history = minimize(problem, np.ones(1)).history
    values = np.array([row.stationarity for row in history])
    np.testing.assert_array_equal(history._positive("stationarity"), np.where(values > 0.0, values, np.nan))
    assert 0.0 < values[values > 0.0].min() < 1.0 < values.max()


def test_a_way_to_infinity_is_seen_without_a_limit_of_the_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geodual.optimize.quasi_newton.is_remote", lambda frame, x: abs(x[0]) > 1e3)

    def falling(x: np.ndarray) -> SimpleNamespace:
        frame = Euclidean(1).frame(x)
        model = {"frame": frame, "value": -float(x[0]), "gradient": np.array([-1.0]), "noise": 0.0}
        return SimpleNamespace(**model, precondition=lambda c: c)

    found = limited_memory(falling, falling(np.zeros(1)), tol=1e-8, max_iter=50, may_escape=True)
    assert found.status == "runaway"


@pytest.mark.parametrize("hadamard", [False, True])
@pytest.mark.parametrize(
    ("ends", "inside"), [((-1.0, -1.0), True), ((-1.0, 1.0), False), ((1.0, -1.0), False), ((0.0, 0.0), True)]
)
def test_a_geodesic_of_a_curved_manifold_counts_if_its_ends_are_feasible(
    ends: tuple[float, float], inside: bool, hadamard: bool
) -> None:
    search = SimpleNamespace(
        _constraints=SimpleNamespace(n_inequalities=1), _manifold=SimpleNamespace(hadamard=hadamard)
    )
    values = np.array([[5.0, ends[0], 9.0], [5.0, 7.0, 9.0], [5.0, ends[1], 9.0], [5.0, 7.0, 9.0]])
    assert _Search._counts(search, values) is (inside or hadamard)


def test_without_constraints_there_is_no_violation() -> None:
    problem = Problem(Euclidean(1), lambda x: float(x @ x), lambda x: 2.0 * x)
    constraints = ConstraintVector(problem, np.ones(1))
    assert Lagrangian(constraints, np.zeros(0)).at(constraints.evaluate(np.ones(1))).violation == 0.0


def test_a_negative_eigenvalue_would_have_shown_among_close_ones_only() -> None:
    assert _would_have_shown(np.linspace(1.0, 2.0, 20), 100) is True
    assert _would_have_shown(np.linspace(1.0, 2.0, 3), 10**6) is False
    assert _would_have_shown(np.geomspace(1e-3, 1e3, 20), 100) is False
    assert _would_have_shown(np.linspace(-1.0, 2.0, 20), 100) is False
