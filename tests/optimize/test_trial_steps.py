"""How far trial steps go: backtracking, line searches, steps below rounding error."""

import importlib
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from geodual.manifolds import Euclidean
from geodual.optimize import Problem, minimize
from geodual.optimize.interior_point import follow, newton_accuracy, shorter_fraction
from geodual.optimize.newton_cg import adjusted_radius, advance
from geodual.optimize.quasi_newton import Idleness, between, limited_memory, line_search

newton_module = importlib.import_module("geodual.optimize.newton_cg")  # beside the function of this name


def flat_line(values: Any, slopes: Any, noise: float) -> Any:
    """Return a function on the line, given its value and slope at x."""

    def objective(x: np.ndarray) -> SimpleNamespace:
        asked.append(float(x[0]))
        frame = Euclidean(1).frame(x)
        return SimpleNamespace(
            frame=frame, value=values(x[0]), gradient=np.array([slopes(x[0])]), noise=noise
        )

    asked: list[float] = []
    return objective, asked


def test_below_rounding_error_newton_steps_are_judged_by_the_gradient() -> None:
    """The slope is |x − 1/4|, but all values are equal."""
    objective, asked = flat_line(lambda x: 0.0, lambda x: 4.0 * abs(x - 0.25), noise=1.0)
    step = SimpleNamespace(direction=np.ones(1), slope=-1e-3)
    trial, fraction, obstacle = advance(objective, objective(np.zeros(1)), step, 1.0)
    assert (fraction, obstacle, trial.gradient.tolist()) == (0.25, "", [0.0])
    assert asked == [0.0, 1.0, 0.25]


def test_newton_steps_below_rounding_error_that_never_help_are_given_up() -> None:
    objective, asked = flat_line(lambda x: 0.0, lambda x: 1.0, noise=1.0)
    step = SimpleNamespace(direction=np.ones(1), slope=-1e-3)
    trial, fraction, _ = advance(objective, objective(np.zeros(1)), step, 1.0)
    assert trial is None
    np.testing.assert_allclose(asked[1:], 0.25 ** np.arange(len(asked) - 1))
    assert asked[-1] == fraction < 1e-3 <= asked[-2]


@pytest.mark.parametrize(("curvature", "expected"), [(4.0, 0.25), (1e3, 0.1), (1.9, 0.5)])
def test_a_newton_step_that_rises_is_cut_to_the_minimum_of_the_parabola(
    curvature: float, expected: float
) -> None:
    """Of −x + ½ a x², whose minimum is at 1/a; the cut is to between a tenth and a half."""
    steep = 10.0 * curvature  # beyond x = ¾ it rises ten times faster, so that the full step is refused
    objective, asked = flat_line(
        lambda x: -x + 0.5 * curvature * x**2 + (steep if x > 0.75 and curvature < 2.0 else 0.0),
        lambda x: -1.0 + curvature * x,
        noise=0.0,
    )
    step = SimpleNamespace(direction=np.ones(1), slope=-1.0)
    advance(objective, objective(np.zeros(1)), step, 1.0)
    if curvature < 2.0:  # a jump makes the parabola steeper: its minimum is nearer
        expected = max(0.5 / (0.5 * curvature + steep), 0.1)
    assert asked[2] == pytest.approx(expected)


def test_a_line_search_grows_at_most_tenfold_and_to_the_radius() -> None:
    objective, asked = flat_line(lambda x: -x, lambda x: -1.0, noise=0.0)
    found = line_search(objective, objective(np.zeros(1)), np.ones(1), 2500.0)
    assert asked[1:] == [1.0, 10.0, 100.0, 1000.0, 2500.0]
    assert found.fraction == 2500.0


@pytest.mark.parametrize(("end_slope", "accepted"), [(0.5, True), (-0.5, True), (2.0, False)])
def test_below_rounding_error_the_slope_at_the_end_decides(end_slope: float, accepted: bool) -> None:
    objective, asked = flat_line(lambda x: 0.0, lambda x: -1.0 if x <= 0.0 else end_slope, noise=1e3)
    found = line_search(objective, objective(np.zeros(1)), np.ones(1), 1e3)
    assert (len(asked) == 2) is accepted
    assert (not isinstance(found, str) and found.fraction == 1.0) is accepted


def test_steps_without_progress_are_counted_in_a_row() -> None:
    frame = Euclidean(1).frame(np.zeros(1))
    still = SimpleNamespace(frame=frame, gradient=np.ones(1))
    idle = Idleness(still)
    assert not any(idle.note(still, quiet=True) for _ in range(199))
    flatter = SimpleNamespace(frame=frame, gradient=0.5 * np.ones(1))
    assert not idle.note(flatter, quiet=True)
    assert idle.best is flatter
    assert not any(idle.note(still, quiet=True) for _ in range(199))
    assert idle.note(still, quiet=True)
    assert idle.best is flatter


def barrier_stub(limit: float, bend: float = 0.0) -> tuple[SimpleNamespace, list[float]]:
    """Return a model on the line that has values below a limit only, and where the search looked."""

    def moved(c: np.ndarray) -> SimpleNamespace | None:
        asked.append(float(c[0]))
        good = bend == 0.0 or len(asked) > 1
        here = SimpleNamespace(value=-1.0 if good else 1.0, violations=np.array([1.0]))
        return None if c[0] > limit else here

    asked: list[float] = []
    function = SimpleNamespace(strict=False, mu=0.1)
    model = SimpleNamespace(
        frame=Euclidean(1).frame(np.zeros(1)),
        value=0.0,
        noise=0.0,
        function=function,
        moved=moved,
        inequalities=slice(0, 1),
        violations=np.zeros(1),
        slacks=np.ones(1),
        stiffness=np.ones(1),
        pull=lambda w: w,
        precondition=lambda c: -bend * c,
    )
    return model, asked


def test_a_barrier_step_out_of_the_domain_is_quartered() -> None:
    model, asked = barrier_stub(limit=0.1)
    _, fraction = follow(model, np.ones(1), -1.0, np.zeros(0))
    assert (asked, fraction) == ([1.0, 0.25, 0.0625], 0.0625)


def test_a_barrier_step_that_fails_is_bent_before_it_is_cut() -> None:
    """The constraint bends by 1 − 0.5 along the full step, so b = 0.2 · 0.5."""
    model, asked = barrier_stub(limit=10.0, bend=0.2)
    _, fraction = follow(model, np.ones(1), -1.0, np.array([0.5]))
    assert asked == pytest.approx([1.0, 1.0 + 0.2 * 0.5])
    assert fraction == 1.0


@pytest.mark.parametrize(
    ("norm", "tol", "expected"), [(1e-3, 5e-4, 0.05), (1e-3, 1e-6, 1e-2), (1e3, 1e-6, 1e-2)]
)
def test_newton_systems_are_solved_no_better_than_the_tolerance_needs(
    norm: float, tol: float, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    objective, _ = flat_line(lambda x: 0.5 * x**2, lambda x: x, noise=0.0)
    seen = []

    def noted(model: object, radius: float, accuracy: float) -> SimpleNamespace:
        seen.append(accuracy)
        step = {"direction": np.array([-norm]), "slope": -(norm**2), "decrease": norm**2}
        return SimpleNamespace(**step, n_products=1, at_boundary=False)

    monkeypatch.setattr(newton_module, "truncated_cg", noted)
    newton_module.newton_cg(objective, objective(np.array([norm])), tol=tol, forcing=1e-2)
    assert seen == [pytest.approx(expected)]


def test_a_run_away_without_second_derivatives_asked_for_no_products() -> None:
    objective, _ = flat_line(lambda x: -x, lambda x: -1.0, noise=0.0)

    def preconditioned(x: np.ndarray) -> SimpleNamespace:
        return SimpleNamespace(**vars(objective(x)), precondition=lambda c: c)

    found = limited_memory(preconditioned, preconditioned(np.zeros(1)), tol=1e-8, fall_limit=1e9)
    assert (found.status, found.n_products) == ("runaway", 0)


def test_a_line_search_that_rises_goes_to_the_minimum_of_the_parabola() -> None:
    """Of −x + 20 x² the minimum is at 1/40; from 1 it may be cut to a tenth at most."""
    objective, asked = flat_line(lambda x: -x + 20.0 * x**2, lambda x: -1.0 + 40.0 * x, noise=0.0)
    found = line_search(objective, objective(np.zeros(1)), np.ones(1), 1e3)
    assert asked == pytest.approx([0.0, 1.0, 0.1, 0.025])
    assert found.fraction == pytest.approx(0.025)


def barrier_at(value: float, *violations: float) -> SimpleNamespace:
    return SimpleNamespace(value=value, violations=np.array(violations), inequalities=slice(None))


@pytest.mark.parametrize("fraction", [1.0, 0.5])
def test_a_step_that_overshoots_is_cut_to_the_minimum_of_the_parabola(fraction: float) -> None:
    slope, best = -2.0, 0.3 * fraction
    value = slope * fraction - 0.5 * slope / best * fraction**2  # of the parabola with its minimum at best
    found = shorter_fraction(barrier_at(1.0), barrier_at(1.0 + value), fraction, slope, np.zeros(0))
    assert found == pytest.approx(best)


@pytest.mark.parametrize("fraction", [1.0, 0.5])
def test_a_step_out_of_the_domain_is_cut_where_a_curved_inequality_is_almost_zero(fraction: float) -> None:
    h, dh, q = -1.0, 0.5, 4.0
    along = lambda t: h + dh * t + q * t**2  # noqa: E731 - a formula
    almost = brentq(lambda t: along(t) - 0.01 * h, 0.0, 1.0)
    found = shorter_fraction(
        barrier_at(1.0, h), barrier_at(np.inf, along(fraction)), fraction, -1.0, np.array([dh])
    )
    assert found == pytest.approx(np.clip(almost, 0.1 * fraction, 0.9 * fraction))


def test_steps_out_of_the_domain_are_cut_again_and_again() -> None:
    """Newton's step from 1 is −999 long, far out of the domain x > 0."""
    problem = Problem(
        Euclidean(1),
        lambda x: float(x[0] - 1e-3 * np.log(x[0])) if x[0] > 0.0 else np.nan,
        gradient=lambda x: 1.0 - 1e-3 / x,
        hessian_product=lambda x, u: 1e-3 / x**2 * u,
    )
    result = minimize(problem, np.ones(1))
    assert result.success, result.message
    assert result.x == pytest.approx([1e-3])


@pytest.mark.parametrize("length", [1e-4, 1.0, 90.0, 1e4])
def test_a_line_search_ends_where_the_value_fell_and_the_slope_is_flatter(length: float) -> None:
    """Of ½ (x − 100)² from 0, in steps that are much too short, right or much too long."""

    def objective(x: np.ndarray) -> SimpleNamespace:
        frame = Euclidean(1).frame(x)
        return SimpleNamespace(
            frame=frame, value=0.5 * float((x[0] - 100.0) ** 2), gradient=x - 100.0, noise=0.0
        )

    found = line_search(objective, objective(np.zeros(1)), np.array([length]), 1e9)
    x, slope = found.fraction * length, -100.0 * length
    assert found.end.frame.point == pytest.approx([x])
    assert 0.5 * (x - 100.0) ** 2 <= 0.5 * 100.0**2 + 1e-4 * found.fraction * slope
    assert (x - 100.0) * length >= 0.9 * slope


@pytest.mark.parametrize(("best", "kept"), [(0.0, 1.1), (9.0, 1.5), (1.3, 1.3), (math.nan, 1.1)])
def test_a_trial_is_kept_away_from_both_ends(best: float, kept: float) -> None:
    assert between(best, 1.0, 2.0) == pytest.approx(kept)


def test_the_radius_follows_how_good_the_steps_are() -> None:
    def radius(fraction: float, ratio: float, at_boundary: bool, length: float = 3.0) -> float:
        step = SimpleNamespace(decrease=2.0, at_boundary=at_boundary)
        return adjusted_radius(10.0, length, step, fraction, 2.0 * ratio)

    assert radius(0.5, 1.0, True) == 6.0
    assert radius(0.5, 1.0, True, length=0.1) == 1.0  # not below a tenth
    assert radius(1.0, 0.05, True) == 5.0
    assert radius(1.0, 0.3, True) == 10.0
    assert radius(1.0, 0.9, True) == 20.0
    assert radius(1.0, 0.9, False) == 10.0
    assert adjusted_radius(10.0, 3.0, SimpleNamespace(decrease=0.0, at_boundary=True), 1.0, 1.0) == 5.0


@pytest.mark.parametrize(
    ("present", "norm", "target", "expected"),
    [
        (1e-4, 1.0, 0.0, 1e-2 * 1e-4),  # √present is the smaller factor
        (1.0, 1e2, 0.0, 0.1 * 1.0 / 1e2),  # a tenth is
        (1e-4, 1.0, 1e-3, 0.3 * 1e-3),  # the target is not that small
        (1e-12, 1.0, 0.0, 1e-10),
        (1.0, 1e-3, 0.0, 0.1),
    ],
)
def test_newton_systems_of_the_barrier_are_solved_as_well_as_their_step_deserves(
    present: float, norm: float, target: float, expected: float
) -> None:
    frame = SimpleNamespace(norm=abs)
    model = SimpleNamespace(frame=frame, lagrangian=SimpleNamespace(gradient=present), gradient=norm)
    assert newton_accuracy(model, target) == pytest.approx(expected)


def test_a_way_to_infinity_is_seen_without_a_limit_of_the_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geodual.optimize.quasi_newton.is_remote", lambda frame, x: abs(x[0]) > 1e3)

    def falling(x: np.ndarray) -> SimpleNamespace:
        frame = Euclidean(1).frame(x)
        model = {"frame": frame, "value": -float(x[0]), "gradient": np.array([-1.0]), "noise": 0.0}
        return SimpleNamespace(**model, precondition=lambda c: c)

    found = limited_memory(falling, falling(np.zeros(1)), tol=1e-8, max_iter=50, may_escape=True)
    assert found.status == "runaway"
