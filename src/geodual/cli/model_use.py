"""Apply a learned model to a table: predictions, how sure they are, the nearest samples, and the score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.atomic_file import write_atomically
from geodual.errors import DataError
from geodual.funds.csv_cells import write_csv
from geodual.funds.sources.reading.raw_table import RawTable
from geodual.funds.study.workbook import add_table, load_openpyxl

from .learned_model import CLASSES, LearnedModel, read_target
from .score_table import score_classes, score_numbers
from .table_columns import encode_table, open_table

_LISTED = 10  # columns that a note lists


def predict_table(
    model_path: Path, path: Path, keep: tuple[str, ...], nearest: int, coverage: float
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return predictions for the rows of a table, and what their user should know."""
    learned = LearnedModel.load(model_path)
    table = open_table(path, keep)
    notes = [finding.message for finding in table.findings]
    X = encode_table(table, learned.columns, notes)
    used = {column.name for column in learned.columns} | {learned.target, *learned.ignored, *keep}
    extra = [name for name in table.names if name not in used]
    if extra:
        shown = ", ".join(map(repr, extra[:_LISTED])) + (", …" if len(extra) > _LISTED else "")
        notes.append(f"Columns that the model does not know are ignored: {shown}.")
    try:
        made = _predictions(learned, X, nearest, coverage)
    except ValueError as error:
        raise DataError(f"{path}: no predictions: {str(error).rstrip('.')}. Correct the table.") from error
    copied = {name: table.columns[table.names.index(name)] for name in keep}
    if taken := sorted(set(copied) & set(made)):
        raise DataError(
            f"`--keep`: {taken[0]!r} is also the name of a column of predictions. Rename it in the table."
        )
    score = _score(learned, table, np.asarray(made["prediction"]), notes)
    if score and (n_seen := learned.n_seen(X)):
        notes.append(
            f"{n_seen:,} of {len(X):,} rows are the same as rows that the model learned from, so the score "
            "says little about new ones."
        )
    result = {"target": learned.target, "task": learned.task, "rows": len(X), "score": score, "notes": notes}
    return pd.DataFrame({**copied, **made}), result


def _predictions(learned: LearnedModel, X: pd.DataFrame, nearest: int, coverage: float) -> dict[str, Any]:
    """Return the columns of predictions."""
    model = learned.model
    columns = {"prediction": model.predict(X)}
    if learned.task == CLASSES:
        shares = model.predict_proba(X)
        names = [f"probability of {name}" for name in model.classes_]
        columns |= dict(zip(names, shares.T, strict=True))
    else:
        columns["lower"], columns["upper"] = model.predict_interval(X, coverage)
    if nearest:
        distances, rows = learned.nearest(X, nearest)
        for at, (row, distance) in enumerate(zip(rows.T, distances.T, strict=True), 1):
            columns |= {f"nearest {at}": row, f"distance {at}": distance}
    return columns


def _score(learned: LearnedModel, table: RawTable, predicted: Any, notes: list[str]) -> dict[str, Any] | None:
    """Return the score of predictions if the table has targets."""
    if learned.target not in table.names:
        return None
    truth, rows = read_target(table, table.names.index(learned.target), learned.task)
    if not len(rows):
        return None
    if len(rows) < len(predicted):
        notes.append(f"{len(predicted) - len(rows):,} rows have no target, and are not scored.")
    score = score_classes if learned.task == CLASSES else score_numbers
    return score(truth, predicted[rows], {})


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table by the suffix of the file: as CSV that no spreadsheet executes, Excel or Parquet."""
    if path.suffix == ".parquet":
        write_atomically(path, table.to_parquet)
    elif path.suffix == ".xlsx":
        book = load_openpyxl(path).Workbook(write_only=True)
        add_table(book, "Predictions", table, percent=())
        write_atomically(path, book.save)
    else:
        write_csv(path, table, keep_index=False)
