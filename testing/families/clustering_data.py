"""The data sets of the k-means family, standardized."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ..problems.case import Array

FOLDER = "GEODUAL_CLASSIFICATION"
"""Environment variable with a folder of sonar.csv and ecoli.csv: no header, the label in the last column."""

_BUILT_IN = ("iris", "wine")
_SHAPES = {"sonar": (208, 60), "ecoli": (336, 7)}


def standardized(name: str) -> Array:
    """Return the samples of a data set with mean 0 and variance 1 in every column.

    Two columns of ecoli with two values each are omitted, as in the data of Liu and Boumal.

    Parameters
    ----------
    name : str
        "iris" or "wine" from scikit-learn, or "sonar" or "ecoli" from the folder in `FOLDER`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """
    X = _built_in(name) if name in _BUILT_IN else _from_folder(name)
    if name == "ecoli":
        X = X[:, [len(np.unique(column)) > 2 for column in X.T]]
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0, ddof=1))


def _built_in(name: str) -> Array:
    from sklearn import datasets  # slow to import

    return np.asarray(getattr(datasets, f"load_{name}")().data, dtype=float)


def _from_folder(name: str) -> Array:
    folder = os.environ.get(FOLDER)
    if folder is None:
        raise FileNotFoundError(f"`{FOLDER}` is not set; set it to the folder with {name}.csv.")
    path = Path(folder) / f"{name}.csv"
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}; `{FOLDER}` must be the folder with {name}.csv.")
    X = np.loadtxt(path, delimiter=",", dtype=str)[:, :-1].astype(float)
    if X.shape != _SHAPES[name]:
        raise ValueError(f"{path} must have {_SHAPES[name]} rows and columns besides labels, got {X.shape}.")
    return X
