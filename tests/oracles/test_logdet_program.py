"""The certified program: RPDML against cvxpy, and ITML against cyclic Bregman projections."""

import cvxpy as cp
import numpy as np
import pytest

from geodual.manifolds import SPD
from geodual.metric import ITML, RPDML


def random_data(seed: int, n_samples: int = 14, n_features: int = 4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features)) @ rng.standard_normal((n_features, n_features))
    return X, np.arange(n_samples) % 3


def pair_data(X, y):
    i, j = np.triu_indices(len(X), 1)
    return X[i] - X[j], np.where(y[i] == y[j], 1.0, -1.0)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # for the requested 1e-11; we need 1e-5
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("C", "alpha"), [(10.0, 0.0), (300.0, 0.0), (100.0, 0.5)])
def test_rpdml_agrees_with_cvxpy(seed: int, C: float, alpha: float) -> None:
    """W, objective and multipliers of eq. (10) with slacks; C₂ enters as a second slack."""
    X, y = random_data(seed)
    prior = SPD(4).random_point(np.random.default_rng(seed + 100))
    learner = RPDML(C=C, alpha=alpha, prior=prior, pairs="all", tol=1e-12).fit(X, y)
    V, s = pair_data(X, y)
    b, C1, inverse = np.where(s > 0, *learner.bounds_), C / len(s), np.linalg.inv(prior)
    W = cp.Variable((4, 4), symmetric=True)
    rho = alpha + b**2 / C1
    # One slack for ξ and that of C₂, in units in which both have the same weight.
    t = cp.Variable(len(s), nonneg=True)
    h = cp.multiply(s / np.sqrt(rho), cp.sum(cp.multiply(V @ W, V), axis=1) - b) <= t
    divergence = cp.trace(inverse @ W) - cp.log_det(W) - 4 + np.linalg.slogdet(prior)[1]
    oracle = cp.Problem(cp.Minimize(0.5 * divergence + 0.5 * cp.sum_squares(t)), [h])
    oracle.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert learner.objective_ == pytest.approx(oracle.value, rel=1e-6)
    found = learner.get_mahalanobis_matrix()
    lam = np.maximum(s * (np.einsum("ki,ij,kj->k", V, found, V) - b), 0.0) / rho
    # The error of the oracle's W and multipliers is of the order of the square root of its objective's error.
    np.testing.assert_allclose(found, W.value, atol=3e-4 * np.abs(found).max())
    np.testing.assert_allclose(lam, h.dual_value / np.sqrt(rho), atol=3e-4 * lam.max())
    # The KKT conditions, to more digits: W = P(λ)⁻¹ with λ = [s (d − b)]₊/ρ.
    np.testing.assert_allclose(
        found, np.linalg.inv(inverse + 2 * (V.T * (lam * s)) @ V), atol=1e-5 * np.abs(found).max()
    )


def cyclic_bregman(V, s, bounds, gamma, W, sweeps=20_000, tol=1e-13):
    """Run Algorithm 1 of Davis et al. 2007 to convergence: project on each pair in turn, with correction."""
    W = W.copy()
    lam, xi = np.zeros(len(s)), np.where(s > 0, *bounds)
    for _ in range(sweeps):
        largest = 0.0
        for k, v in enumerate(V):
            p = v @ W @ v
            alpha = min(lam[k], s[k] / (1.0 + 1.0 / gamma) * (1.0 / p - 1.0 / xi[k]))
            beta = s[k] * alpha / (1.0 - s[k] * alpha * p)
            xi[k] = gamma * xi[k] / (gamma + s[k] * alpha * xi[k])
            lam[k] -= alpha
            Wv = W @ v
            W += beta * np.outer(Wv, Wv)
            largest = max(largest, abs(alpha) * p)
        if largest < tol:
            return W
    raise AssertionError("cyclic projections did not converge")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_itml_agrees_with_bregman_projections(seed: int, gamma: float) -> None:
    X, y = random_data(seed, n_samples=9, n_features=3)
    learner = ITML(gamma=gamma, pairs="all", tol=1e-12).fit(X, y)
    V, s = pair_data(X, y)
    expected = cyclic_bregman(V, s, learner.bounds_, gamma, np.eye(3))
    found = learner.get_mahalanobis_matrix()
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
