"""Excel workbooks of a study and of a selection: a summary first, then one sheet per table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from geodual.atomic_file import write_atomically

from ..evaluation.selection_tables import SelectionTables
from ..evaluation.study_tables import StudyTables
from ..evaluation.table_registry import RANKED, SHARES, Table
from ..report.headline import write_headline
from ..report.summary import versions
from .excel_sheet import add_list, add_table, load_openpyxl

SELECTION_TABLES = (
    Table("Picks", "the funds to hold, best first", name="picks"),
    Table("Neighbours", "the neighbours behind each pick", name="neighbours"),
    Table("Reasons", "the factors behind each pick", name="reasons"),
    Table("Left out", "funds that could not be chosen, and why", name="left_out"),
)


def check_excel(path: str | Path) -> None:
    """Raise if a workbook cannot be written, before hours of work: wrong ending, or openpyxl missing."""
    load_openpyxl(Path(path))


def write_study_workbook(study: StudyTables, path: str | Path) -> Path:
    """Write all tables of a study into one workbook, completely or not at all.

    Parameters
    ----------
    study : StudyTables
        A finished study.
    path : path
        The .xlsx file to create or replace.

    Returns
    -------
    Path
        The file.
    """
    return _write(study, study.tables(), _summarise_study(study), Path(path))


def write_selection_workbook(selection: SelectionTables, path: str | Path) -> Path:
    """Write the tables of a selection into one workbook, completely or not at all.

    Parameters
    ----------
    selection : SelectionTables
        The result of `select`.
    path : path
        The .xlsx file to create or replace.

    Returns
    -------
    Path
        The file.
    """
    return _write(selection, SELECTION_TABLES, _summarise_selection(selection), Path(path))


def _write(result: Any, tables: Iterable[Table], summary: Iterable[tuple[str, Any]], path: Path) -> Path:
    book = load_openpyxl(path).Workbook(write_only=True)
    names, ranked = _fund_names(result), "rank" in _units(result)
    sheets = [(table, _add_names(_known(table.of(result)), names)) for table in tables if table.title]
    filled = [(table, values) for table, values in sheets if len(values)]
    listed = [(f"Sheet {table.title}", f"{table.about} ({len(values)} rows)") for table, values in filled]
    add_list(book, "Summary", [*summary, *listed])
    for table, values in filled:
        add_table(book, table.title, values, RANKED if ranked and table.percent is SHARES else table.percent)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, book.save)
    return path


def _units(result: Any) -> set[str]:
    return set(result.units.values()) if isinstance(result, StudyTables) else {result.unit}


def _known(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of the facts without funds of which nothing is known; any other as it is."""
    return table.dropna(how="all") if table.index.name == "fund" else table


def _fund_names(result: Any) -> pd.Series[str]:
    facts = getattr(result, "facts", pd.DataFrame())  # a selection has the names in its picks
    return facts["name"].dropna() if "name" in facts else pd.Series(dtype=str)


def _add_names(table: pd.DataFrame, names: pd.Series[str]) -> pd.DataFrame:
    """Return a table with the names of the funds next to their codes, if any name is known."""
    if names.empty or "fund" not in table or "name" in table:
        return table
    named = table.copy()
    named.insert(list(table.columns).index("fund") + 1, "name", table["fund"].map(names))
    return named


def _summarise_study(study: StudyTables) -> Iterator[tuple[str, Any]]:
    headline = write_headline(study)
    yield "Headline", headline.sentence
    for note in dict.fromkeys((*headline.notes, *study.notes)):  # both may tell of survivorship
        yield "Note", note
    if not pd.isna(study.overfitting_probability):
        yield "Overfitting probability", study.overfitting_probability
    yield from _name_data(study.source, study.digest)
    yield "Index", study.index_name
    yield "Index SHA-256", study.index_digest or None
    yield "First day", study.equity.index[0]
    yield "Last day", study.equity.index[-1]
    yield "Rebalances", len(study.ic)
    yield "Run time in seconds", round(study.seconds, 1)
    yield from (("Version", f"{name} {number}") for name, number in versions().items())
    yield from ((f"Setting {name}", _show(value)) for name, value in asdict(study.config).items())
    yield from ((f"Chosen for {name}", _show(value)) for name, value in study.chosen.items())


def _summarise_selection(selection: SelectionTables) -> Iterator[tuple[str, Any]]:
    yield "Track record", selection.record_text
    for note in selection.notes:
        yield "Note", note
    yield "Day of the decision", selection.as_of
    yield "Forecaster", selection.forecaster
    yield from _name_data(selection.source)
    yield "First day of the data", selection.first_day
    yield from (("Version", f"{name} {number}") for name, number in versions().items())


def _name_data(source: str, digest: str = "") -> Iterator[tuple[str, Any]]:
    yield "Data", source
    if digest:
        yield "Data SHA-256", digest


def _show(value: Any) -> Any:
    """Return a setting as one value: a list or a mapping as text."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {entry}" for name, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value
