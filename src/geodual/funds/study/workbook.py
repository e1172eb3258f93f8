"""Excel workbooks: real dates, numbers that lose no digit, charts, and sheets that print on A4."""

from __future__ import annotations

import datetime
import importlib
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import pandas as pd

from geodual.atomic_file import write_atomically
from geodual.errors import DataError
from geodual.extras import import_extra

from ..evaluation.study_tables import StudyTables
from ..evaluation.table_registry import RANKED, SHARES, WORDS, Table
from ..evaluation.track_record import SelectionTables
from ..language import ENGLISH, current_language, phrase, reword, say
from ..report.headline import write_headline
from ..report.orders_section import tell_orders
from ..report.payload import versions
from ..report.wording import name_factor, name_forecaster, name_index

MAX_ROWS = 1_048_576  # rows of a sheet in Excel, the header included
PERCENT, NUMBER, DAY = "0.00%", "0.0000", "yyyy-mm-dd"
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_FORMULA_MARKS = ("=", "+", "-", "@")
_SAMPLE = 200  # rows that decide how wide a column is
_NARROW, _WIDE = 11, 60  # widths of columns, in characters
_LABELS, _TEXTS = 24, 110  # widths of the two columns of a list
# The sheets of a study besides the summary; all others come on request.
MAIN_TABLES = ("Table 1", "Baselines", "Annual returns", "Costs", "ICs", "Equity", "Holdings")
SUMMARY = phrase("Summary")
# Columns whose cells are words or names of methods and factors, and columns whose cells are texts.
_WORDS = ("period", "forecaster", "against", "baseline", "side", "action", "label", "view", "factor")
_SENTENCES = ("kind", "finding", "message", "why")
_CHARTS = {"Equity": "LineChart", "Annual returns": "BarChart"}  # from the table of the sheet
_CHART_SIZE = (24, 12)  # width and height in centimeters
_A4 = 9  # of paper sizes in Excel
ORDER_SHARES = ("weight_before", "weight_after")
SELECTION_TABLES = (
    Table("Picks", "the funds to hold, best first", name="picks"),
    Table("Orders", "from what is held to the picks", ORDER_SHARES, name="order_table"),
    Table("Lots", "what is held and sold, first in, first out", ("rate",), name="lot_table"),
    Table("Neighbors", "the neighbors behind each pick", name="neighbors"),
    Table("Reasons", "the factors behind each pick", name="reasons"),
    Table("Left out", "funds that could not be chosen, and why", name="left_out"),
)


def load_openpyxl(path: Path) -> Any:
    """Return the package that writes Excel files; raise if it is missing or the file is not an .xlsx.

    Parameters
    ----------
    path : Path
        The file to be written.
    """
    if path.suffix.lower() != ".xlsx":
        raise DataError(f"{path}: an Excel file must end in .xlsx. Choose a name such as study.xlsx.")
    return import_extra("openpyxl", "excel", f"{path}: writing Excel needs openpyxl")


def add_table(
    book: Any,
    title: str,
    table: pd.DataFrame,
    percent: Collection[str] | None,
    headings: Callable[[str], str] = str,
) -> None:
    """Add a table as a sheet with a bold, frozen header and filters; if it is too long, as several sheets.

    Parameters
    ----------
    book : openpyxl.Workbook
        A write-only workbook.
    title : str
        Name of the sheet in English; further sheets of a long table are numbered.
    table : DataFrame
        Its index is written too if it has a name.
    percent : collection of str or None
        The columns to show as percentages; None for all columns of decimal numbers.
    headings : callable
        Returns the heading of a column.
    """
    flat = table.reset_index(drop=all(name is None for name in table.index.names))
    most = MAX_ROWS - 1
    for part, start in enumerate(range(0, max(len(flat), 1), most), 1):
        rows = flat.iloc[start : start + most]
        _add_part(book, title, part, rows, percent, headings)


def add_list(book: Any, title: str, rows: Iterable[tuple[str, Any]]) -> None:
    """Add a sheet of two columns: bold labels, and what they stand for.

    Parameters
    ----------
    book : openpyxl.Workbook
        A write-only workbook.
    title : str
        Name of the sheet in English.
    rows : iterable of (str, value)
        A value is a text, a number, a day, a bool, or None.
    """
    styles, sheet = _load("styles"), book.create_sheet(say(title))
    _set_up_print(sheet)
    sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = _LABELS, _TEXTS
    for label, value in rows:
        cells = [_make_cell(sheet, label, ""), _make_cell(sheet, value, "")]
        cells[0].font = styles.Font(bold=True)
        for cell in cells:
            cell.alignment = styles.Alignment(wrap_text=True, vertical="top", horizontal="left")
        sheet.append(cells)


@cache  # asked for once per cell
def _load(module: str) -> Any:
    return importlib.import_module(f"openpyxl.{module}")


def _add_part(
    book: Any,
    title: str,
    part: int,
    table: pd.DataFrame,
    percent: Collection[str] | None,
    headings: Callable[[str], str],
) -> None:
    sheet = book.create_sheet(say(title) if part == 1 else f"{say(title)} {part}")
    names, letter = [str(name) for name in table.columns], _load("utils").get_column_letter
    columns = [_plain_values(table.iloc[:, at]) for at in range(len(names))]
    formats = [PERCENT if percent is None or name in percent else NUMBER for name in names]
    # A write-only sheet wants its layout before its first row.
    sheet.freeze_panes = "A2"
    sheet.print_title_rows = "1:1"
    _set_up_print(sheet)
    if title in _CHARTS and part == 1 and len(table):
        sheet.add_chart(_make_chart(sheet, title, table.shape), f"{letter(len(names) + 2)}2")
    titles = list(map(headings, names))
    for at, (heading, values) in enumerate(zip(titles, columns, strict=True), 1):
        sheet.column_dimensions[letter(at)].width = _fitting_width(heading, values)
    sheet.append([_make_header(sheet, heading) for heading in titles])
    for row in zip(*columns, strict=True):
        sheet.append([_make_cell(sheet, *pair) for pair in zip(row, formats, strict=True)])
    sheet.auto_filter.ref = f"A1:{letter(len(names))}{len(table) + 1}"


def _set_up_print(sheet: Any) -> None:
    """Let a sheet print on A4, as wide as the page, with page numbers."""
    sheet.page_setup.orientation, sheet.page_setup.paperSize = "landscape", _A4
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, 0
    sheet.sheet_properties.pageSetUpPr = _load("worksheet.properties").PageSetupProperties(fitToPage=True)
    sheet.oddFooter.center.text = say("&A, page &P of &N")


def _make_chart(sheet: Any, title: str, shape: tuple[int, int]) -> Any:
    """Return a chart of a table whose first column is the horizontal axis."""
    charts = _load("chart")
    chart, (n_rows, n_columns) = getattr(charts, _CHARTS[title])(), shape
    values = charts.Reference(sheet, min_col=2, max_col=n_columns, min_row=1, max_row=n_rows + 1)
    chart.add_data(values, titles_from_data=True)
    chart.set_categories(charts.Reference(sheet, min_col=1, min_row=2, max_row=n_rows + 1))
    chart.title, (chart.width, chart.height) = say(title), _CHART_SIZE
    chart.x_axis.delete = chart.y_axis.delete = False
    chart.legend.position, chart.x_axis.tickLblPos = "b", "low"
    if _CHARTS[title] == "LineChart":
        chart.x_axis.number_format = "yyyy-mm"
        for line in chart.series:
            line.smooth = False
    else:
        chart.y_axis.number_format = "0%"
    return chart


def _plain_values(column: pd.Series[Any]) -> list[Any]:
    """Return the values of a column as objects of Python, None where one is missing."""
    return [None if gone else value for value, gone in zip(column.tolist(), column.isna(), strict=True)]


def _fitting_width(name: str, values: list[Any]) -> int:
    texts = [_width(value) for value in values[:_SAMPLE] if isinstance(value, str)]
    return min(max(_NARROW, _width(name) + 4, *(width + 2 for width in texts)), _WIDE)  # + 4: filter button


def _width(text: str) -> int:
    """Return the number of Latin letters that are as wide as a text: a Chinese one counts as two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _make_header(sheet: Any, name: str) -> Any:
    cell = _make_cell(sheet, name, "")
    cell.font = _load("styles").Font(bold=True)
    return cell


def _make_cell(sheet: Any, value: Any, number_format: str) -> Any:
    """Return a cell of the right type; decimal numbers are shown in the format given."""
    make = _load("cell").WriteOnlyCell
    if isinstance(value, datetime.date):
        cell = make(sheet, value)
        cell.number_format = DAY
        return cell
    if value is None or isinstance(value, bool):
        return make(sheet, value)
    if isinstance(value, int | float) and math.isfinite(value):
        # openpyxl would round to 16 digits, one too few for a double: give it the digits as text.
        cell = make(sheet, repr(value))
        cell.data_type = "n"
        if isinstance(value, float):
            cell.number_format = number_format or "General"
        return cell
    text = _NOT_XML.sub("\ufffd", str(value))
    cell = make(sheet, text)
    cell.data_type = "s"  # openpyxl takes "=…" for a formula and "#N/A" for an error
    if text.startswith(_FORMULA_MARKS):
        cell.quotePrefix = True  # Excel keeps the cell a text even when someone edits it
    return cell


def check_excel(path: str | Path) -> None:
    """Raise if a workbook cannot be written, before hours of work: wrong ending, or openpyxl missing."""
    load_openpyxl(Path(path))


def write_study_workbook(study: StudyTables, path: str | Path, *, all_tables: bool = False) -> Path:
    """Write the main tables of a study, or all, into one workbook, completely or not at all.

    Parameters
    ----------
    study : StudyTables
        A finished study.
    path : path
        The .xlsx file to create or replace.
    all_tables : bool
        Whether to write every table; by default those of `MAIN_TABLES`.

    Returns
    -------
    Path
        The file.
    """
    titled = [table for table in study.tables() if table.title]
    tables = [table for table in titled if all_tables or table.title in MAIN_TABLES]
    summary = [*_summarize_study(study)]
    if not all_tables:
        more = len(titled) - len(tables)
        told = say("{n} more with all_tables=True (--excel-all)", n=more)
        summary.append((say("More tables"), told))
    return _write(study, tables, summary, Path(path))


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
    return _write(selection, SELECTION_TABLES, _summarize_selection(selection), Path(path))


def _write(result: Any, tables: Iterable[Table], summary: Iterable[tuple[str, Any]], path: Path) -> Path:
    book = load_openpyxl(path).Workbook(write_only=True)
    names, ranked = _fund_names(result), "rank" in _units(result)
    sheets = [(table, _add_names(_known(table.of(result)), names)) for table in tables if table.title]
    filled = [(table, values) for table, values in sheets if len(values)]
    listed = [
        (
            say("Sheet {title}", title=say(table.title)),
            say("{about} ({n} rows)", about=say(table.about), n=len(values)),
        )
        for table, values in filled
    ]
    add_list(book, SUMMARY, [*summary, *listed])
    words = _find_words(result)
    for table, values in filled:
        percent = RANKED if ranked and table.percent is SHARES else table.percent
        translated = _translate(values, words)
        add_table(book, table.title, translated, percent, lambda name: words.get(name, name))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, book.save)
    return path


def _name_method(name: str) -> str:
    """Return the label of a forecaster; in English workbooks have its name instead."""
    return name if current_language() == ENGLISH else name_forecaster(name)


def _find_words(result: Any) -> dict[str, str]:
    """Return what the words of the tables are in the current language; in English they stay as they are."""
    if current_language() == ENGLISH:
        return {}
    labels, names = (
        result.factor_labels,
        {result.forecaster} if isinstance(result, SelectionTables) else set(),
    )
    factors = set(result.reasons["factor"])
    if isinstance(result, StudyTables):
        names |= {*result.config.compared, *result.config.baselines}
        factors |= set(result.factor_ic.columns)
    return {
        **{name: name_factor(name, labels) for name in sorted(factors)},
        # A forecaster that ranks by one factor is called as this factor.
        **{name: name_factor(name_forecaster(name), labels) for name in sorted(names)},
        **{word: say(word) for word in WORDS},
    }


def _translate(table: pd.DataFrame, words: Mapping[str, str]) -> pd.DataFrame:
    """Return a table with its texts in the current language; names and codes stay as they are."""
    if not words:
        return table
    flat = table.reset_index(drop=all(name is None for name in table.index.names))
    for column in flat.columns:
        if column in _WORDS:
            flat[column] = flat[column].map(lambda text: words.get(text, text))
        elif column in _SENTENCES:
            flat[column] = flat[column].map(lambda text: reword(text) if isinstance(text, str) else text)
    if "factors" in flat:
        flat["factors"] = [_translate_list(text, words) for text in flat["factors"]]
    if "kind" in flat and "name" in flat:  # of forecasters and factors
        flat["name"] = flat["name"].map(lambda text: words.get(text, text))
    return flat


def _translate_list(text: Any, words: Mapping[str, str]) -> Any:
    if not isinstance(text, str):
        return text
    return say("; ").join(words.get(each, each) for each in text.split(", "))


def _units(result: Any) -> set[str]:
    return set(result.units.values()) if isinstance(result, StudyTables) else {result.unit}


def _known(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of the facts without funds of which nothing is known; any other as it is."""
    return table.dropna(how="all") if table.index.name == "fund" else table


def _fund_names(result: Any) -> pd.Series[str]:
    # A selection has the names in its picks.
    facts = result.facts if isinstance(result, StudyTables) else pd.DataFrame()
    return facts["name"].dropna() if "name" in facts else pd.Series(dtype=str)


def _add_names(table: pd.DataFrame, names: pd.Series[str]) -> pd.DataFrame:
    """Return a table with the names of the funds next to their codes, if any name is known."""
    if names.empty or "fund" not in table or "name" in table:
        return table
    named = table.copy()
    named.insert(list(table.columns).index("fund") + 1, "name", table["fund"].map(names))
    return named


def _summarize_study(study: StudyTables) -> Iterator[tuple[str, Any]]:
    headline = write_headline(study)
    yield say("Headline"), reword(headline.sentence)
    for note in dict.fromkeys(map(reword, (*headline.notes, *study.notes))):  # both may tell of survivorship
        yield say("Note"), note
    if not pd.isna(study.overfitting_probability):
        yield say("Overfitting probability"), study.overfitting_probability
    yield from _name_data(study.source, study.digest)
    yield say("Index"), name_index(study.index_name)
    yield say("Index SHA-256"), study.index_digest or None
    yield say("First day"), study.equity.index[0]
    yield say("Last day"), study.equity.index[-1]
    yield say("Rebalances"), len(study.ic)
    yield say("Run time in seconds"), round(study.seconds, 1)
    yield from _list_versions()
    for name, value in asdict(study.config).items():
        yield say("Setting {name}", name=name), _show(value)
    for name, value in study.chosen.items():
        yield say("Chosen for {name}", name=_name_method(name)), _show(value)


def _summarize_selection(selection: SelectionTables) -> Iterator[tuple[str, Any]]:
    yield say("Track record"), reword(selection.record_text)
    if selection.orders is not None:
        yield from tell_orders(selection.orders).items()
    for note in (*selection.notes, *(selection.orders.notes if selection.orders else ())):
        yield say("Note"), reword(note)
    yield say("Day of the decision"), selection.as_of
    yield say("Forecaster"), _name_method(selection.forecaster)
    yield from _name_data(selection.source)
    yield say("First day of the data"), selection.first_day
    yield from _list_versions()


def _list_versions() -> Iterator[tuple[str, Any]]:
    yield from ((say("Version"), f"{name} {number}") for name, number in versions().items())


def _name_data(source: str, digest: str = "") -> Iterator[tuple[str, Any]]:
    yield say("Data"), reword(source)
    if digest:
        yield say("Data SHA-256"), digest


def _show(value: Any) -> Any:
    """Return a setting as one value: a list or a mapping as text."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {entry}" for name, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value
