"""The kernel predictor of RPDMLRegressor: what it predicts, its certificates, and its intervals."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_friedman1

from geodual.errors import DataError
from geodual.metric import FeatureWeights, RPDMLRegressor, save_metric
from geodual.metric.estimators import rpdml_regressor
from geodual.metric.machine.intervals import jackknife_plus
from geodual.metric.machine.views import VIEWS


@pytest.fixture(scope="module")
def fitted():
    X, y = make_friedman1(240, n_features=8, noise=0.5, random_state=0)
    return X, y, RPDMLRegressor(predictor="kernel").fit(X[:160], y[:160])


def test_it_is_kernel_ridge_in_the_learnt_metric(fitted) -> None:
    X, y, model = fitted
    assert model.distance_ == "l1"
    view = VIEWS[model.view_]().fit(X[:160], np.ones(160))
    A, B = view.transform(X[:160]), view.transform(X[160:])
    weights = FeatureWeights(target="numbers").fit(A, y[:160]).weights_
    np.testing.assert_allclose(model.feature_weights_, weights, rtol=1e-6)
    w = model.feature_weights_**2
    K = np.exp(-cdist(A * w, A * w, "cityblock") / model.bandwidth_) + model.ridge_ * np.eye(160)
    alpha = np.linalg.solve(K, y[:160] - y[:160].mean())
    expected = np.exp(-cdist(B * w, A * w, "cityblock") / model.bandwidth_) @ alpha + y[:160].mean()
    np.testing.assert_allclose(model.predict(X[160:]), expected, rtol=1e-8)
    left_out = alpha / np.diag(np.linalg.inv(K))
    assert model.loo_error_ == pytest.approx(np.sqrt(np.mean(left_out**2)))
    assert 0.0 <= model.certificates_.metric_gap <= 1e-6
    assert model.certificates_.ridge_residual < 1e-10


def test_it_predicts_better_than_neighbours(fitted) -> None:
    X, y, model = fitted
    neighbours = RPDMLRegressor().fit(X[:160], y[:160])
    assert model.score(X[160:], y[160:]) > neighbours.score(X[160:], y[160:]) + 0.05
    # The matrix is the same: the predictor changes predictions only.
    np.testing.assert_array_equal(model.W_, neighbours.W_)


def test_both_distances_are_candidates() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 4))
    y = np.sin(X @ np.array([1.0, -1.0, 1.0, -1.0]))  # one direction matters, and every feature alike
    model = RPDMLRegressor(predictor="kernel").fit(X, y)
    assert model.distance_ == "l2"
    assert model.feature_weights_.shape == (4,)


def slow_interval(K, new, wanted, penalty, coverage):
    n, values = len(K), []
    for i in range(n):
        kept = np.arange(n) != i
        alpha = np.linalg.solve(K[np.ix_(kept, kept)] + np.diag(penalty[kept]), wanted[kept])
        values.append((new[kept] @ alpha, abs(wanted[i] - K[i, kept] @ alpha)))
    centre, error = np.array(values).T
    k = int(np.ceil(coverage * (n + 1)))
    low = -np.sort(-(centre - error))[k - 1] if k <= n else -np.inf
    return low, np.sort(centre + error)[k - 1] if k <= n else np.inf


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
def test_intervals_are_those_of_refits(coverage: float) -> None:
    rng = np.random.default_rng(1)
    X, x, wanted = rng.standard_normal((15, 2)), rng.standard_normal((3, 2)), rng.standard_normal(15)
    K, new = np.exp(-cdist(X, X, "cityblock")), np.exp(-cdist(x, X, "cityblock"))
    penalty = rng.uniform(0.1, 0.5, 15)
    lower, upper = jackknife_plus(K, new, wanted, penalty, np.ones(15), coverage)
    expected = [slow_interval(K, k, wanted, penalty, coverage) for k in new]
    np.testing.assert_allclose(np.column_stack([lower, upper]), expected)


def test_intervals_cover_new_targets(fitted) -> None:
    X, y, model = fitted
    for coverage in (0.5, 0.9):
        lower, upper = model.predict_interval(X[160:], coverage)
        # The standard error of a share of 80 is 0.056 and 0.034.
        assert ((lower <= y[160:]) & (y[160:] <= upper)).mean() == pytest.approx(coverage, abs=0.15)
        assert (lower < model.predict(X[160:])).mean() > 0.95


def test_whole_weights_are_repeated_rows() -> None:
    X, y = make_friedman1(60, random_state=1)
    weight = np.random.default_rng(0).integers(3, size=60)
    weighted = RPDMLRegressor(predictor="kernel").fit(X, y, sample_weight=weight)
    repeated = RPDMLRegressor(predictor="kernel").fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)
    for ends in zip(weighted.predict_interval(X), repeated.predict_interval(X), strict=True):
        np.testing.assert_allclose(*ends, rtol=1e-6)


def test_what_it_does_not_do(fitted, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, model = fitted
    with pytest.raises(DataError, match="cannot be saved"):
        save_metric(model, tmp_path / "a.npz")
    with pytest.raises(ValueError, match='needs `predictor="kernel"`'):
        RPDMLRegressor().fit(X, y).predict_interval(X)
    with pytest.raises(ValueError, match="`coverage` must lie in"):
        model.predict_interval(X, 1.5)
    with pytest.raises(ValueError, match='`predictor` must be "neighbors" or "kernel"'):
        RPDMLRegressor(predictor="forest").fit(X, y)
    monkeypatch.setattr(rpdml_regressor, "_MOST_IN_KERNEL", 100)
    with pytest.raises(ValueError, match="takes up to 100 distinct samples, got 240"):
        RPDMLRegressor(predictor="kernel").fit(X, y)
