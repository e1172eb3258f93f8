"""The search for neighbors in products of single precision, against all distances; anchors."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from geodual.metric import RPDML, LocalPairs, NeighborRPDML
from geodual.metric.selection import local_pairs, nearest
from geodual.metric.selection.local_pairs import neighbor_pairs
from geodual.metric.selection.nearest import Group, Interval, NearestSearch

from .test_local_pairs import ExactIndex
from .test_neighbor_rpdml import check_certificate


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and surveys of few samples, so that a small problem has many of them."""
    monkeypatch.setattr(nearest, "_ROWS", 7)
    monkeypatch.setattr(nearest, "_COLUMNS", 11)
    monkeypatch.setattr(nearest, "_RATIO", 2)
    monkeypatch.setattr(nearest, "_KEPT", 30)


def check_neighbors(Z, labels, counts, asking) -> None:
    """Compare the sorted distances of the neighbors found with those of a full table, exactly by kind."""
    n_similar, n_dissimilar = counts
    pairs = neighbor_pairs(Z, labels, *counts, anchors=asking)
    asking = np.asarray(asking)
    table = cdist(Z[asking], Z, "sqeuclidean")
    assert set(pairs[:, 0].tolist()) <= set(asking.tolist())
    for i, d in zip(asking, table, strict=True):
        found = pairs[pairs[:, 0] == i, 1]
        assert i not in found
        others = np.arange(len(Z)) != i
        assert len(set(found.tolist())) == len(found)
        for same, count in ((labels == labels[i], n_similar), (labels != labels[i], n_dissimilar)):
            got = np.sort(d[found[same[found]]])
            np.testing.assert_allclose(
                got, np.sort(d[same & others])[:count], rtol=1e-9, atol=1e-12 * np.median(d)
            )


def some(labels, seed: int):
    """Return half of the samples as anchors, in an order that is not sorted."""
    return np.random.default_rng(seed).permutation(len(labels))[: max(len(labels) // 2, 1)]


CASES = {
    "normal": lambda rng: rng.standard_normal((150, 6)),
    "ties": lambda rng: rng.integers(0, 3, (150, 3)).astype(float),
    "copies": lambda rng: np.repeat(rng.standard_normal((30, 4)), 5, axis=0),
    "far from the origin": lambda rng: 1e7 + rng.standard_normal((150, 3)),
    "tight clusters": lambda rng: rng.integers(0, 2, (150, 3)) + 1e-6 * rng.standard_normal((150, 3)),
    "an outlier": lambda rng: np.vstack([rng.standard_normal((149, 3)), np.full((1, 3), 1e9)]),
    "outliers beyond single precision": lambda rng: np.vstack(
        [rng.standard_normal((140, 3)), 1e25 * rng.standard_normal((10, 3))]
    ),
    "tiny": lambda rng: 1e-120 * rng.standard_normal((150, 3)),
    "one feature": lambda rng: rng.standard_normal((150, 1)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("counts", [(2, 3), (5, 15), (200, 200)])
def test_neighbors_are_those_of_all_distances(case: str, counts: tuple[int, int], small_blocks) -> None:
    rng = np.random.default_rng(1)
    Z = CASES[case](rng)
    unit = 1e120 if case == "tiny" else 1.0  # the table's squares would vanish
    labels = np.where(np.arange(150) < 147, rng.integers(0, 3, 150), [3] * 148 + [4, 5])
    check_neighbors(unit * Z, labels, counts, some(labels, 2))
    check_neighbors(unit * Z, labels, counts, np.arange(150)[::-1][:149])
    if unit != 1.0:
        found, expected = (neighbor_pairs(V, labels, 2, 3, anchors=some(labels, 2)) for V in (Z, unit * Z))
        np.testing.assert_array_equal(found, expected)


def test_one_class_may_hold_nearly_all(small_blocks) -> None:
    labels = np.append(np.zeros(147, dtype=int), [1, 1, 2])
    check_neighbors(np.random.default_rng(0).standard_normal((150, 2)), labels, (3, 5), some(labels, 0))


def test_many_classes_of_few_samples(small_blocks) -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(75), 2))
    check_neighbors(np.random.default_rng(0).standard_normal((150, 2)), labels, (3, 5), some(labels, 0))


@given(st.integers(2, 40), st.integers(1, 4), st.integers(0, 10**6), st.booleans(), st.integers(1, 5))
def test_laws_of_the_search(n: int, n_features: int, seed: int, whole: bool, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    Z = rng.integers(0, 3, (n, n_features)).astype(float) if whole else rng.standard_normal((n, n_features))
    labels = rng.integers(0, n_classes, n)
    check_neighbors(Z, labels, (2, 4), some(labels, seed))


def test_usual_sizes_of_blocks_and_the_coarse_case() -> None:
    """Several blocks and surveys of the usual size; in tight clusters single precision leaves too many."""
    rng = np.random.default_rng(0)
    for Z in (
        rng.standard_normal((5_000, 4)),
        rng.integers(0, 2, (5_000, 2)) + 1e-7 * rng.standard_normal((5_000, 2)),
    ):
        labels = rng.integers(0, 3, 5_000)
        asking = some(labels, 0)[:100]
        check_neighbors(Z, labels, (3, 6), asking)


def test_products_bound_distances_from_below() -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((200, 30)) * np.geomspace(1e-3, 1e3, 200)[:, None]
    search = NearestSearch(Z)
    for kind in (np.float32, np.float64):
        A, B = search.factors(kind)
        assert (cdist(Z, Z, "sqeuclidean") >= A @ B.T).all()


def test_groups_hide_their_own_samples() -> None:
    Z = np.arange(6.0)[:, None]
    search = NearestSearch(Z)
    groups = [Group(slice(0, 1), Interval(0, 3)), Group(slice(1, 2), Interval(3, 6))]
    np.testing.assert_array_equal(search.outside(np.array([1, 4]), 2, groups), [[3, 4], [2, 1]])
    np.testing.assert_array_equal(search.among(np.array([1]), 3, Interval(0, 3))[:, 2], [-1])


# --- Anchors


def test_up_to_a_number_of_samples_all_are_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(LocalPairs().anchor_rows(np.arange(100_000) % 3)) == 100_000
    assert len(LocalPairs().anchor_rows(np.arange(200_000) % 4)) == 50_000
    assert len(LocalPairs().anchor_rows(np.arange(1_000_000) % 4)) == 20_000
    for whole in (LocalPairs(anchors="all"), LocalPairs(index="approximate")):
        assert len(whole.anchor_rows(np.arange(200_000) % 3)) == 200_000
    assert len(LocalPairs(anchors=500).anchor_rows(np.arange(400) % 3)) == 400


def test_each_class_has_its_share_of_anchors_and_at_least_one() -> None:
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [600, 397, 3]))
    rows = LocalPairs(anchors=100).anchor_rows(labels)
    assert np.bincount(labels[rows]).tolist() == [60, 40, 1]
    np.testing.assert_array_equal(rows, LocalPairs(anchors=100).anchor_rows(labels))
    assert (np.diff(rows) > 0).all()


@pytest.mark.parametrize("anchors", ["some", 0, 2.5, True])
def test_wrong_anchors_are_named(anchors) -> None:
    with pytest.raises(ValueError, match="`anchors` must be"):
        LocalPairs(anchors=anchors)


def test_the_representation_has_what_is_not_the_default() -> None:
    local = LocalPairs(2, 3, anchors="all")
    assert repr(local) == "LocalPairs(n_similar=2, n_dissimilar=3, anchors='all')"
    assert eval(repr(local)) == local


RNG = np.random.default_rng(3)
LABELS = RNG.integers(0, 3, 240)
X = RNG.standard_normal((240, 4)) + LABELS[:, None] * [1.0, 0.5, 0.0, 0.0]


def test_rpdml_learns_from_the_neighbors_of_the_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pairs of the fit, given one by one, have the same optimum, which `test_certificate` recomputes."""
    seen = []
    find = LocalPairs.find
    monkeypatch.setattr(
        LocalPairs, "find", lambda *given: seen.append((find(*given), *given[1:])) or seen[-1][0]
    )
    learner = RPDML(pairs=LocalPairs(3, 5, anchors=60), tol=1e-9).fit(X, LABELS)
    pairs, Z, labels = seen[-1]
    order = np.argsort(LABELS, kind="stable")
    asking = LocalPairs(anchors=60).anchor_rows(labels)
    assert learner.n_anchors_ == len(asking)
    assert 60 <= len(asking) <= 62
    D = cdist(Z, Z, "sqeuclidean")
    np.fill_diagonal(D, np.inf)
    expected = set()
    for i in asking.tolist():
        for same, count in ((labels == labels[i], 3), (labels != labels[i], 5)):
            near = np.flatnonzero(same)[np.argsort(D[i, same])[:count]]
            expected |= {(min(i, j), max(i, j)) for j in near.tolist()}
    assert set(map(tuple, pairs.tolist())) == expected
    again = RPDML(pairs=order[pairs], tol=1e-9).fit(X, LABELS)
    assert again.n_pairs_ == learner.n_pairs_ == len(expected)
    assert again.objective_ == pytest.approx(learner.objective_, rel=2e-9)
    np.testing.assert_allclose(again.W_, learner.W_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_certificate_of_anchors_can_be_checked_from_outside(weighted: bool) -> None:
    weight = RNG.integers(0, 3, 240).astype(float) if weighted else None
    learner = NeighborRPDML(C=20.0, pairs=LocalPairs(3, 5, anchors=60), tol=1e-9)
    learner.fit(X, LABELS, sample_weight=weight)
    asking = np.unique(learner.neighbors_[:, 0])
    assert len(asking) == learner.n_anchors_
    assert 60 <= learner.n_anchors_ <= 62
    np.testing.assert_array_equal(np.bincount(learner.neighbors_[:, 0])[asking], 8)
    check_certificate(learner, X)


def test_more_anchors_than_samples_change_nothing() -> None:
    for make in (RPDML, NeighborRPDML):
        every = make(pairs=LocalPairs(anchors=1000)).fit(X, LABELS)
        assert every.n_anchors_ == 240
        np.testing.assert_array_equal(every.W_, make().fit(X, LABELS).W_)


@pytest.mark.parametrize("anchors", ["auto", 60])
def test_an_index_may_find_the_neighbors(anchors, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that misses nothing leads to the exact fit, and one that misses some to a certified one."""
    monkeypatch.setattr(local_pairs, "_FEW", 0)
    monkeypatch.setitem(sys.modules, "pynndescent", SimpleNamespace(NNDescent=ExactIndex))
    found = NeighborRPDML(C=20.0, pairs=LocalPairs(3, 5, "approximate", anchors), tol=1e-9).fit(X, LABELS)
    exact = NeighborRPDML(C=20.0, pairs=LocalPairs(3, 5, "exact", anchors), tol=1e-9).fit(X, LABELS)
    assert (found.neighbors_are_exact_, exact.neighbors_are_exact_) == (False, True)
    assert found.n_anchors_ == exact.n_anchors_
    np.testing.assert_allclose(found.W_, exact.W_, rtol=1e-6)
    check_certificate(found, X)


def test_fits_of_some_anchors_are_near_the_fit_of_all() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(1200) % 4
    Z = rng.standard_normal((1200, 5))
    Z[:, :2] += y[:, None]
    for make in (RPDML, NeighborRPDML):
        every, part = (make(pairs=LocalPairs(anchors=a)).fit(Z, y).W_ for a in ("all", 600))
        assert 0.0 < np.linalg.norm(part - every) < 0.3 * np.linalg.norm(every)


def test_few_anchors_of_many_classes() -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(40), [2] * 39 + [90]))
    Z = np.random.default_rng(1).standard_normal((len(labels), 3)) + labels[:, None]
    learner = NeighborRPDML(C=20.0, pairs=LocalPairs(3, 5, anchors=5), tol=1e-9).fit(Z, labels)
    assert learner.n_anchors_ == 39 + 3  # one of each pair, and 5 of 168 of the large class
    check_certificate(learner, Z)
