"""The function of docs/add_a_function.md works as printed, and on problems that the guide does not show."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geodual.manifolds import Euclidean
from geodual.optimize import Problem, Term, minimize
from tests.guides import run_guide


@pytest.fixture(scope="module")
def guide(tmp_path_factory: pytest.TempPathFactory):
    """Follow the guide from top to bottom; its own assertions hold."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield run_guide("add_a_function.md", tmp_path_factory.mktemp("function"), monkeypatch)


def test_the_guide_solves_its_problem(guide: dict[str, Any]) -> None:
    assert guide["result"].kkt.worst <= 1e-8
    assert guide["result"].second_order == "holds"


@pytest.mark.parametrize("seed", range(3))
def test_regression_agrees_with_scikit_learn(guide: dict[str, Any], seed: int) -> None:
    from sklearn.linear_model import ElasticNet

    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((40, 10)), rng.standard_normal(40)
    # scikit-learn minimizes ‖Ax − b‖²/(2n) + α (ρ ‖x‖₁ + (1 − ρ) ‖x‖²/2).
    peer = ElasticNet(alpha=0.2, l1_ratio=0.5, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(A, b)
    problem = Problem(
        Euclidean(10),
        lambda x: float(np.sum((A @ x - b) ** 2)) / 80.0,
        lambda x: A.T @ (A @ x - b) / 40.0,
        lambda x, u: A.T @ (A @ u) / 40.0,
        terms=[Term(guide["ElasticNet"](0.1, 1.0))],
    )
    result = minimize(problem, np.zeros(10))
    assert result.success
    assert_allclose(result.x, peer.coef_, atol=1e-7)
    np.testing.assert_array_equal(result.terms[0].support, peer.coef_ != 0.0)
