"""Kernel machines on landmarks: against exact machines, refits by definition, and weights."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_classification

from geodual.metric import RPDMLClassifier, RPDMLRegressor
from geodual.metric.machine import landmarks, many_samples
from geodual.metric.machine.geometry import equal_weights
from geodual.metric.machine.kernel_ridge import KERNELS, Ridge, ridges, solve
from geodual.metric.machine.landmarks import KernelFeatures, fit_on_landmarks
from geodual.metric.machine.many_samples import SamplesHere
from geodual.metric.machine.targets import ClassTargets, NumberTargets, squared_error
from geodual.metric.machine.views import Standardized

H = 2.0
LARGE = {"max_exact": 50, "n_landmarks": 40, "random_state": 0}
KINDS = {"laplace": "l1", "gauss": "l2"}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(landmarks, "_ENTRIES", 50)  # blocks of a few samples
    monkeypatch.setattr(many_samples, "_DRAWN", 90)


def drawn(seed, n, weight=None):
    rng = np.random.default_rng(seed)
    X, labels = rng.standard_normal((n, 3)), np.arange(n) % 3
    weight = np.ones(n) if weight is None else weight
    return X + labels[:, None], ClassTargets(labels[:, None], weight, 1.0, (3,))


def features_of(X, places, kernel="laplace"):
    """The kernel in the geometry of standardized features, and the samples there."""
    geometry = equal_weights(Standardized().fit(X, np.ones(len(X))), X.shape[1], KINDS[kernel])
    at = geometry.apply(X[places])
    nothing = np.empty((0, 0))
    return KernelFeatures(geometry, at, Ridge(kernel, H, np.nan, nothing, nothing, nothing))


def kernel_by_definition(features, X, places):
    Z = features.geometry.view.transform(X)
    if features.chosen.kernel == "laplace":
        return np.exp(-cdist(Z, Z[places], "cityblock") / H)
    return np.exp(-cdist(Z, Z[places], "sqeuclidean") / H**2)


@pytest.mark.parametrize("kernel", ["laplace", "gauss"])
def test_with_all_samples_as_landmarks_the_machine_is_exact(kernel) -> None:
    X, targets = drawn(7, 30, np.random.default_rng(8).uniform(0.5, 3.0, 30))
    features = features_of(X, np.arange(30), kernel)
    found, residual = fit_on_landmarks(features, SamplesHere(X), targets)
    K = kernel_by_definition(features, X, np.arange(30))
    exact = {r: solve(K, r, targets) for r in ridges(targets)}
    best = min(exact, key=lambda r: squared_error(exact[r][1], targets))
    assert found.ridge == best
    np.testing.assert_allclose(found.scores, exact[best][1], atol=1e-6)
    np.testing.assert_allclose(K @ found.coefficients, K @ exact[best][0], atol=1e-6)
    np.testing.assert_allclose(found.means, targets.weight @ targets.values / targets.weight.sum())
    assert residual < 1e-10


def numbers(seed, n, weight):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, NumberTargets.of(np.column_stack([X[:, 0] ** 2, 10.0 * X[:, 1]]), weight)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_leave_one_out_on_landmarks_is_that_of_refits(kind) -> None:
    weight = np.random.default_rng(1).integers(1, 4, 20).astype(float)
    X, targets = drawn(9, 20, weight) if kind == "classes" else numbers(9, 20, weight)
    places = np.arange(0, 20, 3)
    features = features_of(X, places)
    found, _ = fit_on_landmarks(features, SamplesHere(X), targets)
    K, Y = kernel_by_definition(features, X, places), targets.values - targets.means

    def refit(counts):
        weighted = K.T * counts
        return np.linalg.solve(weighted @ K + found.ridge * K[places], weighted @ Y)

    np.testing.assert_allclose(found.coefficients, refit(weight), atol=1e-8)
    for i in range(20):
        counts = weight.copy()
        counts[i] -= 1.0 if kind == "classes" else weight[i]  # a copy, or the sample
        np.testing.assert_allclose(found.scores[i], K[i] @ refit(counts) + targets.means, atol=1e-8)


def test_only_samples_drawn_are_left_out_and_choose_the_ridge(monkeypatch: pytest.MonkeyPatch) -> None:
    X, targets = drawn(10, 40)
    places = np.arange(0, 40, 2)
    features = features_of(X, places)
    whole, _ = fit_on_landmarks(features, SamplesHere(X), targets)
    monkeypatch.setattr(many_samples, "_DRAWN", 15)
    samples = SamplesHere(X)
    part, _ = fit_on_landmarks(features, samples, targets)
    assert len(set(samples.drawn.tolist())) == len(part.scores) == 15
    if part.ridge == whole.ridge:
        np.testing.assert_allclose(part.scores, whole.scores[samples.drawn], atol=1e-10)
        np.testing.assert_allclose(part.coefficients, whole.coefficients, atol=1e-10)
    few = targets.part(samples.drawn)
    K = kernel_by_definition(features, X, places)

    def error(r):
        hat = K @ np.linalg.solve(K.T @ K + r * K[places], K.T)
        fit = hat @ (targets.values - targets.means) + targets.means
        left_out = targets.values - (targets.values - fit) / (1.0 - np.diag(hat))[:, None]
        return squared_error(left_out[samples.drawn], few)

    assert part.ridge == min(ridges(targets), key=error)


def test_directions_that_landmarks_share_are_dropped() -> None:
    """Nearly equal landmarks make the kernel singular; predictions stay those of the others."""
    X, targets = drawn(11, 30)
    X[3] = X[0] + 1e-13
    places, distinct = np.arange(12), np.delete(np.arange(12), 3)
    both = [features_of(X, chosen) for chosen in (places, distinct)]
    found = [fit_on_landmarks(features, SamplesHere(X), targets)[0] for features in both]
    fits = [features(X) @ one.coefficients for features, one in zip(both, found, strict=True)]
    assert found[0].ridge == found[1].ridge
    np.testing.assert_allclose(*fits, atol=1e-8)
    assert np.abs(found[0].coefficients).max() < 1e3


def test_kernels_of_scaled_distances() -> None:
    scaled = np.array([[0.0, 1.0], [2.0, 3.0]])
    np.testing.assert_allclose(KERNELS["laplace"](scaled.copy()), np.exp(-scaled))
    np.testing.assert_allclose(KERNELS["gauss"](scaled.copy()), np.exp(-(scaled**2)))


def classes():
    return make_classification(160, 5, n_informative=3, n_redundant=0, n_classes=3, random_state=0)


def test_the_classifier_compares_with_landmarks_and_scores_samples_drawn() -> None:
    X, y = classes()
    model = RPDMLClassifier(**LARGE).fit(X, y)
    assert len(np.unique(model.landmarks_)) == 40
    ((_, among),) = model._machine_.compared
    assert len(among.A) == 40
    assert model._machine_.scores.shape == (90, 3)
    np.testing.assert_array_equal(model.nearest(X, 1)[1][:, 0], np.arange(len(X)))
    assert model.certificates_.ridge_residual < 1e-8
    assert model.score(X, y) > 0.7


def test_weights_of_samples_are_repeated_rows_on_landmarks() -> None:
    X, y = classes()
    weight = np.random.default_rng(2).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    one = RPDMLClassifier(**LARGE).fit(X, y, sample_weight=weight)
    other = RPDMLClassifier(**LARGE).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-8)
    assert one.loo_score_ == pytest.approx(other.loo_score_)


@pytest.mark.parametrize("predictor", ["neighbors", "local"])
def test_other_predictors_are_chosen_on_landmarks_and_ask_all(predictor) -> None:
    X, y = classes()
    model = RPDMLClassifier(predictor, **LARGE).fit(X, y)
    assert len(model._machine_.X) == len(X)
    assert model._machine_.scores.shape == (40, 3)
    np.testing.assert_array_equal(model.nearest(X, 1)[1][:, 0], np.arange(len(X)))
    assert isinstance(model.metric_gain(), float)


def test_intervals_on_landmarks_have_the_residuals_of_samples_drawn() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 4))
    y = X[:, 0] + 0.3 * rng.standard_normal(200)
    model = RPDMLRegressor(**LARGE).fit(X[:160], y[:160])
    lower, upper = model.predict_interval(X[160:], 0.8)
    assert np.ptp(upper - lower) < 1e-9
    assert 0.6 < ((lower <= y[160:]) & (y[160:] <= upper)).mean() < 0.97
    residuals = np.abs(model._machine_.scored_targets.y - model._machine_.scores * np.std(y[:160]))
    # The jackknife: ⌈0.8 · 91⌉ = 73 of the 90 residuals are within.
    assert (upper - lower)[0] / 2.0 == pytest.approx(np.sort(residuals[:, 0])[72], rel=1e-9)


def test_predictions_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = classes()
    for predictor in ("kernel", "neighbors", "local"):
        model = RPDMLClassifier(predictor, **LARGE).fit(X, y)
        whole = model.predict_proba(X)
        with monkeypatch.context() as patch:
            patch.setattr("geodual.metric.machine.machine._ENTRIES", 5 * 13)
            np.testing.assert_allclose(model.predict_proba(X), whole, atol=1e-12)


def test_rare_classes_are_learned_on_landmarks() -> None:
    """One in forty: landmarks hold about one sample of the rare class, the normal equations all."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((1200, 3))
    y = (np.arange(1200) % 40 == 0).astype(int)
    X[y == 1] += [8.0, 0.0, 0.0]
    model = RPDMLClassifier(**LARGE).fit(X[:800], y[:800])
    assert (model.predict(X[800:])[y[800:] == 1] == 1).mean() >= 0.9
    assert (model.predict(X[800:])[y[800:] == 0] == 0).mean() >= 0.99
    np.testing.assert_allclose(model.predict_proba(X[800:])[:, 1].mean(), 1 / 40, atol=0.02)
