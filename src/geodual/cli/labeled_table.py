"""Learn a metric from a table with a column of classes: read, fit, cross-validate, save."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from geodual.atomic_file import write_atomically
from geodual.errors import DataError
from geodual.funds.sources.reading.raw_table import RawTable
from geodual.metric.registry import BASELINE, make_metric

from .table_columns import open_table

_FOLDS = 5  # of the cross-validation


def learn_from_table(
    path: Path, target: str, ignored: tuple[str, ...], metric: str, k: int, out: Path
) -> tuple[dict[str, Any], dict[str, float]]:
    """Learn a metric from a table and save it; return its key numbers and the share of each feature."""
    if k < 1:
        raise DataError(f"`--k` must be at least 1, got {k}; leave it out for 5 neighbors.")
    X, y = _read_labeled(path, target, ignored)
    learner = make_metric(metric)
    scaler = StandardScaler().fit(X)
    Z = scaler.transform(X)
    fitted = _fit(learner, Z, y)
    # So that it applies to features in their own units.
    components = _linear_map(fitted, Z, metric) / scaler.scale_
    classes = np.unique(y)
    saved = {
        "W": components.T @ components,
        "components": components,
        "features": np.array(X.columns, dtype=str),
        "classes": classes,
    }
    write_atomically(out, lambda place: np.savez(place, **saved))
    result = {
        "metric": metric,
        "samples": len(X),
        "features": X.shape[1],
        "classes": len(classes),
        "accuracy": _accuracy(learner, X, y, k),
        "euclidean_accuracy": _accuracy(make_metric(BASELINE), X, y, k),
        "duality_gap": getattr(fitted, "duality_gap_", None),
    }
    shares = getattr(fitted, "feature_importances_", None)
    return result, {} if shares is None else dict(zip(X.columns, map(float, shares), strict=True))


def _read_labeled(path: Path, target: str, ignored: tuple[str, ...]) -> tuple[pd.DataFrame, Any]:
    """Return numeric features and classes; raise an error that names the first bad cell."""
    table = open_table(path, (target, *ignored))
    names = list(table.names)
    features = {}
    for at, name in enumerate(names):
        if name == target or name in ignored:
            continue
        values = pd.to_numeric(pd.Series(table.texts(at).to_pylist()), errors="coerce")
        bad = np.flatnonzero(~np.isfinite(values.to_numpy(float)))
        if len(bad):
            problem = f"the value {table.shown(int(bad[0]), at)} is not a number"
            raise table.error(
                problem, f"Correct it, or leave the column out with --ignore {name}", int(bad[0]), at
            )
        features[name] = values.to_numpy(float)
    y = _read_classes(table, names.index(target))
    if not features or len(np.unique(y)) < 2:
        raise DataError(
            f"{path}: at least one feature and two classes are needed. Choose another --target, or ignore "
            "fewer columns."
        )
    return pd.DataFrame(features), y


def _read_classes(table: RawTable, column: int) -> Any:
    """Return the classes as texts; an empty cell is an error, not a class of its own."""
    cells = table.texts(column).to_pylist()
    empty = next((row for row, cell in enumerate(cells) if not cell), None)
    if empty is not None:
        raise table.error("the class is missing", "Fill it in, or leave the row out", empty, column)
    return np.array(cells)


def _fit(learner: Any, X: Any, y: Any) -> Any:
    try:
        return clone(learner).fit(X, y)
    except ValueError as error:
        problem = str(error).rstrip(".")
        raise DataError(
            f"The metric could not be learned: {problem}. Correct the table, or choose another --metric."
        ) from error


def _linear_map(fitted: Any, Z: Any, metric: str) -> Any:
    """Return the matrix of a learned map; raise if the map is not linear, so that no matrix stands for it."""
    components = getattr(fitted, "components_", None)
    if components is not None:
        components, image = np.asarray(components), fitted.transform(Z)
        expected = (Z - Z.mean(axis=0)) @ components.T
        if np.allclose(image - image.mean(axis=0), expected, atol=1e-6 * np.abs(expected).max()):
            return components
    raise DataError(
        f"`--metric`: {metric} is not a linear map x ↦ Lx with L in `components_`, so no matrix can be "
        "saved. Choose another one."
    )


def _accuracy(learner: Any, X: pd.DataFrame, y: Any, k: int) -> float | None:
    """Return the cross-validated k-NN accuracy, or None if the folds are too small for it."""
    smallest = int(np.unique(y, return_counts=True)[1].min())
    folds = min(_FOLDS, smallest)
    if folds < 2:
        return None
    # A training fold has at least half of the samples, which limits k.
    model = make_pipeline(StandardScaler(), clone(learner), KNeighborsClassifier(min(k, len(y) // 2)))
    split = StratifiedKFold(folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit on all samples has warned already
        try:
            return float(cross_val_score(model, X.to_numpy(), y, cv=split, error_score="raise").mean())
        except ValueError:  # a fold has fewer samples than the learner needs
            return None
