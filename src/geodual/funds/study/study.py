"""A finished study: its tables and statistics, with methods to save and show them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from geodual.atomic_file import write_atomically

from ..csv_cells import write_csv
from ..decisions.walk_forward import Checkpoints
from ..evaluation.study_tables import StudyTables
from ..language import ENGLISH, in_language
from ..panel import Panel
from ..report.curves import compared_curves
from ..report.headline import write_headline
from ..report.payload import summarize
from ..report.render import write_report
from ..run import CONFIG, PICKS, REPORT, SUMMARY
from ..sources.reading.fund_facts import FundFacts
from .folder_lock import hold_folder
from .forecasts import Forecasts
from .retrade import take_forecasts, trading_settings
from .trading import trade
from .workbook import write_study_workbook

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NOTEBOOK_COLUMNS = (
    *("ic_mean", "ic_std", "t", "low", "high", "hit_rate"),
    *("annual_return", "sharpe", "max_drawdown"),
)


def save_study(study: StudyTables, folder: Path) -> Path:
    """Write a study into a folder. `summary.json` is written last: if it is there, the folder is complete.

    Parameters
    ----------
    study : StudyTables
        The study.
    folder : Path
        Created if needed.

    Returns
    -------
    Path
        The folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # Without the summary a folder counts as unfinished until all files are replaced. Picks would be stale.
    for stale in (SUMMARY, PICKS):
        (folder / stale).unlink(missing_ok=True)
    _write_text(folder / CONFIG, study.config.to_toml())
    for table in study.tables():
        if table.saved:
            write_csv(folder / f"{table.file}.csv", table.of(study), keep_index=table.indexed)
    _save_figures(study, folder)
    write_report(study, folder / REPORT)
    _write_text(folder / SUMMARY, json.dumps(summarize(study), indent=2, ensure_ascii=False) + "\n")
    return folder


def _save_figures(study: StudyTables, folder: Path) -> None:
    from ..report.plots import draw_annual_returns, draw_performance, save_figure  # matplotlib loads slowly

    figure1 = draw_performance(compared_curves(study), study.index_name, study.config.test_start)
    save_figure(figure1, folder / "figure1")
    save_figure(draw_annual_returns(study.annual_returns(), study.index_name), folder / "figure2")


def _write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda place: place.write_text(text, encoding="utf-8"))


@dataclass(frozen=True, eq=False, kw_only=True)
class Study(StudyTables):
    """The result of `backtest`: the tables of a study, with methods to evaluate, save and show it.

    Attributes
    ----------
    config : StudyConfig
        The settings.
    source, digest : str
        Where the data came from, and their SHA-256.
    findings : tuple of Finding
        What was found in the data.
    index_name, index_digest : str
        What the column `index` of `equity` stands for, and the SHA-256 of the levels that were given.
    predictions : DataFrame
        One row per fund and rebalance day: date, forecaster, fund, forecast, realized.
    ic : DataFrame
        Information coefficients, rebalance day × forecaster: Spearman's rank correlation of forecast and
        realized returns.
    holdings : DataFrame
        One row per holding: date, forecaster, fund, weight, forecast, known (share of its factors), realized.
    equity : DataFrame
        Value of each portfolio and of the index, day × forecaster and `index`, starting at 1.
    trades : DataFrame
        One row per forecaster and rebalance: forecaster, decided, executed, turnover, traded, cost, n_held,
        unfilled, cash (shares of the equity; `unfilled` is the weight of purchases that were canceled).
    fills : DataFrame
        One row per order filled: forecaster, decided, day, fund, side, price, units, value, fee.
    cash : DataFrame
        Day × forecaster: share of the portfolio in cash after the trades of the day.
    universe : DataFrame
        One row per rebalance day: date, funds (their number), coverage (share of the factors known), label
        (the one used).
    neighbors, reasons : DataFrame
        One row per holding and neighbor (date, forecaster, fund, neighbor, distance, earned), and one row
        per holding, view and main factor (date, forecaster, fund, view, factor, share).
    factor_labels : mapping
        Label of each factor in reports, by name.
    facts : DataFrame
        Facts about the funds: names, types, share groups, companies and fees, by fund.
    facts_digest : str
        SHA-256 of all facts that were given; "" without any.
    ic_decay : DataFrame
        Mean IC of the forecasts with the return over 1 to 12 months after the decision, month × forecaster.
    random_portfolios : DataFrame
        What 1,000 portfolios of random funds earned under the same rules: annual_return, volatility, sharpe,
        max_drawdown.
    risk_free : DataFrame
        The risk-free rate per year: day from which it holds × `rate`. Empty if it is 0.
    factor_ic : DataFrame
        Information coefficients of every factor alone, rebalance day × factor; the property `skill_map`
        summarizes them.
    units : dict
        What the forecasts are, by forecaster: "return", "excess" (return over the mean fund)
        or "rank" (from −½ to ½).
    benchmarks : DataFrame
        Value of the mix of indices that each portfolio is compared with, day × forecaster; empty unless there
        is an index per type of funds.
    baseline_predictions, baseline_equity, baseline_trades : DataFrame
        The same as `predictions`, `equity` and `trades` for the baselines, with `universe` for all funds with
        equal weights; the property `baselines` summarizes them. Empty without baselines.
    chosen : dict
        Settings that `tune` chose, by forecaster.
    notes : tuple of str
        Sentences that the reader of the result should know.
    trials : object, optional
        What else a sweep tried, if the study is one of a sweep: all its corrections count it.
    seconds : float
        Run time.
    checkpoints : object, optional
        Finished decisions on disk, if `backtest` got a checkpoint folder; `save` clears them.
    forecasts : object, optional
        What `retrade` trades again, unless the study was read from a folder.

    See Also
    --------
    backtest : Run a study.
    read_study : Read a study back from its run folder.

    Examples
    --------
    >>> from geodual.funds import backtest, synthetic_universe
    >>> universe = synthetic_universe(20, "2014-01-02", "2015-06-30")
    >>> study = backtest(universe.panel, metrics=["euclidean", "gmml"])
    >>> study.ic.shape, study.table().loc["both"].index.tolist()
    ((2, 2), ['euclidean', 'gmml', 'index'])
    """

    checkpoints: Checkpoints | None = field(default=None, repr=False)
    forecasts: Forecasts | None = field(default=None, repr=False)

    def save(self, folder: str | Path) -> Path:
        """Write the run folder: settings, tables (CSV), figures (SVG, PNG), report and summary.

        Each file is written completely or not at all. If another process is writing to the folder, a
        `DataError` says so.

        Parameters
        ----------
        folder : path
            Created if needed; files of an earlier run in it are replaced.

        Returns
        -------
        Path
            The folder, which `read_study` reads.
        """
        with hold_folder(Path(folder)):
            saved = save_study(self, Path(folder))
            if self.checkpoints is not None:
                self.checkpoints.clear()
        return saved

    def retrade(
        self,
        *,
        panel: Panel | pd.DataFrame | str | Path | None = None,
        index: Any = None,
        facts: FundFacts | pd.DataFrame | str | Path | None = None,
        **settings: Any,
    ) -> Study:
        """Trade the same forecasts under other rules and costs; nothing is learned again.

        The result is the same, to the last digit, as that of `backtest` with the settings of the study and
        these changes. Its p-values do not count how often a study was traded again; `sweep` counts every
        trial, and what is made from its studies still counts those of the sweep.

        Parameters
        ----------
        panel : Panel, DataFrame or path, optional
            The table of the study, if the study was read from a folder: run folders do not keep it.
        index, facts : optional
            The index and the facts about funds, as in `backtest`, if the study was read from a folder and
            had some.
        **settings
            Settings that no forecast depends on: `top`, `weights`, `max_weight`, `max_type`, `max_company`,
            `keep_rank`, `min_holding`, `cost`, `redemption_fees`, `settlement_lag`, `execution_lag`,
            `risk_free` and `baselines`. The others, and those not given, are those of the study.

        Returns
        -------
        Study
            Of a study that was read from a folder, `neighbors` and `reasons` have only the picks that it had
            before; all else is complete.

        See Also
        --------
        sweep : Try several settings, and correct for their number.

        Examples
        --------
        >>> from geodual.funds import backtest, synthetic_universe
        >>> study = backtest(synthetic_universe(20, "2014-01-02", "2015-06-30").panel, metrics="gmml")
        >>> dear = study.retrade(top=5, cost=0.005)
        >>> len(dear.holdings) // len(dear.ic), dear.ic.equals(study.ic)
        (5, True)
        """
        started = time.perf_counter()
        config = trading_settings(self.config, settings)
        forecasts = take_forecasts(self, self.forecasts, panel, index, facts).with_trading(config)
        parts = trade(forecasts) | {"trials": self.trials}
        return Study(**parts, forecasts=forecasts, seconds=time.perf_counter() - started)

    @property
    def headline(self) -> str:
        """The main result in words: what did best, against what, and whether it is more than chance."""
        return write_headline(self).sentence

    def summary(self) -> dict[str, Any]:
        """Return Table 1, notes, source and versions as a dictionary ready for JSON.

        Returns
        -------
        dict
            The content of ``summary.json`` in a run folder; unknown numbers are None.
        """
        return summarize(self)

    def report(self, path: str | Path, *, title: str = "", language: str = ENGLISH) -> Path:
        """Write the interactive report as one HTML file, which needs no other files and no network.

        Parameters
        ----------
        path : path
            File to create or replace.
        title : str
            Title of the report; by default the name of the data.
        language : str
            "en" or "zh".

        Returns
        -------
        Path
            The file.
        """
        with in_language(language):
            return write_report(self, Path(path), title)

    def to_excel(self, path: str | Path, *, all_tables: bool = False, language: str = ENGLISH) -> Path:
        """Write one Excel workbook: a summary, then the main tables with charts. It needs openpyxl.

        Numbers keep all their digits. A table with more rows than an Excel sheet can hold, 1,048,576, is
        split.

        Parameters
        ----------
        path : path
            The .xlsx file to create or replace.
        all_tables : bool
            Whether every table has a sheet; by default some eight sheets that people read.
        language : str
            "en" or "zh".

        Returns
        -------
        Path
            The file.
        """
        with in_language(language):
            return write_study_workbook(self, path, all_tables=all_tables)

    def _repr_html_(self) -> str:
        """Return the headline and Table 1 as HTML, for notebooks."""
        shown = self.table()[list(_NOTEBOOK_COLUMNS)].to_html(float_format="{:.3f}".format, na_rep="")
        return f"<p>{escape(self.headline)}</p>{shown}"

    def plot_performance(self) -> Figure:
        """Draw Figure 1: accumulated returns and one-year rolling maximum drawdowns of all forecasters.

        All funds with equal weights and momentum are drawn too, if they are baselines.

        Returns
        -------
        matplotlib.figure.Figure
            A figure with two axes, one above the other.
        """
        from ..report.plots import draw_performance  # here, because matplotlib loads slowly

        return draw_performance(compared_curves(self), self.index_name, self.config.test_start)

    def plot_annual_returns(self) -> Figure:
        """Draw Figure 2: the returns of calendar years as grouped bars.

        Returns
        -------
        matplotlib.figure.Figure
            A figure with one group of bars per year.
        """
        from ..report.plots import draw_annual_returns  # here, because matplotlib loads slowly

        return draw_annual_returns(self.annual_returns(), self.index_name)

    def plot_ic(self) -> Figure:
        """Draw the information coefficients by rebalance day, and their running sum.

        Returns
        -------
        matplotlib.figure.Figure
            A figure with two axes, one above the other.
        """
        from ..report.plots import draw_ic  # here, because matplotlib loads slowly

        return draw_ic(self.ic)
