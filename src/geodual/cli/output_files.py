"""Files that commands write: checks before the work begins, and the option ``--excel``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from geodual.errors import DataError


def keep_inputs(inputs: Iterable[Path | None], outputs: Iterable[Path | None]) -> None:
    """Raise if one of the files to write is one of those to read."""
    read = [path for path in inputs if path is not None and path.exists()]
    for path in outputs:
        if path is not None and path.exists() and any(map(path.samefile, read)):
            raise DataError(f"{path}: this file is read, and would be lost. Write to another one.")


def check_file(path: Path | None) -> Path | None:
    """Raise at once if a file could not be written at the end; for options of typer, as `callback`."""
    if path is not None:
        if path.is_dir():
            raise DataError(f"{path}: this is a folder. Give the name of a file.")
        if not path.parent.is_dir():
            raise DataError(f"{path}: there is no folder {path.parent}. Create it, or write elsewhere.")
        if not os.access(path.parent, os.W_OK):
            raise DataError(f"{path}: no permission to write there. Choose another folder.")
    return path


def _check_excel(path: Path | None) -> Path | None:
    """Raise at once if the Excel file could not be written at the end."""
    if path is not None:
        # Imported here, because the help must not wait for pandas.
        from geodual.funds.study.workbook import check_excel

        check_excel(path)
    return path


Excel = Annotated[
    Path | None,
    typer.Option("--excel", callback=_check_excel, help="Also write all tables to this Excel file (.xlsx)."),
]
