"""The matrix W₀ that a learnt metric starts from and is kept near."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import SPD, NotOnManifoldError

from .scatter import centred, inverse_root
from .weights import copy_weight


def prior_matrices(prior: Any, X: Array, weight: Array | None = None) -> tuple[Array, Array]:
    """Return W₀ and its inverse.

    Parameters
    ----------
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        I, the inverse covariance of X, or a given matrix. A singular covariance is shrunk: with features in
        equal units, its eigenvalues are raised to at least 1e-8 of the largest.
    X : array of shape (n_samples, n_features)
        Samples.
    weight : array of shape (n_samples,), optional
        How often each sample counts.
    """
    n_features = X.shape[1]
    if isinstance(prior, str) and prior == "identity":
        return np.eye(n_features), np.eye(n_features)
    if isinstance(prior, str) and prior == "covariance":
        root = inverse_root(_covariance(X, np.ones(len(X)) if weight is None else weight))
        return root.T @ root, np.linalg.inv(root.T @ root)
    if isinstance(prior, str):
        raise ValueError(f'`prior` must be "identity", "covariance" or a matrix, got {prior!r}.')
    try:
        W0 = SPD(n_features).check_point(prior)
    except NotOnManifoldError as error:
        raise ValueError(f"`prior`: {error}") from None
    return W0, np.linalg.inv(W0)


def _covariance(X: Array, weight: Array) -> Array:
    mass = float(weight.sum())
    deviation = centred(X - weight @ X / mass)
    deviation = deviation - weight @ deviation / mass
    return np.asarray((deviation.T * weight) @ deviation / (mass - copy_weight(weight)))
