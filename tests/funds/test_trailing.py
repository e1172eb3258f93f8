"""Trailing and calendar returns, rolling returns, underwater curves: by hand and by brute force."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds import rolling_returns, trailing_returns, underwater, year_returns

DAYS = pd.bdate_range("2010-01-01", "2016-12-30", name="date")


@pytest.fixture
def nav():
    growth = 1.001 ** np.arange(len(DAYS))
    table = pd.DataFrame({"old": growth, "young": growth, "gone": growth}, index=DAYS)
    table.loc[:"2014-06-30", "young"] = np.nan
    table.loc["2016-12-01":, "gone"] = np.nan
    return table


def test_trailing_returns_are_per_year_beyond_one(nav):
    found = trailing_returns(nav)
    last = nav["old"].iloc[-1]
    one = last / nav.at["2015-12-30", "old"] - 1.0
    five = (last / nav.at["2011-12-30", "old"]) ** 0.2 - 1.0
    assert found.loc["old", [1, 5]].tolist() == pytest.approx([one, five])
    assert found.columns.tolist() == [1, 3, 5, 10]
    assert np.isnan(found.at["old", 10])
    assert found.loc["young"].isna().tolist() == [False, True, True, True]
    assert found.loc["gone"].isna().all()


def test_the_start_is_the_last_value_of_the_week_before(nav):
    end = pd.Timestamp("2016-07-03")  # a Sunday; a year before is a Friday
    assert trailing_returns(nav, end, [1]).at["old", 1] == pytest.approx(
        nav.at["2016-07-01", "old"] / nav.at["2015-07-03", "old"] - 1.0
    )
    without = nav.drop(index=nav.loc["2015-06-25":"2015-07-03"].index)
    assert np.isnan(trailing_returns(without, end, [1]).at["old", 1])


def test_calendar_years_must_be_complete(nav):
    found = year_returns(nav.loc[:"2016-06-30"])
    assert found.index.tolist() == [2010, 2011, 2012, 2013, 2014, 2015]  # 2010 begins with the table
    assert found.at[2012, "old"] == pytest.approx(
        nav.at["2012-12-31", "old"] / nav.at["2011-12-30", "old"] - 1.0
    )
    assert found.at[2010, "old"] == pytest.approx(nav.at["2010-12-31", "old"] - 1.0)
    assert found["young"].notna().tolist() == [False] * 5 + [True]
    assert year_returns(nav.loc["2010-02-01":]).index[0] == 2011


def test_monthly_tables_have_calendar_years():
    months = pd.date_range("2011-12-31", periods=25, freq="ME")
    table = pd.DataFrame({"A": 1.01 ** np.arange(25)}, months)
    assert year_returns(table)["A"].to_dict() == pytest.approx({2012: 1.01**12 - 1, 2013: 1.01**12 - 1})


def test_rolling_returns_start_a_year_before():
    rng = np.random.default_rng(0)
    values = pd.DataFrame({"A": np.exp(0.01 * rng.standard_normal(len(DAYS)).cumsum())}, DAYS)
    found = rolling_returns(values)["A"]
    for day in DAYS[[0, 200, 300, 900, -1]]:
        before = values["A"].loc[: day - pd.Timedelta(days=365)]
        expected = values.at[day, "A"] / before.iloc[-1] - 1.0 if len(before) else np.nan
        assert found[day] == pytest.approx(expected, nan_ok=True)


def test_underwater_is_the_distance_from_the_peak():
    values = pd.DataFrame({"A": [np.nan, 1.0, 2.0, 1.0, 3.0]}, DAYS[:5])
    np.testing.assert_allclose(underwater(values)["A"], [np.nan, 0.0, 0.0, -0.5, 0.0])
