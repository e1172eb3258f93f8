"""The market of a ledger: prices of funds, when they are published, and what trades cost there."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array, Indices

from .fees import FeeRules


class Market:
    """A NAV table prepared for trading; any number of portfolios can share it.

    Parameters
    ----------
    nav : DataFrame
        Day × fund; NaN where there is no value.
    fees : FeeRules
        What trades cost and how long they take.

    Attributes
    ----------
    days : DatetimeIndex
        Rows of the table.
    day_numbers : list of int
        The same as calendar days since 1970.
    funds : list of str
        Columns of the table.
    filled : array of shape (n_days, n_funds)
        Last known NAVs; 0 before the first.
    following, last : array of shape (n_days, n_funds)
        The first row from a row on, and the last row up to it, on which a fund has a value.
    purchase_rates : array of shape (n_funds,)
        Share of a purchase that it costs.
    delay : array of shape (n_funds,)
        Rows that orders of a fund take longer than others.
    """

    def __init__(self, nav: pd.DataFrame, fees: FeeRules) -> None:
        self.fees = fees
        self.days, self.funds = pd.DatetimeIndex(nav.index), list(nav.columns)
        self.day_numbers: list[int] = self.days.to_numpy("datetime64[D]").astype(int).tolist()
        self.filled: Array = np.nan_to_num(nav.ffill().to_numpy(float))  # without a value yet it is not held
        self.following, self.last = _neighbouring_values(nav.notna().to_numpy())
        self.purchase_rates: Array = np.array([fees.purchase_rate(fund) for fund in self.funds])
        self.delay: Indices = np.array([fees.delay.get(fund, 0) for fund in self.funds], dtype=np.intp)

    def redemption_rate(self, fund: int, bought: int, sold: int) -> float:
        """Return the share of a sale that it costs, given the rows of purchase and sale."""
        held = self.day_numbers[sold] - self.day_numbers[bought]
        return self.fees.redemption_rate(self.funds[fund], held)


def _neighbouring_values(known: NDArray[np.bool_]) -> tuple[Indices, Indices]:
    """Return for each row and fund the first row from it on, and the last row up to it, that has a value."""
    n = len(known)
    rows = np.arange(n)[:, None]
    following = np.minimum.accumulate(np.where(known, rows, n)[::-1])[::-1]
    return following, np.maximum.accumulate(np.where(known, rows, -n))
