"""Theorem 1, eq. (5), and Corollary 1, eq. (6): the bounds have the printed formulas, and they hold."""

import numpy as np
import pytest

from geodual.optimize import corollary1_bound, theorem1_bound
from testing.problems import determinant_under_trace, hyperbolic_mean_in_ball, karcher_mean_under_trace

from .algorithm1_run import Run, run_algorithm1

CASES = [determinant_under_trace, karcher_mean_under_trace, hyperbolic_mean_in_ball]
HORIZONS = [10, 100, 1000]


@pytest.fixture(scope="module", params=CASES, ids=lambda build: build.__name__)
def run(request: pytest.FixtureRequest) -> Run:
    return run_algorithm1(request.param(), n_iter=1000, alpha=0.1)


def constants(run: Run, T: int) -> tuple[float, int, float]:
    """d(x*, x₀), m and G over the first T iterates."""
    values = np.array([run.h(x) for x in run.points[: T + 1]])
    return run.case.manifold.dist(run.case.x, run.x0), values.shape[1], float(np.abs(values).max())


def best_gap(run: Run, T: int) -> float:
    return min(run.f(x) for x in run.points[1 : T + 1]) - run.case.cost


@pytest.mark.parametrize("T", HORIZONS)
def test_theorem_1_bounds_the_best_iterate(run: Run, T: int) -> None:
    distance, m, G = constants(run, T)
    assert best_gap(run, T) <= theorem1_bound(run.steps[:T], distance, m, G)[-1]


@pytest.mark.parametrize("T", HORIZONS)
def test_corollary_1_bounds_the_best_iterate(run: Run, T: int) -> None:
    distance, m, G = constants(run, T)
    assert best_gap(run, T) <= corollary1_bound(T, distance, m, G)


@pytest.mark.parametrize("T", HORIZONS)
def test_the_stronger_inequality_of_the_proof_holds(run: Run, T: int) -> None:
    """Eq. (22) with its maximum kept, and with the inverse that is missing in print (erratum E5)."""
    distance, m, G = constants(run, T)
    eta = run.steps[:T]
    gaps = np.array([run.f(x) for x in run.points[1 : T + 1]]) - run.case.cost
    violation = np.maximum(sum(e * run.h(x) for e, x in zip(eta, run.points[1 : T + 1], strict=True)), 0.0)
    kept = 0.5 * float(violation @ violation) / (run.alpha * eta.sum() + 1.0)
    right = 0.5 * distance**2 + 2.0 * m * G**2 * (eta**2).sum()
    assert eta @ gaps + kept <= right


def test_bound_is_eq_5_written_out() -> None:
    eta, d, m, G = np.array([1.0, 0.5, 0.25]), 3.0, 2, 0.7
    expected = [
        (0.5 * 9.0 + 2 * 2 * 0.49 * 1.0) / 1.0,
        (0.5 * 9.0 + 2 * 2 * 0.49 * 1.25) / 1.5,
        (0.5 * 9.0 + 2 * 2 * 0.49 * 1.3125) / 1.75,
    ]
    np.testing.assert_allclose(theorem1_bound(eta, d, m, G), expected, rtol=1e-15)


def test_corollary_is_never_below_theorem_1() -> None:
    T = np.arange(2, 2000)
    theorem = theorem1_bound(1.0 / np.sqrt(np.arange(1.0, 2000.0)), 2.0, 3, 0.5)[1:]
    assert (corollary1_bound(T, 2.0, 3, 0.5) >= theorem).all()


def test_corollary_has_the_rate_of_eq_6() -> None:
    T = np.array([1e4, 1e8, 1e16, 1e40])
    ratio = corollary1_bound(T, 2.0, 3, 0.5) / (np.log(T) / (np.sqrt(T) - 1.0))
    assert ratio[-1] == pytest.approx(3 * 0.5**2, rel=0.1)
    assert (np.diff(ratio) < 0.0).all()


@pytest.mark.parametrize("bad", [[], [1.0, 0.0], [[1.0]], [np.nan]])
def test_bad_steps_are_refused(bad: list) -> None:
    if not bad:
        assert len(theorem1_bound(bad, 1.0, 1, 1.0)) == 0
    else:
        with pytest.raises(ValueError, match="step_sizes"):
            theorem1_bound(bad, 1.0, 1, 1.0)


def test_bad_constants_are_refused() -> None:
    with pytest.raises(ValueError, match="`distance` must not be negative"):
        theorem1_bound([1.0], -1.0, 1, 1.0)
    with pytest.raises(ValueError, match="at T = 1 the bound is infinite"):
        corollary1_bound(1, 1.0, 1, 1.0)


def test_the_bound_of_the_corollary_needs_two_iterations() -> None:
    with pytest.raises(ValueError, match="`n_iter` must be at least 2"):
        corollary1_bound(np.array([1, 5]), 2.0, 3, 0.5)


@pytest.mark.parametrize("diameter", [0.0, 3.0])
def test_the_bound_of_the_corollary_written_out(diameter: float) -> None:
    expected = (diameter * diameter / 2.0 + 2.0 * 5.0 * 0.3 * 0.3 * (1.0 + np.log(9.0))) / (2.0 * (3.0 - 1.0))
    assert corollary1_bound(9, diameter, 5, 0.3) == pytest.approx(expected)
