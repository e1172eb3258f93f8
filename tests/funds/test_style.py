"""Style regression: planted weights, windows, intervals, and what cannot be estimated."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds import DataError, style_regression

DAYS = pd.bdate_range("2010-12-31", "2016-12-30")
MONTHS = pd.date_range("2010-12-31", periods=73, freq="ME")


def draw(weights, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    x = 0.04 * rng.standard_normal((72, len(weights[0])))
    share = np.array(weights)[np.arange(72) * len(weights) // 72]
    y = (x * share).sum(axis=1) + noise * rng.standard_normal(72)
    levels = np.vstack([np.ones(x.shape[1]), (1.0 + x).cumprod(axis=0)])
    indices = pd.DataFrame(levels, MONTHS, [f"I{i}" for i in range(x.shape[1])])
    return pd.Series(np.append(1.0, (1.0 + y).cumprod()), MONTHS), indices


def test_planted_weights_are_found_exactly():
    fund, indices = draw([[0.6, 0.0, 0.4, 0.0]])
    style = style_regression(fund, indices, window=None)
    np.testing.assert_allclose(style.weights["weight"], [0.6, 0.0, 0.4, 0.0], atol=1e-12)
    np.testing.assert_allclose(
        style.weights[["low", "high"]], [[0.6] * 2, [0.0] * 2, [0.4] * 2, [0.0] * 2], atol=1e-9
    )
    fit = style.fit.iloc[0]
    assert (fit["months"], fit["since"]) == (72, pd.Timestamp("2011-01-31"))
    assert fit["r2"] == pytest.approx(1.0, abs=1e-12)
    assert fit["tracking_error"] == pytest.approx(0.0, abs=1e-12)


def test_a_change_of_style_is_seen_in_rolling_windows():
    fund, indices = draw([[1.0, 0.0], [0.0, 1.0]])
    weights = style_regression(fund, indices, window=36, step=12, n_resamples=0).weights["weight"].unstack()
    assert [day.year for day in weights.index] == [2013, 2014, 2015, 2016]
    np.testing.assert_allclose(weights.iloc[[0, -1]], [[1.0, 0.0], [0.0, 1.0]], atol=1e-12)
    assert weights["I1"].is_monotonic_increasing


def test_selection_is_what_the_style_does_not_explain():
    fund, indices = draw([[0.5, 0.5]])
    ahead = fund * 1.001 ** np.arange(73)
    fit = style_regression(ahead, indices, window=None, n_resamples=0).fit.iloc[0]
    assert fit["selection"] == pytest.approx(0.012, abs=2e-4)


def test_intervals_cover_planted_weights():
    """At a nominal 95 %, 200 draws of an inner weight: binomial noise is 1.5 points."""
    inside = 0
    for seed in range(200):
        fund, indices = draw([[0.5, 0.3, 0.2]], noise=0.01, seed=seed)
        found = style_regression(fund, indices, window=None, n_resamples=200, random_state=seed).weights
        low, high = found["low"].iloc[0], found["high"].iloc[0]
        inside += low <= 0.5 <= high
    assert 0.86 <= inside / 200 <= 0.98


def test_daily_tables_count_by_month_and_gaps_do_not_matter():
    rng = np.random.default_rng(3)
    returns = 0.01 * rng.standard_normal((len(DAYS), 2))
    indices = pd.DataFrame((1.0 + returns).cumprod(axis=0), DAYS, ["a", "b"])
    fund = indices["a"].iloc[::3]  # another calendar
    fund = fund[(fund.index.month != 5) | (fund.index.year != 2014)]
    style = style_regression(fund, indices, window=None, n_resamples=0)
    assert style.fit["months"].iloc[0] == 70  # two returns need May 2014
    assert style.weights["weight"].iloc[0] > 0.9


def test_the_same_seed_gives_the_same_intervals():
    fund, indices = draw([[0.5, 0.5]], noise=0.01)
    first, again = (style_regression(fund, indices, random_state=5).weights for _ in range(2))
    pd.testing.assert_frame_equal(first, again)


def test_collinear_indices_still_give_weights():
    fund, indices = draw([[0.5, 0.5]])
    style = style_regression(fund, indices.assign(copy=indices["I0"]), window=None)
    weights = style.weights["weight"].droplevel("until")
    assert weights.sum() == pytest.approx(1.0)
    assert weights["I0"] + weights["copy"] == pytest.approx(0.5, abs=1e-9)


def test_short_histories_have_no_style():
    fund, indices = draw([[0.5, 0.5]])
    for nav, window in ((fund.iloc[:12], None), (fund.iloc[:30], 36)):
        style = style_regression(nav, indices, window=window)
        assert style.weights.empty
        assert style.fit.empty
    assert len(style_regression(fund.iloc[:13], indices, window=None).fit) == 1


def test_a_flat_fund_has_weights_but_no_r2():
    _, indices = draw([[0.5, 0.5]])
    style = style_regression(pd.Series(1.0, MONTHS), indices, window=None, n_resamples=0)
    assert np.isnan(style.fit["r2"].iloc[0])
    assert style.weights["weight"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize(("name", "value"), [("window", 3), ("step", 0), ("n_resamples", -1)])
def test_bad_parameters_are_named(name, value):
    fund, indices = draw([[0.5, 0.5]])
    with pytest.raises(DataError, match=f"`{name}` must be at least"):
        style_regression(fund, indices, **{name: value})
    with pytest.raises(DataError, match="`indices` must be"):
        style_regression(fund, indices["I0"])


def test_a_study_has_the_styles_of_its_portfolios(study, universe):
    indices = universe.panel.nav.loc[:, universe.panel.nav.notna().all()].iloc[:, :3]
    found = study.style(indices, window=None, n_resamples=0)
    assert found.index.get_level_values("forecaster").unique().tolist() == [*study.config.compared, "index"]
    alone = style_regression(study.equity["gmml"], indices, window=None, n_resamples=0).weights
    pd.testing.assert_frame_equal(found.loc["gmml"], alone)
    assert found["weight"].groupby("forecaster").sum().to_numpy() == pytest.approx(1.0)
