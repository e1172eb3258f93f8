"""A finished study: its tables, statistics and figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from .config import StudyConfig
from .decisions.checkpoints import Checkpoints
from .evaluation import performance
from .evaluation.periods import PERIODS, decisions_in, equity_in
from .evaluation.statistics import compare_pairs, summarise_ic
from .figures import draw_annual_returns, draw_ic, draw_performance
from .panel import Finding
from .report import write_report
from .report.headline import write_headline
from .report.tables import compare_by_period
from .run_folder import save_study

N_QUANTILES = 5


@dataclass(frozen=True, eq=False)
class Study:
    """The result of `backtest`.

    Attributes
    ----------
    config : StudyConfig
        What was asked for.
    source, digest : str
        The data: where they came from, and their SHA-256.
    findings : tuple of Finding
        What was remarked about their quality.
    index_name : str
        What the column `index` of `equity` is.
    predictions : DataFrame
        One row a fund and rebalance day: date, metric, fund, forecast, realised.
    ic : DataFrame
        Rebalance day × metric: Spearman correlation of forecast and realised returns.
    holdings : DataFrame
        One row a holding: date, metric, fund, weight, forecast, realised.
    equity : DataFrame
        Day × metric and `index`, from 1 on.
    trades : DataFrame
        One row a metric and rebalance: metric, decided, executed, turnover, cost, n_held, unfilled.
    universe : DataFrame
        One row a rebalance day: date, funds, coverage (share of the factors known), label (used in fact).
    neighbours, reasons : DataFrame
        For each holding its neighbours and the factors that matter.
    chosen : dict
        Hyper-parameters that `tune` chose, by metric.
    remarks : tuple of str
        What a reader should know.
    seconds : float
        Run time.
    """

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
    chosen: dict[str, dict[str, Any]]
    remarks: tuple[str, ...]
    seconds: float
    checkpoints: Checkpoints | None = field(default=None, repr=False)

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
        rows = {
            (period, name): self._table_row(period, name)
            for period in PERIODS
            for name in (*self.config.metrics, "index")
        }
        table = pd.DataFrame.from_dict(rows, orient="index")
        table.index = pd.MultiIndex.from_tuples(table.index, names=["period", "metric"])
        return table.astype({"n": "Int64"})

    def _table_row(self, period: str, name: str) -> dict[str, Any]:
        curve = equity_in(period, self.equity, self.config.test_start)[name]
        measured = performance.describe(curve) if len(curve) > 1 else performance.describe(curve) * np.nan
        measures = {str(key): value for key, value in measured.items()}
        if name == "index":
            return measures
        decided = self.decided(period)
        summary = asdict(summarise_ic(self.ic.loc[decided, name]))
        trades = self.trades[(self.trades["metric"] == name) & self.trades["decided"].isin(decided)]
        later = trades[trades["decided"] > self.trades["decided"].min()]
        renamed = {"ic_mean": summary.pop("mean"), "ic_std": summary.pop("std"), **summary}
        return {**renamed, **measures, "turnover": later["turnover"].mean()}

    def decided(self, period: str) -> pd.Index:
        """Return the rebalance days of a period ("validation", "test" or "both")."""
        days = self.equity.index.union(self.ic.index)
        return decisions_in(period, self.ic.index, days, self.config.test_start)

    def annual_returns(self) -> pd.DataFrame:
        """Return the returns of calendar years, year × metric and `index`: Figure 2."""
        table = pd.DataFrame({name: performance.annual_returns(self.equity[name]) for name in self.equity})
        return table.rename_axis(index="year", columns="metric")

    def comparisons(self, period: str = "both") -> pd.DataFrame:
        """Compare the ICs of all pairs of metrics, quarter by quarter, with Holm's correction."""
        return compare_pairs(self.ic.loc[self.decided(period)])

    def quantile_returns(self, period: str = "both") -> pd.DataFrame:
        """Return the mean realised return by fifth of the forecasts, metric × fifth (1 the worst)."""
        chosen = self.predictions[self.predictions["date"].isin(self.decided(period))].dropna()
        groups = chosen.groupby(["date", "metric"])["forecast"]
        rank = (groups.rank(method="first") - 1.0) / groups.transform("size")
        fifth = (rank * N_QUANTILES).astype(int) + 1
        by_day = chosen["realised"].groupby([chosen["metric"], chosen["date"], fifth.rename("fifth")]).mean()
        table = by_day.groupby(["metric", "fifth"]).mean().unstack()
        return table.reindex(list(self.config.metrics))

    def save(self, folder: str | Path) -> Path:
        """Write the run folder: configuration, tables, figures and report, each file whole or not at all.

        Parameters
        ----------
        folder : path
            Made if it is not there; files of an earlier run in it are replaced.

        Returns
        -------
        Path
            The folder.
        """
        saved = save_study(self, Path(folder))
        if self.checkpoints is not None:
            self.checkpoints.clear()
        return saved

    def report(self, path: str | Path) -> Path:
        """Write the report: one HTML file that needs nothing else.

        Parameters
        ----------
        path : path
            File to write.

        Returns
        -------
        Path
            The file.
        """
        return write_report(self, Path(path))

    def _repr_html_(self) -> str:
        """Return the headline and Table 1, for notebooks."""
        columns = [
            "ic_mean",
            "ic_std",
            "t",
            "low",
            "high",
            "hit_rate",
            "annual_return",
            "sharpe",
            "max_drawdown",
        ]
        table = self.table()
        sentence = write_headline(self, table, compare_by_period(self)).sentence
        return f"<p>{escape(sentence)}</p>{table[columns].to_html(float_format='{:.3f}'.format, na_rep='')}"

    def plot_performance(self) -> Figure:
        """Draw Figure 1: accumulated returns and one-year rolling drawdowns."""
        return draw_performance(self.equity, self.index_name, self.config.test_start)

    def plot_annual_returns(self) -> Figure:
        """Draw Figure 2: the returns of calendar years."""
        return draw_annual_returns(self.annual_returns(), self.index_name)

    def plot_ic(self) -> Figure:
        """Draw the information coefficients by rebalance day, and cumulated."""
        return draw_ic(self.ic)
