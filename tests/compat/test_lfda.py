"""Local Fisher discriminant analysis: the scatters of the article, summed pair by pair."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from geodual.compat.metric_learn import LFDA

X, Y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)[::2]
Y = Y[::2]


def local_scales(X, y, k: int):
    """The distance of each sample to its k-th neighbor in its class; the first is the sample itself."""
    return [np.sort(np.linalg.norm(X[y == y[i]] - X[i], axis=1))[k] for i in range(len(X))]


def summed_scatters(X, y, radius):
    """The definitions (Sugiyama 2007, equations 15 to 20), pair by pair."""
    n, d = X.shape
    within, between = np.zeros((d, d)), np.zeros((d, d))
    for i in range(n):
        for j in range(i):
            v = X[i] - X[j]
            outer, size = np.outer(v, v), int((y == y[i]).sum())
            if y[i] == y[j]:
                affinity = np.exp(-(v @ v) / (radius[i] * radius[j]))
                within += affinity / size * outer
                between += affinity * (1.0 / n - 1.0 / size) * outer
            else:
                between += outer / n
    return within, between


@pytest.mark.parametrize("k", [2, 5])
def test_the_directions_are_those_of_the_article(k: int) -> None:
    within, between = summed_scatters(X, Y, local_scales(X, Y, k))
    ratios, directions = eigh(between, within)
    ratios, directions = ratios[::-1][:3], directions[:, ::-1][:, :3]
    found = {
        kind: LFDA(3, k, embedding_type=kind).fit(X, Y).get_mahalanobis_matrix()
        for kind in ("weighted", "orthonormalized", "plain")
    }
    np.testing.assert_allclose(found["plain"], directions @ directions.T, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found["weighted"], (directions * ratios) @ directions.T, rtol=1e-6, atol=1e-8)
    basis = np.linalg.qr(directions)[0]
    np.testing.assert_allclose(found["orthonormalized"], basis @ basis.T, rtol=1e-6, atol=1e-8)


def test_two_clusters_of_a_class_stay_apart() -> None:
    """A global discriminant would map the outer clusters, which are one class, onto each other."""
    samples = np.random.default_rng(0).standard_normal((120, 8))
    samples[:, 0] = 0.5 * samples[:, 0] + np.repeat([-5.0, 0.0, 5.0], 40)
    (found,) = LFDA(1).fit(samples, np.repeat([0, 1, 0], 40)).components_
    assert np.abs(found[1:]).max() < 0.2 * abs(found[0])
    assert np.ptp([samples[k : k + 40].mean(axis=0) @ found for k in (0, 80)]) > 1.0


def test_the_number_of_neighbors_has_limits() -> None:
    with pytest.warns(UserWarning, match="`k` is 40, but at most the number of features minus one, 12"):
        many = LFDA(k=40).fit(X, Y)
    np.testing.assert_array_equal(many.components_, LFDA(k=12).fit(X, Y).components_)
    np.testing.assert_array_equal(LFDA(k=7).fit(X, Y).components_, LFDA().fit(X, Y).components_)
    assert LFDA().fit(X[:, :1], Y).components_.shape == (1, 1)


def test_copies_and_dependent_features_have_finite_components() -> None:
    wide = np.column_stack([X, X[:, :2] @ [1.0, 2.0], np.ones(len(X))])
    for samples, labels in ((wide, Y), (np.repeat(X, 20, axis=0), np.repeat(Y, 20)), (X[:, :2].round(), Y)):
        assert np.isfinite(LFDA().fit(samples, labels).components_).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 0}, "`k` must be at least 1"),
        ({"embedding_type": "wide"}, "`embedding_type` must be one of"),
        ({"n_components": 14}, "`n_components` must be between 1 and 13"),
    ],
)
def test_wrong_parameters_are_named(parameters, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LFDA(**parameters).fit(X, Y)
