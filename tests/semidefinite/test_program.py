"""Semidefinite programs with known answers, their certificates, and wrong input."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from geodual.semidefinite import SemidefiniteProgram


def symmetric(n: int, rng: np.random.Generator) -> np.ndarray:
    A = rng.standard_normal((n, n))
    return (A + A.T) / 2.0


def planted(n: int, r: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return C, the only solution X with a diagonal of 1, of rank r, and its cost, by optimality conditions.

    S has the kernel of X and is positive definite on the rest, so that X is optimal for C = S + diag(y).
    """
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((n, r))
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    rest = np.linalg.svd(Y)[0][:, r:]
    S = rest @ np.diag(rng.uniform(1.0, 2.0, n - r)) @ rest.T
    y = rng.standard_normal(n)
    return S + np.diag(y), Y @ Y.T, float(y.sum())


def test_a_planted_solution_is_found_with_its_multipliers() -> None:
    C, X, cost = planted(30, 3, 0)
    result = SemidefiniteProgram(C).solve()
    assert result.success
    assert result.bound_is_proved
    assert result.rank == 3
    assert result.cost == pytest.approx(cost, abs=1e-8)
    assert np.allclose(result.X, X, atol=1e-5)
    assert np.allclose(C - np.diag(result.multipliers), result.dual_matrix)
    assert np.abs(result.dual_matrix @ result.Y).max() < 1e-5


def test_the_staircase_rises_until_the_rank_suffices() -> None:
    C, _, cost = planted(30, 6, 1)
    result = SemidefiniteProgram(C).solve(rank=2)
    ranks = [entry.rank for entry in result.history]
    assert result.success
    assert ranks[0] == 2
    assert ranks == sorted(set(ranks))
    assert result.cost == pytest.approx(cost, abs=1e-6)
    costs = [entry.cost for entry in result.history]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > cost + 1e-3
    assert all(entry.lower_bound <= cost + 1e-9 for entry in result.history)


def test_a_saddle_is_left() -> None:
    """X = 11ᵀ is critical for the Laplacian of a complete graph, where it is the worst matrix of all."""
    n = 8
    L = n * np.eye(n) - np.ones((n, n))
    result = SemidefiniteProgram(-L / 4.0).solve(start=np.ones((n, 1)))
    assert result.success
    assert result.cost == pytest.approx(-(n**2) / 4.0, abs=1e-7)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_scale_of_the_cost_does_not_matter(scale: float) -> None:
    C, _, cost = planted(20, 3, 2)
    result = SemidefiniteProgram(scale * C).solve()
    assert result.success
    assert result.bound_is_proved
    assert result.cost == pytest.approx(scale * cost, rel=1e-7)


@pytest.mark.parametrize("structure", [{}, {"trace": 2.0}, {"trace_at_most": 2.0}, {"blocks": 2}])
def test_a_cost_of_zero(structure: dict) -> None:
    result = SemidefiniteProgram(np.zeros((4, 4)), **structure).solve()
    assert result.success
    assert result.cost == 0.0
    assert abs(result.gap) < 1e-12


@pytest.mark.parametrize(
    ("structure", "cost"),
    [({}, -3.0), ({"diagonal": 5.0}, -15.0), ({"trace": 2.0}, -6.0), ({"blocks": 1}, -3.0)],
)
def test_one_row(structure: dict, cost: float) -> None:
    result = SemidefiniteProgram([[-3.0]], **structure).solve()
    assert result.success
    assert result.cost == pytest.approx(cost)


def test_the_trace_gives_the_smallest_eigenvalue() -> None:
    n = 12
    path = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    smallest = 2.0 - 2.0 * math.cos(math.pi / (n + 1))
    result = SemidefiniteProgram(path, trace=3.0).solve()
    assert result.success
    assert result.rank == 1
    assert result.cost == pytest.approx(3.0 * smallest, abs=1e-8)
    assert result.multipliers[0] == pytest.approx(smallest, abs=1e-8)


def test_a_bound_on_the_trace_is_active_only_if_it_pays() -> None:
    C = np.diag([1.0, -2.0, 3.0])
    result = SemidefiniteProgram(C, trace_at_most=5.0).solve()
    assert result.success
    assert result.cost == pytest.approx(-10.0, abs=1e-7)
    assert result.dual_matrix.shape == (3, 3)
    idle = SemidefiniteProgram(np.eye(3), trace_at_most=5.0).solve()
    assert idle.success
    assert idle.cost == pytest.approx(0.0, abs=1e-6)
    assert idle.Y.shape[0] == 3


def test_other_diagonals_scale_the_matrix() -> None:
    C, X, cost = planted(15, 2, 3)
    d = np.random.default_rng(3).uniform(0.1, 10.0, 15)
    root = np.sqrt(d)
    result = SemidefiniteProgram(C / np.outer(root, root), diagonal=d).solve()
    assert result.success
    assert result.cost == pytest.approx(cost, abs=1e-7)
    assert np.allclose(result.X, X * np.outer(root, root), atol=1e-4)


def test_multipliers_of_inequalities_have_their_sign() -> None:
    """min −x₁₁ with trace 1 and x₁₁ ≤ 1/4 costs −1/4; each unit of the bound gains 1."""
    C, A = np.diag([-1.0, 0.0]), np.diag([1.0, 0.0])
    result = SemidefiniteProgram(C, trace=1.0, inequalities=[(A, 0.25)]).solve()
    assert result.success
    assert result.cost == pytest.approx(-0.25, abs=1e-7)
    assert result.inequality_multipliers == pytest.approx([-1.0], abs=1e-5)
    idle = SemidefiniteProgram(C, trace=1.0, inequalities=[(A, 2.0)]).solve()
    assert idle.success
    assert idle.inequality_multipliers == pytest.approx([0.0], abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_the_lower_bound_of_a_poor_solve_is_a_bound_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 10
    V = rng.standard_normal((n, n))
    X = V @ V.T
    X /= np.sqrt(np.outer(np.diag(X), np.diag(X)))
    C = symmetric(n, rng)
    matrices = [symmetric(n, rng) for _ in range(4)]
    values = [float(np.sum(A * X)) for A in matrices]
    equalities = list(zip(matrices[:2], values[:2], strict=True))
    inequalities = [(A, value + 0.1) for A, value in zip(matrices[2:], values[2:], strict=True)]
    program = SemidefiniteProgram(C, equalities=equalities, inequalities=inequalities)
    poor = program.solve(rank=2, max_rounds=1, tol=0.5)
    good = program.solve()
    assert good.success
    assert good.infeasibility <= 1e-6
    least = min(good.cost + 1e-6 * abs(good.cost), float(np.sum(C * X)))
    assert poor.lower_bound <= least
    assert good.lower_bound <= least


def test_sparse_dense_and_operator_data_agree() -> None:
    rng = np.random.default_rng(5)
    C, A = symmetric(12, rng), symmetric(12, rng)
    results = [
        SemidefiniteProgram(kind(C), inequalities=[(kind(A), 1.0)]).solve()
        for kind in (np.asarray, sp.csr_array, aslinearoperator)
    ]
    assert all(result.success for result in results)
    assert [result.bound_is_proved for result in results] == [True, True, False]
    assert len({round(result.cost, 5) for result in results}) == 1
    v = rng.standard_normal(12)
    products = [result.dual_matrix @ v for result in results]
    assert np.allclose(products[0], products[1], atol=1e-4)
    assert np.allclose(products[0], products[2], atol=1e-4)
    padded = SemidefiniteProgram(aslinearoperator(C), trace_at_most=2.0).solve()
    assert padded.cost == pytest.approx(2.0 * np.linalg.eigvalsh(C)[0], abs=1e-6)


def test_an_infeasible_program_is_not_called_converged() -> None:
    result = SemidefiniteProgram(np.eye(3), equalities=[(np.eye(3), 5.0)]).solve(max_rounds=3)
    assert not result.success  # the diagonal is 1, so that the trace is 3
    assert result.infeasibility > 0.1
    assert result.message


def test_a_gap_above_the_tolerance_is_not_called_converged() -> None:
    C, _, _ = planted(30, 6, 1)
    result = SemidefiniteProgram(C).solve(rank=2, max_rounds=1)
    assert result.status == "max_rounds"
    assert result.relative_gap > 1e-6
    assert "max_rounds" in result.message


def test_it_prints_in_one_screen(capsys: pytest.CaptureFixture) -> None:
    result = SemidefiniteProgram(np.ones((3, 3))).solve(verbose=1)
    assert "relative gap" in capsys.readouterr().out
    lines = str(result).splitlines()
    assert len(lines) < 12
    assert max(map(len, lines)) <= 100
    assert "(proved)" in str(result)


def test_inputs_are_not_changed() -> None:
    C, start = np.ones((3, 3)), np.full((3, 2), 2.0)
    SemidefiniteProgram(C).solve(start=start)
    assert (C == 1.0).all()
    assert (start == 2.0).all()


NAN = np.array([[1.0, np.nan], [np.nan, 1.0]])
ONE = np.eye(2)


@pytest.mark.parametrize(
    ("C", "arguments", "words"),
    [
        (NAN, {}, "`C` has an entry that is NaN"),
        (sp.csr_array(NAN), {}, "`C` has an entry that is NaN"),
        ([[0.0, 1.0], [0.0, 0.0]], {}, "symmetric"),
        (np.ones((2, 3)), {}, "square"),
        (np.zeros((0, 0)), {}, "not empty"),
        ("text", {}, "`C` must be"),
        (ONE, {"diagonal": [1.0, -1.0]}, "positive"),
        (ONE, {"diagonal": [1.0, 1.0, 1.0]}, "2 numbers"),
        (ONE, {"diagonal": "text"}, "`diagonal` must be numbers"),
        (ONE, {"trace": -1.0}, "`trace` must be a positive"),
        (ONE, {"trace_at_most": 0.0}, "`trace_at_most` must be a positive"),
        (ONE, {"trace": math.nan}, "`trace` must be a positive"),
        (ONE, {"blocks": 3}, "divides the 2 rows"),
        (ONE, {"trace": 1.0, "blocks": 2}, "`blocks` and `trace` are given"),
        (ONE, {"equalities": [ONE]}, r"right-hand side of `equalities\[0\]`"),
        (ONE, {"equalities": [1.0]}, r"`equalities\[0\]` must be a pair"),
        (ONE, {"equalities": [(np.eye(3), 1.0)]}, r"`equalities\[0\]` must be of shape \(2, 2\)"),
        (ONE, {"inequalities": [(ONE, math.inf)]}, "finite number"),
        (ONE, {"inequalities": [(NAN, 1.0)]}, r"`inequalities\[0\]` has an entry that is NaN"),
    ],
)
def test_wrong_programs_are_named(C: object, arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SemidefiniteProgram(C, **arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tol": 0.0}, "`tol`"),
        ({"rank": 0}, "`rank`"),
        ({"max_rounds": 1.5}, "`max_rounds`"),
        ({"start": np.ones(2)}, "`start`"),
        ({"start": np.zeros((2, 2))}, "row of zeros"),
        ({"start": np.full((2, 2), np.nan)}, "`start`"),
    ],
)
def test_wrong_settings_are_named(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SemidefiniteProgram(ONE).solve(**arguments)
