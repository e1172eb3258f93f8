"""PairGMML: the geometric mean of sums over given pairs."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import cross_val_score

from geodual.manifolds import SPD
from geodual.metric import GMML, PairGMML


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 4)), np.arange(30) % 3
    indices = np.column_stack(np.triu_indices(30, 1))
    return X, y, indices, np.where(y[indices[:, 0]] == y[indices[:, 1]], 1, -1)


@pytest.mark.parametrize("options", [{}, {"t": 0.3, "reg": 20.0}, {"n_components": 2}])
def test_equals_gmml_on_all_pairs(data, options) -> None:
    X, y, indices, signs = data
    pairs, labeled = PairGMML(**options).fit(X[indices], signs), GMML(**options).fit(X, y)
    W = labeled.get_mahalanobis_matrix()
    np.testing.assert_allclose(pairs.get_mahalanobis_matrix(), W, atol=1e-10 * np.abs(W).max())


@pytest.mark.parametrize("t", [0.0, 0.4, 1.0])
def test_t_walks_along_the_geodesic_of_spd(data, t) -> None:
    X, _, indices, signs = data
    S = D = np.eye(4)
    for (i, j), sign in zip(indices[::3], signs[::3], strict=True):
        term = 2.0 * np.outer(X[i] - X[j], X[i] - X[j])
        S, D = (S + term, D) if sign > 0 else (S, D + term)
    frame = SPD(4).frame(np.linalg.inv(S))
    learner = PairGMML(t=t, reg=1.0).fit(X[indices[::3]], signs[::3], np.full(len(signs[::3]), 2.0))
    expected = frame.exp(t * frame.log(D))
    np.testing.assert_allclose(
        learner.get_mahalanobis_matrix(), expected, rtol=1e-9, atol=1e-9 * expected.max()
    )


def test_weights_count_as_repetitions(data) -> None:
    X, _, indices, signs = data
    weight = np.random.default_rng(1).integers(0, 3, len(signs))
    pairs = X[indices]
    counted = PairGMML(prior="covariance", reg=3.0).fit(pairs, signs, weight)
    repeated = PairGMML(prior="covariance", reg=3.0).fit(pairs.repeat(weight, axis=0), signs.repeat(weight))
    W = repeated.get_mahalanobis_matrix()
    np.testing.assert_allclose(counted.get_mahalanobis_matrix(), W, atol=1e-9 * np.abs(W).max())
    np.testing.assert_allclose(counted.feature_importances_, repeated.feature_importances_, atol=1e-9)
    assert counted.threshold_ == pytest.approx(repeated.threshold_)


def test_it_is_a_classifier_of_pairs(data) -> None:
    X, _, indices, signs = data
    learner = PairGMML(preprocessor=X)
    assert is_classifier(learner)
    assert cross_val_score(learner, indices, signs, cv=3).shape == (3,)
    learner.fit(indices, signs, calibration_params={"strategy": "max_tpr", "min_rate": 1.0})
    assert list(learner.classes_) == [-1, 1]
    assert (learner.predict(indices[signs < 0]) == -1).all()
    assert learner.transform(X).shape == (30, 4)
    assert learner.transform(np.arange(3)).shape == (3, 4)
    assert learner.fit_transform(indices, signs).shape == (len(indices), 2, 4)
    restored = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(restored.predict(indices), learner.predict(indices))
    assert not hasattr(clone(learner), "threshold_")


@pytest.mark.parametrize("t", [0.5, 0.2])
def test_more_features_than_samples(t) -> None:
    """Against the mean of full matrices."""
    rng = np.random.default_rng(2)
    pairs, signs = rng.standard_normal((5, 2, 30)), np.array([1, -1, 1, -1, -1])
    V = pairs[:, 0] - pairs[:, 1]
    S, D = (V[signs == sign].T @ V[signs == sign] + 0.1 * np.eye(30) for sign in (1, -1))
    frame = SPD(30).frame(np.linalg.inv(S))
    expected = frame.exp(t * frame.log(D))
    found = PairGMML(t=t, reg=0.1).fit(pairs, signs).get_mahalanobis_matrix()
    np.testing.assert_allclose(found, expected, atol=1e-10 * expected.max())


def test_one_kind_of_pairs_needs_a_prior(data) -> None:
    X, _, indices, signs = data
    alike = X[indices[signs > 0]]
    with pytest.raises(ValueError, match=r"`y` must be −1 for some pair .* or a positive `reg`"):
        PairGMML().fit(alike, np.ones(len(alike)))
    with pytest.raises(ValueError, match=r"`y` must be \+1 for some pair"):
        PairGMML().fit(np.vstack([X[[[0, 0]]], alike]), np.r_[1, -np.ones(len(alike))])
    assert np.isfinite(PairGMML(reg=1.0).fit(alike, np.ones(len(alike))).components_).all()


def test_bad_parameters_are_named(data) -> None:
    X, _, indices, signs = data
    with pytest.raises(ValueError, match=r"`t` must lie in \[0, 1\], got 2"):
        PairGMML(t=2).fit(X[indices], signs)
    with pytest.raises(ValueError, match="`reg` must not be negative"):
        PairGMML(reg=-1.0).fit(X[indices], signs)
