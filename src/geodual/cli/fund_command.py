"""The command ``geodual fund``: the fact sheet of one fund."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from geodual import funds
from geodual.errors import DataError
from geodual.funds.language import ENGLISH

from . import options
from .console import format_number, format_percent, print_json, print_table, say

_SPANS = {
    "ytd": "year to date",
    "1": "1 year",
    "3": "3 years",
    "5": "5 years",
    "10": "10 years",
    "start": "start",
}


def run_fund(
    nav: options.Nav,
    fund: Annotated[str, typer.Argument(metavar="FUND", help="Code of the fund, or its name.")],
    index: options.Index = None,
    index_column: options.IndexColumn = None,
    facts: options.Facts = None,
    style: Annotated[
        Path | None, typer.Option("--style", help="Levels of indices by day, for the style of the fund.")
    ] = None,
    risk_free: Annotated[
        str, typer.Option(help="Risk-free rate per year, such as 0.03, or a table of such rates by day.")
    ] = "0",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            callback=options.check_file,
            help="Page to write. (default: fund-CODE.html, and none with --json)",
        ),
    ] = None,
    language: options.Language = ENGLISH,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Write the fact sheet of a fund: one page with returns, risk, style, factors and peers.

    [bold]Examples[/bold]

    geodual fund nav.csv 000001

    geodual fund nav.csv 000001 --index index.csv --meta funds.csv --risk-free 0.03 --out sheet.html

    geodual fund nav.csv 000001 --style indices.csv --json
    """
    given = options.read_given(index, index_column, facts)
    if isinstance(given["index"], dict):
        raise DataError("`--index`: a fact sheet compares a fund with one index; give the file alone.")
    sheet = funds.fund_sheet(funds.read_nav(nav), fund, style_indices=style, risk_free=risk_free, **given)
    path = out or Path("fund-" + re.sub(r"[^\w.-]", "_", sheet.code) + ".html")
    if out is not None or not as_json:
        options.keep_inputs(
            [nav, *options.index_files(index), facts, style, Path(risk_free)], [options.check_file(path)]
        )
        sheet.to_html(path, language=language)
    if as_json:
        print_json(sheet.summary())
        return
    _print_returns(sheet)
    if not quiet:
        for note in sheet.notes:
            say(f"Note: {note}")
        say(f"Sheet: {path}")


def _print_returns(sheet: funds.FundSheet) -> None:
    rows = [
        {
            "span": _SPANS[str(span)],
            "fund": format_percent(row["value"]),
            **({"index": format_percent(row["index"])} if sheet.index_name else {}),
            "peers": format_percent(row["peers"]),
            "quartile": format_number(row["quartile"]).removesuffix(".00"),
            "funds": format_number(row["funds"]).removesuffix(".00"),
        }
        for span, row in sheet.trailing.iterrows()
    ]
    print_table(rows, f"{sheet.title}, to {sheet.last_day.date()}", [*rows[0]][1:])


COMMANDS = {"fund": run_fund}
