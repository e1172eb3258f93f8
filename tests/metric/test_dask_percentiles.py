"""Percentiles of the distances of samples in a dask array: those of the sorted list of all distances."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from geodual.metric.logdet.cluster_percentiles import ClusterDistances

from .test_dask import blocks_of, make_samples, small_blocks, weights  # noqa: F401 - a fixture for all tests


@pytest.mark.parametrize("drawn", [30, 2000])
@pytest.mark.parametrize(
    "name", ["normal", "outlier", "outliers", "integers", "binary", "many equal", "large", "small"]
)
def test_percentiles_are_exact(name, drawn, monkeypatch):
    monkeypatch.setattr("geodual.metric.logdet.cluster_percentiles._FEW", 20)
    monkeypatch.setattr("geodual.metric.logdet.cluster_percentiles._DRAWN", drawn)
    X, y = make_samples()
    kinds = {
        "outlier": np.vstack([X[:-1], X[-1:] * 1e4]),
        "outliers": np.where(np.arange(150)[:, None] % 50, X, 1e9 * X),
        "integers": np.round(X / 2.0),
        "binary": np.greater(X, X.mean(axis=0)).astype(float),
        # The samples that tell roughly where a percentile is are all equal.
        "many equal": np.where(np.isin(np.arange(150), np.linspace(0, 149, 30).astype(int))[:, None], 0.3, X),
    }
    X = kinds.get(name, X)
    X = X * {"large": 1e60, "small": 1e-60}.get(name, 1.0)
    d = np.sort(pdist(X, "sqeuclidean"))
    distances = ClusterDistances(blocks_of(X, y), np.eye(4))
    assert distances.n_pairs == len(d)
    places = [0.0, 0.05 * (len(d) - 1), 1234.5, len(d) - 1.0]
    rtol = 1e-6 if name == "outliers" else 1e-10  # centred samples are rounded to digits of the outliers
    np.testing.assert_allclose(distances.at(places), np.interp(places, np.arange(len(d)), d), rtol=rtol)
    assert distances.smallest() == pytest.approx(d[d > 0.0][0], rel=rtol)


def test_a_large_weight_among_many_samples_does_not_hide_the_others(monkeypatch):
    monkeypatch.setattr("geodual.metric.logdet.cluster_percentiles._DRAWN", 30)
    X, y = make_samples()
    weight = np.where(np.arange(150) == np.argmin(y), 60.0, 1.0)
    d = np.sort(pdist(np.repeat(X, weight.astype(int), axis=0), "sqeuclidean"))
    distances = ClusterDistances(blocks_of(X, y, weight), np.eye(4))
    places = [0.05 * (len(d) - 1), 0.1 * (len(d) - 1), 0.95 * (len(d) - 1)]
    np.testing.assert_allclose(distances.at(places), np.interp(places, np.arange(len(d)), d), rtol=1e-10)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9])
def test_few_distances_are_collected_in_spite_of_outliers(size, monkeypatch):
    monkeypatch.setattr("geodual.metric.logdet.cluster_percentiles._FEW", 50)
    X, y = make_samples(400)
    X[::50] *= size
    collected, passes = ClusterDistances._collected, []

    def spy(self, brackets):
        found = collected(self, brackets)
        passes.append(max(len(distances.values) for distances in found))
        return found

    monkeypatch.setattr(ClusterDistances, "_collected", spy)
    d = np.sort(pdist(X, "sqeuclidean"))
    places = [0.05 * (len(d) - 1), 0.95 * (len(d) - 1)]
    found = ClusterDistances(blocks_of(X, y), np.eye(4)).at(places)
    np.testing.assert_allclose(found, np.interp(places, np.arange(len(d)), d), rtol=1e-6)
    assert max(passes) <= 50
    assert len(passes) <= 2  # rounding errors may put the position just outside its bracket


def test_positions_beyond_the_rounded_number_of_pairs_end():
    # The number of pairs is 5e29, and rounded by more than the number of pairs of different samples.
    X, y = make_samples()
    weight = np.where(np.arange(150) == 7, 1e15, 1.0)
    distances = ClusterDistances(blocks_of(X, y, weight), np.eye(4))
    assert distances.at([0.5 * distances.n_pairs]) == [0.0]
    (last,) = distances.at([distances.n_pairs - 1.0])
    assert 0.0 <= last <= pdist(X, "sqeuclidean").max() * (1.0 + 1e-10)


def test_percentiles_with_whole_weights_are_those_of_repeated_samples():
    X, y = make_samples()
    weight = weights("whole").astype(float)
    d = np.sort(pdist(np.repeat(X, weight.astype(int), axis=0), "sqeuclidean"))
    distances = ClusterDistances(blocks_of(X, y, weight), np.eye(4))
    assert distances.n_pairs == len(d)
    places = [0.02 * len(d), 0.5 * (len(d) - 1), 0.95 * (len(d) - 1)]
    expected = np.interp(places, np.arange(len(d)), d)
    np.testing.assert_allclose(distances.at(places), expected, rtol=1e-10, atol=1e-12)


def test_positions_before_the_first_pair_end():
    # Together these weights are less than two copies, so they make less than one pair.
    X, y = make_samples(20)
    weight = np.where(np.arange(20) == 7, 1.0, 1e-9)
    distances = ClusterDistances(blocks_of(X, y, weight), np.eye(4))
    assert distances.n_pairs < 1.0
    (found,) = distances.at([0.5 * (distances.n_pairs - 1.0)])
    assert 0.0 <= found <= pdist(X, "sqeuclidean").max()
