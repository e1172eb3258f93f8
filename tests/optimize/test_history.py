"""Histories turn into tables and pictures."""

from dataclasses import replace

import matplotlib
import numpy as np
import pytest

from geodual.manifolds import Euclidean, Product, Sphere
from geodual.optimize import L1, Ball, History, Iteration, Problem, Result, Term, minimize

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


def boxed(n: int = 12) -> Problem:
    """Entries of a matrix near their targets, in a box, with a limited sum and a fixed corner."""
    target = np.linspace(-2.0, 2.0, n).reshape(-1, 2)
    upper = np.full(target.shape, 1.0)
    upper[0, 0] = -1.0
    lower = np.full(target.shape, -1.0)
    return Problem(
        Euclidean(*target.shape),
        lambda x: float(np.sum((x - target) ** 2)),
        lambda x: 2.0 * (x - target),
        lambda x, u: 2.0 * u,
        inequalities=lambda x: np.array([np.sum(x) + 1.0, x[0, 1] - 50.0]),
        jacobian_product=lambda x, w: w[0] * np.ones(target.shape) + w[1] * np.eye(*target.shape, k=1),
        equalities=lambda x: np.array([x[2, 0] - 0.25]),
        equality_jacobian_product=lambda x, w: w[0] * (np.arange(x.size) == 4).reshape(x.shape),
        lower=lower,
        upper=upper,
        geodesically_convex=True,
    )


def test_printing_a_result_shows_certificate_gap_and_multipliers_in_a_screenful() -> None:
    result = minimize(boxed(), np.zeros((6, 2)))
    text = str(result)
    lines = text.splitlines()
    assert lines[0].startswith("converged after ")
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 100
    assert "No feasible point within distance" in " ".join(text.split())
    for part in ("stationarity", "feasibility", "complementarity"):
        assert f"{getattr(result.kkt, part):.2e} (within 1e-08)" in text
    assert f"1 of 2 active; multipliers {result.multipliers[0]:.4g} (inequality 0)" in text
    assert f"1 of 1 active; multipliers {result.equality_multipliers[0]:.4g} (equality 0)" in text
    largest = result.lower_multipliers[0, 0]  # its bounds are equal, so it is an equality
    assert f"of 23 active; multipliers {largest:.4g} (lower bound of entry (0, 0))" in " ".join(text.split())
    assert f"{result.upper_multipliers[5, 1]:.4g} (upper bound of entry (5, 1))" in " ".join(text.split())
    assert "continue with" not in text
    assert repr(result).startswith("Result(cost=")


def test_only_the_largest_multipliers_are_shown() -> None:
    text = " ".join(str(minimize(boxed(60), np.zeros((30, 2)))).split())
    shown = text.split("bounds ")[1]
    assert shown.count("bound of entry") == 5
    total = int(shown.split(" of ")[0])
    assert f", and {total - 5} smaller" in shown


def test_a_result_that_is_not_there_yet_says_how_to_go_on() -> None:
    result = minimize(boxed(), np.zeros((6, 2)), max_iter=1)
    text = " ".join(str(result).split())
    assert text.startswith("max_iterations after 1 iteration in ")
    assert "(above 1e-08)" in text
    assert "minimize(problem, **result.warm_start())" in text
    assert f"costs less by more than {result.global_bound.usual_gap:.2g}" in text
    assert not result.global_minimum


def test_names_of_bounds_on_a_product_name_the_part() -> None:
    problem = Problem(
        Product(Euclidean(2), Euclidean(1)),
        lambda x: float(np.sum(x[0] ** 2) + np.sum(x[1] ** 2)),
        lambda x: (2.0 * x[0], 2.0 * x[1]),
        lower=(None, 3.0),
    )
    result = minimize(problem, (np.ones(2), np.array([4.0])))
    assert "1 of 1 active; multipliers 6 (lower bound of entry 0 of part 1)" in str(result)


def test_terms_are_shown_where_there_are_any() -> None:
    target = np.array([[3.0, 0.1], [0.0, -2.0]])
    problem = Problem(
        Euclidean(2, 2),
        lambda x: 0.5 * float(np.sum((x - target) ** 2)),
        lambda x: x - target,
        terms=[Term(L1(1.0)), Term(Ball(2.0))],
    )
    lines = str(minimize(problem, np.zeros((2, 2)))).splitlines()
    assert "L1: cost" in next(line for line in lines if line.startswith("term "))
    assert any("2 of 4 entries not 0, rank 2" in line for line in lines)
    assert "by proximal-lagrangian" in lines[0]


def test_a_notebook_shows_what_printing_shows_and_escapes_it() -> None:
    result = replace(minimize(boxed(), np.zeros((6, 2))), message="<b>evil")
    page = result._repr_html_()
    assert "<b>converged</b> after" in page
    assert "<b>evil" not in page
    assert "&lt;b&gt;evil" in page
    assert "lower bound of entry (0, 0)" in page
    assert page.count("<tr>") == page.count("</tr>") >= 9


def test_plot_draws_the_cost_above_the_residuals() -> None:
    result = minimize(boxed(), np.zeros((6, 2)))
    ax = result.plot()
    upper, lower = ax.figure.axes
    assert lower is ax
    assert upper.get_yscale() == lower.get_yscale() == "log"
    assert upper.get_shared_x_axes().joined(upper, lower)
    costs = np.array([row.cost for row in result.history])
    away = np.abs(costs - costs[-1])
    np.testing.assert_array_equal(upper.lines[0].get_ydata(), np.where(away > 0.0, away, np.nan))
    matplotlib.pyplot.close(ax.figure)


def test_a_history_of_the_start_alone_can_be_drawn() -> None:
    ax = minimize(boxed(), np.zeros((6, 2)), max_iter=0).plot()
    ax.figure.canvas.draw()
    matplotlib.pyplot.close(ax.figure)
