"""``geodual select``: the funds to hold next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from geodual.funds import Selection, read_config, read_nav, select
from geodual.funds.atomic_file import write_atomically

from .console import (
    ConfigFile,
    Jobs,
    Json,
    Nav,
    Quiet,
    plain_records,
    print_json,
    print_table,
    progress_of,
    say,
)

_LEFT_OUT_SHOWN = 10


def run_select(
    nav: Nav,
    as_of: Annotated[str | None, typer.Option(help="Day of the decision. (default: the last row)")] = None,
    top: Annotated[int | None, typer.Option(help="How many funds. (default: 10)")] = None,
    metric: Annotated[str, typer.Option(help="euclidean, mahalanobis, lmnn, itml, gmml or rpdml.")] = "rpdml",
    label: Annotated[str | None, typer.Option(help="sign or median. (default: sign)")] = None,
    config: ConfigFile = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write the picks to this file too.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page with the reasons too.")] = None,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Choose next quarter's funds from the last row of the data, with forecast, neighbours and reasons.

    [bold]Examples[/bold]

    geodual select nav.csv

    geodual select nav.csv --html picks.html

    geodual select nav.csv --as-of 2016-12-30 --top 5 --json
    """
    settings = read_config(config) if config else {}
    settings |= {name: value for name, value in (("top", top), ("label", label)) if value is not None}
    for name in ("metrics", "tune"):
        settings.pop(name, None)
    panel = read_nav(nav)
    with progress_of("past decisions", quiet or as_json) as progress:
        selection = select(panel, as_of, metric, n_jobs=jobs, progress=progress, **settings)
    if csv is not None:
        write_atomically(csv, lambda path: selection.picks.to_csv(path, index=False, lineterminator="\n"))
    if html is not None:
        selection.report(html)
    if as_json:
        print_json(_as_record(selection))
    else:
        _print_selection(selection, quiet)


def _as_record(selection: Selection) -> dict[str, object]:
    return {
        "as_of": str(selection.as_of.date()),
        "metric": selection.metric,
        "picks": plain_records(selection.picks),
        "neighbours": plain_records(selection.neighbours.drop(columns=["date", "metric"])),
        "reasons": plain_records(selection.reasons.drop(columns=["date", "metric"])),
        "left_out": plain_records(selection.left_out),
        "remarks": list(selection.remarks),
    }


def _print_selection(selection: Selection, quiet: bool) -> None:
    picks = selection.picks
    past = [
        "" if pd.isna(low) else f"{100 * low:.1f} … {100 * high:.1f} %"
        for low, high in zip(picks["past_low"], picks["past_high"], strict=True)
    ]
    shown = pd.DataFrame(
        {
            "rank": picks["rank"],
            "fund": picks["fund"],
            "forecast": picks["forecast"].map(lambda value: f"{100 * value:.1f} %"),
            "80 % of past picks": past,
            "near by": picks["factors"],
            "neighbours": picks["neighbours"],
        }
    )
    figures = ("rank", "forecast", "80 % of past picks")
    print_table(
        shown, f"Picks of {selection.metric} on {selection.as_of.date()}, for the period ahead", figures
    )
    for remark in selection.remarks:
        say(f"Note: {remark}")
    if not quiet and len(selection.left_out):
        say(f"Left out: {len(selection.left_out)} funds")
        for row in selection.left_out.head(_LEFT_OUT_SHOWN).itertuples():
            say(f"  {row.fund}: {row.why}")
        if len(selection.left_out) > _LEFT_OUT_SHOWN:
            say(f"  and {len(selection.left_out) - _LEFT_OUT_SHOWN} more; --json has all of them")


COMMANDS = {"select": run_select}
