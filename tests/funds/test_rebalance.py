"""Rebalance days: rows of the data, and none for a period that is not over."""

import pandas as pd
import pytest

from geodual.funds import DataError
from geodual.funds.calendar import rebalance_days


def weekdays(start, end):
    return pd.bdate_range(start, end, name="date")


def as_text(days):
    return [str(day.date()) for day in days]


def test_quarter_ends_are_the_last_rows_of_their_quarters():
    days = weekdays("2016-01-04", "2016-12-30").drop(["2016-09-30", "2016-06-30", "2016-06-29"])
    assert as_text(rebalance_days(days)) == ["2016-03-31", "2016-06-28", "2016-09-29", "2016-12-30"]


def test_months_and_years():
    days = weekdays("2015-11-02", "2017-01-31")
    assert as_text(rebalance_days(days, "yearly")) == ["2015-12-31", "2016-12-30"]
    monthly = rebalance_days(days, "monthly")
    assert len(monthly) == 15
    assert as_text(monthly[:3]) == ["2015-11-30", "2015-12-31", "2016-01-29"]


@pytest.mark.parametrize(
    ("last", "is_over"),
    [
        ("2016-12-30", True),  # a Friday; Saturday follows
        ("2016-12-26", True),  # four weekdays follow, as before a long holiday
        ("2016-12-23", False),  # five
        ("2016-11-15", False),
        ("2016-10-03", False),
    ],
)
def test_a_quarter_that_is_not_over_has_no_rebalance_day(last, is_over):
    days = rebalance_days(weekdays("2016-01-04", last))
    assert (days[-1] == pd.Timestamp(last)) == is_over
    assert as_text(days[:3]) == ["2016-03-31", "2016-06-30", "2016-09-30"]


@pytest.mark.parametrize(
    ("last", "is_over"),
    [
        ("2020-01-23", True),  # the Spring Festival took the six weekdays that follow
        ("2020-01-22", True),
        ("2020-01-21", False),
    ],
)
def test_a_month_may_end_with_a_long_holiday(last, is_over):
    days = rebalance_days(weekdays("2019-12-02", last), "monthly")
    assert as_text(days) == ["2019-12-31"] + [last] * is_over


def test_an_earlier_period_is_over_however_early_its_last_row():
    days = weekdays("2016-01-04", "2016-02-15").append(weekdays("2016-04-01", "2016-06-30"))
    assert as_text(rebalance_days(days)) == ["2016-02-15", "2016-06-30"]


def test_a_day_in_the_middle_of_a_period_gives_none():
    assert len(rebalance_days(weekdays("2016-02-01", "2016-02-15"))) == 0


def test_the_name_of_the_days_is_kept():
    assert rebalance_days(weekdays("2016-01-04", "2016-12-30")).name == "date"


def test_an_unknown_frequency_is_refused():
    with pytest.raises(
        DataError, match=r"`frequency` must be one of monthly, quarterly, yearly.*choose one of these"
    ):
        rebalance_days(weekdays("2016-01-04", "2016-12-30"), "weekly")
