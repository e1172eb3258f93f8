"""The run folder: a study saved as files that any program can open."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pandas as pd

from geodual.atomic_file import write_atomically

from ..csv_cells import write_csv
from ..evaluation.study_tables import StudyTables
from ..panel import Finding
from ..report import write_report
from ..report.plots import draw_annual_returns, draw_performance, save_figure
from ..report.summary import summarise
from ..run import CONFIG, REPORT, SUMMARY
from .portfolios import BASELINE_TABLES

TABLES = (
    *("predictions", "ic", "ic_decay", "holdings", "equity", "cash", "trades", "fills"),
    *("universe", "neighbours", "reasons", "facts", "random_portfolios", "factor_ic"),
    *BASELINE_TABLES,
)

# Tables with an index: days, months or funds.
INDEXED = ("ic", "equity", "cash", "ic_decay", "factor_ic", "facts", "baseline_equity")


def save_study(study: StudyTables, folder: Path) -> Path:
    """Write a study into a folder. `summary.json` is written last: if it is there, the folder is complete.

    Parameters
    ----------
    study : StudyTables
        The study.
    folder : Path
        Created if needed.

    Returns
    -------
    Path
        The folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # Without it the folder counts as unfinished until all files are replaced.
    (folder / SUMMARY).unlink(missing_ok=True)
    _write_text(folder / CONFIG, study.config.to_toml())
    for name in TABLES:
        write_csv(folder / f"{name}.csv", getattr(study, name), keep_index=name in INDEXED)
    write_csv(folder / "table1.csv", study.table(), keep_index=True)
    write_csv(folder / "baselines.csv", study.baselines, keep_index=True)
    write_csv(folder / "skill_map.csv", study.skill_map, keep_index=True)
    write_csv(folder / "annual_returns.csv", study.annual_returns(), keep_index=True)
    write_csv(folder / "comparisons.csv", study.comparisons(), keep_index=True)
    write_csv(
        folder / "findings.csv",
        pd.DataFrame(study.findings, columns=[field.name for field in fields(Finding)]),
        keep_index=False,
    )
    figure1 = draw_performance(study.equity, study.index_name, study.config.test_start)
    save_figure(figure1, folder / "figure1")
    save_figure(draw_annual_returns(study.annual_returns(), study.index_name), folder / "figure2")
    write_report(study, folder / REPORT)
    _write_text(folder / SUMMARY, json.dumps(summarise(study), indent=2, ensure_ascii=False) + "\n")
    return folder


def _write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda place: place.write_text(text, encoding="utf-8"))
