"""The run folder: a study saved as files that any program can open."""

from __future__ import annotations

import json
from pathlib import Path

from geodual.atomic_file import write_atomically

from ..csv_cells import write_csv
from ..evaluation.study_tables import StudyTables
from ..report import write_report
from ..report.plots import draw_annual_returns, draw_performance, save_figure
from ..report.summary import summarise
from ..run_layout import CONFIG, REPORT, SUMMARY


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
    for table in study.tables():
        if table.saved:
            write_csv(folder / f"{table.file}.csv", table.of(study), keep_index=table.indexed)
    figure1 = draw_performance(study.equity, study.index_name, study.config.test_start)
    save_figure(figure1, folder / "figure1")
    save_figure(draw_annual_returns(study.annual_returns(), study.index_name), folder / "figure2")
    write_report(study, folder / REPORT)
    _write_text(folder / SUMMARY, json.dumps(summarise(study), indent=2, ensure_ascii=False) + "\n")
    return folder


def _write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda place: place.write_text(text, encoding="utf-8"))
