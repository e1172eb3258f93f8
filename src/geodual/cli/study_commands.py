"""Commands for studies: ``geodual demo``, ``backtest``, ``report`` and ``select``."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodual import funds
from geodual.funds.language import ENGLISH, in_language
from geodual.funds.run import CHECKPOINTS, PICKS, REPORT
from geodual.funds.study.folder_lock import hold_folder

from . import options
from .console import (
    format_number,
    format_percent,
    format_signed,
    page_width,
    plain_records,
    print_json,
    print_table,
    progress_of,
    say,
)
from .holdings_command import orders_record, print_orders

if TYPE_CHECKING:
    import pandas as pd

_FORECASTS = ("IC", "ICIR", "t", "95 % interval", "hit rate")
_PORTFOLIOS = ("return", "volatility", "Sharpe", "drawdown", "turnover")
_TABLE_WIDTH = 118  # columns of the terminal that Table 1 needs
_TITLES = {"validation": "validation period", "test": "test period", "both": "both periods"}

_LEFT_OUT_SHOWN = 10  # funds printed
_NUMERIC = ("rank", "weight", "forecast", "80 % of like funds")
_KNOWN = 0.9  # note picks of which a smaller share of the factors is known

Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace a run of other data in the results folder.")
]


@options.takes_settings()
def run_backtest(
    nav: options.Nav,
    settings: dict[str, Any],
    index: options.Index = None,
    index_column: options.IndexColumn = None,
    index_name: options.IndexName = None,
    facts: options.Facts = None,
    config: options.ConfigFile = None,
    out: Out = Path("geodual-run"),
    excel: options.Excel = None,
    excel_all: options.ExcelAll = False,
    title: options.Title = "",
    language: options.Language = ENGLISH,
    overwrite: Overwrite = False,
    update: Annotated[
        bool,
        typer.Option(
            "--update",
            help="Keep the decisions in the folder; with a longer table, make only the new ones.",
        ),
    ] = False,
    jobs: options.Jobs = -1,
    dask: options.Dask = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
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

    geodual backtest nav.csv --out runs/mine --update      (each week, with a longer table)

    geodual backtest nav.parquet --dask tcp://scheduler:8786
    """
    # here, because the help must not wait for pandas
    from geodual.funds.study.continued_run import keep_other_runs
    from geodual.funds.study.study import Study

    written = [out / f"{table.file}.csv" for table in Study.tables() if table.saved]
    options.keep_inputs([nav, *options.index_files(index), facts], [excel, *written])
    panel, given = funds.read_nav(nav), options.read_given(index, index_column, facts, index_name)
    if overwrite and update:
        raise funds.DataError("`--update` continues a run and `--overwrite` replaces it; give one of them.")
    if not overwrite and not update:
        keep_other_runs(out, panel)
    output = Output(excel, excel_all, title, language, quiet, as_json)
    with options.use_cluster(dask, jobs):
        run_study(panel, settings | given, out, jobs, output, update=update)


@options.takes_settings("metrics")
def run_demo(
    settings: dict[str, Any],
    out: Out = Path("geodual-demo"),
    excel: options.Excel = None,
    excel_all: options.ExcelAll = False,
    title: options.Title = "",
    language: options.Language = ENGLISH,
    n_funds: Annotated[int, typer.Option("--funds", help="Number of funds.")] = 697,
    start: Annotated[str, typer.Option(help="First day.")] = "2012-01-04",
    end: Annotated[str, typer.Option(help="Last day.")] = "2018-12-28",
    seed: Annotated[int, typer.Option(help="Random seed of the universe.")] = 0,
    signal: Annotated[
        float, typer.Option(help="Strength of the forecastable part of returns; 0 for none.")
    ] = 1.0,
    overwrite: Overwrite = False,
    jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Run the whole study on a built-in synthetic universe: 697 funds, 7 years, six metrics.

    [bold]Examples[/bold]

    geodual demo

    geodual demo --signal 0 --out null      (a universe in which nothing can be forecast)
    """
    from geodual.funds.study.continued_run import keep_other_runs  # here, as in `run_backtest`

    universe = funds.synthetic_universe(n_funds, start, end, seed, signal)
    if not overwrite:
        keep_other_runs(out, universe.panel)
    given = {"index": universe.index, "facts": universe.facts}
    output = Output(excel, excel_all, title, language, quiet, as_json)
    run_study(universe.panel, settings | given, out, jobs, output)


def write_report(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="Folder that backtest or demo wrote.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", callback=options.check_file, help=f"File to write. (default: RUN_DIR/{REPORT})"
        ),
    ] = None,
    excel: options.Excel = None,
    excel_all: options.ExcelAll = False,
    title: options.Title = "",
    language: options.Language = ENGLISH,
    quiet: options.Quiet = False,
) -> None:
    """Write the HTML report of a finished run again; with --excel, its tables, too.

    [bold]Examples[/bold]

    geodual report geodual-run -o report.html

    geodual report geodual-run --excel study.xlsx
    """
    study = funds.read_study(run_dir)
    written = {"Report": study.report(out or run_dir / REPORT, title=title, language=language)}
    if excel is not None:
        written["Excel"] = study.to_excel(excel, all_tables=excel_all, language=language)
    for what, path in written.items() if not quiet else ():
        say(f"{what}: {path}")


@dataclass(frozen=True)
class Output:
    """What a study shows and writes in addition to its folder.

    Attributes
    ----------
    excel : Path, optional
        Workbook to write.
    excel_all : bool
        Whether the workbook has every table.
    title : str
        Title of the report; "" for the name of the data.
    language : str
        Language of report, figures and workbook.
    quiet, as_json : bool
        Whether to print only tables and headline, or JSON.
    """

    excel: Path | None = None
    excel_all: bool = False
    title: str = ""
    language: str = ENGLISH
    quiet: bool = False
    as_json: bool = False


def run_study(
    panel: funds.Panel,
    given: dict[str, Any],
    out: Path,
    jobs: int,
    output: Output,
    *,
    update: bool = False,
) -> None:
    """Run a study, save it to a folder, and print its tables and notes; with `update`, keep its decisions."""
    _check_folder(out)
    kept: dict[str, Any] = {"run": out} if update else {"checkpoint_folder": out / CHECKPOINTS}
    with hold_folder(out):
        with progress_of("learning", output.quiet or output.as_json) as progress:
            study = funds.backtest(panel, n_jobs=jobs, progress=progress, **kept, **given)
        with in_language(output.language):
            study.save(out)
        if output.title:
            study.report(out / REPORT, title=output.title, language=output.language)
    if output.excel is not None:
        study.to_excel(output.excel, all_tables=output.excel_all, language=output.language)
    if output.as_json:
        print_json(study.summary())
        return
    _print_table1(study)
    _print_baselines(study)
    for name, parameters in study.chosen.items():
        say(f"Chosen on the validation period: {name}, {_assignments(parameters)}")
    say(study.headline)
    if not output.quiet:
        for note in study.notes:
            say(f"Note: {note}")
        say(f"Report: {out / REPORT} (tables and figures are in the same folder)")
        if output.excel is not None:
            say(f"Excel: {output.excel}")


def _check_folder(out: Path) -> None:
    """Raise if results cannot be written to the folder; create nothing yet."""
    # The folder itself, or the nearest one above it that exists.
    there = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not there.is_dir():
        raise funds.DataError(f"{there}: this is a file, not a folder. Choose another folder with --out.")
    if not os.access(there, os.W_OK):
        raise funds.DataError(f"{there}: no permission to write there. Choose another folder with --out.")


def _print_table1(study: funds.Study) -> None:
    periods = [period for period in ("validation", "test") if len(study.decided(period))]
    # With one period, "both" would only repeat it.
    for period in (*periods, "both") if len(periods) == 2 else periods:
        _print_rows(study, study.table(), period, f"Table 1, {_TITLES[period]}", "forecaster")
    if len(periods) == 1:
        say(f"There is no {'test' if periods == ['validation'] else 'validation'} period in these data.")


def _print_baselines(study: funds.Study) -> None:
    """Print the baselines of the period that the headline is about."""
    known, period = study.known_periods, study.judged_period
    if study.baselines.empty or not known:
        return
    title = _TITLES[period if len(known) > 2 else known[0]]
    _print_rows(study, study.baselines, period, f"Baselines, {title}", "baseline")


def _print_rows(study: funds.Study, table: pd.DataFrame, period: str, title: str, what: str) -> None:
    """Print the rows of a period; on a narrow terminal in two parts, forecasts and portfolios."""
    numeric = _FORECASTS + _PORTFOLIOS
    rows = _format_rows(study, table.loc[[period]].droplevel(0))
    for part in (numeric,) if page_width() >= _TABLE_WIDTH else (_FORECASTS, _PORTFOLIOS):
        shown = [{what: row["name"], **{name: row[name] for name in part}} for row in rows]
        print_table(shown, title, numeric)
        say("")


def _format_rows(study: funds.Study, table: pd.DataFrame) -> list[dict[str, str]]:
    return [
        {
            "name": study.index_name if name == "index" else str(name),
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
        for name, row in table.iterrows()
    ]


def _joined(first: str, between: str, second: str) -> str:
    return f"{first}{between}{second or 'nan'}" if first else ""


def _assignments(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in parameters.items())


@options.takes_settings(
    *("forecasters", "factors", "types", "include", "exclude", "share_classes"),
    *("k", "top", "label", "relative_to", "neighbors", "train_quarters"),
    *("weights", "max_weight", "max_type", "max_company", "keep_rank", "min_holding"),
    *("cost", "redemption_fees", "settlement_lag", "execution_lag"),
    *("frequency", "start", "test_start", "tune", "random_state"),
)
def run_select(
    nav: options.Nav,
    settings: dict[str, Any],
    as_of: Annotated[str | None, typer.Option(help="Day of the decision. (default: the last row)")] = None,
    metric: Annotated[
        str | None, typer.Option(help="Forecast with nearest neighbors in this metric, as the paper does.")
    ] = None,
    forecaster: options.ForecasterName = None,
    run: Annotated[
        Path | None,
        typer.Option("--run", help="Folder of a study; continue its strategy, with its settings."),
    ] = None,
    holdings: Annotated[
        Path | None,
        typer.Option(
            "--holdings",
            help="Table of what you hold: code, units or value, and optionally bought, the day of purchase.",
        ),
    ] = None,
    cash: Annotated[float, typer.Option(help="Money to invest, with or without --holdings.")] = 0.0,
    index: options.Index = None,
    index_column: options.IndexColumn = None,
    index_name: options.IndexName = None,
    facts: options.Facts = None,
    config: options.ConfigFile = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", callback=options.check_file, help="Also write the picks to this file."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            callback=options.check_file,
            help=f"Also write a page with picks and reasons. (default with --run: {PICKS} in its folder)",
        ),
    ] = None,
    title: options.Title = "",
    language: options.Language = ENGLISH,
    sheets: Annotated[
        bool, typer.Option("--sheets/--no-sheets", help="Write the fact sheets of the picks beside the page.")
    ] = True,
    excel: options.Excel = None,
    jobs: options.Jobs = -1,
    dask: options.Dask = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Choose the funds to hold next, as a study would, and show forecasts, neighbors and reasons.

    [bold]Examples[/bold]

    geodual select nav.csv --run geodual-run

    geodual select nav.csv

    geodual select nav.csv --html picks.html --excel picks.xlsx

    geodual select nav.csv --index index.csv --meta funds.csv --max-type 0.3

    geodual select nav.csv --run geodual-run --holdings mine.csv --cash 10000

    geodual select nav.csv --as-of 2016-12-30 --top 5 --json

    geodual select nav.csv --metric rpdml

    geodual select nav.csv --metric mymodule:MyMetric

    geodual select nav.csv --forecaster momentum
    """
    settings.pop("baselines", None)  # a configuration file of a study may have them
    _add_metrics(settings)
    options.find_own_modules(filter(None, [metric, forecaster]))
    options.find_modules_of_run(run)
    if run is not None and html is None:
        html = run / PICKS
    orders = _beside(csv or html) if holdings is not None or cash else None
    read = [nav, *options.index_files(index), facts, config, holdings, *_files_of(run, orders)]
    options.keep_inputs(read, [csv, html, excel, orders])
    panel = funds.read_nav(nav)
    given = options.read_given(index, index_column, facts, index_name) | {
        "forecaster": forecaster,
        "run": run,
    }
    given |= {"holdings": None if holdings is None else funds.read_holdings(holdings), "cash": cash}
    with options.use_cluster(dask, jobs), progress_of("past decisions", quiet or as_json) as progress:
        selection = funds.select(panel, as_of, metric, n_jobs=jobs, progress=progress, **given, **settings)
    _write_selection(selection, csv, orders, html, excel, run, sheets=sheets, title=title, language=language)
    if as_json:
        print_json(_as_record(selection))
        return
    _print_selection(selection, quiet)
    if selection.orders is not None:
        print_orders(selection.orders)
    if orders is not None and not quiet:
        say(f"Orders: {orders}")
    if html is not None and not quiet:
        say(f"Page: {html}" + (f" (study: {run / REPORT})" if run is not None else ""))


def _write_selection(
    selection: funds.Selection,
    csv: Path | None,
    orders: Path | None,
    html: Path | None,
    excel: Path | None,
    run: Path | None,
    *,
    sheets: bool,
    title: str,
    language: str,
) -> None:
    """Write the files that were asked for."""
    from geodual.funds.csv_cells import write_csv  # here, because the help must not wait for pandas
    from geodual.funds.report.render import add_link_to_picks

    if csv is not None:
        write_csv(csv, selection.picks, keep_index=False)
    if orders is not None:
        write_csv(orders, selection.order_table, keep_index=False)
    if html is not None:
        selection.report(html, sheets=sheets, title=title, language=language)
    if run is not None and (run / PICKS).exists():
        add_link_to_picks(run / REPORT)
    if excel is not None:
        selection.to_excel(excel, language=language)


def _beside(picks: Path | None) -> Path | None:
    """Return the file of the orders, beside that of the picks."""
    return None if picks is None else picks.with_name(f"{picks.stem}-orders.csv")


def _files_of(run: Path | None, orders: Path | None) -> list[Path]:
    """Return the files of a run, which a selection reads; the picks and the orders may be replaced."""
    if run is None or not run.is_dir():
        return []
    return [path for path in run.iterdir() if path.name != PICKS and path != orders]


def _add_metrics(settings: dict[str, Any]) -> None:
    """Let the metrics of a configuration file be among the forecasters to choose from."""
    metrics, given = settings.pop("metrics", ()), settings.get("forecasters", ())
    tables = given if isinstance(given, dict) else {}
    if metrics or given:
        settings["forecasters"] = {name: tables.get(name, {}) for name in (*metrics, *given)}


def _as_record(selection: funds.Selection) -> dict[str, object]:
    return {
        "as_of": str(selection.as_of.date()),
        "forecaster": selection.forecaster,
        "track_record": {
            name: None if value != value else value for name, value in asdict(selection.record).items()
        },
        "candidates": plain_records(selection.candidates.reset_index(names="forecaster")),
        "unit": selection.unit,
        "within_types": selection.within_types,
        "picks": plain_records(selection.picks),
        "neighbors": plain_records(selection.neighbors.drop(columns=["date", "forecaster"])),
        "reasons": plain_records(selection.reasons.drop(columns=["date", "forecaster"])),
        "left_out": plain_records(selection.left_out),
        "notes": list(selection.notes),
        **({} if selection.orders is None else {"orders": orders_record(selection.orders)}),
    }


def _print_selection(selection: funds.Selection, quiet: bool) -> None:
    say(selection.record_text)
    show = format_signed if selection.unit == "rank" else format_percent
    rows = [
        {
            "rank": pick["rank"],
            "fund": " ".join(filter(None, (pick["fund"], pick["name"]))),
            "weight": format_percent(pick["weight"]),
            "forecast": show(pick["forecast"]),
            "80 % of like funds": _interval(pick["past_low"], pick["past_high"]),
            "main factors": pick["factors"],
            "neighbors": pick["neighbors"],
        }
        for pick in selection.picks.to_dict("records")
    ]
    title = f"Picks of {selection.forecaster} on {selection.as_of.date()}, for the next holding interval"
    print_table(rows, title, _NUMERIC)
    for note in (*selection.notes, *_doubts(selection)):
        say(f"Note: {note}")
    if not quiet and len(selection.left_out):
        say(f"Funds left out: {len(selection.left_out)}")
        for row in selection.left_out.head(_LEFT_OUT_SHOWN).itertuples():
            say(f"  {row.fund}: {row.why}")
        if len(selection.left_out) > _LEFT_OUT_SHOWN:
            say(f"  and {len(selection.left_out) - _LEFT_OUT_SHOWN} more (--json lists all)")


def _doubts(selection: funds.Selection) -> list[str]:
    """Return what speaks against single picks: findings in their data, and factors that are not known."""
    doubts = []
    for pick in selection.picks.to_dict("records"):
        if pick["finding"]:
            doubts.append(f"{pick['fund']}: {pick['finding']}")
        if pick["known"] < _KNOWN:
            doubts.append(
                f"{pick['fund']}: only {format_percent(pick['known'])} of its factors are known; the others "
                "count as average."
            )
    return doubts


def _interval(low: float, high: float) -> str:
    shown = format_percent(low)
    return f"{shown.removesuffix(' %')} … {format_percent(high)}" if shown else ""


COMMANDS = {"demo": run_demo, "backtest": run_backtest, "report": write_report, "select": run_select}
