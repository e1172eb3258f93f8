"""Weekly and monthly tables: windows cover the time that they cover on a daily table, whatever the rows."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds import DataError, Panel, backtest, check_leakage, compute_factors, synthetic_universe
from geodual.funds.calendar import half_gap, rebalance_days, rows_in, rows_per_year, trading_rows
from geodual.funds.config import StudyConfig
from geodual.funds.decisions.observations import decision_rows, observe, possible_rows
from geodual.funds.evaluation.ledger import run_ledger
from geodual.funds.evaluation.market import FeeRules
from geodual.funds.evaluation.performance import sharpe, volatility
from geodual.funds.evaluation.trailing import rolling_returns, trailing_returns, year_returns
from geodual.funds.factors.compute import compute_columns
from geodual.funds.factors.factor import WindowedFactor, choose_factors
from geodual.funds.sources.reading.fund_facts import no_facts

FORMS = {"last business days": "BME", "month ends": "ME", "month starts": "MS"}


@pytest.fixture(scope="module")
def daily():
    return synthetic_universe(30, "2011-01-03", "2014-12-31", seed=3).panel.nav


def taken_on(daily, days):
    """Return the last values up to some days, as rows of these days."""
    days = pd.DatetimeIndex(days, name="date")
    return daily.ffill().iloc[daily.index.searchsorted(days, side="right") - 1].set_axis(days)


def monthly(daily, form="month ends"):
    return taken_on(daily, pd.date_range("2011-01-31", "2014-12-31", freq=FORMS[form]))


def weekly(daily):
    return taken_on(daily, pd.date_range("2011-01-07", "2014-12-26", freq="W-FRI"))


def decisions(nav, frequency="quarterly", **settings):
    config = StudyConfig(frequency=frequency, **settings)
    observed = observe(Panel(nav), config, choose_factors().on(nav.index), no_facts())
    return observed.days[possible_rows(observed, config)]


@pytest.mark.parametrize(
    ("freq", "per_year"),
    [("D", 252), ("B", 252), ("W-WED", 52), ("MS", 12), ("ME", 12), ("BME", 12), ("QE", 4), ("YE", 1)],
)
def test_the_rows_per_year_are_those_of_the_median_gap(freq, per_year):
    days = pd.date_range("1990-01-01", "2019-12-31", freq=freq)
    assert rows_per_year(days) == per_year
    kept = np.random.default_rng(0).random(len(days)) > 0.2  # missing days and holidays
    assert rows_per_year(days[kept]) == per_year
    assert rows_per_year(days[:1]) == rows_per_year(days[:0]) == 252


def test_nothing_changes_on_a_daily_table(daily):
    """Rows are days: no window, no factor, no lag and no tolerance differs."""
    factors = choose_factors()
    assert factors.on(daily.index) is factors
    assert half_gap(daily.index) == pd.Timedelta(0)
    assert [rows_in(days, 252, 99) for days in range(100)] == list(range(100))
    assert len(factors.columns) == 70
    assert factors.values_needed == 120
    days = daily.index[[200, 500, 900]]
    given = compute_factors(daily, days, factors)  # as it was: windows are rows, whatever the table
    pd.testing.assert_frame_equal(compute_factors(daily, days), given, check_exact=True)


@pytest.mark.parametrize("form", FORMS)
def test_a_monthly_table_needs_less_than_two_years_before_its_first_decision(daily, form):
    nav = monthly(daily, form)
    made = decisions(nav)
    assert made[0] <= nav.index[0] + pd.DateOffset(months=18)
    assert len(made) >= 10
    by_month = decisions(nav, "monthly")
    assert by_month[0] <= nav.index[0] + pd.DateOffset(months=13)
    assert list(by_month) == list(nav.index[nav.index.get_loc(by_month[0]) : -1])


def test_a_weekly_table_needs_as_much_time_as_a_daily_one(daily):
    quarters = [made[0].to_period("Q") for made in (decisions(daily), decisions(weekly(daily)))]
    assert quarters[0] >= quarters[1] >= quarters[0] - 1


def test_of_windows_with_equally_many_rows_one_remains(daily):
    factors = choose_factors().on(monthly(daily).index)
    assert [name for name in factors.columns if name.startswith(("roc", "ema", "sharpe", "macd"))] == [
        *("roc_21", "roc_42", "roc_63", "roc_90", "ema_42", "ema_63", "ema_90", "sharpe_210", "macd_105")
    ]
    assert "roc over 1, 2, 3 and 4;" in factors.describe()
    assert factors.describe().endswith("months")
    own = WindowedFactor("own", lambda trail, w: trail.nav[w], "own", windows=(5, 250))
    assert choose_factors([own]).on(weekly(daily).index).columns == ("own_5", "own_250")


def by_hand(values, rows, per_year):
    """Return the windowed factors of one fund over its last rows, and an average of all of them."""
    last = values[-rows - 1 :]
    r = last[1:] / last[:-1] - 1.0
    growth = last[-1] / last[0]
    fall = min(last[j] / last[i] - 1.0 for i in range(rows + 1) for j in range(i, rows + 1))
    average = values[:rows].mean()
    for value in values[rows:]:
        average += 2.0 / (rows + 1.0) * (value - average)
    log = np.log(last[1:])
    return {
        "roc": growth - 1.0,
        "mdd": fall,
        "stddev": np.std(r, ddof=1) * per_year**0.5,
        "sharpe": np.mean(r) / np.std(r, ddof=1) * per_year**0.5,
        "sortino": np.mean(r) / np.mean(np.minimum(r, 0.0) ** 2) ** 0.5 * per_year**0.5,
        "calmar": (growth ** (per_year / rows) - 1.0) / -fall,
        "stability": np.corrcoef(log, np.arange(rows))[0, 1] ** 2,
        "ema": average / values[-1] - 1.0,
    }


@pytest.mark.parametrize(
    ("table", "windows", "per_year"),
    [(weekly, {48: 10, 63: 13, 90: 19}, 52), (monthly, {210: 10}, 12)],
)
def test_factors_are_those_of_an_independent_computation(daily, table, windows, per_year):
    nav = table(daily).dropna(axis=1)
    found = compute_factors(nav, nav.index[[40]]).droplevel("date")
    for fund in nav.columns[:5]:
        for window, rows in windows.items():
            expected = by_hand(nav[fund].to_numpy()[:41], rows, per_year)
            for kind, value in expected.items():
                if f"{kind}_{window}" in found:
                    assert found.at[fund, f"{kind}_{window}"] == pytest.approx(value, rel=1e-9), kind


def test_windows_cover_the_time_that_they_cover_on_a_daily_table(daily):
    """The change over a quarter is nearly the same number, from whatever rows."""
    day, daily = pd.Timestamp("2014-10-31"), daily.dropna(axis=1)
    of_days = compute_factors(daily, [day], ["roc", "stddev"])
    for table in (weekly(daily), monthly(daily)):
        of_rows = compute_factors(table, [table.index[table.index <= day][-1]], ["roc", "stddev"])
        a, b = (each["roc_63"].to_numpy() for each in (of_days, of_rows))
        assert np.corrcoef(a, b)[0, 1] > 0.95
        assert np.abs(a - b).max() < 0.08
    # Both are per year.
    ratio = of_rows["stddev_210"].to_numpy() / of_days["stddev_90"].to_numpy()
    assert 0.5 < np.median(ratio) < 2.0


def test_momentum_and_the_return_over_a_year(daily):
    nav = monthly(daily, "last business days")
    day = nav.index[-1]  # the row a year before December 31, 2014 is December 31, 2013
    factors = choose_factors().on(nav.index)
    found = compute_columns(Panel(nav), nav.index[-1:], ["return_12m", "sharpe_90"], factors)
    np.testing.assert_allclose(found["return_12m"][0], nav.iloc[-1] / nav.iloc[-13] - 1.0, rtol=1e-12)
    ten = compute_factors(nav, [day], ["sharpe"])["sharpe_210"].to_numpy()
    np.testing.assert_array_equal(found["sharpe_90"][0], ten)
    end = nav.iloc[:-12]  # ends on December 31, 2013; a year before is Monday, December 31, 2012
    found = compute_columns(Panel(end), end.index[-2:-1], ["return_12m"], factors)  # Friday, November 29
    np.testing.assert_allclose(found["return_12m"][0], end.iloc[-2] / end.iloc[-14] - 1.0, rtol=1e-12)


def test_risk_per_year_is_comparable_to_that_of_the_daily_table():
    rng = np.random.default_rng(0)
    days = pd.bdate_range("2000-01-03", "2019-12-31", name="date")
    curve = pd.Series(np.exp(np.cumsum(0.0004 + 0.01 * rng.standard_normal(len(days)))), days)
    for rows in (curve.resample("W").last(), curve.resample("ME").last(), curve.resample("MS").first()):
        assert volatility(rows) == pytest.approx(volatility(curve), rel=0.1)
        assert sharpe(rows) == pytest.approx(sharpe(curve), rel=0.15)
        assert sharpe(rows, 0.03) == pytest.approx(sharpe(curve, 0.03), rel=0.15)


@pytest.mark.parametrize("form", FORMS)
def test_returns_over_years_are_those_of_as_many_rows(daily, form):
    nav = monthly(daily, form).dropna(axis=1)
    np.testing.assert_allclose(trailing_returns(nav)[3], (nav.iloc[-1] / nav.iloc[-37]) ** (1 / 3) - 1.0)
    np.testing.assert_allclose(rolling_returns(nav).iloc[12:], (nav / nav.shift(12) - 1.0).iloc[12:])
    turn = nav.index.get_indexer([pd.Timestamp("2012-12-31")], method="nearest")[0]
    expected = nav.iloc[turn + 12] / nav.iloc[turn] - 1.0
    np.testing.assert_allclose(year_returns(nav).loc[2013], expected)


def test_orders_wait_for_a_row_and_lags_of_days_are_no_months(daily):
    nav = pd.DataFrame(
        {"A": [1.0, np.nan, 2.0, 4.0], "B": [1.0, np.nan, np.nan, 2.0], "C": [1.0, 1.0, 1.0, 1.0]},
        index=pd.date_range("2020-01-31", periods=4, freq="ME", name="date"),
    )
    third = pd.Series(1.0 / 3.0, index=nav.columns)
    ledger = run_ledger(nav, {nav.index[0]: third}, execution_lag=1, fees=FeeRules(delay={"C": 2}))
    filled = dict(zip(ledger.fills["fund"], ledger.fills["day"], strict=True))
    assert filled == {"C": nav.index[1], "A": nav.index[2]}  # B would wait for two months
    assert ledger.trades["unfilled"].iloc[0] == pytest.approx(1.0 / 3.0)


def test_a_stray_row_of_a_monthly_table_is_no_decision(daily):
    nav = monthly(daily)
    stray = nav.iloc[[20]].set_axis(nav.index[[20]] + pd.Timedelta(days=12)).copy()
    stray.iloc[:, 3:] = np.nan
    table = pd.concat([nav, stray]).sort_index()
    assert list(table.index[~trading_rows(table)]) == list(stray.index)
    assert trading_rows(nav).all()


def test_a_quarter_of_first_days_of_months_ends_with_its_third_row():
    days = pd.date_range("2015-01-01", "2016-12-01", freq="MS", name="date")
    assert [day.month for day in rebalance_days(days)] == [3, 6, 9, 12] * 2
    assert [day.month for day in rebalance_days(days[:-1])] == [3, 6, 9, 12, 3, 6, 9]
    assert len(rebalance_days(days, "monthly")) == 24
    ends = pd.date_range("2015-01-31", "2016-05-31", freq="ME", name="date")
    assert [day.month for day in rebalance_days(ends)] == [3, 6, 9, 12, 3]


def test_rebalancing_more_often_than_there_are_rows_is_one_clear_error(daily):
    nav = taken_on(daily, pd.date_range("2011-03-31", "2014-12-31", freq="QE"))
    with pytest.raises(DataError, match="`frequency` is monthly, but the table has only 4 rows per year"):
        backtest(nav, metrics=["euclidean"], frequency="monthly")
    config = StudyConfig()
    observed = observe(Panel(nav), config, choose_factors().on(nav.index), no_facts())
    assert len(decision_rows(observed, config))


@pytest.mark.usefixtures("no_fresh_processes")
@pytest.mark.parametrize("table", [weekly, monthly])
def test_a_study_looks_at_no_later_row_and_names_its_factors(daily, table):
    nav = table(daily)
    study = backtest(nav, metrics=["euclidean"], execution_lag=1, test_start="2013-01-01")
    (note,) = [each for each in study.notes if "The table has a row per" in each]
    assert "factors are computed" in note
    assert check_leakage(nav, ["euclidean"], forecasters=["momentum"], n_days=2).passed
