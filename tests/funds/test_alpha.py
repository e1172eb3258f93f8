"""Alphas: alignment, shrinkage, and luck on simulated nulls and mixtures. Errors: `tests/oracles`."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from geodual.funds import DataError, measure_alphas
from geodual.funds.evaluation.alpha import count_luck, shrink, zero_share


def make_market(alphas, n=600, noise=0.004, seed=0):
    rng, days = np.random.default_rng(seed), pd.bdate_range("2014-01-01", periods=n)
    factors = pd.DataFrame(0.01 * rng.standard_normal((n, 2)), days, ["market", "size"])
    returns = factors.to_numpy() @ np.array([[1.0], [0.3]]) + np.array(alphas) / 261.0
    returns = returns + noise * rng.standard_normal((n, len(alphas)))
    return pd.DataFrame((1.0 + returns).cumprod(axis=0), days, [f"F{i}" for i in range(len(alphas))]), factors


@pytest.mark.parametrize("seed", range(3))
def test_where_no_fund_has_alpha_luck_explains_all(seed):
    found = measure_alphas(*make_market(np.zeros(300), seed=seed))
    assert found.zero_share > 0.85
    assert found.luck.loc[0.05, "positive"] < 0.07
    assert found.luck.loc[0.05, "skilled"] < 0.04
    raw = found.table["alpha"].std()
    assert found.spread < 0.35 * raw
    assert found.table["shrunk"].std() < 0.25 * raw


def test_a_mixture_is_told_apart():
    """Of 400 funds, 30 % have an alpha of 15 %, six standard errors; 10 % one of −15 %."""
    alphas = np.repeat([0.15, -0.15, 0.0], [120, 40, 240])
    found = measure_alphas(*make_market(alphas, noise=0.0025))
    assert found.zero_share == pytest.approx(0.6, abs=0.08)
    luck = found.luck.loc[0.1]
    assert luck["skilled"] == pytest.approx(0.3, abs=0.04)
    assert luck["unskilled"] == pytest.approx(0.1, abs=0.04)
    assert luck["false_discoveries"] == pytest.approx(0.5 * 0.6 * 0.1 / 0.33, abs=0.04)
    assert found.mean == pytest.approx(0.03, abs=0.02)
    assert found.spread == pytest.approx(alphas.std(), abs=0.02)


def test_zero_share_of_p_values_that_are_known():
    rng = np.random.default_rng(0)
    nulls, real = rng.random(7000), 1e-4 * rng.random(3000)
    assert zero_share(np.concatenate([nulls, real])) == pytest.approx(0.7, abs=0.03)
    assert zero_share(nulls) == pytest.approx(1.0, abs=0.04)
    assert zero_share(real) == 0.0
    assert np.isnan(zero_share(np.array([np.nan])))


def test_luck_is_counted_by_hand():
    p, t = np.array([0.01, 0.03, 0.3, 0.02, np.nan]), np.array([3.0, 2.2, 1.0, -2.5, np.nan])
    row = count_luck(p, t, 0.5).loc[0.05]
    expected = {"positive": 0.5, "lucky": 0.0125, "skilled": 0.4875, "negative": 0.25, "unskilled": 0.2375}
    assert row[list(expected)].to_dict() == pytest.approx(expected)
    assert row["false_discoveries"] == pytest.approx(0.025)


def test_shrinkage_is_the_posterior_mean():
    """With equal errors the equations have a closed form: τ² is the variance less that of the errors."""
    x = np.random.default_rng(1).normal(1.0, 2.0, size=50)
    shrunk, mean, spread = shrink(x, np.full(50, 0.7))
    variance = x.var(ddof=1) - 0.49
    assert (mean, spread) == (pytest.approx(x.mean()), pytest.approx(np.sqrt(variance), rel=1e-9))
    np.testing.assert_allclose(shrunk, x.mean() + variance / (variance + 0.49) * (x - x.mean()), rtol=1e-9)
    all_one, mean, spread = shrink(x, np.full(50, 10.0))
    assert spread == 0.0
    np.testing.assert_allclose(all_one, mean)
    assert np.isnan(shrink(np.array([1.0, np.nan]), np.ones(2))[0]).all()


def test_shrunk_alphas_are_nearer_to_the_truth():
    true = 0.03 * norm.ppf(np.linspace(0.005, 0.995, 200))
    table = measure_alphas(*make_market(true, n=400)).table
    raw, better = (np.sqrt(np.mean((table[name] - true) ** 2)) for name in ("alpha", "shrunk"))
    assert better < 0.75 * raw


def test_monthly_factors_are_matched_over_their_own_spans():
    nav, factors = make_market([0.1], n=1600, noise=0.0)
    growth = (1.0 + factors).cumprod()
    months = growth.groupby(growth.index.to_period("M")).tail(1)
    monthly = (months / months.shift(1) - 1.0).iloc[1:-1]  # without the last month, which is not over
    found = measure_alphas(
        nav, monthly.set_axis(monthly.index.to_period("M").to_timestamp(how="end").normalize())
    )
    assert found.table.loc["F0", "n"] == len(monthly) - 1
    assert found.table.loc["F0", "beta_market"] == pytest.approx(1.0, abs=0.05)
    assert found.table.loc["F0", "r2"] > 0.99


def test_a_column_rf_is_the_risk_free_return():
    nav, factors = make_market([0.0, 0.05])
    daily = (
        1.05 ** (np.append(0, np.diff(factors.index).astype("timedelta64[D]").astype(float)) / 365.25) - 1.0
    )
    by_column = measure_alphas(nav, factors.assign(RF=daily)).table
    by_rate = measure_alphas(nav, factors, risk_free=0.05).table
    pd.testing.assert_frame_equal(by_column, by_rate, rtol=1e-9)
    assert (measure_alphas(nav, factors).table["alpha"] - by_rate["alpha"]).mean() == pytest.approx(
        0.049, abs=2e-3
    )


def test_funds_that_cannot_be_measured_are_missing():
    nav, factors = make_market(np.zeros(3))
    nav = nav.assign(short=nav["F0"].where(np.arange(600) < 20), flat=1.0)
    found = measure_alphas(nav, factors)
    assert found.table.loc[["short", "flat"], ["alpha", "p", "shrunk"]].isna().all(axis=None)
    assert found.table.loc[["F0", "F1", "F2"], "alpha"].notna().all()
    doubled = measure_alphas(nav, factors.assign(twice=2.0 * factors["market"]))
    assert doubled.table["alpha"].isna().all()
    assert np.isnan(doubled.zero_share)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda f: 100.0 * f, "divide percentages by 100"),
        (lambda f: f.iloc[:1], "fewer than two days"),
        (lambda f: pd.DataFrame({"RF": f["market"]}), "no column other than the days and RF"),
        (lambda f: f.assign(size="x"), "not a number"),
    ],
)
def test_bad_factors_are_refused(change, told):
    nav, factors = make_market([0.0])
    with pytest.raises(DataError, match=told):
        measure_alphas(nav, change(factors))
