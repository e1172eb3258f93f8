"""The parts of the classifier: leave-one-out against refits, views, probabilities, votes, landmarks."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, ndtri
from sklearn.preprocessing import StandardScaler

from geodual.metric.machine import landmarks
from geodual.metric.machine.kernel_ridge import bandwidths, best_ridge, scores_at, system_residual
from geodual.metric.machine.landmarks import fit_on_landmarks
from geodual.metric.machine.neighbour_vote import best_vote, shares
from geodual.metric.machine.scoring import Targets, probabilities, sharpness
from geodual.metric.machine.views import RankGauss, Standardised, medians

H, R = 2.0, 0.3


def drawn(seed: int, n: int = 12, weight: np.ndarray | None = None) -> tuple[np.ndarray, Targets]:
    rng = np.random.default_rng(seed)
    X, labels = rng.standard_normal((n, 3)), np.arange(n) % 3
    return X + labels[:, None], Targets(labels, np.ones(n) if weight is None else weight, 1.0, 3)


def ridge_fit(X, Y, means, x) -> np.ndarray:
    """Kernel ridge by definition, with a sample per row."""
    K = np.exp(-cdist(X, X, "cityblock") / H)
    return means + np.exp(-cdist(x, X, "cityblock") / H) @ np.linalg.solve(K + R * np.eye(len(X)), Y - means)


def test_leave_one_out_is_that_of_refits() -> None:
    X, targets = drawn(0)
    Y, means, keep = targets.values, targets.means, ~np.eye(12, dtype=bool)
    expected = np.vstack([ridge_fit(X[keep[i]], Y[keep[i]], means, X[i : i + 1]) for i in range(12)])
    scores = scores_at(cdist(X, X, "cityblock"), H, R, targets)
    np.testing.assert_allclose(scores, expected, atol=1e-12)


def test_leave_one_out_of_copies_leaves_one_copy_out() -> None:
    copies = np.array([1, 2, 3, 1, 1, 4, 1, 1, 2, 1, 1, 1])
    X, targets = drawn(1, weight=copies.astype(float))
    scores = scores_at(cdist(X, X, "cityblock"), H, R, targets)
    all_X, all_Y = np.repeat(X, copies, axis=0), np.repeat(targets.values, copies, axis=0)
    first = np.cumsum(copies) - copies
    for i in range(12):
        kept = np.arange(len(all_X)) != first[i]
        expected = ridge_fit(all_X[kept], all_Y[kept], targets.means, X[i : i + 1])[0]
        np.testing.assert_allclose(scores[i], expected, atol=1e-12)


def test_the_best_ridge_is_the_best_of_all_pairs() -> None:
    X, targets = drawn(2, n=30, weight=np.random.default_rng(3).uniform(0.2, 3.0, 30))
    D = cdist(X, X, "cityblock")
    found = best_ridge(D, targets)
    total = targets.weight.sum()
    tried = {
        (h, r): targets.criterion(scores_at(D, h, r, targets))
        for h in bandwidths(D)
        for r in 1e-2 * total * np.array([1e-4, 1e-3, 1e-2, 1e-1, 1.0])
    }
    assert found.criterion == pytest.approx(max(tried.values()), rel=1e-10)
    assert tried[max(tried, key=tried.get)] == pytest.approx(
        targets.criterion(scores_at(D, found.bandwidth, found.ridge, targets)), rel=1e-10
    )
    np.testing.assert_allclose(found.scores, scores_at(D, found.bandwidth, found.ridge, targets), atol=1e-9)
    assert system_residual(D, found, targets) < 1e-12


def test_bandwidths_are_multiples_of_the_median_distance() -> None:
    D = np.abs(np.subtract.outer([0.0, 1.0, 4.0], [0.0, 1.0, 4.0]))  # distances 1, 3 and 4
    assert bandwidths(D) == [1.5, 3.0, 6.0, 12.0]
    assert bandwidths(np.zeros((3, 3))) == [0.5, 1.0, 2.0, 4.0]
    mostly_zero = np.zeros((4, 4))
    mostly_zero[0, 1] = mostly_zero[1, 0] = 2.0
    assert bandwidths(mostly_zero) == [1.0, 2.0, 4.0, 8.0]


def test_the_criterion_is_the_accuracy_less_a_tenth_of_the_squared_error() -> None:
    targets = Targets(np.array([0, 1, 1]), np.array([1.0, 2.0, 1.0]), 1.0, 2)
    scores = np.array([[0.75, 0.25], [0.5, 0.0], [0.0, 1.0]])
    errors = np.array([0.0625 + 0.0625, 0.25 + 1.0, 0.0])
    assert targets.accuracy(scores) == pytest.approx(2.0 / 4.0)
    assert targets.criterion(scores) == pytest.approx(0.5 - 0.1 * np.average(errors, weights=[1, 2, 1]))


def test_probabilities_are_the_likeliest() -> None:
    rng = np.random.default_rng(4)
    targets = Targets(rng.integers(3, size=200), np.ones(200), 1.0, 3)
    scores = 0.3 * rng.standard_normal((200, 3)) + 0.4 * targets.values
    n_own = np.bincount(targets.labels)[targets.labels]
    wanted = np.where(targets.values, ((n_own + 1) / (n_own + 3))[:, None], (1 / (n_own + 3))[:, None])

    def loss(factor: float) -> float:
        return -float((wanted * log_softmax(factor * scores, axis=1)).sum())

    grid = np.linspace(0.1, 20.0, 4000)
    assert sharpness(scores, targets) == pytest.approx(grid[np.argmin([loss(b) for b in grid])], abs=0.01)
    found = probabilities(scores, 2.0)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found.argmax(axis=1), scores.argmax(axis=1))


def test_scores_without_errors_do_not_make_probabilities_of_one() -> None:
    targets = Targets(np.arange(20) % 2, np.ones(20), 1.0, 2)
    found = probabilities(targets.values, sharpness(targets.values, targets))
    # Platt: 11/12 for a class of ten.
    np.testing.assert_allclose(found.max(axis=1), 11.0 / 12.0, rtol=1e-3)


def slow_vote(D, targets, k: int, weights: str) -> np.ndarray:
    scores = np.zeros((len(D), targets.n_classes))
    for i in range(len(D)):
        near = sorted((j for j in range(len(D)) if j != i), key=lambda j: D[i, j])[:k]
        for j in near:
            scores[i, targets.labels[j]] += 1.0 / D[i, j] if weights == "distance" else 1.0
    return scores / scores.sum(axis=1, keepdims=True)


def test_votes_are_chosen_by_leave_one_out() -> None:
    X, targets = drawn(5, n=25)
    D = cdist(X, X, "cityblock")
    found = best_vote(D, targets)
    np.testing.assert_allclose(found.scores, slow_vote(D, targets, found.n_neighbors, found.weights))
    numbers = [1, 3, 5, 7, 11, 15, 21, 24]
    criteria = [
        targets.criterion(slow_vote(D, targets, k, w)) for k in numbers for w in ("uniform", "distance")
    ]
    assert found.criterion == pytest.approx(max(criteria))


def test_a_copy_of_a_sample_is_its_neighbour() -> None:
    D = np.abs(np.subtract.outer([0.0, 1.0, 3.0, 7.0], [0.0, 1.0, 3.0, 7.0]))
    targets = Targets(np.array([0, 1, 1, 1]), np.array([2.0, 1.0, 1.0, 1.0]), 1.0, 2)
    # The first sample has a copy of its own class at distance zero, the others their nearest neighbours.
    assert best_vote(D, targets).scores[0, 0] > 0.0
    alone = shares(np.array([[0.0, 1.0]]), np.array([[1.0, 5.0]]), np.array([[0, 1]]), 2, "distance")
    np.testing.assert_array_equal(alone, [[1.0, 0.0]])


def test_standardised_features() -> None:
    X = np.random.default_rng(6).standard_normal((20, 3)) * [1.0, 100.0, 0.0] + [0.0, 5.0, 7.1]
    view = Standardised().fit(X, np.ones(20))
    np.testing.assert_allclose(view.transform(X), StandardScaler().fit_transform(X) * [1, 1, 0], atol=1e-12)
    weight = np.arange(20)
    repeated = Standardised().fit(np.repeat(X, weight, axis=0), np.ones(weight.sum()))
    np.testing.assert_allclose(
        Standardised().fit(X, weight.astype(float)).transform(X), repeated.transform(X), atol=1e-12
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


def landmark_fit(X, places, targets):
    D = cdist(X, X[places], "cityblock")
    return fit_on_landmarks(lambda rows: D[rows], D[places], H, targets)


def test_with_all_samples_as_landmarks_the_machine_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landmarks, "_ENTRIES", 200)  # several blocks
    X, targets = drawn(7, n=30, weight=np.random.default_rng(8).uniform(0.5, 3.0, 30))
    found = landmark_fit(X, np.arange(30), targets)
    D, machine = cdist(X, X, "cityblock"), found.machine
    expected = scores_at(D, H, machine.ridge, targets)
    np.testing.assert_allclose(machine.scores, expected, atol=1e-8)
    assert machine.criterion == pytest.approx(targets.criterion(expected))
    assert found.accuracy == pytest.approx(targets.accuracy(expected))
    assert system_residual(D, machine, targets) < 1e-8
    assert found.residual < 1e-12


def test_leave_one_out_on_landmarks_is_that_of_refits() -> None:
    X, targets = drawn(9, n=20)
    places = np.arange(0, 20, 3)
    found = landmark_fit(X, places, targets)
    K, Kmm = (np.exp(-cdist(A, X[places], "cityblock") / H) for A in (X, X[places]))
    Y, r = targets.values - targets.means, found.machine.ridge
    for i in range(20):
        kept = np.arange(20) != i
        alpha = np.linalg.solve(K[kept].T @ K[kept] + r * Kmm, K[kept].T @ Y[kept])
        np.testing.assert_allclose(found.machine.scores[i], K[i] @ alpha + targets.means, atol=1e-9)
    alpha = np.linalg.solve(K.T @ K + r * Kmm, K.T @ Y)
    np.testing.assert_allclose(found.machine.coefficients, alpha, atol=1e-8)


def test_scores_of_some_samples_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    X, targets = drawn(10, n=31)
    whole = landmark_fit(X, np.arange(0, 31, 2), targets)
    monkeypatch.setattr(landmarks, "_SCORED", 10)
    monkeypatch.setattr(landmarks, "_ENTRIES", 16 * 5)  # blocks of five samples
    part = landmark_fit(X, np.arange(0, 31, 2), targets)
    np.testing.assert_array_equal(part.scored, [0, 4, 8, 12, 16, 20, 24, 28])
    np.testing.assert_allclose(part.machine.scores, whole.machine.scores[part.scored], atol=1e-10)
