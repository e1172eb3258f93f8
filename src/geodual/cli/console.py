"""Output of the commands: tables, progress, errors and JSON."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from geodual.funds.run import ProgressCallback, ignore_progress

if TYPE_CHECKING:
    import pandas as pd

_NO_READER = (errno.EPIPE, errno.EINVAL)  # errors of a pipe without a reader; the second is that of Windows
_WIDE = 200  # columns if the output is not a terminal


def prepare_streams() -> None:
    """Let no print fail: replace characters that a stream cannot encode, and ignore a closed stream."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # The first free descriptor is the closed one, so that no other file becomes standard output.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the end
        elif isinstance(stream, io.TextIOWrapper):  # the streams of notebooks take any character
            stream.reconfigure(errors="replace")


def complain(message: str, code: int = 2) -> NoReturn:
    """Print an error as one line on the error stream, and exit."""
    print("geodual: " + " ".join(message.split()), file=sys.stderr)  # noqa: T201
    sys.exit(code)


def say(text: str) -> None:
    """Print a line of text; go on in silence if the reader of a pipe has gone."""
    try:
        typer.echo(text)
    except OSError as error:
        if error.errno not in _NO_READER:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: Any) -> None:
    """Print a value as JSON, without loss in any encoding."""
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    say(json.dumps(value, indent=2, ensure_ascii=not unicode, allow_nan=False))


def print_table(rows: Sequence[Mapping[str, object]], title: str = "", numeric: Container[str] = ()) -> None:
    """Print rows as a table; numeric columns are aligned to the right and never wrapped."""
    shown = Table(title=escape(title) or None, title_justify="left", box=None, pad_edge=False)
    for name in rows[0] if rows else ():
        shown.add_column(
            escape(name), justify="right" if name in numeric else "left", no_wrap=name in numeric
        )
    for row in rows:
        shown.add_row(*(escape(str(cell)) for cell in row.values()))
    console = Console(width=page_width())
    with console.capture() as captured:
        console.print(shown)
    say(captured.get().removesuffix("\n"))


def page_width() -> int:
    """Return the width of the terminal, or a large one if the output is not a terminal."""
    return Console().width if sys.stdout.isatty() else _WIDE


@contextmanager
def progress_of(what: str, quiet: bool) -> Iterator[ProgressCallback]:
    """Show progress on the error stream: a bar on a terminal, otherwise a line per tenth of the work."""
    with _bar(what) if sys.stderr.isatty() and not quiet else nullcontext() as bar:
        try:
            yield bar or (ignore_progress if quiet else _lines(what))
        except KeyboardInterrupt:
            complain("Interrupted. Run the same command again; saved work is not repeated.", code=130)


@contextmanager
def _bar(what: str) -> Iterator[ProgressCallback]:
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, TextColumn("{task.fields[last]}"), console=Console(stderr=True)) as bar:
        task = bar.add_task(what, last="", total=None)
        yield lambda done, total, last: bar.update(task, completed=done, total=total, last=escape(last))


def _lines(what: str) -> ProgressCallback:
    """Return what shows progress as lines of text, for logs."""
    shown = -1

    def report(done: int, total: int, last: str) -> None:
        nonlocal shown
        if (tenths := 10 * done // max(total, 1)) > shown:
            shown = tenths
            print(f"{what}: {done}/{total} ({last})", file=sys.stderr, flush=True)  # noqa: T201

    return report


def plain_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table ready for JSON: days as ISO text, null for missing values."""
    text: list[dict[str, Any]] = json.loads(table.to_json(orient="records", date_format="iso", date_unit="s"))
    # A day without a time of day is written as the day only.
    for row in text:
        for key, value in row.items():
            if isinstance(value, str) and value.endswith("T00:00:00"):
                row[key] = value[:10]
    return text


def format_number(value: float) -> str:
    """Return a number with two decimals; an empty text if it is unknown."""
    return "" if _is_missing(value) else f"{value:.2f}"


def format_percent(value: float) -> str:
    """Return a share in per cent with one decimal; an empty text if it is unknown."""
    return "" if _is_missing(value) else f"{round(100.0 * value, 1) + 0.0:.1f} %"  # + 0.0: no minus zero


def format_signed(value: float) -> str:
    """Return a number with its sign and three decimals; an empty text if it is unknown."""
    return "" if _is_missing(value) else f"{value:+.3f}"


def _is_missing(value: float) -> bool:
    return bool(value != value)  # NaN, without importing numpy
