"""The run folder: a study on disk, in files that any program can open."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from .atomic_file import write_atomically
from .figures import save_figure
from .panel import Finding
from .report import write_report
from .summary import summarise

if TYPE_CHECKING:
    from .study import Study

TABLES = ("predictions", "ic", "holdings", "equity", "trades", "universe", "neighbours", "reasons")
INDEXED = ("ic", "equity")  # tables with the day as index


def save_study(study: Study, folder: Path) -> Path:
    """Write a study into a folder; `summary.json` comes last, so that its presence means all is there.

    Parameters
    ----------
    study : Study
        What to write.
    folder : Path
        Made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.json").unlink(missing_ok=True)
    _write_text(folder / "config.toml", study.config.to_toml())
    for name in TABLES:
        _write_csv(folder / f"{name}.csv", getattr(study, name), keep_index=name in INDEXED)
    _write_csv(folder / "table1.csv", study.table(), keep_index=True)
    _write_csv(folder / "annual_returns.csv", study.annual_returns(), keep_index=True)
    _write_csv(folder / "comparisons.csv", study.comparisons(), keep_index=True)
    _write_csv(
        folder / "findings.csv",
        pd.DataFrame(study.findings, columns=[field.name for field in fields(Finding)]),
        keep_index=False,
    )
    save_figure(study.plot_performance(), folder / "figure1")
    save_figure(study.plot_annual_returns(), folder / "figure2")
    write_report(study, folder / "report.html")
    _write_text(folder / "summary.json", json.dumps(summarise(study), indent=2, ensure_ascii=False) + "\n")
    return folder


def _write_csv(path: Path, table: pd.DataFrame, *, keep_index: bool) -> None:
    write_atomically(
        path, lambda place: table.to_csv(place, index=keep_index, date_format="%Y-%m-%d", lineterminator="\n")
    )


def _write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda place: place.write_text(text, encoding="utf-8"))
