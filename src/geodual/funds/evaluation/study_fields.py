"""The fields of a study, and the periods and choices that all its statistics refer to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from ..config import StudyConfig
from ..panel import Finding
from .periods import PERIODS, decisions_in
from .skill import count_choices


def _no_days() -> pd.DataFrame:
    return pd.DataFrame(index=pd.DatetimeIndex([], name="date"))


@dataclass(frozen=True, eq=False)
class StudyFields:
    """What a study holds, as `backtest` made it; `Study` documents the fields."""

    config: StudyConfig
    source: str
    digest: str
    findings: tuple[Finding, ...]
    index_name: str
    index_digest: str
    predictions: pd.DataFrame = field(repr=False)
    ic: pd.DataFrame = field(repr=False)
    holdings: pd.DataFrame = field(repr=False)
    equity: pd.DataFrame = field(repr=False)
    trades: pd.DataFrame = field(repr=False)
    fills: pd.DataFrame = field(repr=False)
    cash: pd.DataFrame = field(repr=False)
    universe: pd.DataFrame = field(repr=False)
    neighbours: pd.DataFrame = field(repr=False)
    reasons: pd.DataFrame = field(repr=False)
    factor_labels: Mapping[str, str] = field(repr=False)
    chosen: dict[str, dict[str, Any]]
    notes: tuple[str, ...]
    seconds: float
    facts: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    facts_digest: str = ""
    ic_decay: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    random_portfolios: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    factor_ic: pd.DataFrame = field(default_factory=_no_days, repr=False)
    units: dict[str, str] = field(default_factory=dict, repr=False)
    baseline_predictions: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    baseline_equity: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    baseline_trades: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)

    def decided(self, period: str) -> pd.Index:
        """Return the rebalance days whose holding interval begins in a period.

        Parameters
        ----------
        period : str
            "validation", "test" or "both".

        Returns
        -------
        Index
            Days, in order of time.
        """
        days = self.equity.index.union(self.ic.index)
        return decisions_in(period, self.ic.index, days, self.config.test_start)

    @cached_property
    def known_periods(self) -> tuple[str, ...]:
        """The periods with at least one information coefficient; "both" is the last if there are any."""
        known = [period for period in PERIODS if self.ic.loc[self.decided(period)].notna().any(axis=None)]
        return tuple(known)

    def n_choices(self, period: str) -> int:
        """Return the number of forecasters and settings that the best of a period was chosen from.

        Parameters
        ----------
        period : str
            "validation", "test" or "both".

        Returns
        -------
        int
            The number of forecasters, and, where the period is one on which settings were tuned, the number
            of candidates tried.
        """
        tuned = self.chosen if self.config.tune and period != "test" else ()
        return count_choices(len(self.config.compared), tuned, self.config)
