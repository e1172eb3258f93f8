"""The method of docs/add_a_method.md works as printed, and on problems that the guide does not show."""

from typing import Any

import numpy as np
import pytest

from geodual.manifolds import Euclidean, Sphere
from geodual.optimize import Constraint, Problem, minimize
from tests.guides import run_guide


@pytest.fixture(scope="module")
def guide(tmp_path_factory: pytest.TempPathFactory):
    """Follow the guide from top to bottom; its own assertions hold."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield run_guide("add_a_method.md", tmp_path_factory.mktemp("method"), monkeypatch)


def nonnegative_pca(n: int, seed: int) -> tuple[Problem, np.ndarray]:
    """Return the problem to maximize xᵀAx over unit vectors x ≥ 0, and its matrix A."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    A = A + A.T
    problem = Problem(
        Sphere(n),
        cost=lambda x: -x @ A @ x,
        gradient=lambda x: -2.0 * A @ x,
        hessian_product=lambda x, u: -2.0 * A @ u,
        inequalities=Constraint(lambda x: -x, lambda x, w: -w, lambda x, u: -u, lambda x, w, u: 0.0 * u),
    )
    return problem, A


def test_the_guide_solves_its_problem(guide: dict[str, Any]) -> None:
    result = guide["result"]
    assert result.status == "converged"
    np.testing.assert_allclose(result.x, 2.0 * np.eye(3), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])  # seed 0 has two local minima that cost almost the same
def test_nonnegative_pca_agrees_with_the_default_method(guide: dict[str, Any], seed: int) -> None:
    problem, A = nonnegative_pca(5, seed)
    x0 = np.full(5, 5**-0.5)
    own = minimize(problem, x0, method=guide["method_of_multipliers"])
    default = minimize(problem, x0)
    assert own.success, own.message
    assert default.success, default.message
    np.testing.assert_allclose(own.x, default.x, atol=1e-6)
    np.testing.assert_allclose(own.multipliers, default.multipliers, atol=1e-6)
    # At a solution x is the leading eigenvector of A restricted to the coordinates where x > 0.
    support = own.x > 1e-6
    assert -own.cost == pytest.approx(np.linalg.eigvalsh(A[np.ix_(support, support)])[-1], abs=1e-7)


def test_the_method_of_the_guide_is_the_one_that_runs(guide: dict[str, Any]) -> None:
    (problem, _), x0 = nonnegative_pca(5, 0), np.full(5, 5**-0.5)
    for penalty in (7.0, 300.0):
        result = minimize(
            problem, np.full(5, 5**-0.5), method=guide["method_of_multipliers"], penalty=penalty
        )
        penalties = [row.penalty for row in result.history[1:]]
        assert penalties[0] == penalty
        powers = np.log10(np.array(penalties) / penalty)
        np.testing.assert_allclose(powers, np.round(powers), atol=1e-12)
    with pytest.raises(TypeError, match="weight"):
        minimize(problem, x0, method=guide["method_of_multipliers"], weight=1.0)


def test_equalities_and_contradictions(guide: dict[str, Any]) -> None:
    """The point of the line x₀ + x₁ = 2 closest to the origin; and a constraint that nothing satisfies."""
    line = {
        "cost": lambda x: x @ x,
        "gradient": lambda x: 2.0 * x,
        "equalities": lambda x: x.sum() - 2.0,
        "equality_jacobian_product": lambda x, w: w[0] * np.ones(2),
    }
    result = minimize(Problem(Euclidean(2), **line), np.zeros(2), method=guide["method_of_multipliers"])
    assert result.success, result.message
    np.testing.assert_allclose(result.x, 1.0, atol=1e-8)
    np.testing.assert_allclose(result.equality_multipliers, -2.0, atol=1e-7)
    impossible = Problem(
        Euclidean(2),
        line["cost"],
        line["gradient"],
        inequalities=lambda x: x @ x + 1.0,
        jacobian_product=lambda x, w: 2.0 * w[0] * x,
    )
    failed = minimize(impossible, np.ones(2), method=guide["method_of_multipliers"])
    assert failed.status == "breakdown"
    assert "relax the constraints" in failed.message
