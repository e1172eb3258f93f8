"""The market of a ledger: prices of funds, when they are published, and what trades cost there."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array, Indices

from .fees import FeeRules

_Rows = NDArray[np.int32]  # half the memory of other integers, which counts for thousands of funds


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
        values = nav.to_numpy(float)
        self.following, self.last = _neighbouring_values(~np.isnan(values))
        self.filled = _last_known(values, self.last)
        self.purchase_rates: Array = np.array([fees.purchase_rate(fund) for fund in self.funds])
        self.delay: Indices = np.array([fees.delay.get(fund, 0) for fund in self.funds], dtype=np.intp)

    def redemption_rate(self, fund: int, bought: int, sold: int) -> float:
        """Return the share of a sale that it costs, given the rows of purchase and sale."""
        held = self.day_numbers[sold] - self.day_numbers[bought]
        return self.fees.redemption_rate(self.funds[fund], held)


def _neighbouring_values(known: NDArray[np.bool_]) -> tuple[_Rows, _Rows]:
    """Return for each row and fund the first row from it on, and the last row up to it, that has a value."""
    n = len(known)
    rows = np.arange(n, dtype=np.int32)[:, None]
    last = np.where(known, rows, np.int32(-n))
    np.maximum.accumulate(last, out=last)
    following = np.where(known, rows, np.int32(n))
    np.minimum.accumulate(following[::-1], out=following[::-1])
    return following, last


def _last_known(values: Array, last: _Rows) -> Array:
    """Return the last known value up to each row; 0 before the first, when a fund is not held yet."""
    found = np.take_along_axis(values, np.maximum(last, 0), axis=0)
    found[last < 0] = 0.0
    return found
