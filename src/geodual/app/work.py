"""The work of jobs besides looking at files and choosing funds, done in a child process by `geodual.funds`.

Arguments and results are ready for JSON. All functions take `progress` first, which is called with the
number of steps done, their total, and the name of the last one.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from geodual import funds
from geodual.funds.forecasters.registry import UNIVERSE
from geodual.funds.report.wording import (
    PERIOD_TITLES,
    format_number,
    format_percent,
    format_two,
    name_curve,
)
from geodual.funds.run import CHECKPOINTS, SHEETS, ProgressCallback
from geodual.funds.study.folder_lock import hold_folder

from .inputs import Inputs, Result


def study(
    progress: ProgressCallback, folder: str, inputs: Result, settings: dict[str, Any], jobs: int
) -> Result:
    """Run a study, save it to a folder, and return what its page shows.

    Parameters
    ----------
    progress : callable
        Called after each step.
    folder : str
        The run folder. What an earlier run with the same settings has decided is not decided again.
    inputs : dict
        The attributes of `Inputs`.
    settings : dict
        Settings of `StudyConfig` that are not at their defaults.
    jobs : int
        Number of worker processes.
    """
    out, ours = Path(folder), Inputs(**inputs)
    with hold_folder(out):
        progress(0, 0, "reading the table")
        finished = funds.backtest(
            ours.panel(),
            n_jobs=jobs,
            checkpoint_folder=out / CHECKPOINTS,
            progress=progress,
            **ours.given(),
            **settings,
        )
        progress(0, 0, "writing tables and report")
        finished.save(out)
    return _view(finished)


def view(progress: ProgressCallback, folder: str) -> Result:
    """Read a run folder, which checks it, and return what its page shows."""
    progress(0, 0, "reading and checking the run")
    return _view(funds.read_study(folder))


_COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "IC": ("ic_mean", format_number),
    "95 % from": ("low", format_number),
    "to": ("high", format_number),
    "Return": ("annual_return", format_percent),
    "Volatility": ("volatility", format_percent),
    "Sharpe": ("sharpe", format_two),
    "Drawdown": ("max_drawdown", format_percent),
    "Turnover": ("turnover", format_percent),
}


def _view(finished: funds.Study) -> Result:
    periods = finished.known_periods or ("both",)
    shown = [period for period in ("test", "validation", "both") if period in periods]
    return {
        "headline": finished.headline,
        "notes": list(finished.notes),
        "source": finished.source,
        "index": finished.index_name,
        "days": [f"{day:%Y-%m-%d}" for day in finished.equity.index[[0, -1]]],
        "columns": list(_COLUMNS),
        "tables": {PERIOD_TITLES[each]: _rows(finished, each) for each in shown},
    }


def _rows(finished: funds.Study, period: str) -> list[list[str]]:
    table = finished.table().loc[[period]].droplevel(0)
    if len(finished.baselines):  # the main result may be about one of them
        others = finished.baselines.loc[[period]].droplevel(0)
        if not finished.index_digest:  # the universe is the index
            others = others.drop(index=UNIVERSE, errors="ignore")
        table = pd.concat([table.drop(index="index"), others, table.loc[["index"]]])
    return [
        [name_curve(finished.index_name, name), *(show(row[column]) for column, show in _COLUMNS.values())]
        for name, row in table.iterrows()
    ]


def sheet(progress: ProgressCallback, inputs: Result, fund: str, target: str) -> Result:
    """Write the fact sheet of a fund, and return its title and its notes.

    Parameters
    ----------
    progress : callable
        Called after each step.
    inputs : dict
        The attributes of `Inputs`.
    fund : str
        Code or name.
    target : str
        The page to write.
    """
    progress(0, 0, "reading the table")
    ours = Inputs(**inputs)
    panel, given = ours.panel(), ours.given()
    progress(0, 0, "making the fact sheet")
    made = funds.fund_sheet(panel, fund, **given)
    made.to_html(target)
    return {"title": made.title, "file": f"fund-{made.code}.html"}


def workbook(progress: ProgressCallback, folder: str, target: str) -> Result:
    """Write the tables of a run as an Excel workbook."""
    progress(0, 0, "writing the workbook")
    funds.read_study(folder).to_excel(target)
    return {}


def archive(progress: ProgressCallback, folder: str, target: str) -> Result:
    """Write all files of a run as one zip file: pages, fact sheets, tables, figures and settings."""
    progress(0, 0, "packing the files")
    place = Path(folder)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted([*place.glob("*.*"), *place.glob(f"{SHEETS}/*.html")]):
            if path.is_file() and not path.name.startswith("."):
                packed.write(path, path.relative_to(place))
    return {}
