"""The work of jobs, done in a child process by the functions of `geodual.funds`.

Arguments and results are ready for JSON. A file is a pair: its path, and the name that its owner gave it.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from geodual import funds
from geodual.atomic_file import write_atomically
from geodual.errors import DataError
from geodual.funds.config import read_config
from geodual.funds.csv_cells import write_csv
from geodual.funds.report.wording import (
    MISSING,
    PERIOD_TITLES,
    count_things,
    format_number,
    format_percent,
    format_two,
    name_curve,
)
from geodual.funds.run import CHECKPOINTS, CONFIG, ProgressCallback
from geodual.funds.sources.reading.table_file import open_source
from geodual.funds.study.folder_lock import hold_folder

from .runs import PICKS
from .suggestions import suggest

File = tuple[str, str]
Result = dict[str, Any]

_SHOWN = 200  # findings shown; those that matter come first
_PREVIEW = 4  # funds and days of the preview
_SPACINGS = ((1.5, "daily"), (10.0, "weekly"), (45.0, "monthly"))  # days between two rows, at most

_Read = TypeVar("_Read")


def look(progress: ProgressCallback, table: File) -> Result:
    """Read a table, and return what was understood and found.

    Parameters
    ----------
    progress : callable
        Called with the number of steps done, their total, and the name of the last one.
    table : file
        NAVs, in any form that `read_nav` reads.
    """
    progress(0, 0, "reading the table")
    names = set(_open(open_source, table).names)
    panel = _open(funds.read_nav, table)
    nav = panel.nav
    findings = sorted(panel.findings, key=lambda found: (not found.matters, found.fund != "", found.kind))
    shown = [[f.kind, f.fund, f.date, f.message, f.matters] for f in findings[:_SHOWN]]
    return {
        "layout": _layout(names, panel),
        "spacing": _spacing(pd.DatetimeIndex(nav.index)),
        "days": [len(nav), *(str(day.date()) for day in nav.index[[0, -1]])],
        "codes": list(nav.columns),
        "missing": format_percent(float(nav.isna().to_numpy().mean())),
        "preview": _preview(nav),
        "findings": shown,
        "hidden": len(findings) - len(shown),
        "serious": sum(finding.matters for finding in findings),
        "suggestions": suggest(nav),
        "digest": panel.digest,
    }


def _open(read: Callable[[str], _Read], file: File) -> _Read:
    """Read a file; error messages call it as its owner does."""
    path, name = file
    try:
        return read(path)
    except DataError as error:
        raise DataError(str(error).replace(path, name)) from error


def _layout(names: set[str], panel: funds.Panel) -> str:
    if any(finding.kind == "transposed" for finding in panel.findings):
        return "wide, turned: one row per fund, one column per day"
    if panel.nav.columns[0] in names:
        return "wide: one row per day, one column per fund"
    return "long: one row per fund and day"


def _spacing(days: pd.DatetimeIndex) -> str:
    typical = days.to_series().diff().median() / pd.Timedelta(days=1)
    return next((name for most, name in _SPACINGS if typical <= most), "less than monthly")


def _preview(nav: pd.DataFrame) -> Result:
    """Return the first and the last days of the first funds, as texts."""
    few = nav.iloc[:, :_PREVIEW]
    rows = few if len(few) <= _PREVIEW else pd.concat([few.head(_PREVIEW // 2), few.tail(_PREVIEW // 2)])
    cells = [[format_number(value, 4) for value in row] for row in rows.to_numpy()]
    return {"funds": list(few.columns), "days": [f"{day:%Y-%m-%d}" for day in rows.index], "cells": cells}


def look_at_index(progress: ProgressCallback, index: File, column: str) -> Result:
    """Read an index, and return in one sentence what was understood.

    Parameters
    ----------
    progress : callable
        As in `look`.
    index : file
        Index levels.
    column : str
        Its column; "" for the only one.
    """
    levels = _open(lambda path: funds.read_index(path, column or None), index)
    first, last = (f"{day:%Y-%m-%d}" for day in levels.index[[0, -1]])
    return {"told": f"{levels.name}: {len(levels):,} levels from {first} to {last}."}


def look_at_facts(progress: ProgressCallback, facts: File, codes: list[str]) -> Result:
    """Read facts about funds, and return in one sentence what was understood.

    Parameters
    ----------
    progress : callable
        As in `look`.
    facts : file
        Facts about funds.
    codes : list of str
        The funds of the table.
    """
    known = _open(funds.read_facts, facts).table
    ours = known.loc[known.index.isin(codes)]
    if ours.empty:
        counted = count_things(len(known), "{n} fund", "{n} funds")
        raise DataError(
            f"{facts[1]}: it has {counted}, and none is in the table. Give "
            f"facts with the codes of the table, such as {codes[0]}."
        )
    columns = [name.replace("_", " ") for name in ours.columns if ours[name].notna().any()]
    types = ours["type"].dropna().unique().tolist()
    listed = f" Types: {', '.join(sorted(types)[:20])}." if types else ""
    told = f"Facts about {len(ours):,} of {len(codes):,} funds: {', '.join(columns) or 'codes only'}."
    return {"told": told + listed}


def _given(index: File | None, column: str, facts: File | None) -> Result:
    """Return the index and the facts about funds as arguments of `backtest` and `select`."""
    return {
        "index": None if index is None else _open(lambda path: funds.read_index(path, column or None), index),
        "facts": None if facts is None else _open(funds.read_facts, facts),
    }


def _panel(table: File) -> funds.Panel:
    return replace(_open(funds.read_nav, table), source=table[1])


def study(
    progress: ProgressCallback,
    folder: str,
    table: File,
    index: File | None,
    column: str,
    facts: File | None,
    settings: dict[str, Any],
    jobs: int,
) -> Result:
    """Run a study, save it to a folder, and return what its page shows.

    Parameters
    ----------
    progress : callable
        As in `look`.
    folder : str
        The run folder. What an earlier run with the same settings has decided is not decided again.
    table, index, facts : file
        NAVs, and perhaps index levels and facts.
    column : str
        Column of the index.
    settings : dict
        Settings of `StudyConfig` that are not at their defaults.
    jobs : int
        Number of worker processes.
    """
    out = Path(folder)
    with hold_folder(out):
        progress(0, 0, "reading the table")
        finished = funds.backtest(
            _panel(table),
            n_jobs=jobs,
            checkpoint_folder=out / CHECKPOINTS,
            progress=progress,
            **_given(index, column, facts),
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
    return [
        [name_curve(finished.index_name, name), *(show(row[column]) for column, show in _COLUMNS.values())]
        for name, row in table.iterrows()
    ]


def pick(
    progress: ProgressCallback,
    folder: str,
    table: File,
    index: File | None,
    column: str,
    facts: File | None,
    jobs: int,
) -> Result:
    """Choose the funds to hold next with the settings of a run; write page, CSV and workbook to its folder.

    Parameters
    ----------
    progress : callable
        As in `look`.
    folder : str
        The run folder.
    table, index, facts : file
        NAVs, and perhaps index levels and facts.
    column : str
        Column of the index.
    jobs : int
        Number of worker processes.
    """
    out = Path(folder)
    settings = read_config(out / CONFIG)
    # The study compares metrics and forecasters; one of them is chosen. It picks on the last row.
    tables, metrics = settings.pop("forecasters", ()), settings.pop("metrics", ())
    known = tables if isinstance(tables, dict) else {}
    settings["forecasters"] = {name: known.get(name, {}) for name in (*metrics, *tables)}
    settings = {name: value for name, value in settings.items() if name not in ("baselines", "end")}
    panel, given = _panel(table), _given(index, column, facts)
    chosen = funds.select(panel, n_jobs=jobs, progress=progress, **given, **settings)
    with hold_folder(out):
        chosen.report(out / f"{PICKS}.html")
        chosen.to_excel(out / f"{PICKS}.xlsx")
        write_csv(out / f"{PICKS}.csv", chosen.picks, keep_index=False)
        shown = json.dumps(_shown_picks(chosen), ensure_ascii=False, allow_nan=False)
        write_atomically(out / f"{PICKS}.json", lambda path: path.write_text(shown, encoding="utf-8"))
    return {}


def _shown_picks(chosen: funds.Selection) -> Result:
    show = format_number if chosen.unit == "rank" else format_percent
    rows = [
        [
            str(pick["rank"]),
            pick["fund"],
            pick["name"],
            format_percent(pick["weight"]),
            show(pick["forecast"]),
            _between(pick["past_low"], pick["past_high"]),
            pick["finding"],
        ]
        for pick in chosen.picks.to_dict("records")
    ]
    return {
        "as_of": str(chosen.as_of.date()),
        "forecaster": name_curve("", chosen.forecaster),
        "record": chosen.record_text,
        "notes": list(chosen.notes),
        "rows": rows,
    }


def _between(low: float, high: float) -> str:
    return MISSING if pd.isna(low) else f"{format_percent(low)} to {format_percent(high)}"


def workbook(progress: ProgressCallback, folder: str, target: str) -> Result:
    """Write the tables of a run as an Excel workbook."""
    progress(0, 0, "writing the workbook")
    funds.read_study(folder).to_excel(target)
    return {}


def tables(progress: ProgressCallback, folder: str, target: str) -> Result:
    """Write the CSV tables and the settings of a run as one zip file."""
    progress(0, 0, "packing the tables")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted([*Path(folder).glob("*.csv"), Path(folder) / CONFIG]):
            packed.write(path, path.name)
    return {}
