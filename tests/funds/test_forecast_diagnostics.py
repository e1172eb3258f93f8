"""Diagnostics of forecasts by hand and by plain loops, with missing returns, few funds and no types."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from geodual.funds.evaluation import forecast_diagnostics as diagnostics
from geodual.funds.evaluation.forecast_diagnostics import fifths_by_day, returns_by_fifth
from geodual.funds.evaluation.result_tables import type_exposure
from geodual.funds.evaluation.statistics import newey_west_t

DAYS = pd.to_datetime(["2013-03-29", "2013-06-28", "2013-09-30", "2013-12-31"])


def make_predictions(n_funds=23, seed=0, metrics=("b", "a"), days=DAYS):
    """Random predictions; the last day has no outcome yet. Metrics are not in alphabetical order."""
    rng = np.random.default_rng(seed)
    rows = [(day, metric, f"F{i:02}") for day in days for metric in metrics for i in range(n_funds)]
    table = pd.DataFrame(rows, columns=["date", "forecaster", "fund"])
    table["forecast"], table["realized"] = rng.standard_normal((2, len(table)))
    table.loc[table["date"] == days[-1], "realized"] = np.nan
    return table


def test_fifths_by_hand():
    table = make_predictions(10, days=DAYS[:2], metrics=("a",)).head(10)
    table["forecast"] = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0]
    table["realized"] = np.arange(10.0)
    # In order of forecasts, ties in row order: rows 1 3 | 6 0 | 9 2 | 4 8 | 7 5.
    assert fifths_by_day(table).to_numpy().tolist() == [[2.0, 3.0, 5.5, 6.0, 6.0]]
    assert diagnostics.measure_spreads(table).to_numpy().tolist() == [[4.0]]


def test_spreads_day_by_day():
    table = make_predictions()
    found = diagnostics.measure_spreads(table)
    assert list(found.index) == list(DAYS)
    assert list(found.columns) == ["b", "a"]
    assert found.loc[DAYS[-1]].isna().all()
    for (day, metric), own in table[table["date"] < DAYS[-1]].groupby(["date", "forecaster"]):
        realized = own.sort_values("forecast")["realized"].to_numpy()
        expected = realized[19:].mean() - realized[:5].mean()  # of 23 funds: 5, 5, 4, 5, 4
        assert found.loc[day, metric] == pytest.approx(expected, abs=1e-14)


def test_every_day_has_the_same_weight_in_the_returns_by_fifth():
    table = pd.concat([make_predictions(10, days=DAYS[:2]), make_predictions(40, 1, days=DAYS[2:])])
    found = returns_by_fifth(table, ["a", "b"])
    expected = fifths_by_day(table).loc["a"].mean()
    np.testing.assert_allclose(found.loc["a"], expected, rtol=1e-12)
    spread = diagnostics.measure_spreads(table).mean()
    np.testing.assert_allclose(found[5] - found[1], spread[["a", "b"]], rtol=1e-12)


@pytest.mark.parametrize("n_funds", [1, 4])
def test_fewer_than_five_funds_have_no_spread(n_funds):
    assert diagnostics.measure_spreads(make_predictions(n_funds)).isna().all(axis=None)


def test_without_any_outcome_all_is_missing():
    table = make_predictions().assign(realized=np.nan)
    assert diagnostics.measure_spreads(table).shape == (4, 2)
    assert returns_by_fifth(table, ["a", "b"]).isna().all(axis=None)
    types = pd.Series("stock", index=table["fund"].unique())
    by_type = diagnostics.ic_by_day_and_type(table, types)
    assert by_type.empty
    assert diagnostics.average_over_types(by_type, table).isna().all(axis=None)
    assert diagnostics.summarize_types(by_type, ["a", "b"]).empty


def test_the_summary_of_spreads():
    spread = pd.Series([0.1, np.nan, 0.3, -0.1, 0.2, 0.25, 0.3, 0.12])
    found = diagnostics.summarize_spread(spread, 1)
    assert list(found) == ["mean", "t", "low", "high", "p", "n"]
    assert (found["mean"], found["n"]) == (pytest.approx(1.17 / 7), 7)
    assert found["t"] == newey_west_t(spread)
    assert found["low"] < found["mean"] < found["high"]
    assert diagnostics.summarize_spread(spread, 3)["p"] == pytest.approx(3.0 * found["p"])


def test_rank_autocorrelation_of_the_funds_on_both_days():
    table = make_predictions()
    table = table[~((table["fund"] < "F05") & (table["date"] == DAYS[1]))]
    found = diagnostics.correlate_ranks(table)
    assert found.loc[DAYS[0]].isna().all()
    wide = table[table["forecaster"] == "a"].pivot(index="date", columns="fund", values="forecast")
    for before, day in pairwise(DAYS):
        both = wide.loc[[before, day]].dropna(axis="columns")
        assert found.loc[day, "a"] == pytest.approx(spearmanr(*both.to_numpy()).statistic, abs=1e-12)


def test_one_decision_has_no_rank_autocorrelation():
    assert diagnostics.correlate_ranks(make_predictions(days=DAYS[:1])).isna().all(axis=None)


@pytest.fixture
def types():
    kinds = ["stock"] * 9 + ["bond"] * 8 + ["rare"] * 2 + [None] * 4
    return pd.Series(kinds, index=[f"F{i:02}" for i in range(23)])


def test_ic_within_types_weighs_by_funds(types):
    table = make_predictions()
    by_type = diagnostics.ic_by_day_and_type(table, types)
    assert set(by_type["type"]) == {"stock", "bond"}  # two funds have no rank correlation
    within = diagnostics.average_over_types(by_type, table)
    assert list(within.columns) == ["b", "a"]
    assert within.loc[DAYS[-1]].isna().all()
    for (day, metric), own in table[table["date"] < DAYS[-1]].groupby(["date", "forecaster"]):
        own = own.set_index("fund")
        ic = {
            kind: spearmanr(part["forecast"], part["realized"]).statistic
            for kind, part in own.groupby(types)
            if kind != "rare"
        }
        assert within.loc[day, metric] == pytest.approx((9 * ic["stock"] + 8 * ic["bond"]) / 17, abs=1e-12)
        found = by_type[(by_type["date"] == day) & (by_type["forecaster"] == metric)].set_index("type")
        assert found["ic"].to_dict() == pytest.approx(ic, abs=1e-12)
        assert found["funds"].to_dict() == {"bond": 8, "stock": 9}


def test_summary_by_type(types):
    table = make_predictions()
    table.loc[(table["fund"] == "F00") & (table["date"] == DAYS[0]), "realized"] = np.nan
    by_type = diagnostics.ic_by_day_and_type(table, types)
    found = diagnostics.summarize_types(by_type, ["b", "a"])
    assert list(found.index) == [("b", "bond"), ("b", "stock"), ("a", "bond"), ("a", "stock")]
    own = by_type[(by_type["forecaster"] == "a") & (by_type["type"] == "stock")]["ic"]
    row = found.loc["a", "stock"]
    assert (row["ic_mean"], row["n"]) == (pytest.approx(own.mean()), 3)
    assert row["t"] == newey_west_t(own)
    assert row["funds"] == pytest.approx((8 + 9 + 9) / 3)


def make_nav(seed=0):
    days = pd.bdate_range("2013-01-01", "2014-06-30")
    steps = 0.01 * np.random.default_rng(seed).standard_normal((len(days), 23))
    nav = pd.DataFrame(np.exp(steps.cumsum(axis=0)), days, [f"F{i:02}" for i in range(23)])
    nav.loc["2013-08-01":, "F03"] = np.nan  # closed
    nav.loc["2013-06-20":"2013-07-05", "F04"] = np.nan  # a gap on a decision day
    return nav


def test_decay_of_the_ic_loop_by_loop():
    table, nav = make_predictions(), make_nav()
    found = diagnostics.ic_decay(table, nav)
    assert list(found.index) == list(range(1, 13))
    assert found.index.name == "months"
    assert list(found.columns) == ["b", "a"]
    for months in (1, 3, 6, 9, 12):
        for metric in "ab":
            ics = []
            for day in DAYS:
                end = day + pd.DateOffset(months=months)
                if end <= nav.index[-1]:
                    earned = nav[:end].ffill().iloc[-1] / nav[:day].ffill().iloc[-1]
                    own = table[(table["date"] == day) & (table["forecaster"] == metric)].set_index("fund")
                    ics.append(spearmanr(own["forecast"], earned[own.index]).statistic)
            assert found.loc[months, metric] == pytest.approx(np.mean(ics), abs=1e-12)


def test_decay_is_missing_after_the_data_and_for_funds_without_a_value():
    table, nav = make_predictions(), make_nav()
    assert diagnostics.ic_decay(table, nav[:"2013-12-31"], [9, 10]).isna().to_numpy().tolist() == [
        [False, False],
        [True, True],
    ]
    late = nav.copy()
    late.loc[:"2013-05-01", "F07"] = np.nan  # has no value on the first decision day
    found = diagnostics.ic_decay(table[table["date"] == DAYS[0]], late, [3])
    kept = table[(table["date"] == DAYS[0]) & (table["fund"] != "F07")]
    pd.testing.assert_frame_equal(found, diagnostics.ic_decay(kept, nav, [3]))


def test_garbage_after_the_end_does_not_matter():
    table, nav = make_predictions(), make_nav()
    known = diagnostics.ic_decay(table[table["date"] < DAYS[2]], nav, [1, 3])
    nav.loc["2013-10-01":] = 1e6
    pd.testing.assert_frame_equal(diagnostics.ic_decay(table[table["date"] < DAYS[2]], nav, [1, 3]), known)


def test_exposure_by_hand():
    holdings = pd.DataFrame(
        [
            (DAYS[0], "b", "x", 0.5),
            (DAYS[0], "b", "y", 0.3),
            (DAYS[0], "b", "z", 0.2),
            (DAYS[0], "a", "x", 1.0),
        ],
        columns=["date", "forecaster", "fund", "weight"],
    )
    types = pd.Series({"x": "stock", "y": "bond"})
    found = type_exposure(holdings, types)
    assert list(found.columns) == ["bond", "stock", "unknown"]
    assert list(found.index) == [(DAYS[0], "b"), (DAYS[0], "a")]
    assert found.to_numpy().tolist() == [[0.3, 0.5, 0.2], [0.0, 1.0, 0.0]]
    assert list(type_exposure(holdings[:2], types).columns) == ["bond", "stock"]
