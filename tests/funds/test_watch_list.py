"""The watch list against what its description says, computed from the table by hand."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds import DataError, Panel, backtest, read_facts, select, watch

SINCE = "2014-06-30"


@pytest.fixture(scope="module")
def lasting(universe):
    nav = universe.panel.nav
    return [fund for fund in nav if nav[fund].notna().all()]


def holding(*codes):
    return pd.DataFrame({"code": codes, "value": 100.0})


def test_ranks_returns_and_drawdowns_are_those_of_the_table(universe, lasting):
    nav, fund = universe.panel.nav, lasting[0]
    seen = watch(universe.panel, holding(fund), SINCE)
    (row,) = seen.table.to_dict("records")
    for day, then in ((pd.Timestamp(SINCE), "then"), (nav.index[-1], "now")):
        start = nav[: day - pd.DateOffset(years=1)].index[-1]
        year = (nav.loc[day] / nav.loc[start] - 1.0).dropna()
        assert row[f"rank_{then}"] == 1 + (year > year[fund]).sum()
        assert row[f"n_{then}"] == len(year)
    own = nav[fund]
    assert row["earned"] == pytest.approx(own.iloc[-1] / own[SINCE] - 1.0)
    assert row["drawdown"] == pytest.approx(own.iloc[-1] / own.max() - 1.0)
    assert row["drawdown_then"] == pytest.approx(own[SINCE] / own[:SINCE].max() - 1.0)
    assert np.isnan(row["sale_fee"])
    assert seen.ranked_by == "return over a year"


def test_a_drawdown_is_told_when_it_crosses_the_limit_only(universe, lasting):
    nav = universe.panel.nav.copy()
    fund = (nav.loc[SINCE, lasting] / nav.loc[:SINCE, lasting].max()).idxmax()  # the one nearest its high
    nav.loc["2014-09-01":, fund] *= np.geomspace(1.0, 0.5, len(nav.loc["2014-09-01":]))
    fallen = float(nav[fund].iloc[-1] / nav[fund].max() - 1.0)
    seen = watch(Panel(nav), holding(fund), SINCE, rank_drop=1.0)
    assert seen.crossed
    assert f"{-100.0 * fallen:.1f} % below its high" in seen.table["crossed"][0]
    assert not watch(Panel(nav), holding(fund), SINCE, rank_drop=1.0, drawdown=0.95).crossed
    # A week before the end it was below the limit already.
    assert "below" not in watch(Panel(nav), holding(fund), "2014-12-24", rank_drop=1.0).table["crossed"][0]


def test_ranks_are_those_within_a_type_and_a_lost_quartile_is_told(universe, lasting):
    nav = universe.panel.nav.copy()
    fund = nav.loc["2013-06-28":SINCE, lasting].iloc[[0, -1]].pct_change().iloc[-1].idxmax()
    nav.loc["2014-07-01":, fund] *= np.geomspace(1.0, 0.3, len(nav.loc["2014-07-01":]))
    facts = read_facts(
        pd.DataFrame(
            {
                "code": lasting,
                "type": ["a", "b"] * (len(lasting) // 2) + ["a"] * (len(lasting) % 2),
                "name": "n",
            }
        )
    )
    seen = watch(Panel(nav), holding(fund), SINCE, facts=facts, drawdown=1.0)
    (row,) = seen.table.to_dict("records")
    peers = [each for each in lasting if facts.types[each] == facts.types[fund]]
    assert row["n_then"] == row["n_now"] == len(peers)
    assert row["rank_now"] == len(peers)
    lost = row["rank_now"] / row["n_now"] - row["rank_then"] / row["n_then"]
    assert ("of all ranks" in row["crossed"]) is (lost > 0.25)
    assert lost > 0.25
    assert row["name"] == "n"


def test_closed_funds_and_new_findings_are_told(universe, lasting):
    nav = universe.panel.nav.copy()
    closing, falling, closed = lasting[:3]
    nav.loc["2014-11-20":, closing] = np.nan
    nav.loc["2014-10-10":, falling] *= 0.55
    nav.loc["2014-03-03":, closed] = np.nan
    seen = watch(Panel(nav), holding(closing, falling, closed, "Z"), SINCE, rank_drop=1.0, drawdown=1.0)
    crossed = seen.table.set_index("fund")["crossed"]
    assert crossed[closing].startswith("no value since 2014-11-19")
    assert "new findings" in crossed[falling]
    assert crossed[closed] == ""  # it had closed before
    assert ("jump", falling) in set(zip(seen.findings["kind"], seen.findings["fund"], strict=True))
    assert any("Z is not in the table" in note for note in seen.notes)


def test_with_a_run_its_forecasts_rank(universe, lasting):
    until = universe.panel.until(pd.Timestamp("2014-09-30"))
    study = backtest(until, metrics="euclidean", top=5)
    ranks = select(universe.panel, run=study).left_out  # only to know which funds can be ranked
    fund = next(each for each in lasting if each not in set(ranks["fund"]))
    seen = watch(universe.panel, holding(fund), "2014-08-15", run=study)
    (row,) = seen.table.to_dict("records")
    for when, day in (("then", "2014-08-15"), ("now", None)):  # within the run, and after it
        known = {"run": study} if day is None else {"metric": "euclidean", "top": 5, "as_of": day}
        orders = select(universe.panel, holdings=holding(fund), **known).orders
        assert row[f"n_{when}"] == orders.n_ranked
        assert row[f"rank_{when}"] == orders.table.set_index("fund").at[fund, "rank"]
    assert seen.ranked_by == "euclidean"
    assert seen.notes == ()


def test_a_run_that_was_brought_up_to_date_ranks_as_one_that_was_not(universe, lasting):
    """In the middle of a quarter, when the last decision of the run is old."""
    panel = universe.panel.until(pd.Timestamp("2014-11-20"))
    old = backtest(universe.panel.until(pd.Timestamp("2014-06-30")), metrics="euclidean", top=5)
    new = backtest(panel, metrics="euclidean", top=5)
    seen = [watch(panel, holding(*lasting[:5]), "2014-08-15", run=run).table for run in (old, new)]
    pd.testing.assert_frame_equal(*seen)


def test_a_day_without_enough_history_has_no_ranks(universe, lasting):
    study = backtest(universe.panel, metrics="euclidean", top=5)
    early = str(universe.panel.nav.index[20].date())
    seen = watch(universe.panel, holding(lasting[0]), early, run=study)
    assert seen.table["rank_then"].isna().all()
    assert seen.table["rank_now"].notna().all()
    assert any(f"No ranks on {early}" in note for note in seen.notes)


def test_fees_of_a_sale_are_those_of_the_lots(universe, lasting):
    fund = lasting[0]
    facts = read_facts(pd.DataFrame({"code": [fund], "redemption_fees": ["7:0.015;365:0.005"]}))
    mine = pd.DataFrame({"code": fund, "units": [10.0, 30.0], "bought": ["2014-12-28", "2014-02-03"]})
    seen = watch(universe.panel, mine, SINCE, facts=facts)
    assert seen.table["sale_fee"][0] == pytest.approx((10 * 0.015 + 30 * 0.005) / 40)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"since": "soon"}, "`since` must be a date"),
        ({"since": "2014-12-31"}, "`since` must be on or after the first row, 2012-01-04"),
        ({"since": "2011-01-01"}, "`since` must be on or after the first row"),
        ({"rank_drop": 25}, "`rank_drop` must be from 0 to 1"),
        ({"drawdown": np.nan}, "`drawdown` must be from 0 to 1"),
    ],
)
def test_limits_and_days_are_checked(universe, lasting, changes, message):
    with pytest.raises(DataError, match=message):
        watch(universe.panel, holding(lasting[0]), **{"since": SINCE, **changes})
