"""Scatter matrices of samples: copies, regularization, inverse roots, whitening, sums over pairs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dorgqr
from scipy.sparse import issparse

from geodual.arrays import Array, Indices

from .maps import LARGEST, LowRankPlusDiagonal

_FLOOR = 1e-8  # times the largest eigenvalue; smaller eigenvalues are raised to this
_SMALLEST = 1e-150  # the square of a smaller number may underflow
_ROUNDING = 64.0 * float(np.finfo(float).eps)  # relative rounding error of a mean, with a safety factor


def centered(X: Array) -> Array:
    """Center X; features that vary only by rounding errors become zero."""
    result = X - X.mean(axis=0)
    result[:, ~varying(np.abs(result).max(axis=0), np.abs(X).max(axis=0))] = 0.0
    return np.asarray(result)


def varying(deviation: Array, size: Array) -> NDArray[np.bool_]:
    """Return which features vary beyond rounding errors; raise an error if none do, or they are extreme.

    Parameters
    ----------
    deviation, size : array of shape (n_features,)
        The largest distance from the mean, and the largest absolute value, of each feature.
    """
    varies = deviation > _ROUNDING * size
    if not varies.any():
        raise ValueError("All samples are equal, so there is no metric to learn; check the features.")
    if not _SMALLEST < deviation[varies].max() < LARGEST:
        raise ValueError("The features are too small or too large to be squared; scale the features.")
    return np.asarray(varies)


def without_rounding(deviation: Array, X: Array) -> Array:
    """Return deviations of samples X from means, with features that are only rounding errors set to zero."""
    varies = np.abs(deviation).max(axis=0, initial=0.0) > _ROUNDING * np.abs(X).max(axis=0, initial=0.0)
    return np.asarray(deviation * varies)


def standing_for(covariance: Array) -> Array:
    """Return 2 n samples with this covariance and mean zero, where n is the number of features.

    They replace samples that are not in memory wherever only the covariance matters.
    """
    scales = feature_scales(covariance)
    # In equal units, so that features with small scatter keep their digits.
    spectrum, basis = np.linalg.eigh(covariance / np.outer(scales, scales))
    root = (basis * np.sqrt(np.maximum(spectrum, 0.0))).T * scales
    root[:, np.diag(covariance) == 0.0] = 0.0  # keep constant features constant, without rounding errors
    return np.asarray(np.vstack([root, -root]) * np.sqrt(len(root) - 0.5))  # half of the divisor 2 n − 1


def distinct_rows(X: Any) -> tuple[Indices, Indices]:
    """Return the row numbers of first occurrences, and for each row the position of its equal among them.

    X is an array, or a sparse array by rows.
    """
    if issparse(X):
        return _distinct_sparse_rows(X)
    rows = np.ascontiguousarray(X) + 0.0  # turns −0.0 into 0.0, which has different bytes
    # Byte strings sort much faster than rows of numbers.
    strings = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, place = np.unique(strings, return_index=True, return_inverse=True)
    return first, place.ravel()


def _distinct_sparse_rows(X: Any) -> tuple[Indices, Indices]:
    X = X.copy()
    X.sum_duplicates()  # also sorts the entries of each row
    X.eliminate_zeros()
    places: dict[bytes, int] = {}
    rows = [slice(start, stop) for start, stop in pairwise(X.indptr.tolist())]
    keys = [X.indices[row].tobytes() + X.data[row].tobytes() for row in rows]
    place = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.intp)
    return np.unique(place, return_index=True)[1], place


def feature_scales(scatter: Array) -> Array:
    """Return the square root of the diagonal of a scatter matrix; constant features get the largest one."""
    scales = np.sqrt(np.diag(scatter))
    return np.where(scales > 0.0, scales, scales.max())


def raised_spectrum(scatter: Array, largest: float | None = None) -> tuple[Array, Array]:
    """Return the eigenvalues of a scatter matrix, raised to at least 1e-8 of the largest, and eigenvectors.

    Parameters
    ----------
    scatter : array of shape (n_features, n_features)
        A positive semidefinite matrix, in units in which all features scatter equally.
    largest : float, optional
        Replaces the largest eigenvalue if the matrix is zero.
    """
    spectrum, basis = np.linalg.eigh(scatter)
    return np.maximum(spectrum, raised_floor(spectrum, largest)), basis


def raised_floor(spectrum: Array, largest: float | None = None) -> float:
    """Return the number to which eigenvalues are raised: 1e-8 of the largest, or of `largest` if it is 0."""
    top = float(spectrum.max())
    return _FLOOR * (top if top > 0.0 or largest is None else largest)


def inverse_root(scatter: Array) -> Array:
    """Return M with MᵀM the inverse of a scatter matrix; its rows are sorted by decreasing scatter.

    A (nearly) singular matrix is regularized in units in which all features scatter equally.
    """
    scales = feature_scales(scatter)
    spectrum, basis = raised_spectrum(scatter / np.outer(scales, scales))
    return oriented(((basis / np.sqrt(spectrum)).T / scales)[::-1])


def inverse_root_in_span(V: Array, n_rows: int) -> Array:
    """Return the first rows of `inverse_root` of VᵀV without forming VᵀV, for V with few rows.

    Parameters
    ----------
    V : array of shape (n_samples, n_features)
        A square root of the scatter matrix.
    n_rows : int
        Number of rows of the result.
    """
    scales, spectrum, basis, floor = raised_factors(V)
    rows = (basis / np.sqrt(spectrum)).T
    if n_rows > len(rows):
        rows = np.vstack([rows, _outside(basis, n_rows - len(rows)).T / np.sqrt(floor)])
    return oriented(rows[:n_rows] / scales)


def _outside(basis: Array, n_columns: int) -> Array:
    """Return orthonormal directions orthogonal to the columns of a basis."""
    n_features, n_inside = basis.shape
    # The last columns of the full orthogonal factor, which `qr` would form as a whole.
    reflectors, scales = np.linalg.qr(basis, mode="raw")
    columns = np.zeros((n_features, n_inside + n_columns), order="F")
    columns[:, :n_inside] = reflectors.T
    return np.asarray(dorgqr(columns, scales, overwrite_a=True)[0][:, n_inside:])


def low_rank_inverse_root(V: Array) -> LowRankPlusDiagonal:
    """Return M with MᵀM the regularized inverse of VᵀV, as in `inverse_root`, without forming it.

    In units T⁻¹ in which all features scatter equally, let B be the eigenvectors in the span of the rows of
    V, s their raised eigenvalues, and f the floor to which all other eigenvalues are raised. Then M = (f^-½ I
    + B (s^-½ − f^-½) Bᵀ) T.
    """
    scales, spectrum, basis, floor = raised_factors(V)
    outside = 1.0 / np.sqrt(floor)
    core = np.diag(1.0 / np.sqrt(spectrum) - outside)
    return LowRankPlusDiagonal(outside / scales, basis, core, basis / scales[:, None])


def raised_factors(V: Array) -> tuple[Array, Array, Array, float]:
    """Return scales of the features, and the raised spectrum of VᵀV in these units.

    Only eigenvectors in the span of the rows of V are computed. All other eigenvalues are zero, and raised to
    the floor.

    Returns
    -------
    scales : array of shape (n_features,)
        Units in which all features scatter equally.
    spectrum : array of shape (n_rows,)
        Eigenvalues in the span, raised to at least 1e-8 of the largest.
    basis : array of shape (n_features, n_rows)
        Their eigenvectors.
    floor : float
        1e-8 of the largest eigenvalue.
    """
    scales = np.sqrt(np.einsum("ij,ij->j", V, V))
    scales = np.where(scales > 0.0, scales, scales.max())
    _, spread, axes = np.linalg.svd(V / scales, full_matrices=False)
    floor = _FLOOR * float(spread[0]) ** 2
    return scales, np.maximum(spread**2, floor), axes.T, floor


def whitened(Z: Array) -> tuple[Array, Array]:
    """Return centered samples in coordinates in which their covariance is I, and the map to them.

    The number of coordinates is the rank of the samples with features in equal units.

    Returns
    -------
    U : array of shape (n_samples, rank)
        The whitened samples, Z Mᵀ.
    M : array of shape (rank, n_features)
        The map.
    """
    scales = np.sqrt(np.einsum("ij,ij->j", Z, Z) / len(Z))
    scales[scales == 0.0] = np.inf  # constant features become zero and have no effect
    U, spread, axes = np.linalg.svd(Z / scales, full_matrices=False)
    rank = int((spread > _ROUNDING * max(Z.shape) * spread[0]).sum())
    size = np.sqrt(len(Z))  # singular vectors have length 1; whitened columns have mean square 1
    return U[:, :rank] * size, axes[:rank] / scales * (size / spread[:rank, None])


def oriented(components: Array) -> Array:
    """Flip rows so that the largest entry is positive, for the same signs on every machine."""
    largest = np.abs(components).argmax(axis=1)
    return components * np.where(components[np.arange(len(components)), largest] < 0.0, -1.0, 1.0)[:, None]


def pair_scatters(X: Array, labels: NDArray[np.intp], weight: Array) -> tuple[Array, Array]:
    r"""Return the sums of (x − x′)(x − x′)ᵀ over all pairs within classes, and over pairs between classes.

    With the weight n_c, the mean m_c and the scatter T_c about the mean of class c, and n and m for all
    samples,

    .. math:: S = \sum_c n_c T_c, \qquad
              D = \sum_c (n - n_c) T_c + n \sum_c n_c (m_c - m)(m_c - m)^\top.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Samples.
    labels : array of int
        Classes.
    weight : array of shape (n_samples,)
        Weights of the samples. Each pair counts once, with the product of its samples' weights.
    """
    totals, sums = class_sums(X, labels, weight, int(labels.max()) + 1)
    means = class_means(totals, sums)
    S, D = scatter_sums(X, labels, weight, totals, means)
    return S, D + between_sum(totals, means)


def class_sums(X: Array, labels: NDArray[np.intp], weight: Array, n_classes: int) -> tuple[Array, Array]:
    """Return the total weight and the weighted sum of samples of each class, which add up over parts."""
    members = [labels == c for c in range(n_classes)]
    sums = [weight[rows] @ X[rows] for rows in members]
    return np.bincount(labels, weight, minlength=n_classes).astype(float), np.array(sums)


def class_means(totals: Array, sums: Array) -> Array:
    """Return the mean of each class; zero for a class of weight zero."""
    return sums / np.where(totals > 0.0, totals, 1.0)[:, None]


def scatter_sums(
    X: Array, labels: NDArray[np.intp], weight: Array, totals: Array, means: Array
) -> tuple[Array, Array]:
    """Return Σ n_c T_c and Σ (n − n_c) T_c of some samples, with the scatter T_c about the mean of class c.

    The weights n_c and the means, by label, are those of all samples, so that sums over parts of the samples,
    such as those on the workers of a cluster, add up; see `pair_scatters`.
    """
    S, D = (np.zeros((X.shape[1], X.shape[1])) for _ in range(2))
    for c in np.unique(labels):
        rows = labels == c
        Z = (X[rows] - means[c]) * np.sqrt(weight[rows])[:, None]
        T = Z.T @ Z
        S += totals[c] * T
        D += (totals.sum() - totals[c]) * T
    return S, D


def between_sum(totals: Array, means: Array) -> Array:
    """Return n Σ n_c (m_c − m)(m_c − m)ᵀ."""
    mass = totals.sum()
    between = (means - totals @ means / mass) * np.sqrt(totals)[:, None]
    return np.asarray(mass * (between.T @ between))
