"""The prior W₀: the metric that a fit starts from and stays near."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import SPD, NotOnManifoldError

from ..pairs.weights import copy_weight
from ..scatter import centred, inverse_root


def prior_matrices(prior: Any, X: Array, weight: Array | None = None) -> tuple[Array, Array]:
    """Return W₀ and its inverse.

    Parameters
    ----------
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        The identity, the inverse covariance of X, or a given positive definite matrix. A singular covariance
        is regularised: with features in equal units, its eigenvalues are raised to at least 1e-8 of the
        largest.
    X : array of shape (n_samples, n_features)
        Samples.
    weight : array of shape (n_samples,), optional
        How often each sample counts; once by default.

    Returns
    -------
    W0, inverse : array of shape (n_features, n_features)
        W₀ and W₀⁻¹.
    """
    n_features = X.shape[1]
    if isinstance(prior, str) and prior == "identity":
        return np.eye(n_features), np.eye(n_features)
    if isinstance(prior, str) and prior == "covariance":
        deviations = weighted_deviations(X, weight)
        root = inverse_root(deviations.T @ deviations)
        return root.T @ root, np.linalg.inv(root.T @ root)
    W0 = check_prior(prior, n_features)
    try:
        return W0, np.linalg.inv(W0)
    except np.linalg.LinAlgError:
        raise ValueError(
            "`prior` is singular up to rounding errors; add a small multiple of the identity, or scale the "
            "features."
        ) from None


def check_prior(prior: Any, n_features: int) -> Array:
    """Return a given prior W₀ as an array; raise if it is not a positive definite matrix of this size."""
    if isinstance(prior, str):
        raise ValueError(f'`prior` must be "identity", "covariance" or a matrix, got {prior!r}.')
    try:
        return np.asarray(SPD(n_features).check_point(prior))
    except NotOnManifoldError as error:
        raise ValueError(f"`prior`: {error}") from None


def weighted_deviations(X: Array, weight: Array | None) -> Array:
    """Return V with VᵀV the covariance of X: deviations from the mean, scaled by the roots of the weights."""
    weight = np.ones(len(X)) if weight is None else weight
    mass = float(weight.sum())
    deviation = centred(X - weight @ X / mass)
    # `centred` subtracts the unweighted mean, so subtract the weighted one again.
    deviation = deviation - weight @ deviation / mass
    # One copy less in the divisor: n − 1 for weights of 1.
    return np.asarray(deviation * np.sqrt(weight / (mass - copy_weight(weight)))[:, None])
