"""The sets of the comparison of regressors: scikit-learn's, statsmodels' and the tables of a folder.

The environment variable GEODUAL_REGRESSION names the folder of tables ``*.csv``: numbers without a header,
with the target in the last column.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as sklearn_sets

from .data_sets import DataSet, Reader, tables_in_folder

MAX_SAMPLES = 1000  # larger sets are cut at random, because MLKR takes long
FOLDER = "GEODUAL_REGRESSION"

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


_SOURCES: dict[str, Callable[[], Table]] = {
    "diabetes": partial(sklearn_sets.load_diabetes, return_X_y=True),
    "Friedman 1": partial(sklearn_sets.make_friedman1, 800, noise=1.0, random_state=0),
    "Friedman 2": partial(sklearn_sets.make_friedman2, 800, noise=50.0, random_state=0),
    "Friedman 3": partial(sklearn_sets.make_friedman3, 800, noise=0.1, random_state=0),
    "California": partial(sklearn_sets.fetch_california_housing, download_if_missing=False, return_X_y=True),
    "credit cards": _credit_cards,
    "star98": _star98,
}


def regression_sets() -> dict[str, Reader]:
    """Return how to read each set, by name."""
    files = {path.stem: partial(_file, path) for path in tables_in_folder(FOLDER)}
    sources = files | _SOURCES
    return {name: partial(_cut, source) for name, source in sources.items()}


def _cut(source: Callable[[], Table]) -> DataSet:
    X, y = source()
    rows = np.random.default_rng(0).permutation(len(X))[:MAX_SAMPLES]
    return DataSet(X[rows][:, X[rows].std(axis=0) > 0.0], y[rows])
