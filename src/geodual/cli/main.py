"""The program: its commands, and how it ends.

What a command works with is imported when it runs, so that the help is there at once: `geodual.funds` and
`geodual.metric` import their names on first use.
"""

from __future__ import annotations

from typing import Annotated

import typer

import geodual
from geodual.errors import DataError

from . import data_commands, learn_command, select_command, study_commands
from .console import complain

app = typer.Typer(
    name="geodual",
    help="Fund selection and metric learning: from a table of net asset values to a study one can send.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for module in (study_commands, select_command, data_commands, learn_command):
    for name, command in module.COMMANDS.items():
        app.command(name)(command)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"geodual {geodual.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; end with 0 (done), 1 (a finding) or 2 (bad input, told in one line)."""
    try:
        app()
    except DataError as error:
        complain(str(error))
    except OSError as error:
        complain(f"{error.filename or 'file'}: {error.strerror or error}. Check the path and permissions.")
