"""Train a model on a table: read, decide, fit, score against simple rules, save."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from geodual.errors import DataError
from geodual.funds.run import ProgressCallback
from geodual.funds.sources.reading.raw_table import RawTable
from geodual.metric.machine.inputs import completed

from .learned_model import (
    CLASSES,
    LearnedModel,
    baselines,
    choose_task,
    feature_weights,
    fit_model,
    leave_one_out,
    read_target,
)
from .score_table import score_classes, score_numbers
from .table_columns import choose_columns, encode_table, open_table

_STEPS = ("table read", "model fitted", "scored", "saved")


def learn_model(
    path: Path,
    target: str,
    ignored: tuple[str, ...],
    task: str | None,
    out: Path,
    progress: ProgressCallback,
) -> dict[str, Any]:
    """Learn a model from a table and save it; return what its user should know."""
    table = open_table(path, (target, *ignored))
    notes = [finding.message for finding in table.findings]
    at = table.names.index(target)
    chosen = task or choose_task(table, at)
    y, kept = read_target(table, at, chosen)
    _check_target(table, y, chosen, notes)
    table = _with_rows(table, kept)
    columns, left_out = choose_columns(table, (target, *ignored))
    if not columns:
        raise DataError(f"{path}: no column is left to learn from. {' '.join(left_out)}".strip())
    features = encode_table(table, columns, notes)
    progress(1, len(_STEPS), _STEPS[0])
    model = fit_model(features, y, chosen, notes)
    progress(2, len(_STEPS), _STEPS[1])
    X = completed(features.to_numpy(), model.medians_)
    found, first = leave_one_out(model, X, y)
    score = score_classes if chosen == CLASSES else score_numbers
    scores = score(found.truth, found.predicted, baselines(X, y, found.rows, chosen))
    gain = model.metric_gain() if chosen == CLASSES else None
    progress(3, len(_STEPS), _STEPS[2])
    unused = tuple(name for name in table.names if name not in {column.name for column in columns} | {target})
    LearnedModel(model, target, tuple(columns), unused, kept[first] + 1).save(out)
    progress(4, len(_STEPS), _STEPS[3])
    return {
        "target": target,
        "task": chosen,
        "task_reason": "as given by --task" if task else "as the values look; --task overrides",
        "rows": len(y),
        "features": features.shape[1],
        "classes": len(model.classes_) if chosen == CLASSES else None,
        "score": scores,
        "metric_gain": gain,
        "feature_weights": feature_weights(model, list(features.columns)),
        "mixture": list(map(str, model.mixture_)),
        "certificates": model.certificates_._asdict(),
        "notes": notes + left_out,
    }


def _check_target(table: RawTable, y: Any, task: str, notes: list[str]) -> None:
    """Raise unless a model can learn from targets; add a note on the rows without one."""
    total, different = len(table.columns[0]), len(np.unique(y))
    if len(y) < total:
        notes.append(f"{total - len(y):,} of {total:,} rows are left out: they have no target.")
    if different < 2:
        told = "has no value" if not len(y) else f"has only one value, {str(y[0])!r}"
        raise DataError(f"{table.source}: the target {told}. Choose another --target, or add rows.")
    if task == CLASSES and different > 0.9 * len(y) and different > 2:
        raise DataError(
            f"{table.source}: the target has {different:,} classes in {len(y):,} rows, too many to "
            "learn. Choose another --target, or --task numbers if it holds numbers."
        )


def _with_rows(table: RawTable, rows: Any) -> RawTable:
    """Return a table with some of its rows."""
    columns = tuple(cells.iloc[rows].reset_index(drop=True) for cells in table.columns)
    return replace(table, columns=columns, place=lambda row: table.place(int(rows[row])))
