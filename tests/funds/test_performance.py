"""Measures of equity curves by hand and by brute force."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodual.funds.evaluation.performance import (
    annual_return,
    annual_returns,
    describe,
    max_drawdown,
    rolling_drawdown,
    sharpe,
    volatility,
    worst_drawdowns,
)


def curve(values, start="2019-12-30"):
    days = pd.bdate_range(start, periods=len(values))
    return pd.Series(np.asarray(values, dtype=float), index=days, name="x")


def random_curve(seed, n=700):
    return curve(np.exp(np.cumsum(0.01 * np.random.default_rng(seed).standard_normal(n))))


def brute_drawdown(values):
    return min(b / a for i, a in enumerate(values) for b in values[i:]) - 1.0


@pytest.mark.parametrize("step", ["B", "W", "ME", "D", "QE"])
def test_doubling_every_year_is_a_return_of_one_whatever_the_rows(step):
    days = pd.date_range("2012-01-02", "2016-12-30", freq=step)
    years = (days - days[0]) / pd.Timedelta(days=365.25)
    assert annual_return(pd.Series(2.0**years, index=days)) == pytest.approx(1.0, rel=1e-12)


def test_a_weekly_file_says_what_the_daily_one_does():
    """Every fifth row of a random walk: the same return, and nearly the same volatility and Sharpe ratio."""
    daily = random_curve(5, 5000)
    weekly = daily.iloc[::5]
    assert annual_return(weekly) == pytest.approx(annual_return(daily.loc[: weekly.index[-1]]), rel=1e-12)
    assert volatility(weekly) == pytest.approx(volatility(daily), rel=0.05)
    assert volatility(daily) == pytest.approx(0.01 * np.sqrt(261.0), rel=0.05)


def test_volatility_and_sharpe_by_hand():
    equity = curve([1.0, 1.1, 1.1, 1.32])
    # Returns 0.1, 0, 0.2: mean 0.1, standard deviation 0.1; three rows in three days.
    assert volatility(equity) == pytest.approx(0.1 * np.sqrt(365.25), rel=1e-12)
    assert sharpe(equity) == pytest.approx(np.sqrt(365.25), rel=1e-12)


@pytest.mark.parametrize("growth", [1.0, 1.001, 0.97])
def test_equal_returns_have_no_volatility_and_no_sharpe(growth):
    equity = curve(growth ** np.arange(300))
    assert volatility(equity) == 0.0
    assert np.isnan(sharpe(equity))


def test_drawdown_by_hand():
    assert max_drawdown(curve([1.0, 2.0, 1.5, 1.8, 1.0, 3.0])) == -0.5
    assert max_drawdown(curve([1.0, 2.0, 3.0])) == 0.0


@given(seed=st.integers(0, 10**6), window=st.integers(1, 40))
def test_rolling_drawdown_is_that_of_each_window(seed, window):
    equity = random_curve(seed, 50)
    values = equity.to_numpy()
    days = equity.index
    first = [int((days < day - pd.Timedelta(days=window)).sum()) for day in days]
    expected = [brute_drawdown(values[first[t] : t + 1]) for t in range(len(values))]
    ours = rolling_drawdown(equity, window)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-15)
    assert ours.index.equals(equity.index)


def test_rolling_drawdown_of_a_year_is_that_of_pandas_windows():
    equity = random_curve(1)
    expected = equity.rolling("365D", closed="both", min_periods=1).apply(
        lambda x: (x / np.maximum.accumulate(x)).min() - 1.0, raw=True
    )
    np.testing.assert_allclose(rolling_drawdown(equity), expected, rtol=0, atol=1e-15)


def test_years_by_hand():
    # 30 and 31 December 2019, then 1 and 2 January 2020.
    returns = annual_returns(curve([1.0, 2.0, 1.0, 3.0]))
    assert returns.to_dict() == {2019: 1.0, 2020: 0.5}
    assert returns.index.name == "year"


def test_a_year_that_only_holds_the_start_has_no_return():
    assert annual_returns(curve([1.0, 2.0], start="2019-12-31")).to_dict() == {2020: 1.0}


def test_years_chain_to_the_whole():
    equity = random_curve(2, 1500)
    assert (1.0 + annual_returns(equity)).prod() == pytest.approx(equity.iloc[-1] / equity.iloc[0], rel=1e-12)


def test_drawdowns_by_hand():
    equity = curve([1.0, 1.0, 0.9, 0.95, 1.2, 0.6, 0.5, 1.2, 1.3, 1.2])
    day = equity.index
    table = worst_drawdowns(equity)
    assert table["peak"].tolist() == [day[4], day[1], day[8]]
    assert table["trough"].tolist() == [day[6], day[2], day[9]]
    assert table["recovery"].tolist()[:2] == [day[7], day[4]]
    assert table["recovery"].isna().tolist() == [False, False, True]
    np.testing.assert_allclose(table["depth"], [0.5 / 1.2 - 1.0, -0.1, 1.2 / 1.3 - 1.0], rtol=1e-12)
    pd.testing.assert_frame_equal(worst_drawdowns(equity, 1), table.iloc[:1])


@given(seed=st.integers(0, 10**6))
def test_drawdowns_do_not_overlap_and_the_first_is_the_deepest(seed):
    equity = random_curve(seed, 200)
    table = worst_drawdowns(equity, 200).sort_values("peak")
    assert table["depth"].min() == max_drawdown(equity)
    assert (table["recovery"].to_numpy()[:-1] <= table["peak"].to_numpy()[1:]).all()
    below = (equity < equity.cummax()).sum()
    ends = table["recovery"].fillna(equity.index[-1] + pd.offsets.BDay())
    assert sum(np.busday_count(table["peak"].dt.date.to_list(), ends.dt.date.to_list()) - 1) == below


@given(seed=st.integers(0, 10**6), scale=st.floats(1e-6, 1e6))
def test_measures_are_free_of_the_scale(seed, scale):
    equity = random_curve(seed, 100)
    np.testing.assert_allclose(describe(scale * equity), describe(equity), rtol=1e-9)


def test_description_holds_the_measures():
    equity = random_curve(3)
    expected = {f.__name__: f(equity) for f in (annual_return, volatility, sharpe, max_drawdown)}
    assert describe(equity).to_dict() == expected


def test_short_curves_give_what_is_known():
    nothing, start, step = curve([]), curve([2.0]), curve([1.0, 0.5], start="2020-01-01")
    assert describe(nothing).isna().all()
    np.testing.assert_array_equal(describe(start), [np.nan, np.nan, np.nan, 0.0])
    np.testing.assert_allclose(describe(step), [0.5**365.25 - 1.0, np.nan, np.nan, -0.5])
    for equity, drawdown in ((nothing, []), (start, [0.0]), (step, [0.0, -0.5])):
        np.testing.assert_array_equal(rolling_drawdown(equity), drawdown)
        assert len(annual_returns(equity)) == len(worst_drawdowns(equity)) == max(len(equity) - 1, 0)
    assert worst_drawdowns(nothing).dtypes.equals(worst_drawdowns(step).dtypes)
    assert annual_return(curve([1.0, 1000.0])) == np.inf


@pytest.mark.parametrize("bad", [np.nan, 0.0, -1.0, np.inf])
def test_curves_are_positive_and_finite(bad):
    with pytest.raises(ValueError, match="`equity` must be positive and finite"):
        describe(curve([1.0, bad, 1.0]))
