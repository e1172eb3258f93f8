"""Statistics of portfolios against quantstats, empyrical and ffn, on synthetic and on real funds."""

import os
import warnings

import empyrical
import ffn
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

with warnings.catch_warnings():  # quantstats sets up its plots when it is imported
    warnings.simplefilter("ignore")
    import quantstats.stats as qs

from geodual.funds import read_nav, synthetic_universe
from geodual.funds.evaluation import overfitting, performance
from geodual.funds.evaluation.performance import rows_per_year

CLOSE = {"rel": 1e-9, "abs": 1e-12}


def real_curves():
    """Six funds of the real table, on the days on which all of them have a value; the last is the index."""
    nav = read_nav(os.environ["GEODUAL_NAV"]).nav
    full = nav.loc[:, nav.notna().mean() > 0.95]
    return full.iloc[:, np.linspace(0, full.shape[1] - 1, 6).astype(int)].dropna()


def synthetic_curves():
    universe = synthetic_universe(12, "2012-01-04", "2014-12-31", seed=5)
    nav = universe.panel.nav.dropna(axis="columns").iloc[:, :5]
    return nav.assign(index=universe.index.reindex(nav.index)).dropna()


@pytest.fixture(
    scope="module",
    params=[
        "synthetic",
        pytest.param(
            "real",
            marks=pytest.mark.skipif(
                "GEODUAL_NAV" not in os.environ, reason="GEODUAL_NAV names no table of real NAVs"
            ),
        ),
    ],
)
def curves(request):
    table = real_curves() if request.param == "real" else synthetic_curves()
    return table.set_axis([*"abcde", "index"], axis="columns")


@pytest.fixture(params=list("abcde"))
def pair(curves, request):
    """A curve and the index, their returns, and the number of rows per year."""
    own, index = curves[request.param], curves["index"]
    per_year = (len(own) - 1) / ((own.index[-1] - own.index[0]).days / 365.25)
    return own, index, own.pct_change().iloc[1:], index.pct_change().iloc[1:], per_year


def test_the_number_of_rows_per_year_is_that_of_the_calendar(pair):
    assert rows_per_year(pair[0].index) == pytest.approx(pair[-1], rel=1e-15)


def test_sortino_and_cvar(pair):
    own, _, returns, _, per_year = pair
    found = performance.sortino(own)
    assert found == pytest.approx(empyrical.sortino_ratio(returns, annualization=per_year), **CLOSE)
    assert found == pytest.approx(qs.sortino(returns, periods=per_year), **CLOSE)
    assert performance.cvar(own) == pytest.approx(empyrical.conditional_value_at_risk(returns), **CLOSE)
    assert performance.cvar(own) == pytest.approx(qs.cvar(returns, method="historical"), **CLOSE)


def test_alpha_and_beta(pair):
    own, index, returns, market, per_year = pair
    alpha, beta = performance.alpha_beta(own, index)
    greeks = qs.greeks(returns, market, periods=per_year)
    assert (alpha, beta) == pytest.approx((greeks["alpha"], greeks["beta"]), **CLOSE)
    fit = sm.OLS(returns.to_numpy(), sm.add_constant(market.to_numpy())).fit()
    assert (alpha / per_year, beta) == pytest.approx(tuple(fit.params), **CLOSE)
    assert beta == pytest.approx(empyrical.beta(returns, market), **CLOSE)
    # empyrical compounds alpha.
    compounded = empyrical.alpha(returns, market, annualization=per_year)
    assert (1.0 + alpha / per_year) ** per_year - 1.0 == pytest.approx(compounded, **CLOSE)


def test_tracking_error_and_information_ratio(pair):
    own, index, returns, market, per_year = pair
    ahead = empyrical.annual_volatility(returns - market, annualization=per_year)
    assert performance.tracking_error(own, index) == pytest.approx(ahead, **CLOSE)
    found = performance.information_ratio(own, index) / np.sqrt(per_year)  # theirs are not annualized
    assert found == pytest.approx(qs.information_ratio(returns, market), **CLOSE)
    assert found == pytest.approx(ffn.calc_information_ratio(returns, market), **CLOSE)
    assert found == pytest.approx(empyrical.excess_sharpe(returns, market), **CLOSE)


def test_capture_ratios_are_those_of_monthly_returns(pair):
    """Of calendar months after the first, in which the curves begin."""
    own, index, returns, market, _ = pair
    own_months, index_months = (
        empyrical.aggregate_returns(part, "monthly").iloc[1:] for part in (returns, market)
    )
    up = empyrical.up_capture(own_months, index_months, period="monthly")
    down = empyrical.down_capture(own_months, index_months, period="monthly")
    assert performance.capture_ratios(own, index) == pytest.approx((up, down), **CLOSE)


def test_monthly_returns(curves):
    found = performance.monthly_returns(curves)
    for name in curves:
        returns = curves[name].pct_change().iloc[1:]
        expected = empyrical.aggregate_returns(returns, "monthly")
        assert [(month.year, month.month) for month in found.index] == list(expected.index)
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-12)
        by_year = qs.monthly_returns(returns, eoy=False)
        shown = [by_year.loc[str(month.year), month.strftime("%b").upper()] for month in found.index]
        np.testing.assert_allclose(found[name], shown, rtol=0, atol=1e-12)


def filled(curves):
    """The curves on every calendar day, so that a window of a year always has 365 returns."""
    return curves.asfreq("D").ffill()


def test_rolling_sharpe_and_beta(curves):
    daily = filled(curves)
    sharpe, beta = performance.roll_sharpe(daily), performance.roll_beta(daily)
    returns = daily.pct_change().iloc[1:]
    for name in daily.columns:
        expected = qs.rolling_sharpe(returns[name], rolling_period=365, periods_per_year=365.25)
        np.testing.assert_allclose(sharpe[name].iloc[1:], expected, rtol=1e-9, atol=1e-9)
    for name in beta:
        expected = qs.rolling_greeks(returns[name], returns["index"], periods=365)["beta"]
        np.testing.assert_allclose(beta[name].iloc[1:], expected, rtol=1e-9, atol=1e-9)
        rolled = empyrical.roll_beta(returns[name], returns["index"], window=365)
        np.testing.assert_allclose(beta[name].iloc[365:], rolled, rtol=1e-9, atol=1e-9)


def test_probabilistic_sharpe(pair):
    own, _, returns, _, _ = pair
    found = overfitting.probabilistic_sharpe(performance.row_returns(own))
    assert found == pytest.approx(qs.probabilistic_sharpe_ratio(returns), **CLOSE)
    assert found == pytest.approx(ffn.calc_deflated_sharpe_ratio(returns, [0.1], nperiods=1), **CLOSE)


def test_deflated_sharpe(curves):
    trials = curves.drop(columns="index")
    returns = trials.pct_change().iloc[1:]
    ratios = returns.mean() / returns.std()
    table = overfitting.deflate_sharpe(trials, len(trials.columns))
    for name in trials:
        expected = ffn.calc_deflated_sharpe_ratio(returns[name], ratios, nperiods=1, annualized_trials=False)
        assert table.loc[name, "deflated_sharpe"] == pytest.approx(expected, **CLOSE)
        assert table.loc[name, "deflated_sharpe"] < table.loc[name, "probabilistic_sharpe"]


@pytest.mark.parametrize("trials", [1, 2, 6, 100])
def test_the_hurdle_for_any_number_of_trials(trials):
    found = overfitting.expected_best_sharpe(trials, 0.03)
    assert found == pytest.approx(ffn.core.calc_expected_max_sharpe(trials, 0.03), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("n_blocks", [2, 6, 8])
def test_the_probability_of_overfitting(curves, n_blocks):
    trials = curves.drop(columns="index")
    expected = ffn.calc_prob_backtest_overfitting(trials.pct_change().iloc[1:], n_blocks)
    assert overfitting.overfitting_probability(trials, n_blocks) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_probability_of_overfitting_with_twins(seed):
    returns = pd.DataFrame(0.01 * np.random.default_rng(seed).standard_normal((163, 4)), columns=list("abcd"))
    returns = returns.assign(e=returns["b"], f=returns["a"])
    equity = (1.0 + returns).cumprod()
    expected = ffn.calc_prob_backtest_overfitting(equity.pct_change().iloc[1:], 8)
    assert overfitting.overfitting_probability(equity, 8) == pytest.approx(expected, abs=1e-12)
    assert 0.0 < expected < 1.0
