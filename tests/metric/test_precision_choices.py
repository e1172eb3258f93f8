"""When sums and searches use single precision, a part of the pairs or longer lists; results stay exact."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from geodual.metric.geometry import all_pairs
from geodual.metric.geometry import pair_set as thinned_pairs
from geodual.metric.geometry.all_pairs import AllPairs, form_block
from geodual.metric.geometry.distances import PairDifferences
from geodual.metric.geometry.pair_set import thinned_rows
from geodual.metric.margin.large_margin import NearPairs
from geodual.metric.selection.bounds import valid_bounds


def near_by_definition(Y: np.ndarray, labels: np.ndarray, reach: np.ndarray) -> set[tuple[int, int]]:
    d = cdist(Y, Y)
    n = len(Y)
    return {
        (i, j)
        for i in range(n)
        for j in range(i + 1, n)
        if labels[i] != labels[j] and d[i, j] < max(reach[i], reach[j])
    }


def found_by(near: NearPairs, Y: np.ndarray, reach: np.ndarray) -> set[tuple[int, int]]:
    blocks = list(near.blocks(Y, reach**2))
    return {
        pair for block in blocks for pair in zip(block.first.tolist(), block.second.tolist(), strict=True)
    }


@pytest.mark.parametrize("moving", ["samples", "reach", "both"])
def test_near_pairs_are_complete_while_samples_move_and_reaches_grow(moving: str) -> None:
    rng = np.random.default_rng(0)
    Y, labels = 3.0 * rng.standard_normal((120, 2)), np.repeat([0, 1, 2], 40)
    near, reach = NearPairs(labels), np.full(120, 0.4)
    for _ in range(60):
        assert found_by(near, Y, reach) == near_by_definition(Y, labels, reach)
        if moving != "reach":
            Y = Y + 0.004 * rng.standard_normal(Y.shape)
        if moving != "samples":
            reach = reach + 0.004 * rng.uniform(size=120)


@pytest.mark.parametrize(("n", "n_features", "expected"), [(2500, 3, 750), (2500, 55, 825), (2500, 60, None)])
def test_a_third_of_many_samples_stands_for_all_unless_there_are_many_features(
    n: int, n_features: int, expected: int | None
) -> None:
    labels = np.repeat([0, 1, 2], [n - 600, 400, 200])
    rows = thinned_rows(labels, n_features)
    assert (None if rows is None else len(rows)) == expected
    if rows is not None:
        share = np.bincount(labels[rows]) / np.bincount(labels)
        np.testing.assert_allclose(share, expected / n, rtol=0.02)
        assert rows[0] >= 0
        assert (np.diff(rows) > 0).all()
    assert thinned_rows(labels[:1500], 3) is None


def test_the_share_that_stands_for_all_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinned_pairs, "_FEW", 0)
    assert thinned_rows(np.zeros(100, dtype=int), 2) is not None
    assert thinned_rows(np.zeros(100, dtype=int), 3) is None


@pytest.mark.parametrize("weight", [1.0, 1e-4, 1e-100])
def test_the_second_moment_is_the_mean_over_pairs_whatever_the_weights(weight: float) -> None:
    rng = np.random.default_rng(0)
    Z, w = rng.standard_normal((7, 2)), weight * rng.uniform(0.5, 1.0, 7)
    pairs = AllPairs(np.array([0, 0, 0, 1, 1, 1, 1]), w)
    i, j = np.triu_indices(7, 1)
    pair_weight = (w[i] / weight) * (w[j] / weight)
    V = Z[i] - Z[j]
    total = pairs.total_weight / weight**2  # of the pairs that the weights stand for
    np.testing.assert_allclose(pairs._second_moment(Z), (V.T * pair_weight) @ V / total, rtol=1e-10)


@pytest.mark.parametrize(("many", "kind"), [(30, np.float32), (31, np.float64)])
def test_forms_of_many_pairs_are_in_single_precision(
    many: int, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_pairs, "_MANY", many)
    Z = np.random.default_rng(0).standard_normal((6, 2))
    assert form_block(Z, None, np.eye(2), 15).Z.dtype == kind
    assert form_block(1e30 * Z, None, np.eye(2), 15).Z.dtype == np.float64


def test_differences_in_chunks_are_those_of_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((30, 3))
    i, j = rng.integers(30, size=(2, 5000))
    whole = PairDifferences(i, j)
    monkeypatch.setattr("geodual.metric.geometry.distances._KEPT", 0)
    parts = PairDifferences(i, j)
    expected = ((Z[i] - Z[j]) ** 2).sum(axis=1)
    np.testing.assert_allclose(whole.distances(Z), expected)
    np.testing.assert_allclose(parts.distances(Z), expected)
    a = rng.uniform(size=5000)
    np.testing.assert_allclose(parts.weighted_sum(Z, a), ((Z[i] - Z[j]).T * a) @ (Z[i] - Z[j]))


def test_bounds_that_differ_are_left_alone_and_those_that_nearly_coincide_are_not() -> None:
    assert valid_bounds(1.0, 1.1, 5.0, lambda: 0.5) == (1.0, 1.1)
    with pytest.warns(UserWarning, match="coincide"):
        assert valid_bounds(2.0, 2.0 * (1.0 + 1e-8), 5.0, lambda: 0.5) == pytest.approx((1.0, 2.0))
