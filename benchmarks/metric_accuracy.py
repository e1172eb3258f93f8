"""Measure the accuracy of k-NN under every metric on the same folds, with standard errors and ranks."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

from geodual.metric import GMML, ITML, LMNN, RPDML, RPDMLCV, EuclideanMetric, MahalanobisMetric

from .timing import format_seconds, format_table

FOLDS = 5
N_NEIGHBORS = 5
TOL = 1e-4  # relative duality gap of the certified learners; looser than their default, to save time

Array = NDArray[np.float64]
DataSet = tuple[Array, NDArray[np.intp]]


def accuracy_sets() -> dict[str, DataSet]:
    """Return the data sets by name, in order of size."""
    return {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "breast": load_breast_cancer(return_X_y=True),
        "synth": make_classification(
            697, 70, n_informative=15, n_redundant=20, class_sep=0.7, random_state=0
        ),
        "digits": load_digits(return_X_y=True),
        "2000 × 50": make_classification(
            2000, 50, n_informative=12, n_redundant=15, class_sep=0.8, random_state=2
        ),
        "3000 × 30": make_classification(
            3000, 30, n_informative=10, n_redundant=10, n_classes=3, random_state=1
        ),
    }


def accuracy_methods() -> dict[str, Any]:
    """Return the metric learners by name; their settings are the same on all data sets."""
    return {
        "Euclidean": EuclideanMetric(),
        "Mahalanobis": MahalanobisMetric(),
        "GMML": GMML(),
        "ITML": ITML(gamma=1e-4, tol=TOL),
        "LMNN": LMNN(),
        "scikit-learn's NCA": NeighborhoodComponentsAnalysis(random_state=0),
        "RPDML, all": RPDML(C=100.0, tol=TOL),
        "RPDML, local": RPDML(C=1000.0, pairs="local", tol=TOL),
        "RPDMLCV": RPDMLCV(Cs=(10.0, 100.0, 1000.0, 10_000.0), pairs=("all", "local"), cv=3, tol=TOL),
    }


def accuracy_table(
    sets: Mapping[str, DataSet] | None = None,
    methods: Mapping[str, Any] | None = None,
    report: Callable[[str], object] = print,
) -> str:
    """Cross-validate every method on every data set and return accuracies, ranks and times as a table.

    Parameters
    ----------
    sets : dict, optional
        Samples and classes by name; `accuracy_sets` by default.
    methods : dict, optional
        Metric learners by name; `accuracy_methods` by default.
    report : callable
        Receives a progress line for each method on each data set.
    """
    sets = accuracy_sets() if sets is None else sets
    methods = accuracy_methods() if methods is None else methods
    scores = np.full((len(methods), len(sets), FOLDS), np.nan)
    seconds = np.zeros(len(methods))
    for column, (set_name, (X, y)) in enumerate(sets.items()):
        for row, (name, method) in enumerate(methods.items()):
            try:
                scores[row, column], spent, chosen = _cross_validated(method, X, y)
            except Exception as error:  # one failure must not hide the other results
                report(f"  {set_name}: {name} failed: {type(error).__name__}: {error}")
                continue
            seconds[row] += spent
            mean = 100.0 * scores[row, column].mean()
            report(f"  {set_name}: {name} {mean:.2f} in {format_seconds(spent)}{chosen}")
    return _formatted(list(methods), list(sets), scores, seconds)


def _cross_validated(method: Any, X: Array, y: NDArray[np.intp]) -> tuple[Array, float, str]:
    """Return the accuracy on each fold, the seconds of all fits, and the parameters chosen, if any."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y)
    scores, chosen, spent = [], [], 0.0
    for train, test in folds:
        scaler = StandardScaler().fit(X[train])
        Z_train, Z_test = scaler.transform(X[train]), scaler.transform(X[test])
        learner = clone(method)
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            learner.fit(Z_train, y[train])
        spent += time.perf_counter() - started
        if hasattr(learner, "pairs_"):
            chosen.append(f"{learner.pairs_} {learner.C_:g}")
        neighbours = KNeighborsClassifier(N_NEIGHBORS).fit(learner.transform(Z_train), y[train])
        scores.append(neighbours.score(learner.transform(Z_test), y[test]))
    return np.array(scores), spent, f" ({', '.join(chosen)})" if chosen else ""


def _formatted(names: list[str], sets: list[str], scores: Array, seconds: Array) -> str:
    means = scores.mean(axis=2)
    errors = scores.std(axis=2, ddof=1) / np.sqrt(FOLDS)
    # Equal accuracies share a rank; a method that failed comes last.
    ranks = np.array([rankdata(-np.nan_to_num(column, nan=-1.0).round(10)) for column in means.T]).mean(
        axis=0
    )
    rows = [
        [name]
        + [f"{100 * mean:.1f} ± {100 * error:.1f}" for mean, error in zip(*row, strict=True)]
        + [f"{rank:.2f}", format_seconds(time_)]
        for name, row, rank, time_ in zip(
            names, np.stack([means, errors], axis=1), ranks, seconds, strict=True
        )
    ]
    return (
        f"Accuracy in per cent ± standard error over {FOLDS} stratified folds, k-NN with k = {N_NEIGHBORS}, "
        "features standardised;\nmean rank over the sets (1 is best) and time of all fits\n\n"
        + format_table(["metric", *sets, "rank", "fits"], rows)
        + f"\n\nBest mean rank: {names[int(ranks.argmin())]}."
    )
