"""The program ``geodual``: its commands, and its exit codes.

To show the help at once, heavy packages are imported only when a command runs: `geodual.funds` and
`geodual.metric` import their names on first use.
"""

from __future__ import annotations

import errno
import os
from typing import Annotated

import typer

import geodual
from geodual.errors import DataError, LostWorkersError

from . import (
    app_command,
    data_commands,
    fund_command,
    holdings_command,
    learn_command,
    predict_command,
    study_commands,
    sweep_command,
)
from .console import complain, prepare_streams

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # errors of a disk that has no more room for a file

app = typer.Typer(
    name="geodual",
    help="Fund selection and metric learning: from a table of net asset values (NAVs) to a report to share.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
_MODULES = (
    study_commands,
    sweep_command,
    app_command,
    fund_command,
    holdings_command,
    data_commands,
    learn_command,
    predict_command,
)
for module in _MODULES:
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
    """Run the command.

    Exit codes: 0 done, 1 done with a finding, 2 bad input or lost workers, explained in one line, 130
    interrupted.
    """
    prepare_streams()
    os.environ["MPLBACKEND"] = "agg"  # figures go to files, whatever the user draws with elsewhere
    try:
        app()
    except (DataError, LostWorkersError) as error:
        complain(str(error))
    except OSError as error:
        remedy = "Make room, and run again" if error.errno in _FULL else "Check the path and permissions"
        complain(f"{error.filename or 'file'}: {error.strerror or error}. {remedy}.")
