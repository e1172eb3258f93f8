"""What the commands print: tables, progress and errors, for a person or a program."""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, NoReturn

import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from geodual.funds.decisions.walk_forward import Progress as Report

Nav = Annotated[
    Path, typer.Argument(metavar="NAV", help="NAV table: CSV (wide or long; gzip too) or Parquet.")
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="TOML file with settings of the study; options override it.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Worker processes; -1 for one a core.")]


_WIDE = 200  # columns of a page that is not a terminal


def complain(message: str, code: int = 2) -> NoReturn:
    """Print one line on the error stream and end the program."""
    print("geodual: " + " ".join(message.split()), file=sys.stderr)  # noqa: T201
    sys.exit(code)


def say(text: str) -> None:
    """Print a line for a person."""
    typer.echo(text)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_table(table: pd.DataFrame, title: str = "", figures: Container[str] = ()) -> None:
    """Print a table of text: columns of `figures` to the right, the others to the left."""
    shown = Table(title=escape(title) or None, title_justify="left", box=None, pad_edge=False)
    for name in map(str, table.columns):
        shown.add_column(
            escape(name), justify="right" if name in figures else "left", no_wrap=name in figures
        )
    for row in table.astype(str).itertuples(index=False):
        shown.add_row(*(escape(cell) for cell in row))
    Console(width=page_width()).print(shown)


def page_width() -> int:
    """Return the width of the terminal, or that of a wide page where there is none."""
    return Console().width if sys.stdout.isatty() else _WIDE


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a list separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


@contextmanager
def progress_of(what: str, quiet: bool) -> Iterator[Report]:
    """Show progress on the error stream: a bar on a terminal, a line for every tenth otherwise."""
    with _bar(what) if sys.stderr.isatty() and not quiet else nullcontext() as bar:
        try:
            yield bar or ((lambda done, total, last: None) if quiet else _Lines(what).report)
        except KeyboardInterrupt:
            complain("Interrupted. Give the same command again to go on from what is finished.", code=130)


@contextmanager
def _bar(what: str) -> Iterator[Report]:
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, TextColumn("{task.fields[last]}"), console=Console(stderr=True)) as bar:
        task = bar.add_task(what, last="", total=None)
        yield lambda done, total, last: bar.update(task, completed=done, total=total, last=escape(last))


class _Lines:
    """Progress in lines, for logs."""

    def __init__(self, what: str) -> None:
        self._what, self._tenths = what, -1

    def report(self, done: int, total: int, last: str) -> None:
        tenths = 10 * done // max(total, 1)
        if tenths > self._tenths:
            self._tenths = tenths
            print(f"{self._what}: {done}/{total} ({last})", file=sys.stderr, flush=True)  # noqa: T201


def plain_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows ready for JSON: days as ISO text, null for what is missing."""
    text: list[dict[str, Any]] = json.loads(table.to_json(orient="records", date_format="iso", date_unit="s"))
    for row in text:
        for key, value in row.items():
            if isinstance(value, str) and value.endswith("T00:00:00"):
                row[key] = value[:10]
    return text
