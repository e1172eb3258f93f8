"""Histories turn into tables and pictures."""

import matplotlib
import numpy as np
import pytest

from geodual.manifolds import Euclidean, Sphere
from geodual.optimize import History, Iteration, Problem, Result, minimize

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def result() -> Result:
    problem = Problem(
        Euclidean(2),
        lambda x: float(x @ x),
        lambda x: 2 * x,
        inequalities=lambda x: 1.0 - x[0],
        jacobian_product=lambda x, w: np.array([-w[0], 0.0]),
    )
    return minimize(problem, np.ones(2), method="primal-dual", max_iter=20)


def test_a_history_is_a_sequence(result: Result) -> None:
    history = result.history
    assert len(history) == 21
    assert isinstance(history[0], Iteration)
    assert isinstance(history[2:5], History)
    assert [row.iteration for row in history] == list(range(21))
    assert repr(history) == "History(21 iterations)"


def test_rows_hold_what_the_result_says(result: Result) -> None:
    last = result.history[-1]
    assert last.cost == result.cost
    assert (last.stationarity, last.feasibility, last.complementarity) == (
        result.kkt.stationarity,
        result.kkt.feasibility,
        result.kkt.complementarity,
    )
    seconds = [row.seconds for row in result.history]
    assert seconds == sorted(seconds)


def test_to_frame(result: Result) -> None:
    frame = result.history.to_frame()
    assert frame.index.name == "iteration"
    parts = ["stationarity", "feasibility", "complementarity"]
    assert list(frame) == ["cost", *parts, "step_size", "penalty", "hessian_products", "seconds", "by"]
    assert frame["penalty"].isna().all(), "Algorithm 1 has a step size and no penalty"
    assert (frame["step_size"][1:] > 0.0).all()
    np.testing.assert_array_equal(frame["cost"], [row.cost for row in result.history])


def test_plot_draws_the_three_parts_and_the_tolerance(result: Result) -> None:
    ax = result.plot()
    assert [line.get_label() for line in ax.get_lines()] == [
        "stationarity",
        "feasibility",
        "complementarity",
        "tolerance",
    ]
    assert ax.get_yscale() == "log"
    again = result.history.plot(ax=ax)
    assert again is ax
    matplotlib.pyplot.close(ax.figure)


def test_a_picture_leaves_out_zeros_only() -> None:
    problem = Problem(Euclidean(1), lambda x: float(np.cosh(x[0]) + x[0]), lambda x: np.sinh(x) + 1.0)
    history = minimize(problem, np.ones(1)).history
    values = np.array([row.stationarity for row in history])
    shown = history.plot().lines[0].get_ydata()
    np.testing.assert_array_equal(shown, np.where(values > 0.0, values, np.nan))
    assert 0.0 < values[values > 0.0].min() < 1.0 < values.max()


def test_a_picture_of_a_history_names_its_lines() -> None:
    result = minimize(Problem(Euclidean(1), lambda x: float(x @ x), lambda x: 2.0 * x), np.ones(1))
    texts = [text.get_text() for text in result.history.plot(tol=1e-8).get_legend().get_texts()]
    assert texts == ["stationarity", "feasibility", "complementarity", "tolerance"]


def test_the_history_and_the_result_say_which_safeguard_took_part() -> None:
    problem = Problem(Sphere(3), lambda x: float(x @ np.arange(3.0)), lambda x: np.arange(3.0), lower=-0.3)
    result = minimize(problem, np.full(3, 3**-0.5))
    assert result.method == "proximal-lagrangian with polish"
    assert result.history[-1].by == "polish"
    saddle = Problem(Sphere(3), lambda x: -float(x[2] ** 2), lambda x: np.array([0.0, 0.0, -2.0 * x[2]]))
    left = minimize(saddle, np.array([1.0, 0.0, 0.0]))
    assert left.method == "proximal-lagrangian with saddle"
    assert [row.by for row in left.history][-1] == "saddle"
    assert str(left.history).splitlines()[-1].endswith("saddle")
