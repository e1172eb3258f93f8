"""Skill that no single factor sees in full: a regression on all of them finds it, the baselines do not."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from geodual.funds import backtest, compute_factors, synthetic_universe
from geodual.funds.evaluation.statistics import stationary_bootstrap_interval


@pytest.fixture(scope="module")
def hidden():
    return synthetic_universe(120, "2012-01-04", "2016-12-30", seed=0, signal=2.0, hidden=True)


def test_hidden_skill_shows_in_no_single_factor(hidden):
    """Least squares on all factors explains the true skill far better than the best factor does."""
    days = hidden.expected_returns.index[2:]
    table = compute_factors(hidden.panel, days)
    parts, truths = [], []
    for day in days:
        factors = table.loc[day].rank().fillna(0.0)
        parts.append((factors - factors.mean()) / factors.std())
        truth = hidden.expected_returns.loc[day].reindex(factors.index).rank()
        truths.append((truth - truth.mean()) / truth.std())
    X, y = np.vstack(parts), np.concatenate(truths)
    single = np.abs(X.T @ y / len(y)).max()
    together = spearmanr(X @ np.linalg.lstsq(X, y)[0], y).statistic
    assert single < 0.7 * together


def test_ridge_finds_hidden_skill_that_the_baselines_miss(hidden):
    ic = backtest(hidden.panel, forecasters=["ridge", "momentum", "return_12m"], baselines=()).ic
    for baseline in ("momentum", "return_12m"):
        low, _ = stationary_bootstrap_interval(ic["ridge"] - ic[baseline])
        assert low > 0.0, baseline
