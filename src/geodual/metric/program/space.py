"""The prior W₀, and the coordinates for learning a metric: features, or the span of the samples.

Outside the span of the samples, pairs have no effect, so the LogDet divergence keeps W equal to W₀ there.
With W₀ = LLᵀ and an orthonormal basis Q of the span of the samples Lᵀx, the optimum is

    W = W₀ + B (A − I) Bᵀ,   B = L Q,

where A is the optimum for the samples y = Bᵀx with the prior I. A has at most as many rows as there are
samples, and the same objective and duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from geodual.arrays import Array, Indices
from geodual.manifolds import SPD, NotOnManifoldError
from geodual.manifolds.spd import symmetrized

from ..base.checks import copy_weight
from ..base.maps import (
    MANY_FEATURES,
    LowRankPlusDiagonal,
    factor,
    leading_components,
    leading_components_in_span,
    symmetric_root,
)
from ..base.scatter import centered, distinct_rows, inverse_root, raised_factors
from .sparse_span import EuclideanSpan, ScaledSparseSpan, SparseSpan, scaled_span, sparse_span

_COPIES = 16  # with this many samples per feature, distinct samples are hardly fewer than features
_BLOCK = 128  # rows that are symmetrized at once

_SEEN = 1000  # samples for computing medians
_FAR_AWAY = 1e6  # distance of the mean from the median, in units of the median deviation
_SMALLEST = 1e-140  # the inverse squares of smaller numbers overflow


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """The features themselves as coordinates.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        The samples.
    prior, prior_inverse : array of shape (n_features, n_features)
        W₀ and its inverse.
    """

    X: Array
    prior: Array
    prior_inverse: Array

    @cached_property
    def Z(self) -> Array:
        """The samples in coordinates in which the prior is the Euclidean metric."""
        return np.asarray(self.X @ factor(self.prior))

    def lift(self, A: Array) -> Array:
        """Return the metric of the features, given that of the coordinates."""
        return A

    def components(self, A: Array, n_components: int | None) -> Array:
        """Return the map L of the metric A of the coordinates."""
        return leading_components(A, n_components)


@dataclass(frozen=True, eq=False)
class SampleSpan(EuclideanSpan):
    """Coordinates y = Bᵀx in the span of the samples, in which the prior is the Euclidean metric.

    A metric A of the coordinates represents W = O + B (A − K) Bᵀ, where W₀ = O + B (I − K) Bᵀ.

    Attributes
    ----------
    X : array of shape (n_samples, n_coordinates)
        The samples in the coordinates.
    axes : array of shape (n_features, n_coordinates)
        Q, an orthonormal basis of the span in feature coordinates in which the prior is Euclidean.
    basis : array of shape (n_features, n_coordinates)
        B.
    outside : array of shape (n_features,) or (n_features, n_features)
        The diagonal of O, or the full matrix.
    inside : array of shape (n_coordinates,)
        The diagonal of K.
    """

    axes: Array
    basis: Array
    outside: Array
    inside: Array

    @property
    def _is_large(self) -> bool:
        return self.outside.ndim == 1 and len(self.outside) > MANY_FEATURES

    def lift(self, A: Array) -> Array | LowRankPlusDiagonal:
        """Return the metric of the features, given that of the coordinates."""
        core = A - np.diag(self.inside)
        if self._is_large:
            return LowRankPlusDiagonal(self.outside, self.basis, core, self.basis)
        W = self.basis @ core @ self.basis.T
        _symmetrize(W)
        return _added(W, self.outside)

    def components(self, A: Array, n_components: int | None) -> Array | LowRankPlusDiagonal:
        """Return the map L of the metric A of the coordinates."""
        # With the identity as prior, the basis is orthonormal and yields the eigenvectors of W.
        if n_components is not None and self.basis is self.axes:
            return leading_components_in_span(A, self.axes, n_components)
        if n_components is not None and self._is_large:
            raise ValueError(
                f'`n_components` needs `prior="identity"` with fewer samples than features and more than '
                f"{MANY_FEATURES:,} features, got {n_components}; leave one of them out."
            )
        if n_components is not None or self.outside.ndim == 2:
            return leading_components(np.asarray(self.lift(A)), n_components)
        # O^½ + Q (A^½ − K^½) Bᵀ, for the identity the symmetric root of W; faster than Cholesky.
        core = symmetric_root(A) - np.diag(np.sqrt(self.inside))
        if self._is_large:
            return LowRankPlusDiagonal(np.sqrt(self.outside), self.axes, core, self.basis)
        return _added(self.axes @ core @ self.basis.T, np.sqrt(self.outside))


def _symmetrize(matrix: Array) -> None:
    """Replace a matrix by its symmetric part, in place and in blocks, which is faster for large matrices."""
    for start in range(0, len(matrix), _BLOCK):
        block = slice(start, start + _BLOCK)
        mean = 0.5 * (matrix[block, start:] + matrix[start:, block].T)
        matrix[block, start:] = mean
        matrix[start:, block] = mean.T


def _added(matrix: Array, other: Array) -> Array:
    """Add a matrix, or a diagonal given as a vector, in place."""
    if other.ndim == 2:
        matrix += other
    else:
        matrix.flat[:: len(matrix) + 1] += other
    return matrix


Space = FeatureSpace | SampleSpan | SparseSpan | ScaledSparseSpan


def choose_space(prior: Any, X: Any, weight: Array | None = None, *, reduce: bool = True) -> Space:
    """Return the span of the samples if there are fewer distinct samples than features, or the features.

    In both, the samples are centered, because distances are computed from products of samples, and a large
    mean would cost digits.

    Parameters
    ----------
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        W₀, as in `prior_matrices`.
    X : array or sparse array of shape (n_samples, n_features)
        Samples. A sparse array stays sparse in the span of many features, if the prior is the identity.
    weight : array of shape (n_samples,), optional
        Weight of each sample; 1 by default.
    reduce : bool
        False always returns the features.
    """
    n_samples, n_features = X.shape
    if isinstance(prior, LowRankPlusDiagonal):
        raise ValueError(
            f"`prior` must be a matrix in memory, got a {type(prior).__name__}; pass `prior.to_dense()`, "
            "or select features."
        )
    if issparse(X):
        if reduce and isinstance(prior, str) and prior == "identity" and stays_sparse(X):
            return sparse_span(X)
        X = dense_rows(X)
    if not reduce or n_samples >= _COPIES * n_features:
        return _feature_space(prior, X, weight)
    # Use the span of the distinct samples, so that repeated samples do not change a single bit.
    first, place = distinct_rows(X)
    if len(first) >= n_features:
        return _feature_space(prior, X, weight)
    distinct = _centered(X[first])
    if isinstance(prior, str) and prior == "covariance":
        return _covariance_span(X, distinct, place, weight)
    if isinstance(prior, str) and prior == "identity":
        Q, R = np.linalg.qr(distinct.T)
        return SampleSpan(R.T[place], Q, Q, np.ones(n_features), np.ones(len(first)))
    W0 = check_prior(prior, n_features)
    L = np.linalg.cholesky(W0)
    Q, R = np.linalg.qr((distinct @ L).T)
    return SampleSpan(R.T[place], Q, L @ Q, W0, np.ones(len(first)))


def stays_sparse(X: Any) -> bool:
    """Return whether samples are sparse and should stay sparse: few samples of very many features."""
    return bool(issparse(X)) and X.shape[0] < X.shape[1] and X.shape[1] > MANY_FEATURES


def dense_rows(X: Any) -> Array:
    """Return sparse samples as an array; raise an error if there is not enough memory."""
    try:
        return np.asarray(X.toarray())
    except MemoryError:
        gigabytes = X.shape[0] * X.shape[1] * 8 / 1e9
        raise ValueError(
            f"Sparse samples of shape {X.shape} take {gigabytes:.3g} GB as an array, which this fit needs; "
            "select features, or map them to fewer with TruncatedSVD."
        ) from None


def _feature_space(prior: Any, X: Array, weight: Array | None) -> FeatureSpace:
    Z = _centered(X)
    return FeatureSpace(Z, *prior_matrices(prior, Z, weight))


def _centered(X: Array) -> Array:
    """Center X; features that do not vary become exactly 0, not the rounding error of a mean.

    Features are centered by the median if a sample is so far away that the mean would hide the other
    differences.
    """
    center, some = X.mean(axis=0), X[:: max(len(X) // _SEEN, 1)]
    median = np.median(some, axis=0)
    spread = np.median(np.abs(some - median), axis=0)
    far = (spread > 0.0) & (np.abs(center - median) > _FAR_AWAY * spread)
    Z = X - np.where(far, median, center)
    still = np.flatnonzero(Z[0] == Z[-1])
    Z[:, still[(Z[:, still] == Z[0, still]).all(axis=0)]] = 0.0
    return np.asarray(Z)


def _covariance_span(X: Array, distinct: Array, place: Indices, weight: Array | None) -> SampleSpan:
    """Return the span for the inverse covariance, whose eigenvalues outside the span are all equal.

    In units T⁻¹ in which all features have the same spread, let V be the eigenvectors of the covariance in
    the span, and s their eigenvalues, raised to at least f. Then W₀ = T (V s⁻¹ Vᵀ + (I − V Vᵀ)/f) T.
    """
    scales, spectrum, V, floor = raised_factors(weighted_deviations(X, weight))
    if scales.min() < _SMALLEST:
        raise ValueError("The features vary too little to invert their covariance; scale the features.")
    basis = V / np.sqrt(spectrum) / scales[:, None]
    Y = (distinct @ basis)[place]
    return SampleSpan(Y, V, basis, 1.0 / (floor * scales**2), spectrum / floor)


def prior_matrices(prior: Any, X: Array, weight: Array | None = None) -> tuple[Array, Array]:
    """Return W₀ and its inverse.

    Parameters
    ----------
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        The identity, the inverse covariance of X, or a given positive definite matrix. A singular covariance
        is regularized: with features in equal units, its eigenvalues are raised to at least 1e-8 of the
        largest.
    X : array of shape (n_samples, n_features)
        Samples.
    weight : array of shape (n_samples,), optional
        Weight of each sample; 1 by default.

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
    """Return a prior W₀ as an array; raise an error unless it is a positive definite matrix of this size."""
    if isinstance(prior, str):
        raise ValueError(f'`prior` must be "identity", "covariance" or a matrix, got {prior!r}.')
    try:
        return np.asarray(SPD(n_features).check_point(prior))
    except NotOnManifoldError as error:
        raise ValueError(f"`prior`: {error}") from None


def weighted_deviations(X: Array, weight: Array | None) -> Array:
    """Return V with VᵀV the covariance of X: deviations from the mean, scaled by roots of the weights."""
    weight = np.ones(len(X)) if weight is None else weight
    mass = float(weight.sum())
    deviation = centered(X - weight @ X / mass)
    # `centered` subtracts the unweighted mean, so subtract the weighted one again.
    deviation = deviation - weight @ deviation / mass
    # One copy fewer in the divisor: n − 1 for weights of 1.
    return np.asarray(deviation * np.sqrt(weight / (mass - copy_weight(weight)))[:, None])


def within_space(
    X: Any, labels: Indices, weight: Array | None, shrinkage: float
) -> FeatureSpace | SampleSpan | ScaledSparseSpan:
    """Return the coordinates for learning: the features, or the span of the samples if it is smaller.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
        Samples. A sparse array stays sparse in the span of many features.
    labels : array of shape (n_samples,)
        Classes 0, 1, ….
    weight : array of shape (n_samples,), optional
        Weight of each sample; 1 by default.
    shrinkage : float
        0 < s ≤ 1.
    """
    n_features = X.shape[1]
    if stays_sparse(X):
        span, units = scaled_span(X, weight)
        M = _shrunk_covariance(span.X, labels, weight, n_features, shrinkage)
        return ScaledSparseSpan.of(span, units, M, shrinkage)
    X = dense_rows(X) if issparse(X) else X
    deviations = weighted_deviations(X, weight)
    units = np.sqrt(np.einsum("ij,ij->j", deviations, deviations))
    units = np.where(units > 0.0, units, units.max())
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
    coordinates = (R.T @ (axes / np.sqrt(spectrum)))[place]
    outside = 1.0 / (shrinkage * units**2)
    return SampleSpan(coordinates, V, basis, outside, spectrum / shrinkage)


def _shrunk_covariance(
    Z: Array, labels: Indices, weight: Array | None, n_features: int, shrinkage: float
) -> Array:
    """Return (1 − s) R + s I in the coordinates of Z, with the mean variance taken over all features."""
    weight = np.ones(len(Z)) if weight is None else weight
    sums = np.zeros((int(labels.max()) + 1, Z.shape[1]))
    np.add.at(sums, labels, weight[:, None] * Z)
    totals = np.bincount(labels, weight)
    deviations = Z - (sums / np.maximum(totals, np.finfo(float).tiny)[:, None])[labels]
    scatter = symmetrized((deviations.T * weight) @ deviations)
    variance = float(np.trace(scatter)) / n_features
    # If all samples of a class are equal, there is no covariance, only the shrinkage.
    shape = scatter / variance if variance > 0.0 else np.zeros_like(scatter)
    return (1.0 - shrinkage) * shape + shrinkage * np.eye(len(scatter))
