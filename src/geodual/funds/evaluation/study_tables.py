"""What a study measured: the tables of its decisions, and what follows from them, each computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from ..config import StudyConfig
from ..panel import Finding
from . import performance
from .forecast_tables import forecast_row, judge_fifths, mean_turnover, portfolio_row, returns_by_fifth
from .periods import PERIODS, decisions_in, equity_in
from .statistics import compare_pairs
from .trading_tables import list_drawdowns, measure_costs, roll_drawdowns


@dataclass(frozen=True, eq=False)
class StudyTables:
    """The tables of a study; `Study` is this with ways to save and show it."""

    config: StudyConfig
    source: str
    digest: str
    findings: tuple[Finding, ...]
    index_name: str
    predictions: pd.DataFrame = field(repr=False)
    ic: pd.DataFrame = field(repr=False)
    holdings: pd.DataFrame = field(repr=False)
    equity: pd.DataFrame = field(repr=False)
    trades: pd.DataFrame = field(repr=False)
    universe: pd.DataFrame = field(repr=False)
    neighbours: pd.DataFrame = field(repr=False)
    reasons: pd.DataFrame = field(repr=False)
    factor_labels: Mapping[str, str] = field(repr=False)
    chosen: dict[str, dict[str, Any]]
    notes: tuple[str, ...]
    seconds: float

    def table(self) -> pd.DataFrame:
        """Return Table 1, by period and metric.

        Returns
        -------
        DataFrame
            Index (period, metric), periods "validation", "test", "both", metrics and `index`. Columns:
            ic_mean, ic_std, icir (mean/std), t (Newey–West), low, high (95 % bootstrap interval of the mean),
            hit_rate (share of positive ICs), n (ICs), annual_return, volatility, sharpe, max_drawdown,
            turnover (mean of a rebalance, the first purchase left out).
        """
        return self._table1.copy()

    @cached_property
    def _table1(self) -> pd.DataFrame:
        rows = {
            (period, name): self._table_row(period, name)
            for period in PERIODS
            for name in (*self.config.metrics, "index")
        }
        table = pd.DataFrame.from_dict(rows, orient="index")
        table.index = pd.MultiIndex.from_tuples(table.index, names=["period", "metric"])
        return table.astype({"n": "Int64"})

    def _table_row(self, period: str, name: str) -> dict[str, Any]:
        portfolio = portfolio_row(equity_in(period, self.equity, self.config.test_start)[name])
        if name == "index":
            return portfolio
        decided = self.decided(period)
        own = self.trades[(self.trades["metric"] == name) & self.trades["decided"].isin(decided)]
        turnover = mean_turnover(own, self.trades["decided"].min())
        return {**forecast_row(self.ic.loc[decided, name]), **portfolio, "turnover": turnover}

    def decided(self, period: str) -> pd.Index:
        """Return the rebalance days of a period ("validation", "test" or "both")."""
        days = self.equity.index.union(self.ic.index)
        return decisions_in(period, self.ic.index, days, self.config.test_start)

    @cached_property
    def known_periods(self) -> tuple[str, ...]:
        """The periods with at least one information coefficient; the last is "both" if there is any."""
        known = [period for period in PERIODS if self.ic.loc[self.decided(period)].notna().any(axis=None)]
        return tuple(known)

    def annual_returns(self) -> pd.DataFrame:
        """Return the returns of calendar years, year × metric and `index`: Figure 2."""
        table = pd.DataFrame({name: performance.annual_returns(self.equity[name]) for name in self.equity})
        return table.rename_axis(index="year", columns="metric")

    def comparisons(self, period: str = "both") -> pd.DataFrame:
        """Compare the ICs of all pairs of metrics, quarter by quarter, with Holm's correction.

        Parameters
        ----------
        period : str
            "validation", "test" or "both".

        Returns
        -------
        DataFrame
            One row per pair, indexed by (metric, against): difference of the mean ICs, t, low, high, p,
            p_holm and n.
        """
        if period not in self._compared:
            self._compared[period] = compare_pairs(self.ic.loc[self.decided(period)])
        return self._compared[period].copy()

    @cached_property
    def _compared(self) -> dict[str, pd.DataFrame]:
        return {}  # bootstraps are slow: each period is compared once

    @cached_property
    def comparisons_by_period(self) -> pd.DataFrame:
        """The comparisons of all known periods, indexed by (period, metric, against)."""
        periods = self.known_periods if len(self.config.metrics) > 1 else ()
        tables = {period: self.comparisons(period) for period in periods}
        return pd.concat(tables, names=["period"]) if tables else pd.DataFrame()

    def quantile_returns(self, period: str = "both") -> pd.DataFrame:
        """Return the mean realised return by fifth of the forecasts, metric × fifth (1 the worst).

        Parameters
        ----------
        period : str
            "validation", "test" or "both".
        """
        chosen = self.predictions[self.predictions["date"].isin(self.decided(period))]
        return returns_by_fifth(chosen, self.config.metrics)

    @cached_property
    def fifths(self) -> pd.DataFrame:
        """The returns by fifth of all known periods, their spread, and whether they rise."""
        return judge_fifths({period: self.quantile_returns(period) for period in self.known_periods})

    @cached_property
    def costs(self) -> pd.DataFrame:
        """Turnover, cost and break-even cost by metric."""
        return measure_costs(self.equity, self.trades)

    @cached_property
    def drawdowns(self) -> pd.DataFrame:
        """The worst drawdowns of each curve."""
        return list_drawdowns(self.equity)

    @cached_property
    def rolling_drawdowns(self) -> pd.DataFrame:
        """The one-year rolling maximum drawdown, day × metric and `index`."""
        return roll_drawdowns(self.equity)
