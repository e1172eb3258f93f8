"""Many starts and many problems: the best certified result, a table of all, and errors that are rows."""

import numpy as np
import pytest

from geodual.manifolds import Euclidean, Product, Sphere
from geodual.optimize import ManyResults, Problem, minimize, minimize_many
from geodual.optimize.many import Solve


def double_well(tilt: float = 0.25) -> Problem:
    """(x² − 1)² + tilt·x: its lower minimum is on the left."""
    return Problem(
        Euclidean(1),
        lambda x: float((x[0] ** 2 - 1.0) ** 2 + tilt * x[0]),
        lambda x: 4.0 * x * (x**2 - 1.0) + tilt,
        lambda x, u: (12.0 * x**2 - 4.0) * u,
    )


def fails_left_of_zero() -> Problem:
    def cost(x):
        if x[0] < 0.0:
            raise ArithmeticError("no value on the left")
        return float(x[0] - np.log(x[0]))

    return Problem(Euclidean(1), cost, lambda x: 1.0 - 1.0 / x)


STARTS = [np.array([x]) for x in (2.0, -0.5, 0.9, -3.0)]


def test_the_best_is_the_lowest_that_converged() -> None:
    problem = double_well()
    many = minimize_many(problem, STARTS)
    assert [result.x[0] > 0.0 for result in many.results] == [True, False, True, False]
    assert many.best.x[0] < -1.0
    assert many.best is many.results[many.best_index]
    assert many.best_index in (1, 3)
    for result, x0 in zip(many, STARTS, strict=True):  # the results are those of single solves, in order
        np.testing.assert_array_equal(result.x, minimize(problem, x0).x)
    assert (len(many), many[1] is many.results[1]) == (4, True)


def test_the_table_has_one_row_per_solve() -> None:
    many = minimize_many(double_well(), STARTS)
    frame = many.to_frame()
    assert list(frame) == ["status", "cost", "residual", "seconds", "iterations", "message"]
    assert frame["cost"].tolist() == [result.cost for result in many.results]
    assert frame["residual"].tolist() == [result.kkt.worst for result in many.results]
    assert frame["iterations"].tolist() == [result.n_iter for result in many.results]
    assert (frame["seconds"] > 0.0).all()
    lines = str(many).splitlines()
    assert len(lines) == 1 + 4 + 1
    assert lines[-1] == f"4 of 4 converged; the best is solve {many.best_index}."
    assert repr(many) == "ManyResults(4 of 4 converged)"
    assert "converged" in many._repr_html_()


def test_an_error_is_a_row_and_the_others_go_on() -> None:
    many = minimize_many(fails_left_of_zero(), [np.array([-1.0]), np.array([2.0]), np.zeros(3)])
    assert many.to_frame()["status"].tolist() == ["error", "converged", "error"]
    assert many.results[0] is None
    assert many.errors[0].startswith("ArithmeticError: no value on the left")
    assert "must have shape (1,), got (3,)" in many.errors[2]
    assert many.best_index == 1
    assert "1 of 3 converged" in str(many)


def test_if_all_solves_fail_the_first_error_is_raised() -> None:
    with pytest.raises(RuntimeError, match=r"All 2 solves failed\. .* ArithmeticError: no value on the left"):
        minimize_many(fails_left_of_zero(), [np.array([-1.0]), np.array([-2.0])])
    with pytest.raises(RuntimeError, match="`nonsense` is not an option"):
        minimize_many(double_well(), 2, nonsense=1)


def test_other_processes_give_the_same_results_in_the_same_order() -> None:
    one, two = (minimize_many(fails_left_of_zero(), [*STARTS], n_jobs=n, tol=1e-6) for n in (1, 2))
    assert one.errors == two.errors
    assert list(two.errors) == [1, 3]
    for a, b in zip(one, two, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_array_equal(a.x, b.x)
            assert a.message == b.message


def test_random_starts_are_points_of_the_manifold_and_repeatable() -> None:
    manifold = Product(Sphere(3), Euclidean(2))
    problem = Problem(
        manifold, lambda x: float(x[0][2] + x[1] @ x[1]), lambda x: (np.array([0.0, 0.0, 1.0]), 2.0 * x[1])
    )

    three = minimize_many(problem, 3, seed=5)
    five = minimize_many(problem, 5, seed=5, max_iter=0)
    rng = np.random.default_rng(5)
    for result in five:
        expected = manifold.random_point(rng)
        np.testing.assert_array_equal(result.x[0], expected[0])
        np.testing.assert_array_equal(result.x[1], expected[1])
    assert all(result.cost == pytest.approx(-1.0, abs=1e-8) for result in three)
    again = minimize_many(problem, 3, seed=5)
    np.testing.assert_array_equal(again.best.x[0], three.best.x[0])


def test_many_problems_have_one_start_each_and_no_best() -> None:
    many = minimize_many([double_well(0.1), double_well(0.3)], [np.array([1.0]), np.array([1.0])])
    expected = [minimize(double_well(tilt), np.array([1.0])).cost for tilt in (0.1, 0.3)]
    assert [result.cost for result in many] == expected
    assert str(many).endswith("2 of 2 converged.")
    with pytest.raises(ValueError, match="There are 2 problems, whose costs are not comparable"):
        _ = many.best
    problem = double_well()
    assert minimize_many([problem, problem], STARTS[:2]).best.x[0] < 0.0, "the same problem twice"


def test_without_a_certificate_the_best_is_feasible_if_possible() -> None:
    """min x subject to x ≥ 1, without any iteration: 3 and 2 are feasible; 0 costs less but is not."""
    problem = Problem(Euclidean(1), lambda x: float(x[0]), lambda x: np.ones(1), lower=1.0)
    stopped = minimize_many(problem, [np.array([3.0]), np.array([0.0]), np.array([2.0])], max_iter=0)
    assert stopped.best_index == 2
    assert not stopped.best.success
    assert stopped.best.best_feasible.cost == 2.0
    outside = minimize_many(problem, [np.array([-3.0]), np.array([0.5])], max_iter=0)
    assert outside.best_index == 1, "the smallest violation"
    mixed = ManyResults((*stopped.solves, Solve(minimize(problem, np.array([3.0])), 0.1)))
    assert mixed.best_index == 3, "certified, and so better than any other"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((double_well(), 0), ValueError, "a number of at least 1, got 0"),
        ((double_well(), []), ValueError, "at least one, got 0 starts"),
        (([double_well()], 3), ValueError, "`starts` must be a list of points, or for one problem a number"),
        (([double_well()], STARTS), ValueError, "got 4 starts for 1 problems"),
        (([], []), TypeError, "`problem` must be a `Problem` or a list of them"),
        ((["problem"], STARTS[:1]), TypeError, "`problem` must be a `Problem` or a list of them"),
    ],
)
def test_wrong_arguments_are_named(arguments, error, message: str) -> None:
    with pytest.raises(error, match=message):
        minimize_many(*arguments)


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, None])
def test_wrong_numbers_of_jobs_are_named(n_jobs) -> None:
    with pytest.raises(ValueError, match="`n_jobs` must be a whole number other than 0"):
        minimize_many(double_well(), STARTS, n_jobs=n_jobs)
