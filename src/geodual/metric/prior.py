"""The matrix W₀ that a learnt metric starts from and is kept near."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.manifolds import SPD, NotOnManifoldError
from geodual.manifolds.base import Array

_FLOOR = 1e-8  # of the largest eigenvalue of a covariance; smaller ones are raised to it


def prior_matrices(prior: Any, X: Array) -> tuple[Array, Array]:
    """Return W₀ and its inverse.

    Parameters
    ----------
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        I, the inverse covariance of X, or a given matrix. A singular covariance is shrunk: its eigenvalues
        are raised to at least 1e-8 of the largest.
    X : array of shape (n_samples, n_features)
        Samples.
    """
    n_features = X.shape[1]
    if isinstance(prior, str) and prior == "identity":
        return np.eye(n_features), np.eye(n_features)
    if isinstance(prior, str) and prior == "covariance":
        return inverse_covariance(X)
    if isinstance(prior, str):
        raise ValueError(f'`prior` must be "identity", "covariance" or a matrix, got {prior!r}.')
    try:
        W0 = SPD(n_features).check_point(prior)
    except NotOnManifoldError as error:
        raise ValueError(f"`prior`: {error}") from None
    return W0, np.linalg.inv(W0)


def inverse_covariance(X: Array) -> tuple[Array, Array]:
    """Return the inverse of the covariance of X, shrunk if it is singular, and what it is the inverse of."""
    centred = X - X.mean(axis=0)
    spectrum, basis = np.linalg.eigh(centred.T @ centred / max(len(X) - 1, 1))
    if not spectrum[-1] > 0.0:
        raise ValueError("All samples are equal: there is no covariance to invert.")
    spectrum = np.maximum(spectrum, _FLOOR * spectrum[-1])
    return (basis / spectrum) @ basis.T, (basis * spectrum) @ basis.T
