"""The past of each fund as known on some days: its last value, and how long it has had or kept one."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array, Indices


class FundHistory:
    """The past of all funds at some rows of a NAV table, each from rows up to it only.

    Parameters
    ----------
    nav : DataFrame of shape (n_days, n_funds)
        NAVs, NaN where there is no value.
    days : DatetimeIndex
        The days to look at; they must be rows of `nav`.

    Attributes
    ----------
    has_value : array of bool, of shape (len(days), n_funds)
        Whether a fund has a value on the day.
    last_value : array
        The last value up to the day; NaN before the first.
    n_values : array of int
        Number of values up to the day.
    n_still : array of int
        Number of values since the NAV changed last, on rows on which at least half of the other funds moved.
    """

    def __init__(self, nav: pd.DataFrame, days: pd.DatetimeIndex) -> None:
        rows = nav.index.get_indexer(days)
        known, filled = nav.notna().to_numpy(), nav.ffill().to_numpy(float)
        count = known.cumsum(axis=0)
        before = np.vstack([np.full((1, filled.shape[1]), np.nan), filled[:-1]])
        changed = known & (filled != before)  # the first value differs from NaN, so it counts as a change
        moved, seen = (changed & ~np.isnan(before)).sum(axis=1), (known & ~np.isnan(before)).sum(axis=1)
        lively = (moved > 0) & (2 * moved >= seen - 1)
        still = (known & lively[:, None]).cumsum(axis=0)
        since = still - np.maximum.accumulate(np.where(changed, still, 0))
        self.has_value: NDArray[np.bool_] = known[rows]
        self.last_value: Array = filled[rows]
        self.n_values: Indices = count[rows]
        self.n_still: Indices = since[rows]
