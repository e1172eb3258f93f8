"""The command ``geodual select``: choose the funds to hold next."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from geodual import funds

from .cluster_option import Dask, use_cluster
from .console import format_percent, format_signed, plain_records, print_json, print_table, progress_of, say
from .options import (
    ConfigFile,
    Facts,
    ForecasterName,
    Index,
    IndexColumn,
    Jobs,
    Json,
    Nav,
    Quiet,
    find_own_modules,
    takes_settings,
)
from .output_files import Excel, check_file, keep_inputs

_LEFT_OUT_SHOWN = 10  # funds printed
_NUMERIC = ("rank", "weight", "forecast", "80 % of past picks")
_KNOWN = 0.9  # tell of picks of which a smaller share of the factors is known


@takes_settings(
    *("forecasters", "factors", "types", "include", "exclude", "share_classes"),
    *("k", "top", "label", "relative_to", "neighbours", "train_quarters"),
    *("weights", "max_weight", "max_type", "max_company", "keep_rank", "min_holding"),
    *("frequency", "start", "test_start", "tune", "random_state"),
)
def run_select(
    nav: Nav,
    settings: dict[str, Any],
    as_of: Annotated[str | None, typer.Option(help="Day of the decision. (default: the last row)")] = None,
    metric: Annotated[
        str | None, typer.Option(help="Forecast with nearest neighbours in this metric, as the paper does.")
    ] = None,
    forecaster: ForecasterName = None,
    index: Index = None,
    index_column: IndexColumn = None,
    facts: Facts = None,
    config: ConfigFile = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", callback=check_file, help="Also write the picks to this file.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", callback=check_file, help="Also write a page with picks and reasons."),
    ] = None,
    excel: Excel = None,
    jobs: Jobs = -1,
    dask: Dask = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Choose the funds to hold next, with forecasts, neighbours and reasons.

    [bold]Examples[/bold]

    geodual select nav.csv

    geodual select nav.csv --html picks.html --excel picks.xlsx

    geodual select nav.csv --index index.csv --meta funds.csv --max-type 0.3

    geodual select nav.csv --as-of 2016-12-30 --top 5 --json

    geodual select nav.csv --metric rpdml

    geodual select nav.csv --metric mymodule:MyMetric

    geodual select nav.csv --forecaster momentum
    """
    settings.pop("baselines", None)  # a configuration file of a study may have them
    _add_metrics(settings)
    find_own_modules(filter(None, [metric, forecaster]))
    keep_inputs([nav, index, facts, config], [csv, html, excel])
    panel = funds.read_nav(nav)
    given: dict[str, Any] = {
        "index": None if index is None else funds.read_index(index, index_column),
        "facts": None if facts is None else funds.read_facts(facts),
        "forecaster": forecaster,
    }
    with use_cluster(dask, jobs), progress_of("past decisions", quiet or as_json) as progress:
        selection = funds.select(panel, as_of, metric, n_jobs=jobs, progress=progress, **given, **settings)
    if csv is not None:
        from geodual.funds.csv_cells import write_csv  # here, because the help must not wait for pandas

        write_csv(csv, selection.picks, keep_index=False)
    if html is not None:
        selection.report(html)
    if excel is not None:
        selection.to_excel(excel)
    if as_json:
        print_json(_as_record(selection))
    else:
        _print_selection(selection, quiet)


def _add_metrics(settings: dict[str, Any]) -> None:
    """Let the metrics of a configuration file be among the forecasters to choose from."""
    metrics, given = settings.pop("metrics", ()), settings.get("forecasters", ())
    tables = given if isinstance(given, dict) else {}
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
        "picks": plain_records(selection.picks),
        "neighbours": plain_records(selection.neighbours.drop(columns=["date", "forecaster"])),
        "reasons": plain_records(selection.reasons.drop(columns=["date", "forecaster"])),
        "left_out": plain_records(selection.left_out),
        "notes": list(selection.notes),
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
            "80 % of past picks": _interval(pick["past_low"], pick["past_high"]),
            "main factors": pick["factors"],
            "neighbours": pick["neighbours"],
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


COMMANDS = {"select": run_select}
