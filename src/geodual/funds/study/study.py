"""A finished study: its tables and statistics, and ways to save and show them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ..decisions.checkpoints import Checkpoints
from ..evaluation.study_tables import StudyTables
from ..report import write_report
from ..report.headline import write_headline
from ..report.plots import draw_annual_returns, draw_ic, draw_performance
from ..report.summary import summarise
from .run_folder import save_study

_NOTEBOOK_COLUMNS = (
    *("ic_mean", "ic_std", "t", "low", "high", "hit_rate"),
    *("annual_return", "sharpe", "max_drawdown"),
)


@dataclass(frozen=True, eq=False)
class Study(StudyTables):
    """The result of `backtest`.

    Attributes
    ----------
    config : StudyConfig
        What was asked for.
    source, digest : str
        The data: where they came from, and their SHA-256.
    findings : tuple of Finding
        What was found about their quality.
    index_name : str
        What the column `index` of `equity` is.
    predictions : DataFrame
        One row per fund and rebalance day: date, metric, fund, forecast, realised.
    ic : DataFrame
        Rebalance day × metric: Spearman correlation of forecast and realised returns.
    holdings : DataFrame
        One row per holding: date, metric, fund, weight, forecast, realised.
    equity : DataFrame
        Day × metric and `index`, from 1 on.
    trades : DataFrame
        One row per metric and rebalance: metric, decided, executed, turnover, cost, n_held, unfilled.
    universe : DataFrame
        One row per rebalance day: date, funds, coverage (share of the factors known), label (used in fact).
    neighbours, reasons : DataFrame
        For each holding its neighbours and the factors that matter.
    factor_labels : mapping
        What reports call each factor, by name.
    chosen : dict
        Hyper-parameters that `tune` chose, by metric.
    notes : tuple of str
        What a reader should know.
    seconds : float
        Run time.

    See Also
    --------
    read_study : Read a study back from its run folder.

    Examples
    --------
    >>> from geodual.funds import backtest, synthetic_universe
    >>> universe = synthetic_universe(20, "2014-01-02", "2015-06-30")
    >>> study = backtest(universe.panel, metrics=["euclidean", "gmml"])
    >>> study.ic.shape, study.table().loc["both"].index.tolist()
    ((3, 2), ['euclidean', 'gmml', 'index'])
    """

    checkpoints: Checkpoints | None = field(default=None, repr=False)

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

    def summary(self) -> dict[str, Any]:
        """Return the study in numbers, ready for JSON: what ``summary.json`` of a run folder holds."""
        return summarise(self)

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
        shown = self.table()[list(_NOTEBOOK_COLUMNS)].to_html(float_format="{:.3f}".format, na_rep="")
        return f"<p>{escape(write_headline(self).sentence)}</p>{shown}"

    def plot_performance(self) -> Figure:
        """Draw Figure 1: accumulated returns and one-year rolling drawdowns."""
        return draw_performance(self.equity, self.index_name, self.config.test_start)

    def plot_annual_returns(self) -> Figure:
        """Draw Figure 2: the returns of calendar years."""
        return draw_annual_returns(self.annual_returns(), self.index_name)

    def plot_ic(self) -> Figure:
        """Draw the information coefficients by rebalance day, and cumulated."""
        return draw_ic(self.ic)
