"""The search of neighbours in blocks against a slow search, sample by sample."""

import numpy as np
import pytest

from geodual.metric.pairs import neighbours as neighbours_module
from geodual.metric.pairs.neighbours import neighbour_pairs


def slow_pairs(Z, labels, n_similar, n_dissimilar):
    pairs = set()
    for i in range(len(Z)):
        distance = ((Z - Z[i]) ** 2).sum(axis=1)
        for kind, count in ((labels == labels[i], n_similar), (labels != labels[i], n_dissimilar)):
            others = [j for j in np.argsort(distance, kind="stable") if kind[j] and j != i]
            pairs |= {(i, int(j)) for j in others[:count]}
    return pairs


# Blocks of few samples, and rows long enough for groups of columns in the last case.
@pytest.mark.parametrize("entries", [100, 10**6])
@pytest.mark.parametrize(
    ("n", "n_similar", "n_dissimilar"), [(40, 3, 4), (40, 50, 50), (300, 2, 5), (12, 1, 1)]
)
def test_it_is_the_slow_search(n, n_similar, n_dissimilar, entries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours_module, "_ENTRIES", entries)
    rng = np.random.default_rng(n)
    Z, labels = 100.0 + rng.standard_normal((n, 3)), np.minimum(rng.integers(4, size=n), np.arange(n) % 5)
    found = neighbour_pairs(Z, labels, n_similar, n_dissimilar)
    assert set(map(tuple, found.tolist())) == slow_pairs(Z, labels, n_similar, n_dissimilar)
    assert len(found) == len(set(map(tuple, found.tolist())))


def test_equal_distances_do_no_harm() -> None:
    Z, labels = np.repeat(np.eye(2), 150, axis=0), np.arange(300) % 2
    found = neighbour_pairs(Z, labels, 2, 3)
    assert len(found) == 300 * 5
    assert (found[:, 0] != found[:, 1]).all()
    assert (labels[found[:, 0]] == labels[found[:, 1]]).sum() == 600


def test_a_class_of_one_has_no_similar_neighbour() -> None:
    Z, labels = np.array([[0.0], [1.0], [3.0]]), np.array([0, 1, 1])
    assert set(map(tuple, neighbour_pairs(Z, labels, 2, 1).tolist())) == {
        (0, 1),
        (1, 2),
        (2, 1),
        (1, 0),
        (2, 0),
    }
