"""Local pairs: exact searches against a slow one, the approximate index, the first fit to some samples."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from geodual.metric import RPDML, LocalPairs
from geodual.metric.estimators import logdet_learner as learner_module
from geodual.metric.selection import local_pairs
from geodual.metric.selection.local_pairs import distinct_pairs, neighbor_pairs

RNG = np.random.default_rng(0)
Z = RNG.standard_normal((120, 3))
LABELS = np.repeat([2, 0, 1, 3], [60, 40, 19, 1])


def keys(pairs) -> set[tuple[int, int]]:
    return set(map(tuple, pairs.tolist()))


def test_pairs_found_from_both_sides_are_there_once() -> None:
    pairs = np.array([[3, 1], [0, 2], [1, 3], [0, 2], [2, 1]])
    np.testing.assert_array_equal(distinct_pairs(pairs, 4), [[0, 2], [1, 2], [1, 3]])


def test_the_index_is_in_the_name_only_if_it_is_not_exact() -> None:
    assert repr(LocalPairs(2, 3)) == "LocalPairs(n_similar=2, n_dissimilar=3)"
    approximate = LocalPairs(2, 3, index="approximate")
    assert eval(repr(approximate)) == approximate
    with pytest.raises(ValueError, match='`index` must be "exact" or "approximate", got \'fast\''):
        LocalPairs(index="fast")


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(ImportError, match=r"needs the package pynndescent: install geodual\[neighbors\]"):
        LocalPairs(index="approximate").find(Z, LABELS)


class ExactIndex:
    """Has the interface of the index, and finds all neighbors by computing all distances."""

    def __init__(self, data, n_neighbors, random_state, n_jobs) -> None:
        assert data.dtype == np.float32
        self.data = data

    def query(self, queries, k):
        distance = np.sqrt(((queries[:, None] - self.data) ** 2).sum(axis=2))
        place = np.argsort(distance, axis=1, kind="stable")[:, :k]
        return place, np.take_along_axis(distance, place, axis=1)


@pytest.mark.parametrize("few", [0, 50, 2000])
@pytest.mark.parametrize("counts", [(2, 3), (5, 15), (100, 200)])
def test_an_index_that_misses_nothing_gives_the_exact_pairs(
    few: int, counts: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Classes of 60, 40, 19 and 1, with an index for those of more than `few`."""
    monkeypatch.setattr(local_pairs, "_FEW", few)
    monkeypatch.setitem(sys.modules, "pynndescent", SimpleNamespace(NNDescent=ExactIndex))
    found = LocalPairs(*counts, index="approximate").find(Z, LABELS)
    np.testing.assert_array_equal(found, LocalPairs(*counts).find(Z, LABELS))


class FailingIndex(ExactIndex):
    """Finds some neighbors twice and others not at all, as the real one may."""

    def query(self, queries, k):
        place, distance = super().query(queries, k)
        place[::3, -1], distance[::3, -1] = -1, np.inf
        place[1::3, -1], distance[1::3, -1] = place[1::3, 0], distance[1::3, 0]
        return place, distance


def test_what_an_index_does_not_find_makes_no_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_pairs, "_FEW", 0)
    monkeypatch.setitem(sys.modules, "pynndescent", SimpleNamespace(NNDescent=FailingIndex))
    found = keys(LocalPairs(4, 6, index="approximate").find(Z, LABELS))
    assert all(i != j for i, j in found)
    # Others may take the place of those that were not found, but none from far away.
    assert found < keys(LocalPairs(8, 18).find(Z, LABELS))


def test_the_real_index_finds_nearly_all(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pynndescent")
    monkeypatch.setattr(local_pairs, "_FEW", 100)
    samples, labels = RNG.standard_normal((1500, 5)), np.arange(1500) % 3
    exact = keys(LocalPairs().find(samples, labels))
    found = keys(LocalPairs(index="approximate").find(samples, labels))
    assert len(exact & found) > 0.9 * len(exact)


def test_a_learner_records_how_neighbors_were_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynndescent", SimpleNamespace(NNDescent=ExactIndex))
    for index in ("exact", "approximate"):
        learner = RPDML(pairs=LocalPairs(2, 3, index=index)).fit(Z, LABELS)
        assert learner.neighbors_are_exact_ == (index == "exact")
    assert learner.set_params(pairs="local").fit(Z, LABELS).neighbors_are_exact_


def test_the_first_fit_to_some_samples_keeps_small_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 12 samples in all as the aim, one in ten of the large classes and the first three of each."""
    monkeypatch.setattr(learner_module, "_MANY", 12)
    seen = []
    find = LocalPairs.find
    monkeypatch.setattr(
        LocalPairs, "find", lambda self, Z, labels: seen.append(np.bincount(labels)) or find(self, Z, labels)
    )
    learner = RPDML(pairs=LocalPairs(2, 3), C=10.0).fit(Z, LABELS)
    assert [classes.tolist() for classes in seen] == [[6, 4, 8, 1], [40, 19, 60, 1]]
    assert learner.duality_gap_ <= 1e-6


@pytest.mark.parametrize("name", ["n_similar", "n_dissimilar"])
def test_a_sample_has_a_neighbor_of_each_kind_at_least(name: str) -> None:
    with pytest.raises(ValueError, match=f"`{name}`"):
        LocalPairs(**{name: 0})


def slow_pairs(Z, labels, n_similar, n_dissimilar):
    pairs = set()
    for i in range(len(Z)):
        order = np.argsort(((Z - Z[i]) ** 2).sum(axis=1), kind="stable")
        order = order[order != i]
        same = labels[order] == labels[i]
        pairs |= {(i, j) for j in order[same][:n_similar].tolist() + order[~same][:n_dissimilar].tolist()}
    return pairs


# Rows long enough for groups of columns, and in the last case classes in several blocks.
@pytest.mark.parametrize(
    ("n", "n_similar", "n_dissimilar"), [(40, 3, 4), (40, 50, 50), (300, 2, 5), (12, 1, 1), (1500, 2, 3)]
)
def test_it_is_the_slow_search(n, n_similar, n_dissimilar) -> None:
    rng = np.random.default_rng(n)
    Z, labels = 100.0 + rng.standard_normal((n, 3)), np.minimum(rng.integers(4, size=n), np.arange(n) % 5)
    found = neighbor_pairs(Z, labels, n_similar, n_dissimilar)
    assert set(map(tuple, found.tolist())) == slow_pairs(Z, labels, n_similar, n_dissimilar)
    assert len(found) == len(set(map(tuple, found.tolist())))


@pytest.mark.parametrize("kind", ["tiny", "huge", "far away", "one outlier"])
def test_neighbors_of_any_scale_are_those_of_the_slow_search(kind: str) -> None:
    rng = np.random.default_rng(5)
    labels = np.sort(rng.integers(3, size=400))
    Z = rng.integers(4, size=(400, 8)) + rng.standard_normal((400, 8))
    Z = {"tiny": 1e-9 * Z, "huge": 1e9 * Z, "far away": Z + 3e3 * labels[:, None]}.get(kind, Z)
    if kind == "one outlier":
        Z[7] = 1e7
    found = neighbor_pairs(Z, labels, 3, 6)
    assert set(map(tuple, found.tolist())) == slow_pairs(Z, labels, 3, 6)


def test_equal_distances_do_no_harm() -> None:
    Z, labels = np.repeat(np.eye(2), 150, axis=0), np.arange(300) % 2
    found = neighbor_pairs(Z, labels, 2, 3)
    assert len(found) == 300 * 5
    assert (found[:, 0] != found[:, 1]).all()
    assert (labels[found[:, 0]] == labels[found[:, 1]]).sum() == 600


def test_a_class_of_one_has_no_similar_neighbor() -> None:
    Z, labels = np.array([[0.0], [1.0], [3.0]]), np.array([0, 1, 1])
    assert set(map(tuple, neighbor_pairs(Z, labels, 2, 1).tolist())) == {
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
    monkeypatch.setattr(local_pairs, "_MANY", 0)
    found = neighbor_pairs(PLAIN, FOUR, 2, 3)
    assert set(map(tuple, found.tolist())) == slow_pairs(PLAIN, FOUR, 2, 3)


def test_samples_far_beyond_single_precision_give_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_pairs, "_MANY", 0)
    Z = PLAIN.copy()
    Z[:3] *= 1e22
    found = neighbor_pairs(Z, FOUR, 2, 3)
    assert np.bincount(found[:, 0]).min() == 5


# Distances of tight clusters are within the rounding errors of products; equal ones are tested below.
CLEAR = [name for name in CASES if name not in ("tight clusters", "whole numbers", "all equal")]


@pytest.mark.parametrize("name", CLEAR)
def test_the_search_for_many_samples_is_the_slow_search(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_pairs, "_MANY", 0)
    Z, labels = CASES[name]
    found = neighbor_pairs(Z, labels, 3, 5)
    assert set(map(tuple, found.tolist())) == slow_pairs(Z, labels, 3, 5)
    assert len(found) == len(set(map(tuple, found.tolist())))


@pytest.mark.parametrize("name", ["whole numbers", "all equal"])
def test_of_equal_distances_any_count(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_pairs, "_MANY", 0)
    Z, labels = CASES[name]
    found = neighbor_pairs(Z, labels, 3, 5)
    same = labels[found[:, 0]] == labels[found[:, 1]]
    assert (found[:, 0] != found[:, 1]).all()
    for kind, count in ((same, 3), (~same, 5)):
        reach = np.sort(((Z[found[kind, 0]] - Z[found[kind, 1]]) ** 2).sum(axis=1).reshape(-1, count), axis=1)
        i, j = np.array(sorted(slow_pairs(Z, labels, 3, 5))).T
        i, j = i[(labels[i] == labels[j]) == (count == 3)], j[(labels[i] == labels[j]) == (count == 3)]
        expected = np.sort(((Z[i] - Z[j]) ** 2).sum(axis=1).reshape(-1, count), axis=1)
        order = np.argsort(found[kind, 0].reshape(-1, count)[:, 0], kind="stable")
        np.testing.assert_allclose(reach[order], expected)
