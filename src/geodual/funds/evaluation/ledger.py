"""The ledger: what a portfolio is worth day by day when weights drift, trades cost and funds close."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.errors import DataError

_MAX_COST = 0.1  # above it, a percentage was probably given as a number
_ROUNDING = 1e-9  # by which a sum of weights may exceed one


@dataclass(frozen=True, eq=False)
class Ledger:
    """The books of one portfolio.

    Attributes
    ----------
    equity : Series
        Value at each day's NAVs *before* the trades of that day, from 1.0 on the first day of execution to
        the last day of the data. The cost of a trade therefore shows on the next day, in the holding interval
        that the trade opens, and equity[q₂]/equity[q₁] − 1 is the net return of the portfolio bought at q₁.
    trades : DataFrame
        One row per rebalance: `decided` and `executed` (days); `turnover`, ½ Σ |Δw| over funds and cash, so
        that the first purchase counts 1; `cost`, as a share of the equity before the trade; `n_held`, the
        number of funds after it; `unfilled`, the weight left in cash because a fund had no NAV that day.
    weights : DataFrame
        Day of execution × fund: the weights after the trade. The rest, up to one, is cash.
    """

    equity: pd.Series[float]
    trades: pd.DataFrame
    weights: pd.DataFrame


def run_ledger(
    nav: pd.DataFrame,
    targets: pd.DataFrame | Mapping[Any, pd.Series[float]],
    *,
    cost: float = 0.0,
    execution_lag: int = 0,
) -> Ledger:
    """Value a portfolio day by day: it is rebalanced to target weights, and drifts in between.

    Each fund is valued at its last known NAV, because a missing NAV may be a gap or the end of the fund, and
    on that day nobody knows which. A rebalance trades at the NAVs of its day of execution. A fund without a
    NAV that day is not bought, and its weight stays in cash. If it was held, it is sold at its last NAV, so
    a closed fund turns into cash at the next rebalance and no value is lost. Cash earns nothing.

    A trade costs a share c of the value bought and sold, paid out of the portfolio. Starting from equity E
    and holdings h_i, the weights w_i are reached at the equity E′ that solves E′ = E − c Σ_i |w_i E′ − h_i|.
    Selling a fund without a NAV costs the same.

    Parameters
    ----------
    nav : DataFrame
        Net asset values, day × fund: positive, NaN where there is no value.
    targets : DataFrame or mapping
        Decision day × fund, or decision day → Series of weights by fund. Weights are at least 0 and sum to
        at most one; NaN counts as 0, and the rest is cash. Decision days must be rows of `nav`.
    cost : float
        The share c, at least 0 and below 0.1.
    execution_lag : int
        Number of rows from a decision to its execution. Decisions that would be executed after the last row
        are left out.

    Returns
    -------
    Ledger
    """
    if not 0.0 <= cost < _MAX_COST:
        raise ValueError(
            f"`cost` must be at least 0 and below {_MAX_COST}, got {cost}. Give a share: 0.0015 means 0.15 %."
        )
    if execution_lag < 0:
        raise ValueError(
            f"`execution_lag` must not be negative, got {execution_lag}. Use 0 to trade on the same day."
        )
    wanted = _target_table(nav, targets)
    rows = nav.index.get_indexer(wanted.index) + execution_lag
    wanted, rows = wanted[rows < len(nav)], rows[rows < len(nav)]
    if not len(rows):
        raise DataError(
            f"`targets` has no decision that can be executed (`execution_lag` is {execution_lag} rows). Give "
            "one that is at least that many rows before the last row of `nav`."
        )
    nav = nav.loc[:, wanted.columns]
    # What has no NAV on its day of execution cannot be bought: the weight stays in cash.
    weights = wanted.where(nav.iloc[rows].notna().to_numpy(), 0.0)
    equity, books = _keep_books(nav.ffill().to_numpy(float), rows, weights.to_numpy(), cost)
    executed = nav.index[rows]
    columns = {"decided": wanted.index, "executed": executed, **books}
    columns["n_held"] = np.count_nonzero(weights, axis=1)
    columns["unfilled"] = (wanted - weights).sum(axis=1).to_numpy()
    return Ledger(
        equity=pd.Series(equity, index=nav.index[rows[0] :], name="equity"),
        trades=pd.DataFrame(columns),
        weights=weights.set_axis(executed),
    )


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


def _keep_books(
    nav: Array, rows: NDArray[np.intp], weights: Array, cost: float
) -> tuple[Array, dict[str, Array]]:
    """Return the equity from the first trade on, and the turnover and cost of each trade.

    `nav` must be filled forward. Trade k brings the portfolio to `weights[k]` at row `rows[k]`.
    """
    start, stops = rows[0], np.append(rows[1:], len(nav) - 1)
    equity = np.ones(len(nav) - start)
    turnover, paid = np.zeros(len(rows)), np.zeros(len(rows))
    held = np.zeros(nav.shape[1])  # value held in each fund
    for k, (row, stop, target) in enumerate(zip(rows, stops, weights, strict=True)):
        traded = (held > 0.0) | (target > 0.0)
        before, h, w = equity[row - start], held[traded], target[traded]
        after = _equity_after_cost(h, before, w, cost)
        change = w - h / before  # of the funds; cash changes by minus its sum
        turnover[k] = 0.5 * (np.abs(change).sum() + abs(change.sum()))
        paid[k] = (before - after) / before
        # Units stay fixed until the next trade, so values follow the NAVs and weights drift.
        values = after * w * (nav[row : stop + 1, traded] / nav[row, traded])
        worth = after * (1.0 - w.sum()) + values.sum(axis=1)
        equity[row + 1 - start : stop + 1 - start] = worth[1:]
        held[traded] = values[-1]
    return equity, {"turnover": turnover, "cost": paid}


def _equity_after_cost(held: Array, equity: float, target: Array, cost: float) -> float:
    """Return the root x of x + c Σ |w_i x − h_i| = E.

    The left side is convex and piecewise linear, and it increases because c Σ w_i < 1. Newton steps from
    x = E therefore fall to the root and meet each linear piece at most once.
    """
    after = equity
    while True:
        side = np.sign(target * after - held)
        root = float((equity + cost * (side @ held)) / (1.0 + cost * (side @ target)))
        if root >= after:  # no further fall: the signs, and with them the linear piece, are final
            return after
        after = root
