"""Sums over pairs and searches for them, each part by itself: ties, sizes, precision and memory."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist

from geodual.metric import LMNN
from geodual.metric.base.pair_classifier import check_calibration_params
from geodual.metric.geometry import tiles
from geodual.metric.geometry.pair_list import PairGraph, PairList
from geodual.metric.margin.large_margin import LargeMargin, target_neighbours
from geodual.metric.program import space
from geodual.metric.selection import bounds as bounds_module
from geodual.metric.selection.bounds import sample_bounds
from geodual.metric.terms.neighbour_term import neighbour_widths


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
    targets = target_neighbours(X, labels, 2)
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
    targets = target_neighbours(X, y, 3)
    d = cdist(X, X, "sqeuclidean")
    d /= np.mean([d[i, j] for i in range(40) for j in targets[i]])
    start = 0.5 * sum(d[i, j] for i in range(40) for j in targets[i])
    start += 0.5 * np.maximum(impostor_slacks(d, targets, y), 0.0).sum()
    assert LMNN().fit(X, y).history_[0] == pytest.approx(start)


@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_widths_follow_the_median_and_not_the_largest(scale: float) -> None:
    Z = scale * np.append(np.arange(12.0), [1e3])[:, None]
    d = np.sort(cdist(Z, Z, "sqeuclidean"), axis=1)[:, 2]
    np.testing.assert_allclose(neighbour_widths(Z, 2), 4.0 * np.maximum(d, 0.1 * np.median(d)), rtol=1e-9)


def test_a_list_of_pairs_counts_the_samples_that_are_in_pairs() -> None:
    pairs = PairList(np.array([[0, 9], [9, 5], [5, 0]]), np.array([True, False, True]))
    assert pairs._n_used == 3


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_weights_of_any_range_are_added_up(kind: type) -> None:
    rng = np.random.default_rng(0)
    Z, a = rng.standard_normal((5, 3)), np.array([1e-30, 1e20, 1e45, 5e44])
    i, j = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4])
    graph = PairGraph(i, j)
    V = Z[i] - Z[j]
    found = graph.laplacian_form(graph.centred(Z).astype(kind), a)
    np.testing.assert_allclose(found, (V.T * a) @ V, rtol=1e-5, atol=1e40)


def test_forms_of_pairs_in_both_precisions_one_after_the_other() -> None:
    Z, S = np.random.default_rng(0).standard_normal((6, 3)), np.diag([1.0, 2.0, 3.0])
    i, j = np.array([0, 1, 2, 4]), np.array([1, 3, 5, 5])
    graph, V = PairGraph(i, j), Z[i] - Z[j]
    expected = np.einsum("kf,fg,kg->k", V, S, V)
    for kind, rtol in ((np.float64, 1e-12), (np.float32, 1e-4), (np.float64, 1e-12)):
        Y = Z.astype(kind)
        np.testing.assert_allclose(graph.forms(Y, Y @ S.astype(kind)), expected, rtol=rtol)
        kept = graph._buffers
        assert kept.dtype == kind
        graph.distances(Y)
        assert graph._buffers is kept


@pytest.mark.parametrize("block", [2, 100])
def test_a_matrix_becomes_its_symmetric_part(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "_BLOCK", block)
    A = np.random.default_rng(0).standard_normal((5, 5))
    expected = 0.5 * (A + A.T)
    space._symmetrise(A)
    np.testing.assert_allclose(A, expected, rtol=1e-15)


def test_samples_stay_sparse_if_there_are_few_of_very_many_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "MANY_FEATURES", 6)
    shapes = {(3, 7): True, (3, 6): False, (3, 4): False, (7, 7): False, (9, 7): False}
    assert {shape: space.stays_sparse(csr_array(shape)) for shape in shapes} == shapes
    assert not space.stays_sparse(np.zeros((3, 7)))


@pytest.mark.parametrize(("most", "exact"), [(45, True), (44, False)])
def test_percentiles_are_exact_up_to_a_number_of_pairs(
    most: int, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds_module, "_LISTED_PAIRS", most)
    Z = np.random.default_rng(0).standard_normal((10, 2))
    found, is_exact = sample_bounds(Z, None, (10.0, 90.0))
    assert is_exact is exact
    d = pdist(Z, "sqeuclidean")
    assert (found == pytest.approx(tuple(np.percentile(d, [10.0, 90.0])))) is exact


@pytest.mark.parametrize("sizes", [(6, 6), (25, 1), (3, 3, 3, 3), (11,), (40, 1, 1)])
def test_chunks_hold_every_tile_once(sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "_CHUNK", 10)
    given = [SimpleNamespace(size=size) for size in sizes]
    chunks = tiles.chunks_of(given)
    assert [tile for chunk in chunks for tile in chunk] == given


def test_bad_ways_to_choose_a_threshold_are_refused_before_a_fit() -> None:
    with pytest.raises(ValueError, match="strategy"):
        check_calibration_params({"strategy": "best"})
    assert check_calibration_params(None) == {}
