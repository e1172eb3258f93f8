"""Samples given as a dask array: checked, and loaded into blocks on the workers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from geodual.cluster import check_dask_array, gathered, is_dask

from ..labels import UNKNOWN, encoded_labels, warn_of_unknown
from .sample_blocks import SampleBlocks
from .weights import check_sample_weight


def load_samples(learner: Any, X: Any, y: Any, sample_weight: Any, stacklevel: int = 4) -> SampleBlocks:
    """Check samples given as a dask array, and load them into blocks on the workers.

    Labels and weights are gathered, 16 bytes per sample; samples are not.

    Parameters
    ----------
    learner : estimator
        The learner, which gets the attribute `n_features_in_`.
    X : dask array of shape (n_samples, n_features)
        Samples.
    y : array or dask array of shape (n_samples,)
        Class labels.
    sample_weight : array or dask array of shape (n_samples,), optional
        How often each sample counts; once by default.
    stacklevel : int
        Of warnings, so that they name the caller of `fit`.
    """
    check_dask_array(X)
    _check_shape(X)
    if y is None:
        raise ValueError(f"{type(learner).__name__} needs labels; give `y`.")
    y, sample_weight = (gathered([values])[0] if is_dask(values) else values for values in (y, sample_weight))
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    check_classification_targets(y)
    labels, weight = encoded_labels(y, type(learner).__name__), None
    if sample_weight is not None:
        weight = check_sample_weight(sample_weight, labels)
        if len(np.unique(labels[(labels != UNKNOWN) & (weight > 0.0)])) < 2:
            raise ValueError("`sample_weight` must be positive for samples of at least two classes.")
    validate_data(learner, X, skip_check_array=True)
    warn_of_unknown(labels if weight is None else labels[weight > 0.0], stacklevel)
    return SampleBlocks.of(X, labels, weight)


def _check_shape(X: Any) -> None:
    n_samples, n_features = X.shape
    if n_samples < max(n_features, 2):
        raise ValueError(
            f"`X` has {n_samples} samples of {n_features} features. A dask array needs at least as many "
            "samples as features; give `X.compute()`."
        )
