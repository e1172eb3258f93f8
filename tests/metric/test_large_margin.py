"""The parts of LMNN: near pairs are those of a search over all distances, and sums those over all triples."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from geodual.metric import LMNN
from geodual.metric.margin.large_margin import LargeMargin, NearPairs, target_neighbors


def expected_pairs(Y, labels, squared_reach):
    distances = cdist(Y, Y, "sqeuclidean")
    near = (distances < np.maximum(squared_reach[:, None], squared_reach)) & (labels[:, None] < labels)
    return np.argwhere(near), distances[near]


def found_pairs(near_pairs, Y, squared_reach):
    blocks = list(near_pairs.blocks(Y, squared_reach))
    for block in blocks:
        assert (np.diff(block.first) >= 0).all()
    pairs = np.concatenate([np.column_stack(block[:2]) for block in blocks])
    order = np.lexsort(pairs.T[::-1])
    return pairs[order], np.concatenate([block.squared_distance for block in blocks])[order]


@pytest.mark.parametrize("reach", [0.0, 0.1, 2.0, 100.0])
@pytest.mark.parametrize("n_classes", [2, 7])
def test_pairs_are_complete_after_steps_of_all_sizes(n_classes, reach):
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, n_classes, 600))
    Y = rng.standard_normal((600, 3))
    squared_reach = reach * rng.random(600)
    near_pairs = NearPairs(labels)
    for step in (1.0, 0.1, 1e-4, 0.5, 0.0):
        Y = Y + step * rng.standard_normal((1, 3)) + step * rng.standard_normal(Y.shape)
        squared_reach = squared_reach * (1.0 + step * rng.random(600))
        pairs, distances = found_pairs(near_pairs, Y, squared_reach)
        expected, expected_distances = expected_pairs(Y, labels, squared_reach)
        np.testing.assert_array_equal(pairs, expected)
        np.testing.assert_allclose(distances, expected_distances, rtol=1e-9, atol=1e-12)


def test_samples_may_move_to_another_space():
    rng = np.random.default_rng(2)
    labels = np.repeat([0, 1], 20)
    near_pairs = NearPairs(labels)
    for n_components in (3, 2):
        Y = rng.standard_normal((40, n_components))
        pairs, _ = found_pairs(near_pairs, Y, np.ones(40))
        np.testing.assert_array_equal(pairs, expected_pairs(Y, labels, np.ones(40))[0])


def test_a_sample_that_jumps_to_the_origin_does_not_overflow():
    labels, reach = np.array([0, 0, 1]), np.array([4.0, 4.0, 0.0])
    near_pairs = NearPairs(labels)
    for Y in (np.array([[0.0], [1.0], [1e3]]), np.zeros((3, 1)), np.array([[0.0], [3.0], [1e-300]])):
        pairs, _ = found_pairs(near_pairs, Y, reach)
        np.testing.assert_array_equal(pairs, expected_pairs(Y, labels, reach)[0])


def smoothed_hinge(slack: np.ndarray, width: float) -> np.ndarray:
    parabola = 0.5 * (slack + 0.5 * width) ** 2 / width
    return np.where(slack > 0.5 * width, slack, np.where(slack < -0.5 * width, 0.0, parabola))


def impostor_slacks(d: np.ndarray, targets: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return 1 + d(sample, target) − d(sample, impostor) of all triples."""
    triples = (
        (i, j, other)
        for i in range(len(d))
        for j in targets[i]
        for other in np.flatnonzero(labels != labels[i])
    )
    return np.array([1.0 + d[i, j] - d[i, other] for i, j, other in triples])


@pytest.mark.parametrize("width", [0.1, 1.0, 1.9])
def test_all_impostors_within_the_smoothed_margin_count(width: float) -> None:
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((30, 2)), np.repeat([0, 1, 2], 10)
    targets = target_neighbors(X, labels, 2)
    found, gradient = LargeMargin(X, labels, targets, 0.4).value_and_gradient(np.eye(2), width)
    d = cdist(X, X, "sqeuclidean")
    slack = impostor_slacks(d, targets, labels)
    pull = 0.4 * sum(d[i, j] for i in range(30) for j in targets[i])
    assert found.objective == pytest.approx(pull + 0.6 * np.maximum(slack, 0.0).sum())
    assert found.smoothed == pytest.approx(pull + 0.6 * smoothed_hinge(slack, width).sum())
    assert gradient.shape == (2, 2)


def test_lmnn_starts_from_the_euclidean_metric_with_targets_at_distance_one() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 3)) * [1.0, 3.0, 0.5], np.arange(40) % 2
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    targets = target_neighbors(X, y, 3)
    d = cdist(X, X, "sqeuclidean")
    d /= np.mean([d[i, j] for i in range(40) for j in targets[i]])
    start = 0.5 * sum(d[i, j] for i in range(40) for j in targets[i])
    start += 0.5 * np.maximum(impostor_slacks(d, targets, y), 0.0).sum()
    assert LMNN().fit(X, y).history_[0] == pytest.approx(start)


def test_no_pull_in_some_direction_leaves_zero_as_the_only_safe_lower_bound() -> None:
    """Targets differ in the first feature and classes in the second, so the infimum of the program is 0."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    objective = LargeMargin(X, np.array([0, 0, 1, 1]), np.array([[1], [0], [3], [2]]), 0.5)
    result, bound = objective.certify(np.diag([1.0, 0.5]), 1e-3)
    assert bound == 0.0 < result.objective
    assert objective.certify(np.diag([1e-6, 2.0]), 1e-3)[0].objective < 1e-9
