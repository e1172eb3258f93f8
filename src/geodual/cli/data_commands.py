"""``geodual check``, ``check-leakage``, ``factors`` and ``fetch``: data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from geodual.funds import DataError, check_leakage, compute_factors, fetch_universe, read_config, read_nav
from geodual.funds.atomic_file import write_atomically
from geodual.funds.decisions.named_metrics import NAMES

from .console import (
    ConfigFile,
    Json,
    Nav,
    Quiet,
    plain_records,
    print_json,
    print_table,
    progress_of,
    say,
    split_names,
)


def run_check(
    nav: Nav,
    every: Annotated[bool, typer.Option("--all", help="Show also what does not matter.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Check the quality of a NAV table; exit with 1 if something found can change a result.

    [bold]Example[/bold]

    geodual check nav.csv
    """
    panel = read_nav(nav)
    findings = pd.DataFrame([asdict(finding) for finding in panel.findings])
    serious = sum(finding.matters for finding in panel.findings)
    if as_json:
        print_json({"funds": panel.nav.shape[1], "days": len(panel.nav), "findings": plain_records(findings)})
    else:
        shown = findings
        if not every and len(findings):
            shown = findings[findings["matters"] | (findings["fund"] == "")]
        if len(shown):
            print_table(
                shown.assign(matters=shown["matters"].map({True: "yes", False: ""})), figures=["count"]
            )
        if not quiet:
            first, last = (str(day.date()) for day in panel.nav.index[[0, -1]])
            say(f"{panel.nav.shape[1]} funds, {len(panel.nav)} days from {first} to {last}.")
            say(f"{serious} findings that matter, {len(findings) - serious} for information (--all).")
    raise typer.Exit(1 if serious else 0)


def run_check_leakage(
    nav: Nav,
    metrics: Annotated[str, typer.Option(help="Metrics, separated by commas. (default: all six)")] = "",
    config: ConfigFile = None,
    days: Annotated[int, typer.Option(help="Rebalance days to test.")] = 3,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Prove that no decision looks ahead, by cutting and by replacing the future; exit with 1 if one does.

    [bold]Example[/bold]

    geodual check-leakage nav.csv --metrics euclidean,rpdml
    """
    settings = read_config(config) if config else {}
    settings["metrics"] = split_names(metrics) if metrics else settings.get("metrics", NAMES)
    with progress_of("testing", quiet or as_json) as progress:
        checks = check_leakage(read_nav(nav), n_days=days, progress=progress, **settings)
    table = pd.DataFrame([asdict(check) | {"passed": check.passed} for check in checks])
    if as_json:
        print_json(plain_records(table))
    elif not quiet or not table["passed"].all():
        shown = table.assign(passed=table["passed"].map({True: "yes", False: "NO"}))
        print_table(shown, figures=["compared", "differing"])
        say("No decision looks ahead." if table["passed"].all() else "Some decisions look ahead.")
    raise typer.Exit(0 if table["passed"].all() else 1)


def run_factors(
    nav: Nav,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: .csv, .csv.gz or .parquet.")],
    daily: Annotated[bool, typer.Option("--daily", help="Every day, not quarter ends only.")] = False,
    quiet: Quiet = False,
) -> None:
    """Compute the 70 factors of every fund at quarter ends, or daily.

    [bold]Example[/bold]

    geodual factors nav.csv -o factors.parquet
    """
    suffix = "".join(out.suffixes[-2:]) if out.suffix == ".gz" else out.suffix
    if suffix not in (".csv", ".csv.gz", ".parquet"):
        raise DataError(f"{out}: cannot tell the kind of file. Name it .csv, .csv.gz or .parquet.")
    factors = compute_factors(read_nav(nav), dates="daily" if daily else None)
    if suffix == ".parquet":
        write_atomically(out, factors.to_parquet)
    else:
        write_atomically(out, lambda path: factors.to_csv(path, date_format="%Y-%m-%d", lineterminator="\n"))
    if not quiet:
        say(f"{len(factors):,} rows × {factors.shape[1]} factors: {out}")


def run_fetch(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder; an interrupted run goes on in it.")],
    start: Annotated[str, typer.Option(help="First day.")] = "2012-01-01",
    end: Annotated[str | None, typer.Option(help="Last day. (default: today)")] = None,
    minimum_size: Annotated[float, typer.Option(help="Smallest fund, in yuan.")] = 1e8,
    limit: Annotated[int | None, typer.Option(help="At most so many funds.")] = None,
    pause: Annotated[float, typer.Option(help="Seconds between two calls.")] = 0.5,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fetch real Chinese fund NAVs and the CSI 930950 index through akshare (extra `data`).

    [bold]Examples[/bold]

    geodual fetch --out cn-funds --limit 20

    geodual backtest cn-funds/nav.parquet --index cn-funds/index.csv
    """
    with progress_of("fetching", quiet or as_json) as progress:
        summary = fetch_universe(
            out, start=start, end=end, minimum_size=minimum_size, limit=limit, pause=pause, progress=progress
        )
    if as_json:
        print_json(asdict(summary) | {"folder": str(summary.folder)})
    elif not quiet:
        say(f"{summary.funds} funds, {summary.days} days: {out / 'nav.parquet'}")
        say(f"{summary.failed} funds failed, {summary.empty} are empty, {summary.small} are too small today.")
        say("Only the current size of a fund is known: choosing by it is hindsight.")
    raise typer.Exit(1 if summary.failed or summary.incomplete else 0)


COMMANDS = {
    "check": run_check,
    "check-leakage": run_check_leakage,
    "factors": run_factors,
    "fetch": run_fetch,
}
