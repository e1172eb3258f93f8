"""Adjusted NAVs: payments put back, splits undone, misprints not believed."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds.sources.fetching.akshare_source import adjust_nav, needs_events

NAN = np.nan


def make_history(unit: list[float], growth: list[float], start: str = "2015-03-02") -> pd.DataFrame:
    days = pd.bdate_range(start, periods=len(unit))
    return pd.DataFrame({"date": days, "unit_nav": unit, "growth": growth})


def make_events(*rows: tuple[str, float, float]) -> pd.DataFrame:
    events = pd.DataFrame(rows, columns=["date", "cash", "split"])
    return events.assign(date=pd.to_datetime(events["date"]))


def find_returns(table: pd.DataFrame) -> np.ndarray:
    return table["adjusted"].dropna().pct_change().to_numpy()[1:]


def test_without_payments_the_adjusted_nav_is_the_unit_nav_of_one_unit_bought_on_the_first_day():
    table = adjust_nav(make_history([1.25, 1.2731, 1.2588, 1.3002], [NAN, 1.85, -1.12, 3.29]))
    np.testing.assert_allclose(table["adjusted"], np.array([1.25, 1.2731, 1.2588, 1.3002]) / 1.25, rtol=1e-14)


def test_a_dividend_day_takes_the_published_growth():
    """0.3 paid out of 1.5; the next day is an ordinary one again."""
    table = adjust_nav(make_history([1.5, 1.2120, 1.2241], [NAN, 0.80, 1.00]))
    np.testing.assert_allclose(find_returns(table), [0.008, 1.2241 / 1.2120 - 1], rtol=1e-12)


def test_a_small_dividend_of_a_bond_fund_is_not_taken_for_rounding():
    """0.0015 paid out of 1.0390: a month's interest."""
    table = adjust_nav(make_history([1.0390, 1.0378], [NAN, 0.03]))
    np.testing.assert_allclose(find_returns(table), [0.0003], rtol=1e-9)


@pytest.mark.parametrize(("before", "after"), [(1.6357, 0.8002), (0.4520, 0.9085)])
def test_a_split_or_consolidation_takes_the_published_growth(before: float, after: float):
    table = adjust_nav(make_history([before, after], [NAN, -2.16]))
    np.testing.assert_allclose(find_returns(table), [-0.0216], rtol=1e-12)


def test_rounding_of_the_growth_does_not_enter():
    table = adjust_nav(make_history([1.0, 1.00014], [NAN, 0.01]))
    np.testing.assert_allclose(find_returns(table), [0.00014], rtol=1e-9)


def test_without_a_growth_the_record_explains_a_fall():
    """(2 · 0.45 + 0.08) / 1 − 1 = −2 % when a unit becomes two and 0.08 is paid."""
    history = make_history([1.0, 0.45, 0.459], [NAN, NAN, NAN])
    table = adjust_nav(history, make_events(("2015-03-03", 0.08, 1.0), ("2015-03-03", 0.0, 2.0)))
    np.testing.assert_allclose(find_returns(table), [-0.02, 0.02], rtol=1e-12)


def test_without_growth_and_record_the_unit_nav_speaks():
    np.testing.assert_allclose(find_returns(adjust_nav(make_history([1.0, 0.9], [NAN, NAN]))), [-0.1])


def test_an_event_on_a_day_without_nav_counts_on_the_next_and_a_future_one_not_at_all():
    history = make_history([1.0, 1.01, 0.95, 0.96], [NAN] * 4, start="2015-03-05")  # Thursday, Friday, Monday
    events = make_events(("2015-03-07", 0.06, 1.0), ("2016-01-01", 0.5, 1.0))
    np.testing.assert_allclose(
        find_returns(adjust_nav(history, events)), [0.01, 0, 0.96 / 0.95 - 1], atol=1e-15
    )


def test_misprints_that_would_make_a_jump_are_not_believed():
    history = make_history([1.0, 1.01, 1.02], [NAN, 101.0, NAN])
    table = adjust_nav(history, make_events(("2015-03-04", 0.5, 1.0)))
    np.testing.assert_allclose(find_returns(table), [0.01, 1.02 / 1.01 - 1], rtol=1e-12)


def test_unusable_rows_are_skipped_and_the_growth_counted_from_one_is_not_used():
    table = adjust_nav(make_history([1.0, 0.0, 1.02, NAN, -1.0, 1.03], [NAN, -100.0, 0.1, NAN, NAN, 0.2]))
    np.testing.assert_allclose(table["adjusted"], [1.0, NAN, 1.02, NAN, NAN, 1.03], rtol=1e-14)


def test_days_are_sorted_and_the_last_of_a_repeated_day_counts():
    history = make_history([1.0, 1.1, 1.2], [NAN, 10.0, 9.09])
    shuffled = pd.concat([history.iloc[[2]], history.iloc[[1]].assign(unit_nav=5.0), history.iloc[[1, 0]]])
    table = adjust_nav(shuffled)
    assert table["date"].is_monotonic_increasing
    np.testing.assert_allclose(table["adjusted"], [1.0, NAN, 1.1, 1.2], rtol=1e-14)


def test_inputs_are_not_changed():
    history, events = make_history([1.2, 1.1], [NAN, 1.0]), make_events(("2015-03-03", 0.1, 1.0))
    copies = history.copy(), events.copy()
    adjust_nav(history, events)
    pd.testing.assert_frame_equal(history, copies[0])
    pd.testing.assert_frame_equal(events, copies[1])


def test_no_rows_stay_no_rows():
    assert adjust_nav(make_history([], [])).columns.tolist() == ["date", "unit_nav", "growth", "adjusted"]


@pytest.mark.parametrize(
    ("unit", "growth", "expected"),
    [
        ([1.0, 1.1], [NAN, 10.0], False),
        ([1.0, 1.1], [NAN, NAN], True),
        ([1.0, 0.0, 1.1], [NAN, -100.0, 10.0], True),
        ([], [], False),
    ],
)
def test_the_record_is_needed_only_where_a_growth_is_missing(unit, growth, expected: bool):
    assert needs_events(make_history(unit, growth)) is expected


def test_many_payments_come_back_within_rounding():
    """Published numbers are made from a known total return and a payment of 0.02 every 25th day."""
    total = np.append(0.0, np.random.default_rng(7).normal(0.0003, 0.01, 500))
    unit = [1.5]
    for day, step in enumerate(total[1:], 1):
        unit.append(round(unit[-1] * (1 + step) - (0.02 if day % 25 == 0 else 0), 4))
    table = adjust_nav(make_history(unit, [NAN, *np.round(100 * total[1:], 2)]))
    np.testing.assert_allclose(table["adjusted"], np.cumprod(1 + total), rtol=2e-3)
