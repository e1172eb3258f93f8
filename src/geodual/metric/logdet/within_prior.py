"""The prior of nearest neighbours: the inverse of a shrunk covariance within the classes.

In units T in which all features have the same variance, let R be the mean covariance within the classes,
scaled to the mean variance 1. With the shrinkage s,

    W₀ = T⁻¹ ((1 − s) R + s I)⁻¹ T⁻¹.

Directions in which a class is wide count less, as in linear discriminant analysis.
"""

from __future__ import annotations

import numpy as np

from geodual.arrays import Array, Indices
from geodual.manifolds.spd import symmetrised

from ..scatter import distinct_rows
from .prior import weighted_deviations
from .space import FeatureSpace, SampleSpan


def within_space(
    X: Array, labels: Indices, weight: Array | None, shrinkage: float
) -> FeatureSpace | SampleSpan:
    """Return the coordinates in which to learn: the features, or the span of the samples if it is smaller.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Samples.
    labels : array of shape (n_samples,)
        Classes 0, 1, ….
    weight : array of shape (n_samples,), optional
        How often each sample counts; once by default.
    shrinkage : float
        0 < s ≤ 1.
    """
    deviations = weighted_deviations(X, weight)
    units = np.sqrt(np.einsum("ij,ij->j", deviations, deviations))
    units = np.where(units > 0.0, units, units.max())
    n_features = X.shape[1]
    first, place = distinct_rows(X)
    Y = X - X[first].mean(axis=0)
    if len(first) >= n_features:
        M = _shrunk_covariance(Y / units, labels, weight, n_features, shrinkage)
        return FeatureSpace(Y, np.linalg.inv(M) / np.outer(units, units), M * np.outer(units, units))
    Q, R = np.linalg.qr((Y[first] / units).T)
    M = _shrunk_covariance(R.T[place], labels, weight, n_features, shrinkage)
    spectrum, axes = np.linalg.eigh(M)
    V = Q @ axes
    basis = V / np.sqrt(spectrum) / units[:, None]
    dual_basis = V * np.sqrt(spectrum) * units[:, None]
    coordinates = (R.T @ (axes / np.sqrt(spectrum)))[place]
    outside = 1.0 / (shrinkage * units**2)
    return SampleSpan(coordinates, V, basis, dual_basis, outside, spectrum / shrinkage)


def _shrunk_covariance(
    Z: Array, labels: Indices, weight: Array | None, n_features: int, shrinkage: float
) -> Array:
    """Return (1 − s) R + s I in the coordinates of Z, whose mean variance is taken over all features."""
    weight = np.ones(len(Z)) if weight is None else weight
    sums = np.zeros((int(labels.max()) + 1, Z.shape[1]))
    np.add.at(sums, labels, weight[:, None] * Z)
    totals = np.bincount(labels, weight)
    deviations = Z - (sums / np.maximum(totals, np.finfo(float).tiny)[:, None])[labels]
    scatter = symmetrised((deviations.T * weight) @ deviations)
    variance = float(np.trace(scatter)) / n_features
    # If all samples of a class are equal, there is no covariance, only the shrinkage.
    shape = scatter / variance if variance > 0.0 else np.zeros_like(scatter)
    return (1.0 - shrinkage) * shape + shrinkage * np.eye(len(scatter))
