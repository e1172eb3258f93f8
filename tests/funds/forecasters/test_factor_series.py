"""`FactorSeries` ranks by the last value that was known, and by nothing later."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds import (
    DataError,
    FactorForecaster,
    FactorSeries,
    Today,
    backtest,
    check_leakage,
    synthetic_universe,
)

DAYS = pd.to_datetime(["2014-01-10", "2014-02-10", "2014-03-10"])
TABLE = pd.DataFrame({"A": [1.0, np.nan, 9.0], "B": [2.0, 3.0, 9.0], "C": [5.0, 1.0, 9.0]}, index=DAYS)


def today(day: str, funds: str = "ABCD", groups: str = "") -> Today:
    n = len(funds)
    names = pd.Index(list(funds))
    return Today(pd.Timestamp(day), names, np.zeros((n, 1)), np.ones(n), groups=np.array(list(groups)))


def ranks(day: str, *, funds: str = "ABCD", groups: str = "", **options) -> list[float]:
    return FactorSeries(TABLE, **options).forecast(None, today(day, funds, groups)).values.tolist()


def test_a_decision_uses_the_last_value_up_to_its_day():
    """On 1 March A has 1, B 3, C 1: C's later 9 is not known, and D has no value."""
    assert ranks("2014-03-01") == pytest.approx([-1 / 6, 1 / 3, -1 / 6, 0.0])
    assert ranks("2014-03-10") == pytest.approx([0.0, 0.0, 0.0, 0.0])  # on the day itself: all have 9
    assert ranks("2014-03-01", sign=-1) == pytest.approx([1 / 6, -1 / 3, 1 / 6, 0.0])


def test_a_value_that_is_too_old_is_left_out():
    """A's value is of 10 January, 50 days before 1 March."""
    assert ranks("2014-03-01", max_age=50) == ranks("2014-03-01")
    assert ranks("2014-03-01", max_age=49) == pytest.approx([0.0, 1 / 4, -1 / 4, 0.0])
    with pytest.raises(DataError, match="no value of any fund in the 18 days up to 2014-03-01"):
        ranks("2014-03-01", max_age=18)
    with pytest.raises(DataError, match="no value of any fund"):
        ranks("2014-01-09")


def test_ranks_are_within_peer_groups():
    assert ranks("2014-02-10", groups="xxyy") == pytest.approx([-1 / 4, 1 / 4, 0.0, 0.0])


def test_all_forms_of_the_same_values_are_equal():
    expected = ranks("2014-03-01")
    shuffled = TABLE.stack().sample(frac=1.0, random_state=0)
    abroad = TABLE.set_axis(DAYS.tz_localize("Asia/Shanghai") + pd.Timedelta(hours=15))
    for values in (shuffled, abroad, TABLE.fillna(np.inf)):
        found = FactorSeries(values).forecast(None, today("2014-03-01")).values
        assert found.tolist() == pytest.approx(expected)


def test_what_is_not_such_a_series_is_refused():
    twice = pd.concat([TABLE.stack(), TABLE.stack().iloc[:1]])
    for values, problem in (
        (TABLE["A"], "must be a Series indexed by"),
        (TABLE.to_numpy(), "got ndarray"),
        (TABLE.set_axis([1, 2, 3]), "with dates of pandas"),
        (twice, "A has two on 2014-01-10"),
        (pd.concat([TABLE, TABLE]), "one row per day"),
        (TABLE.astype(str), "must be numbers"),
    ):
        with pytest.raises(DataError, match=problem):
            FactorSeries(values)
    for options in ({"sign": 0}, {"max_age": -1}, {"max_age": 1.5}):
        with pytest.raises(DataError, match=f"`{next(iter(options))}` must be"):
            FactorSeries(TABLE, **options)


def test_in_a_study_it_is_the_factor_itself_and_does_not_look_ahead():
    """The 20-day return as a series of one's own gives the forecasts of the factor of the study."""
    panel = synthetic_universe(20, "2014-01-02", "2015-06-30").panel
    earned = panel.nav / panel.nav.shift(20) - 1.0
    given = {"mine": FactorSeries(earned.stack(), max_age=0), "theirs": FactorForecaster("roc_20")}
    study = backtest(panel, forecasters=given, baselines=())
    wide = study.predictions.set_index(["date", "fund", "forecaster"])["forecast"].unstack()
    assert wide["mine"].to_numpy() == pytest.approx(wide["theirs"].to_numpy(), abs=1e-12)
    assert wide["mine"].nunique() > 10
    checks = check_leakage(panel, forecasters={"mine": FactorSeries(earned)}, n_days=1)
    assert sum(check.differing for check in checks) == 0
