"""Samples for a machine: dense and finite, with missing values replaced by medians."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from geodual.arrays import Array
from geodual.cluster import check_dask_array, gathered, is_dask

from ..base.metric_learner import check_size

_MOST_ENTRIES = 200_000_000  # of sparse samples to be made dense: 1.6 GB


def read_chunks(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None]:
    """Return samples given as a dask array, and their targets and weights as numpy arrays.

    If there are few enough samples for an exact machine, they become a numpy array, too.

    Parameters
    ----------
    estimator : estimator
        Has the parameters `predictor`, `max_exact` and `n_landmarks`; its number of features is set.
    X : dask array of shape (n_samples, n_features)
        Samples.
    y : array or dask array
        Targets.
    sample_weight : array or dask array of shape (n_samples,), or None
        Weight of each sample.
    """
    check_dask_array(X)
    if y is None:
        raise ValueError(f"{type(estimator).__name__} needs targets; pass `y`.")
    if estimator.predictor != "kernel":
        raise ValueError(
            f'A dask array needs `predictor="kernel"`, got "{estimator.predictor}". Set it, or pass '
            "`X.compute()`."
        )
    y, sample_weight = (gathered([values])[0] if is_dask(values) else values for values in (y, sample_weight))
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    check_consistent_length(X, y, sample_weight)
    validate_data(estimator, X, skip_check_array=True)
    if len(X) <= max(estimator.max_exact, estimator.n_landmarks):
        X = gathered([X])[0]
    return X, y, sample_weight


def read_samples(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """Return samples as a dense array of floats, and targets if given; NaN is a missing value.

    Parameters
    ----------
    estimator : estimator
        Sets or checks its number and names of features.
    X : array, table or sparse array of shape (n_samples, n_features)
        Samples.
    y : array, optional
        Targets.
    **options
        Options of scikit-learn's `validate_data`.
    """
    if is_dask(X):
        raise ValueError("`X` must be a numpy array here, got a dask array; pass `X.compute()`.")
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
    """Return a block of a dask array in double precision; raise an error if a value is infinite."""
    found: Array = np.asarray(X, dtype=float)
    if np.isinf(found).any():
        raise ValueError("`X` contains infinity; remove such samples, or make these values missing (NaN).")
    return found


def completed(X: Array, medians: Array) -> Array:
    """Return samples in double precision, with missing values replaced by medians."""
    X = np.where(np.isnan(X), medians, np.asarray(X, dtype=float))
    check_size(X)
    return X
