"""The program of RPDMLRegressor against cvxpy."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.stats import rankdata

from geodual.manifolds import SPD
from geodual.metric import RPDMLRegressor


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # for the requested 1e-11; we need 1e-5
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("C", [3.0, 300.0])
def test_it_agrees_with_cvxpy(seed: int, C: float) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(14, 4)), rng.normal(size=14).round(1)
    prior = SPD(4).random_point(rng)
    model = RPDMLRegressor(C=C, prior=prior, pairs=91, tol=1e-12).fit(X, y)  # 91 are all pairs
    i, j = np.triu_indices(14, 1)
    V, ranks = X[i] - X[j], rankdata(y)
    mean = np.einsum("kf,fg,kg->k", V, prior, V).mean()
    grades = (ranks[i] - ranks[j]) ** 2
    W = cp.Variable((4, 4), symmetric=True)
    xi = cp.sum(cp.multiply(V @ W, V), axis=1) / mean - grades / grades.mean()
    divergence = cp.trace(np.linalg.inv(prior) @ W) - cp.log_det(W) - 4 + np.linalg.slogdet(prior)[1]
    oracle = cp.Problem(cp.Minimize(0.5 * divergence + 0.5 * C / len(V) * cp.sum_squares(xi)))
    oracle.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert model.objective_ == pytest.approx(oracle.value, rel=1e-6)
    # The error of the oracle's W is of the order of the square root of its objective's error.
    np.testing.assert_allclose(model.W_, W.value, atol=3e-4 * np.abs(model.W_).max())
