"""The importance of features for a metric: their shares in the variance of the transformed samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from geodual.arrays import Array

from .low_rank import LowRankPlusDiagonal


def feature_shares(components: Array | LowRankPlusDiagonal, X: Any, weight: Array | None = None) -> Array:
    """Return the share of each feature in the total variance of X Lᵀ; equal shares if the variance is zero.

    The total variance tr(L Cov(X) Lᵀ) is the sum over features j of (W Cov(X))_jj. A term is negative if
    other features cancel the effect of feature j; it then counts as zero. Samples may be weighted.
    """
    n_samples, n_features = X.shape
    weight = np.ones(n_samples) if weight is None else weight
    # The diagonal of W XᵀX without forming XᵀX. The factor 1/n cancels in the shares.
    if isinstance(components, LowRankPlusDiagonal):
        diagonal = components.gram().scatter_diagonal(X, weight)
    elif issparse(X):
        L, zeros, one = components, np.zeros(n_features), np.eye(len(components))
        diagonal = LowRankPlusDiagonal(zeros, L.T, one, L.T).scatter_diagonal(X, weight)
    else:
        # In units in which no product overflows: the shares do not depend on them.
        X, components = of_unit_size(X), of_unit_size(components)
        centred = X - np.average(X, axis=0, weights=weight)
        # With few samples W is not formed either.
        few = 2 * n_samples < n_features
        product = centred @ components.T @ components if few else centred @ (components.T @ components)
        diagonal = np.einsum("ij,ij->j", product, centred * weight[:, None])
    positive = np.maximum(diagonal, 0.0)
    total = positive.sum()
    return positive / total if total > 0.0 else np.full(n_features, 1.0 / n_features)


def of_unit_size(X: Array) -> Array:
    """Return X divided by its largest absolute entry, so that squares neither vanish nor overflow."""
    largest = np.abs(X).max()
    return X / largest if largest > 0.0 else X
