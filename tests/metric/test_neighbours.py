"""The search of neighbours, our own and scikit-learn's for many samples, against a slow one."""

import numpy as np
import pytest

from geodual.metric.selection import local_pairs as neighbours_module
from geodual.metric.selection.local_pairs import neighbour_pairs


def slow_pairs(Z, labels, n_similar, n_dissimilar):
    pairs = set()
    for i in range(len(Z)):
        distance = ((Z - Z[i]) ** 2).sum(axis=1)
        for kind, count in ((labels == labels[i], n_similar), (labels != labels[i], n_dissimilar)):
            order = np.argsort(distance, kind="stable")
            others = order[kind[order] & (order != i)]
            pairs |= {(i, j) for j in others[:count].tolist()}
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


@pytest.mark.parametrize("kind", ["plain", "scaled", "far away", "one outlier"])
def test_neighbours_of_any_scale_are_those_of_the_slow_search(kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours_module, "_ENTRIES", 10_000)
    rng = np.random.default_rng(5)
    labels = np.sort(rng.integers(3, size=400))
    Z = rng.integers(4, size=(400, 8)) + rng.standard_normal((400, 8))
    Z = {"scaled": 1e9 * Z, "far away": Z + 3e3 * labels[:, None]}.get(kind, Z)
    if kind == "one outlier":
        Z[7] = 1e7
    found = neighbour_pairs(Z, labels, 3, 6)
    assert set(map(tuple, found.tolist())) == slow_pairs(Z, labels, 3, 6)


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


RNG = np.random.default_rng(0)
PLAIN, FOUR = RNG.standard_normal((700, 4)), RNG.integers(4, size=700)
FAR = PLAIN.copy()
FAR[0] = 1e9
CASES = {
    "plain": (PLAIN, FOUR),
    "tiny": (1e-12 * PLAIN, FOUR),
    "huge": (1e12 * PLAIN, FOUR),
    "far from the origin": (1e5 + PLAIN, FOUR),
    "one far away": (FAR, FOUR),
    "whole numbers": (np.round(2.0 * PLAIN), FOUR),
    "tight clusters": (RNG.standard_normal((9, 4))[np.arange(700) % 9] + 1e-7 * PLAIN, FOUR),
    "all equal": (np.ones((60, 2)), np.arange(60) % 3),
    "classes of two": (PLAIN, np.arange(700) // 2),
    "a class of three": (PLAIN, (np.arange(700) < 3).astype(int)),
}


def test_labels_need_not_be_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours_module, "_MANY", 0)
    found = neighbour_pairs(PLAIN, FOUR, 2, 3)
    assert set(map(tuple, found.tolist())) == slow_pairs(PLAIN, FOUR, 2, 3)


def test_samples_far_beyond_single_precision_give_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours_module, "_MANY", 0)
    Z = PLAIN.copy()
    Z[:3] *= 1e22
    found = neighbour_pairs(Z, FOUR, 2, 3)
    assert np.bincount(found[:, 0]).min() == 5


# Distances of tight clusters are within the rounding errors of products; equal ones are tested below.
CLEAR = [name for name in CASES if name not in ("tight clusters", "whole numbers", "all equal")]


@pytest.mark.parametrize("name", CLEAR)
def test_the_search_for_many_samples_is_the_slow_search(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours_module, "_MANY", 0)
    Z, labels = CASES[name]
    found = neighbour_pairs(Z, labels, 3, 5)
    assert set(map(tuple, found.tolist())) == slow_pairs(Z, labels, 3, 5)
    assert len(found) == len(set(map(tuple, found.tolist())))


@pytest.mark.parametrize("name", ["whole numbers", "all equal"])
def test_of_equal_distances_any_count(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours_module, "_MANY", 0)
    Z, labels = CASES[name]
    found = neighbour_pairs(Z, labels, 3, 5)
    same = labels[found[:, 0]] == labels[found[:, 1]]
    assert (found[:, 0] != found[:, 1]).all()
    for kind, count in ((same, 3), (~same, 5)):
        reach = np.sort(((Z[found[kind, 0]] - Z[found[kind, 1]]) ** 2).sum(axis=1).reshape(-1, count), axis=1)
        i, j = np.array(sorted(slow_pairs(Z, labels, 3, 5))).T
        i, j = i[(labels[i] == labels[j]) == (count == 3)], j[(labels[i] == labels[j]) == (count == 3)]
        expected = np.sort(((Z[i] - Z[j]) ** 2).sum(axis=1).reshape(-1, count), axis=1)
        order = np.argsort(found[kind, 0].reshape(-1, count)[:, 0], kind="stable")
        np.testing.assert_allclose(reach[order], expected)
