"""The orders that a portfolio has filled, kept as arrays: an index of thousands of funds fills many."""

from __future__ import annotations

import numpy as np
import pandas as pd

from geodual.arrays import Array, Indices

COLUMNS = ("decided", "day", "fund", "side", "price", "units", "value", "fee")


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
