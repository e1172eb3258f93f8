"""Claims of skill: none where there is none, one where there is some."""

import numpy as np
import pytest

from geodual.funds.evaluation.statistics import corrected_p
from geodual.funds.evaluation.tuning import count_choices
from geodual.metric.registry import find_metric


def random_ics(n, k=6, seed=0, mean=0.0, rho=0.6):
    """Return correlated series, one per row."""
    rng = np.random.default_rng(seed)
    noise = np.sqrt(rho) * rng.standard_normal((n, 1)) + np.sqrt(1.0 - rho) * rng.standard_normal((n, k))
    return (0.25 * noise + np.asarray(mean)).T


@pytest.mark.parametrize("n", [8, 24])
def test_skill_is_seldom_claimed_where_there_is_none(n):
    sets = [random_ics(n, seed=seed) for seed in range(200)]
    claims = [any(corrected_p(ic, 6) < 0.05 and ic.mean() > 0.0 for ic in ics) for ics in sets]
    assert np.mean(claims) <= 0.05


def test_skill_is_found_where_there_is_some():
    p = [corrected_p(ic, 6) for ic in random_ics(36, mean=[0.0, 0.0, 0.25, 0.0, 0.0, 0.0], rho=0.3)]
    assert np.argmin(p) == 2
    assert p[2] < 0.01


def test_choices():
    grid = len(find_metric("rpdml").grid)
    assert grid > 1
    assert count_choices(3) == 3
    assert count_choices(3, {"rpdml": {"C": 1.0}}) == 3 + grid
    assert count_choices(3, ["rpdml", "a metric of another process"]) == 4 + grid
