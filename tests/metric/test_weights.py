"""Weights of samples and of pairs: how often each counts, in whole numbers, fractions, and not at all."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from geodual.metric import GMML, ITML, RPDML, LocalPairs, PairRPDML
from geodual.metric.base.checks import copy_weight
from geodual.metric.base.pair_classifier import best_threshold
from geodual.metric.selection.samples import Samples

PAIRS = np.array([[0, 60], [1, 2], [100, 101], [60, 61], [3, 90]])


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_a_copy_weighs_one_unless_weights_are_small() -> None:
    assert copy_weight(np.array([1.0, 2.0, 3.0])) == 1.0
    assert copy_weight(np.full(10, 0.01)) == pytest.approx(0.01)
    assert copy_weight(np.array([0.1, 0.3])) == pytest.approx((0.01 + 0.09) / 0.4)


@pytest.mark.parametrize("pairs", ["all", "local", 300])
@pytest.mark.parametrize("unit", [1.0, 0.3, 1.0 / 150.0])
def test_equal_weights_up_to_one_are_no_weights(iris, pairs, unit: float) -> None:
    X, y = iris
    plain = RPDML(pairs=pairs, random_state=0, tol=1e-10).fit(X, y)
    weighted = RPDML(pairs=pairs, random_state=0, tol=1e-10).fit(X, y, sample_weight=np.full(150, unit))
    np.testing.assert_allclose(weighted.bounds_, plain.bounds_, rtol=1e-9)
    np.testing.assert_allclose(weighted.W_, plain.W_, atol=1e-5)
    assert weighted.objective_ == pytest.approx(plain.objective_, rel=1e-8)


@pytest.mark.parametrize(
    "learner",
    [
        RPDML(pairs="all", tol=1e-10),
        RPDML(pairs="all", prior="covariance", tol=1e-10),
        ITML(pairs="all", tol=1e-10),
        RPDML(pairs="local", tol=1e-10),
        RPDML(pairs=LocalPairs(2, 4), C=1000.0, tol=1e-10),
        ITML(pairs="local", gamma=0.01, tol=1e-10),
    ],
    ids=repr,
)
def test_whole_weights_are_copies(iris, learner) -> None:
    X, y = iris[0][::5], iris[1][::5]
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, len(X))
    counted = learner.fit(X, y, sample_weight=weight)
    W, importances = counted.W_, counted.feature_importances_
    order = rng.permutation(int(weight.sum()))
    repeated = learner.fit(np.repeat(X, weight, axis=0)[order], np.repeat(y, weight)[order])
    np.testing.assert_allclose(W, repeated.W_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(importances, repeated.feature_importances_, atol=1e-5)


def test_copies_are_one_neighbor_of_their_total_weight() -> None:
    """Four points on a line; the second has three copies, the last lies where the third does."""
    X = np.array([[0.0], [1.0], [1.0], [1.0], [3.0], [3.0]])
    y = np.array([0, 0, 0, 0, 1, 0])
    found = Samples(X, y, None, None).distinct_by_class()
    np.testing.assert_array_equal(found.rows, [0, 1, 5, 4])
    np.testing.assert_array_equal(found.weight, [1.0, 3.0, 1.0, 1.0])
    with_weight = Samples(X, y, np.arange(6.0) + 1.0, None).distinct_by_class()
    np.testing.assert_array_equal(with_weight.weight, [1.0, 9.0, 6.0, 5.0])
    unknown = Samples(X, np.array([0, 0, -1, 0, 1, 0]), None, None).distinct_by_class()
    np.testing.assert_array_equal(unknown.weight, [1.0, 2.0, 1.0, 1.0])


def test_small_changes_of_the_weights_are_small_changes_of_the_metric(iris) -> None:
    X, y = iris
    for low, high in ((1.0 - 1e-9, 1.0 + 1e-9), (0.0, 1e-9)):
        weights = np.ones((2, 150))
        weights[0, 7], weights[1, 7] = low, high
        first, second = (
            RPDML(pairs="all", tol=1e-12, bounds=(0.5, 20.0)).fit(X, y, sample_weight=w).W_ for w in weights
        )
        np.testing.assert_allclose(first, second, atol=1e-5)


def test_samples_without_weight_leave_the_numbers_of_given_pairs_alone(iris) -> None:
    X, y = iris
    weight = np.ones(150)
    weight[5:50] = 0.0
    options = {"bounds": (1.0, 5.0), "tol": 1e-12}
    weighted = RPDML(pairs=PAIRS, **options).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(weighted.W_, RPDML(pairs=PAIRS, **options).fit(X, y).W_, atol=1e-6)
    more = np.vstack([PAIRS, [[5, 149]]])
    dropped = RPDML(pairs=more, **options).fit(X, y, sample_weight=weight)
    assert dropped.n_pairs_ == len(PAIRS)
    np.testing.assert_allclose(dropped.W_, weighted.W_, atol=1e-6)


@pytest.mark.parametrize("learner", [RPDML, ITML])
def test_pair_weights_are_copies_of_given_pairs(iris, learner) -> None:
    X, y = iris
    weight = np.array([1, 3, 0, 2, 1])
    options = {"bounds": (1.0, 5.0), "tol": 1e-12}
    weighted = learner(pairs=PAIRS, **options).fit(X, y, pair_weight=weight)
    repeated = learner(pairs=np.repeat(PAIRS, weight, axis=0), **options).fit(X, y)
    np.testing.assert_allclose(weighted.W_, repeated.W_, atol=1e-6)
    assert weighted.n_pairs_ == 4


def test_weights_of_pair_rpdml_are_copies(iris) -> None:
    X, y = iris
    rng = np.random.default_rng(0)
    indices = rng.permutation(150)[:80].reshape(-1, 2)
    signs = np.where(y[indices[:, 0]] == y[indices[:, 1]], 1, -1)
    weight = rng.integers(0, 4, len(indices))
    weighted = PairRPDML(tol=1e-12).fit(X[indices], signs, sample_weight=weight)
    repeated = PairRPDML(tol=1e-12).fit(np.repeat(X[indices], weight, axis=0), np.repeat(signs, weight))
    np.testing.assert_allclose(weighted.bounds_, repeated.bounds_)
    np.testing.assert_allclose(weighted.W_, repeated.W_, atol=1e-5)
    assert weighted.threshold_ == pytest.approx(repeated.threshold_, rel=1e-4)
    assert weighted.n_pairs_ == (weight > 0).sum()
    small = PairRPDML(tol=1e-12).fit(X[indices], signs, sample_weight=np.full(40, 1e-3))
    np.testing.assert_allclose(small.W_, PairRPDML(tol=1e-12).fit(X[indices], signs).W_, atol=1e-5)


@pytest.mark.parametrize("strategy", ["accuracy", "f_beta", "max_tpr", "max_tnr"])
def test_weights_count_for_the_threshold(strategy: str) -> None:
    rng = np.random.default_rng(0)
    distance, similar, weight = rng.uniform(size=30), rng.uniform(size=30) < 0.5, rng.integers(1, 4, 30)
    found = best_threshold(distance, similar, strategy, 0.5, weight=weight)
    repeated = best_threshold(np.repeat(distance, weight), np.repeat(similar, weight), strategy, 0.5)
    assert found == pytest.approx(repeated)


@pytest.mark.parametrize(
    ("options", "weights", "message"),
    [
        ({}, {"sample_weight": np.arange(150) < 50}, "positive for samples of at least two classes"),
        ({}, {"pair_weight": [1.0]}, "`pair_weight` needs `pairs` to be an array, got 'local'"),
        ({"pairs": PAIRS}, {"pair_weight": [1.0]}, "weight ≥ 0 for each of the 5 pairs"),
        ({"pairs": PAIRS}, {"pair_weight": [1.0, 1.0, -1.0, 1.0, 1.0]}, "weight ≥ 0 for each of the 5 pairs"),
        ({"pairs": PAIRS}, {"sample_weight": np.arange(150) % 110 > 104}, "have weight zero"),
        ({"pairs": [[0, 150]]}, {"sample_weight": np.arange(150) > 10}, "row numbers from 0 to 149"),
    ],
)
def test_bad_weights_are_named(iris, options: dict, weights: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RPDML(**options).fit(*iris, **weights)


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("learner", [RPDML(), ITML(), GMML()])
def test_weights_that_cannot_be_multiplied_are_refused(learner, size: float) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"`sample_weight` has values up to .* divide all weights"):
        learner.fit(X, y, sample_weight=np.full(len(y), size))
