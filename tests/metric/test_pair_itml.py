"""PairITML: ITML's program over given pairs."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from geodual.metric import ITML, PairITML


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 4)) @ rng.standard_normal((4, 4)), np.arange(40) % 3
    indices = rng.integers(40, size=(120, 2))
    indices = indices[indices[:, 0] != indices[:, 1]]
    return X, y, indices, np.where(y[indices[:, 0]] == y[indices[:, 1]], 1, -1)


def test_equals_itml_on_the_same_pairs(data) -> None:
    X, y, indices, signs = data
    options = {"gamma": 0.7, "bounds": (1.0, 9.0), "tol": 1e-10}
    pairs = PairITML(**options).fit(X[indices], signs)
    labeled = ITML(pairs=indices, **options).fit(X, y)
    np.testing.assert_allclose(pairs.W_, labeled.W_, atol=1e-5 * np.abs(labeled.W_).max())
    assert pairs.objective_ == pytest.approx(labeled.objective_, rel=1e-8)
    assert pairs.duality_gap_ <= 1e-10


def test_the_optimum_has_the_gradient_zero(data) -> None:
    """W⁻¹ = W₀⁻¹ + γ Σ (1/b − 1/d) v vᵀ over the violated pairs, from the program with ξ eliminated."""
    X, _, indices, signs = data
    learner = PairITML(gamma=0.3, prior="covariance", tol=1e-12).fit(X[indices], signs)
    V = X[indices[:, 0]] - X[indices[:, 1]]
    d, b = np.einsum("ki,ij,kj->k", V, learner.W_, V), np.where(signs > 0, *learner.bounds_)
    slope = 0.3 * np.where(signs * (d - b) > 0, 1 / b - 1 / d, 0.0)
    ends = X[indices].reshape(-1, 4)
    precision = np.cov(ends.T) + (V.T * slope) @ V
    np.testing.assert_allclose(np.linalg.inv(learner.W_), precision, atol=1e-5 * np.abs(precision).max())


def test_it_predicts_and_continues(data) -> None:
    X, _, indices, signs = data
    learner = PairITML(preprocessor=X).fit(indices[:60], signs[:60])
    assert is_classifier(learner)
    assert set(learner.predict(indices)) == {-1, 1}
    before, bounds = learner.W_, learner.bounds_
    learner.partial_fit(indices[60:], signs[60:])
    expected = PairITML(prior=before, bounds=bounds).fit(X[indices[60:]], signs[60:]).W_
    np.testing.assert_allclose(learner.W_, expected)
    assert len(learner.certificates_) == 2


def test_equal_dissimilar_samples_do_no_harm(data) -> None:
    X, _, indices, signs = data
    samples = X[indices].copy()
    k = int(np.flatnonzero(signs < 0)[0])
    samples[k, 1] = samples[k, 0]
    learner = PairITML(bounds=(1.0, 9.0)).fit(samples, signs)
    others = np.delete(np.arange(len(samples)), k)
    expected = PairITML(bounds=(1.0, 9.0)).fit(samples[others], signs[others])
    np.testing.assert_allclose(learner.W_, expected.W_, atol=1e-2 * np.abs(expected.W_).max())


def test_bad_gamma_is_named(data) -> None:
    X, _, indices, signs = data
    with pytest.raises(ValueError, match="`gamma` must be positive, got 0"):
        PairITML(gamma=0.0).fit(X[indices], signs)
