"""The certified program over relative comparisons against cvxpy."""

import cvxpy as cp
import numpy as np
import pytest

from geodual.manifolds import SPD
from geodual.metric import QuadrupletRPDML, TripletRPDML


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # for the requested 1e-11; we need 1e-6
@pytest.mark.parametrize("kind", [TripletRPDML, QuadrupletRPDML])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("C", "alpha", "margin"), [(10.0, 0.0, None), (1000.0, 0.0, 0.5), (100.0, 0.5, 2.0)])
def test_comparisons_agree_with_cvxpy(kind, seed: int, C: float, alpha: float, margin: float | None) -> None:
    """W, objective and multipliers, with slacks; the KKT conditions to more digits."""
    rng = np.random.default_rng(seed)
    triplets = kind is TripletRPDML
    samples = rng.standard_normal((40, 3 if triplets else 4, 4)) @ rng.standard_normal((4, 4))
    prior = SPD(4).random_point(rng)
    learner = kind(C=C, alpha=alpha, prior=prior, margin=margin, tol=1e-12).fit(samples)
    near = samples[:, 0] - samples[:, 1]
    far = samples[:, 0] - samples[:, 2] if triplets else samples[:, 2] - samples[:, 3]
    squares = [np.einsum("ki,ij,kj->k", v, prior, v) for v in (near, far)]
    mu = np.mean(squares) if margin is None else margin
    rho, inverse = alpha + mu**2 / (C / 40), np.linalg.inv(prior)
    W = cp.Variable((4, 4), symmetric=True)
    slack = cp.Variable(40, nonneg=True)
    gaps = cp.sum(cp.multiply(near @ W, near), axis=1) - cp.sum(cp.multiply(far @ W, far), axis=1)
    h = (gaps + mu) / np.sqrt(rho) <= slack
    divergence = cp.trace(inverse @ W) - cp.log_det(W) - 4 + np.linalg.slogdet(prior)[1]
    oracle = cp.Problem(cp.Minimize(0.5 * divergence + 0.5 * cp.sum_squares(slack)), [h])
    oracle.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert learner.margin_ == pytest.approx(mu)
    assert learner.objective_ == pytest.approx(oracle.value, rel=1e-6)
    assert learner.dual_objective_ == pytest.approx(oracle.value, rel=1e-6)
    found = learner.W_
    t = np.einsum("ki,ij,kj->k", near, found, near) - np.einsum("ki,ij,kj->k", far, found, far)
    lam = np.maximum(t + mu, 0.0) / rho
    # The error of the oracle's W and multipliers is of the order of the square root of its objective's error.
    np.testing.assert_allclose(found, W.value, atol=3e-4 * np.abs(found).max())
    np.testing.assert_allclose(lam, h.dual_value / np.sqrt(rho), atol=3e-4 * lam.max())
    precision = inverse + 2 * ((near.T * lam) @ near - (far.T * lam) @ far)
    np.testing.assert_allclose(found, np.linalg.inv(precision), atol=1e-5 * np.abs(found).max())
