"""When the default method calls the interior-point method, and what it takes for progress."""

import math
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from geodual.optimize import KKT, Stop, Update
from geodual.optimize.proximal_lagrangian import safeguards as second
from geodual.optimize.updates import RAN_AWAY, Progress, no_progress


def update_of(residual: float) -> Update:
    return Update(SimpleNamespace(), np.zeros(0), kkt=KKT(residual, 0.0, 0.0))


def own(update: Update) -> Update:
    """Return the update as the second try passes it on."""
    return replace(update, by="interior-point")


def run_second_try(
    monkeypatch: pytest.MonkeyPatch,
    first: list[Update | Stop],
    others: Iterator[Update | Stop],
    *,
    n_inequalities: int = 1,
) -> list[Update | Stop]:
    monkeypatch.setattr(second, "interior_point", lambda *_, **__: others)
    constraints = SimpleNamespace(n_inequalities=n_inequalities, functions=())
    return list(second.second_method(iter(first), constraints, None, units=None, tol=0.0, multipliers=None))


BREAKDOWN, INFEASIBLE = Stop("breakdown", "first"), Stop("infeasible", "first")


def test_after_a_breakdown_the_second_try_comes_and_the_best_of_both_is_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, others = [update_of(3.0), update_of(2.0)], [own(update_of(1.0)), own(update_of(4.0))]
    both = run_second_try(monkeypatch, [*first, BREAKDOWN], iter(others))
    assert both == [*first, *others, others[0], no_progress(1.0, blocked=False)]  # its own residual
    both = run_second_try(monkeypatch, [*first, RAN_AWAY], iter(others))
    assert both == [*first, *others, others[0], RAN_AWAY]
    both = run_second_try(monkeypatch, [*first, BREAKDOWN], iter([others[1]]))
    assert both == [*first, others[1], first[1], BREAKDOWN]


def test_the_point_of_least_violation_is_last_where_nothing_is_feasible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, others = [update_of(3.0), update_of(2.0)], [own(update_of(1.0))]
    both = run_second_try(monkeypatch, [*first, INFEASIBLE], iter(others))
    assert both == [*first, *others, first[1], INFEASIBLE]


@pytest.mark.parametrize("end", [Stop("unbounded", "no end"), None])
def test_other_ends_need_no_second_try(monkeypatch: pytest.MonkeyPatch, end: Stop | None) -> None:
    first = [update_of(3.0), *([end] if end else [])]
    assert run_second_try(monkeypatch, first, iter([update_of(1.0)])) == first


def test_without_inequalities_or_updates_there_is_no_second_try(monkeypatch: pytest.MonkeyPatch) -> None:
    first = [update_of(3.0), BREAKDOWN]
    assert run_second_try(monkeypatch, first, iter([update_of(1.0)]), n_inequalities=0) == first
    assert run_second_try(monkeypatch, [BREAKDOWN], iter([update_of(1.0)])) == [BREAKDOWN]


def test_a_first_try_that_takes_long_is_not_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    first, others = [update_of(1.0 + k) for k in range(100)], [own(update_of(0.5))]
    assert run_second_try(monkeypatch, first, iter(others)) == first
    both = run_second_try(monkeypatch, [*first, BREAKDOWN], iter(others))
    assert both == [*first, *others, others[0], no_progress(0.5, blocked=False)]


@pytest.mark.parametrize(
    "end", [Stop("breakdown", "second"), update_of(math.inf), Update(SimpleNamespace(), np.zeros(0))]
)
def test_the_second_try_ends_without_a_word(monkeypatch: pytest.MonkeyPatch, end: Update | Stop) -> None:
    others = [own(update_of(1.0)), end, update_of(0.1)]
    both = run_second_try(monkeypatch, [update_of(3.0), BREAKDOWN], iter(others))
    assert both == [both[0], others[0], others[0], no_progress(1.0, blocked=False)]


def test_the_second_try_has_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = (update_of(1.0 + k) for k in range(10_000))
    assert len(run_second_try(monkeypatch, [update_of(3.0), BREAKDOWN], endless)) == 150 + 3


def test_progress_is_a_fall_by_a_tenth_or_an_inner_solve_that_goes_on() -> None:
    progress = Progress()
    counts = []
    for residual, unfinished in [(1.0, False), (0.95, False), (0.91, True), (0.92, False), (0.89, False)]:
        progress.note(update_of(residual), unfinished)
        counts.append(progress.since_best)
    assert counts == [0, 1, 1, 2, 0]
    progress.note(update_of(0.885), unfinished=False)
    assert (progress.since_best, progress.best.kkt.worst) == (1, 0.885)
