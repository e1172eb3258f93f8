"""How samples scatter: by feature, in all directions, within classes and between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array

_FLOOR = 1e-8  # of the largest eigenvalue; smaller ones are raised to it
_SMALLEST, _LARGEST = 1e-150, 1e150  # numbers that can be squared
_ROUNDING = 64.0 * float(np.finfo(float).eps)


def centred(X: Array) -> Array:
    """Return X minus its mean; features that vary by no more than rounding errors become zero."""
    result = X - X.mean(axis=0)
    result[:, np.abs(result).max(axis=0) <= _ROUNDING * np.abs(X).max(axis=0)] = 0.0
    if not result.any():
        raise ValueError("All samples are equal: there is no metric to learn from them.")
    if not _SMALLEST < np.abs(result).max() < _LARGEST:
        raise ValueError("The features are too small or too large to square them; scale them.")
    return np.asarray(result)


def feature_scales(scatter: Array) -> Array:
    """Return the root of the diagonal of a scatter matrix; for constant features its largest entry."""
    scales = np.sqrt(np.diag(scatter))
    return np.where(scales > 0.0, scales, scales.max())


def raised_spectrum(scatter: Array, largest: float | None = None) -> tuple[Array, Array]:
    """Return eigenvalues of a scatter matrix, raised to at least 1e-8 of the largest, and eigenvectors.

    Parameters
    ----------
    scatter : array of shape (n_features, n_features)
        A positive semidefinite matrix in units in which all features are alike.
    largest : float, optional
        What to take for the largest eigenvalue of a matrix that is zero.
    """
    spectrum, basis = np.linalg.eigh(scatter)
    top = spectrum[-1] if spectrum[-1] > 0.0 or largest is None else largest
    return np.maximum(spectrum, _FLOOR * top), basis


def inverse_root(scatter: Array) -> Array:
    """Return M with MᵀM the inverse of a scatter matrix; rows by falling eigenvalue of what M inverts.

    A matrix that is singular or nearly so is made regular in units in which all features scatter alike.
    """
    scales = feature_scales(scatter)
    spectrum, basis = raised_spectrum(scatter / np.outer(scales, scales))
    return oriented(((basis / np.sqrt(spectrum)).T / scales)[::-1])


def whitened(Z: Array) -> tuple[Array, Array]:
    """Return centred samples in coordinates in which their covariance is I, and the map to these coordinates.

    There are as many coordinates as the samples, with features in equal units, span directions.

    Returns
    -------
    U : array of shape (n_samples, rank)
        The samples, Z Mᵀ.
    M : array of shape (rank, n_features)
        The map.
    """
    scales = np.sqrt(np.einsum("ij,ij->j", Z, Z) / len(Z))
    scales[scales == 0.0] = np.inf
    U, spread, axes = np.linalg.svd(Z / scales, full_matrices=False)
    rank = int((spread > _ROUNDING * max(Z.shape) * spread[0]).sum())
    size = np.sqrt(len(Z))
    return U[:, :rank] * size, axes[:rank] / scales * (size / spread[:rank, None])


def oriented(components: Array) -> Array:
    """Return rows with signs such that the largest entry is positive: the same result on every machine."""
    largest = np.abs(components).argmax(axis=1)
    return components * np.where(components[np.arange(len(components)), largest] < 0.0, -1.0, 1.0)[:, None]


def pair_scatters(X: Array, labels: NDArray[np.intp], weight: Array) -> tuple[Array, Array]:
    r"""Return the sums of (x − x′)(x − x′)ᵀ over all pairs of equal, and of different, classes.

    With n_c, m_c and T_c the weight, mean and scatter about the mean of class c, n and m those of all,

    .. math:: S = \sum_c n_c T_c, \qquad
              D = \sum_c (n - n_c) T_c + n \sum_c n_c (m_c - m)(m_c - m)^\top.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Samples.
    labels : array of int
        Classes.
    weight : array of shape (n_samples,)
        A pair weighs the product of the weights of its samples; each is counted once.
    """
    n_features = X.shape[1]
    S, D = np.zeros((n_features, n_features)), np.zeros((n_features, n_features))
    totals = np.bincount(labels, weight)
    present = np.flatnonzero(totals)
    means = np.zeros((len(totals), n_features))
    for c in present:
        members = labels == c
        means[c] = weight[members] @ X[members] / totals[c]
        Z = (X[members] - means[c]) * np.sqrt(weight[members])[:, None]
        T = Z.T @ Z
        S += totals[c] * T
        D += (totals.sum() - totals[c]) * T
    between = (means[present] - totals @ means / totals.sum()) * np.sqrt(totals[present])[:, None]
    return S, D + totals.sum() * (between.T @ between)
