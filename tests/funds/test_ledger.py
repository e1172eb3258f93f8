"""The ledger against hand calculations, a slow ledger in units, and the laws of money."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from geodual.funds import DataError
from geodual.funds.evaluation.ledger import run_ledger
from geodual.funds.evaluation.market import FeeRules, parse_redemption


def table(columns, start="2020-01-01"):
    values = pd.DataFrame(columns, dtype=float)
    return values.set_axis(pd.bdate_range(start, periods=len(values), name="date"))


def random_case(seed, n_days=60, n_funds=8, n_trades=5, missing=0.1):
    """NAVs with births, closures and gaps; random weights, some cash, on the first day and others."""
    rng = np.random.default_rng(seed)
    steps = 0.03 * rng.standard_normal((n_days, n_funds))
    nav = np.exp(np.cumsum(steps, axis=0) + rng.standard_normal(n_funds))
    nav[rng.random(nav.shape) < missing] = np.nan
    for fund in range(n_funds // 2):
        nav[: rng.integers(n_days), fund] = np.nan
        nav[rng.integers(n_days) :, -1 - fund] = np.nan
    nav = table({f"{fund:06d}": nav[:, fund] for fund in range(n_funds)})
    weights = rng.dirichlet(np.ones(n_funds), n_trades) * (rng.random((n_trades, n_funds)) < 0.6)
    days = [0, *np.sort(rng.choice(np.arange(1, n_days - 2), n_trades - 1, replace=False))]
    return nav, pd.DataFrame(weights, index=nav.index[days], columns=nav.columns)


def slow_ledger(nav, targets, cost, lag, wait=10):  # noqa: C901 - slow and plain on purpose
    """Units and cash in dicts, day by day; orders wait; purchases share the money there is."""
    given = {nav.index.get_loc(day) + lag: targets.loc[day] for day in targets.index}
    units, cash, equity, orders, since = {}, 1.0, [], {}, 0
    values = {fund: nav[fund].tolist() for fund in nav}

    def age(fund, row):
        return next(a for a in range(row + 1) if np.isfinite(values[fund][row - a]))

    def price(fund, row):
        return values[fund][row - age(fund, row)]

    for row in range(min(given), len(nav)):
        equity.append(cash + sum(n * price(f, row) for f, n in units.items()))
        if row in given:
            for fund in [f for f in units if age(f, row) > wait]:
                cash += units.pop(fund) * price(fund, row)
            worth = {f: n * price(f, row) for f, n in units.items()}
            total = cash + sum(worth.values())
            wanted = {f: w for f, w in given[row].items() if w > 0.0}
            funds = sorted({*wanted, *worth})

            def missing(after, wanted=wanted, worth=worth, total=total, funds=funds):
                traded = sum(abs(wanted.get(f, 0.0) * after - worth.get(f, 0.0)) for f in funds)
                return after + cost * traded - total

            after = brentq(missing, 0.0, total, xtol=1e-16, rtol=1e-15) if cost else total
            amounts = {f: wanted.get(f, 0.0) * after - worth.get(f, 0.0) for f in funds}
            orders, since = {f: a for f, a in amounts.items() if abs(a) > 1e-15}, row
            promised = dict.fromkeys(orders, 0.0)  # money set aside for purchases
        open_ = {f for f in orders if row <= since + wait and np.isfinite(values[f][row])}
        for fund in sorted(f for f in open_ if orders[f] < 0.0):
            n = units[fund] if fund not in wanted else min(units[fund], -orders[fund] / price(fund, row))
            units[fund] -= n
            cash += (1.0 - cost) * n * price(fund, row)
            del orders[fund]
            if fund not in wanted:
                del units[fund]
        buys = {f: a for f, a in orders.items() if a > 0.0}
        if buys and (open_ or row == since):
            lacking = {f: a - promised[f] for f, a in buys.items()}
            money = cash - (1.0 + cost) * sum(promised[f] for f in buys)
            needed = (1.0 + cost) * sum(lacking.values())
            share = min(1.0, max(money, 0.0) / needed) if needed > 1e-14 else 0.0
            for fund, amount in lacking.items():
                promised[fund] += share * amount
        for fund in sorted(f for f in open_ if f in buys):
            n = promised[fund] / price(fund, row)
            units[fund] = units.get(fund, 0.0) + n
            cash -= (1.0 + cost) * promised[fund]
            orders[fund] -= promised[fund]
            promised[fund] = 0.0
            if orders[fund] <= 1e-13:
                del orders[fund]
        for fund in [f for f, a in orders.items() if a < 0.0]:
            if row == since + wait and row + 1 < len(nav) and row + 1 not in given:
                cash += units.pop(fund) * price(fund, row)  # waited in vain: closed
                del orders[fund]
    return np.array(equity)


def test_two_funds_by_hand():
    nav = table({"A": [2.0, 3.0, 3.0, 6.0], "B": [1.0, 1.0, 0.5, 0.5]})
    targets = {nav.index[0]: pd.Series({"A": 0.5, "B": 0.5}), nav.index[2]: pd.Series({"A": 0.25, "B": 0.5})}
    ledger = run_ledger(nav, targets)
    # Day 1: 0.75 + 0.5. Day 2: 0.75 + 0.25 = 1, then A 0.25, B 0.5, cash 0.25. Day 3: 0.5 + 0.5 + 0.25.
    np.testing.assert_allclose(ledger.equity, [1.0, 1.25, 1.0, 1.25], rtol=1e-15)
    np.testing.assert_allclose(ledger.trades["turnover"], [1.0, 0.5], rtol=1e-15)
    np.testing.assert_array_equal(ledger.trades["n_held"], [2, 2])
    np.testing.assert_allclose(ledger.trades["cash"], [0.0, 0.25], atol=1e-15)
    np.testing.assert_allclose(ledger.cash, [0.0, 0.0, 0.25, 0.2], atol=1e-15)
    assert ledger.fills["side"].tolist() == ["buy", "buy", "sell", "buy"]
    assert list(ledger.trades["decided"]) == list(ledger.trades["executed"]) == list(nav.index[[0, 2]])


def test_costs_by_hand():
    nav = table({"A": [1.0, 2.0, 2.0], "B": [1.0, 1.0, 1.0]})
    targets = {nav.index[0]: pd.Series({"A": 1.0}), nav.index[1]: pd.Series({"B": 1.0})}
    ledger = run_ledger(nav, targets, fees=FeeRules(0.02))
    # Buying costs 2 % of what is bought; a switch loses 2 % going out and again coming in.
    bought = 1.0 / 1.02
    np.testing.assert_allclose(ledger.equity, [1.0, 2.0 * bought, 2.0 * bought * 0.98 / 1.02], rtol=1e-15)
    np.testing.assert_allclose(ledger.trades["cost"], [1.0 - bought, 1.0 - 0.98 / 1.02], rtol=1e-14)


def test_buy_and_hold_is_the_ratio_of_navs():
    nav = table({"A": np.exp(np.random.default_rng(0).standard_normal(50))})
    ledger = run_ledger(nav, {nav.index[10]: pd.Series({"A": 1.0})})
    np.testing.assert_allclose(ledger.equity, nav["A"].iloc[10:] / nav["A"].iloc[10], rtol=1e-15)
    assert ledger.equity.index.equals(nav.index[10:])


@pytest.mark.parametrize("cost", [0.0, 0.0015, 0.09])
@pytest.mark.parametrize("lag", [0, 1, 2])
def test_it_agrees_with_a_slow_ledger(cost, lag):
    for seed in range(3):
        nav, targets = random_case(seed)
        ledger = run_ledger(nav, targets, fees=FeeRules(cost), execution_lag=lag)
        np.testing.assert_allclose(ledger.equity, slow_ledger(nav, targets, cost, lag), rtol=1e-12)


def test_a_closed_fund_keeps_its_value_and_turns_to_cash():
    gone = [1.0, 2.0, *[np.nan] * 14]
    nav = table({"A": gone, "B": [*np.ones(14), 2.0, 3.0]})
    half = pd.Series({"A": 0.5, "B": 0.5})
    ledger = run_ledger(nav, {nav.index[0]: half, nav.index[13]: half})
    # A's 1.0 (of 1.5) is paid out on day 13, when it has had no value for over ten rows; 0.25 of it goes into
    # B, and the half that was meant for A stays in cash.
    np.testing.assert_allclose(ledger.equity, [1.0, *[1.5] * 13, 2.25, 3.0], rtol=1e-15)
    np.testing.assert_allclose(ledger.trades["unfilled"], [0.0, 0.5], rtol=1e-15)
    np.testing.assert_array_equal(ledger.trades["n_held"], [2, 1])
    closure = ledger.fills[ledger.fills["side"] == "closure"].iloc[0]
    assert (closure["fund"], closure["day"], closure["price"]) == ("A", nav.index[1], 2.0)


def test_a_purchase_waits_for_the_funds_own_next_value():
    nav = table({"A": [np.nan, np.nan, 2.0, 4.0], "B": [1.0, 1.0, 1.0, 2.0]})
    ledger = run_ledger(nav, {nav.index[0]: pd.Series({"A": 0.5, "B": 0.5})})
    # Half waits in cash until day 2, buys A at 2 and doubles; so does B.
    np.testing.assert_allclose(ledger.equity, [1.0, 1.0, 1.0, 2.0], rtol=1e-15)
    np.testing.assert_allclose(ledger.cash, [0.5, 0.5, 0.0, 0.0], atol=1e-15)
    assert ledger.fills[["day", "fund", "price"]].to_numpy().tolist() == [
        [nav.index[0], "B", 1.0],
        [nav.index[2], "A", 2.0],
    ]
    assert ledger.trades["unfilled"].tolist() == [0.0]


def test_an_order_that_waits_too_long_is_canceled_and_told():
    nav = table({"A": [*[np.nan] * 4, 1.0, 5.0], "B": np.ones(6)})
    ledger = run_ledger(nav, {nav.index[0]: pd.Series({"A": 0.5, "B": 0.5})}, wait=3)
    assert ledger.trades["unfilled"].tolist() == [0.5]
    np.testing.assert_array_equal(ledger.equity, np.ones(6))
    assert ledger.fills["fund"].tolist() == ["B"]
    bought = run_ledger(nav, {nav.index[0]: pd.Series({"A": 0.5, "B": 0.5})}, wait=4)
    assert bought.equity.iloc[-1] == 3.0


def test_a_sale_waits_and_purchases_cannot_spend_what_it_will_bring():
    nav = table({"A": [1.0, np.nan, 3.0, 9.0], "B": [1.0, 1.0, 1.0, 2.0]})
    ledger = run_ledger(nav, {nav.index[0]: pd.Series({"A": 1.0}), nav.index[1]: pd.Series({"B": 1.0})})
    # On day 1 A has no value. It is sold on day 2, at 3; then B is bought for 1, as planned; 2 stay in cash.
    np.testing.assert_allclose(ledger.equity, [1.0, 1.0, 3.0, 4.0], rtol=1e-15)
    np.testing.assert_allclose(ledger.trades["unfilled"], [0.0, 0.0], atol=1e-15)
    assert ledger.fills["day"].tolist() == [nav.index[0], nav.index[2], nav.index[2]]


def test_a_stray_row_does_not_put_the_portfolio_in_cash():
    """On the day of execution one fund of three has a value; the other orders go through a day later."""
    nav = table({f"F{j}": np.linspace(1.0, 2.0, 30) for j in range(3)})
    nav.iloc[10, 1:] = np.nan
    third = pd.Series(1 / 3, index=nav.columns)
    ledger = run_ledger(nav, {nav.index[9]: third}, execution_lag=1)
    assert ledger.trades["unfilled"].tolist() == [0.0]
    assert ledger.cash.iloc[0] == pytest.approx(2 / 3)
    np.testing.assert_allclose(ledger.cash.iloc[1:], 0.0, atol=1e-15)


def test_fees_by_holding_time_first_in_first_out():
    days = pd.DatetimeIndex(["2020-01-01", "2020-01-03", "2020-01-20", "2020-01-21"], name="date")
    nav = pd.DataFrame({"A": np.ones(4), "B": np.ones(4)}, index=days)
    fees = FeeRules(purchase={"A": 0.01}, redemption=parse_redemption(("7:0.015", "30:0.005"))[0])
    half, more, none = pd.Series({"A": 0.5}), pd.Series({"A": 0.8}), pd.Series({"B": 0.0})
    ledger = run_ledger(nav, {days[0]: half, days[1]: more, days[2]: none}, fees=fees)
    # Day 0: x = 1 − 0.01 · 0.5 x. Day 1: the rest up to 0.8. Day 2: all is sold after 19 and 17 days.
    x = 1.0 / 1.005
    y = (x + 0.005 * x) / 1.008  # y = x − 0.01 (0.8 y − 0.5 x)
    np.testing.assert_allclose(ledger.equity, [1.0, x, y, y * (1.0 - 0.8 * 0.005)], rtol=1e-14)
    sale = ledger.fills.iloc[-1]
    assert (sale["side"], sale["fund"]) == ("sell", "A")
    assert sale["fee"] == pytest.approx(0.005 * 0.8 * y)


def test_the_oldest_lot_is_sold_first():
    days = pd.DatetimeIndex(["2020-01-01", "2020-01-30", "2020-02-01", "2020-02-02"], name="date")
    nav = pd.DataFrame({"A": np.ones(4)}, index=days)
    fees = FeeRules(redemption=((7, 0.05),))
    weights = {days[0]: 0.5, days[1]: 1.0, days[2]: 0.4}
    ledger = run_ledger(nav, {day: pd.Series({"A": w}) for day, w in weights.items()}, fees=fees)
    # 0.6 is sold: 0.5 of the first lot free of charge, and 0.1 and a bit of the second at 5 %.
    after = (1.0 - 0.05 * 0.5) / (1.0 - 0.05 * 0.4)  # x = 1 − 0.05 (1 − 0.4 x − 0.5)
    assert ledger.equity.iloc[-1] == pytest.approx(after, rel=1e-14)


def test_orders_for_funds_abroad_take_longer():
    nav = table({"A": [1.0, 1.0, 2.0, 4.0], "B": [1.0, 1.0, 1.0, 1.0]})
    ledger = run_ledger(nav, {nav.index[0]: pd.Series({"A": 0.5, "B": 0.5})}, fees=FeeRules(delay={"A": 2}))
    assert dict(zip(ledger.fills["fund"], ledger.fills["day"], strict=True)) == {
        "B": nav.index[0],
        "A": nav.index[2],
    }
    np.testing.assert_allclose(ledger.equity, [1.0, 1.0, 1.0, 1.5], rtol=1e-15)


@given(seed=st.integers(0, 10**6), cost=st.sampled_from([0.0, 0.003]), lag=st.integers(0, 2))
def test_fills_explain_the_equity_and_every_price_is_published(seed, cost, lag):
    nav, targets = random_case(seed)
    ledger = run_ledger(nav, targets, fees=FeeRules(cost), execution_lag=lag)
    sign = ledger.fills["side"].map({"buy": 1.0, "sell": -1.0, "closure": -1.0})
    for row in ledger.fills.itertuples():
        assert row.price == nav.at[row.day, row.fund], "a value that the fund published on that day"
        assert row.value == row.units * row.price
    cash = 1.0 - float((sign * ledger.fills["value"] + ledger.fills["fee"]).sum())
    units = (sign * ledger.fills["units"]).groupby(ledger.fills["fund"]).sum()
    worth = float((units * nav.ffill().iloc[-1][units.index]).sum())
    decided = ledger.fills["day"] < nav.index[-1]
    if decided.all():  # a trade on the last day costs after the last value
        assert ledger.equity.iloc[-1] == pytest.approx(cash + worth, rel=1e-12)
    assert (ledger.fills["units"] > 0.0).all()
    assert (ledger.cash >= -1e-12).all()


@pytest.mark.parametrize("seed", range(5))
def test_books_without_fees_are_the_same_whether_or_not_lots_are_remembered(seed):
    nav, targets = random_case(seed)
    remembered = FeeRules()
    vars(remembered)["sales_are_free"] = False
    plain, dated = run_ledger(nav, targets), run_ledger(nav, targets, fees=remembered)
    for name in ("trades", "fills"):
        pd.testing.assert_frame_equal(getattr(plain, name), getattr(dated, name), check_exact=True)
    pd.testing.assert_series_equal(plain.equity, dated.equity, check_exact=True)


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ({"cost": 0.1}, r"below 0\.1 \(0\.0015 means"),
        ({"cost": -0.01}, "at least 0"),
        ({"purchase": {"A": 2.0}}, "got 2.0"),
        ({"redemption": ((365, 0.005), (7, 0.015))}, r"increasing numbers of days, got \[365, 7\]"),
        ({"delay": {"A": -1}}, "delay of an order must not be negative"),
    ],
)
def test_bad_fees_are_named(rules, told):
    with pytest.raises(DataError, match=told):
        FeeRules(**rules)
    with pytest.raises(DataError, match=r"must be days:rate or type:days:rate, such as 7:0\.015"):
        parse_redemption(("1.5 %",))


def test_a_gap_is_valued_at_the_last_nav_and_then_made_up():
    nav = table({"A": [1.0, 2.0, np.nan, 4.0]})
    ledger = run_ledger(nav, {nav.index[0]: pd.Series({"A": 1.0})})
    np.testing.assert_array_equal(ledger.equity, [1.0, 2.0, 2.0, 4.0])


def test_an_unborn_fund_is_bought_at_its_first_value_if_that_comes_in_time():
    nav = table({"A": [np.nan, 1.0, 5.0], "B": [1.0, 1.0, 1.0]})
    ledger = run_ledger(nav, {nav.index[0]: pd.Series({"A": 1.0})})
    np.testing.assert_array_equal(ledger.equity, [1.0, 1.0, 5.0])
    assert run_ledger(nav, {nav.index[0]: pd.Series({"A": 1.0})}, wait=0).trades["turnover"].tolist() == [0.0]


def test_a_lag_trades_at_later_navs():
    nav = table({"A": [1.0, 2.0, 6.0], "B": [1.0, 1.0, 1.0]})
    targets = {nav.index[0]: pd.Series({"A": 1.0}), nav.index[2]: pd.Series({"B": 1.0})}
    ledger = run_ledger(nav, targets, execution_lag=1)
    assert ledger.equity.to_dict() == {nav.index[1]: 1.0, nav.index[2]: 3.0}
    days = ledger.trades[["decided", "executed"]].to_dict("list")
    assert days == {"decided": [nav.index[0]], "executed": [nav.index[1]]}


@given(seed=st.integers(0, 10**6))
def test_neither_units_nor_order_of_funds_matter(seed):
    nav, targets = random_case(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(nav.columns)
    scaled = (nav * np.exp(5.0 * rng.standard_normal(len(nav.columns))))[order]
    ours, other = (run_ledger(values, targets, fees=FeeRules(0.01)) for values in (nav, scaled))
    np.testing.assert_allclose(ours.equity, other.equity, rtol=1e-12)
    np.testing.assert_allclose(ours.trades["turnover"], other.trades["turnover"], rtol=1e-9, atol=1e-12)


@given(seed=st.integers(0, 10**6), cut=st.integers(0, 59))
def test_what_comes_later_changes_nothing_before(seed, cut):
    nav, targets = random_case(seed)
    day = nav.index[cut]
    whole = run_ledger(nav, targets, fees=FeeRules(0.01))
    part = run_ledger(nav.loc[:day], targets.loc[:day], fees=FeeRules(0.01))
    pd.testing.assert_series_equal(part.equity, whole.equity.loc[:day], check_exact=True, check_freq=False)
    over = len(part.trades) - 1  # the orders of the last rebalance may still wait
    pd.testing.assert_frame_equal(part.trades.iloc[:over], whole.trades.iloc[:over], rtol=1e-12, atol=1e-14)


def test_costs_lower_the_equity_and_inputs_stay_as_they_are():
    nav, targets = random_case(3)
    before = nav.copy(), targets.copy()
    curves = [run_ledger(nav, targets, fees=FeeRules(cost)).equity for cost in (0.0, 0.001, 0.01)]
    assert (curves[0].iloc[1:] > curves[1].iloc[1:]).all()
    assert (curves[1].iloc[1:] > curves[2].iloc[1:]).all()
    pd.testing.assert_frame_equal(nav, before[0])
    pd.testing.assert_frame_equal(targets, before[1])


def test_a_mapping_and_a_table_are_the_same():
    nav, targets = random_case(1)
    mapping = {day: row[row > 0.0] for day, row in targets.iloc[::-1].iterrows()}
    pd.testing.assert_series_equal(run_ledger(nav, targets).equity, run_ledger(nav, mapping).equity)


def test_holding_to_target_without_drift_costs_nothing():
    nav = table({"A": [1.0, 2.0, 3.0], "B": [2.0, 4.0, 6.0]})
    half = pd.Series({"A": 0.5, "B": 0.5})
    ledger = run_ledger(nav, {nav.index[0]: half, nav.index[1]: half}, fees=FeeRules(0.05))
    np.testing.assert_allclose(ledger.trades["cost"], [1.0 - 1.0 / 1.05, 0.0], atol=1e-15)


@pytest.mark.parametrize(
    ("targets", "options", "error", "message"),
    [
        ({"2020-01-02": {"A": 1.0}}, {"execution_lag": -1}, ValueError, "`execution_lag` must .* Use 0"),
        ({"2020-01-04": {"A": 1.0}}, {}, DataError, "2020-01-04, which is not a row .* Decide on days"),
        ({"2020-01-02": {"C": 1.0}}, {}, DataError, "'C', which is not a column .* Remove it"),
        ({"2020-01-02": {"A": 0.7, "B": 0.4}}, {}, DataError, "2020-01-02 .* their sum is 1.1. Rescale"),
        ({"2020-01-02": {"A": 1.5, "B": -0.5}}, {}, DataError, "must not be negative"),
        ({"2020-01-02": {"A": np.inf}}, {}, DataError, "at most one"),
        ({"2020-01-02": {"B": 1.0}}, {}, DataError, "`nav` must be positive. Use NaN"),
        ({"2020-01-03": {"A": 1.0}}, {"execution_lag": 1}, DataError, "no decision that can be executed"),
        ({}, {}, DataError, "no decision that can be executed"),
    ],
)
def test_bad_input_is_named(targets, options, error, message):
    nav = table({"A": [1.0, 1.0, 1.0], "B": [1.0, 0.0, 1.0]})
    with pytest.raises(error, match=message):
        run_ledger(nav, targets, **options)


def test_two_decisions_on_a_day_are_refused():
    nav = table({"A": [1.0, 1.0]})
    targets = pd.DataFrame({"A": [0.5, 1.0]}, index=nav.index[[0, 0]])
    with pytest.raises(DataError, match=r"two decisions on 2020-01-01\. Keep one"):
        run_ledger(nav, targets)


@pytest.mark.parametrize("seed", [3, 13])
@pytest.mark.parametrize(("cost", "lag"), [(0.0, 0), (0.01, 1)])
def test_money_set_aside_is_not_spent_twice_where_many_values_are_missing(
    seed: int, cost: float, lag: int
) -> None:
    nav, targets = random_case(seed, missing=0.4)
    ledger = run_ledger(nav, targets, fees=FeeRules(cost), execution_lag=lag)
    np.testing.assert_allclose(ledger.equity, slow_ledger(nav, targets, cost, lag), rtol=1e-12)


def test_what_was_traded_is_a_share_of_the_equity_after_fees() -> None:
    nav = table({"A": [1.0, 1.0, 1.0], "B": [1.0, 1.0, 1.0]})
    ledger = run_ledger(nav, {nav.index[0]: pd.Series({"A": 0.5, "B": 0.5})}, fees=FeeRules(0.05))
    assert ledger.trades["traded"].tolist() == pytest.approx([1.0])
    assert ledger.equity.iloc[-1] == pytest.approx(1.0 / 1.05)


def test_a_fund_whose_sale_waited_in_vain_is_paid_out() -> None:
    nav = table({"A": [1.0, 1.0, 1.5, *[np.nan] * 9], "B": np.ones(12)})
    targets = {nav.index[0]: pd.Series({"A": 1.0}), nav.index[3]: pd.Series({"B": 1.0})}
    fills = run_ledger(nav, targets, wait=4).fills
    closed = fills[fills["side"] == "closure"]
    assert closed["fund"].tolist() == ["A"]
    assert closed["value"].tolist() == [1.5]


def test_a_small_holding_that_cannot_be_sold_is_paid_out_too() -> None:
    days = pd.bdate_range("2020-01-01", periods=12, name="date")
    nav = pd.DataFrame({"A": [1.0, 1.0, 1.5, *[np.nan] * 9], "B": np.ones(12)}, index=days)
    targets = {days[0]: pd.Series({"A": 0.1, "B": 0.9}), days[3]: pd.Series({"B": 1.0})}
    fills = run_ledger(nav, targets, wait=4).fills
    closed = fills[fills["side"] == "closure"]
    assert closed["value"].tolist() == pytest.approx([0.15])


def test_fees_may_change_after_one_day_but_not_at_once() -> None:
    assert FeeRules(redemption=((1, 0.02), (7, 0.01))).redemption[0] == (1, 0.02)
    with pytest.raises(DataError, match="increasing numbers of days"):
        FeeRules(redemption=((0, 0.02),))
