"""Local pairs: the exact search and the approximate index, and the first fit to some of the samples."""

import sys

import numpy as np
import pytest

from geodual.metric import RPDML, LocalPairs
from geodual.metric.estimators import logdet_learner as learner_module
from geodual.metric.selection import local_pairs as approximate_module
from geodual.metric.selection.local_pairs import distinct_pairs

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
    with pytest.raises(ImportError, match=r"needs the package pynndescent: install geodual\[neighbours\]"):
        LocalPairs(index="approximate").find(Z, LABELS)


class ExactIndex:
    """Has the interface of the index, and finds all neighbours by computing all distances."""

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
    monkeypatch.setattr(approximate_module, "_FEW", few)
    monkeypatch.setattr(approximate_module, "_LEAST", 1)
    monkeypatch.setattr(approximate_module, "_load_index", lambda: ExactIndex)
    found = LocalPairs(*counts, index="approximate").find(Z, LABELS)
    np.testing.assert_array_equal(found, LocalPairs(*counts).find(Z, LABELS))


class FailingIndex(ExactIndex):
    """Finds some neighbours twice and others not at all, as the real one may."""

    def query(self, queries, k):
        place, distance = super().query(queries, k)
        place[::3, -1], distance[::3, -1] = -1, np.inf
        place[1::3, -1], distance[1::3, -1] = place[1::3, 0], distance[1::3, 0]
        return place, distance


def test_what_an_index_does_not_find_makes_no_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximate_module, "_FEW", 0)
    monkeypatch.setattr(approximate_module, "_LEAST", 1)
    monkeypatch.setattr(approximate_module, "_load_index", lambda: FailingIndex)
    found = keys(LocalPairs(4, 6, index="approximate").find(Z, LABELS))
    assert all(i != j for i, j in found)
    # Others may take the place of those that were not found, but none from far away.
    assert found < keys(LocalPairs(8, 18).find(Z, LABELS))


def test_the_real_index_finds_nearly_all(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pynndescent")
    monkeypatch.setattr(approximate_module, "_FEW", 100)
    samples, labels = RNG.standard_normal((1500, 5)), np.arange(1500) % 3
    exact = keys(LocalPairs().find(samples, labels))
    found = keys(LocalPairs(index="approximate").find(samples, labels))
    assert len(exact & found) > 0.9 * len(exact)


def test_a_learner_records_how_neighbours_were_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximate_module, "_load_index", lambda: ExactIndex)
    for index in ("exact", "approximate"):
        learner = RPDML(pairs=LocalPairs(2, 3, index=index)).fit(Z, LABELS)
        assert learner.neighbours_are_exact_ == (index == "exact")
    assert learner.set_params(pairs="local").fit(Z, LABELS).neighbours_are_exact_


def test_the_first_fit_to_some_samples_keeps_small_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 12 samples in all as the aim, one in ten of the large classes and the first three of each."""
    monkeypatch.setattr(learner_module, "_MANY", 12)
    seen = []
    fit = RPDML._fit_lightly
    monkeypatch.setattr(
        RPDML,
        "_fit_lightly",
        lambda self, space, used, *rest: seen.append(used) or fit(self, space, used, *rest),
    )
    learner = RPDML(pairs=LocalPairs(2, 3), C=10.0).fit(Z, LABELS)
    assert np.bincount(seen[0].labels).tolist() == [6, 4, 8, 1]
    assert learner.duality_gap_ <= 1e-6
    np.testing.assert_array_equal(LABELS[seen[0].rows], np.repeat([0, 1, 2, 3], [6, 4, 8, 1]))
