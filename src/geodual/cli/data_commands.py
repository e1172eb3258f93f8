"""Commands for data: ``geodual check``, ``check-leakage``, ``factors`` and ``fetch``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from geodual import funds
from geodual.atomic_file import write_atomically

from . import options
from .console import print_json, print_table, progress_of, say


def run_check(
    nav: options.Nav,
    index: options.Index = None,
    index_column: options.IndexColumn = None,
    every: Annotated[
        bool, typer.Option("--all", help="List all findings, including those that cannot change a result.")
    ] = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Check the quality of a NAV table, and of an index. Exit code 1 if a finding can change a result.

    [bold]Examples[/bold]

    geodual check nav.csv

    geodual check nav.csv --index index.csv
    """
    panel = funds.read_nav(nav)
    findings = panel.findings
    if index is not None:
        levels = options.read_index_option(index, index_column)
        single = levels.values() if isinstance(levels, dict) else [levels]
        findings += tuple(found for each in single for found in funds.inspect_index(each, panel.nav))
    serious = sum(finding.matters for finding in findings)
    if as_json:
        rows = list(map(asdict, findings))
        print_json({"funds": panel.nav.shape[1], "days": len(panel.nav), "findings": rows})
    else:
        shown = [f for f in findings if every or f.matters or f.kind == "survivorship"]
        # What matters comes first, and what concerns the whole table before single funds.
        shown.sort(key=lambda f: (not f.matters, f.fund != "", f.kind, f.fund))
        if shown:
            marked = [asdict(f) | {"matters": "yes" if f.matters else ""} for f in shown]
            print_table(marked, numeric=["count"])
        if not quiet:
            first, last = (str(day.date()) for day in panel.nav.index[[0, -1]])
            say(f"{panel.nav.shape[1]} funds, {len(panel.nav)} days from {first} to {last}.")
            say(f"Findings that can change a result: {serious}.")
            say(f"Findings for information: {len(findings) - serious} (--all lists them).")
    raise typer.Exit(1 if serious else 0)


@options.takes_settings(
    *("metrics", "forecasters", "factors", "types", "include", "exclude", "share_classes", "k", "label"),
    *("relative_to", "neighbors", "train_quarters", "frequency", "start", "end", "random_state"),
)
def run_check_leakage(
    nav: options.Nav,
    settings: dict[str, Any],
    index: options.Index = None,
    index_column: options.IndexColumn = None,
    facts: options.Facts = None,
    config: options.ConfigFile = None,
    days: Annotated[
        int | None,
        typer.Option(help="Number of decision days to test, spread evenly. (default: all)"),
    ] = None,
    jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Test whether decisions look ahead, by removing and replacing later data. Exit code 1 if one does.

    All decision days are tested unless --days says fewer. Forecasts without later data are made first, in
    processes that have never seen these data. What your own factors or forecasters read from a source other
    than the table, such as a file, cannot be tested.

    [bold]Examples[/bold]

    geodual check-leakage nav.csv --metrics euclidean,rpdml

    geodual check-leakage nav.csv --factors mymodule:factor
    """
    given = options.read_given(index, index_column, facts)
    with progress_of("testing", quiet or as_json) as progress:
        checks = funds.check_leakage(
            funds.read_nav(nav), n_days=days, n_jobs=jobs, progress=progress, **given, **settings
        )
    if as_json:
        print_json([asdict(check) | {"passed": check.passed} for check in checks])
    elif not quiet or not checks.passed:
        failed = [asdict(check) for check in checks if not check.passed]
        if failed:
            print_table(failed, numeric=["compared", "differing"])
        say(checks.summary)
    raise typer.Exit(0 if checks.passed else 1)


@options.takes_settings("factors")
def run_factors(
    nav: options.Nav,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", callback=options.check_file, help="File to write: .csv, .csv.gz or .parquet."
        ),
    ],
    settings: dict[str, Any],
    daily: Annotated[bool, typer.Option("--daily", help="Compute the factors for every day.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Compute the factors of all funds at quarter ends, or daily.

    [bold]Example[/bold]

    geodual factors nav.csv -o factors.parquet
    """
    suffix = "".join(out.suffixes[-2:]) if out.suffix == ".gz" else out.suffix
    if suffix not in (".csv", ".csv.gz", ".parquet"):
        raise funds.DataError(f"{out}: unknown file type. Name the file .csv, .csv.gz or .parquet.")
    options.keep_inputs([nav], [out])
    factors = funds.compute_factors(funds.read_nav(nav), dates="daily" if daily else None, **settings)
    if suffix == ".parquet":
        write_atomically(out, factors.to_parquet)
    else:
        from geodual.funds.csv_cells import write_csv  # here, because the help must not wait for pandas

        write_csv(out, factors, keep_index=True)
    if not quiet:
        say(f"{len(factors):,} rows × {factors.shape[1]} factors: {out}")


def run_fetch(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the data; an interrupted run resumes there.")
    ],
    source: Annotated[
        str, typer.Option(help="akshare (install the extra `data`), or your own: package.module:Class.")
    ] = "akshare",
    start: Annotated[str, typer.Option(help="First day.")] = "2012-01-01",
    end: Annotated[str | None, typer.Option(help="Last day. (default: today)")] = None,
    minimum_size: Annotated[float, typer.Option(help="Smallest size of a fund, in yuan.")] = 1e8,
    limit: Annotated[int | None, typer.Option(help="Largest number of funds.")] = None,
    pause: Annotated[float, typer.Option(help="Seconds between two requests.")] = 0.5,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Download fund NAVs and an index: with akshare, those of Chinese funds and the CSI 930950 index.

    [bold]Examples[/bold]

    geodual fetch --out cn-funds --limit 20

    geodual backtest cn-funds/nav.parquet --index cn-funds/index.csv --meta cn-funds/meta.csv
    """
    options.find_own_modules([source])
    chosen: dict[str, Any] = {"source": source, "minimum_size": minimum_size, "limit": limit}
    with progress_of("fetching", quiet or as_json) as progress:
        summary = funds.fetch_universe(out, start=start, end=end, pause=pause, progress=progress, **chosen)
    if as_json:
        print_json(asdict(summary) | {"folder": str(summary.folder)})
    elif not quiet:
        say(f"{summary.funds} funds, {summary.days} days: {out / 'nav.parquet'}")
        say(
            f"Left out: {summary.failed} funds that failed, {summary.empty} without NAVs, {summary.small} "
            "that are too small today."
        )
        say("Note: Only the current size of a fund is known, so choosing by size uses hindsight.")
    raise typer.Exit(1 if summary.failed or summary.incomplete else 0)


COMMANDS = {
    "check": run_check,
    "check-leakage": run_check_leakage,
    "factors": run_factors,
    "fetch": run_fetch,
}
