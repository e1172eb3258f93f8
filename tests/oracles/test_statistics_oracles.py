"""Inference and performance measures against scipy, statsmodels and empyrical."""

import empyrical
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import spearmanr, ttest_rel
from statsmodels.stats.multitest import multipletests

from geodual.funds.evaluation import performance
from geodual.funds.evaluation.statistics import compare_pairs, holm, newey_west_t, spearman_ic


@pytest.mark.parametrize("n", [3, 4, 30, 700])
@pytest.mark.parametrize("decimals", [1, 12])
def test_ic_is_spearmans(n, decimals):
    rng = np.random.default_rng(n)
    x = rng.standard_normal(n).round(decimals)
    y = (x + rng.standard_normal(n)).round(decimals)
    assert spearman_ic(x, y) == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize("n", [13, 24, 200])
@pytest.mark.parametrize("lags", [None, 0, 1, 5, 12])
def test_newey_west_is_statsmodels(n, lags):
    rng = np.random.default_rng(n)
    x = 0.1 + np.convolve(rng.standard_normal(n + 2), [1.0, 0.6, 0.3], "valid")
    maxlags = int(np.floor(4.0 * (n / 100.0) ** (2.0 / 9.0))) if lags is None else lags
    fit = sm.OLS(x, np.ones(n)).fit(cov_type="HAC", cov_kwds={"maxlags": maxlags, "use_correction": True})
    assert newey_west_t(x, lags) == pytest.approx(fit.tvalues[0], rel=1e-10)


@pytest.mark.parametrize("m", [1, 2, 15, 100])
def test_holm_is_statsmodels(m):
    p = np.random.default_rng(m).random(m).round(2) ** 3
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-14)


def test_without_lags_the_paired_comparison_is_the_paired_t_test(monkeypatch):
    ic = pd.DataFrame(np.random.default_rng(0).standard_normal((12, 2)), columns=["a", "b"])
    monkeypatch.setattr(
        "geodual.funds.evaluation.statistics.newey_west_t", lambda x, **_: newey_west_t(x, lags=0)
    )
    expected = ttest_rel(ic["a"], ic["b"])
    row = compare_pairs(ic).iloc[0]
    assert (row["t"], row["p"]) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-12)


@pytest.mark.parametrize("n", [2, 3, 100, 1000])
@pytest.mark.parametrize("sigma", [1e-4, 0.01, 0.05])
def test_performance_is_empyricals(n, sigma):
    rng = np.random.default_rng(n)
    days = pd.bdate_range("2012-03-30", periods=n + 1)
    equity = pd.Series(np.exp(np.cumsum(sigma * rng.standard_normal(n + 1))), index=days)
    returns = equity.pct_change().iloc[1:]
    a = {"annualization": n / ((days[-1] - days[0]).days / 365.25)}
    assert performance.annual_return(equity) == pytest.approx(
        empyrical.annual_return(returns, **a), rel=1e-10
    )
    assert performance.volatility(equity) == pytest.approx(
        empyrical.annual_volatility(returns, **a), rel=1e-10
    )
    assert performance.sharpe(equity) == pytest.approx(empyrical.sharpe_ratio(returns, **a), rel=1e-9)
    assert performance.max_drawdown(equity) == pytest.approx(empyrical.max_drawdown(returns), abs=1e-13)
    yearly = empyrical.aggregate_returns(returns, "yearly")
    np.testing.assert_allclose(performance.annual_returns(equity), yearly, rtol=0, atol=1e-12)


def test_rolling_drawdown_is_empyricals_once_the_window_is_full():
    rng = np.random.default_rng(0)
    equity = pd.Series(
        np.exp(np.cumsum(0.01 * rng.standard_normal(700))), index=pd.date_range("2012-01-02", periods=700)
    )
    expected = empyrical.roll_max_drawdown(equity.pct_change().iloc[1:], window=365)
    ours = performance.rolling_drawdown(equity).loc[expected.index]
    assert len(ours) == 700 - 365
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-13)
