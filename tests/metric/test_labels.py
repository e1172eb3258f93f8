"""Labels and parameters as users give them: unknown labels, −1 and +1, pairs by mistake, text for numbers."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from geodual.metric import GMML, ITML, LMNN, RPDML, LocalPairs, PairRPDML
from geodual.metric.base.checks import encoded_labels

SUPERVISED = [GMML(), LMNN(), RPDML(), ITML()]
over_supervised = pytest.mark.parametrize("learner", SUPERVISED, ids=lambda learner: type(learner).__name__)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([-1, 3, 5, -1, 3], [-1, 0, 1, -1, 0]),
        ([-1.0, 3.0, 5.0], [-1, 0, 1]),
        ([-2, -1, 5], [0, -1, 1]),
        ([-1, 1, -1], [0, 1, 0]),
        (["-1", "a", "b"], [0, 1, 2]),
        (np.array([-1, 0, 7], dtype=object), [-1, 0, 1]),
        ([False, True], [0, 1]),
    ],
)
def test_minus_one_is_unknown_beside_two_classes(y, expected) -> None:
    np.testing.assert_array_equal(encoded_labels(y, "RPDML"), expected)


@pytest.mark.parametrize(
    "learner",
    [
        GMML(),
        GMML(reg=10.0),
        LMNN(),
        RPDML(bounds=(1.0, 10.0)),
        RPDML(bounds=(1.0, 10.0), pairs="local"),
        RPDML(bounds=(1.0, 10.0), pairs=300, random_state=0),
        ITML(bounds=(1.0, 10.0)),
    ],
    ids=repr,
)
def test_unknown_samples_make_no_pairs(iris, learner) -> None:
    X, y = iris
    known = np.arange(len(y)) % 4 > 0
    with pytest.warns(UserWarning, match="38 of 150 samples have the label −1, .* make no pairs") as caught:
        partly = clone(learner).fit(X, np.where(known, y, -1))
    assert [warning.filename for warning in caught] == [__file__]
    only_known = clone(learner).fit(X[known], y[known])
    np.testing.assert_allclose(
        partly.get_mahalanobis_matrix(), only_known.get_mahalanobis_matrix(), rtol=1e-4, atol=1e-4
    )
    assert partly.transform(X).shape == X.shape


def test_unknown_samples_count_where_labels_do_not_matter(iris) -> None:
    """For the percentiles and the covariance, and with their weight."""
    X, y = iris
    partly = np.where(np.arange(len(y)) % 4 > 0, y, -1)
    weight = np.where(partly < 0, 3.0, 1.0)
    with pytest.warns(UserWarning, match="label −1"):
        found = RPDML(prior="covariance", C=1e-9).fit(X, partly, sample_weight=weight)
    expected = RPDML(prior="covariance", C=1e-9).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(found.bounds_, expected.bounds_)
    np.testing.assert_allclose(found.W_, expected.W_, rtol=1e-5, atol=1e-7)
    with pytest.raises(ValueError, match="Pair 1 of `pairs` has a sample with the label −1"):
        RPDML(pairs=[[1, 61], [0, 61]]).fit(X, partly)


@over_supervised
def test_two_classes_may_be_minus_and_plus_one(iris, learner) -> None:
    X, y = iris[0][:100], iris[1][:100]
    W = clone(learner).fit(X, y).get_mahalanobis_matrix()
    np.testing.assert_array_equal(clone(learner).fit(X, 2 * y - 1).get_mahalanobis_matrix(), W)
    with pytest.raises(ValueError, match=r"at least two classes, got 1 class: .*-1"):
        clone(learner).fit(X, np.full(100, -1))


@over_supervised
def test_missing_labels_and_pairs_name_what_to_do(iris, learner) -> None:
    X, _ = iris
    name = type(learner).__name__
    with pytest.raises(ValueError, match=f"{name} estimator requires y to be passed"):
        clone(learner).fit(X)
    pairs = X[:20].reshape(10, 2, 4)
    for given in (pairs, pairs.tolist()):
        with pytest.raises(ValueError, match=f"three axes. {name} needs samples .* use PairRPDML"):
            clone(learner).fit(given, [1, -1] * 5)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (RPDML(C="a"), "`C` must be a number, got 'a'"),
        (RPDML(C=None), "`C` must be a number, got None"),
        (RPDML(alpha="a"), "`alpha` must be a number"),
        (RPDML(tol="a"), "`tol` must be a number"),
        (RPDML(max_iter="a"), "`max_iter` must be a whole number"),
        (ITML(gamma=[1.0]), r"`gamma` must be a number, got \[1.0\]"),
        (GMML(t="a"), "`t` must be a number"),
        (GMML(reg="a"), "`reg` must be a number"),
        (LMNN(regularization="a"), "`regularization` must be a number"),
        (LMNN(n_neighbors="a"), "`n_neighbors` must be a whole number"),
        (LMNN(n_neighbors=0), "`n_neighbors` must be at least 1, got 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value),
)
def test_text_for_a_number_is_one_clear_error(iris, learner, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learner.fit(*iris)


def test_a_pair_learner_names_its_wrong_parameters(iris) -> None:
    with pytest.raises(ValueError, match="`C` must be a number, got 'a'"):
        PairRPDML(C="a").fit(iris[0][:8].reshape(4, 2, 4), [1, -1, 1, -1])


def test_counts_of_local_pairs(iris) -> None:
    X, y = iris
    learner = clone(RPDML(pairs=LocalPairs(1, 2)))
    assert learner.pairs == LocalPairs(1, 2)
    few = learner.fit(X, y).n_pairs_
    assert 2 * len(X) / 2 <= few <= 3 * len(X)
    np.testing.assert_array_equal(RPDML(pairs=LocalPairs()).fit(X, y).W_, RPDML(pairs="local").fit(X, y).W_)
    every = RPDML(pairs=LocalPairs(1000, 1000)).fit(X[::3], y[::3])
    assert every.n_pairs_ == 50 * 49 // 2
    for options, message in (
        ({"n_similar": 0}, "`n_similar` must be at least 1, got 0"),
        ({"n_dissimilar": 1.5}, "`n_dissimilar` must be a whole number, got 1.5"),
    ):
        with pytest.raises(ValueError, match=message):
            LocalPairs(**options)
