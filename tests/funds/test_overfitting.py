"""Deflated Sharpe ratios and the probability of overfitting: closed forms, plain loops, hopeless cases."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, rankdata

from geodual.funds.evaluation.overfitting import (
    deflate_sharpe,
    expected_best_sharpe,
    overfitting_probability,
    probabilistic_sharpe,
)
from geodual.funds.evaluation.performance import row_returns


def random_equity(seed, n=200, k=5, drift=0.0):
    steps = 0.01 * np.random.default_rng(seed).standard_normal((n, k)) + np.asarray(drift)
    days = pd.bdate_range("2012-01-02", periods=n + 1)
    values = np.vstack([np.ones(k), np.cumprod(1.0 + steps, axis=0)])
    return pd.DataFrame(values, index=days, columns=list("abcdefgh")[:k])


def test_the_expected_best_of_normal_values():
    """The approximation is within 3 % of the mean of the largest of N normal values."""
    rng = np.random.default_rng(0)
    for trials in (5, 20, 100):
        simulated = 0.3 * rng.standard_normal((40_000, trials)).max(axis=1).mean()
        assert expected_best_sharpe(trials, 0.3) == pytest.approx(simulated, rel=0.03)


def test_one_trial_has_no_hurdle_and_an_unknown_spread_an_unknown_one():
    assert expected_best_sharpe(1, np.nan) == 0.0
    assert np.isnan(expected_best_sharpe(2, np.nan))


def test_returns_on_two_sides_have_a_closed_form():
    # ±1 with a mean of 0: the Sharpe ratio is 0, so skewness and kurtosis do not matter.
    returns = np.tile([0.01, -0.01], 20)
    assert probabilistic_sharpe(returns) == pytest.approx(0.5, abs=1e-12)
    assert probabilistic_sharpe(returns, 0.1) == pytest.approx(norm.cdf(-0.1 * np.sqrt(39)), rel=1e-12)


@pytest.mark.parametrize("returns", [[], [0.1], [0.1, 0.2], [0.1, 0.2, -0.1], [0.01] * 30, [0.0] * 30])
def test_undefined_probabilities(returns):
    assert np.isnan(probabilistic_sharpe(np.array(returns)))


def test_more_trials_deflate_more():
    equity = random_equity(1)
    few, many = deflate_sharpe(equity, 5), deflate_sharpe(equity, 50)
    assert (many["deflated_sharpe"] < few["deflated_sharpe"]).all()
    assert (few["deflated_sharpe"] < few["probabilistic_sharpe"]).all()
    assert many["trials"].tolist() == [50] * 5
    assert many.index.name == "forecaster"


def test_one_portfolio():
    equity = random_equity(2)[["a"]]
    alone, tuned = deflate_sharpe(equity, 1).loc["a"], deflate_sharpe(equity, 4).loc["a"]
    assert alone["deflated_sharpe"] == alone["probabilistic_sharpe"]
    assert np.isnan(tuned["deflated_sharpe"])  # one Sharpe ratio does not tell the spread


def test_a_constant_portfolio_is_missing_and_does_not_spoil_the_others():
    equity = random_equity(3)
    found = deflate_sharpe(equity.assign(z=1.0), 5)
    assert found.loc["z", ["sharpe", "deflated_sharpe", "probabilistic_sharpe"]].isna().all()
    pd.testing.assert_frame_equal(found.drop(index="z"), deflate_sharpe(equity, 5))


def slow_probability(equity, n_blocks):
    """Rank the winner of each half in the other half, split by split."""
    returns = row_returns(equity)
    rows = np.array_split(np.arange(len(returns) // n_blocks * n_blocks), n_blocks)
    below = []
    for chosen in combinations(range(n_blocks), n_blocks // 2):
        first = np.concatenate([rows[i] for i in chosen])
        other = np.setdiff1d(np.concatenate(rows), first)
        winner = (returns[first].mean(axis=0) / returns[first].std(axis=0, ddof=1)).argmax()
        ratio = returns[other].mean(axis=0) / returns[other].std(axis=0, ddof=1)
        below.append(rankdata(ratio)[winner] <= (equity.shape[1] + 1) / 2)
    return np.mean(below)


@pytest.mark.parametrize("n", [16, 97, 200])
@pytest.mark.parametrize("k", [2, 5])
def test_the_probability_split_by_split(n, k):
    equity = random_equity(n + k, n, k)
    assert overfitting_probability(equity, 8) == pytest.approx(slow_probability(equity, 8), abs=1e-15)


def test_a_portfolio_that_is_always_best_is_not_overfitted():
    assert overfitting_probability(random_equity(4, drift=[0.0, 0.0, 0.0, 0.0, 0.02])) == 0.0


def test_the_best_in_one_half_is_the_worst_in_the_other():
    """Two portfolios that take turns: whatever is better on half of the blocks is worse on the rest."""
    steps = 0.001 * np.random.default_rng(5).standard_normal((160, 1)) + np.zeros((160, 2))
    steps[:80, 0] += 0.01
    steps[80:, 1] += 0.01
    equity = pd.DataFrame(np.vstack([np.ones(2), np.cumprod(1.0 + steps, axis=0)]))
    assert overfitting_probability(equity, 2) == 1.0


@pytest.mark.parametrize(
    "equity", [random_equity(6, 31), random_equity(7, k=1), random_equity(8).assign(b=1.0)]
)
def test_too_little_to_tell(equity):
    assert np.isnan(overfitting_probability(equity))
