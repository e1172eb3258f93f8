"""Orders from real holdings, recomputed by hand: fees by lot, money to the cent, locks, limits, ranks."""

from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodual.funds import DataError, Panel, backtest, read_facts, read_holdings, select
from geodual.funds.evaluation.market import FeeRules
from geodual.funds.evaluation.orders import plan_orders, value_holdings

DAYS = pd.bdate_range("2014-01-01", "2014-12-31", name="date")
TODAY = DAYS[-1]
STEPS = ((7, 0.015), (365, 0.005))
CENT = Decimal("0.01")


def table(**last):
    """A NAV table whose last values are given."""
    return pd.DataFrame({fund: np.linspace(1.0, value, len(DAYS)) for fund, value in last.items()}, DAYS)


def orders_of(lots, weights, nav, fees=None, cash=0.0, min_holding=0):
    fees = fees or FeeRules(redemption=STEPS)
    position = value_holdings(read_holdings(lots), nav, fees, min_holding)
    ranks = pd.Series(range(1, len(weights) + 1), list(weights))
    return plan_orders(position, pd.Series(weights, dtype=float), ranks, fees, cash)


def lots_of(*rows):
    return pd.DataFrame(rows, columns=["code", "units", "bought"])


def ago(days):
    return str((TODAY - pd.Timedelta(days=days)).date())


def test_fees_by_age_around_the_limits_first_in_first_out():
    """Sold whole: each lot pays by its age; a lot of exactly 7 or 365 days pays the lower rate."""
    ages = {6: 0.015, 7: 0.005, 364: 0.005, 365: 0.0, 400: 0.0}
    rows = [("A", 100.0 * at, ago(age)) for at, age in enumerate(ages, 1)]
    found = orders_of(lots_of(*rows), {}, table(A=2.0), cash=1.0)
    fees = sum(200.0 * at * rate for at, rate in enumerate(ages.values(), 1))  # 3 + 2 + 3
    assert found.fees == pytest.approx(fees) == pytest.approx(8.0)
    assert found.cash_left == pytest.approx(1.0 + 3000.0 - 8.0)
    assert found.lots["days_held"].tolist() == [400.0, 365.0, 364.0, 7.0, 6.0]
    assert found.lots["rate"].tolist() == [0.0, 0.0, 0.005, 0.005, 0.015]


def test_a_partial_sale_takes_the_oldest_lots():
    """A third of the money goes to B: of A, 1,000 of 3,000 are sold, the oldest lot and half the next."""
    rows = [("A", 1000.0, ago(2)), ("A", 1000.0, ago(400)), ("A", 1000.0, ago(100))]
    found = orders_of(lots_of(*rows), {"A": 0.5, "B": 0.5}, table(A=1.0, B=1.0))
    # 1,500 + x are sold, with the fee 0.005 (500 + x), and half of what is left is in each fund.
    x = 0.5 * 0.005 * 500.0 / (1.0 - 0.5 * 0.005)
    assert found.lots["sold_units"].tolist() == pytest.approx([1000.0, 500.0 + x, 0.0], abs=1e-3)
    assert found.lots["fee"].tolist() == pytest.approx([0.0, 0.005 * (500.0 + x), 0.0], abs=0.006)
    after = found.table.set_index("fund")["weight_after"]
    assert after.to_dict() == pytest.approx({"A": 0.5, "B": 0.5}, abs=1e-5)
    assert found.turnover == pytest.approx(0.5, abs=1e-3)
    assert found.overlap == pytest.approx(0.5, abs=1e-5)


def test_lots_without_a_day_go_first_and_cost_nothing_and_that_is_told():
    rows = [("A", 100.0, ago(3)), ("A", 100.0, None)]
    found = orders_of(lots_of(*rows), {"A": 0.5, "B": 0.5}, table(A=10.0, B=1.0))
    assert found.lots["sold_units"].tolist() == [100.0, 0.0]
    assert found.fees == 0.0
    (note,) = found.notes
    assert "1 of 2 lots" in note
    assert "15.00 more" in note  # 1.5 % of 1,000


def test_locked_lots_stay_and_the_others_share_the_rest():
    rows = [("A", 600.0, ago(5)), ("A", 200.0, ago(50)), ("B", 200.0, ago(50))]
    found = orders_of(lots_of(*rows), {"B": 0.5, "C": 0.5}, table(A=1.0, B=1.0, C=1.0), FeeRules(), 0.0, 30)
    after = found.table.set_index("fund")["weight_after"]
    assert after.to_dict() == pytest.approx({"A": 0.6, "B": 0.2, "C": 0.2})
    assert found.table.set_index("fund").at["A", "why"] == "locked by min_holding; not picked"
    assert found.lots.set_index(["fund", "days_held"])["sold_units"].to_dict() == {
        ("A", 50.0): 200.0,
        ("A", 5.0): 0.0,
        ("B", 50.0): 0.0,
    }
    free = orders_of(lots_of(*rows), {"B": 0.5, "C": 0.5}, table(A=1.0, B=1.0, C=1.0), FeeRules(), 0.0, 5)
    assert free.table.set_index("fund")["weight_after"]["A"] == 0.0


def test_weights_that_leave_cash_leave_it():
    found = orders_of(lots_of(("A", 100.0, None)), {"B": 0.25}, table(A=1.0, B=1.0), FeeRules(cost=0.01))
    # Of 99 after the sale, B gets a quarter of what is left after its own fee.
    after = 99.0 / (1.0 + 0.01 * 0.25)
    assert found.table.set_index("fund").at["B", "value"] == pytest.approx(0.25 * after, abs=0.01)
    assert found.cash_left == pytest.approx(0.75 * after, abs=0.02)
    assert found.turnover == pytest.approx(1.0)  # of 1 in A, a quarter is in B and the rest in cash


@pytest.mark.parametrize("cash", [501.0, 504.0, 507.0, 769.0])
def test_thirds_without_fees_are_bought_whatever_rounding_leaves(cash):
    """In floating point, three thirds of some amounts are less than the amount."""
    thirds = dict.fromkeys("BCD", 1.0 / 3.0)
    found = orders_of(
        lots_of(("A", 1.0, ago(9))), thirds, table(A=1.0, B=1.0, C=1.0, D=1.0), FeeRules(), cash
    )
    bought = found.table[found.table["action"] == "buy"]["value"]
    assert bought.tolist() == [int(100.0 * (1.0 + cash) / 3.0) / 100.0] * 3
    assert found.cash_left == pytest.approx(1.0 + cash - bought.sum())


def test_closed_and_unknown_funds_are_told_and_not_traded():
    nav = table(A=1.0, B=1.0, **{"000007": 1.0})
    nav.loc[DAYS[-11] :, "A"] = np.nan
    nav.loc[DAYS[-10] :, "000007"] = np.nan  # ten rows: it may only be late
    lots = lots_of(("A", 50.0, None), ("7", 5.0, None), ("Z", 5.0, None), ("000007", 40.0, None))
    found = orders_of(lots, {"B": 1.0}, nav, FeeRules())
    actions = found.table.set_index("fund")["action"].to_dict()
    assert actions == {"000007": "sell", "B": "buy", "A": "closed", "7": "unknown", "Z": "unknown"}
    late = nav["000007"].dropna()
    assert found.total == pytest.approx(40.0 * late.iloc[-1])
    assert found.table.set_index("fund").at["000007", "day"] == late.index[-1]
    closed = found.table.set_index("fund").loc["A"]
    assert closed["value_before"] == pytest.approx(50.0 * nav["A"].dropna().iloc[-1])
    assert (closed["units"], closed["value"], closed["fee"]) == (0.0, 0.0, 0.0)
    assert sum("not in the table" in note for note in found.notes) == 1
    assert "7 (did it lose zeros: 000007?), Z are not in the table" in found.notes[0]
    assert "A has had no value since" in found.notes[1]


@pytest.mark.parametrize(
    ("rows", "cash", "message"),
    [
        ([("A", 1.0, "2015-01-01")], 0.0, "'A' was bought on 2015-01-01, after the day of the decision"),
        ([("Z", 1.0, None)], 0.0, "there is no cash"),
        ([("B", 1.0, None)], 0.0, "'B' has no value up to 2014-12-31"),
    ],
)
def test_holdings_that_cannot_be_are_refused(rows, cash, message):
    nav = table(A=1.0, B=1.0)
    nav["B"] = np.nan
    with pytest.raises(DataError, match=message):
        orders_of(lots_of(*rows), {"A": 1.0}, nav, cash=cash)


amounts = st.floats(0.01, 1e7)


@given(
    units=st.lists(amounts, min_size=1, max_size=6),
    ages=st.lists(st.integers(0, 500), min_size=6, max_size=6),
    prices=st.lists(st.floats(0.05, 5e3), min_size=5, max_size=5),
    shares=st.lists(st.floats(0.0, 1.0), min_size=5, max_size=5),
    cash=st.floats(0.0, 1e6),
    min_holding=st.sampled_from([0, 30]),
)
def test_orders_finance_themselves_to_the_cent(units, ages, prices, shares, cash, min_holding):
    nav = table(**dict(zip("ABCDE", prices, strict=True)))
    rows = [("ABC"[at % 3], size, ago(min(ages[at], 360))) for at, size in enumerate(units)]
    rows = list({(fund, day): (fund, size, day) for fund, size, day in rows}.values())
    weights = dict(zip("ABCDE", np.array(shares) / max(sum(shares), 1.0), strict=True))
    weights = {fund: weight for fund, weight in weights.items() if weight}
    cash = round(cash, 2)
    fees = FeeRules(cost=0.0012, redemption=STEPS)
    found = orders_of(lots_of(*rows), weights, nav, fees, cash, min_holding)
    money, charged = Decimal(str(cash)), Decimal(0)
    for lot in found.lots.to_dict("records"):
        value = Decimal(str(round(lot["sold_value"], 2)))
        fee = (value * Decimal(str(lot["rate"]))).quantize(CENT, ROUND_HALF_EVEN)
        assert abs(fee - Decimal(str(round(lot["fee"], 2)))) <= CENT
        assert not (lot["locked"] and lot["sold_value"])
        assert lot["sold_units"] * dict(zip("ABCDE", prices, strict=True))[lot["fund"]] == pytest.approx(
            lot["sold_value"], abs=0.0051
        )
        money += value - Decimal(str(round(lot["fee"], 2)))
        charged += Decimal(str(round(lot["fee"], 2)))
    bought = found.table[found.table["action"] == "buy"]
    for order in bought.to_dict("records"):
        assert order["value"] * 0.0012 == pytest.approx(order["fee"], abs=0.0051)
        money -= Decimal(str(round(order["value"], 2))) + Decimal(str(round(order["fee"], 2)))
        charged += Decimal(str(round(order["fee"], 2)))
    assert Decimal(str(found.cash_left)) == money >= 0
    assert Decimal(str(found.fees)) == charged
    assert found.table["weight_after"].sum() <= 1.0 + 1e-9


MINE = {"top": 4, "metric": "euclidean"}


def held_of(picks, panel):
    return pd.DataFrame({"code": picks, "value": 1000.0})


def test_the_holdings_take_the_place_of_the_last_picks(universe):
    """With a buffer, what is held stays as long as its rank is in it, whatever was picked before."""
    free = select(universe.panel, **MINE)
    ranks = select(universe.panel, **MINE | {"top": 12}).picks["fund"].tolist()
    mine = held_of([ranks[10], ranks[5]], universe.panel)
    kept = select(universe.panel, **MINE, keep_rank=8, holdings=mine)
    assert set(kept.picks["fund"]) == {*ranks[:3], ranks[5]}
    assert set(free.picks["fund"]) == set(ranks[:4])
    rows = kept.orders.table.set_index("fund")
    assert rows.at[ranks[10], "action"] == "sell"
    assert rows.at[ranks[10], "rank"] == 11
    assert rows["weight_after"].reindex(kept.picks["fund"]).tolist() == pytest.approx([0.25] * 4, abs=1e-4)


def test_caps_hold_after_the_orders(universe):
    ranks = select(universe.panel, **MINE | {"top": 12}).picks["fund"].tolist()
    facts = read_facts(pd.DataFrame({"code": ranks, "type": ["x"] * 4 + ["y"] * 8}))
    found = select(
        universe.panel, **MINE, facts=facts, max_type=0.5, holdings=held_of(ranks[:3], None), cash=500.0
    )
    after = found.orders.table.set_index("fund")["weight_after"]
    assert after.groupby(facts.types).sum()["x"] <= 0.5 + 1e-6
    assert after.sum() == pytest.approx(1.0, abs=1e-4)


def test_a_fund_bought_a_short_time_ago_stays_and_says_why(universe):
    tenth = select(universe.panel, **MINE | {"top": 12}).picks["fund"].iloc[9]
    mine = pd.DataFrame({"code": [tenth], "units": [20.0], "bought": ["2014-12-20"]})
    found = select(universe.panel, **MINE, min_holding=30, holdings=mine)
    assert found.picks["fund"].iloc[-1] == tenth
    assert found.picks["rank"].tolist() == [1, 2, 3, 10], "the rank of the forecast, as in the orders"
    row = found.orders.table.set_index("fund").loc[tenth]
    assert (row["why"], row["rank"]) == ("kept by min_holding", 10)


def test_a_young_lot_of_a_fund_held_for_long_is_locked_but_the_fund_may_go(universe):
    """As in a study, the first purchase counts: a later one, however small, must not keep a bad fund."""
    tenth = select(universe.panel, **MINE | {"top": 12}).picks["fund"].iloc[9]
    mine = pd.DataFrame({"code": [tenth] * 2, "units": [10.0, 20.0], "bought": ["2013-01-02", "2014-12-20"]})
    found = select(universe.panel, **MINE, min_holding=30, holdings=mine)
    assert tenth not in set(found.picks["fund"])
    assert found.orders.lots["locked"].tolist() == [False, True]
    assert found.orders.lots["sold_units"].tolist() == [10.0, 0.0]


def test_holdings_of_the_strategy_itself_give_its_picks(universe, tmp_path):
    """Its lots, from its list of fills, with small purchases long after the first."""
    config = {"top": 4, "keep_rank": 12, "min_holding": 200, "cost": 0.001}
    study = backtest(universe.panel, metrics="euclidean", **config)
    left = {}
    for fill in study.fills.itertuples():
        lots = left.setdefault(fill.fund, [])
        if fill.side == "buy":
            lots.append([fill.day, fill.units])
        rest = 0.0 if fill.side == "buy" else fill.units
        while rest > 1e-12:
            taken = min(rest, lots[0][1])
            lots[0][1] -= taken
            rest -= taken
            if lots[0][1] <= 1e-12:
                lots.pop(0)
    rows = [(fund, 1e6 * units, day) for fund, lots in left.items() for day, units in lots]
    assert len(rows) > len({row[0] for row in rows}), "some fund was bought more than once"
    mine = pd.DataFrame(rows, columns=["code", "units", "bought"])
    own = select(universe.panel, run=study)
    found = select(universe.panel, run=study, holdings=mine)
    pd.testing.assert_frame_equal(found.picks, own.picks)


def test_a_fund_that_the_strategy_may_not_hold_is_sold(universe):
    fund = universe.panel.nav.columns[universe.panel.nav.iloc[-1].notna()][0]
    found = select(universe.panel, **MINE, exclude=[fund], holdings=held_of([fund], None))
    row = found.orders.table.set_index("fund").loc[fund]
    assert (row["action"], row["value"]) == ("sell", 1000.0)
    assert np.isnan(row["rank"])


@pytest.mark.parametrize("cash", [-1.0, np.nan, np.inf, "100"])
def test_cash_must_be_money(universe, cash):
    with pytest.raises(DataError, match="`cash`"):
        select(universe.panel, **MINE, holdings=held_of(["M00001"], None), cash=cash)


def test_cash_alone_buys_the_picks(universe, tmp_path):
    found = select(universe.panel, **MINE, cash=1000.0)
    table = found.orders.table
    assert table["action"].tolist() == ["buy"] * 4
    assert table["value"].tolist() == [250.0] * 4
    assert (found.orders.cash_left, found.orders.turnover) == (0.0, 1.0)
    page = found.report(tmp_path / "picks.html").read_text("utf-8")
    assert "To get there: 0 sales and 4 purchases" in page
    assert "Doing nothing" not in page
    assert select(universe.panel, **MINE).orders is None


def test_orders_stand_on_the_page_and_in_the_workbook(universe, tmp_path):
    names = ["=1+1", "<b>X</b>", *universe.panel.nav.columns[2:]]
    panel = Panel(universe.panel.nav.set_axis(names, axis=1))
    mine = pd.DataFrame({"code": [names[0], names[1], "<i>"], "value": [100.0, 50.0, 1.0]})
    facts = pd.DataFrame({"code": names[:1], "name": ["Held & sold"]})
    found = select(panel, **MINE, facts=facts, holdings=mine, cash=10.0)
    page = found.report(tmp_path / "picks.html").read_text("utf-8")
    assert 'id="orders"' in page
    assert "<b>X</b>" not in page
    assert "<i>" not in page.split("</style>")[1]
    assert "Doing nothing" in page
    assert "<small>Held &amp; sold</small>" in page.split('id="orders"')[1]
    made = found.orders.table["action"].value_counts()
    sales, purchases = made["sell"], made["buy"]
    assert f"To get there: {sales} sales and {purchases} purchases" in page
    assert "Sell Held &amp; sold and &lt;b&gt;X&lt;/b&gt; in full." in page
    assert "in part." not in page
    book = openpyxl.load_workbook(found.to_excel(tmp_path / "picks.xlsx"))
    rows = list(book["Orders"].values)
    assert len(rows) == 1 + len(found.orders.table)
    assert len(list(book["Lots"].values)) == 3
    assert all(cell.data_type != "f" for row in book["Orders"].iter_rows() for cell in row)
    assert select(panel, **MINE).orders is None


def test_a_sale_of_all_units_is_in_full_and_one_of_some_in_part(universe, tmp_path):
    """Also if rounding leaves a weight that is not quite zero."""
    kept = select(universe.panel, **MINE).picks["fund"].iloc[0]
    other = next(
        fund for fund in universe.panel.nav if fund not in set(select(universe.panel, **MINE).picks["fund"])
    )
    mine = pd.DataFrame({"code": [kept, other], "value": [1000.0, 0.1]})
    found = select(universe.panel, **MINE, holdings=mine)
    page = found.report(tmp_path / "picks.html").read_text("utf-8")
    assert f"Sell {other} in full. Sell {kept} in part." in page
    assert "What to buy and sell?" in page
