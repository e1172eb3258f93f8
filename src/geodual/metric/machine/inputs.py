"""Samples for a machine: dense, finite, and with medians in place of missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from geodual.arrays import Array

from ..base.metric_learner import check_size

_MOST_ENTRIES = 200_000_000  # of sparse samples that are made dense: 1.6 GB


def read_samples(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """Return samples as a dense array of floats, and targets if given; NaN is a missing value.

    Parameters
    ----------
    estimator : estimator
        Keeps or checks the number and names of the features.
    X : array, table or sparse array of shape (n_samples, n_features)
        Samples.
    y : array, optional
        Targets.
    **options
        Options of scikit-learn's `validate_data`.
    """
    checked = validate_data(
        estimator,
        X,
        y,
        dtype=[np.float64, np.float32],
        accept_sparse="csr",
        ensure_all_finite="allow-nan",
        **options,
    )
    if isinstance(y, str):
        return _dense(checked)
    return _dense(checked[0]), checked[1]


def _dense(X: Any) -> Array:
    if not issparse(X):
        return np.asarray(X)
    if X.shape[0] * X.shape[1] > _MOST_ENTRIES:
        raise ValueError(
            f"Sparse samples are made dense here, and {X.shape[0]:,} × {X.shape[1]:,} are too many numbers; "
            "reduce the features first, for example by TruncatedSVD."
        )
    return np.asarray(X.toarray())


def finite_or_missing(X: Any) -> Array:
    """Return a block of a dask array in double precision; raise if a value is infinite."""
    X = np.asarray(X, dtype=float)
    if np.isinf(X).any():
        raise ValueError("`X` contains infinity; remove such samples, or make these values missing (NaN).")
    return X


def completed(X: Array, medians: Array) -> Array:
    """Return samples in double precision with medians in place of missing values."""
    X = np.where(np.isnan(X), medians, np.asarray(X, dtype=float))
    check_size(X)
    return X
