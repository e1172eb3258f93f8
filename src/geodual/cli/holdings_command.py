"""What an investor holds: the orders of ``geodual select``, and the command ``geodual watch``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from geodual import funds
from geodual.funds.config import DRAWDOWN, RANK_DROP

from . import options
from .console import format_number, format_percent, plain_records, print_json, print_table, say

_ALARM = 1  # exit code if something crossed a limit
_ORDER_NUMBERS = ("units", "value", "fee", "held", "after", "rank")
_WATCH_NUMBERS = ("rank then", "rank now", "return", "drawdown", "fee of a sale")


def print_orders(orders: funds.Orders) -> None:
    """Print the orders, what they cost, and what is known about doing nothing."""
    from geodual.funds.report.orders_section import tell_orders  # the help must not wait for pandas

    rows = [
        {
            "order": row["action"],
            "fund": row["fund"],
            "units": f"{row['units']:,.4f}" if row["units"] else "",
            "value": f"{row['value']:,.2f}" if row["value"] else "",
            "fee": f"{row['fee']:,.2f}" if row["fee"] else "",
            "held": format_percent(row["weight_before"]),
            "after": format_percent(row["weight_after"]),
            "rank": _whole(row["rank"]),
            "why": row["why"],
        }
        for row in orders.table.to_dict("records")
    ]
    print_table(rows, "Orders, at the last published values", _ORDER_NUMBERS)
    for what, text in tell_orders(orders).items():
        say(f"{what}: {text}")
    for note in orders.notes:
        say(f"Note: {note}")


def orders_record(orders: funds.Orders) -> dict[str, Any]:
    """Return the orders ready for JSON."""
    numbers = ("total", "cash_before", "cash_left", "fees", "turnover", "overlap", "n_ranked")
    return {
        "orders": plain_records(orders.table),
        "lots": plain_records(orders.lots),
        **{name: getattr(orders, name) for name in numbers},
        "notes": list(orders.notes),
    }


def run_watch(
    nav: options.Nav,
    holdings: Annotated[
        Path,
        typer.Option(
            "--holdings",
            help="Table of what you hold: code, units or value, and optionally bought, the day of purchase.",
        ),
    ],
    since: Annotated[str, typer.Option("--since", help="The day to compare with, such as 2024-09-30.")],
    run: Annotated[
        Path | None,
        typer.Option(
            "--run", help="Folder of a study whose forecasts rank the funds. (default: returns over a year)"
        ),
    ] = None,
    facts: options.Facts = None,
    rank_drop: Annotated[
        float, typer.Option(help="Report a fund that has lost more than this share of all ranks.")
    ] = RANK_DROP,
    drawdown: Annotated[
        float, typer.Option(help="Report a fund that has fallen further than this below its high.")
    ] = DRAWDOWN,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """List what has changed since a day for the funds held. Exit code 1 if a fund crossed a limit.

    [bold]Examples[/bold]

    geodual watch nav.csv --holdings mine.csv --since 2024-09-30

    geodual watch nav.csv --holdings mine.csv --since 2024-09-30 --run geodual-run --drawdown 0.15 --json
    """
    options.find_modules_of_run(run)
    mine = funds.read_holdings(holdings)
    limits = {"rank_drop": rank_drop, "drawdown": drawdown}
    seen = funds.watch(funds.read_nav(nav), mine, since, run=run, facts=facts, **limits)
    if as_json:
        print_json(_watch_record(seen))
    else:
        _print_watch(seen, quiet)
    if seen.crossed:
        raise typer.Exit(_ALARM)


def _watch_record(seen: funds.WatchList) -> dict[str, Any]:
    return {
        "since": str(seen.since.date()),
        "day": str(seen.day.date()),
        "ranked_by": seen.ranked_by,
        "crossed": seen.crossed,
        "funds": plain_records(seen.table),
        "findings": plain_records(seen.findings),
        "notes": list(seen.notes),
    }


def _print_watch(seen: funds.WatchList, quiet: bool) -> None:
    rows = [
        {
            "fund": " ".join(filter(None, (row["fund"], row["name"]))),
            "rank then": _rank(row["rank_then"], row["n_then"]),
            "rank now": _rank(row["rank_now"], row["n_now"]),
            "return": format_percent(row["earned"]),
            "drawdown": format_percent(row["drawdown"]),
            "fee of a sale": format_percent(row["sale_fee"]),
            "last value": row["last_day"].date(),
            "crossed": row["crossed"],
        }
        for row in seen.table.to_dict("records")
    ]
    print_table(rows, f"Funds held, {seen.since.date()} to {seen.day.date()}", _WATCH_NUMBERS)
    for row in seen.findings.itertuples():
        say(f"New in the data of {row.fund}: {row.kind} on {row.date}: {row.message}")
    for note in seen.notes if not quiet else ():
        say(f"Note: {note}")


def _rank(rank: float, n: float) -> str:
    return f"{_whole(rank)} of {_whole(n)}" if rank == rank else ""


def _whole(value: float) -> str:
    return format_number(value).removesuffix(".00")


COMMANDS = {"watch": run_watch}
