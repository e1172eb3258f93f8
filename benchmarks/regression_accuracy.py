"""Measure how well nearest neighbours predict numbers under each metric, on the same folds.

``python -m benchmarks.regression_accuracy folder`` also reads the tables ``*.csv`` of a folder: numbers
without a header, with the target in the last column.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import (
    fetch_california_housing,
    load_diabetes,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from statsmodels.datasets import ccard, star98
from threadpoolctl import threadpool_limits

from geodual.metric import RPDMLRegressor
from testing.metric_learn_shim import working_metric_learn

from .timing import format_seconds, format_table

FOLDS = 5
N_NEIGHBORS = 10
MOST_SAMPLES = 1000  # larger sets are cut at random, because MLKR takes long
MLKR_ITERATIONS = 100

Array = NDArray[np.float64]
DataSet = tuple[Array, Array]


class MLKRRegressor(RegressorMixin, BaseEstimator):
    """Nearest neighbours in the metric of metric-learn's MLKR."""

    def fit(self, X: Array, y: Array) -> MLKRRegressor:
        """Learn the metric and keep the samples."""
        with working_metric_learn() as metric_learn:
            learner = metric_learn.MLKR(max_iter=MLKR_ITERATIONS, random_state=0)
            # The gradient grows with the square of the target, so the target is standardised.
            self.components_ = learner.fit(X, (y - y.mean()) / y.std()).components_
        self.neighbours_ = nearest("distance").fit(X @ self.components_.T, y)
        return self

    def predict(self, X: Array) -> Array:
        """Predict targets."""
        return np.asarray(self.neighbours_.predict(X @ self.components_.T))


def nearest(weights: Any) -> KNeighborsRegressor:
    """Return plain nearest neighbours."""
    return KNeighborsRegressor(N_NEIGHBORS, weights=weights)


def kernel_weights(distance: Array) -> Array:
    """Return Gaussian weights, whose width is the distance of the last neighbour over 2."""
    width = np.maximum(distance.max(axis=1, keepdims=True), 1e-300) / 2.0
    return np.asarray(np.exp(-0.5 * (distance / width) ** 2))


def regression_sets(folder: Path | None = None) -> dict[str, DataSet]:
    """Return the data sets by name: scikit-learn's, statsmodels', and those of a folder."""
    california = _california()
    grades = star98.load_pandas().data.to_numpy(dtype=float)
    cards = ccard.load_pandas().data
    sets = {
        "diabetes": load_diabetes(return_X_y=True),
        "Friedman 1": make_friedman1(800, noise=1.0, random_state=0),
        "Friedman 2": make_friedman2(800, noise=50.0, random_state=0),
        "Friedman 3": make_friedman3(800, noise=0.1, random_state=0),
        "credit cards": (cards.drop(columns="AVGEXP").to_numpy(), cards["AVGEXP"].to_numpy()),
        "star98": (grades[:, 2:], grades[:, 0] / grades[:, :2].sum(axis=1)),
    } | ({} if california is None else {"California": california})
    for path in sorted(folder.glob("*.csv")) if folder else ():
        table = np.loadtxt(path, delimiter=",")
        sets[path.stem] = table[:, :-1], table[:, -1]
    return {name: _cut(*data) for name, data in sets.items()}


def _california() -> DataSet | None:
    try:
        return fetch_california_housing(download_if_missing=False, return_X_y=True)
    except OSError:  # it is not among the sets that scikit-learn brings along
        return None


def _cut(X: Array, y: Array) -> DataSet:
    rows = np.random.default_rng(0).permutation(len(X))[:MOST_SAMPLES]
    return X[rows][:, X[rows].std(axis=0) > 0.0], y[rows]


def regression_methods() -> dict[str, Any]:
    """Return the regressors by name, plain nearest neighbours first; all sets have the same settings."""
    grid = {"C": [1.0, 10.0, 100.0, 1000.0]}
    return {
        "Euclidean": nearest("distance"),
        "Euclidean, kernel": nearest(kernel_weights),
        "MLKR": MLKRRegressor(),
        "RPDML": RPDMLRegressor(N_NEIGHBORS, random_state=0),
        "RPDML, random pairs": RPDMLRegressor(N_NEIGHBORS, pairs=10 * MOST_SAMPLES, random_state=0),
        "RPDML, C by CV": GridSearchCV(RPDMLRegressor(N_NEIGHBORS, tol=1e-3), grid, cv=5),
        "RPDML, kernel": RPDMLRegressor(predictor="kernel"),
        "forest": RandomForestRegressor(300, random_state=0),
        "ridge": RidgeCV(np.logspace(-3, 3, 13)),
    }


def regression_table(
    folder: Path | None = None,
    sets: Mapping[str, DataSet] | None = None,
    methods: Mapping[str, Any] | None = None,
    report: Callable[[str], object] = print,
) -> str:
    """Cross-validate every method on every data set and return errors and times as a table.

    Parameters
    ----------
    folder : Path, optional
        A folder with more data sets.
    sets : dict, optional
        Samples and targets by name; `regression_sets` by default.
    methods : dict, optional
        Regressors by name, the one to compare with first; `regression_methods` by default.
    report : callable
        Receives a progress line for each method on each data set.
    """
    sets = regression_sets(folder) if sets is None else sets
    methods = regression_methods() if methods is None else methods
    errors, seconds = np.empty((2, len(methods), len(sets)))
    for column, (set_name, (X, y)) in enumerate(sets.items()):
        for row, (name, method) in enumerate(methods.items()):
            errors[row, column], seconds[row, column] = _cross_validated(method, X, y)
            spent = format_seconds(seconds[row, column])
            report(f"  {set_name} {X.shape}: {name} {errors[row, column]:.3f} in {spent}")
    return _formatted(list(methods), list(sets), errors, seconds.sum(axis=1))


def _cross_validated(method: Any, X: Array, y: Array) -> tuple[float, float]:
    """Return the RMSE over the standard deviation of y, mean of the folds, and the processor time of fits."""
    scores, spent = [], 0.0
    for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(X):
        scaler = StandardScaler().fit(X[train])
        model = clone(method)
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of MLKR and of small folds
            model.fit(scaler.transform(X[train]), y[train])
        spent += time.process_time() - started
        error = model.predict(scaler.transform(X[test])) - y[test]
        scores.append(np.sqrt(np.mean(error**2)) / y.std())
    return float(np.mean(scores)), spent


def _formatted(names: list[str], sets: list[str], errors: Array, seconds: Array) -> str:
    ratios = np.exp(np.log(errors / errors[0]).mean(axis=1))
    better = (errors < errors[0]).sum(axis=1)
    rows = [
        [sets_name, *(f"{error:.3f}" for error in column)]
        for sets_name, column in zip(sets, errors.T, strict=True)
    ]
    rows.append(["ratio", *(f"{ratio:.3f}" for ratio in ratios)])
    rows.append(["better on", *(f"{count} of {len(sets)}" for count in better)])
    rows.append(["fits", *map(format_seconds, seconds)])
    return (
        f"RMSE over the standard deviation of the target, mean of {FOLDS} folds, k = {N_NEIGHBORS}, features "
        f"standardised, at most {MOST_SAMPLES:,} samples per set;\ngeometric mean of the ratios to "
        f"{names[0]}, sets with a lower error than it, and processor time of all fits\n\n"
        + format_table(["set", *names], rows)
    )


if __name__ == "__main__":
    with threadpool_limits(1):
        print(regression_table(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
