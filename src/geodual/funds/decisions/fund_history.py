"""The past of each fund as known on some days: its last value, and how long it has had or kept one."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array, Indices

from ..panel import fund_blocks


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
        rows, blocks = nav.index.get_indexer(days), list(fund_blocks(nav.shape))
        lively = _lively_rows(nav, blocks)
        shape = len(rows), nav.shape[1]
        self.has_value: NDArray[np.bool_] = np.empty(shape, dtype=bool)
        self.last_value: Array = np.empty(shape)
        self.n_values: Indices = np.empty(shape, dtype=np.intp)
        self.n_still: Indices = np.empty(shape, dtype=np.intp)
        for some in blocks:
            known, filled, changed, _ = _changes(nav.iloc[:, some])
            still = (known & lively[:, None]).cumsum(axis=0)
            since = still - np.maximum.accumulate(np.where(changed, still, 0))
            self.has_value[:, some], self.last_value[:, some] = known[rows], filled[rows]
            self.n_values[:, some], self.n_still[:, some] = known.cumsum(axis=0)[rows], since[rows]


def _lively_rows(nav: pd.DataFrame, blocks: list[slice]) -> NDArray[np.bool_]:
    """Return the rows on which at least half of the other funds moved, shape (n_days,)."""
    moved, seen = np.zeros(len(nav), dtype=np.intp), np.zeros(len(nav), dtype=np.intp)
    for some in blocks:
        known, _, changed, before = _changes(nav.iloc[:, some])
        moved += (changed & before).sum(axis=1)
        seen += (known & before).sum(axis=1)
    return np.asarray((moved > 0) & (2 * moved >= seen - 1))


def _changes(
    nav: pd.DataFrame,
) -> tuple[NDArray[np.bool_], Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return where funds have values, the last values, where these change, and where there are earlier ones.

    A first value counts as a change.
    """
    known, filled = nav.notna().to_numpy(), nav.ffill().to_numpy(float)
    before = np.vstack([np.full((1, filled.shape[1]), np.nan), filled[:-1]])
    return known, filled, known & (filled != before), ~np.isnan(before)
