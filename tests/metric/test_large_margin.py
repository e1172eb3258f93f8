"""Near pairs must be those of a search over all distances, however samples move."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from geodual.metric.margin.large_margin import NearPairs


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
    for step in [1.0, 0.3, 0.1, *np.repeat([0.01, 1e-3, 1e-4], 8), 0.5, 0.0, 0.0]:
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
