"""Sums over a graph of pairs, against sums over explicit differences."""

import numpy as np
import pytest

from geodual.metric.geometry.pair_list import PairGraph

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
