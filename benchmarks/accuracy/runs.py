"""Cross-validate the methods on the data sets, with a cache on disk to resume interrupted runs."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from geodual.atomic_file import write_atomically

from .data_sets import FOLDS, DataSet, Reader

ALL_FOLDS = 1100  # largest number of samples for which all five folds are tested; otherwise two of them
Report = Callable[[str], object]


def measure(
    sets: Mapping[str, Reader], methods: Mapping[str, Any], seeds: Sequence[int], cache: Path, report: Report
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Run all methods on all available sets.

    Parameters
    ----------
    sets : dict
        The readers of the sets, by name.
    methods : dict
        Estimators by name.
    seeds : sequence of int
        Each seed makes five folds; with many samples, two of them are tested.
    cache : Path
        Folder of results; existing ones are not computed again.
    report : callable
        Receives lines of progress, and the missing sets.

    Returns
    -------
    found : list of str
        The sets that could be read.
    scores : array of shape (n_sets, n_methods)
        Share of correctly classified test samples or, for regressors, the RMSE over the standard deviation of
        the targets; the mean of all folds.
    seconds : array of the same shape
        Processor time of a fit; the mean of all folds.
    """
    cache.mkdir(parents=True, exist_ok=True)
    found, rows = [], []
    for name, read in sets.items():
        try:
            data = read()
        except (OSError, ImportError) as error:
            report(f"  {name} is left out: {error}")
            continue
        started = time.perf_counter()
        cells = [[_cell(cache, name, data, method, seed, methods) for seed in seeds] for method in methods]
        found.append(name)
        rows.append([np.mean(np.concatenate(of_method, axis=1), axis=1) for of_method in cells])
        report(f"  {name}: {len(data.X)} × {data.X.shape[1]}, {time.perf_counter() - started:.0f} s")
    if not found:
        raise FileNotFoundError("none of the data sets can be read")
    values = np.array(rows)
    return found, values[:, :, 0], values[:, :, 1]


def forget(cache: Path, part: str) -> int:
    """Remove the results of all methods whose name contains a text, and return their number."""
    stored = [(path, path.name.rsplit("__", 3)) for path in cache.glob("*__*__*__*.json")]
    paths = [path for path, (_, method, _, _) in stored if _file_name(part) in method]
    for path in paths:
        path.unlink()
    return len(paths)


def _cell(
    cache: Path, name: str, data: DataSet, method: str, seed: int, methods: Mapping[str, Any]
) -> list[list[float]]:
    """Return scores and seconds of one method on one set, from the cache if possible."""
    learner = methods[method]
    # Other settings of a method, or other data, must not reuse the old result.
    text = f"{learner!r} {data.X.shape} {data.X.sum():.9g} {data.y.sum():.9g} {seed}"
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    path = cache / f"{_file_name(name)}__{_file_name(method)}__{seed}__{key}.json"
    if not path.exists():
        result = json.dumps(_cross_validated(learner, data, seed))
        write_atomically(path, lambda file: file.write_text(result, encoding="utf-8"))
    stored: list[list[float]] = json.loads(path.read_text(encoding="utf-8"))
    return stored


def _file_name(name: str) -> str:
    return name.replace(" ", "_").replace(",", "")


def _cross_validated(learner: Any, data: DataSet, seed: int) -> list[list[float]]:
    splitter = (StratifiedKFold if is_classifier(learner) else KFold)(FOLDS, shuffle=True, random_state=seed)
    folds = list(splitter.split(data.X, data.y))
    scores, seconds = [], []
    for train, test in folds if len(data.X) <= ALL_FOLDS else folds[:2]:
        fitted = clone(learner)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about convergence, or constant features in a fold
            started = time.process_time()
            fitted.fit(data.X[train], data.y[train])
            seconds.append(time.process_time() - started)
            scores.append(_score(fitted, data, test))
    return [scores, seconds]


def _score(fitted: Any, data: DataSet, test: NDArray[np.intp]) -> float:
    if is_classifier(fitted):
        return float(fitted.score(data.X[test], data.y[test]))
    errors = fitted.predict(data.X[test]) - data.y[test]
    return float(np.sqrt(np.mean(errors**2)) / data.y.std())
