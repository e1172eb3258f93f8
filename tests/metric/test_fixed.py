"""The Euclidean metric and Mahalanobis'."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from geodual.metric.base.maps import LowRankPlusDiagonal
from geodual.metric.base.scatter import inverse_root, oriented
from geodual.metric.estimators import fixed
from geodual.metric.estimators.fixed import EuclideanMetric, MahalanobisMetric


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.standard_normal((40, 5)) @ rng.standard_normal((5, 5)) + 3.0


def distances(metric, X):
    return pdist(metric.transform(X))


def test_euclidean_distances_are_those_of_the_samples(X):
    metric = EuclideanMetric().fit(X)
    np.testing.assert_array_equal(metric.get_mahalanobis_matrix(), np.eye(5))
    np.testing.assert_allclose(distances(metric, X), pdist(X))


def test_euclidean_components_are_principal(X):
    metric = EuclideanMetric(n_components=2).fit(X)
    np.testing.assert_allclose(distances(metric, X), pdist(PCA(2).fit_transform(X)), rtol=1e-10)


def test_mahalanobis_is_the_inverse_covariance(X):
    metric = MahalanobisMetric().fit(X)
    inverse = np.linalg.inv(np.cov(X.T))
    np.testing.assert_allclose(metric.get_mahalanobis_matrix(), inverse, rtol=1e-8)
    np.testing.assert_allclose(distances(metric, X), pdist(X, "mahalanobis", VI=inverse), rtol=1e-8)


def test_mahalanobis_components_whiten_the_principal_ones(X):
    X = X / X.std(axis=0)
    theirs = PCA(2, whiten=True).fit_transform(X)
    np.testing.assert_allclose(distances(MahalanobisMetric(n_components=2).fit(X), X), pdist(theirs))


def test_mahalanobis_does_not_depend_on_units(X):
    plain = distances(MahalanobisMetric().fit(X), X)
    for units in (1e12, 1e-12, 10.0 ** np.array([-12, -5, 0, 5, 12])):
        np.testing.assert_allclose(distances(MahalanobisMetric().fit(X * units), X * units), plain, rtol=1e-7)


def test_labels_are_ignored():
    X, y = load_iris(return_X_y=True)
    for metric in (EuclideanMetric(), MahalanobisMetric()):
        with_labels = metric.fit(X, y).components_
        np.testing.assert_array_equal(metric.fit(X).components_, with_labels)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e12])
def test_a_constant_feature_changes_no_distance(X, constant):
    wider = np.column_stack([X[:, :2], np.full(len(X), constant), X[:, 2:]])
    metric = MahalanobisMetric().fit(wider)
    assert np.linalg.eigvalsh(metric.get_mahalanobis_matrix())[0] > 0.0
    np.testing.assert_allclose(distances(metric, wider), distances(MahalanobisMetric().fit(X), X), rtol=1e-8)


def test_a_collinear_feature_changes_no_distance(X):
    wider = np.column_stack([X, X @ np.array([1.0, -2.0, 0.0, 0.0, 3.0])])
    metric = MahalanobisMetric().fit(wider)
    np.testing.assert_allclose(distances(metric, wider), distances(MahalanobisMetric().fit(X), X), rtol=1e-6)


def test_fewer_samples_than_features_become_a_regular_simplex():
    """With covariance I on their span, n samples in general position are all √(2(n − 1)) apart."""
    X = np.random.default_rng(1).standard_normal((6, 20))
    np.testing.assert_allclose(distances(MahalanobisMetric().fit(X), X), np.sqrt(2.0 * 5.0), rtol=1e-7)


def test_duplicated_rows_are_at_distance_zero(X):
    doubled = np.vstack([X, X])
    Z = MahalanobisMetric().fit(doubled).transform(doubled)
    np.testing.assert_array_equal(np.diag(cdist(Z[:40], Z[40:])), 0.0)
    # The covariance is that of the samples but for the divisor 79 instead of 2 · 39.
    factor = np.sqrt(79.0 / 78.0)
    np.testing.assert_allclose(pdist(Z[:40]), factor * distances(MahalanobisMetric().fit(X), X), rtol=1e-8)


def test_equal_samples_have_no_covariance():
    with pytest.raises(ValueError, match="All samples are equal"):
        MahalanobisMetric().fit(np.full((5, 2), 0.1))


@pytest.mark.parametrize("metric", [EuclideanMetric, MahalanobisMetric])
@pytest.mark.parametrize("n_components", [0, 6])
def test_the_number_of_components_is_checked(X, metric, n_components):
    with pytest.raises(ValueError, match=f"`n_components` must be between 1 and 5, got {n_components}"):
        metric(n_components=n_components).fit(X)


@pytest.mark.parametrize("n_components", [None, 3, 11])
@pytest.mark.parametrize("metric", [EuclideanMetric, MahalanobisMetric])
def test_more_features_than_samples(metric, n_components):
    """The same metric as from the eigenvectors of the whole covariance, up to directions without spread."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 12)) * np.geomspace(1.0, 100.0, 12)
    X[:, 3] = 2.0
    found = metric(n_components=n_components).fit(X)
    Z = X - X.mean(axis=0)
    covariance = Z.T @ Z / 7
    if metric is EuclideanMetric:
        expected = np.eye(12) if n_components is None else oriented(np.linalg.eigh(covariance)[1].T[::-1])
    else:
        expected = inverse_root(covariance)
    expected = expected[:n_components]
    # Rows after the seventh are directions without spread; there only their span is determined.
    if n_components is not None:
        np.testing.assert_allclose(found.components_[:7], expected[:7], atol=1e-7)
    assert found.components_.shape == expected.shape
    if n_components is None:
        W = expected.T @ expected
        np.testing.assert_allclose(found.get_mahalanobis_matrix(), W, atol=1e-7 * np.abs(W).max())


def test_very_many_features_are_not_formed_as_a_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    X, others = rng.standard_normal((2, 8, 60)) * np.geomspace(1.0, 100.0, 60)
    X[:, 3] = 2.0
    plain = MahalanobisMetric().fit(X)
    W = plain.get_mahalanobis_matrix()
    monkeypatch.setattr(fixed, "MANY_FEATURES", 40)
    metric = MahalanobisMetric().fit(X)
    assert isinstance(metric.components_, LowRankPlusDiagonal)
    np.testing.assert_allclose(metric.get_mahalanobis_matrix().to_dense(), W, atol=1e-10 * np.abs(W).max())
    np.testing.assert_allclose(distances(metric, X), np.sqrt(2.0 * 7.0), rtol=1e-9)
    np.testing.assert_allclose(distances(metric, others), distances(plain, others), rtol=1e-9)
    np.testing.assert_allclose(metric.feature_importances_, plain.feature_importances_, atol=1e-10)


@pytest.mark.parametrize("n_components", [None, 5, 20])
def test_twenty_thousand_features(n_components) -> None:
    """A matrix of the features would take 3 GB."""
    X = np.random.default_rng(3).standard_normal((12, 20_000))
    metric = MahalanobisMetric(n_components).fit(X)
    assert metric.transform(X).shape == (12, n_components or 20_000)
    if n_components != 5:  # all eleven directions in which twelve samples differ
        np.testing.assert_allclose(distances(metric, X), np.sqrt(2.0 * 11.0), rtol=1e-8)
    assert metric.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n_components", [3, 9, 12])
def test_directions_outside_the_samples_are_orthogonal_and_weigh_most(n_components) -> None:
    X = np.random.default_rng(4).standard_normal((5, 12))
    units = X.std(axis=0, ddof=1)
    L = MahalanobisMetric(n_components).fit(X).components_ * units  # rows are eigenvectors over roots
    spectrum = np.linalg.eigvalsh(np.corrcoef(X.T))[::-1]
    raised = np.maximum(spectrum, 1e-8 * spectrum[0])[:n_components]
    np.testing.assert_allclose(L @ L.T * np.sqrt(np.outer(raised, raised)), np.eye(n_components), atol=1e-9)
