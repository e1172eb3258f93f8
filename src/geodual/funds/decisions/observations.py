"""What a study may know on each rebalance day: the factors of the day, and intervals that are over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array

from ..factors.compute import compute_factors
from ..factors.factor import FactorSet
from ..panel import Panel
from ..sources.reading.fund_facts import FundFacts, no_facts
from .cross_section import CrossSection, Membership, take_cross_section
from .fund_history import FundHistory

_SMALLEST_CLASS = 0.05  # share of the funds below which a class is too small to learn from
_ENOUGH_OF_TYPE = 5  # a type with fewer funds has no mean of its own


@dataclass(frozen=True, eq=False)
class Training:
    """The training set of a day: earlier factors, the returns that followed, and their classes.

    Attributes
    ----------
    features : array of shape (n, n_factors)
        Factors at the start of a holding interval, one row per interval and fund.
    returns : array of shape (n,)
        Returns over this interval; relative to the mean of the type if the study asks for it.
    classes : array of shape (n,)
        1 for the better returns, 0 for the others.
    label : str
        "sign" or "median": how the classes were actually made.
    funds : Index of shape (n,)
        Fund of each row.
    latest : array of shape (n,)
        Whether a row belongs to the interval that ended last.
    """

    features: Array
    returns: Array
    classes: NDArray[np.int64]
    label: str
    funds: pd.Index[str]
    latest: NDArray[np.bool_]


class Observations:
    """Cross-sections and returns at the rebalance days of a panel, each from rows up to its day only.

    Parameters
    ----------
    panel : Panel
        Net asset values.
    days : DatetimeIndex
        Rebalance days; they must be rows of the panel.
    factors : FactorSet
        The factors that describe the funds.
    facts : FundFacts, optional
        Facts about the funds.
    one_class : bool
        Whether only one share class per group belongs to the universe.
    by_type : bool
        Whether to learn the excess of returns over the mean of the funds of the same type.
    """

    def __init__(
        self,
        panel: Panel,
        days: pd.DatetimeIndex,
        factors: FactorSet,
        facts: FundFacts | None = None,
        *,
        one_class: bool = False,
        by_type: bool = False,
    ) -> None:
        self.panel, self.days, self.factors = panel, days, factors
        self.facts, self._by_type = facts or no_facts(), by_type
        self._history = FundHistory(panel.nav, days)
        table = compute_factors(panel, days, factors)
        membership = Membership(factors.values_needed, self.facts if one_class else None)
        by_day = table.to_numpy().reshape(len(days), panel.nav.shape[1], table.shape[1])
        self.sections = [
            take_cross_section(panel.nav.columns, day, self._history, row, raw, membership)
            for row, (raw, day) in enumerate(zip(by_day, days, strict=True))
        ]

    @property
    def funds(self) -> pd.Index[str]:
        """All funds of the panel."""
        return self.panel.nav.columns

    def returns(self, t: int) -> pd.Series[float]:
        """Return R_t, the returns over (q_{t−1}, q_t] of the funds in the universe at q_{t−1}.

        A fund that closes within the interval counts with its last value, as its holders are paid that.
        """
        funds = self.sections[t - 1].funds
        at = self.funds.get_indexer(funds)
        start, end = (self._history.last_value[row, at] for row in (t - 1, t))
        return pd.Series(end / start - 1.0, index=funds)

    def training(self, t: int, label: str, n_intervals: int = 1) -> Training:
        """Return the training set of the decision on day t, from the last `n_intervals` holding intervals."""
        parts = [self._interval(s) for s in range(max(t - n_intervals, 0) + 1, t + 1)]
        features = np.vstack([section.features[rows] for section, rows, _ in parts])
        funds = [section.funds[rows] for section, rows, _ in parts]
        returns = [earned for _, _, earned in parts]
        used, classes = _classify(returns, label)
        latest = np.repeat(np.arange(len(parts)) == len(parts) - 1, [len(earned) for earned in returns])
        return Training(features, np.concatenate(returns), classes, used, funds[0].append(funds[1:]), latest)

    def seen(self, t: int) -> pd.Series[bool]:
        """Tell which funds of the universe at q_{t−1} have a value in (q_{t−1}, q_t].

        The others have no return in that interval, so nothing can be learnt from them.
        """
        funds = self.sections[t - 1].funds
        at = self.funds.get_indexer(funds)
        before, after = (self._history.n_values[row, at] for row in (t - 1, t))
        return pd.Series(after > before, index=funds)

    def _interval(self, s: int) -> tuple[CrossSection, NDArray[np.bool_], Array]:
        returns, known = self.returns(s), np.asarray(self.seen(s), dtype=bool)
        seen = returns[known]
        return self.sections[s - 1], known, np.asarray(self._excess(seen) if self._by_type else seen, float)

    def _excess(self, returns: pd.Series[float]) -> pd.Series[float]:
        """Return returns less the mean of the funds of the same type, or of all funds if these are few."""
        types = pd.Series([self.facts.types.get(fund, "") for fund in returns.index], index=returns.index)
        groups = returns.groupby(types)
        own = (types != "") & (groups.transform("size") >= _ENOUGH_OF_TYPE)
        return returns - groups.transform("mean").where(own, returns.mean())


def _classify(intervals: list[Array], label: str) -> tuple[str, NDArray[np.int64]]:
    """Return the label used and the classes: by sign, unless nearly all funds rose or nearly all fell."""
    rises = np.concatenate([returns > 0.0 for returns in intervals])
    smaller = min(rises.mean(), 1.0 - rises.mean()) if rises.size else 0.0
    if label == "sign" and smaller >= _SMALLEST_CLASS:
        return "sign", rises.astype(np.int64)
    # The median of each interval: otherwise a good interval would be one class and a bad one the other.
    above = [returns > np.median(returns) for returns in intervals if returns.size]
    return "median", np.concatenate([*above, np.zeros(0, dtype=bool)]).astype(np.int64)
