"""geodual.compat.metric_learn against metric-learn: signatures, and results."""

import inspect

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.datasets import load_iris, load_wine, make_friedman1
from sklearn.metrics import pairwise_distances

import geodual.compat.metric_learn as ours
from testing.metric_learn_shim import metric_learn, working_metric_learn
from tests.compat.test_lfda import summed_scatters
from tests.compat.test_mlkr import errors

X, Y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


# metric-learn calls functions that scikit-learn is about to remove.
old_warnings = pytest.mark.filterwarnings("ignore:Function stable_cumsum")


def parameters(function) -> list[tuple[str, object]]:
    """Names and defaults, without those that metric-learn calls deprecated."""
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.default) for p in found if p.default != "deprecated"]


@pytest.mark.parametrize("name", ours.__all__)
def test_signatures_are_the_same(name: str) -> None:
    """Every argument of theirs can be given here, in the same place and with the same default."""
    mine, theirs = getattr(ours, name), getattr(metric_learn, name)
    assert parameters(mine.__init__) == parameters(theirs.__init__)
    assert [p for p, _ in parameters(mine.fit)] == [p for p, _ in parameters(theirs.fit)]


@pytest.mark.parametrize("name", ours.__all__)
def test_methods_are_the_same(name: str) -> None:
    mine, theirs = getattr(ours, name), getattr(metric_learn, name)
    # `score_pairs` is deprecated for `pair_score`; requests of metadata are scikit-learn's.
    wanted = {
        method
        for method, _ in inspect.getmembers(theirs, callable)
        if not (method.startswith("_") or method.endswith("_request") or method == "score_pairs")
    }
    assert wanted <= set(dir(mine))


@pytest.mark.parametrize("n_components", [None, 4])
def test_rca_is_the_same(n_components: int | None) -> None:
    chunks = np.where(np.arange(len(X)) % 5 == 0, -1, Y * 9 + np.arange(len(X)) % 9)
    with working_metric_learn() as theirs:
        expected = theirs.RCA(n_components=n_components).fit(X, chunks).get_mahalanobis_matrix()
    found = ours.RCA(n_components=n_components).fit(X, chunks).get_mahalanobis_matrix()
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_covariance_is_the_same() -> None:
    with working_metric_learn() as theirs:
        expected = theirs.Covariance().fit(X).get_mahalanobis_matrix()
    np.testing.assert_allclose(ours.Covariance().fit(X).get_mahalanobis_matrix(), expected, atol=1e-9)


@old_warnings
def test_itml_is_the_same_with_the_same_bounds() -> None:
    iris, y = load_iris(return_X_y=True)
    indices = np.random.default_rng(0).integers(150, size=(20, 2))
    pairs, signs = iris[indices], np.where(y[indices[:, 0]] == y[indices[:, 1]], 1, -1)
    with working_metric_learn() as theirs:
        learner = theirs.ITML(max_iter=20_000, tol=1e-9).fit(pairs, signs, bounds=[0.5, 4.0])
        expected, predicted = learner.get_mahalanobis_matrix(), learner.predict(pairs)
    found = ours.ITML(tol=1e-9).fit(pairs, signs, bounds=[0.5, 4.0])
    np.testing.assert_allclose(found.get_mahalanobis_matrix(), expected, atol=1e-4 * np.abs(expected).max())
    np.testing.assert_array_equal(found.predict(pairs), predicted)


def test_metric_learn_has_the_directions_of_the_article_but_for_its_scales() -> None:
    """It takes a column instead of a row of the sorted distances of a class, so distances to one sample."""
    scales = np.empty(len(X))
    for label in np.unique(Y):
        squared = pairwise_distances(X[label == Y], metric="sqeuclidean")
        scales[label == Y] = np.sqrt(np.partition(squared, 3, axis=0)[:, 3])
    # That sample is at distance zero of itself; its pairs then get no weight.
    within, between = summed_scatters(X, Y, np.maximum(scales, 1e-9))
    directions = eigh(between, within)[1][:, :-4:-1]
    with working_metric_learn() as metric_learn:
        theirs = metric_learn.LFDA(3, k=3, embedding_type="plain").fit(X, Y).get_mahalanobis_matrix()
    np.testing.assert_allclose(directions @ directions.T, theirs, rtol=1e-6, atol=1e-9)
    mine = ours.LFDA(3, k=3, embedding_type="plain").fit(X, Y).get_mahalanobis_matrix()
    assert not np.allclose(mine, theirs, rtol=0.1)


@pytest.mark.parametrize("n_components", [None, 2])
def test_mlkr_is_as_good_as_metric_learn(n_components: int | None) -> None:
    samples, targets = make_friedman1(60, n_features=6, random_state=0)
    mine = ours.MLKR(n_components).fit(samples, targets)
    with working_metric_learn() as metric_learn:
        theirs = metric_learn.MLKR(n_components).fit(samples, targets)
    assert errors(mine.components_, samples, targets) <= 1.001 * errors(theirs.components_, samples, targets)
