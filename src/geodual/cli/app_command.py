"""The command ``geodual app``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geodual.errors import DataError

from .console import say


def run_app(
    folder: Annotated[
        Path, typer.Option("--folder", help="Folder for the runs; each gets its own subfolder.")
    ] = Path("geodual-runs"),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine; 0 for any free one.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address without opening a browser.")
    ] = False,
) -> None:
    """Open the app in your browser: drop a table, run studies, compare them. Ctrl-C ends it.

    Only this machine can reach it. It needs the extra `app`.

    [bold]Examples[/bold]

    geodual app

    geodual app --folder my-runs --port 8080 --no-browser
    """
    from geodual.app import serve  # here, because the help must not wait for it

    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder}: this is a file, not a folder. Choose another one with --folder.")

    def tell(address: str) -> None:
        say(f"The app: {address}\nRuns go to {folder.absolute()}. Ctrl-C ends the app.")

    serve(folder, port, tell, open_browser=not no_browser)


COMMANDS = {"app": run_app}
