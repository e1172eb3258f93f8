"""Answers do not depend on threads, the precision of the input, or the order of samples and features.

Tolerances, and why they are what they are:

- `EQUAL`: the same numbers in the same order give the same bits.
- `ROUNDED`: sums in another order differ in their last digits. A fit that is certified to a relative gap of
  1e-12 is within 1e-6 of the optimum, because the objective is quadratic there.
- `SINGLE`: single precision rounds samples by 6e-8, and learned distances change about as much as samples do.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from geodual import threads
from geodual.funds import backtest, synthetic_universe
from geodual.manifolds import SPD, Sphere
from geodual.metric import (
    GMML,
    ITML,
    LMNN,
    RPDML,
    EuclideanMetric,
    MahalanobisMetric,
    NeighborRPDML,
    PairGMML,
    PairITML,
    PairRPDML,
    QuadrupletRPDML,
    RPDMLRegressor,
    TripletRPDML,
)
from geodual.optimize import Constraint, Problem, minimize

EQUAL, ROUNDED, SINGLE = 0.0, 1e-6, 1e-4

RNG = np.random.default_rng(7)
N, D = 90, 6
Y = np.arange(N) % 3
X = RNG.standard_normal((N, D)) * np.geomspace(0.3, 3.0, D) + RNG.standard_normal((3, D))[Y]
FOLD = RNG.integers(0, 3, N)
TUPLES = RNG.integers(0, N, (200, 4))
TUPLES = TUPLES[(np.diff(np.sort(TUPLES, axis=1), axis=1) > 0).all(axis=1)]
SIGNS = np.where(Y[TUPLES[:, 0]] == Y[TUPLES[:, 1]], 1, -1)
FEATURES, SAMPLES, ROWS = RNG.permutation(D), RNG.permutation(N), RNG.permutation(len(TUPLES))


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let BLAS use two threads, for small products too."""
    monkeypatch.setattr(threads, "_SMALL", 0.0)
    with threadpool_limits(2):
        yield


# --- learners ----------------------------------------------------------------------------------------------

TIGHT = {"tol": 1e-12}
LOOSE = {"LMNN": 1e-3}  # it has no second derivatives: it stops at a relative gap of 1e-6


SUPERVISED: dict[str, Callable[[Any], Any]] = {
    "EuclideanMetric": lambda order: EuclideanMetric(),
    "MahalanobisMetric": lambda order: MahalanobisMetric(),
    "GMML": lambda order: GMML(),
    "ITML": lambda order: ITML(pairs="all", **TIGHT),
    "LMNN": lambda order: LMNN(tol=1e-6),
    "NeighborRPDML": lambda order: NeighborRPDML(**TIGHT),
    "RPDML": lambda order: RPDML(**TIGHT),
    "RPDMLRegressor": lambda order: RPDMLRegressor(**TIGHT),
}
FROM_TUPLES: dict[str, tuple[Any, int]] = {
    "PairGMML": (PairGMML(), 2),
    "PairITML": (PairITML(**TIGHT), 2),
    "PairRPDML": (PairRPDML(**TIGHT), 2),
    "TripletRPDML": (TripletRPDML(**TIGHT), 3),
    "QuadrupletRPDML": (QuadrupletRPDML(**TIGHT), 4),
}
LEARNERS = (*SUPERVISED, *FROM_TUPLES)


def learned(
    name: str,
    samples: Any = X,
    order: Any = slice(None),
    rows: Any = slice(None),
) -> Any:
    """Return the matrix W that a learner learns from samples in an order, or from tuples in an order."""
    if name in FROM_TUPLES:
        learner, size = FROM_TUPLES[name]
        tuples, signs = samples[TUPLES[rows, :size]], SIGNS[rows]
        learner.fit(tuples, signs) if size == 2 else learner.fit(tuples)
    else:
        learner, y = SUPERVISED[name](order), X[:, 0] ** 2 if name == "RPDMLRegressor" else Y
        learner.fit(samples[order], y[order])
    return np.asarray(learner.get_mahalanobis_matrix())


def assert_same_metric(name: str, found: Any, expected: Any, tolerance: float) -> None:
    """Compare two learned matrices relative to the largest entry."""
    assert_near(found, expected, max(tolerance, LOOSE.get(name, 0.0)) if tolerance else 0.0)


def assert_near(found: Any, expected: Any, tolerance: float) -> None:
    """Compare two arrays relative to the largest entry."""
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * np.abs(expected).max())


@pytest.fixture(scope="module")
def metrics() -> dict[str, Any]:
    """The metrics learned from the samples as they are, with one thread."""
    with threadpool_limits(1):
        return {name: learned(name) for name in LEARNERS}


@pytest.mark.parametrize("name", LEARNERS)
def test_threads_do_not_change_a_metric(name: str, metrics, two_threads) -> None:
    assert_same_metric(name, learned(name), metrics[name], ROUNDED)


@pytest.mark.parametrize("name", LEARNERS)
def test_single_precision_is_taken_as_it_is(name: str, metrics) -> None:
    single = X.astype(np.float32)
    found = learned(name, single)
    assert_same_metric(name, found, learned(name, single.astype(float)), EQUAL)
    assert_same_metric(name, found, metrics[name], SINGLE)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_order_of_samples_does_not_matter(name: str, metrics) -> None:
    assert_same_metric(name, learned(name, order=SAMPLES, rows=ROWS), metrics[name], ROUNDED)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_order_of_features_does_not_matter(name: str, metrics) -> None:
    expected = metrics[name][np.ix_(FEATURES, FEATURES)]
    assert_same_metric(name, learned(name, X[:, FEATURES]), expected, ROUNDED)


# --- solvers -----------------------------------------------------------------------------------------------

SIZE = 5
# The updates of the paper have no end that all orders reach, so their 40th points are compared.
METHODS = {
    "proximal-lagrangian": {},
    "interior-point": {},
    "primal-dual": {"max_iter": 40, "step": 0.05},
    "primal-dual-linearized": {"max_iter": 40, "step": 0.05},
}
A = np.cov(RNG.standard_normal((20, SIZE)).T) + 0.1 * np.eye(SIZE)
COORDINATES = RNG.permutation(SIZE)


def on_sphere(order: Any = slice(None)) -> Problem:
    """The smallest xᵀAx on the sphere with x ≥ 0.1, for coordinates in an order."""
    B = A[order][:, order]
    floor = Constraint(lambda x: 0.1 - x, lambda x, w: -w)
    return Problem(
        Sphere(SIZE), lambda x: x @ B @ x, lambda x: 2.0 * B @ x, lambda x, u: 2.0 * B @ u, inequalities=floor
    )


def on_matrices(order: Any = slice(None)) -> Problem:
    """The covariance of greatest likelihood with a trace of at most 3, for variables in an order."""
    B, identity = A[order][:, order], np.eye(SIZE)
    limit = Constraint(lambda x: np.trace(x) - 3.0, lambda x, w: w[0] * identity)

    def gradient(x: Any) -> Any:
        inverse = np.linalg.inv(x)
        return inverse - inverse @ B @ inverse

    def hessian_product(x: Any, u: Any) -> Any:
        inverse = np.linalg.inv(x)
        turned, bent = inverse @ u @ inverse, inverse @ B @ inverse
        return -turned + turned @ B @ inverse + bent @ u @ inverse

    return Problem(
        SPD(SIZE),
        lambda x: np.linalg.slogdet(x)[1] + np.trace(np.linalg.solve(x, B)),
        gradient,
        hessian_product,
        inequalities=limit,
    )


STARTS = {on_sphere: np.full(SIZE, SIZE**-0.5), on_matrices: 0.5 * np.eye(SIZE)}


def solved(make: Any, method: str, x0: Any, order: Any = slice(None)) -> Any:
    """Return the solution, or the point after a fixed number of steps."""
    result = minimize(make(order), x0, method=method, tol=1e-9, **METHODS[method])
    assert result.success or METHODS[method]
    return result.x


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", STARTS, ids=lambda make: make.__name__)
def test_solutions_agree(make: Any, method: str, two_threads) -> None:
    """Threads, a start in single precision, and coordinates in another order."""
    x0, back = STARTS[make], np.argsort(COORDINATES)
    with threadpool_limits(1):
        expected = solved(make, method, x0)
    assert_near(solved(make, method, x0), expected, ROUNDED)
    assert_near(solved(make, method, x0.astype(np.float32)), expected, ROUNDED)
    turned = solved(make, method, x0, COORDINATES)
    assert_near(turned[np.ix_(*[back] * turned.ndim)], expected, ROUNDED)


# --- forecasts of a study ----------------------------------------------------------------------------------

NAV = synthetic_universe(30, "2013-01-04", "2014-12-31", seed=1).panel.nav
FACTORS = ("roc", "stddev", "sharpe", "mdd")


def forecasts(nav: Any = NAV, factors: tuple[str, ...] = FACTORS) -> Any:
    """Return the forecasts of a short study, by day, metric and fund."""
    options = {"factors": factors, "k": 5, "top": 3, "test_start": "2014-06-30", "n_jobs": 1}
    study = backtest(nav, metrics=("gmml", "rpdml"), baselines=(), **options)
    return study.predictions.set_index(["date", "forecaster", "fund"])["forecast"].sort_index()


def test_forecasts_agree(two_threads) -> None:
    """Threads, net asset values in single precision, and funds or factors in another order."""
    with threadpool_limits(1):
        expected = forecasts()
    shuffled = NAV.iloc[:, RNG.permutation(NAV.shape[1])]
    for turned in (forecasts(shuffled), forecasts(factors=FACTORS[::-1])):
        assert turned.index.equals(expected.index)
        assert_near(turned, expected, ROUNDED)
    # Another neighbor changes a forecast by a fifth of a return; few funds have two at the same distance.
    single = forecasts(NAV.astype(np.float32))
    assert (np.abs(single - expected) <= SINGLE * np.abs(expected).max()).mean() > 0.97
