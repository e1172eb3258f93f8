"""Which rows are trading days: judged by the funds that are alive, and by the past only."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds import Panel, backtest, check_leakage, select, synthetic_universe
from geodual.funds.calendar import keep_trading_days, trading_rows


@pytest.fixture(scope="module")
def nav():
    return synthetic_universe(40, "2014-01-02", "2015-12-31", seed=4).panel.nav


def with_stray_rows(nav, days, n_values=2):
    """Add rows on which a few funds publish their last value again."""
    extra = pd.DataFrame(np.nan, index=pd.DatetimeIndex(days, name="date"), columns=nav.columns)
    known = nav.ffill()
    for day in extra.index:
        some = known.loc[:day].iloc[-1].dropna().index[:n_values]
        extra.loc[day, some] = known.loc[:day].iloc[-1][some]
    return pd.concat([nav, extra]).sort_index()


def test_a_stray_row_is_no_trading_day_and_all_others_are(nav):
    days = ["2014-10-04", "2014-10-05", "2014-10-06", "2015-06-20"]
    rows = trading_rows(with_stray_rows(nav, days))
    assert (~rows).sum() == len(days)
    assert trading_rows(nav).all()
    assert keep_trading_days(Panel(nav)).nav is nav


@pytest.mark.usefixtures("no_fresh_processes")
def test_stray_rows_change_no_decision_and_no_trade(nav):
    """Among them the day after a rebalance, when orders are executed, and a later last day of a quarter."""
    ends = nav.index.to_series().groupby(nav.index.to_period("Q")).max()
    after = [end + pd.Timedelta(days=1) for end in ends if end + pd.Timedelta(days=1) not in nav.index]
    stray = with_stray_rows(nav, [*after[:4], pd.Timestamp("2015-03-07")])
    assert len(stray) > len(nav)
    settings = {"metrics": ["euclidean", "gmml"], "execution_lag": 1, "cost": 0.001}
    plain, other = (backtest(Panel(table), **settings) for table in (nav, stray))
    for name in ("predictions", "holdings", "equity", "cash", "trades", "fills"):
        pd.testing.assert_frame_equal(getattr(plain, name), getattr(other, name), check_exact=True)
    assert any("rows are left out" in note for note in other.notes)
    assert (other.cash.iloc[5:] < 1e-12).all(axis=None)
    chosen = [select(table, metric="euclidean").picks for table in (nav, stray)]
    pd.testing.assert_frame_equal(*chosen, check_exact=True)
    assert check_leakage(Panel(stray), "euclidean").passed


def test_after_a_mass_closure_the_funds_that_are_left_make_the_calendar(nav):
    left = nav.copy()
    left.loc["2015-06-01":, nav.columns[5:]] = np.nan
    rows = trading_rows(left)
    assert not rows[left.index.get_loc("2015-06-02")]
    assert rows[left.index > "2015-06-20"].all()


def test_on_a_day_of_the_index_fewer_funds_are_enough(nav):
    stray = with_stray_rows(nav, ["2014-10-04"], n_values=12)
    assert not trading_rows(stray).all()
    assert trading_rows(stray, pd.DatetimeIndex(["2014-10-04"])).all()


def test_a_row_is_judged_by_the_past_only(nav):
    stray = with_stray_rows(nav, ["2014-10-04", "2015-06-20"])
    whole = trading_rows(stray)
    for row in (200, 250, 400):
        np.testing.assert_array_equal(trading_rows(stray.iloc[:row]), whole[:row])
