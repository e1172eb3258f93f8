"""Random problems on all manifolds are solved, and a check by finite differences confirms the answers."""

import inspect

import numpy as np
import pytest

import geodual.manifolds
from benchmarks.random_study import random_table
from geodual.manifolds import (
    ComplexStiefel,
    Euclidean,
    HermitianPD,
    Manifold,
    Power,
    Product,
    SkewSymmetric,
    Sphere,
    Symmetric,
    UnitCircle,
)
from geodual.optimize import L1, Problem, Term, TermValue, check_gradient, minimize
from testing.independent_check import LocalFunctions, check_answer, check_result
from testing.random_problems import random_problem
from testing.random_problems.embedding import parts_of
from testing.random_problems.functions import KINDS as FUNCTIONS
from testing.random_problems.manifolds import KINDS

SEEDS = range(3 * len(KINDS))  # three problems per kind of manifold
EACH_KIND = range(len(KINDS))
UNSOLVED: dict[int, str] = {}  # seed: why it is not solved; `python -m benchmarks random` has all of them


@pytest.mark.parametrize("seed", [seed for seed in SEEDS if seed not in UNSOLVED])
def test_the_default_method_solves_it_and_claims_no_more_than_is_true(seed: int) -> None:
    drawn = random_problem(seed)
    result = minimize(drawn.problem, drawn.start)
    assert result.success, f"{drawn.label}: {result.message}"
    verdict = check_result(drawn.problem, drawn.start, result)
    assert verdict.is_kkt_point, f"{drawn.label}: {verdict}"
    assert verdict.is_minimum == (result.second_order != "fails"), f"{drawn.label}: {verdict}"


@pytest.mark.parametrize("seed", SEEDS)
def test_with_terms_it_is_solved_and_the_claims_are_true(seed: int) -> None:
    drawn = random_problem(seed, with_terms=True)
    result = minimize(drawn.problem, drawn.start)
    assert result.success, f"{drawn.label}: {result.message}"
    verdict = check_result(drawn.problem, drawn.start, result)
    assert verdict.is_kkt_point, f"{drawn.label}: {verdict}"
    assert verdict.is_minimum or result.second_order != "holds", f"{drawn.label}: {verdict}"


def test_terms_of_all_kinds_are_drawn() -> None:
    drawn = [random_problem(seed, with_terms=True).problem.terms for seed in range(120)]
    assert {term.name for terms in drawn for term in terms} == set(FUNCTIONS)


@pytest.mark.parametrize("seed", [120_180, 120_975])
def test_a_tiny_first_penalty_has_time_to_grow(seed: int) -> None:
    """With these terms it begins below 1e-4; the iterations in which it grew counted as a standstill."""
    drawn = random_problem(seed, with_terms=True)
    result = minimize(drawn.problem, drawn.start)
    assert result.success, f"{drawn.label}: {result.message}"
    assert check_result(drawn.problem, drawn.start, result).is_kkt_point


@pytest.mark.parametrize("seed", EACH_KIND, ids=lambda seed: KINDS[seed])
def test_problems_have_right_derivatives_and_a_feasible_point(seed: int) -> None:
    drawn = random_problem(seed)
    x = drawn.feasible
    drawn.problem.manifold.check_point(x)
    assert all((block(x) < 0.0).all() for block in drawn.problem.inequalities)
    assert all(np.abs(block(x)).max() < 1e-9 for block in drawn.problem.equalities)
    check = check_gradient(drawn.problem, x)
    assert check, f"{drawn.label}\n{check}"


def test_a_seed_always_gives_the_same_problem() -> None:
    first, again = random_problem(26), random_problem(26)
    assert first.label == again.label
    assert first.problem.cost(first.start) == again.problem.cost(again.start)


# They came after the seeds had their problems; tests/optimize/test_complex_manifolds.py has problems on them.
LATER = {ComplexStiefel, HermitianPD, SkewSymmetric, Symmetric, UnitCircle}


def test_all_manifolds_are_drawn() -> None:
    drawn = [random_problem(seed).problem.manifold for seed in range(5 * len(KINDS))]
    found = {type(part.manifold) for manifold in drawn for part in parts_of(manifold)} | set(map(type, drawn))
    public = {getattr(geodual.manifolds, name) for name in geodual.manifolds.__all__}
    expected = {each for each in public if inspect.isclass(each) and issubclass(each, Manifold)} - {Manifold}
    assert found == expected - LATER
    assert {Power, Product} <= found


def test_problems_are_of_all_sorts() -> None:
    drawn = [random_problem(seed) for seed in SEEDS]
    inequalities = [sum(len(b(d.start)) for b in d.problem.inequalities) for d in drawn]
    assert min(inequalities) == 0
    assert 30 <= max(inequalities) <= 40
    starts_inside = [all((b(d.start) <= 0.0).all() for b in d.problem.inequalities) for d in drawn]
    assert 0.2 < np.mean(starts_inside) < 0.8
    assert 0.2 < np.mean([bool(d.problem.equalities) for d in drawn]) < 0.8
    assert 0.2 < np.mean([d.problem.hessian_product is None for d in drawn]) < 0.8


def test_the_table_counts_every_problem_once() -> None:
    lines = random_table(3, tol=1e-6, n_jobs=1).splitlines()
    (total,) = (line for line in lines if line.startswith("all"))
    assert total.split()[1:7] == ["3", "3", "0", "0", "0", "0"]
    assert lines[-1].startswith("certified: 100.0%")


@pytest.mark.parametrize("seed", EACH_KIND, ids=lambda seed: KINDS[seed])
def test_the_basis_of_the_check_is_orthonormal_in_the_metric(seed: int) -> None:
    """The check measures lengths by formulas of its own, which must agree with the manifold's."""
    drawn = random_problem(seed)
    manifold, basis = drawn.problem.manifold, LocalFunctions(drawn.problem, drawn.start).basis
    gram = [[manifold.inner(drawn.start, u, v) for u in basis] for v in basis]
    np.testing.assert_allclose(gram, np.eye(manifold.dim), atol=1e-8)


# min ½‖x − (2, 0)‖² in the unit disc, with another constraint that is not active: x* = (1, 0), λ* = (1, 0).
DISC = Problem(
    Euclidean(2),
    lambda x: 0.5 * float(np.sum((x - [2.0, 0.0]) ** 2)),
    lambda x: x - [2.0, 0.0],
    inequalities=lambda x: np.array([0.5 * (x @ x - 1.0), x[1] - 3.0]),
    jacobian_product=lambda x, w: w[0] * x + w[1] * np.array([0.0, 1.0]),
)
NONE = np.zeros(0)


def verdict_on_disc(x: list[float], multipliers: list[float]):
    return check_answer(DISC, np.array([0.3, 0.4]), np.array(x), np.array(multipliers), NONE, 1e-8)


def test_the_check_accepts_a_known_answer() -> None:
    verdict = verdict_on_disc([1.0, 0.0], [1.0, 0.0])
    assert verdict.is_kkt_point
    assert verdict.is_minimum


@pytest.mark.parametrize(
    ("x", "multipliers", "part"),
    [
        ([1.0, 1e-5], [1.0, 0.0], "stationarity"),  # a perturbed point
        ([1.0 + 1e-6, 0.0], [1.0, 0.0], "feasibility"),
        ([1.0, 0.0], [1.0 + 1e-5, 0.0], "stationarity"),  # wrong multipliers
        ([1.0, 0.0], [1.0, 1e-5], "complementarity"),
        ([1.0, 0.0], [1.0, -1e-9], "sign"),
        ([0.2, 0.1], [0.0, 0.0], "stationarity"),  # feasible, but not stationary
        ([0.2, 0.1], [0.0, 0.0], "fall"),
        ([-1.0, 0.0], [-3.0, 0.0], "sign"),  # the farthest point of the disc
        ([-1.0, 0.0], [-3.0, 0.0], "fall"),
    ],
)
def test_the_check_rejects_wrong_answers(x: list[float], multipliers: list[float], part: str) -> None:
    verdict = verdict_on_disc(x, multipliers)
    assert getattr(verdict, part) > 1.0
    assert not (verdict.is_kkt_point and verdict.is_minimum)


def test_the_check_takes_no_answer_that_is_not_a_number() -> None:
    with pytest.raises(ValueError, match="NaN"):
        verdict_on_disc([np.nan, 0.0], [1.0, 0.0])
    assert not verdict_on_disc([1.0, 0.0], [np.nan, 0.0]).is_kkt_point


@pytest.mark.parametrize(("position", "is_minimum"), [(0, True), (1, False), (2, False)])
def test_the_check_tells_minima_from_saddles_and_maxima(position: int, is_minimum: bool) -> None:
    """All eigenvectors are stationary points of xᵀAx on the sphere, but only one is a minimum."""
    A = np.diag([1.0, 2.0, 5.0])
    problem = Problem(Sphere(3), lambda x: float(x @ A @ x), lambda x: 2.0 * A @ x)
    verdict = check_answer(problem, np.full(3, 3**-0.5), np.eye(3)[position], NONE, NONE, 1e-8)
    assert verdict.is_kkt_point
    assert verdict.is_minimum == is_minimum


def test_the_check_finds_the_way_down_along_a_curved_constraint() -> None:
    """On the circle ‖x‖ = 1 of the plane, −x₁ has its minimum at (1, 0) and its maximum at (−1, 0)."""
    problem = Problem(
        Euclidean(2),
        lambda x: -float(x[0]),
        lambda x: np.array([-1.0, 0.0]),
        equalities=lambda x: 0.5 * (x @ x - 1.0),
        equality_jacobian_product=lambda x, w: w[0] * x,
    )
    for side in (1.0, -1.0):
        x, mu = np.array([side, 0.0]), np.array([side])
        verdict = check_answer(problem, np.array([0.6, 0.8]), x, NONE, mu, 1e-8)
        assert verdict.is_kkt_point
        assert verdict.is_minimum == (side > 0.0)


# min ½‖x − (2, 0.3)‖² + ½‖x‖₁: x* = p* = (1.5, 0), y* = (0.5, 0.3).
NORM = Problem(
    Euclidean(2),
    lambda x: 0.5 * float(np.sum((x - [2.0, 0.3]) ** 2)),
    lambda x: x - [2.0, 0.3],
    terms=[Term(L1(0.5))],
)


def verdict_on_norm(x: list[float], p: list[float], y: list[float]):
    said = TermValue("L1", np.array(p), 0.0, np.array(y))
    return check_answer(NORM, np.array([0.3, 0.4]), np.array(x), NONE, NONE, 1e-8, [said])


def test_the_check_accepts_a_known_answer_with_a_term() -> None:
    verdict = verdict_on_norm([1.5, 0.0], [1.5, 0.0], [0.5, 0.3])
    assert verdict.is_kkt_point
    assert verdict.is_minimum


@pytest.mark.parametrize(
    ("x", "p", "y", "part"),
    [
        ([1.5, 1e-5], [1.5, 0.0], [0.5, 0.3], "terms"),  # the value of the term is not that of its map
        ([1.5, 0.0], [1.5, 0.0], [0.5, 0.3 + 1e-5], "stationarity"),
        ([1.5 - 1e-5, 0.0], [1.5 - 1e-5, 0.0], [0.5 + 1e-5, 0.3], "terms"),  # y is no subgradient
        ([1.6, 0.0], [1.6, 0.0], [0.4, 0.3], "terms"),
        ([2.0, 0.3], [2.0, 0.3], [0.0, 0.0], "terms"),  # the minimum without the term
        ([2.0, 0.3], [2.0, 0.3], [0.5, 0.5], "fall"),
    ],
)
def test_the_check_rejects_wrong_answers_with_a_term(
    x: list[float], p: list[float], y: list[float], part: str
) -> None:
    verdict = verdict_on_norm(x, p, y)
    assert getattr(verdict, part) > 1.0
    assert not (verdict.is_kkt_point and verdict.is_minimum)
