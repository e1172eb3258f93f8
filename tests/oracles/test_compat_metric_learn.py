"""geodual.compat.metric_learn against metric-learn: signatures, and results."""

import inspect

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine, make_friedman1
from sklearn.metrics import pairwise_distances

import geodual.compat.metric_learn as ours
from geodual.compat.metric_learn import lfda as lfda_module
from tests.compat.test_mlkr import errors
from tests.oracles.metric_learn_shim import metric_learn, working_metric_learn

X, Y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


# metric-learn calls functions that scikit-learn is about to remove, and reports its default of `n_basis`.
old_warnings = pytest.mark.filterwarnings("ignore:Function stable_cumsum", "ignore:As no value for `n_basis`")


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


@old_warnings
def test_unseen_comparisons_are_predicted_at_least_as_well() -> None:
    """LSML and SCML: other programs than theirs, which must not be worse than theirs with its defaults."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(X), size=(8000, 4))
    a, b, c, d = drawn.T
    quadruplets = drawn[(Y[a] == Y[b]) & (Y[c] != Y[d]) & (a != b)][:900]
    a, b, c, _ = drawn.T
    triplets = drawn[(Y[a] == Y[b]) & (Y[a] != Y[c]) & (a != b)][:900, :3]
    for name, tuples in (("LSML", quadruplets), ("SCML", triplets)):
        with working_metric_learn() as theirs:
            learner = getattr(theirs, name)(preprocessor=X, random_state=0).fit(tuples[:300])
            expected = learner.score(tuples[300:])
        found = getattr(ours, name)(preprocessor=X).fit(tuples[:300]).score(tuples[300:])
        assert found >= expected


@old_warnings
def test_unseen_pairs_are_ranked_at_least_as_well() -> None:
    """MMC: another program than theirs, which must not be worse than theirs with its defaults."""
    indices = np.random.default_rng(1).integers(len(X), size=(900, 2))
    signs = np.where(Y[indices[:, 0]] == Y[indices[:, 1]], 1, -1)
    with working_metric_learn() as theirs:
        learner = theirs.MMC(preprocessor=X).fit(indices[:300], signs[:300])
        expected = learner.score(indices[300:], signs[300:])
    found = ours.MMC(preprocessor=X).fit(indices[:300], signs[:300]).score(indices[300:], signs[300:])
    assert found >= expected


def test_metric_learn_has_the_same_directions_but_for_its_scales(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a column instead of a row of the sorted distances; with this its directions are ours."""

    def their_affinities(Z, k):
        squared = pairwise_distances(Z, metric="sqeuclidean")
        radius = np.sqrt(np.partition(squared, k, axis=0)[:, k])
        scale = np.outer(radius, radius)
        return np.where(scale > 0.0, np.exp(-squared / np.where(scale > 0.0, scale, 1.0)), 0.0)

    with working_metric_learn() as metric_learn:
        theirs = metric_learn.LFDA(3, k=3, embedding_type="plain").fit(X, Y).get_mahalanobis_matrix()
    mine = ours.LFDA(3, k=3, embedding_type="plain")
    assert not np.allclose(mine.fit(X, Y).get_mahalanobis_matrix(), theirs, rtol=0.1)
    monkeypatch.setattr(lfda_module, "_affinities", their_affinities)
    np.testing.assert_allclose(mine.fit(X, Y).get_mahalanobis_matrix(), theirs, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("n_components", [None, 2])
def test_mlkr_is_as_good_as_metric_learn(n_components: int | None) -> None:
    samples, targets = make_friedman1(60, n_features=6, random_state=0)
    mine = ours.MLKR(n_components).fit(samples, targets)
    with working_metric_learn() as metric_learn:
        theirs = metric_learn.MLKR(n_components).fit(samples, targets)
    assert errors(mine.components_, samples, targets) <= 1.001 * errors(theirs.components_, samples, targets)
