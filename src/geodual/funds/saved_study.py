"""A study read back from its run folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from .config import StudyConfig, read_config
from .panel import DataError, Finding
from .run_folder import INDEXED, TABLES
from .study import Study

_DAYS = ("date", "decided", "executed")
_TEXTS = ("fund", "metric", "neighbour", "factor", "view", "label")


def read_study(folder: str | Path) -> Study:
    """Read a study that `Study.save` wrote.

    Parameters
    ----------
    folder : path
        The run folder.

    Returns
    -------
    Study
    """
    folder = Path(folder)
    try:
        summary: dict[str, Any] = json.loads((folder / "summary.json").read_text("utf-8"))
        tables = {name: _read_csv(folder / f"{name}.csv", name) for name in TABLES}
        findings = _read_findings(folder / "findings.csv")
    except FileNotFoundError as error:
        raise DataError(
            f"{folder}: no finished run, {Path(error.filename).name} is missing. Give the folder that "
            "`geodual backtest --out` wrote."
        ) from None
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{folder}: the run cannot be read ({error}). Run the study again.") from None
    return Study(
        config=StudyConfig(**read_config(folder / "config.toml")),
        source=summary["source"],
        digest=summary["sha256"],
        findings=findings,
        index_name=summary["index"],
        **tables,  # type: ignore[arg-type]
        chosen=summary["chosen"],
        remarks=tuple(summary["remarks"]),
        seconds=summary["seconds"],
    )


def _read_csv(path: Path, name: str) -> pd.DataFrame:
    types = dict.fromkeys(_TEXTS, str)
    table = pd.read_csv(
        path, dtype=types, keep_default_na=False, na_values=[""], float_precision="round_trip"
    )
    for column in table.columns.intersection(list(_DAYS)):
        table[column] = pd.to_datetime(table[column])
    if name in INDEXED:
        table = table.set_index("date").rename_axis(columns="metric")
    return table


def _read_findings(path: Path) -> tuple[Finding, ...]:
    table = pd.read_csv(path, dtype={"fund": str, "date": str, "message": str}, keep_default_na=False)
    return tuple(Finding(*row) for row in table.itertuples(index=False, name=None))
