"""The span of few sparse samples of very many features, without an array of all samples and features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array, hstack

from geodual.arrays import Array

from ..base.maps import (
    LowRankPlusDiagonal,
    feature_blocks,
    leading_components_in_span,
    symmetric_root,
)
from ..base.scatter import distinct_rows

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class SparseSpan:
    """Coordinates y = Qᵀx in the span of sparse samples, with the identity as prior.

    The orthonormal basis Q = S F is kept as the sparse samples and their mean, the columns of S, and the
    coefficients F. A metric A of the coordinates stands for W = I + Q (A − I) Qᵀ.

    Attributes
    ----------
    X : array of shape (n_samples, n_coordinates)
        The samples in the coordinates.
    columns : sparse array of shape (n_features, n_columns)
        S.
    coefficients : array of shape (n_columns, n_coordinates)
        F.
    """

    X: Array
    columns: Any
    coefficients: Array

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


def sparse_span(X: Any) -> SparseSpan:
    """Return the span of the distinct samples, which are centred.

    Eigenvectors of the matrix of products of samples give coefficients F of a basis Q = ZᵀF, with the centred
    samples Z. This loses digits, so the basis is made orthonormal a second time, which is then exact to
    rounding errors. Directions count as outside the span if the squared variation of the n samples is below
    n times the machine precision of the largest.

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
    # Cholesky orthogonalisation: with QᵀQ = R Rᵀ, the columns of Q R⁻ᵀ are orthonormal.
    R = np.linalg.cholesky(overlap)
    F, Y = (solve_triangular(R, matrix.T, lower=True).T for matrix in (F, Y))
    # The basis is made of deviations from the mean; the last column and row stand for it.
    columns = csr_array(hstack([samples.T, csr_array(mean[:, None])]))
    return SparseSpan(Y[place], columns, np.vstack([F, -F.sum(axis=0)]))


@np.errstate(over="ignore", invalid="ignore")  # the sums are checked at the end
def _products(samples: Any, mean: Array, F: Array) -> tuple[Array, Array]:
    """Return ZQ and QᵀQ for the deviations Z of the samples from their mean, and Q = ZᵀF.

    Only some features at a time are in memory.
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
