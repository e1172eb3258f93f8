"""What a study may know on each rebalance day: the factors of the day, and intervals that are over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..factors.compute import compute_columns, compute_factors
from ..factors.factor import FactorSet
from ..forecasters.forecast import Today, Training
from ..panel import Panel
from ..sources.reading.fund_facts import FundFacts, no_facts
from .cross_section import Membership, take_cross_section
from .fund_history import FundHistory
from .interval import Interval, join_intervals

_ENOUGH_OF_TYPE = 5  # a type with fewer funds has no mean of its own


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
    asked : iterable of str
        Factors whose raw values forecasters want to see, such as "sharpe_90"; no other result depends on it.
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
        asked: Iterable[str] = (),
    ) -> None:
        self.panel, self.days, self.factors = panel, days, factors
        self.facts, self._by_type = facts or no_facts(), by_type
        self._history = FundHistory(panel.nav, days)
        table = compute_factors(panel, days, factors)
        membership = Membership(
            factors.values_needed, self.facts if one_class and self.facts.groups else None
        )
        by_day = table.to_numpy().reshape(len(days), panel.nav.shape[1], table.shape[1])
        self.sections = [
            take_cross_section(panel.nav.columns, day, self._history, row, raw, membership)
            for row, (raw, day) in enumerate(zip(by_day, days, strict=True))
        ]
        self._asked = compute_columns(panel, days, asked, factors)
        self._intervals: dict[int, Interval] = {}

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

    def intervals(self, t: int, window: int | str = 1) -> list[Interval]:
        """Return the last holding intervals that are over on day t, the oldest first; or "all" of them."""
        first = 1 if window == "all" else max(t - int(window), 0) + 1
        for s in range(first, t + 1):
            if s not in self._intervals:  # neighbouring days and other forecasters share it
                self._intervals[s] = self._interval(s)
        return [self._intervals[s] for s in range(first, t + 1)]

    def training(self, t: int, window: int | str = 1) -> Training:
        """Return what can be learnt from on day t: the last holding intervals that are over, or "all"."""
        return join_intervals(self.intervals(t, window))

    def today(self, t: int) -> Today:
        """Return the funds of day t, with the raw factors that were asked for."""
        section = self.sections[t]
        at = self.funds.get_indexer(section.funds)
        asked = {name: values[t, at] for name, values in self._asked.items()}
        return Today(section.day, section.funds, section.features, section.known, self.factors.columns, asked)

    def _groups(self, funds: pd.Index[str]) -> NDArray[np.str_]:
        """Return the type of each fund if returns are relative to types, "" if it is rare; or nothing."""
        types = [self.facts.types.get(fund, "") for fund in funds] if self._by_type else []
        count = Counter(types)
        return np.array([kind if count[kind] >= _ENOUGH_OF_TYPE else "" for kind in types], dtype=str)

    def seen(self, t: int) -> pd.Series[bool]:
        """Tell which funds of the universe at q_{t−1} have a value in (q_{t−1}, q_t].

        The others have no return in that interval, so nothing can be learnt from them.
        """
        funds = self.sections[t - 1].funds
        at = self.funds.get_indexer(funds)
        before, after = (self._history.n_values[row, at] for row in (t - 1, t))
        return pd.Series(after > before, index=funds)

    def _interval(self, s: int) -> Interval:
        section, seen = self.sections[s - 1], np.asarray(self.seen(s), dtype=bool)
        returns = self.returns(s)[seen]
        earned = np.asarray(self._excess(returns) if self._by_type else returns, float)
        funds = section.funds[seen]
        return Interval(section.features, seen, earned, funds, self._groups(funds))

    def _excess(self, returns: pd.Series[float]) -> pd.Series[float]:
        """Return returns less the mean of the funds of the same type, or of all funds if these are few."""
        types = pd.Series([self.facts.types.get(fund, "") for fund in returns.index], index=returns.index)
        groups = returns.groupby(types)
        own = (types != "") & (groups.transform("size") >= _ENOUGH_OF_TYPE)
        return returns - groups.transform("mean").where(own, returns.mean())
