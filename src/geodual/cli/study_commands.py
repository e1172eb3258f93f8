"""Commands for studies: ``geodual demo``, ``backtest`` and ``report``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodual import funds
from geodual.funds.run_layout import CHECKPOINTS, REPORT
from geodual.funds.study.folder_lock import hold_folder

from .cluster_option import Dask, use_cluster
from .console import (
    format_number,
    format_percent,
    format_signed,
    page_width,
    print_json,
    print_table,
    progress_of,
    say,
)
from .options import ConfigFile, Facts, Index, IndexColumn, Jobs, Json, Nav, Quiet, takes_settings
from .output_files import Excel, check_file, keep_inputs

if TYPE_CHECKING:
    import pandas as pd

_FORECASTS = ("IC", "ICIR", "t", "95 % interval", "hit rate")
_PORTFOLIOS = ("return", "volatility", "Sharpe", "drawdown", "turnover")
_TABLE_WIDTH = 118  # columns of the terminal that Table 1 needs
_TITLES = {"validation": "validation period", "test": "test period", "both": "both periods"}

Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")]


@takes_settings()
def run_backtest(
    nav: Nav,
    settings: dict[str, Any],
    index: Index = None,
    index_column: IndexColumn = None,
    facts: Facts = None,
    config: ConfigFile = None,
    out: Out = Path("geodual-run"),
    excel: Excel = None,
    jobs: Jobs = -1,
    dask: Dask = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run the study on your own NAV table; save tables, figures and a report.

    [bold]Examples[/bold]

    geodual backtest nav.csv

    geodual backtest nav.parquet --index index.csv --label median --out runs/median

    geodual backtest nav.csv --metrics euclidean,rpdml --cost 0.0015 --execution-lag 1 --tune

    geodual backtest nav.csv --meta funds.csv --types equity,mixed --max-company 0.2 --execution-lag 1

    geodual backtest nav.csv --metrics euclidean,mymodule:MyMetric

    geodual backtest nav.csv --forecasters rpdml,momentum,ridge,factor:rsi_63

    geodual backtest nav.xlsx --excel study.xlsx

    geodual backtest nav.parquet --dask tcp://scheduler:8786
    """
    from geodual.funds.study.study import Study  # here, because the help must not wait for pandas

    written = [out / f"{table.file}.csv" for table in Study.tables() if table.saved]
    keep_inputs([nav, index, facts], [excel, *written])
    panel = funds.read_nav(nav)
    levels = None if index is None else funds.read_index(index, index_column)
    if facts is not None:
        settings["facts"] = funds.read_facts(facts)
    with use_cluster(dask, jobs):
        _run(panel, levels, settings, out, excel, jobs, quiet, as_json)


@takes_settings("metrics")
def run_demo(
    settings: dict[str, Any],
    out: Out = Path("geodual-demo"),
    excel: Excel = None,
    n_funds: Annotated[int, typer.Option("--funds", help="Number of funds.")] = 697,
    start: Annotated[str, typer.Option(help="First day.")] = "2012-01-04",
    end: Annotated[str, typer.Option(help="Last day.")] = "2018-12-28",
    seed: Annotated[int, typer.Option(help="Random seed of the universe.")] = 0,
    signal: Annotated[
        float, typer.Option(help="Strength of the forecastable part of returns; 0 for none.")
    ] = 1.0,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run the whole study on a built-in synthetic universe: 697 funds, 7 years, six metrics.

    [bold]Examples[/bold]

    geodual demo

    geodual demo --signal 0 --out null      (a universe in which nothing can be forecast)
    """
    universe = funds.synthetic_universe(n_funds, start, end, seed, signal)
    settings["facts"] = universe.facts
    _run(universe.panel, universe.index, settings, out, excel, jobs, quiet, as_json)


def write_report(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="Folder that backtest or demo wrote.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", callback=check_file, help=f"File to write. (default: RUN_DIR/{REPORT})"),
    ] = None,
    excel: Excel = None,
    quiet: Quiet = False,
) -> None:
    """Write the HTML report of a finished run once more; with --excel, its tables, too.

    [bold]Examples[/bold]

    geodual report geodual-run -o report.html

    geodual report geodual-run --excel study.xlsx
    """
    study = funds.read_study(run_dir)
    written = {"Report": study.report(out or run_dir / REPORT)}
    if excel is not None:
        written["Excel"] = study.to_excel(excel)
    for what, path in written.items() if not quiet else ():
        say(f"{what}: {path}")


def _run(
    panel: funds.Panel,
    index: pd.Series[float] | None,
    settings: dict[str, Any],
    out: Path,
    excel: Path | None,
    jobs: int,
    quiet: bool,
    as_json: bool,
) -> None:
    _check_folder(out)
    with hold_folder(out):
        with progress_of("learning", quiet or as_json) as progress:
            study = funds.backtest(
                panel, index, n_jobs=jobs, checkpoint_folder=out / CHECKPOINTS, progress=progress, **settings
            )
        study.save(out)
    if excel is not None:
        study.to_excel(excel)
    if as_json:
        print_json(study.summary())
        return
    _print_table1(study)
    _print_baselines(study)
    for name, parameters in study.chosen.items():
        say(f"Chosen on the validation period: {name}, {_assignments(parameters)}")
    if not quiet:
        say(study.headline)
        for note in study.notes:
            say(f"Note: {note}")
        say(f"Report: {out / REPORT} (tables and figures are in the same folder)")
        if excel is not None:
            say(f"Excel: {excel}")


def _check_folder(out: Path) -> None:
    """Raise if results cannot be written to the folder; create nothing yet."""
    # The folder itself, or the nearest one above it that exists.
    there = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not there.is_dir():
        raise funds.DataError(f"{there}: this is a file, not a folder. Choose another folder with --out.")
    if not os.access(there, os.W_OK):
        raise funds.DataError(f"{there}: no permission to write there. Choose another folder with --out.")


def _print_table1(study: funds.Study) -> None:
    """Print Table 1 of each period; on a narrow terminal in two parts, forecasts and portfolios."""
    periods = [period for period in ("validation", "test") if len(study.decided(period))]
    # With one period, "both" would only repeat it.
    for period in (*periods, "both") if len(periods) == 2 else periods:
        names = (_FORECASTS + _PORTFOLIOS,) if page_width() >= _TABLE_WIDTH else (_FORECASTS, _PORTFOLIOS)
        rows = _table1(study, period)
        for part in names:
            shown = [{name: row[name] for name in ("forecaster", *part)} for row in rows]
            print_table(shown, f"Table 1, {_TITLES[period]}", _FORECASTS + _PORTFOLIOS)
            say("")
    if len(periods) == 1:
        say(f"There is no {'test' if periods == ['validation'] else 'validation'} period in these data.")


def _print_baselines(study: funds.Study) -> None:
    """Print the baselines of the period that the headline is about."""
    known = study.known_periods
    if study.baselines.empty or not known:
        return
    period = "test" if "test" in known else "both"
    names = (_FORECASTS + _PORTFOLIOS,) if page_width() >= _TABLE_WIDTH else (_FORECASTS, _PORTFOLIOS)
    rows = _format_rows(study, study.baselines, period)
    title = _TITLES["validation" if known == ("validation", "both") else period]
    for part in names:
        shown = [{"baseline": row["forecaster"], **{name: row[name] for name in part}} for row in rows]
        print_table(shown, f"Baselines, {title}", _FORECASTS + _PORTFOLIOS)
        say("")


def _table1(study: funds.Study, period: str) -> list[dict[str, str]]:
    """Return the rows of Table 1 of a period, formatted."""
    return _format_rows(study, study.table(), period)


def _format_rows(study: funds.Study, table: pd.DataFrame, period: str) -> list[dict[str, str]]:
    return [
        {
            "forecaster": study.index_name if name == "index" else str(name),
            "IC": _joined(format_signed(row["ic_mean"]), " ± ", format_signed(row["ic_std"])[1:]),
            "ICIR": format_number(row["icir"]),
            "t": format_number(row["t"]),
            "95 % interval": _joined(format_signed(row["low"]), " … ", format_signed(row["high"])),
            "hit rate": format_percent(row["hit_rate"]),
            "return": format_percent(row["annual_return"]),
            "volatility": format_percent(row["volatility"]),
            "Sharpe": format_number(row["sharpe"]),
            "drawdown": format_percent(row["max_drawdown"]),
            "turnover": format_percent(row["turnover"]),
        }
        for name, row in table.loc[period].iterrows()
    ]


def _joined(first: str, between: str, second: str) -> str:
    return f"{first}{between}{second or 'nan'}" if first else ""


def _assignments(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in parameters.items())


COMMANDS = {"demo": run_demo, "backtest": run_backtest, "report": write_report}
