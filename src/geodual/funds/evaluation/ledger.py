"""The ledger: what a portfolio is worth day by day when weights drift, trades cost and orders wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from geodual.arrays import Array, Indices
from geodual.errors import DataError

from .books import WAIT, Books
from .fees import FeeRules
from .market import Market

_ROUNDING = 1e-9


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
        to; `unfilled`, the weight of purchases that were cancelled or had no money because a sale waited;
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
    wait: int = WAIT,
) -> Ledger:
    """Keep the books of a portfolio that is brought to target weights on some days and drifts between them.

    A day values each fund at its last known NAV, since whether a missing one is a gap or the end of the fund
    is not known on that day. A rebalance trades at the NAVs of its day of execution. An order for a fund
    without a NAV on that day waits for the fund's next one, for at most `wait` rows; then it is cancelled.
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
    wait : int
        Rows that an order may wait.

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
    bad = (table < 0.0).any(axis=1) | ~(table.sum(axis=1) <= 1.0 + _ROUNDING)
    if bad.any():
        raise DataError(
            f"`targets`: weights of {table.index[bad][0]:%Y-%m-%d} must not be negative and must sum to "
            f"at most one; their sum is {table[bad].iloc[0].sum():g}. Rescale them."
        )
    table = table[nav.columns[nav.columns.isin(table.columns[(table > 0.0).any()])]]
    if (nav[table.columns] <= 0.0).any(axis=None):
        raise DataError("`nav` must be positive. Use NaN where there is no value.")
    return table
