"""Files that commands write besides their results: the option ``--excel``, and a guard for the input."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geodual.errors import DataError


def keep_input(nav: Path, *outputs: Path | None) -> None:
    """Raise if one of the files to write is the NAV table itself."""
    for path in outputs:
        if path is not None and path.exists() and nav.exists() and path.samefile(nav):
            raise DataError(f"{path}: this is the NAV table, which would be lost. Choose another name.")


def _check(path: Path | None) -> Path | None:
    """Raise at once if the file could not be written at the end."""
    if path is not None:
        # Imported here, because the help must not wait for pandas.
        from geodual.funds.study.workbook import check_excel

        check_excel(path)
    return path


Excel = Annotated[
    Path | None,
    typer.Option("--excel", callback=_check, help="Also write all tables to this Excel file (.xlsx)."),
]
