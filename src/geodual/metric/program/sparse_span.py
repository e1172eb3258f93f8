"""The span of few sparse samples of very many features, without an array of all samples and features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array, diags_array, hstack

from geodual.arrays import Array

from ..base.checks import copy_weight
from ..base.maps import (
    LowRankPlusDiagonal,
    feature_blocks,
    leading_components_in_span,
    symmetric_root,
)
from ..base.scatter import distinct_rows

_EPS = float(np.finfo(float).eps)
_ROUNDING = 64.0 * _EPS  # relative rounding error of a mean, with a safety factor


@dataclass(frozen=True, eq=False)
class EuclideanSpan:
    """Coordinates in the span of samples in which the prior is the Euclidean metric.

    Attributes
    ----------
    X : array of shape (n_samples, n_coordinates)
        The samples in the coordinates.
    """

    X: Array

    @property
    def Z(self) -> Array:
        """The samples in coordinates in which the prior is the Euclidean metric."""
        return self.X

    @property
    def prior(self) -> Array:
        """W₀ in the coordinates."""
        return np.eye(self.X.shape[1])

    @property
    def prior_inverse(self) -> Array:
        """W₀⁻¹ in the coordinates."""
        return self.prior


@dataclass(frozen=True, eq=False)
class SparseSpan(EuclideanSpan):
    """Coordinates y = Qᵀx in the span of sparse samples, with the identity as prior.

    The orthonormal basis Q = S F is stored as the columns of S, the sparse samples and their mean, and the
    coefficients F. A metric A of the coordinates represents W = I + Q (A − I) Qᵀ.

    Attributes
    ----------
    X : array of shape (n_samples, n_coordinates)
        The samples in the coordinates.
    columns : sparse array of shape (n_features, n_columns)
        S.
    coefficients : array of shape (n_columns, n_coordinates)
        F.
    """

    columns: Any
    coefficients: Array

    @property
    def axes(self) -> Array:
        """The basis Q."""
        return np.asarray(self.columns @ self.coefficients)

    def lift(self, A: Array) -> LowRankPlusDiagonal:
        """Return the metric of the features, given that of the coordinates."""
        F = self.coefficients
        core = F @ (A - self.prior) @ F.T
        return LowRankPlusDiagonal(np.ones(self.columns.shape[0]), self.columns, core, self.columns)

    def components(self, A: Array, n_components: int | None) -> Array | LowRankPlusDiagonal:
        """Return the map L of the metric A of the coordinates."""
        if n_components is None:
            return self.lift(symmetric_root(A))
        return leading_components_in_span(A, self.axes, n_components)


@dataclass(frozen=True, eq=False)
class ScaledSparseSpan(EuclideanSpan):
    """Coordinates in the span of sparse samples in which a shrunk covariance within classes is the identity.

    With features in equal units u, the prior is W₀ = T (V s⁻¹ Vᵀ + (I − V Vᵀ)/f) T for T = diag(1/u), the
    eigenvectors V = S G of the covariance in the span, its eigenvalues s there and f outside. A metric A of
    the coordinates represents W = T²/f + T V s^-½ (A − diag(s)/f) s^-½ Vᵀ T.

    Attributes
    ----------
    X : array of shape (n_samples, n_coordinates)
        The samples in the coordinates.
    units : array of shape (n_features,)
        u.
    columns : sparse array of shape (n_features, n_columns)
        S: the samples and their mean in these units.
    coefficients : array of shape (n_columns, n_coordinates)
        G.
    spectrum : array of shape (n_coordinates,)
        s.
    shrinkage : float
        f.
    """

    units: Array
    columns: Any
    coefficients: Array
    spectrum: Array
    shrinkage: float

    @classmethod
    def of(cls, span: SparseSpan, units: Array, M: Array, shrinkage: float) -> ScaledSparseSpan:
        """Return the span of samples in equal units, given the covariance M in its coordinates."""
        spectrum, axes = np.linalg.eigh(M)
        X = span.X @ (axes / np.sqrt(spectrum))
        return cls(X, units, span.columns, span.coefficients @ axes, spectrum, shrinkage)

    @property
    def _scaled_columns(self) -> Any:
        return csr_array(diags_array(1.0 / self.units) @ self.columns)

    def lift(self, A: Array) -> LowRankPlusDiagonal:
        """Return the metric of the features, given that of the coordinates."""
        G, columns = self.coefficients / np.sqrt(self.spectrum), self._scaled_columns
        core = G @ (A - np.diag(self.spectrum / self.shrinkage)) @ G.T
        return LowRankPlusDiagonal(1.0 / (self.shrinkage * self.units**2), columns, core, columns)

    def components(self, A: Array, n_components: int | None) -> LowRankPlusDiagonal:
        """Return the map L of the metric A of the coordinates."""
        if n_components is not None:
            raise ValueError(
                '`n_components` needs `prior="identity"` with sparse samples of many features, got '
                f"{n_components}; leave one of them out."
            )
        inside = np.sqrt(self.spectrum / self.shrinkage)
        core = (symmetric_root(A) - np.diag(inside)) / np.sqrt(self.spectrum)
        outside = 1.0 / (np.sqrt(self.shrinkage) * self.units)
        core = self.coefficients @ core @ self.coefficients.T
        return LowRankPlusDiagonal(outside, self.columns, core, self._scaled_columns)


def scaled_span(X: Any, weight: Array | None) -> tuple[SparseSpan, Array]:
    """Return the span of samples in units in which all features have the same variance, and the units.

    Parameters
    ----------
    X : sparse array of shape (n_samples, n_features)
        Samples, by rows.
    weight : array of shape (n_samples,), optional
        Weight of each sample; 1 by default.
    """
    weight = np.ones(X.shape[0]) if weight is None else weight
    mass, X = float(weight.sum()), csr_array(X)
    mean = np.asarray(weight @ X) / mass
    entries = weight[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))]
    squares = entries * (X.data - mean[X.indices]) ** 2
    there = np.bincount(X.indices, entries, minlength=X.shape[1])
    # Entries that are not stored are zeros, whose deviation is the mean.
    scatter = np.bincount(X.indices, squares, minlength=X.shape[1]) + np.maximum(mass - there, 0.0) * mean**2
    scatter[scatter <= mass * (_ROUNDING * mean) ** 2] = 0.0  # rounding errors of constant features
    if not 0.0 < scatter.max() < np.inf:
        raise ValueError("The samples are equal, or too large to be squared; check the features.")
    units = np.sqrt(scatter / (mass - copy_weight(weight)))
    units = np.where(units > 0.0, units, units.max())
    return sparse_span(csr_array(X @ diags_array(1.0 / units))), units


def sparse_span(X: Any) -> SparseSpan:
    """Return the span of the distinct, centered samples.

    Eigenvectors of the matrix of products of samples yield coefficients F of a basis Q = ZᵀF, with the
    centered samples Z. This loses digits, so the basis is orthonormalized again, which makes it exact up to
    rounding errors. Directions count as outside the span if the squared variation of the n samples is below n
    times the machine precision of the largest.

    Parameters
    ----------
    X : sparse array of shape (n_samples, n_features)
        Samples, by rows.
    """
    first, place = distinct_rows(X)
    samples = csr_array(X[first])
    mean = np.asarray(samples.sum(axis=0)).ravel() / len(first)
    spectrum, vectors = np.linalg.eigh(_products(samples, mean, np.eye(len(first)))[1])
    kept = spectrum > len(first) * _EPS * max(float(spectrum[-1]), 0.0)
    F = vectors[:, kept] / np.sqrt(spectrum[kept])
    Y, overlap = _products(samples, mean, F)  # ZQ and QᵀQ
    # Cholesky orthogonalization: with QᵀQ = R Rᵀ, the columns of Q R⁻ᵀ are orthonormal.
    R = np.linalg.cholesky(overlap)
    F, Y = (solve_triangular(R, matrix.T, lower=True).T for matrix in (F, Y))
    # The basis consists of deviations from the mean; the last column and row represent the mean.
    columns = csr_array(hstack([samples.T, csr_array(mean[:, None])]))
    return SparseSpan(Y[place], columns, np.vstack([F, -F.sum(axis=0)]))


@np.errstate(over="ignore", invalid="ignore")  # the sums are checked at the end
def _products(samples: Any, mean: Array, F: Array) -> tuple[Array, Array]:
    """Return ZQ and QᵀQ for the deviations Z of the samples from their mean, and Q = ZᵀF.

    Only a part of the features is in memory at a time.
    """
    Y, overlap = np.zeros((samples.shape[0], F.shape[1])), np.zeros((F.shape[1], F.shape[1]))
    by_feature = samples.tocsc()
    for block in feature_blocks(*samples.shape):
        Z = by_feature[:, block].toarray() - mean[block]
        Q = Z.T @ F
        Y += Z @ Q
        overlap += Q.T @ Q
    if not np.isfinite(overlap).all():
        raise ValueError("The features are too large to be squared; scale the features.")
    return Y, overlap
