"""Columns of any table as features: what each becomes is decided once, and applied to new tables again.

Numbers stay numbers, days are counted, and texts become categories with a column of zeros and ones each.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.arrays import Array, Indices
from geodual.errors import DataError
from geodual.funds.sources.reading.raw_table import RawTable, looks_like_day, read_days
from geodual.funds.sources.reading.table_file import open_source

_MOSTLY = 0.8  # share of cells that are numbers from which a column holds numbers, and others are mistakes
_UNIQUE = 0.9  # share of different texts from which a column names its rows and says nothing else
_MOST_CATEGORIES = 20  # of a column; the rarer ones are one category together
_LISTED = 10  # names that a message lists
_SHOWN = 40  # characters of a cell that a message shows
_OTHER = "(other)"  # names the column of rare categories


@dataclass(frozen=True)
class Column:
    """A column of a table, and the features that it becomes.

    Attributes
    ----------
    name : str
        Its name.
    kind : "number", "day" or "category"
        What it holds.
    categories : tuple of str
        Categories with a feature each.
    has_other : bool
        Whether there is a feature for all other categories.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    has_other: bool = False

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        if self.kind != "category":
            return [self.name]
        others = [_OTHER] if self.has_other else []
        return [f"{self.name} = {category}" for category in (*self.categories, *others)]

    def encode(self, table: RawTable, at: int, notes: list[str]) -> Array:
        """Return the features of a table whose column `at` this is, NaN where a cell has no information."""
        if self.kind == "number":
            return _encode_numbers(self, table, at, notes)
        if self.kind == "day":
            return _encode_days(self, table, at, notes)
        return _encode_categories(self, table, at, notes)


def open_table(path: Path, needed: Sequence[str]) -> RawTable:
    """Read a table whose columns have different names, among them those that are needed."""
    table = open_source(path)
    names = list(table.names)
    for name in (*needed, *names):
        if names.count(name) != 1:
            raise DataError(f"{path}: {_wrong_name(name, names)}")
    return table


def _wrong_name(name: str, names: list[str]) -> str:
    known = ", ".join(map(repr, names[:_LISTED])) + (", …" if len(names) > _LISTED else "")
    near = difflib.get_close_matches(name, names, 1)
    guess = f"Did you mean {near[0]!r}? " if near and name not in names else ""
    return (
        f"there must be exactly one column {name!r}, and there are {names.count(name)}. {guess}Choose among "
        f"{known}, or rename one."
    )


def read_numbers(table: RawTable, at: int) -> tuple[Array, Indices]:
    """Return the numbers of a column, NaN where there is none, and the rows with something else."""
    cells = table.columns[at]
    if pd.api.types.is_any_real_numeric_dtype(cells.dtype):
        values = cells.to_numpy(float, na_value=np.nan)
        known = ~np.isnan(values)
    else:
        texts = pd.Series(table.number_texts(at).to_pylist(), dtype=object)
        values = pd.to_numeric(texts, errors="coerce").to_numpy(float, na_value=np.nan)
        known = texts.notna().to_numpy()
    values = np.where(np.isfinite(values), values, np.nan)
    return values, np.flatnonzero(known & np.isnan(values))


def read_texts(table: RawTable, at: int) -> list[str | None]:
    """Return the cells of a column as texts, None where a value is missing; whole numbers have no point."""
    cells = table.columns[at]
    if pd.api.types.is_float_dtype(cells.dtype):
        values = cells.to_numpy(float, na_value=np.nan)
        return [None if np.isnan(value) else f"{value:.15g}" for value in values.tolist()]
    return list(table.known_texts(at).to_pylist())


def choose_columns(table: RawTable, left_out: Sequence[str]) -> tuple[list[Column], list[str]]:
    """Return what the columns of a table become, without some, and a note per column that says nothing."""
    chosen, notes = [], []
    for at, name in enumerate(table.names):
        if name in left_out:
            continue
        found = _choose(table, at)
        if isinstance(found, Column):
            chosen.append(found)
        else:
            notes.append(f"Column {name!r} is left out: {found}.")
    return chosen, notes


def _choose(table: RawTable, at: int) -> Column | str:
    """Return what a column becomes, or why it is left out."""
    name = table.names[at]
    if pd.api.types.is_datetime64_any_dtype(table.columns[at].dtype):
        return Column(name, "day")
    values, wrong = read_numbers(table, at)
    n_numbers = int(np.count_nonzero(~np.isnan(values)))
    if n_numbers and n_numbers >= _MOSTLY * (n_numbers + len(wrong)):
        different = len(np.unique(values[~np.isnan(values)]))
        return Column(name, "number") if different > 1 else "it has only one value"
    texts = read_texts(table, at)
    counts = Counter(text for text in texts if text is not None)
    if not counts:
        return "it is empty"
    if len(counts) == 1 and None not in texts:
        return "it has only one value"
    if all(map(looks_like_day, counts)):
        return _choose_days(table, at)
    if len(counts) > _UNIQUE * counts.total() and len(counts) > 1:
        return "nearly every row has a text of its own"
    kept = [text for text, count in counts.most_common(_MOST_CATEGORIES) if count > 1]
    return Column(name, "category", tuple(sorted(kept)), len(kept) < len(counts))


def _choose_days(table: RawTable, at: int) -> Column | str:
    column = Column(table.names[at], "day")
    try:
        column.encode(table, at, [])
    except DataError as error:
        return str(error).rstrip(".")
    return column


def _encode_numbers(column: Column, table: RawTable, at: int, notes: list[str]) -> Array:
    values, wrong = read_numbers(table, at)
    _check_any(column, table, at, wrong, ~np.isnan(values))
    _tell_wrong(column, table, at, wrong, notes)
    return values[:, None]


def _check_any(column: Column, table: RawTable, at: int, wrong: Indices, right: Any) -> None:
    """Raise if a column holds values, and none of them is what the model learned from."""
    if len(wrong) and not right.any():
        first, what = int(wrong[0]), {"number": "number", "day": "day"}[column.kind]
        problem = f"{table.shown(first, at)} is not a {what}, nor is any other cell of the column"
        raise table.error(problem, f"The model needs {what}s there, or empty cells", first, at)


def _encode_days(column: Column, table: RawTable, at: int, notes: list[str]) -> Array:
    """Return days as their number since 1970."""
    texts = table.known_texts(at).to_pylist()
    known = np.array([text is not None for text in texts])
    is_day = np.array([text is not None and looks_like_day(text) for text in texts])
    if pd.api.types.is_datetime64_any_dtype(table.columns[at].dtype):
        is_day = known = table.columns[at].notna().to_numpy()
    wrong = np.flatnonzero(known & ~is_day)
    _check_any(column, table, at, wrong, is_day)
    _tell_wrong(column, table, at, wrong, notes)
    rows, values = np.flatnonzero(is_day), np.full(len(texts), np.nan)
    if len(rows):
        cells = table.columns[at].iloc[rows].reset_index(drop=True)
        part = replace(
            table, names=(column.name,), columns=(cells,), place=lambda row: table.place(int(rows[row]))
        )
        days = read_days(part, 0)
        values[rows] = (days - pd.Timestamp(1970, 1, 1)).days.to_numpy(float)
    return values[:, None]


def _encode_categories(column: Column, table: RawTable, at: int, notes: list[str]) -> Array:
    """Return zeros and ones; zeros only where a cell is empty, or holds a new category without a feature."""
    place = {category: k for k, category in enumerate(column.categories)}
    width = len(column.features)
    other = width - 1 if column.has_other else -1
    texts = read_texts(table, at)
    codes = np.array([-1 if text is None else place.get(text, other) for text in texts])
    encoded = np.zeros((len(texts), width))
    rows = np.flatnonzero(codes >= 0)
    encoded[rows, codes[rows]] = 1.0
    if not column.has_other:
        _tell_wrong(
            column, table, at, np.array([t is not None and t not in place for t in texts]).nonzero()[0], notes
        )
    return encoded


def _tell_wrong(column: Column, table: RawTable, at: int, rows: Indices, notes: list[str]) -> None:
    """Add a note on cells that are not what a column holds."""
    if not len(rows):
        return
    one, many = {
        "number": ("a number", "numbers"),
        "day": ("a day", "days"),
        "category": ("a known category", "known categories"),
    }[column.kind]
    cells = f"1 cell is not {one}" if len(rows) == 1 else f"{len(rows):,} cells are not {many}"
    first = int(rows[0])
    notes.append(
        f"Column {column.name!r}: {cells}, such as {table.shown(first, at)} in {table.place(first)}; "
        "taken as missing."
    )


def encode_table(table: RawTable, columns: Sequence[Column], notes: list[str]) -> pd.DataFrame:
    """Return the features of a table; its columns are found by name, and a missing one is an error.

    Parameters
    ----------
    table : RawTable
        The table.
    columns : sequence of Column
        What its columns become.
    notes : list of str
        Receives what its user should know.
    """
    names = list(table.names)
    missing = [column.name for column in columns if column.name not in names]
    if missing:
        shown = ", ".join(map(repr, missing[:_LISTED])) + (", …" if len(missing) > _LISTED else "")
        near = difflib.get_close_matches(missing[0], names, 1)
        guess = f"Is it {near[0]!r}? Rename it" if near else "Add it"
        raise DataError(f"{table.source}: the model needs the missing columns {shown}. {guess}.")
    parts = [column.encode(table, names.index(column.name), notes) for column in columns]
    features = [feature for column in columns for feature in column.features]
    return pd.DataFrame(np.hstack(parts), columns=features)


def columns_from_plain(tree: Any) -> list[Column]:
    """Return columns that were saved; raise ValueError or TypeError if a tree holds something else."""
    columns = [Column(name, kind, tuple(texts), other) for name, kind, texts, other in tree]
    for column in columns:
        texts = all(isinstance(text, str) for text in (column.name, *column.categories))
        if (
            not texts
            or column.kind not in ("number", "day", "category")
            or type(column.has_other) is not bool
        ):
            raise ValueError("a column is not what it must be")
    return columns


def columns_to_plain(columns: Sequence[Column]) -> list[Any]:
    """Return columns as a tree of plain values."""
    return [[one.name, one.kind, list(one.categories), one.has_other] for one in columns]
