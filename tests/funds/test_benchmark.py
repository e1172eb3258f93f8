"""A portfolio against an index: by hand, for portfolios made from the index, and where nothing moves."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds.evaluation import performance

DAYS = pd.bdate_range("2012-01-02", "2014-03-31")


def from_returns(returns, days=DAYS):
    return pd.Series(np.append(1.0, np.cumprod(1.0 + np.asarray(returns))), index=days[: len(returns) + 1])


@pytest.fixture
def market():
    return 0.01 * np.random.default_rng(0).standard_normal(len(DAYS) - 1)


def test_a_line_is_found(market):
    index, equity = from_returns(market), from_returns(0.0002 + 0.7 * market)
    per_year = (len(DAYS) - 1) / ((DAYS[-1] - DAYS[0]).days / 365.25)
    assert performance.alpha_beta(equity, index) == pytest.approx((0.0002 * per_year, 0.7), rel=1e-9)
    expected = 0.3 * market.std(ddof=1) * np.sqrt(per_year)
    assert performance.tracking_error(equity, index) == pytest.approx(expected, rel=1e-9)
    ratio = (0.0002 - 0.3 * market.mean()) * per_year / expected
    assert performance.information_ratio(equity, index) == pytest.approx(ratio, rel=1e-9)


def test_the_index_against_itself(market):
    index = from_returns(market)
    assert performance.alpha_beta(index, index) == pytest.approx((0.0, 1.0), abs=1e-12)
    assert performance.tracking_error(index, index) == 0.0
    assert np.isnan(performance.information_ratio(index, index))
    assert performance.capture_ratios(index, index) == (1.0, 1.0)


def test_an_index_in_other_units_is_the_same(market):
    index, equity = from_returns(market), from_returns(np.roll(market, 1))
    for measure in (performance.alpha_beta, performance.tracking_error, performance.capture_ratios):
        np.testing.assert_allclose(measure(equity, 3500.0 * index), measure(equity, index), rtol=1e-9)


def test_capture_by_hand():
    days = pd.to_datetime(["2019-12-31", "2020-01-31", "2020-02-28", "2020-03-31", "2020-04-30"])
    index = from_returns([0.1, -0.1, 0.2, 0.0], days)
    equity = from_returns([0.05, -0.2, 0.1, 0.5], days)
    # Two months up and one down, each kind as if twelve months were like them.
    up = ((1.05 * 1.1) ** 6.0 - 1.0) / ((1.1 * 1.2) ** 6.0 - 1.0)
    down = (0.8**12.0 - 1.0) / (0.9**12.0 - 1.0)
    assert performance.capture_ratios(equity, index) == pytest.approx((up, down), rel=1e-12)
    # A start in the middle of a month adds no month.
    before = [pd.Series(1.1, [pd.Timestamp("2019-12-16")]), pd.Series(0.9, [pd.Timestamp("2019-12-16")])]
    longer = [pd.concat([first, curve]) for first, curve in zip(before, (equity, index), strict=True)]
    assert performance.capture_ratios(*longer) == pytest.approx((up, down), rel=1e-12)


def test_capture_ratios_are_missing_without_such_months():
    rising = from_returns(np.full(300, 0.001))
    up, down = performance.capture_ratios(rising, rising)
    assert up == 1.0
    assert np.isnan(down)


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_returns(n):
    equity, index = from_returns([0.1][:n]), from_returns([0.2][:n])
    found = [*performance.alpha_beta(equity, index), performance.tracking_error(equity, index)]
    assert np.isnan([*found, performance.information_ratio(equity, index)]).all()
    assert np.isnan(performance.capture_ratios(equity, index)[1])


def test_two_days_that_annualize_to_infinity():
    equity, index = from_returns([9.0]), from_returns([9.0])
    assert np.isnan(performance.capture_ratios(equity, index)).all()


def test_an_index_that_stands_still(market):
    equity, still = from_returns(market), from_returns(np.zeros_like(market))
    assert np.isnan(performance.alpha_beta(equity, still)).all()
    assert np.isnan(performance.capture_ratios(equity, still)).all()
    assert performance.alpha_beta(still, equity) == (0.0, 0.0)
    assert performance.roll_beta(pd.DataFrame({"a": equity, "index": still})).isna().all(axis=None)


def test_rolling_beta_is_that_of_the_window(market):
    rng = np.random.default_rng(1)
    equity = pd.DataFrame({"index": from_returns(market)})
    for name, beta in (("a", 0.5), ("b", -1.0)):
        equity[name] = from_returns(beta * market + 0.005 * rng.standard_normal(len(market)))
    found = performance.roll_beta(equity)
    assert list(found.columns) == ["a", "b"]
    for day in equity.index[::11]:
        older = equity.index[equity.index <= day - pd.Timedelta(days=365)]
        for name in found:
            window = equity.loc[older[-1] : day] if len(older) else equity[:1]
            expected = performance.alpha_beta(window[name], window["index"])[1]
            assert found.loc[day, name] == pytest.approx(expected, rel=1e-10, nan_ok=True)
