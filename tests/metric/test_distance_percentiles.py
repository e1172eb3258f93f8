"""Bounds from percentiles of all pairs, in one pass, against percentiles of a list of all distances."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from geodual.metric.logdet import bounds as bounds_module
from geodual.metric.logdet import distance_percentiles as percentiles_module
from geodual.metric.logdet.bounds import sample_bounds
from geodual.metric.logdet.counted_distances import CountedSamples
from geodual.metric.logdet.distance_percentiles import distances_at

RNG = np.random.default_rng(0)
PLAIN = RNG.standard_normal((600, 5))
FAR = PLAIN.copy()
FAR[0] = 1e9
CASES = {
    "plain": PLAIN,
    "tiny": 1e-12 * PLAIN,
    "huge": 1e12 * PLAIN,
    "far from the origin": 1e6 + PLAIN,
    "one far away": FAR,
    "whole numbers": np.round(PLAIN),
    "many features": RNG.standard_normal((600, 40)),
    "tight clusters": RNG.standard_normal((10, 5))[np.arange(600) % 10] + 1e-7 * PLAIN,
    "one feature": PLAIN[:, :1],
    "copies": np.vstack([PLAIN[:500], PLAIN[:60]]),
}


@pytest.fixture(autouse=True)
def _no_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds_module, "_LISTED_PAIRS", 0)


@pytest.mark.parametrize("wanted", [(5, 95), (0.5, 100), (50, 50.001)])
@pytest.mark.parametrize("name", CASES)
def test_percentiles_are_those_of_all_distances(name: str, wanted: tuple[float, float]) -> None:
    Z = CASES[name]
    expected = np.percentile(pdist(Z, "sqeuclidean"), wanted)
    samples = CountedSamples(Z, None)
    positions = [share / 100.0 * (samples.n_pairs - 1.0) for share in wanted]
    np.testing.assert_allclose(distances_at(samples, positions), expected, rtol=1e-14)


@pytest.mark.parametrize("name", ["plain", "whole numbers"])
def test_whole_weights_are_repetition(name: str) -> None:
    Z, weight = CASES[name][:400], np.random.default_rng(1).integers(1, 4, 400)
    expected = np.percentile(pdist(np.repeat(Z, weight, axis=0), "sqeuclidean"), (5, 95))
    bounds, exact = sample_bounds(Z, weight.astype(float), (5, 95), np.random.RandomState(0))
    np.testing.assert_allclose(bounds, expected, rtol=1e-14)
    assert exact
    assert sample_bounds(np.repeat(Z, weight, axis=0), None, (5, 95), np.random.RandomState(0))[0] == bounds


def test_fractional_weights_give_what_a_list_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    weight, rng = np.random.default_rng(2).uniform(0.1, 3.0, 600), np.random.RandomState(0)
    streamed = sample_bounds(PLAIN, weight, (5, 95), rng)[0]
    monkeypatch.setattr(bounds_module, "_LISTED_PAIRS", 10**6)
    np.testing.assert_allclose(streamed, sample_bounds(PLAIN, weight, (5, 95), rng)[0], rtol=1e-12)


@pytest.mark.parametrize("weight", [None, np.random.default_rng(3).uniform(0.1, 3.0, 1500)])
def test_bits_do_not_depend_on_threads(weight) -> None:
    Z = np.random.default_rng(4).standard_normal((1500, 3))
    one, two = (sample_bounds(Z, weight, (5, 95), np.random.RandomState(0), threads)[0] for threads in (1, 2))
    assert one == two


def test_brackets_that_miss_are_widened(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    run = percentiles_module._BracketPass.run
    monkeypatch.setattr(percentiles_module, "_DEVIATIONS", 1e-3)
    monkeypatch.setattr(percentiles_module._BracketPass, "run", lambda *a: passes.append(1) or run(*a))
    bounds, _ = sample_bounds(PLAIN, None, (5, 95), np.random.RandomState(0))
    assert len(passes) > 1
    np.testing.assert_allclose(bounds, np.percentile(pdist(PLAIN, "sqeuclidean"), (5, 95)), rtol=1e-14)


def test_equal_distances_are_counted_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Corners of a cube have few different distances; equal ones are joined while they are collected."""
    monkeypatch.setattr(percentiles_module, "_WAITING", 50)
    Z = np.array(np.meshgrid(*[[0.0, 1.0]] * 9)).reshape(9, -1).T
    expected = np.percentile(pdist(Z, "sqeuclidean"), (5, 95))
    assert sample_bounds(Z, None, (5, 95), np.random.RandomState(0))[0] == tuple(expected)


@pytest.mark.parametrize("listed", [0, 10**6])
def test_many_copies_give_the_smallest_positive_distance(
    listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds_module, "_LISTED_PAIRS", listed)
    Z = np.vstack([np.ones((300, 5)), PLAIN])
    distances = pdist(Z, "sqeuclidean")
    with pytest.warns(UserWarning, match="More than 5 % of the pairs have distance zero"):
        u, l = sample_bounds(Z, None, (5, 95), np.random.RandomState(0))[0]  # noqa: E741
    assert u == pytest.approx(distances[distances > 0.0].min(), rel=1e-14)
    assert l == pytest.approx(np.percentile(distances, 95), rel=1e-14)


@pytest.mark.parametrize(
    ("Z", "message"),
    [
        (np.full((50, 3), 0.1), "All samples are equal"),
        (1e-200 * PLAIN, "All samples are equal"),
        (1e200 * PLAIN, "too far apart to square their distances; scale the features"),
        (1e-75 * PLAIN, "are too small or too large"),
    ],
)
def test_what_has_no_bounds_is_named(Z, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sample_bounds(Z, None, (5, 95), np.random.RandomState(0))


@pytest.mark.parametrize("largest", [1e3, 1e10, 1e15])
def test_heavy_weights_take_no_more_memory(largest: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """They count pairs of copies, of which there may be far more than could be drawn."""
    drawn, draw = [], CountedSamples.drawn_pairs

    def counted(self, n_drawn, rng):
        drawn.append(n_drawn)
        return draw(self, n_drawn, rng)

    monkeypatch.setattr(CountedSamples, "drawn_pairs", counted)
    Z, weight = PLAIN[:300], np.random.default_rng(1).integers(1, largest, 300).astype(float)
    found = distances_at(CountedSamples(Z, weight), [0.5 * CountedSamples(Z, weight).n_pairs])
    assert max(drawn) <= 10_000
    i, j = np.triu_indices(300, 1)
    d, counts = pdist(Z, "sqeuclidean"), weight[i] * weight[j]
    order = np.argsort(d)
    zeros = 0.5 * (weight * (weight - 1.0)).sum()
    cumulated = zeros + np.cumsum(counts[order])
    assert found[0] == pytest.approx(d[order][np.searchsorted(cumulated, 0.5 * cumulated[-1])], rel=1e-12)
