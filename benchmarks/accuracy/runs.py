"""Cross-validate the methods on the data sets, with a cache on disk, so that a run can be resumed."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from .data_sets import DataSet, load
from .methods import CLASSIFIERS, METRICS, N_NEIGHBORS

FOLDS = 5
Report = Callable[[str], object]


def measure(
    names: Sequence[str], seeds: Sequence[int], cache: Path, report: Report
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Run all methods on all sets that can be read.

    Parameters
    ----------
    names : sequence of str
        Names of data sets.
    seeds : sequence of int
        Each seed makes five stratified folds.
    cache : Path
        Folder of results: what is there already is not run again.
    report : callable
        Receives lines of progress, and what is missing.

    Returns
    -------
    found : list of str
        The sets that could be read.
    accuracy : array of shape (n_sets, n_methods, n_seeds, n_folds)
        Shares of test samples classified rightly.
    seconds : array of the same shape
        Processor time of each fit.
    """
    cache.mkdir(parents=True, exist_ok=True)
    found, cells = [], []
    for name in names:
        try:
            data = load(name)
        except (OSError, ImportError) as error:
            report(f"  {name} is left out: {error}")
            continue
        started = time.perf_counter()
        cells.append(
            [
                [_cell(cache, name, data, method, seed) for seed in seeds]
                for method in (*METRICS, *CLASSIFIERS)
            ]
        )
        found.append(name)
        report(f"  {name}: {len(data.X)} × {data.X.shape[1]}, {time.perf_counter() - started:.0f} s")
    if not found:
        raise FileNotFoundError("none of the data sets can be read")
    values = np.array(cells)
    return found, values[:, :, :, 0], values[:, :, :, 1]


def _cell(cache: Path, name: str, data: DataSet, method: str, seed: int) -> list[list[float]]:
    """Return accuracies and seconds of one method on one set, from the cache if they are there."""
    learner = {**METRICS, **CLASSIFIERS}[method]
    # Another setting of a method, or other data, must not find the old result.
    text = f"{learner!r} {data.X.shape} {data.X.sum():.9g} {seed}"
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    path = cache / f"{name}__{method.replace(' ', '_').replace(',', '')}__{seed}__{key}.json"
    if not path.exists():
        path.write_text(json.dumps(_cross_validated(learner, data, seed)), encoding="utf-8")
    result: list[list[float]] = json.loads(path.read_text(encoding="utf-8"))
    return result


def _cross_validated(learner: Any, data: DataSet, seed: int) -> list[list[float]]:
    accuracy, seconds = [], []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(data.X, data.y):
        scaler = StandardScaler().fit(data.X[train])
        Z, new = scaler.transform(data.X[train]), scaler.transform(data.X[test])
        fitted = clone(learner)
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of convergence, or of constant features in a fold
            fitted.fit(Z, data.y[train])
        seconds.append(time.process_time() - started)
        if hasattr(fitted, "transform"):  # a metric, not a classifier of its own
            Z, new = fitted.transform(Z), fitted.transform(new)
            fitted = KNeighborsClassifier(N_NEIGHBORS).fit(Z, data.y[train])
        accuracy.append(float(fitted.score(new, data.y[test])))
    return [accuracy, seconds]
