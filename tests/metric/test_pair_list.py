"""Sums over a list of pairs as a graph, against sums over explicit differences."""

import numpy as np
import pytest

from geodual.metric.geometry.pair_list import PairGraph, PairList
from geodual.metric.losses import SquaredHinge

N, F, M = 1300, 80, 5000  # more than 100,000 entries: second derivatives are in single precision


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((N, F))
    i = rng.integers(0, N, M)
    j = (i + 1 + rng.integers(0, N - 1, M)) % N
    S = rng.standard_normal((F, F))
    return Z, i, j, S + S.T, rng.uniform(0.0, 1.0, M)


def sums(case, scale: float, unit: float):
    """Return the moment and the sum of forms: expected, and found by the graph."""
    Z, i, j, S, a = case
    Z, a = scale * Z, unit * a
    V = Z[i] - Z[j]
    moment = (V.T * a) @ V
    forms = (V.T * (a * np.einsum("kf,kf->k", V @ S, V))) @ V
    graph = PairGraph(i, j)
    return (moment, forms), (graph.moment(Z, a), graph.form_sum(Z, S, a))


@pytest.mark.parametrize(("scale", "unit"), [(1.0, 1.0), (1e-9, 1e36), (1e9, 1e-36), (1e-60, 1e200)])
def test_they_are_the_sums_over_differences(case, scale: float, unit: float) -> None:
    expected, found = sums(case, scale, unit)
    for right, sum_ in zip(expected, found, strict=True):
        assert sum_.dtype == np.float64
        np.testing.assert_allclose(sum_, right, atol=2e-6 * np.abs(right).max(), rtol=0)


def test_single_precision_is_left_where_digits_would_be_lost() -> None:
    """Two clusters far apart, pairs only within: sums of far larger terms must cancel."""
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((N, F))
    Z[N // 2 :] += 1e4
    i = np.concatenate([rng.integers(0, N // 2, M), rng.integers(N // 2, N, M)])
    j = np.concatenate([rng.integers(0, N // 2, M), rng.integers(N // 2, N, M)])
    V = Z[i] - Z[j]
    np.testing.assert_allclose(PairGraph(i, j).moment(Z, np.ones(2 * M)), V.T @ V, atol=1e-4, rtol=1e-6)


def test_sums_at_other_samples_are_not_mixed_up(case) -> None:
    Z, i, j, S, a = case
    graph = PairGraph(i, j)
    graph.moment(Z, a)
    first, second = graph.form_sum(Z, S, a), graph.form_sum(2.0 * Z, S, a)
    np.testing.assert_allclose(second, 16.0 * first, rtol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_weights_of_any_range_are_added_up(kind: type) -> None:
    rng = np.random.default_rng(0)
    Z, a = rng.standard_normal((5, 3)), np.array([1e-30, 1e20, 1e45, 5e44])
    i, j = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4])
    graph = PairGraph(i, j)
    V = Z[i] - Z[j]
    found = graph.laplacian_form(graph.centered(Z).astype(kind), a)
    np.testing.assert_allclose(found, (V.T * a) @ V, rtol=1e-5, atol=1e40)


def test_forms_of_pairs_in_both_precisions_one_after_the_other() -> None:
    Z, S = np.random.default_rng(0).standard_normal((6, 3)), np.diag([1.0, 2.0, 3.0])
    i, j = np.array([0, 1, 2, 4]), np.array([1, 3, 5, 5])
    graph, V = PairGraph(i, j), Z[i] - Z[j]
    expected = np.einsum("kf,fg,kg->k", V, S, V)
    for kind, rtol in ((np.float64, 1e-12), (np.float32, 1e-4), (np.float64, 1e-12)):
        Y = Z.astype(kind)
        np.testing.assert_allclose(graph.forms(Y, Y @ S.astype(kind)), expected, rtol=rtol)


@pytest.mark.parametrize(("n_pairs", "by_samples"), [(30, True), (29, False)])
def test_lists_are_added_up_over_samples_if_these_are_few(n_pairs: int, by_samples: bool) -> None:
    """Three pairs per sample, where only the ten samples that are in pairs count."""
    i, j = np.triu_indices(10, 1)
    pairs = 7 * np.column_stack([i, j])[np.linspace(0, 44, n_pairs).astype(int)]
    Z = np.random.default_rng(0).standard_normal((100, 16))
    found = PairList(pairs, np.arange(n_pairs) % 2 == 0).evaluate(Z, SquaredHinge(1.0, 40.0, 1.0, 1.0))
    assert (found.noise > 0.0) is by_samples  # sums of differences have no such error
