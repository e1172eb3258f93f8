"""Looking into a solve: inner callbacks, printed steps, recorded quantities."""

import time

import numpy as np
import pytest

from geodual.manifolds import Euclidean, Sphere
from geodual.optimize import Constraint, InnerIterate, Lagrangian, Problem, Update, minimize, newton_cg


def rosenbrock(n: int = 10, **more) -> Problem:
    """A long curved valley, which takes many steps."""

    def gradient(x):
        slope, rest = np.zeros(n), x[1:] - x[:-1] ** 2
        slope[1:] = 200.0 * rest
        slope[:-1] += -400.0 * x[:-1] * rest - 2.0 * (1.0 - x[:-1])
        return slope

    return Problem(
        Euclidean(n),
        lambda x: float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)),
        gradient,
        **more,
    )


START = np.full(10, -1.0)


def test_an_inner_callback_sees_every_step() -> None:
    seen: list[InnerIterate] = []
    result = minimize(rosenbrock(upper=0.9), START, inner_callback=seen.append)
    assert result.success
    assert len(seen) > 5 * result.n_iter
    assert {step.iteration for step in seen} <= set(range(1, result.n_iter + 1))
    for iteration in range(1, result.n_iter + 1):
        steps = [step.inner for step in seen if step.iteration == iteration]
        assert steps == list(range(len(steps)))
    first = seen[0]
    assert (first.iteration, first.inner, first.cost) == (1, 0, result.history[0].cost)
    np.testing.assert_array_equal(first.x, START)
    assert first.feasibility == 0.0


def test_inner_iterates_hold_the_function_that_is_minimized() -> None:
    """Without constraints it is the cost, divided by its size, until a proximal term is added."""
    problem, seen = rosenbrock(), []
    minimize(problem, START, inner_callback=seen.append)
    scale = seen[0].cost / seen[0].value
    for step in seen:
        assert step.cost == problem.cost(step.x)
        if step.iteration == 1:
            assert step.value == pytest.approx(step.cost / scale, rel=1e-12)
            assert step.slope == pytest.approx(np.linalg.norm(problem.gradient(step.x)) / scale, rel=1e-12)


def test_feasibility_is_the_largest_violation() -> None:
    seen = []
    problem = rosenbrock(lower=0.0)
    minimize(problem, START, inner_callback=seen.append)
    # The sizes of these bounds are ordinary, so that violations are absolute.
    for step in seen:
        assert step.feasibility == pytest.approx(max(0.0, -step.x.min()), rel=1e-12)


@pytest.mark.parametrize("calls", [1, 7])
def test_an_inner_callback_may_stop(calls: int) -> None:
    seen = []

    def stop(step: InnerIterate) -> np.bool_:
        seen.append(step)
        return np.bool_(len(seen) == calls)

    result = minimize(rosenbrock(upper=0.9), START, inner_callback=stop)
    assert len(seen) == calls, "not called again after it has stopped the solve"
    assert (result.status, result.message) == ("stopped", "Stopped by the inner callback.")
    assert result.n_iter == seen[-1].iteration


def test_errors_of_callbacks_are_not_hidden() -> None:
    def fail(step: InnerIterate) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        minimize(rosenbrock(), START, inner_callback=fail)


def test_time_runs_out_within_an_iteration() -> None:
    seen = []

    def slow(step: InnerIterate) -> None:
        seen.append(step)
        time.sleep(0.2)

    result = minimize(rosenbrock(upper=0.9), START, inner_callback=slow, max_time=0.1)
    assert (result.status, result.n_iter, len(seen)) == ("max_time", 1, 1)


def test_a_method_of_ones_own_passes_the_watch_on() -> None:
    def newton(constraints, start, *, watch, stop):
        cost = Lagrangian(constraints, np.zeros(0))
        minimum = newton_cg(cost, cost.at(start), tol=1e-9, step_limit=1.0, watch=watch, stop=stop)
        yield Update(minimum.model.point, np.zeros(0))

    A, seen = np.diag([1.0, 2.0, 5.0]), []
    problem = Problem(Sphere(3), lambda x: -x @ A @ x, lambda x: -2.0 * A @ x)
    result = minimize(problem, np.full(3, 3**-0.5), method=newton, inner_callback=seen.append)
    assert result.success
    assert len(seen) >= 2
    assert seen[0].value == seen[0].cost == pytest.approx(-8.0 / 3.0)


def test_the_watch_takes_models_that_do_not_know_the_cost() -> None:
    class Model:
        noise = 0.0

        def __init__(self, frame) -> None:
            self.frame, self.value, self.gradient = frame, float(frame.point @ frame.point), 2.0 * frame.point

    def bare(constraints, start, *, watch):
        watch(Model(start.frame))
        yield Update(constraints.evaluate(np.zeros(2)), np.zeros(0))

    seen = []
    problem = Problem(Euclidean(2), lambda x: 3.0 * float(x @ x), lambda x: 6.0 * x)
    minimize(problem, np.ones(2), method=bare, inner_callback=seen.append)
    assert (seen[0].cost, seen[0].value) == (6.0, 2.0)
    assert seen[0].slope == pytest.approx(np.sqrt(8.0))


def test_methods_without_inner_steps_say_so() -> None:
    with pytest.raises(ValueError, match="'primal-dual-linearized' does not; use `callback`"):
        minimize(rosenbrock(), START, method="primal-dual-linearized", inner_callback=print)


def test_verbose_2_prints_inner_steps(capsys: pytest.CaptureFixture) -> None:
    seen = []
    result = minimize(rosenbrock(upper=0.9), START, verbose=2, inner_callback=seen.append)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + result.n_iter + len(seen)
    assert lines[2].split()[0] == "1.0"
    assert float(lines[2].split()[1]) == pytest.approx(seen[0].cost)
    minimize(rosenbrock(upper=0.9), START, verbose=1)
    assert len(capsys.readouterr().out.splitlines()) == 2 + result.n_iter


def test_recorded_quantities_are_columns() -> None:
    target = np.ones(10)
    visited = []
    result = minimize(
        rosenbrock(upper=0.9),
        START,
        callback=lambda iterate: visited.append(iterate.x),
        record={
            "distance": lambda x: np.linalg.norm(x - target),
            "signs": lambda x: np.sign(x[:2]),
            "x": lambda x: x,
        },
    )
    frame = result.history.to_frame()
    assert list(frame)[-3:] == ["distance", "signs", "x"]
    expected = [np.linalg.norm(x - target) for x in [START, *visited]]
    np.testing.assert_allclose(frame["distance"], expected, rtol=1e-14)
    np.testing.assert_array_equal(frame["signs"].iloc[0], [-1.0, -1.0])
    last = result.history[-1]
    assert last.recorded["x"] is not result.x, "a copy"
    assert f"distance={expected[-1]:.6g}" in str(last)
    assert "signs" not in str(last)
    assert list(result.history[1:].to_frame()) == list(frame)


@pytest.mark.parametrize(
    ("record", "error", "message"),
    [
        ({"cost": np.sum}, ValueError, "`record` cannot use 'cost' as a name"),
        ({1: np.sum}, ValueError, "`record` cannot use 1 as a name"),
        ({"a": 3.0}, TypeError, "`record` must be a dictionary of functions of x"),
        ([np.sum], TypeError, "`record` must be a dictionary of functions of x"),
        ({"bad": lambda x: x[99]}, IndexError, r"raised by record\['bad'\]"),
    ],
)
def test_wrong_records_are_named(record, error, message: str) -> None:
    with pytest.raises(error, match=message):
        minimize(rosenbrock(), START, record=record)


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
