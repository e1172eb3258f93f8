"""The kernel machines of the benchmarks, against scikit-learn, finite differences and known answers."""

from itertools import islice

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_friedman1
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from benchmarks.accuracy.kernel_peers import (
    DISTANCES,
    LaplaceSVC,
    RFMClassifier,
    RFMRegressor,
    median_distance,
    rounds,
)


def test_the_median_is_of_different_samples() -> None:
    D = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 3.0], [4.0, 3.0, 0.0]])
    assert median_distance(D) == 3.0
    assert median_distance(np.zeros((3, 3))) == 1.0


def test_the_laplace_svc_is_that_of_scikit_learn() -> None:
    X, y = load_iris(return_X_y=True)
    train, test = slice(0, None, 2), slice(1, None, 2)
    pairs = [np.abs(a - b).sum() for k, a in enumerate(X[train]) for b in X[train][:k]]
    gamma = 1.0 / (2.0 * np.median(pairs))

    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.exp(-gamma * np.abs(A[:, None] - B).sum(axis=2))

    names = np.array(["a", "b", "c"])[y]
    peer = SVC(C=3.0, kernel=kernel).fit(X[train], names[train])
    ours = LaplaceSVC(C=3.0, bandwidth=2.0).fit(X[train], names[train])
    np.testing.assert_array_equal(ours.predict(X[test]), peer.predict(X[test]))
    np.testing.assert_array_equal(ours.classes_, ["a", "b", "c"])


def test_the_first_machine_is_kernel_ridge() -> None:
    X, y = make_friedman1(60, random_state=0)
    machine = next(rounds(X, y[:, None], "cityblock", 2.0, 0.5))
    peer = KernelRidge(alpha=0.5 * 60 / 100, kernel="laplacian", gamma=1.0 / machine.h)
    new = make_friedman1(20, random_state=1)[0]
    expected = peer.fit(X, y - y.mean()).predict(new) + y.mean()
    np.testing.assert_allclose(machine(new)[:, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("distance", DISTANCES)
def test_gradients_agree_with_finite_differences(distance: str) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    machine = next(islice(rounds(X, Y, distance, 1.0, 1e-2), 1, None))  # in a metric that is not plain
    assert np.ptp(machine.m) > 0.1
    new, step = rng.normal(size=(12, 4)), 1e-6
    steps = step * np.eye(4)
    slopes = np.array([(machine(new + e) - machine(new - e)) / (2.0 * step) for e in steps])
    expected = (slopes**2).sum(axis=2).mean(axis=1)
    np.testing.assert_allclose(machine.squared_gradients(new), expected, rtol=1e-5)


@pytest.mark.parametrize("distance", DISTANCES)
def test_the_next_metric_is_the_mean_squared_gradient(distance: str) -> None:
    X, y = make_friedman1(60, random_state=0)
    first, second = islice(rounds(X, y[:, None], distance, 1.0, 1e-2), 2)
    np.testing.assert_array_equal(first.m, 1.0)
    steepness = first.squared_gradients(X)
    np.testing.assert_allclose(second.m / second.m.sum(), steepness / steepness.sum())


def test_constant_targets_and_equal_samples_leave_the_metric_plain() -> None:
    for X, Y in ((np.arange(10.0)[:, None], np.ones((10, 1))), (np.ones((4, 2)), np.arange(4.0)[:, None])):
        for distance in DISTANCES:
            last = list(islice(rounds(X, Y, distance, 1.0, 1e-2), 3))[-1]
            np.testing.assert_array_equal(last.m, 1.0)
            np.testing.assert_allclose(last(X), np.full(Y.shape, Y.mean()))


def test_a_feature_machine_finds_the_features_that_matter() -> None:
    X, y = make_friedman1(400, random_state=0)
    train, test = slice(0, 300), slice(300, None)
    machine = RFMRegressor().fit(X[train], y[train])
    m = machine.machine_.m
    assert machine.n_rounds_ > 1
    assert m[5:].max() < 0.2 * m[:5].min()  # the last five features play no part
    plain = RFMRegressor(max_rounds=1).fit(X[train], y[train])
    errors = [np.mean((model.predict(X[test]) - y[test]) ** 2) for model in (machine, plain)]
    assert errors[0] < 0.5 * errors[1]


def test_a_feature_machine_returns_the_classes_it_was_given() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    machine = RFMClassifier(max_rounds=2).fit(X[::2], names[::2])
    assert machine.score(X[1::2], names[1::2]) > 0.9
    assert machine.setting_[0] in DISTANCES
    assert machine.n_rounds_ in (1, 2)
