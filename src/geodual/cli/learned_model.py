"""What ``geodual learn`` saves and ``geodual predict`` loads: a model, and what it needs of a table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.neighbors import NearestNeighbors

from geodual.arrays import Array, Indices
from geodual.errors import DataError
from geodual.funds.sources.reading.raw_table import RawTable
from geodual.metric import RPDMLClassifier, RPDMLRegressor
from geodual.metric.base.scatter import distinct_rows
from geodual.metric.machine.inputs import completed
from geodual.metric.saving import load_with, save_with

from .table_columns import Column, columns_from_plain, columns_to_plain, read_numbers, read_texts

CLASSES, NUMBERS = "classes", "numbers"
_MOST_CLASSES = 20  # different whole numbers that are taken for classes
_K = 5  # neighbors of the baseline


@dataclass(frozen=True, eq=False)
class LearnedModel:
    """A fitted model, and what it must know about tables.

    Attributes
    ----------
    model : RPDMLClassifier or RPDMLRegressor
        The model.
    target : str
        The column that it predicts.
    columns : tuple of Column
        What other columns become.
    ignored : tuple of str
        Columns of the table that it learned from and does not use.
    rows : array of int
        For each sample of the machine, its row in that table, counted from 1 below the header.
    """

    model: Any
    target: str
    columns: tuple[Column, ...]
    ignored: tuple[str, ...]
    rows: Indices

    @property
    def task(self) -> str:
        """Whether it predicts "classes" or "numbers"."""
        return CLASSES if isinstance(self.model, RPDMLClassifier) else NUMBERS

    def nearest(self, X: pd.DataFrame, k: int) -> tuple[Array, Indices]:
        """Return the distances of the nearest samples that it learned from, and their rows."""
        distances, places = self.model._machine_.nearest(completed(X.to_numpy(), self.model.medians_), k)
        return distances, self.rows[places]

    def n_seen(self, X: pd.DataFrame) -> int:
        """Return how many samples it has learned from."""
        own = self.model._machine_.X
        place = distinct_rows(np.vstack([own, completed(X.to_numpy(), self.model.medians_)]))[1]
        return int(np.isin(place[len(own) :], place[: len(own)]).sum())

    def save(self, path: Path) -> None:
        """Save it as .npz, which nothing is executed from; `load_metric` loads the model alone."""
        table = {
            "target": self.target,
            "columns": columns_to_plain(self.columns),
            "ignored": list(self.ignored),
            "rows": self.rows.tolist(),
        }
        save_with(self.model, path, {"table": table})

    @classmethod
    def load(cls, path: Path) -> LearnedModel:
        """Load what `save` saved, and check it."""
        model, notes = load_with(path)
        try:
            table = notes["table"]
            columns = tuple(columns_from_plain(table["columns"]))
            rows, names = np.array(table["rows"]), (table["target"], *table["ignored"])
            features = [feature for column in columns for feature in column.features]
            fits = features == list(model.feature_names_in_) and len(rows) == len(model._machine_.X)
            fits = fits and rows.dtype.kind == "i" and rows.ndim == 1 and int(rows.min()) > 0
            if not fits or not model._is_flat or not all(isinstance(name, str) for name in names):
                raise ValueError
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            raise DataError(
                f"{path}: this is not a model that `geodual learn` saved without --metric. Learn it again."
            ) from None
        return cls(model, names[0], columns, names[1:], rows)


def choose_task(table: RawTable, at: int) -> str:
    """Return whether a column holds classes or numbers: texts or few whole numbers, or others."""
    values, wrong = read_numbers(table, at)
    values = values[~np.isnan(values)]
    if len(wrong) or not len(values):
        return CLASSES
    different = np.unique(values)
    are_few = len(different) <= _MOST_CLASSES and 2 * len(different) <= len(values)
    return CLASSES if are_few and (different % 1.0 == 0.0).all() else NUMBERS


def read_target(table: RawTable, at: int, task: str) -> tuple[Any, Indices]:
    """Return the known targets in a column, classes as texts, and their rows."""
    if task == NUMBERS:
        values, wrong = read_numbers(table, at)
        if len(wrong):
            first = int(wrong[0])
            problem = f"the target {table.shown(first, at)} is not a number"
            raise table.error(problem, "Correct it, leave the cell empty, or add --task classes", first, at)
        rows = np.flatnonzero(~np.isnan(values))
        return values[rows], rows
    texts = read_texts(table, at)
    rows = np.array([row for row, text in enumerate(texts) if text is not None], dtype=np.intp)
    return np.array([texts[row] for row in rows], dtype=str), rows


def fit_model(X: pd.DataFrame, y: Any, task: str, notes: list[str]) -> Any:
    """Return a fitted model; a warning becomes a note."""
    model: Any = RPDMLClassifier(random_state=0) if task == CLASSES else RPDMLRegressor(random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except ValueError as error:
            problem = str(error).rstrip(".")
            raise DataError(f"The model could not be learned: {problem}. Correct the table.") from error
    notes += list(dict.fromkeys(str(warning.message) for warning in caught))
    return model


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of samples by leave-one-out.

    Attributes
    ----------
    rows : array of int
        The samples that have predictions: all, or with very many samples a part.
    truth : array
        Their targets.
    predicted : array
        What the model predicts without each.
    """

    rows: Indices
    truth: Any
    predicted: Any


def leave_one_out(model: Any, X: Array, y: Any) -> tuple[LeftOut, Indices]:
    """Return predictions by leave-one-out, and for each sample of the machine the first row equal to it.

    Parameters
    ----------
    model : RPDMLClassifier or RPDMLRegressor
        A fitted model.
    X : array of shape (n_samples, n_features)
        Its samples, without missing values.
    y : array of shape (n_samples,)
        Their targets.
    """
    machine = model._machine_
    first, place = distinct_rows(X)
    if isinstance(model, RPDMLClassifier):
        key = place * len(model.classes_) + np.searchsorted(model.classes_, y)
        first = model._rows_
    else:
        key = place
    # Position among the samples of the machine, which are distinct, and then among those with predictions.
    order = np.argsort(key[first])
    position = order[np.searchsorted(key[first], key, sorter=order)]
    scored = np.arange(len(first)) if machine.scored is None else machine.scored
    at = np.full(len(first), -1)
    at[scored] = np.arange(len(scored))
    at = at[position]
    rows = np.flatnonzero(at >= 0)
    scores = machine.scores[at[rows]]
    if isinstance(model, RPDMLClassifier):
        predicted = model.classes_[scores.argmax(axis=1)]
    else:
        predicted = scores[:, 0] * machine.targets.unit[0]
    return LeftOut(rows, y[rows], predicted), first


def baselines(X: Array, y: Any, rows: Indices, task: str) -> dict[str, Any]:
    """Return what simple rules predict by leave-one-out for some samples without missing values."""
    near = _neighbors(X, rows)
    if task == NUMBERS:
        centered = y - y.mean()
        mean = y.mean() + (centered.sum() - centered[rows]) / (len(y) - 1)
        return {"mean": mean, f"{near.shape[1]}-NN, standardized": y[near].mean(axis=1)}
    classes, codes = np.unique(y, return_inverse=True)
    counts = np.bincount(codes)
    votes = np.zeros((len(rows), len(classes)))
    for column in near.T:
        votes[np.arange(len(rows)), codes[column]] += 1.0
    return {
        # Of all samples: without one of them, balanced classes would always give the wrong one.
        "most frequent class": np.repeat(classes[counts.argmax()], len(rows)),
        f"{near.shape[1]}-NN, standardized": classes[votes.argmax(axis=1)],
    }


def _neighbors(X: Array, rows: Indices) -> Indices:
    """Return the nearest neighbors of samples among all others, features standardized."""
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    k = min(_K, len(X) - 1)
    near = NearestNeighbors().fit(Z).kneighbors(Z[rows], k + 1, return_distance=False)
    # A sample is among its own neighbors, unless it has more copies than these.
    is_self = near == rows[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    return np.asarray(near[~is_self].reshape(len(rows), k))


def feature_weights(model: Any, names: Sequence[str]) -> dict[str, float]:
    """Return the learned weights of the features, the largest first."""
    weights = model.feature_weights_
    return {names[at]: float(weights[at]) for at in np.argsort(-weights, kind="stable")}
