"""Bounds on squared distances: percentiles, exact or of random pairs, and what is no bound."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from geodual.metric.selection.bounds import check_bounds, counted_percentiles, sample_bounds, valid_bounds


def test_bounds_of_distances_that_are_mostly_zero() -> None:
    with pytest.warns(UserWarning, match="distance zero|coincide"):
        assert valid_bounds(0.0, 0.0, 5.0, lambda: 3.0) == (3.0, 6.0)
    with pytest.warns(UserWarning, match="coincide"):
        assert valid_bounds(2.0, 2.0, 5.0, lambda: 3.0) == (1.0, 2.0)


def test_bounds_that_differ_are_left_alone_and_those_that_nearly_coincide_are_not() -> None:
    assert valid_bounds(1.0, 1.1, 5.0, lambda: 0.5) == (1.0, 1.1)
    with pytest.warns(UserWarning, match="coincide"):
        assert valid_bounds(2.0, 2.0 * (1.0 + 1e-8), 5.0, lambda: 0.5) == pytest.approx((1.0, 2.0))


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-0.5, 1.0), (1.0, 1.0), (2.0, 1.0), (1.0, np.inf)])
def test_bounds_that_are_not_positive_increasing_and_finite_are_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="`bounds`"):
        check_bounds(bounds)


def percentage_below(bound: float, Z: np.ndarray, weight: np.ndarray) -> float:
    """Return the percentage of all pairs, those of copies of the same sample included, that are nearer."""
    below, mass = cdist(Z, Z, "sqeuclidean") < bound, weight.sum()
    # A sample of weight w makes w² of these pairs with itself, but only w (w − 1) with its copies.
    return float(100.0 * (weight @ (below @ weight) - mass) / (mass * (mass - 1.0)))


@pytest.mark.parametrize(("n", "exact"), [(1000, True), (1001, False)])
def test_percentiles_are_exact_up_to_a_thousand_samples(n: int, exact: bool) -> None:
    Z = np.random.default_rng(0).standard_normal((n, 2))
    found, is_exact = sample_bounds(Z, None, (10.0, 90.0))
    assert is_exact is exact
    expected = np.percentile(pdist(Z, "sqeuclidean"), [10.0, 90.0])
    assert (found == pytest.approx(tuple(expected), rel=1e-9)) is exact


@pytest.mark.parametrize("weighted", [False, True])
def test_percentiles_of_random_pairs_are_near_the_exact_ones(weighted: bool) -> None:
    """The share of all distances below each is the percentile, within four standard errors of 0.05 points."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((3000, 2)) * [1.0, 3.0]
    weight = np.where(Z[:, 0] > 0.0, 5.0, 1.0) if weighted else None
    found, exact = sample_bounds(Z, weight, (5.0, 95.0))
    assert not exact
    shares = [percentage_below(bound, Z, np.ones(3000) if weight is None else weight) for bound in found]
    np.testing.assert_allclose(shares, [5.0, 95.0], rtol=0.0, atol=0.2)


def test_counted_percentiles() -> None:
    rng = np.random.default_rng(0)
    values, counts = rng.uniform(size=20), rng.integers(0, 4, 20)
    wanted = (0, 5, 37.5, 95, 100)
    found = counted_percentiles(values, counts.astype(float), wanted)
    np.testing.assert_allclose(found, np.percentile(np.repeat(values, counts), wanted))
