"""LMNN against metric-learn: the objective is the same, and our optimum is never worse."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from geodual.metric.estimators.lmnn import LMNN
from geodual.metric.margin.large_margin import LargeMargin
from testing.metric_learn_shim import working_metric_learn


def sorted_standardized(load):
    X, y = load(return_X_y=True)
    order = np.argsort(y, kind="stable")
    return StandardScaler().fit_transform(X)[order], y[order]


@pytest.fixture(params=[load_iris, load_wine], ids=["iris", "wine"])
def samples(request):
    X, y = sorted_standardized(request.param)
    # Noise breaks ties: with equal distances the choice of target neighbors would be open.
    return X + 1e-6 * np.random.default_rng(0).standard_normal(X.shape), y


def their_objective(theirs, X, y, targets, L, regularization):
    k = targets.shape[1]
    differences = X[targets.ravel()] - np.repeat(X, k, axis=0)
    pull = differences.T @ differences
    return theirs._loss_grad(X, L, pull, k, regularization, targets, y)


@pytest.mark.parametrize("regularization", [0.5, 0.2])
def test_lmnn_has_their_objective_and_gradient(samples, regularization):
    X, y = samples
    L = np.random.default_rng(1).standard_normal((3, X.shape[1]))
    with working_metric_learn() as metric_learn:
        theirs = metric_learn.LMNN(n_neighbors=2)
        theirs.labels_ = np.unique(y)
        targets = theirs._select_targets(X, y)
        gradient, value, _ = their_objective(theirs, X, y, targets, L, regularization)
    # Without smoothing the hinge has their slope everywhere but at zero.
    passed, ours = LargeMargin(X, y, targets, regularization).value_and_gradient(L, 1e-12)
    assert passed.objective == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(ours, gradient, rtol=1e-8, atol=1e-8 * np.abs(gradient).max())


def test_lmnn_finds_a_lower_objective_than_theirs(samples):
    X, y = samples
    with working_metric_learn() as metric_learn:
        theirs = metric_learn.LMNN(n_neighbors=3).fit(X, y)
        targets = theirs._select_targets(X, y)
        value = their_objective(theirs, X, y, targets, theirs.components_, 0.5)[1]
    ours = LMNN(n_neighbors=3).fit(X, y)
    L = ours.components_
    assert LargeMargin(X, y, targets, 0.5).value_and_gradient(L, 1e-6)[0].objective == pytest.approx(
        ours.objective_, rel=1e-9
    )
    assert ours.objective_ < value
    assert ours.dual_objective_ < value
