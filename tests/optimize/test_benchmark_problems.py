"""The default method on all benchmark problems, starts and scales: KKT ≤ 1e-8 and the known answers."""

import numpy as np
import pytest

from geodual.manifolds import Manifold
from geodual.optimize import check_gradient, minimize
from geodual.optimize.trees import total
from testing.problems import BenchmarkProblem, benchmark_problems, hard_problems

SOLVABLE = {case.name: case for case in benchmark_problems()}
HARD = {case.name: case for case in hard_problems()}
RUNS = [(name, start) for name, case in SOLVABLE.items() for start in case.starts]
HARD_RUNS = [(name, start) for name, case in HARD.items() for start in case.starts]


def kkt_parts(case: BenchmarkProblem, result) -> tuple[float, float, float]:
    """The absolute KKT residual from the definitions, independent of the solver's code."""
    x = result.x
    h = np.concatenate([np.zeros(0), *(np.atleast_1d(b.value(x)) for b in case.inequalities)])
    g = np.concatenate([np.zeros(0), *(np.atleast_1d(b.value(x)) for b in case.equalities)])
    weights = np.concatenate([result.multipliers, result.equality_multipliers])
    gradients, start = [case.objective.gradient(x)], 0
    for block in case.inequalities + case.equalities:
        size = len(np.atleast_1d(block.value(x)))
        gradients.append(block.jacobian_product(x, weights[start : start + size]))
        start += size
    manifold: Manifold = case.manifold
    stationarity = manifold.norm(x, manifold.gradient(x, total(gradients)))
    feasibility = max(np.max(h, initial=0.0), np.max(np.abs(g), initial=0.0))
    return stationarity, float(feasibility), float(np.max(np.abs(result.multipliers * h), initial=0.0))


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("name", "start"), RUNS)
def test_reaches_kkt_1e_8(name: str, start: str, weight: float) -> None:
    case = SOLVABLE[name].scaled(weight)
    result = minimize(case.problem, case.starts[start])
    assert result.success, result.message
    assert result.kkt.worst <= 1e-8
    assert max(kkt_parts(case, result)) <= 1e-8
    assert (result.multipliers >= 0.0).all()
    case.manifold.check_point(result.x)


@pytest.mark.parametrize(("name", "start"), [run for run in RUNS if SOLVABLE[run[0]].cost is not None])
def test_meets_the_known_optimum(name: str, start: str) -> None:
    case = SOLVABLE[name]
    result = minimize(case.problem, case.starts[start], tol=1e-10)
    assert result.cost == pytest.approx(case.cost, rel=1e-8)
    if case.multipliers is not None and case.unique_multipliers:
        np.testing.assert_allclose(result.multipliers, case.multipliers, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("name", "start"), HARD_RUNS)
def test_problems_without_a_solution_end_in_the_right_status(name: str, start: str, weight: float) -> None:
    case = HARD[name].scaled(weight)
    result = minimize(case.problem, case.starts[start])
    assert result.status == case.status
    assert not result.success
    assert len(result.message) > 40


def test_determinant_under_trace_is_exact() -> None:
    case = SOLVABLE["logdet under trace"]
    result = minimize(case.problem, case.feasible_start, tol=1e-12)
    np.testing.assert_allclose(result.x, case.x, rtol=1e-11)
    np.testing.assert_allclose(result.multipliers, case.multipliers, rtol=1e-11)


def test_a_duplicated_constraint_gets_the_least_multipliers() -> None:
    single, double = SOLVABLE["logdet under trace"], SOLVABLE["duplicate constraint"]
    result = minimize(double.problem, double.feasible_start)
    assert result.multipliers.sum() == pytest.approx(single.multipliers[0], rel=1e-7)
    np.testing.assert_allclose(result.multipliers, 0.5 * single.multipliers[0], rtol=1e-6)


@pytest.mark.parametrize("name", list(SOLVABLE | HARD))
def test_benchmark_derivatives_are_right(name: str) -> None:
    case = (SOLVABLE | HARD)[name]
    x = case.manifold.random_point(np.random.default_rng(1))
    check = check_gradient(case.problem, x)
    assert check, f"\n{check}"
