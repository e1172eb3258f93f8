"""The books of a portfolio: cash and lots, orders that are filled or wait, funds that close."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array, Indices

from .fills import Fills
from .lots import Lots
from .market import Market

WAIT = 10  # rows that an order waits for a value of its fund before it is cancelled
_ITERATIONS = 60  # of a contraction by at least ten: far more than rounding errors need
_NOTHING = 1e-15  # share of the equity below which an order is rounding
_ROUNDING = 1e-12  # relative lack of money that is rounding


class Books:
    """Cash and lots of a portfolio as it moves through the rows of a NAV table.

    Parameters
    ----------
    market : Market
        Prices, fees and delays.
    wait : int
        Rows that an order may wait.
    first : int
        Row of the first trade, before which the portfolio is 1 in cash.

    Attributes
    ----------
    equity, cash_share : array of shape (n_rows − first,)
        Value before the trades of each row, and the share of it in cash after them.
    fills : Fills
        All orders filled.
    """

    def __init__(self, market: Market, wait: int, first: int) -> None:
        self._market, self._wait, self._first, self._row = market, wait, first, first
        self._filled, self._rates, self._delay = market.filled, market.purchase_rates, market.delay
        self._cash, self._lots = 1.0, Lots(len(market.funds), dated=not market.fees.sales_are_free)
        self.fills = Fills(market.days, market.funds)
        self.equity = np.ones(len(market.days) - first)
        self.cash_share = np.ones(len(market.days) - first)

    def rebalance(self, row: int, stop: int, weights: Array, decided: pd.Timestamp) -> dict[str, Any]:
        """Give the orders of a rebalance, fill them on their days, and go on to the row `stop`."""
        self._close_funds(row, decided)
        held, n_before = self._held(row), self.fills.n_trades
        before = self._cash + float(held.sum())
        wanted = self._plan(row, before, weights)
        filled, waiting = np.zeros(len(wanted)), np.minimum(wanted, 0.0)
        cash, at = np.nan, row
        while True:
            self._advance(at)
            due = self._fill_rows(row, at, stop) == at
            self._trade(at, np.where(due, np.minimum(waiting, 0.0), 0.0), weights, decided)
            # Purchases share the money there is: what a sale that still waits will bring comes later.
            waiting += self._affordable(np.maximum(wanted - filled - waiting, 0.0), waiting)
            self._trade(at, np.where(due, np.maximum(waiting, 0.0), 0.0), weights, decided)
            filled, waiting = np.where(due, filled + waiting, filled), np.where(due, 0.0, waiting)
            if at == row:
                cash = self._cash / (self._cash + float(self._held(row).sum()))
            at = self._next_event(row, at, stop, waiting)
            if at >= stop:
                break
        self._close_unsold(row, stop, waiting < 0.0, decided)
        self._advance(stop)
        fees = self.fills.fees_from(n_before)
        change = (held + filled) / (before - fees) - held / before
        return {
            "decided": decided,
            "executed": self._market.days[row],
            "turnover": 0.5 * (np.abs(change).sum() + abs(change.sum())),
            "traded": float(np.abs(change).sum()),
            "cost": fees / before,
            "n_held": int(np.count_nonzero(self._lots.units)),
            "unfilled": float(np.maximum(np.maximum(wanted, 0.0) - filled, 0.0)[wanted > 0.0].sum()) / before,
            "cash": cash,
        }

    def _next_event(self, row: int, at: int, stop: int, waiting: Array) -> int:
        """Return the next row on which an order of the rebalance is filled; `stop` if there is none."""
        rows = self._fill_rows(row, at + 1, stop)[waiting != 0.0]
        return int(rows[rows >= 0].min(initial=stop))

    def _affordable(self, missing: Array, waiting: Array) -> Array:
        """Return the part of the missing purchases that there is money for, beside those that wait."""
        reserved = float(np.maximum(waiting, 0.0) @ (1.0 + self._rates))
        needed = float(missing @ (1.0 + self._rates))
        money = self._cash - reserved
        if needed <= 0.0 or money <= 0.0:
            return np.zeros_like(missing)
        return np.asarray(missing if money >= needed * (1.0 - _ROUNDING) else missing * (money / needed))

    def _held(self, row: int) -> Array:
        return np.asarray(self._lots.units * self._filled[row])

    def _fill_rows(self, row: int, at: int, stop: int) -> Indices:
        """Return the row from `at` on on which an order given on `row` is filled; −1 if it is cancelled."""
        last = len(self._market.days) - 1
        earliest = np.maximum(row + self._delay, at)
        found = self._market.following[np.minimum(earliest, last), np.arange(len(self._market.funds))]
        in_time = (found <= row + self._delay + self._wait) & ((found < stop) | (found == row))
        return np.where((earliest <= last) & in_time, found, -1)

    def _plan(self, row: int, before: float, weights: Array) -> Array:
        """Return the value to buy (or sell, if negative) of each fund; the portfolio pays all fees."""
        held, equity = self._held(row), before
        for _ in range(_ITERATIONS):
            after_fees = before - self._fees_of(row, weights * equity - held)
            if after_fees == equity:
                break
            equity = after_fees
        orders = weights * equity - held
        return np.where(np.abs(orders) <= _NOTHING * before, 0.0, orders)

    def _fees_of(self, row: int, orders: Array) -> float:
        sold = np.flatnonzero(orders < 0.0)
        sales = self._sale_fees(row, sold, self._units_of(row, sold, -orders[sold]))
        return float(self._rates @ np.maximum(orders, 0.0)) + float(sum(sales.tolist()))

    def _units_of(self, row: int, funds: Indices, values: Array) -> Array:
        return np.asarray(np.minimum(values / self._filled[row, funds], self._lots.units[funds]))

    def _sale_fees(self, row: int, funds: Indices, units: Array) -> Array:
        """Return the fees on sales, lot by lot, the oldest first."""
        if self._market.fees.sales_are_free:
            return np.zeros(len(funds))
        sales = zip(funds.tolist(), units.tolist(), strict=True)
        return np.array([self._sale_fee(row, fund, size) for fund, size in sales], dtype=float)

    def _sale_fee(self, row: int, fund: int, units: float) -> float:
        price = float(self._filled[row, fund])
        return sum(
            size * price * self._market.redemption_rate(fund, bought, row)
            for bought, size in self._lots.oldest(fund, units)
        )

    def _trade(self, row: int, orders: Array, weights: Array, decided: pd.Timestamp) -> None:
        sold, bought = np.flatnonzero(orders < 0.0), np.flatnonzero(orders > 0.0)
        if len(sold):
            # A fund that leaves the portfolio is sold to the last unit, whatever rounding says.
            part = self._units_of(row, sold, -orders[sold])
            units = np.where(weights[sold] == 0.0, self._lots.units[sold], part)
            fees = self._sale_fees(row, sold, units)
            self._lots.sell(sold, units)
            price = self._filled[row, sold]
            self._receive(self.fills.add((decided, row, "sell"), sold, price, units, fees) - fees)
        if len(bought):
            price = self._filled[row, bought]
            units, fees = orders[bought] / price, self._rates[bought] * orders[bought]
            self._lots.buy(bought, row, units)
            self._receive(-(self.fills.add((decided, row, "buy"), bought, price, units, fees) + fees))

    def _receive(self, amounts: Array) -> None:
        # One after the other: the sum must not depend on how numpy or Python add many numbers.
        self._cash = float(np.add.accumulate(np.append(self._cash, amounts))[-1])

    def _close_funds(self, row: int, decided: pd.Timestamp) -> None:
        """Turn funds to cash that have had no value for too long: they are closed."""
        gone = (self._lots.units > 0.0) & (row - self._market.last[row] > self._wait)
        for fund in np.flatnonzero(gone).tolist():
            self._pay_out(fund, int(self._market.last[row, fund]), decided)

    def _close_unsold(self, row: int, stop: int, unsold: NDArray[np.bool_], decided: pd.Timestamp) -> None:
        """Turn funds to cash whose sale has waited in vain until the end of the wait."""
        for fund in np.flatnonzero(unsold).tolist():
            end = row + int(self._delay[fund]) + self._wait
            if end < stop:
                self._pay_out(fund, int(self._market.last[end, fund]), decided)

    def _pay_out(self, fund: int, last: int, decided: pd.Timestamp) -> None:
        closed = np.array([fund])
        units, price = self._lots.units[closed], self._filled[last, closed]
        self._lots.sell(closed, units)
        self._receive(self.fills.add((decided, last, "closure"), closed, price, units, np.zeros(1)))

    def _advance(self, row: int) -> None:
        """Value the portfolio on the rows after the last one, up to a row."""
        held = np.flatnonzero(self._lots.units)
        # Row by row, not as one product: the sum of a row must not depend on how many rows follow.
        values = (self._filled[self._row : row + 1, held] * self._lots.units[held]).sum(axis=1)
        part = slice(self._row - self._first, row + 1 - self._first)
        share = self._cash / (self._cash + values)
        self.cash_share[part] = np.where(np.abs(share) < _ROUNDING, 0.0, share)
        self.equity[part][1:] = self._cash + values[1:]  # that of the first row was before its trades
        self._row = row
