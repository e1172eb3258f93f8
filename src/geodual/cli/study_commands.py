"""``geodual demo``, ``backtest`` and ``report``: studies."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from geodual.funds import (
    DataError,
    Panel,
    Study,
    StudyConfig,
    backtest,
    read_config,
    read_index,
    read_nav,
    read_study,
    synthetic_universe,
)
from geodual.funds.summary import summarise

from .console import (
    ConfigFile,
    Jobs,
    Json,
    Nav,
    Quiet,
    page_width,
    print_json,
    print_table,
    progress_of,
    say,
    split_names,
)

_FORECASTS = ("IC", "ICIR", "t", "95 % interval", "hit rate")
_PORTFOLIOS = ("return", "volatility", "Sharpe", "drawdown", "turnover")
_TABLE_WIDTH = 118  # columns that Table 1 takes

Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")]
Metrics = Annotated[str | None, typer.Option(help="Metrics, separated by commas. (default: all six)")]


def run_backtest(
    nav: Nav,
    index: Annotated[
        Path | None, typer.Option(help="Index levels to compare with; else the equal-weight universe.")
    ] = None,
    index_column: Annotated[
        str | None, typer.Option(help="Column of the index file. (default: its only one, or 930950)")
    ] = None,
    config: ConfigFile = None,
    metrics: Metrics = None,
    label: Annotated[str | None, typer.Option(help="sign or median. (default: sign)")] = None,
    k: Annotated[int | None, typer.Option(help="Neighbours a forecast averages. (default: 10)")] = None,
    top: Annotated[int | None, typer.Option(help="Funds held. (default: 10)")] = None,
    neighbours: Annotated[str | None, typer.Option(help="train or current. (default: train)")] = None,
    train_quarters: Annotated[int | None, typer.Option(help="Periods to learn from. (default: 1)")] = None,
    weights: Annotated[str | None, typer.Option(help="equal or forecast. (default: equal)")] = None,
    frequency: Annotated[
        str | None, typer.Option(help="monthly, quarterly or yearly. (default: quarterly)")
    ] = None,
    test_start: Annotated[
        str | None, typer.Option(help="First day of the test period. (default: 2017-01-01)")
    ] = None,
    cost: Annotated[
        float | None, typer.Option(help="Cost of a trade, 0.0015 for 0.15 %. (default: 0)")
    ] = None,
    execution_lag: Annotated[
        int | None, typer.Option(help="Days from a decision to its execution. (default: 0)")
    ] = None,
    tune: Annotated[
        bool | None, typer.Option("--tune", help="Choose hyper-parameters on the validation period.")
    ] = None,
    random_state: Annotated[int | None, typer.Option(help="Seed. (default: 0)")] = None,
    out: Out = Path("geodual-run"),
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run the study on your own NAV table and save tables, figures and report.

    [bold]Examples[/bold]

    geodual backtest nav.csv

    geodual backtest nav.parquet --index index.csv --label median --out runs/median

    geodual backtest nav.csv --metrics euclidean,rpdml --cost 0.0015 --execution-lag 1 --tune
    """
    settings = _settings(locals(), config)
    panel = read_nav(nav)
    levels = None if index is None else read_index(index, index_column)
    _run(panel, levels, settings, out, jobs, quiet, as_json)


def run_demo(
    out: Out = Path("geodual-demo"),
    funds: Annotated[int, typer.Option(help="Number of funds.")] = 697,
    start: Annotated[str, typer.Option(help="First day.")] = "2012-01-04",
    end: Annotated[str, typer.Option(help="Last day.")] = "2018-12-28",
    seed: Annotated[int, typer.Option(help="Seed of the universe.")] = 0,
    signal: Annotated[float, typer.Option(help="Size of what can be forecast; 0 for nothing.")] = 1.0,
    metrics: Metrics = None,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run the whole study on a built-in synthetic universe: 697 funds, 7 years, six metrics.

    [bold]Examples[/bold]

    geodual demo

    geodual demo --signal 0 --out null      (a universe in which nothing can be forecast)
    """
    universe = synthetic_universe(funds, start, end, seed, signal)
    settings = _settings({"metrics": metrics}, None)
    _run(universe.panel, universe.index, settings, out, jobs, quiet, as_json)


def write_report(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="Folder that backtest or demo wrote.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File. (default: RUN_DIR/report.html)")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write the HTML report of a finished run again.

    [bold]Example[/bold]

    geodual report geodual-run -o report.html
    """
    path = read_study(run_dir).report(out or run_dir / "report.html")
    if not quiet:
        say(f"Report: {path}")


def _settings(given: dict[str, Any], config: Path | None) -> dict[str, Any]:
    """Return the settings of a configuration file, overridden by the options given."""
    settings = read_config(config) if config else {}
    names = {field.name for field in fields(StudyConfig)}
    settings |= {name: value for name, value in given.items() if name in names and value is not None}
    if isinstance(settings.get("metrics"), str):
        settings["metrics"] = split_names(settings["metrics"])
    return settings


def _run(
    panel: Panel,
    index: pd.Series[float] | None,
    settings: dict[str, Any],
    out: Path,
    jobs: int,
    quiet: bool,
    as_json: bool,
) -> None:
    _check_folder(out)
    with progress_of("learning", quiet or as_json) as progress:
        study = backtest(
            panel, index, n_jobs=jobs, checkpoint_folder=out / ".finished", progress=progress, **settings
        )
    study.save(out)
    if as_json:
        print_json(summarise(study))
        return
    _print_table1(study)
    for name, parameters in study.chosen.items():
        say(f"Chosen on the validation period: {name} {parameters}")
    if not quiet:
        for remark in study.remarks:
            say(f"Note: {remark}")
        say(f"Report: {out / 'report.html'} (tables and figures beside it)")


def _check_folder(out: Path) -> None:
    """Raise unless the folder is there or can be made; make nothing yet."""
    there = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not there.is_dir():
        raise DataError(f"{there}: this is a file, not a folder. Choose another folder with --out.")
    if not os.access(there, os.W_OK):
        raise DataError(f"{there}: not allowed to write there. Choose another folder with --out.")


def _print_table1(study: Study) -> None:
    """Print Table 1 of each period; on a narrow terminal the forecasts first and the portfolios below."""
    periods = [period for period in ("validation", "test") if len(study.decided(period))]
    for period in (*periods, "both") if len(periods) == 2 else periods:
        table = _table1(study, period)
        parts = [table]
        if page_width() < _TABLE_WIDTH:
            parts = [table[["metric", *names]] for names in (_FORECASTS, _PORTFOLIOS)]
        for part in parts:
            print_table(part, f"Table 1, {period}", _FORECASTS + _PORTFOLIOS)
            say("")
    if len(periods) == 1:
        say(f"There is no {'test' if periods == ['validation'] else 'validation'} period in these data.")


def _table1(study: Study, period: str) -> pd.DataFrame:
    """Return Table 1 of a period as text."""
    table = study.table().loc[period]
    forecasts = (
        list(map(_plus_minus, table["ic_mean"], table["ic_std"])),
        table["icir"].map(_figure),
        table["t"].map(_figure),
        list(map(_interval, table["low"], table["high"])),
        table["hit_rate"].map(_percent),
    )
    portfolios = (
        table["annual_return"].map(_percent),
        table["volatility"].map(_percent),
        table["sharpe"].map(_figure),
        table["max_drawdown"].map(_percent),
        table["turnover"].map(_percent),
    )
    names = [study.index_name if name == "index" else name for name in table.index]
    columns = dict(zip(_FORECASTS + _PORTFOLIOS, forecasts + portfolios, strict=True))
    return pd.DataFrame({"metric": names, **columns})


def _figure(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.2f}"


def _percent(value: float) -> str:
    return "" if pd.isna(value) else f"{round(100.0 * value, 1) + 0.0:.1f} %"


def _plus_minus(mean: float, std: float) -> str:
    return "" if pd.isna(mean) else f"{mean:+.3f} ± {std:.3f}"


def _interval(low: float, high: float) -> str:
    return "" if pd.isna(low) else f"{low:+.3f} … {high:+.3f}"


COMMANDS = {"demo": run_demo, "backtest": run_backtest, "report": write_report}
