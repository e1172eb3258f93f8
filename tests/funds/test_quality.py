"""What is planted in a clean table is found, and nothing else."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds.panel import Finding
from geodual.funds.sources.reading.quality import inspect_index, inspect_quality

N_DAYS, N_FUNDS = 300, 12


def clean_table(seed: int = 3) -> pd.DataFrame:
    """Funds that share a market, with volatilities from those of a bond to those of a sector fund."""
    rng = np.random.default_rng(seed)
    market = rng.normal(0.0003, 0.01, (N_DAYS, 1))
    beta = np.linspace(0.1, 1.3, N_FUNDS)
    returns = market * beta + rng.normal(0.0, 0.003, (N_DAYS, N_FUNDS)) * beta
    days = pd.bdate_range("2012-01-04", periods=N_DAYS, name="date")
    funds = pd.Index([f"{at:06d}" for at in range(N_FUNDS)], name="fund")
    return pd.DataFrame(np.exp(np.cumsum(returns, axis=0)), index=days, columns=funds)


def changed(row: int | slice, fund: int, value: float) -> pd.DataFrame:
    nav = clean_table()
    nav.iloc[row, fund] = value
    return nav


def found(nav: pd.DataFrame, kind: str) -> list[Finding]:
    return [finding for finding in inspect_quality(nav) if finding.kind == kind]


def day(row: int) -> str:
    return f"{clean_table().index[row]:%Y-%m-%d}"


@pytest.mark.parametrize("seed", range(5))
def test_a_clean_table_has_one_finding_that_does_not_matter(seed: int) -> None:
    (finding,) = inspect_quality(clean_table(seed))
    assert (finding.kind, finding.matters, finding.count) == ("survivorship", False, N_FUNDS)


@pytest.mark.parametrize(("length", "matters"), [(1, False), (5, False), (6, True)])
def test_a_gap_matters_if_it_is_long(length: int, matters: bool) -> None:
    nav = changed(slice(50, 50 + length), 4, np.nan)
    nav.iloc[80, 4] = np.nan
    (finding,) = found(nav, "gap")
    assert (finding.fund, finding.date, finding.count) == ("000004", day(50), length + 1)
    assert finding.matters is matters


@pytest.mark.parametrize(("rows", "is_found"), [(9, False), (10, True), (40, True)])
def test_ten_equal_values_are_stale(rows: int, is_found: bool) -> None:
    findings = found(changed(slice(100, 100 + rows), 7, 1.234), "stale")
    assert [(f.fund, f.date, f.count, f.matters) for f in findings] == [
        ("000007", day(100), rows, True)
    ] * is_found


def test_a_fund_in_cash_is_stale_for_information() -> None:
    """It goes on with a small move; a fund without values catches up, or never moves again."""
    nav = clean_table()
    nav.iloc[100:, 7] *= nav.iloc[99, 7] / nav.iloc[115, 7]
    nav.iloc[100:116, 7] = nav.iloc[99, 7]
    nav.iloc[116:, 7] *= 1.0001 * nav.iloc[115, 7] / nav.iloc[116, 7]
    (finding,) = found(nav, "stale")
    assert (finding.count, finding.matters) == (17, False)
    (finding,) = found(nav.iloc[:116], "stale")
    assert finding.matters


def test_staleness_reaches_over_gaps_and_counts_all_runs() -> None:
    nav = changed(slice(100, 112), 7, 1.234)
    nav.iloc[105, 7] = np.nan
    nav.iloc[200:215, 7] = 1.5
    (finding,) = found(nav, "stale")
    assert (finding.date, finding.count) == (day(100), 11 + 15)
    assert "up to 15 values" in finding.message


def test_nobody_is_stale_on_days_when_all_stand_still() -> None:
    nav = clean_table()
    nav.iloc[100:130] = nav.iloc[100].to_numpy()
    assert not found(nav, "stale")


@pytest.mark.parametrize(("rows", "is_found"), [(15, False), (25, True)])
def test_a_fund_that_often_stands_still_may_do_so_for_a_while(rows: int, is_found: bool) -> None:
    """Two steps of three are zero, as for a bond fund quoted with few decimals."""
    nav = clean_table()
    nav.iloc[:, 0] = 1.0 + 0.001 * (np.arange(N_DAYS) // 3)
    nav.iloc[150 : 150 + rows, 0] = 1.05
    assert [(f.fund, f.matters) for f in found(nav, "stale")] == [("000000", True)] * is_found


def test_a_few_values_of_a_fund_that_is_seldom_quoted_are_not_stale() -> None:
    """Three equal values, a week apart, are no run of ten, whatever the other funds do in between."""
    nav = clean_table()
    nav.iloc[np.arange(N_DAYS) % 5 > 0, 4] = np.nan
    nav.iloc[[100, 105, 110], 4] = 1.234
    assert not found(nav, "stale")
    nav.iloc[100:150:5, 4] = 1.234
    (finding,) = found(nav, "stale")
    assert (finding.date, finding.count) == (day(100), 10)


def test_a_distribution_looks_like_a_jump() -> None:
    """A bond fund pays out 5 % of its value, a sector fund 15 %."""
    nav = clean_table()
    nav.iloc[120:, 0] *= 0.95
    nav.iloc[200:, 11] *= 0.85
    assert [(f.fund, f.date, f.count, f.matters) for f in found(nav, "jump")] == [
        ("000000", day(120), 1, True),
        ("000011", day(200), 1, True),
    ]


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_split_is_a_jump_in_either_direction(factor: float) -> None:
    nav = clean_table()
    nav.iloc[120:, 3] *= factor
    nav.iloc[240:, 3] *= factor
    (finding,) = found(nav, "jump")
    assert (finding.fund, finding.date, finding.count) == ("000003", day(120), 2)


def test_small_falls_and_falls_of_the_whole_market_are_no_jumps() -> None:
    nav = clean_table()
    nav.iloc[120:, 0] *= 0.993
    nav.iloc[130:, 11] *= 0.98
    nav.iloc[150:] *= 0.85
    assert not found(nav, "jump")


def test_a_move_over_a_gap_is_not_a_move_of_one_day() -> None:
    nav = changed(slice(100, 150), 5, np.nan)
    nav.iloc[150:, 5] *= 1.5
    assert not found(nav, "jump")


def test_births_and_closures_are_counted_for_information() -> None:
    nav = changed(slice(0, 30), 1, np.nan)
    nav.iloc[:20, 2] = np.nan
    nav.iloc[251:, 3] = np.nan
    late, early = inspect_quality(nav)
    assert (late.kind, late.matters, late.count, late.date) == ("late-start", False, 2, day(20))
    assert (early.kind, early.matters, early.count, early.date) == ("early-end", False, 1, day(250))


def test_a_hole_in_the_calendar_is_found_and_a_holiday_is_not() -> None:
    nav = clean_table()
    assert not found(nav.drop(nav.index[50:57]), "calendar")
    (finding,) = found(nav.drop(nav.index[50:60]), "calendar")
    assert (finding.date, finding.count, finding.matters) == (day(49), 1, True)


def test_weekly_rows_are_not_taken_for_days() -> None:
    nav = clean_table()
    weekly = nav.set_axis(pd.date_range("2005-01-07", periods=N_DAYS, freq="7D", name="date"))
    assert not found(weekly, "calendar")
    assert not found(weekly, "gap")
    (finding,) = found(weekly, "sparse-rows")
    assert "a row per week" in finding.message
    assert not finding.matters
    (finding,) = found(weekly.drop(weekly.index[50:52]), "calendar")
    assert finding.matters
    assert "21 days" in finding.message


def test_a_table_of_all_days_has_weekends_and_days_on_which_nothing_moves() -> None:
    nav = clean_table()
    every = nav.reindex(pd.date_range(nav.index[0], nav.index[-1], name="date")).ffill()
    weekends = [day for day in every.index if day.weekday() >= 5]
    for kind in ("weekend", "still-day"):
        (finding,) = found(every, kind)
        assert (finding.fund, finding.matters, finding.count) == ("", True, len(weekends))
        assert finding.date == f"{weekends[0]:%Y-%m-%d}"


@pytest.mark.parametrize(("count", "is_found"), [(6, False), (7, True)])
def test_a_few_weekends_are_no_matter(count: int, is_found: bool) -> None:
    """Some funds publish a value on the last day of a half-year; 2 % of the rows are the limit."""
    nav = clean_table()
    days = list(nav.index)
    for week in range(count):
        friday = 2 + 5 * week
        days[friday] += pd.Timedelta(days=1)
    assert [f.count for f in found(nav.set_axis(pd.DatetimeIndex(days)), "weekend")] == [count] * is_found


@pytest.mark.parametrize(("missing", "is_found"), [(6, False), (7, True)])
def test_rows_on_which_most_living_funds_have_no_value_matter(missing: int, is_found: bool) -> None:
    nav = clean_table()
    nav.iloc[[150, 200], :missing] = np.nan
    findings = found(nav, "sparse-day")
    assert [(f.fund, f.date, f.count, f.matters) for f in findings] == [("", day(150), 2, True)] * is_found


def test_funds_that_are_not_born_or_closed_are_not_missing() -> None:
    nav = clean_table()
    nav.iloc[:100, :5] = np.nan
    nav.iloc[90:, 5:] = np.nan
    assert not found(nav.drop(nav.index[90:100]), "sparse-day")


@pytest.mark.parametrize(("funds", "is_found"), [(9, False), (10, True)])
def test_it_takes_ten_funds_to_call_a_day_still(funds: int, is_found: bool) -> None:
    nav = clean_table().iloc[:, :funds]
    nav.iloc[60] = nav.iloc[59].to_numpy()
    assert [(f.date, f.count, f.matters) for f in found(nav, "still-day")] == [(day(60), 1, True)] * is_found
    nav.iloc[60, 0] *= 1.001
    assert not found(nav, "still-day")


@pytest.mark.parametrize("decimals", [3, 4])
def test_share_classes_are_twins(decimals: int) -> None:
    """The second class pays 0.4 % a year more, the third starts from another level; NAVs are rounded."""
    nav = clean_table()
    fee = np.exp(-0.004 * np.arange(N_DAYS) / 252)
    nav["A"], nav["C"] = nav["000007"] * fee, 2.5 * nav["000003"]
    (finding,) = found(nav.round(decimals), "twin")
    assert (finding.fund, finding.matters, finding.count) == ("", False, 4)
    assert "000003 and C" in finding.message


def test_trackers_of_one_index_and_steady_funds_are_no_twins() -> None:
    """A tracking error of 1 % a year separates two funds, and so does the wobble of two steady ones."""
    rng = np.random.default_rng(0)
    nav = clean_table()
    for name in ("first", "second"):
        nav[name] = nav["000007"] * np.exp(np.cumsum(rng.normal(0.0, 0.01 / 252**0.5, N_DAYS)))
    for name in ("third", "fourth"):
        nav[name] = 1.0 + 0.0001 * np.arange(N_DAYS) + rng.normal(0.0, 1e-5, N_DAYS)
    nav["fifth"], nav["sixth"], nav["seventh"] = 1.1, 1.7, np.exp(0.0001 * np.arange(N_DAYS))
    assert not found(nav, "twin")


def test_twins_are_found_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    nav = clean_table()
    nav["999999"] = nav["000000"]
    expected = found(nav, "twin")
    monkeypatch.setattr("geodual.funds.sources.reading.quality.BLOCK", 5)
    assert expected == found(nav, "twin")
    assert expected[0].count == 2


def test_a_short_table_is_said_to_be_short() -> None:
    assert not found(clean_table().iloc[:121], "short")
    (finding,) = found(clean_table().iloc[:120], "short")
    assert (finding.count, finding.matters) == (120, True)


def test_degenerate_tables_raise_nothing() -> None:
    """One fund, one row, no value: the warnings of the arithmetic would be errors here."""
    nav = clean_table()
    assert {f.kind for f in inspect_quality(nav.iloc[:, :1])} == {"survivorship"}
    assert {f.kind for f in inspect_quality(nav.iloc[:1])} == {"short", "survivorship"}
    assert {f.kind for f in inspect_quality(nav.iloc[:, :0])} == set()
    assert {f.kind for f in inspect_quality(nav * np.nan)} == set()


def test_a_lone_fund_can_jump_and_cannot_be_stale() -> None:
    nav = changed(slice(100, 130), 7, 1.234).iloc[:, [7]]
    nav.iloc[200:] *= 0.5
    assert {f.kind for f in inspect_quality(nav)} == {"survivorship", "jump"}


def test_the_order_of_funds_and_the_scale_of_a_fund_do_not_matter() -> None:
    nav = changed(slice(50, 60), 4, np.nan)
    nav.iloc[100:115, 7] = 1.234
    nav.iloc[120:, 0] *= 0.9
    findings = set(inspect_quality(nav))
    assert set(inspect_quality(nav.iloc[:, ::-1])) == findings
    assert set(inspect_quality(nav * 1024.0)) == findings


def test_the_table_is_left_alone() -> None:
    nav = changed(slice(50, 60), 4, np.nan)
    before = nav.copy(deep=True)
    inspect_quality(nav)
    pd.testing.assert_frame_equal(nav, before)


@pytest.mark.parametrize(
    ("rows", "change", "kind"),
    [
        (slice(100, 130), lambda levels: np.nan, "gap"),
        (slice(100, 130), lambda levels: levels.iloc[100], "stale"),
        (slice(100, None), lambda levels: levels.iloc[100:] / 1000.0, "jump"),
        (slice(100, 101), lambda levels: levels.iloc[100] * 1.3, "jump"),
    ],
)
def test_an_index_is_inspected_like_a_fund(rows: slice, change: object, kind: str) -> None:
    nav = changed(50, 0, 99.0)  # what is wrong with a fund is not told of the index
    levels = (1000.0 * clean_table().mean(axis=1)).rename("930950")
    assert inspect_index(levels, nav) == ()
    levels.iloc[rows] = change(levels)
    (finding,) = inspect_index(levels.dropna(), nav)
    assert (finding.kind, finding.fund, finding.date) == (kind, "index 930950", day(100))
    assert finding.matters
