"""The trend forecaster: where it starts from, and that it finds skill that no single factor sees in full."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata, spearmanr

from geodual.funds import DataError, backtest, compute_factors, synthetic_universe
from geodual.funds.evaluation.statistics import stationary_bootstrap_interval
from geodual.funds.forecasters.training import Today, Training
from geodual.funds.forecasters.trend import TrendForecaster


def draw(seed=0, n_intervals=3, n_funds=30):
    rng = np.random.default_rng(seed)
    n = n_intervals * n_funds
    funds = pd.Index([f"F{i:02d}" for i in range(n_funds)])
    names = ("sharpe_10", "sharpe_90", "roc_90", "stddev_90")
    mix = np.array([[1.0, 0.5, 0.5, 0.0], [0.0, 1.0, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    training = Training(
        rng.standard_normal((n, 4)) @ mix,
        rng.standard_normal(n),
        np.repeat(np.arange(n_intervals)[::-1], n_funds),
        funds.append([funds] * (n_intervals - 1)),
    )
    features = rng.standard_normal((n_funds, 4)) @ mix
    return training, Today(pd.Timestamp("2016-12-30"), funds, features, np.ones(n_funds), columns=names)


def test_it_starts_from_the_sharpe_ratios_and_what_goes_together_with_them():
    training, today = draw()
    forecast = TrendForecaster().forecast(training, today)
    among = np.mean(
        [np.corrcoef(training.features[training.age == age], rowvar=False) for age in range(3)], axis=0
    )
    e = np.array([1.0, 1.0, 0.0, 0.0])
    s = among @ e
    b = e / np.sqrt(e @ among @ e) + s / np.sqrt(s @ among @ s)
    spread = np.mean([training.features[training.age == age].std(axis=0) for age in range(3)], axis=0)
    expected = today.features @ (b / spread)
    np.testing.assert_array_equal(rankdata(forecast.values), rankdata(expected))
    assert forecast.unit == "rank"
    assert forecast.part_names == today.columns
    np.testing.assert_allclose(np.ptp(forecast.parts.sum(axis=1) - forecast.values), 0.0, atol=1e-12)


def test_permuting_the_funds_permutes_the_forecasts():
    training, today = draw(1)
    order = np.random.default_rng(1).permutation(len(today.funds))
    moved = Today(today.day, today.funds[order], today.features[order], today.known, columns=today.columns)
    before, after = (TrendForecaster().forecast(training, day).values for day in (today, moved))
    np.testing.assert_allclose(after, before[order], atol=1e-12)


def test_the_level_of_the_market_changes_nothing():
    training, today = draw(2)
    bull = Training(training.features, training.returns + 0.5 * training.age, training.age, training.funds)
    before, after = (TrendForecaster().forecast(past, today).values for past in (training, bull))
    np.testing.assert_allclose(after, before, atol=1e-12)


def test_an_anchor_that_is_no_factor_is_named():
    training, today = draw(3)
    with pytest.raises(
        DataError, match=r"`anchor`, alpha_\*, names no factor of this study; known are sharpe_10"
    ):
        TrendForecaster(anchor=("alpha_*",)).forecast(training, today)


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


def test_it_finds_hidden_skill_that_the_baselines_miss(hidden):
    forecasters = {"trend": TrendForecaster(), "momentum": "momentum", "return_12m": "return_12m"}
    ic = backtest(hidden.panel, forecasters=forecasters, baselines=()).ic
    for baseline in ("momentum", "return_12m"):
        low, _ = stationary_bootstrap_interval(ic["trend"] - ic[baseline])
        assert low > 0.0, baseline
