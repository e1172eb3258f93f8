"""The ledger: what a portfolio is worth day by day when weights drift, trades cost and orders wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from geodual.arrays import Array, Indices
from geodual.errors import DataError

from ..calendar import rows_in, rows_per_year
from .market import FeeRules, Market

COLUMNS = ("decided", "day", "fund", "side", "price", "units", "value", "fee")
WAIT = 10  # trading days that an order waits for a value of its fund before it is canceled
_ITERATIONS = 60  # of a contraction by at least ten: far more than rounding errors need
_NOTHING = 1e-15  # share of the equity below which an order is rounding
_ROUNDING = 1e-12  # relative lack of money that is rounding
_OVER_ONE = 1e-9  # by which rounding may push a sum of weights beyond one


def rows_waited(days: pd.Index) -> int:
    """Return the rows that an order waits: ten trading days, and at least one row."""
    return rows_in(WAIT, rows_per_year(days), 1)


class Fills:
    """The fills of one portfolio in the order of their trades.

    Parameters
    ----------
    days : DatetimeIndex
        Rows of the NAV table.
    funds : list of str
        Its columns.
    """

    def __init__(self, days: pd.DatetimeIndex, funds: list[str]) -> None:
        self._days, self._funds = days, pd.Index(funds, dtype=str)
        self._parts: list[tuple[pd.Timestamp, int, str, Indices, Array]] = []

    def add(
        self, trade: tuple[pd.Timestamp, int, str], funds: Indices, price: Array, units: Array, fee: Array
    ) -> Array:
        """Add the fills of one trade, one per fund, and return their values.

        Parameters
        ----------
        trade : tuple of (Timestamp, int, str)
            Day of the decision, row of the trade, and side: "buy", "sell" or "closure".
        funds : array of shape (n_fills,)
            Positions of the funds.
        price, units, fee : array of shape (n_fills,)
            Price of a unit, number of units, and what the order cost.
        """
        value = units * price
        self._parts.append((*trade, funds, np.column_stack([price, units, value, fee])))
        return np.asarray(value)

    @property
    def n_trades(self) -> int:
        """Number of trades so far, for `fees_from`."""
        return len(self._parts)

    def fees_from(self, trade: int) -> float:
        """Return the sum of the fees since there were so many trades."""
        return float(sum(fee for part in self._parts[trade:] for fee in part[4][:, 3].tolist()))

    def table(self) -> pd.DataFrame:
        """Return one row per fill: decided, day, fund, side, price, units, value, fee."""
        if not self._parts:
            return pd.DataFrame(columns=list(COLUMNS))
        decided, rows, sides, funds, numbers = zip(*self._parts, strict=True)
        sizes = [len(part) for part in funds]
        labels = {
            "decided": pd.DatetimeIndex(decided).repeat(sizes),
            "day": self._days[np.repeat(rows, sizes)],
            "fund": self._funds[np.concatenate(funds)],
            "side": pd.Index(sides, dtype=str).repeat(sizes),
        }
        values = zip(COLUMNS[4:], np.concatenate(numbers).T, strict=True)
        return pd.DataFrame(labels | dict(values))


class Lots:
    """The units of one portfolio, by position of the fund, in lots by row of purchase.

    Parameters
    ----------
    n_funds : int
        Number of funds.
    dated : bool
        Whether to remember the lots. They are not needed if sales cost nothing, and thousands of funds take
        long to remember.

    Attributes
    ----------
    units : array of shape (n_funds,)
        Units held of each fund.
    """

    def __init__(self, n_funds: int, *, dated: bool = True) -> None:
        self.units: Array = np.zeros(n_funds)
        self._queues: list[deque[tuple[int, float]]] = [deque() for _ in range(n_funds)] if dated else []

    def buy(self, funds: Indices, row: int, units: Array) -> None:
        """Add units of some funds, one lot per fund, that were bought on a row."""
        if self._queues:
            for fund, size in zip(funds.tolist(), units.tolist(), strict=True):
                self._queues[fund].append((row, size))
        self.units[funds] += units

    def oldest(self, fund: int, units: float) -> list[tuple[int, float]]:
        """Return the lots that a sale of some units takes: the row of purchase and the units of each."""
        taken, left = [], units
        for row, size in self._queues[fund]:
            if left <= 0.0:
                break
            taken.append((row, min(size, left)))
            left -= size
        return taken

    def sell(self, funds: Indices, units: Array) -> None:
        """Take units of some funds from their oldest lots; a sale of all units leaves nothing behind."""
        held = self.units[funds]
        left = np.where(units >= held, 0.0, held - units)
        if self._queues:
            for fund, size, rest in zip(funds.tolist(), units.tolist(), left.tolist(), strict=True):
                self._take(self._queues[fund], size if rest else np.inf)
        self.units[funds] = left

    @staticmethod
    def _take(queue: deque[tuple[int, float]], units: float) -> None:
        while units > 0.0 and queue:
            row, size = queue.popleft()
            if size > units:
                queue.appendleft((row, size - units))
            units -= size


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
            waiting = self._close_unsold(row, at, waiting, decided)
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
        self._close_unsold(row, stop, waiting, decided)
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
        """Return the row from `at` on on which an order given on `row` is filled; −1 if it is canceled."""
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
        """Fill the orders of a day: sales first, then purchases with their fees."""
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

    def _close_unsold(self, row: int, stop: int, waiting: Array, decided: pd.Timestamp) -> Array:
        """Turn funds to cash whose sale has waited in vain; return the orders that still wait.

        Each is paid out at the end of its wait: a value that it publishes after that day does not count.
        """
        ends = row + self._delay + self._wait
        closed = (waiting < 0.0) & (ends < stop)
        for fund in sorted(np.flatnonzero(closed).tolist(), key=lambda each: int(ends[each])):
            last = int(self._market.last[ends[fund], fund])
            if last > self._row:  # it had other values on the way
                self._advance(int(ends[fund]))
            self._pay_out(fund, last, decided)
        return np.where(closed, 0.0, waiting)

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


@dataclass(frozen=True, eq=False)
class Ledger:
    """The books of one portfolio.

    Attributes
    ----------
    equity : Series
        Value at each day's NAVs *before* the trades of that day, from 1.0 on the first day of execution to
        the last day of the data. So the cost of a trade shows on the day after it, in the holding interval
        that it opens, and equity[q₂]/equity[q₁] − 1 is what the portfolio bought at q₁ earned, net.
    trades : DataFrame
        One row per rebalance: `decided` and `executed` (days); `turnover` ½ Σ |Δw| over funds and cash, so
        that the first purchase counts 1; `traded`, the value bought and sold, and `cost`, the fees of its
        orders, as shares of the equity before the trade; `n_held`, the number of funds that its orders lead
        to; `unfilled`, the weight of purchases that were canceled or had no money because a sale waited;
        `cash`, its share of the equity after the trades of that day.
    fills : DataFrame
        One row per order that was filled: `decided`, `day`, `fund`, `side` ("buy", "sell", or "closure" for
        the payout of a closed fund on its last day), `price` (the NAV of that day), `units`, `value`, `fee`.
    cash : Series
        Share of the equity in cash after the trades of each day.
    """

    equity: pd.Series[float]
    trades: pd.DataFrame
    fills: pd.DataFrame
    cash: pd.Series[float]


def run_ledger(
    nav: pd.DataFrame,
    targets: pd.DataFrame | Mapping[Any, pd.Series[float]],
    *,
    fees: FeeRules | None = None,
    execution_lag: int = 0,
    wait: int | None = None,
) -> Ledger:
    """Keep the books of a portfolio that is brought to target weights on some days and drifts between them.

    A day values each fund at its last known NAV, since whether a missing one is a gap or the end of the fund
    is not known on that day. A rebalance trades at the NAVs of its day of execution. An order for a fund
    without a NAV on that day waits for the fund's next one, for at most `wait` rows; then it is canceled.
    The money for a purchase that waits is kept in cash, and so are the proceeds of a sale that had to wait. A
    fund that has had no NAV for more than `wait` rows counts as closed and turns to cash at its last NAV, so
    that no value is lost. Cash earns nothing.

    From an equity E with holdings h_i, weights w_i are reached at the equity E′ that solves
    E′ = E − Σ_i fee_i(w_i E′ − h_i): the portfolio pays its fees itself.

    Parameters
    ----------
    nav : DataFrame
        Day × fund, positive, NaN where there is no value; as in `Panel`.
    targets : DataFrame or mapping
        Decision day × fund, or decision day → Series of weights by fund: not negative, NaN counts as 0, at
        most one in sum; the rest is cash. Decision days are rows of `nav`.
    fees : FeeRules, optional
        What trades cost; nothing by default.
    execution_lag : int
        Rows from a decision to its execution. A decision whose execution lies after the last row is left out.
    wait : int, optional
        Rows that an order may wait; by default those of ten trading days, and at least one.

    Returns
    -------
    Ledger
    """
    if execution_lag < 0:
        raise ValueError(
            f"`execution_lag` must not be negative, got {execution_lag}. Use 0 for the same day."
        )
    wanted = _target_table(nav, targets)
    rows = nav.index.get_indexer(wanted.index) + execution_lag
    wanted, rows = wanted[rows < len(nav)], rows[rows < len(nav)]
    if not len(rows):
        raise DataError(
            f"`targets` has no decision that can be executed {execution_lag} rows later. Give one that lies "
            "early enough before the last row of `nav`."
        )
    market = Market(nav.loc[:, wanted.columns], fees or FeeRules())
    wait = rows_waited(nav.index) if wait is None else wait
    books, records = keep_books(market, rows, wanted.to_numpy(), pd.DatetimeIndex(wanted.index), wait)
    days = nav.index[rows[0] :]
    return Ledger(
        equity=pd.Series(books.equity, index=days, name="equity"),
        trades=pd.DataFrame(records),
        fills=books.fills.table(),
        cash=pd.Series(books.cash_share, index=days, name="cash"),
    )


def keep_books(
    market: Market, rows: Indices, weights: Array, decided: pd.DatetimeIndex, wait: int = WAIT
) -> tuple[Books, list[dict[str, Any]]]:
    """Keep the books of one portfolio, from targets that are known to be right.

    Parameters
    ----------
    market : Market
        Where the portfolio trades.
    rows : array of shape (n_rebalances,)
        Rows of execution, increasing.
    weights : array of shape (n_rebalances, n_funds)
        Target weights.
    decided : DatetimeIndex of shape (n_rebalances,)
        Days of the decisions.
    wait : int
        Rows that an order may wait.

    Returns
    -------
    Books
        The books, up to the last row.
    list of dict
        One record per rebalance.
    """
    books = Books(market, wait, int(rows[0]))
    stops = np.append(rows[1:], len(market.days) - 1)
    records = [
        books.rebalance(int(row), int(stop), target, day)
        for row, stop, target, day in zip(rows, stops, weights, decided, strict=True)
    ]
    return books, records


def _target_table(nav: pd.DataFrame, targets: pd.DataFrame | Mapping[Any, pd.Series[float]]) -> pd.DataFrame:
    """Check the targets; return them as decision day × fund, sorted, without funds that get no weight."""
    table = targets if isinstance(targets, pd.DataFrame) else pd.DataFrame(dict(targets)).T
    table = table.set_axis(pd.DatetimeIndex(table.index)).astype(float).fillna(0.0).sort_index()
    strange = table.index.difference(nav.index)
    if len(strange):
        raise DataError(
            f"`targets` has a decision on {strange[0]:%Y-%m-%d}, which is not a row of `nav`. Decide on days "
            "of `nav` only."
        )
    if not table.index.is_unique:
        twice = table.index[table.index.duplicated()][0]
        raise DataError(f"`targets` has two decisions on {twice:%Y-%m-%d}. Keep one of them.")
    unknown = table.columns.difference(nav.columns)
    if len(unknown):
        raise DataError(
            f"`targets` has a weight for {unknown[0]!r}, which is not a column of `nav`. Remove it, or add "
            "the fund to `nav`."
        )
    bad = (table < 0.0).any(axis=1) | ~(table.sum(axis=1) <= 1.0 + _OVER_ONE)
    if bad.any():
        raise DataError(
            f"`targets`: weights of {table.index[bad][0]:%Y-%m-%d} must not be negative and must sum to "
            f"at most one; their sum is {table[bad].iloc[0].sum():g}. Rescale them."
        )
    table = table[nav.columns[nav.columns.isin(table.columns[(table > 0.0).any()])]]
    if (nav[table.columns] <= 0.0).any(axis=None):
        raise DataError("`nav` must be positive. Use NaN where there is no value.")
    return table
