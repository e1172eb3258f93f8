"""Validation and test period: a decision belongs to the period that it is about."""

import pandas as pd
import pytest

from geodual.funds import DataError
from geodual.funds.evaluation.periods import decisions_in, equity_in, first_test_day

DAYS = pd.bdate_range("2016-01-04", "2017-12-29").drop(["2017-01-02"])
ENDS = pd.DatetimeIndex(["2016-06-30", "2016-09-30", "2016-12-30", "2017-03-31"])


def test_the_decision_at_the_last_close_of_2016_is_about_2017():
    assert decisions_in("validation", ENDS, DAYS, "2017-01-01").tolist() == ENDS[:2].tolist()
    assert decisions_in("test", ENDS, DAYS, "2017-01-01").tolist() == ENDS[2:].tolist()
    assert decisions_in("both", ENDS, DAYS, "2017-01-01").tolist() == ENDS.tolist()


@pytest.mark.parametrize("start", ["2016-10-03", "2016-10-01", "2016-10-04", "2016-12-30"])
def test_a_period_begins_with_the_first_day_held(start):
    """The decision of 2016-09-30 is held from 2016-10-03 on."""
    in_test = pd.Timestamp("2016-10-03") >= pd.Timestamp(start)
    assert (ENDS[1] in decisions_in("test", ENDS, DAYS, start)) == in_test
    assert (ENDS[1] in decisions_in("validation", ENDS, DAYS, start)) != in_test


def test_without_a_test_period_all_is_validation():
    assert decisions_in("validation", ENDS, DAYS, "2030-01-01").equals(ENDS)
    assert len(decisions_in("test", ENDS, DAYS, "2030-01-01")) == 0
    assert first_test_day(DAYS, "2030-01-01") > DAYS[-1]


def test_without_a_validation_period_all_is_test():
    assert decisions_in("test", ENDS, DAYS, "2010-01-01").equals(ENDS)
    assert len(decisions_in("validation", ENDS, DAYS, "2010-01-01")) == 0
    assert first_test_day(DAYS, "2010-01-01") == DAYS[0]


def test_equity_is_split_at_the_last_close_before_the_test_period():
    equity = pd.DataFrame({"a": range(1, len(DAYS) + 1)}, index=DAYS, dtype=float)
    validation, test = (equity_in(period, equity, "2017-01-01") for period in ("validation", "test"))
    assert validation.index[-1] == test.index[0] == pd.Timestamp("2016-12-30")
    assert first_test_day(DAYS, "2017-01-01") == test.index[1] == pd.Timestamp("2017-01-03")
    growth = [curve["a"].iloc[-1] / curve["a"].iloc[0] for curve in (validation, test, equity)]
    assert growth[0] * growth[1] == pytest.approx(growth[2])
    assert equity_in("both", equity, "2017-01-01").equals(equity)


@pytest.mark.parametrize(("start", "sizes"), [("2030-01-01", (len(DAYS), 1)), ("2010-01-01", (1, len(DAYS)))])
def test_a_period_that_is_not_there_has_no_return(start, sizes):
    equity = pd.DataFrame({"a": 1.0}, index=DAYS)
    assert tuple(len(equity_in(period, equity, start)) for period in ("validation", "test")) == sizes


def test_an_unknown_period_is_named() -> None:
    days = pd.bdate_range("2020-01-01", periods=3)
    with pytest.raises(DataError, match=r"`period` must be one of .*, got 'training'"):
        decisions_in("training", days[:1], days, "2020-01-02")
    with pytest.raises(DataError, match="got 'training'"):
        equity_in("training", pd.DataFrame(1.0, index=days, columns=["m"]), "2020-01-02")
