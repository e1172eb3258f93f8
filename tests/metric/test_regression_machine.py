"""What RPDMLRegressor predicts by its machines: mixtures, certificates, intervals, several outputs."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_diabetes, make_friedman1

from geodual.metric import FeatureWeights, RPDMLRegressor
from geodual.metric.machine.views import VIEWS


@pytest.fixture(scope="module")
def fitted():
    X, y = make_friedman1(240, n_features=8, noise=0.5, random_state=0)
    return X, y, RPDMLRegressor().fit(X[:160], y[:160])


def by_hand(model: RPDMLRegressor, X, y, new):
    """Return predictions and predictions by leave-one-out from the settings in `mixture_` alone."""
    total, left_out, unit = y.mean(), y.mean(), y.std()
    for part in model.mixture_:
        view = VIEWS[part.geometry.view.name]().fit(X, np.ones(len(X)))
        L, kind = part.geometry.map, {"l1": "cityblock", "l2": "euclidean"}[part.geometry.kind]
        A, B = (Z * L if L.ndim == 1 else Z @ L.T for Z in (view.transform(X), view.transform(new)))
        K = np.exp(-cdist(A, A, kind) / part.predictor.bandwidth)
        G = np.linalg.inv(K + part.predictor.ridge * np.eye(len(X)))
        alpha = G @ (y - y.mean()) / unit
        fit = np.exp(-cdist(B, A, kind) / part.predictor.bandwidth) @ alpha
        total = total + part.share * unit * fit
        left_out = left_out + part.share * (y - y.mean() - unit * alpha / np.diag(G))
    return total, left_out


def test_it_is_a_mixture_of_kernel_ridge_in_learned_metrics(fitted) -> None:
    X, y, model = fitted
    shares = [part.share for part in model.mixture_]
    assert sum(shares) == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)
    predicted, left_out = by_hand(model, X[:160], y[:160], X[160:])
    np.testing.assert_allclose(model.predict(X[160:]), predicted, rtol=1e-8)
    assert model.loo_error_ == pytest.approx(np.sqrt(np.mean((left_out - y[:160]) ** 2)))
    gaps = model.certificates_
    assert 0.0 <= gaps.metric_gap <= 1e-6
    assert 0.0 <= gaps.mixture_gap <= 1e-8
    assert gaps.ridge_residual < 1e-10


def test_its_weights_are_those_of_feature_weights() -> None:
    X = np.random.default_rng(0).standard_normal((150, 6))
    y = np.sign(X[:, 0]) * np.sign(X[:, 1])
    model = RPDMLRegressor().fit(X, y)
    learned = [part.geometry for part in model.mixture_ if part.geometry.metric == "l1"]
    assert learned
    np.testing.assert_array_equal(model.feature_weights_, learned[0].weights)
    for geometry in learned:
        A = VIEWS[geometry.view.name]().fit(X, np.ones(150)).transform(X)
        weights = FeatureWeights(target="numbers").fit(A, y).weights_
        np.testing.assert_allclose(geometry.weights, weights, rtol=1e-6)
        np.testing.assert_allclose(geometry.map, weights**2, rtol=1e-6)


@pytest.mark.parametrize("predictor", ["kernel", "local"])
def test_it_predicts_better_than_neighbors(predictor: str, fitted) -> None:
    X, y, _ = fitted
    neighbors = RPDMLRegressor(predictor="neighbors").fit(X[:160], y[:160])
    model = RPDMLRegressor(predictor=predictor).fit(X[:160], y[:160])
    assert model.score(X[160:], y[160:]) > neighbors.score(X[160:], y[160:]) + 0.05
    # The matrix is the same: the predictor changes predictions only.
    np.testing.assert_array_equal(model.W_, neighbors.W_)


def test_a_direction_is_found_by_the_matrix() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 4))
    y = np.sin(X @ np.array([1.0, -1.0, 1.0, -1.0]))  # one direction matters, and every feature alike
    model = RPDMLRegressor().fit(X, y)
    assert model.mixture_[0].geometry.metric == "full"
    assert "metric full" in str(model.mixture_[0])


def test_few_of_many_features_are_found() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 30))
    y = X[:, 3] * np.sin(X[:, 7])
    model = RPDMLRegressor().fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.7
    assert set(np.argsort(model.feature_weights_)[-2:]) == {3, 7}


def slow_interval(model, X, y, new, coverage):
    """The jackknife+ from 160 machines without a sample each, with the settings and means of all."""
    predictions = []
    for i in range(len(X)):
        kept, at = np.arange(len(X)) != i, 0.0
        for part in model.mixture_:
            view = VIEWS[part.geometry.view.name]().fit(X, np.ones(len(X)))
            L, kind = part.geometry.map, {"l1": "cityblock", "l2": "euclidean"}[part.geometry.kind]
            A, B = (Z * L if L.ndim == 1 else Z @ L.T for Z in (view.transform(X), view.transform(new)))
            K = np.exp(-cdist(A[kept], A[kept], kind) / part.predictor.bandwidth)
            alpha = np.linalg.solve(K + part.predictor.ridge * np.eye(len(K)), y[kept] - y.mean())
            at += (
                part.share
                * np.exp(-cdist(np.vstack([B, A[i]]), A[kept], kind) / part.predictor.bandwidth)
                @ alpha
            )
        predictions.append(at + y.mean())
    predictions = np.array(predictions)
    error = np.abs(y - predictions[:, -1])
    k = int(np.ceil(coverage * (len(X) + 1)))
    if k > len(X):
        return np.full(len(new), -np.inf), np.full(len(new), np.inf)
    lower = -np.sort(-(predictions[:, :-1].T - error), axis=1)[:, k - 1]
    return lower, np.sort(predictions[:, :-1].T + error, axis=1)[:, k - 1]


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
def test_intervals_are_those_of_refits(coverage: float) -> None:
    X, y = make_friedman1(45, n_features=6, noise=0.5, random_state=3)
    model = RPDMLRegressor().fit(X[:40], y[:40])
    found = model.predict_interval(X[40:], coverage)
    np.testing.assert_allclose(found, slow_interval(model, X[:40], y[:40], X[40:], coverage), rtol=1e-7)


@pytest.mark.parametrize("parameters", [{}, {"predictor": "local"}, {"max_exact": 100, "n_landmarks": 80}])
def test_intervals_cover_new_targets(parameters) -> None:
    X, y = make_friedman1(500, n_features=8, noise=1.0, random_state=1)
    model = RPDMLRegressor(**parameters, random_state=0).fit(X[:200], y[:200])
    for coverage in (0.5, 0.9):
        lower, upper = model.predict_interval(X[200:], coverage)
        # The standard error of a share of 300 is at most 0.03; that of 200 residuals comes on top.
        assert ((lower <= y[200:]) & (y[200:] <= upper)).mean() == pytest.approx(coverage, abs=0.1)


def test_whole_weights_are_repeated_rows() -> None:
    X, y = make_friedman1(60, random_state=1)
    weight = np.random.default_rng(0).integers(3, size=60)
    for predictor in ("kernel", "local"):
        weighted = RPDMLRegressor(predictor=predictor).fit(X, y, sample_weight=weight)
        repeated = RPDMLRegressor(predictor=predictor).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-5)
        for ends in zip(weighted.predict_interval(X), repeated.predict_interval(X), strict=True):
            np.testing.assert_allclose(*ends, rtol=1e-5)


@pytest.mark.parametrize("predictor", ["kernel", "local", "neighbors"])
def test_several_outputs(predictor: str) -> None:
    X, y = make_friedman1(200, n_features=6, random_state=0)
    Y = np.column_stack([y, 1e6 * X[:, 0], np.full(200, 3.0)])  # of different units, and a constant
    model = RPDMLRegressor(predictor=predictor).fit(X[:150], Y[:150])
    predicted = model.predict(X[150:])
    assert predicted.shape == (50, 3)
    for output in (0, 1):
        error = np.mean((predicted[:, output] - Y[150:, output]) ** 2)
        assert error < 0.3 * Y[150:, output].var()
    np.testing.assert_allclose(predicted[:, 2], 3.0)
    if predictor != "neighbors":
        assert model.loo_error_.shape == (3,)
        lower, upper = model.predict_interval(X[150:])
        assert lower.shape == (50, 3)
        assert ((lower <= Y[150:]) & (Y[150:] <= upper))[:, :2].mean() > 0.75
    single = RPDMLRegressor(predictor=predictor).fit(X[:150], Y[:150, :1])
    assert single.predict(X[150:]).shape == (50, 1)
    flat = RPDMLRegressor(predictor=predictor).fit(X[:150], Y[:150, 0])
    np.testing.assert_allclose(single.predict(X[150:])[:, 0], flat.predict(X[150:]))


def test_units_of_the_target_do_not_matter(fitted) -> None:
    X, y, model = fitted
    for factor, shift in ((1e-12, 0.0), (1e12, 0.0), (1.0, 1e6)):
        other = RPDMLRegressor().fit(X[:160], factor * y[:160] + shift)
        np.testing.assert_allclose(
            (other.predict(X[160:]) - shift) / factor, model.predict(X[160:]), rtol=1e-6, atol=1e-6
        )


def test_missing_values_and_sparse_samples_and_float32(fitted) -> None:
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    model = RPDMLRegressor().fit(X[:300], y[:300])
    completed = np.where(np.isnan(X), model.medians_, X)
    np.testing.assert_allclose(
        model.predict(X), RPDMLRegressor().fit(completed[:300], y[:300]).predict(completed)
    )
    mostly_zero = np.where(rng.random((120, 6)) < 0.6, 0.0, rng.standard_normal((120, 6)))
    target = mostly_zero[:, 0] - mostly_zero[:, 1]
    dense = RPDMLRegressor().fit(mostly_zero, target)
    rows = sparse.csr_array(mostly_zero)
    found = RPDMLRegressor().fit(rows, target).predict(rows)
    np.testing.assert_array_equal(found, dense.predict(mostly_zero))
    assert dense.predict(mostly_zero.astype(np.float32)).dtype == np.float32


def test_more_samples_than_fit_into_a_kernel_matrix() -> None:
    X, y = make_friedman1(600, n_features=6, noise=0.3, random_state=0)
    exact = RPDMLRegressor().fit(X[:400], y[:400])
    model = RPDMLRegressor(max_exact=200, n_landmarks=150, random_state=0).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > exact.score(X[400:], y[400:]) - 0.05
    assert len(model.mixture_) == 1
    assert model.certificates_.ridge_residual < 1e-10


def test_what_it_does_not_do(fitted) -> None:
    X, y, model = fitted
    with pytest.raises(ValueError, match='`predict_interval` needs `predictor="kernel"` or "local"'):
        RPDMLRegressor(predictor="neighbors").fit(X, y).predict_interval(X)
    with pytest.raises(ValueError, match="`coverage` must lie in"):
        model.predict_interval(X, 1.5)
    with pytest.raises(ValueError, match='`predictor` must be one of "kernel", "neighbors", "local"'):
        RPDMLRegressor(predictor="forest").fit(X, y)
    with pytest.raises(ValueError, match="too many numbers; reduce the features"):
        RPDMLRegressor().fit(
            sparse.csr_array((300, 1_000_000)), y[:300] if len(y) >= 300 else np.resize(y, 300)
        )
