"""The ledger against one from outside: a loop over days in plain Python, with waiting orders and fees by lot.

The outside ledger knows nothing of geodual. It keeps cash and lots in lists, writes the orders of a rebalance
and looks every day which of them can be filled: an order waits until its fund has a value.
"""

import math

import numpy as np
import pandas as pd
import pytest

from geodual.funds import backtest, synthetic_universe
from geodual.funds.evaluation.ledger import run_ledger
from geodual.funds.evaluation.market import FeeRules
from geodual.funds.study.books import target_weights


class Outside:
    """Cash and lots of a portfolio, day by day.

    `values[fund][row]` is None where a fund has no value; `days` are ordinals; `buy_fee[fund]` is a share,
    `sell_fees[fund]` a list of (days held, share); `late[fund]` are further rows that an order takes.
    """

    def __init__(self, values, days, buy_fee, sell_fees, late, wait=10):
        self.values, self.days, self.wait = values, days, wait
        self.buy_fee, self.sell_fees, self.late = buy_fee, sell_fees, late
        self.cash = 1.0
        self.lots = {fund: [] for fund in values}  # [row of purchase, units], the oldest first
        self.orders = {}

    def last_row(self, fund, row):
        return next((r for r in range(row, -1, -1) if self.values[fund][r] is not None), None)

    def price(self, fund, row):
        known = self.last_row(fund, row)
        return 0.0 if known is None else self.values[fund][known]

    def units(self, fund):
        return math.fsum(units for _, units in self.lots[fund])

    def worth(self, row):
        return self.cash + math.fsum(self.units(f) * self.price(f, row) for f in self.values)

    def sale_fee(self, fund, units, row, price):
        """The fee of a sale: each lot pays by the days that it was held."""
        fee, left = 0.0, units
        for bought, size in self.lots[fund]:
            part = min(size, left)
            held = self.days[row] - self.days[bought]
            rate = next((rate for limit, rate in self.sell_fees[fund] if held < limit), 0.0)
            fee, left = fee + part * price * rate, left - part
        return fee

    def take(self, fund, units):
        while units > 0.0 and self.lots[fund]:
            bought, size = self.lots[fund].pop(0)
            if size > units:
                self.lots[fund].insert(0, [bought, size - units])
            units -= size

    def pay_out(self, fund, row):
        self.cash += self.units(fund) * self.price(fund, row)
        self.lots[fund] = []

    def rebalance(self, row, weights):
        """Write the orders of a rebalance; the equity after all fees is found by bisection."""
        for fund in self.values:
            known = self.last_row(fund, row)
            if self.lots[fund] and row - known > self.wait:
                self.pay_out(fund, row)
        before = self.worth(row)
        held = {fund: self.units(fund) * self.price(fund, row) for fund in self.values}

        def fees(after):
            total = 0.0
            for fund in self.values:
                amount = weights[fund] * after - held[fund]
                if amount > 0.0:
                    total += amount * self.buy_fee[fund]
                elif amount < 0.0:
                    price = self.price(fund, row)
                    total += self.sale_fee(fund, min(-amount / price, self.units(fund)), row, price)
            return total

        low, high = 0.0, before
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if middle + fees(middle) > before else (middle, high)
        amounts = {fund: weights[fund] * high - held[fund] for fund in self.values}
        self.orders = {
            fund: {"left": abs(amount), "is_sale": amount < 0.0, "kept": 0.0, "all": weights[fund] == 0.0}
            for fund, amount in amounts.items()
            if abs(amount) > 1e-15 * before
        }
        self.start = row

    def trade(self, row):
        """Fill the orders that can be filled on a day: sales, then purchases with the money there is."""

        def is_open(fund):
            first = self.start + self.late[fund]
            return first <= row <= first + self.wait and self.values[fund][row] is not None

        open_sales = [f for f, order in self.orders.items() if order["is_sale"] and is_open(f)]
        buys = [f for f, order in self.orders.items() if not order["is_sale"]]
        has_money = [f for f in buys if self.orders[f]["kept"] and is_open(f)]
        if row > self.start and not open_sales and not has_money:
            return
        for fund in open_sales:
            price, order = self.values[fund][row], self.orders.pop(fund)
            units = self.units(fund) if order["all"] else min(order["left"] / price, self.units(fund))
            self.cash += units * price - self.sale_fee(fund, units, row, price)
            self.take(fund, units)
        # Money that is kept for an order belongs to it; the rest is shared among what is missing.
        kept = math.fsum(self.orders[f]["kept"] * (1.0 + self.buy_fee[f]) for f in buys)
        missing = {f: self.orders[f]["left"] - self.orders[f]["kept"] for f in buys}
        needed = math.fsum(amount * (1.0 + self.buy_fee[f]) for f, amount in missing.items())
        share = min(1.0, max(self.cash - kept, 0.0) / needed) if needed > 0.0 else 0.0
        share = 1.0 if share > 1.0 - 1e-12 else share
        for fund in buys:
            self.orders[fund]["kept"] += share * missing[fund]
            if is_open(fund) and self.orders[fund]["kept"] > 0.0:
                self.fill(fund, row)

    def fill(self, fund, row):
        order = self.orders[fund]
        amount, order["kept"] = order["kept"], 0.0
        self.lots[fund].append([row, amount / self.values[fund][row]])
        self.cash -= amount * (1.0 + self.buy_fee[fund])
        order["left"] = max(order["left"] - amount, 0.0)

    def give_up(self, row):
        """A fund whose sale waited in vain is closed: it is worth its last value."""
        for fund, order in list(self.orders.items()):
            if order["is_sale"] and row == self.start + self.late[fund] + self.wait:
                self.pay_out(fund, row)
                del self.orders[fund]


def outside_equity(outside, decisions, n_rows):
    """Return the equity before the trades of each day, from the first execution on."""
    equity, rows = [], sorted(decisions)
    for row in range(rows[0], n_rows):
        equity.append(outside.worth(row))
        if row in decisions:
            outside.rebalance(row, decisions[row])
            outside.trade(row)
        elif row < n_rows - 1:
            outside.trade(row)
        if row + 1 not in decisions and row < n_rows - 2:
            outside.give_up(row)
    return equity


def outside_of(nav, fees, late):
    values = {f: [None if math.isnan(v) else v for v in nav[f].tolist()] for f in nav}
    days = [day.toordinal() for day in nav.index]
    flat = [(10**9, fees.cost)]
    sell = {f: list(fees.own_redemption.get(f, fees.redemption)) or flat for f in nav}
    return Outside(values, days, {f: fees.purchase.get(f, fees.cost) for f in nav}, sell, late)


def compare(nav, targets, fees, lag):
    weights = {day: row.reindex(nav.columns).fillna(0.0).to_dict() for day, row in targets.items()}
    decisions = {nav.index.get_loc(day) + lag: own for day, own in weights.items()}
    outside = outside_of(nav, fees, {fund: fees.delay.get(fund, 0) for fund in nav})
    found = run_ledger(nav, targets, fees=fees, execution_lag=lag).equity
    np.testing.assert_allclose(found, outside_equity(outside, decisions, len(nav)), rtol=1e-12)


def random_case(seed):
    """NAVs of a year with gaps of any length, births and closures; eight rebalances."""
    rng = np.random.default_rng(seed)
    n_rows, funds = 250, [f"F{i}" for i in range(10)]
    nav = np.exp(np.cumsum(0.02 * rng.standard_normal((n_rows, len(funds))), axis=0))
    nav[rng.random(nav.shape) < 0.15] = np.nan
    for fund in range(len(funds)):
        for _ in range(3):  # pauses, shorter and longer than an order waits
            start = rng.integers(n_rows)
            nav[start : start + rng.integers(1, 25), fund] = np.nan
    nav[: rng.integers(60), 0] = np.nan
    nav[rng.integers(100, 200) :, 9] = np.nan
    table = pd.DataFrame(nav, pd.bdate_range("2020-01-01", periods=n_rows, name="date"), funds)
    at = 5 + 30 * np.arange(8)
    weights = rng.dirichlet(np.ones(10), 8) * (rng.random((8, 10)) < 0.5)
    return table, {table.index[row]: pd.Series(w, funds) for row, w in zip(at, weights, strict=True)}


FEES = {
    "free": FeeRules(),
    "flat": FeeRules(0.0015),
    "by lot": FeeRules(
        purchase={"F1": 0.015, "F2": 0.001},
        redemption=((7, 0.015), (60, 0.005)),
        own_redemption={"F3": ((100, 0.02),)},
        delay={"F4": 2, "F5": 5},
    ),
}


@pytest.mark.parametrize("lag", [0, 1, 3])
@pytest.mark.parametrize("fees", FEES)
def test_equity_with_waiting_orders(fees, lag):
    for seed in range(4):
        nav, targets = random_case(seed)
        compare(nav, targets, FEES[fees], lag)


def test_equity_of_a_study():
    nav = synthetic_universe(30, "2013-01-02", "2015-06-30", seed=5).panel.nav.copy()
    gaps = np.random.default_rng(1).random(nav.shape) < 0.1
    nav = nav.mask(gaps & (np.arange(len(nav)) % 60 > 2)[:, None])
    settings = {"execution_lag": 1, "cost": 0.0015, "redemption_fees": ["7:0.015", "365:0.005"]}
    study = backtest(nav, metrics=["euclidean", "gmml"], **settings)
    fees = FeeRules(0.0015, redemption=((7, 0.015), (365, 0.005)))
    for name in study.config.compared:
        wanted = target_weights(study.holdings, name)
        decisions = {
            nav.index.get_loc(d) + 1: w.reindex(nav.columns).fillna(0.0).to_dict() for d, w in wanted.items()
        }
        held = sorted({fund for own in wanted.values() for fund in own.index})
        outside = outside_of(nav[held], fees, dict.fromkeys(held, 0))
        np.testing.assert_allclose(
            study.equity[name], outside_equity(outside, decisions, len(nav)), rtol=1e-12
        )
