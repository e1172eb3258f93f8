"""Measure `RPDMLClassifier` against a tuned support vector machine and a random forest, on the same folds.

``python -m benchmarks machines`` runs it on two groups of sets. The first are the tables ``*.csv`` of the
folder that the environment variable GEODUAL_CLASSIFICATION names: the constants were chosen on most of them.
The others are the sets of the accuracy study that can be read here: nothing about this classifier was chosen
on them. Sets that are absent are skipped.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import wilcoxon
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from geodual.metric import RPDMLClassifier

from .accuracy.data_sets import FOLDER, SOURCES, load
from .timing import format_table

MOST_SAMPLES = 1500  # larger sets are cut at random
RARE = 8  # classes with fewer samples are left out
FEW = 1100  # samples up to which all five folds are tested; otherwise two of them
SAME = {"banknote", "ecoli", "pima", "sonar", "thyroid"}  # sets of the study that are files of the folder too

OURS = "RPDMLClassifier"
METHODS: dict[str, Any] = {
    OURS: RPDMLClassifier(),
    "without metric": RPDMLClassifier(metric=None),
    "neighbours": RPDMLClassifier("neighbors"),
    "tuned SVC": make_pipeline(
        StandardScaler(),
        GridSearchCV(SVC(), {"C": [1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}, cv=3),
    ),
    "forest": RandomForestClassifier(300, random_state=0),
}
Table = tuple[NDArray[np.float64], NDArray[np.intp]]


def read_table(path: Path) -> Table:
    """Return the samples and classes of a table without header, the class in the last column."""
    table = pd.read_csv(path, header=None)
    y = pd.factorize(table.iloc[:, -1])[0]
    X = table.iloc[:, :-1].to_numpy(float)
    kept = np.bincount(y)[y] >= RARE
    X, y = X[kept], y[kept]
    drawn = np.random.default_rng(0).permutation(len(y))[:MOST_SAMPLES]
    X, y = X[drawn], y[drawn]
    kept = np.bincount(y)[y] >= 5  # one per fold
    X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    return X[:, X.std(axis=0) > 1e-12], y


def groups() -> Iterator[tuple[str, dict[str, Callable[[], Table]]]]:
    """Yield the groups of sets: how to read each set, by name."""
    folder = os.environ.get(FOLDER)
    paths = sorted(Path(folder).glob("*.csv")) if folder else []
    yield (
        "sets on which constants were chosen",
        {path.stem: lambda path=path: read_table(path) for path in paths},
    )

    def read(name: str) -> Table:
        data = load(name)
        return data.X, data.y

    yield "other sets", {name: lambda name=name: read(name) for name in SOURCES if name not in SAME}


def measure(X: NDArray[np.float64], y: NDArray[np.intp]) -> dict[str, tuple[float, float]]:
    """Return accuracy in percent and processor time of the fits, by method."""
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    folds = folds if len(X) <= FEW else folds[:2]
    right, seconds = dict.fromkeys(METHODS, 0.0), dict.fromkeys(METHODS, 0.0)
    for train, test in folds:
        for name, method in METHODS.items():
            started = time.process_time()
            model = clone(method).fit(X[train], y[train])
            seconds[name] += time.process_time() - started
            right[name] += 100.0 * model.score(X[test], y[test]) / len(folds)
    return {name: (right[name], seconds[name]) for name in METHODS}


def summary(rows: dict[str, dict[str, tuple[float, float]]]) -> str:
    """Return means, differences with Wilcoxon's p, and ratios of times."""
    accuracy = {name: np.array([row[name][0] for row in rows.values()]) for name in METHODS}
    seconds = {name: np.array([row[name][1] for row in rows.values()]) for name in METHODS}
    lines = []
    for name in METHODS:
        difference = accuracy[OURS] - accuracy[name]
        p = wilcoxon(difference).pvalue if difference.any() else 1.0
        ratio = float(np.exp(np.log(seconds[name] / seconds["tuned SVC"]).mean()))
        lines.append(
            [
                name,
                f"{accuracy[name].mean():.2f}",
                f"{difference.mean():+.2f}",
                f"{(difference > 0).sum()}/{(difference < 0).sum()}",
                "" if name == OURS else f"{p:.4f}",
                f"{ratio:.2f}",
            ]
        )
    return format_table(["method", "accuracy", f"{OURS} less it", "won/lost", "p", "time / SVC"], lines)


def machine_table(report: Callable[[str], object] = print) -> str:
    """Run the comparison and return its tables, one per group of sets."""
    tables = []
    for title, sets in groups():
        rows = {}
        for name, read in sets.items():
            try:
                X, y = read()
            except (OSError, ImportError):
                continue
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of classes with fewer samples than folds
                rows[name] = measure(X, y)
            cells = " ".join(f"{label} {right:.2f}" for label, (right, _) in rows[name].items())
            report(f"{name} {X.shape[0]} x {X.shape[1]}: {cells}")
        if rows:
            tables.append(f"{title}: {len(rows)}\n{summary(rows)}")
    return "\n\n".join(tables)
