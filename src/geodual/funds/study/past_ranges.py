"""Ranges of past outcomes: what funds of similar volatility earned in past holding intervals.

One range for a money-market fund and a small-cap fund would be wrong for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from geodual.arrays import Array

from ..calendar import rows_per_year
from ..evaluation.statistics import FEWEST
from ..forecasters.peers import Groups, peer_groups, rows_of_groups

_INTERVAL = (0.1, 0.9)  # quantiles between which 80 % of the outcomes lie
_ALIKE = 3  # of each peer group, one in three funds counts as alike: the nearest in volatility


@dataclass(frozen=True, eq=False)
class Volatilities:
    """How far the funds of a day moved in the year before.

    Attributes
    ----------
    funds : Index of shape (n_funds,)
        The universe of the day.
    groups : array of shape (n_funds,)
        Their peer groups; empty without.
    ratios : array of shape (n_funds,)
        Log of the volatility of each over the year before, less the mean of these logs over its group. A
        ratio and not the volatility itself: in a crisis all funds move more.
    """

    funds: pd.Index[str]
    groups: Groups
    ratios: Array

    def alike(self, group: str, ratio: float) -> Array:
        """Return the positions of the funds of a group that are nearest to a ratio: one in three of them."""
        own = np.flatnonzero(self.groups == group) if len(self.groups) else np.arange(len(self.ratios))
        away = np.abs(self.ratios[own] - ratio).round(9)  # so that ties are ties
        nearest = np.argsort(away, kind="stable")
        return np.asarray(own[nearest[: -(-len(own) // _ALIKE)]])


def measure_volatility(
    nav: pd.DataFrame, day: pd.Timestamp, funds: pd.Index[str], types: Mapping[str, str]
) -> Volatilities:
    """Return how far funds moved from row to row in the year up to a day, against their peers.

    Parameters
    ----------
    nav : DataFrame
        Day × fund; rows after the day are not used.
    day : Timestamp
        A row of `nav`.
    funds : Index of str
        The universe of the day.
    types : mapping of str to str
        From `types_compared`.
    """
    values = nav.loc[:day, funds].iloc[-rows_per_year(nav.index) - 1 :]
    spread = values.pct_change(fill_method=None).std().to_numpy(float)
    size = np.log(spread, where=spread > 0.0, out=np.full(len(funds), np.nan))
    groups = peer_groups(funds, types)
    for rows in rows_of_groups(groups, len(funds)):
        known = np.isfinite(size[rows])
        size[rows] -= size[rows][known].mean() if known.any() else 0.0
    return Volatilities(funds, groups, np.nan_to_num(size))


def past_ranges(
    past: Sequence[tuple[Volatilities, pd.Series[float]]], today: Volatilities, picks: pd.Index[str]
) -> pd.DataFrame:
    """Return between which values 80 % of the funds like each pick earned after past decisions.

    Parameters
    ----------
    past : sequence of (Volatilities, Series)
        The universe of each past decision, and what its funds earned in the holding interval that followed.
    today : Volatilities
        The universe of today.
    picks : Index of str
        Funds in it.

    Returns
    -------
    DataFrame
        By pick: past_low, past_high, NaN with fewer than 8 past decisions; n_past, the number of past
        decisions on which there were such funds.
    """
    rows = {}
    for pick, at in zip(picks, today.funds.get_indexer(picks), strict=True):
        group = str(today.groups[at]) if len(today.groups) else ""
        samples = [earned.to_numpy(float)[there.alike(group, today.ratios[at])] for there, earned in past]
        samples = [own for own in (sample[np.isfinite(sample)] for sample in samples) if len(own)]
        known = len(samples) >= FEWEST
        low, high = np.quantile(np.concatenate(samples), _INTERVAL) if known else (np.nan, np.nan)
        rows[pick] = {"past_low": low, "past_high": high, "n_past": len(samples)}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["past_low", "past_high", "n_past"])
