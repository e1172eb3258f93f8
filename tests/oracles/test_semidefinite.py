"""Low-rank semidefinite programs against cvxpy, which solves them without factors."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from geodual.semidefinite import SemidefiniteProgram, max_cut, synchronization
from testing.problems.semidefinite import measured_rotations, random_graph


def optimum(C: Any, structure: dict, equalities: list, inequalities: list) -> float:
    """Return the smallest cost by an interior-point method."""
    n = C.shape[0]
    X = cp.Variable((n, n), PSD=True)
    constraints = [cp.trace(A @ X) == b for A, b in equalities]
    constraints += [cp.trace(A @ X) <= b for A, b in inequalities]
    if "trace" in structure:
        constraints.append(cp.trace(X) == structure["trace"])
    elif "trace_at_most" in structure:
        constraints.append(cp.trace(X) <= structure["trace_at_most"])
    elif "blocks" in structure:
        d = structure["blocks"]
        constraints += [X[i : i + d, i : i + d] == np.eye(d) for i in range(0, n, d)]
    else:
        constraints.append(cp.diag(X) == structure.get("diagonal", np.ones(n)))
    problem = cp.Problem(cp.Minimize(cp.trace(C @ X)), constraints)
    return float(problem.solve(solver=cp.CLARABEL))


def feasible_point(n: int, structure: dict, rng: np.random.Generator) -> np.ndarray:
    V = rng.standard_normal((n, n))
    X = V @ V.T
    if "blocks" in structure:
        d = structure["blocks"]
        Y = np.concatenate([np.linalg.qr(rng.standard_normal((n, d)))[0].T for _ in range(n // d)])
        return Y @ Y.T
    if "trace" in structure or "trace_at_most" in structure:
        return X / np.trace(X) * structure.get("trace", 0.7 * structure.get("trace_at_most", 0.0))
    root = np.sqrt(np.diag(X) / structure.get("diagonal", np.ones(n)))
    return X / np.outer(root, root)


STRUCTURES = [
    {},
    {"diagonal": np.linspace(0.5, 2.0, 20)},
    {"trace": 3.0},
    {"trace_at_most": 3.0},
    {"blocks": 2},
]


@pytest.mark.parametrize(("n_equalities", "n_inequalities"), [(0, 0), (3, 0), (0, 4), (2, 5)])
@pytest.mark.parametrize(
    "structure", STRUCTURES, ids=lambda structure: next(iter(structure), "unit diagonal")
)
def test_random_programs_agree_with_cvxpy(structure: dict, n_equalities: int, n_inequalities: int) -> None:
    rng = np.random.default_rng([n_equalities, n_inequalities])
    n = 20
    X = feasible_point(n, structure, rng)
    matrices = [(A + A.T) / 2.0 for A in rng.standard_normal((1 + n_equalities + n_inequalities, n, n))]
    C, rest = matrices[0], [(A, float(np.sum(A * X))) for A in matrices[1:]]
    equalities, inequalities = rest[:n_equalities], [(A, b + 0.1) for A, b in rest[n_equalities:]]
    result = SemidefiniteProgram(C, **structure, equalities=equalities, inequalities=inequalities).solve()
    expected = optimum(C, structure, equalities, inequalities)
    assert result.success
    assert result.bound_is_proved
    assert result.cost == pytest.approx(expected, rel=2e-6)
    assert result.lower_bound <= expected + 1e-7 * abs(expected)


@pytest.mark.parametrize(("n", "signed"), [(40, False), (60, True)])
def test_largest_cuts_agree_with_cvxpy(n: int, signed: bool) -> None:
    program = max_cut(random_graph(n, 0.2, n, signed=signed))
    result = program.solve()
    assert result.success
    assert result.cost == pytest.approx(optimum(program.C, {}, [], []), rel=1e-6)


def test_a_synchronization_that_is_not_tight_agrees_with_cvxpy() -> None:
    case = measured_rotations(12, 20, 1.5, 0)
    program = synchronization(case.pairs, case.measured)
    result = program.solve()
    assert result.success
    assert result.rank > 3
    assert result.cost == pytest.approx(optimum(program.C, {"blocks": 3}, [], []), rel=1e-6)
