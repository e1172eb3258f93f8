"""How far trial steps go: backtracking, line searches, steps below rounding error."""

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from geodual.manifolds import Euclidean
from geodual.optimize.interior_point import _search as barrier_search
from geodual.optimize.newton_cg import _LEAST_FRACTION, _advance
from geodual.optimize.quasi_newton import _IDLE, _Idleness, _search, limited_memory

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
    trial, fraction, obstacle = _advance(objective, objective(np.zeros(1)), step, 1.0)
    assert (fraction, obstacle, trial.gradient.tolist()) == (0.25, "", [0.0])
    assert asked == [0.0, 1.0, 0.25]


def test_newton_steps_below_rounding_error_that_never_help_are_given_up() -> None:
    objective, asked = flat_line(lambda x: 0.0, lambda x: 1.0, noise=1.0)
    step = SimpleNamespace(direction=np.ones(1), slope=-1e-3)
    trial, fraction, _ = _advance(objective, objective(np.zeros(1)), step, 1.0)
    assert trial is None
    np.testing.assert_allclose(asked[1:], 0.25 ** np.arange(len(asked) - 1))
    assert asked[-1] == fraction < _LEAST_FRACTION <= asked[-2]


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
    _advance(objective, objective(np.zeros(1)), step, 1.0)
    if curvature < 2.0:  # a jump makes the parabola steeper: its minimum is nearer
        expected = max(0.5 / (0.5 * curvature + steep), 0.1)
    assert asked[2] == pytest.approx(expected)


def test_a_line_search_grows_at_most_tenfold_and_to_the_radius() -> None:
    objective, asked = flat_line(lambda x: -x, lambda x: -1.0, noise=0.0)
    found = _search(objective, objective(np.zeros(1)), np.ones(1), 2500.0)
    assert asked[1:] == [1.0, 10.0, 100.0, 1000.0, 2500.0]
    assert found.fraction == 2500.0


@pytest.mark.parametrize(("end_slope", "accepted"), [(0.5, True), (-0.5, True), (2.0, False)])
def test_below_rounding_error_the_slope_at_the_end_decides(end_slope: float, accepted: bool) -> None:
    objective, asked = flat_line(lambda x: 0.0, lambda x: -1.0 if x <= 0.0 else end_slope, noise=1e3)
    found = _search(objective, objective(np.zeros(1)), np.ones(1), 1e3)
    assert (len(asked) == 2) is accepted
    assert (not isinstance(found, str) and found.fraction == 1.0) is accepted


def test_steps_without_progress_are_counted_in_a_row() -> None:
    frame = Euclidean(1).frame(np.zeros(1))
    still = SimpleNamespace(frame=frame, gradient=np.ones(1))
    idle = _Idleness(still)
    assert not any(idle.note(still, quiet=True) for _ in range(_IDLE - 1))
    flatter = SimpleNamespace(frame=frame, gradient=0.5 * np.ones(1))
    assert not idle.note(flatter, quiet=True)
    assert idle.best is flatter
    assert not any(idle.note(still, quiet=True) for _ in range(_IDLE - 1))
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
    _, fraction = barrier_search(model, np.ones(1), -1.0, np.zeros(0))
    assert (asked, fraction) == ([1.0, 0.25, 0.0625], 0.0625)


def test_a_barrier_step_that_fails_is_bent_before_it_is_cut() -> None:
    """The constraint bends by 1 − 0.5 along the full step, so b = 0.2 · 0.5."""
    model, asked = barrier_stub(limit=10.0, bend=0.2)
    _, fraction = barrier_search(model, np.ones(1), -1.0, np.array([0.5]))
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
    found = _search(objective, objective(np.zeros(1)), np.ones(1), 1e3)
    assert asked == pytest.approx([0.0, 1.0, 0.1, 0.025])
    assert found.fraction == pytest.approx(0.025)
