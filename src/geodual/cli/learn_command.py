"""``geodual learn``: metric learning for any labelled table."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from geodual.funds import DataError
from geodual.funds.atomic_file import write_atomically
from geodual.funds.decisions.named_metrics import named_metric
from geodual.funds.reading.table_file import read_table
from geodual.metric import RPDMLCV, EuclideanMetric

from .console import Json, Quiet, print_json, print_table, say, split_names

_FOLDS = 5
_SHOWN = 10


def run_learn(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="Table with a header: CSV (gzip too) or Parquet.")
    ],
    target: Annotated[str, typer.Option(help="Column with the classes.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: .npz.")],
    metric: Annotated[
        str, typer.Option(help="rpdmlcv, rpdml, lmnn, itml, gmml, mahalanobis or euclidean.")
    ] = "rpdmlcv",
    ignore: Annotated[str, typer.Option(help="Columns to leave out, separated by commas.")] = "",
    k: Annotated[int, typer.Option(help="Neighbours in the cross-validated accuracy.")] = 5,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn a metric from a labelled table; save it, and compare its k-NN accuracy with the Euclidean one.

    The file holds W and components (for features in their own units: transform with X @ components.T), the
    names of the features, and the classes.

    [bold]Example[/bold]

    geodual learn wine.csv --target cultivar -o metric.npz
    """
    if out.suffix != ".npz":
        raise DataError(f"{out}: the metric is saved as .npz. Name the file so.")
    X, y = _read_labelled(table, target, split_names(ignore))
    learner = RPDMLCV(random_state=0) if metric == "rpdmlcv" else named_metric(metric)
    scaler = StandardScaler().fit(X)
    fitted = _fit(learner, scaler.transform(X), y)
    components = fitted.components_ / scaler.scale_
    saved = {
        "W": components.T @ components,
        "components": components,
        "features": np.array(X.columns, dtype=str),
        "classes": np.unique(y),
    }
    write_atomically(out, lambda path: np.savez(path, allow_pickle=False, **saved))
    result = {
        "metric": metric,
        "samples": len(X),
        "features": X.shape[1],
        "classes": len(saved["classes"]),
        "accuracy": _accuracy(learner, X, y, k),
        "euclidean_accuracy": _accuracy(EuclideanMetric(), X, y, k),
        "duality_gap": getattr(fitted, "duality_gap_", None),
    }
    _show(result, fitted, X.columns, out, quiet, as_json)


def _read_labelled(path: Path, target: str, ignored: tuple[str, ...]) -> tuple[pd.DataFrame, Any]:
    """Return numeric features and classes, or say which cell is in the way."""
    table = read_table(path)
    names = list(table.names)
    for name in (target, *ignored):
        if names.count(name) != 1:
            raise DataError(f"{path}: no single column {name!r}; there are {', '.join(map(repr, names))}.")
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
    y = np.array([str(cell) for cell in table.texts(names.index(target)).to_pylist()])
    if not features or len(np.unique(y)) < 2:
        raise DataError(f"{path}: a feature and two classes are needed. Choose another --target.")
    return pd.DataFrame(features), y


def _fit(learner: Any, X: Any, y: Any) -> Any:
    try:
        return clone(learner).fit(X, y)
    except ValueError as error:
        raise DataError(f"The metric could not be learnt: {error}") from error


def _accuracy(learner: Any, X: pd.DataFrame, y: Any, k: int) -> float | None:
    """Return the cross-validated k-NN accuracy, None where a class is too small for two folds."""
    smallest = int(np.unique(y, return_counts=True)[1].min())
    folds = min(_FOLDS, smallest)
    if folds < 2:
        return None
    model = make_pipeline(StandardScaler(), clone(learner), KNeighborsClassifier(min(k, len(y) // 2)))
    split = StratifiedKFold(folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit on all samples has warned already
        return float(cross_val_score(model, X.to_numpy(), y, cv=split).mean())


def _show(
    result: dict[str, Any], fitted: Any, names: pd.Index[str], out: Path, quiet: bool, as_json: bool
) -> None:
    importances = getattr(fitted, "feature_importances_", None)
    if as_json:
        shares = {} if importances is None else dict(zip(names, map(float, importances), strict=True))
        print_json(result | {"feature_importances": shares, "file": str(out)})
        return
    if quiet:
        return
    if importances is not None:
        table = pd.DataFrame({"feature": names, "share": importances}).nlargest(_SHOWN, "share")
        print_table(
            table.assign(share=table["share"].map("{:.1%}".format)), "Features that matter most", ["share"]
        )
    if result["accuracy"] is not None:
        say(
            f"k-NN accuracy, cross-validated: {result['accuracy']:.1%} "
            f"(Euclidean, standardised: {result['euclidean_accuracy']:.1%})"
        )
    if result["duality_gap"] is not None:
        say(f"Certified to a relative duality gap of {result['duality_gap']:.1e}")
    say(f"Saved: {out}")


COMMANDS = {"learn": run_learn}
