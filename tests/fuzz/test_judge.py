"""The judge itself: it must see crashes, silent NaN, changed input, leaked errors and false certificates."""

import os
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from fuzz.case import Case, UserError
from fuzz.dual_ascent import DualAscent
from fuzz.judge import judge
from fuzz.metric_losses import Burg, Hinge
from fuzz.metric_program import comparison_hinges, pair_burgs, pair_hinges, wrong_with_certificate
from fuzz.summary import Summary
from fuzz.worker import Worker
from geodual.metric import ITML, RPDML, EuclideanMetric, TripletRPDML


def divide_by_zero() -> float:
    return 1 / 0


def fail() -> None:
    raise UserError("mine")


def warn() -> int:
    warnings.warn("slow", UserWarning, stacklevel=2)
    return 1


def test_verdicts() -> None:
    assert judge(Case("answer", lambda: 1)).verdict == "answer"
    assert judge(Case("certificate", lambda: 1, claim=lambda answer: "certificate")).verdict == "certificate"
    assert judge(Case("warning", warn)).verdict == "warning"
    assert judge(Case("user", fail)).verdict == "refusal"
    assert judge(Case("refusal", lambda: EuclideanMetric("a").fit(np.eye(3)))).verdict == "refusal"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (divide_by_zero, "crash: ZeroDivisionError"),
        (lambda: np.linalg.cholesky(-np.eye(2)), "not a refusal: LinAlgError"),
        (lambda: np.ones(2) @ np.ones(3), "not a refusal: ValueError"),
        (lambda: np.float64(1e300) * 1e300, "leaked RuntimeWarning"),
    ],
)
def test_what_nobody_thought_of_is_a_finding(call, told: str) -> None:
    outcome = judge(Case("case", call))
    assert outcome.verdict == "finding"
    assert outcome.words.startswith(told)


def test_changed_input_is_a_finding() -> None:
    x = np.zeros(3)

    def call() -> None:
        x[1] = 1.0

    assert judge(Case("case", call, (x,))).words == "input 0 was changed"


def test_a_wrong_answer_is_a_finding() -> None:
    outcome = judge(Case("case", lambda: np.nan, check=lambda answer: ["NaN"]))
    assert (outcome.verdict, outcome.words) == ("finding", "NaN")


@pytest.mark.parametrize(
    ("kind", "terms_of", "factor"),
    [(RPDML, pair_hinges, 0.5), (RPDML, pair_hinges, 30.0), (ITML, pair_burgs, 2.0)],
)
def test_a_false_certificate_of_a_metric_is_refuted(kind, terms_of, factor: float) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((8, 2)), np.arange(8) % 2
    pairs = np.array([[i, j] for i in range(8) for j in range(i)])
    learner = kind(10.0, pairs=pairs, bounds=(0.5, 4.0)).fit(X, y)
    terms = terms_of(X, pairs, y[pairs[:, 0]] == y[pairs[:, 1]], 0.5, 4.0, 10.0)
    assert list(wrong_with_certificate(learner, learner.W_, np.eye(2), terms)) == []
    # Another metric with the same claim, and then with its own objective, but still a gap of 0.
    false = SimpleNamespace(objective_=learner.objective_, dual_objective_=0.0, duality_gap_=0.0, tol=1e-6)
    told = list(wrong_with_certificate(false, factor * learner.W_, np.eye(2), terms))
    assert told[0].startswith("objective_ is")
    false.objective_ = float(told[0].split()[-1])
    (told,) = wrong_with_certificate(false, factor * learner.W_, np.eye(2), terms)
    claimed, proved = told.split(", but ")
    assert claimed == "a gap of 0 is claimed"
    if kind is RPDML:  # here the ascent reaches the best lower bound, the optimum itself
        expected = 1.0 - learner.objective_ / false.objective_
        assert float(proved.split()[0]) == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize("guess", [0.0, 1.0, 1e3])
@pytest.mark.parametrize("kind", [RPDML, ITML, TripletRPDML])
def test_the_best_lower_bound_is_the_optimum_from_any_slopes(kind, guess: float) -> None:
    """Collinear features and a heavy loss, as in a case where an earlier judge proved too little."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 4))
    X, y = np.column_stack([X, X[:, 0], X.sum(axis=1)]), np.arange(12) % 2
    if kind is TripletRPDML:
        triplets = X[rng.integers(12, size=(16, 3))]
        learner = kind(1e4, margin=1.0, tol=1e-8).fit(triplets)
        terms = comparison_hinges(triplets, 1.0, 1e4)
    else:
        pairs = np.array([[i, j] for i in range(12) for j in range(i)])
        learner = kind(1e3, pairs=pairs, bounds=(0.5, 4.0), tol=1e-8).fit(X, y)
        terms_of = pair_hinges if kind is RPDML else pair_burgs
        terms = terms_of(X, pairs, y[pairs[:, 0]] == y[pairs[:, 1]], 0.5, 4.0, 1e3)
    slopes = np.array([guess * term.sign * term.unit for term in terms])
    best = DualAscent(np.eye(6), terms).best(slopes, wanted=learner.objective_)
    assert best == pytest.approx(learner.objective_, rel=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_conjugate_is_the_largest_distance_of_a_line_from_the_loss(sign: float) -> None:
    none = np.zeros(1)
    t = np.linspace(1e-3, 60.0, 6_001)
    for term in (Hinge(none, none, sign, 2.0, 0.7), Burg(none, none, sign, 2.0, 0.7)):
        for at in (1.5, 2.5, 7.0):
            a = term.slope(at)
            values = [term.value(each) for each in t]
            assert term.conjugate(a) == pytest.approx(np.max(a * t - values), abs=1e-4)
            assert term.conjugate_slope(a) == pytest.approx(at if a else 2.0)
            below, above = term.conjugate_slope(a - 1e-6), term.conjugate_slope(a + 1e-6)
            assert term.conjugate_curvature(a) == pytest.approx((above - below) / 2e-6, rel=1e-6)


# JAX, which other tests load into this process, warns of forks; the children here do nothing.
@pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")
def test_a_process_that_dies_or_hangs_is_a_finding() -> None:
    worker = Worker(60.0, lambda line, limit: os._exit(3), "fork")
    assert worker.run("tables", 1).words == "crash: the process died with exit code 3"
    worker = Worker(0.1, lambda line, limit: time.sleep(60.0), "fork")
    assert worker.run("tables", 1).words.startswith("hang: no answer after 0.1 s")


def test_the_summary_counts() -> None:
    summary = Summary(["a", "b"])
    summary.add("a", judge(Case("answer", lambda: 1)), 2.0)
    assert (summary.cases, summary.findings, summary.next_kind) == (1, 0, "b")
    assert [row.split()[:2] for row in str(summary).splitlines()[1:]] == [
        ["a", "1"],
        ["b", "0"],
        ["all", "1"],
    ]
