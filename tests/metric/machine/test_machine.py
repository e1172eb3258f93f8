"""The parts of the machines: leave-one-out against refits, mixtures, views, probabilities, neighbors."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, ndtri
from sklearn.linear_model import Ridge as LinearRidge
from sklearn.preprocessing import StandardScaler

from geodual.metric.machine import kernel_ridge
from geodual.metric.machine.calibration import probabilities, sharpness
from geodual.metric.machine.geometry import Geometry, MappedSamples, equal_weights
from geodual.metric.machine.gradient import gradient_weights
from geodual.metric.machine.kernel_ridge import (
    KERNELS,
    bandwidths,
    best_ridge,
    median_distance,
    ridges,
    solve,
)
from geodual.metric.machine.local_fits import best_local_fit
from geodual.metric.machine.mixture import best_mixture
from geodual.metric.machine.neighbor_means import best_neighbors, means
from geodual.metric.machine.targets import ClassTargets, NumberTargets, squared_error
from geodual.metric.machine.views import RankGauss, Standardized, medians

H, R = 2.0, 0.3


def drawn(seed: int, n: int = 12, weight: np.ndarray | None = None) -> tuple[np.ndarray, ClassTargets]:
    rng = np.random.default_rng(seed)
    X, labels = rng.standard_normal((n, 3)), np.arange(n) % 3
    weight = np.ones(n) if weight is None else weight
    return X + labels[:, None], ClassTargets(labels[:, None], weight, 1.0, (3,))


def ridge_fit(X, Y, means, x) -> np.ndarray:
    """Kernel ridge by definition, with a sample per row."""
    K = np.exp(-cdist(X, X, "cityblock") / H)
    return means + np.exp(-cdist(x, X, "cityblock") / H) @ np.linalg.solve(K + R * np.eye(len(X)), Y - means)


def solved(D, h, r, targets):
    return solve(np.exp(-D / h), r, targets)


def test_leave_one_out_is_that_of_refits() -> None:
    X, targets = drawn(0)
    Y, means_, keep = targets.values, targets.means, ~np.eye(12, dtype=bool)
    expected = np.vstack([ridge_fit(X[keep[i]], Y[keep[i]], means_, X[i : i + 1]) for i in range(12)])
    _, scores = solved(cdist(X, X, "cityblock"), H, R, targets)
    np.testing.assert_allclose(scores, expected, atol=1e-12)


def test_leave_one_out_of_copies_leaves_one_copy_out() -> None:
    copies = np.array([1, 2, 3, 1, 1, 4, 1, 1, 2, 1, 1, 1])
    X, targets = drawn(1, weight=copies.astype(float))
    _, scores = solved(cdist(X, X, "cityblock"), H, R, targets)
    all_X, all_Y = np.repeat(X, copies, axis=0), np.repeat(targets.values, copies, axis=0)
    first = np.cumsum(copies) - copies
    for i in range(12):
        kept = np.arange(len(all_X)) != first[i]
        expected = ridge_fit(all_X[kept], all_Y[kept], targets.means, X[i : i + 1])[0]
        np.testing.assert_allclose(scores[i], expected, atol=1e-12)


@pytest.mark.parametrize("kernel", ["laplace", "gauss"])
def test_settings_are_those_of_a_search_along_bandwidths_and_then_ridges(kernel: str) -> None:
    X, targets = drawn(2, n=30, weight=np.random.default_rng(3).uniform(0.2, 3.0, 30))
    D = cdist(X, X, "cityblock" if kernel == "laplace" else "euclidean")
    found = best_ridge(D, kernel, targets)
    widths, levels = bandwidths(median_distance(D), kernel), ridges(targets)
    error = np.array(
        [
            [squared_error(solve(KERNELS[kernel](D / h), r, targets)[1], targets) for r in levels]
            for h in widths
        ]
    )
    h = widths.index(found.bandwidth)
    assert error[h, 2] == error[:, 2].min()  # as it is unimodal here
    assert error[h, levels.index(found.ridge)] == error[h].min()
    assert squared_error(found.scores, targets) == pytest.approx(error[h].min())
    assert found.residual(D, targets) < 1e-12


def test_settings_of_many_samples_are_chosen_on_some(monkeypatch: pytest.MonkeyPatch) -> None:
    X, targets = drawn(2, n=60)
    D = cdist(X, X, "cityblock")
    exact = best_ridge(D, "laplace", targets)
    monkeypatch.setattr(kernel_ridge, "_ENOUGH", 30)
    found = best_ridge(D, "laplace", targets)
    assert found.ridge in ridges(targets)
    _, scores = solved(D, found.bandwidth, found.ridge, targets)
    np.testing.assert_allclose(found.scores, scores)
    assert squared_error(found.scores, targets) < 1.5 * squared_error(exact.scores, targets)


def test_bandwidths_are_multiples_of_the_median_distance() -> None:
    D = np.abs(np.subtract.outer([0.0, 1.0, 4.0], [0.0, 1.0, 4.0]))  # distances 1, 3 and 4
    assert bandwidths(median_distance(D), "laplace") == [0.75, 1.5, 3.0, 6.0, 12.0]
    assert bandwidths(median_distance(D), "gauss") == pytest.approx([1.5, 4.5**0.5, 3.0, 18.0**0.5, 6.0])
    assert median_distance(np.zeros((3, 3))) == 1.0
    mostly_zero = np.zeros((4, 4))
    mostly_zero[0, 1] = mostly_zero[1, 0] = 2.0
    assert median_distance(mostly_zero) == 2.0


def test_a_mixture_has_the_least_squared_error() -> None:
    _, targets = drawn(4, n=40, weight=np.random.default_rng(5).uniform(0.5, 2.0, 40))
    rng = np.random.default_rng(6)
    scores = [
        targets.values + s * rng.standard_normal((40, 3)) + b
        for s, b in ((1.0, 0.0), (0.5, 0.5), (2.0, 0.0), (0.6, -0.3))
    ]
    found = best_mixture(scores, targets)

    def error(free: np.ndarray) -> float:
        return squared_error(sum(s * one for s, one in zip(free, scores, strict=True)), targets)

    peer = minimize(
        error,
        np.full(4, 0.25),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * 4,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1.0},
        options={"ftol": 1e-14},
    )
    assert found.shares.min() >= 0.0
    assert found.shares.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.shares, peer.x, atol=1e-5)
    assert 0.0 <= found.gap < 1e-10
    assert error(found.shares) <= peer.fun + 1e-12


def test_a_predictor_without_error_has_all_of_the_mixture() -> None:
    _, targets = drawn(4)
    found = best_mixture([targets.values + 1.0, targets.values], targets)
    np.testing.assert_array_equal(found.shares, [0.0, 1.0])
    alone = best_mixture([targets.values + 1.0], targets)
    np.testing.assert_array_equal(alone.shares, [1.0])
    twice = best_mixture([targets.values + 1.0] * 2, targets)
    assert twice.shares.sum() == pytest.approx(1.0)


def test_targets_are_columns() -> None:
    targets = ClassTargets(np.array([[0, 1], [1, 0], [1, 2]]), np.array([1.0, 2.0, 1.0]), 1.0, (2, 3))
    np.testing.assert_array_equal(targets.values, [[1, 0, 0, 1, 0], [0, 1, 1, 0, 0], [0, 1, 0, 0, 1]])
    np.testing.assert_allclose(targets.means, [0.25, 0.75, 0.5, 0.25, 0.25])
    np.testing.assert_array_equal(targets.left_out, [1.0, 0.5, 1.0])
    scores = np.array([[0.6, 0.4, 0.1, 0.8, 0.1], [0.2, 0.8, 0.2, 0.5, 0.3], [0.1, 0.9, 0.0, 0.0, 1.0]])
    assert targets.accuracy(scores) == pytest.approx(2.0 / 4.0)  # the second output of the second is wrong
    numbers = NumberTargets.of(np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([3.0, 1.0]))
    np.testing.assert_allclose(numbers.unit, [np.sqrt(0.75), 1.0])
    np.testing.assert_allclose(numbers.means * numbers.unit, [1.5, 5.0])


def test_probabilities_are_the_likeliest() -> None:
    rng = np.random.default_rng(4)
    labels = rng.integers(3, size=200)
    Y = np.eye(3)[labels]
    scores = 0.3 * rng.standard_normal((200, 3)) + 0.4 * Y
    n_own = np.bincount(labels)[labels]
    wanted = np.where(Y, ((n_own + 1) / (n_own + 3))[:, None], (1 / (n_own + 3))[:, None])

    def loss(factor: float) -> float:
        return -float((wanted * log_softmax(factor * scores, axis=1)).sum())

    grid = np.linspace(0.1, 20.0, 4000)
    expected = grid[np.argmin([loss(b) for b in grid])]
    assert sharpness(scores, labels, np.ones(200), 1.0) == pytest.approx(expected, abs=0.01)
    found = probabilities(scores, 2.0)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found.argmax(axis=1), scores.argmax(axis=1))


def test_scores_without_errors_do_not_make_probabilities_of_one() -> None:
    labels = np.arange(20) % 2
    scores = np.eye(2)[labels]
    found = probabilities(scores, sharpness(scores, labels, np.ones(20), 1.0))
    # Platt: 11/12 for a class of ten.
    np.testing.assert_allclose(found.max(axis=1), 11.0 / 12.0, rtol=1e-3)


def slow_mean(D, targets, k: int, weights: str) -> np.ndarray:
    scores = np.zeros((len(D), 3))
    for i in range(len(D)):
        near = sorted((j for j in range(len(D)) if j != i), key=lambda j: D[i, j])[:k]
        for j in near:
            scores[i, targets.labels[j, 0]] += 1.0 / D[i, j] if weights == "distance" else 1.0
    return scores / scores.sum(axis=1, keepdims=True)


def test_neighbors_are_chosen_by_leave_one_out() -> None:
    X, targets = drawn(5, n=25)
    D = cdist(X, X, "cityblock")
    found = best_neighbors(D, targets)
    np.testing.assert_allclose(found.scores, slow_mean(D, targets, found.n_neighbors, found.weights))
    numbers = [1, 3, 5, 7, 11, 15, 21, 24]
    errors = [
        squared_error(slow_mean(D, targets, k, w), targets) for k in numbers for w in ("uniform", "distance")
    ]
    assert squared_error(found.scores, targets) == pytest.approx(min(errors))


def test_a_copy_of_a_sample_is_its_neighbor() -> None:
    D = np.abs(np.subtract.outer([0.0, 1.0, 3.0, 7.0], [0.0, 1.0, 3.0, 7.0]))
    targets = ClassTargets(np.array([[0], [1], [1], [1]]), np.array([2.0, 1.0, 1.0, 1.0]), 1.0, (2,))
    # The first sample has a copy of its own class at distance zero, the others their nearest neighbors.
    assert best_neighbors(D, targets).scores[0, 0] > 0.0
    values = np.eye(2)[np.array([[0, 1]])]
    alone = means(np.array([[0.0, 1.0]]), np.array([[1.0, 5.0]]), values, "distance")
    np.testing.assert_array_equal(alone, [[1.0, 0.0]])


@pytest.mark.parametrize("n_features", [2, 40])  # fewer and more than neighbors
def test_local_fits_are_ridge_regressions_on_neighbors(n_features: int) -> None:
    rng = np.random.default_rng(7)
    X, weight = rng.standard_normal((30, n_features)), rng.uniform(0.5, 2.0, 30)
    targets = NumberTargets.of(rng.standard_normal((30, 2)), weight)
    samples = MappedSamples(X, "l2")
    D = samples.distances()
    found = best_local_fit(samples, D, targets)
    k = found.n_neighbors
    expected = []
    for i in range(30):
        near = sorted((j for j in range(30) if j != i), key=lambda j: D[i, j])[:k]
        share = weight[near] / weight[near].sum()
        centered = X[near] - share @ X[near]
        alpha = found.ridge * (share @ (centered**2).sum(axis=1)) / min(k, n_features)
        model = LinearRidge(alpha).fit(X[near], targets.values[near], sample_weight=share)
        expected.append(model.predict(X[i : i + 1])[0])
    np.testing.assert_allclose(found.scores, expected, atol=1e-10)
    at_samples = found.predict(X + 1e-9, samples, targets)
    assert at_samples.shape == (30, 2)


def test_local_fits_of_linear_functions_are_exact() -> None:
    rng = np.random.default_rng(8)
    X = rng.standard_normal((100, 3))
    y = X @ [[1.0, 0.0], [2.0, -1.0], [0.0, 3.0]] + 5.0
    targets, samples = NumberTargets.of(y, np.ones(100)), MappedSamples(X, "l2")
    found = best_local_fit(samples, samples.distances(), targets)
    new = rng.standard_normal((5, 3))
    expected = new @ [[1.0, 0.0], [2.0, -1.0], [0.0, 3.0]] + 5.0
    np.testing.assert_allclose(found.predict(new, samples, targets) * targets.unit, expected, atol=0.1)


def test_gradient_weights_are_root_mean_squares_of_derivatives() -> None:
    rng = np.random.default_rng(9)
    X, start = rng.standard_normal((40, 3)), np.array([1.0, 0.5, 2.0])
    view = Standardized().fit(X, np.ones(40))
    A = view.transform(X)
    targets = NumberTargets.of(np.column_stack([A[:, 0] ** 2, A[:, 2]]), np.ones(40))
    geometry = Geometry("l1", view, start, "l1", start, 0.0)
    D = cdist(A * start, A * start, "cityblock")
    h = 2.0 * np.median(D[np.triu_indices(40, 1)])
    alpha = np.linalg.solve(np.exp(-D / h) + 1e-4 * 40 * np.eye(40), targets.values - targets.means)

    def machine(B: np.ndarray) -> np.ndarray:
        return np.exp(-cdist(B * start, A * start, "cityblock") / h) @ alpha

    # Each term has a kink at its own sample; derivatives from both sides have the mean without it.
    step = 1e-6 * np.eye(3)
    slopes = [np.sqrt((((machine(A + e) - machine(A - e)) / 2e-6) ** 2).sum()) for e in step]
    found = gradient_weights(geometry, A, targets)
    np.testing.assert_allclose(found.map, slopes / np.mean(slopes), rtol=1e-4)
    assert found.gap is None
    flat = gradient_weights(geometry, A, NumberTargets.of(np.ones((40, 1)), np.ones(40)))
    np.testing.assert_array_equal(flat.map, 1.0)


def test_geometries_measure_distances() -> None:
    X = np.random.default_rng(10).standard_normal((20, 3))
    view = Standardized().fit(X, np.ones(20))
    L = np.random.default_rng(11).standard_normal((2, 3))
    full = Geometry("full", view, L, "l2", np.ones(3), 0.0).apply(X)
    Z = StandardScaler().fit_transform(X) @ L.T
    np.testing.assert_allclose(full.distances(), cdist(Z, Z), atol=1e-7)
    plain = equal_weights(view, 3, "l1").apply(X)
    expected = cdist(StandardScaler().fit_transform(X), StandardScaler().fit_transform(X), "cityblock")
    np.testing.assert_allclose(plain.distances(), expected)
    np.testing.assert_allclose(np.vstack(list(plain.distance_blocks(plain.A))), expected)


def test_standardized_features() -> None:
    X = np.random.default_rng(6).standard_normal((20, 3)) * [1.0, 100.0, 0.0] + [0.0, 5.0, 7.1]
    view = Standardized().fit(X, np.ones(20))
    np.testing.assert_allclose(view.transform(X), StandardScaler().fit_transform(X) * [1, 1, 0], atol=1e-12)
    weight = np.arange(20)
    repeated = Standardized().fit(np.repeat(X, weight, axis=0), np.ones(weight.sum()))
    np.testing.assert_allclose(
        Standardized().fit(X, weight.astype(float)).transform(X), repeated.transform(X), atol=1e-12
    )


def test_gaussian_scores_of_ranks() -> None:
    values = np.array([1.0, 2.0, 2.0, 5.0, 100.0])
    view = RankGauss().fit(np.column_stack([values, np.full(5, 3.0)]), np.ones(5))
    # Ranks: the least value has 0 and the largest 1; the tied ones (1 + 3)/2 of 5, the fourth 3.5 of 5.
    scores = np.array([-3.0, ndtri(0.4), ndtri(0.4), ndtri(0.7), 3.0])
    expected = (scores - scores.mean()) / scores.std()
    found = view.transform(np.column_stack([values, np.full(5, 3.0)]))
    np.testing.assert_allclose(found[:, 0], expected)
    np.testing.assert_array_equal(found[:, 1], 0.0)
    # Between two values the rank is interpolated, and beyond all it stays.
    new = view.transform(np.array([[3.5, 0.0], [1e9, 9.0], [-1e9, 3.0]]))
    between = (ndtri(0.55) - scores.mean()) / scores.std()
    np.testing.assert_allclose(new[:, 0], [between, expected[-1], expected[0]])
    np.testing.assert_array_equal(new[:, 1], 0.0)
    weighted = RankGauss().fit(np.array([[1.0], [2.0], [5.0], [100.0]]), np.array([1.0, 2.0, 1.0, 1.0]))
    np.testing.assert_allclose(weighted.transform(values[:, None])[:, 0], expected)


def test_medians_of_known_values() -> None:
    X = np.array([[1.0, np.nan, np.nan], [2.0, 4.0, np.nan], [9.0, 6.0, np.nan], [np.nan, 8.0, np.nan]])
    np.testing.assert_array_equal(medians(X, np.ones(4)), [2.0, 6.0, 0.0])
    np.testing.assert_array_equal(medians(X, np.array([3.0, 1.0, 1.0, 1.0])), [1.0, 6.0, 0.0])
    np.testing.assert_array_equal(medians(np.array([[1.0], [2.0]]), np.ones(2)), [1.5])
