"""The geometric mean of GMML: from sums over similar and dissimilar pairs to a metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from geodual.arrays import Array

from .base.checks import check_not_negative, check_share
from .base.maps import TOO_EXTREME, LowRankPlusDiagonal, leading_components
from .base.scatter import centered, feature_scales, raised_floor, raised_spectrum
from .program.space import FeatureSpace, choose_space, prior_matrices, stays_sparse

_NARROWEST = 1e-15  # smallest scatter of a feature, relative to the largest, that keeps its digits

Matrix = Array | LowRankPlusDiagonal
Sums = Callable[[Array], tuple[Array, Array]]
"""A function from samples in any coordinates to S and D, the sums of v vᵀ over similar and other pairs."""


@dataclass(frozen=True, eq=False)
class GeometricMean:
    """The weighted geometric mean S⁻¹ #_t D of regularized sums over pairs.

    Attributes
    ----------
    t : float
        The weight of D.
    reg : float
        λ of S + λ A₀⁻¹ and D + λ A₀.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        A₀.
    n_components : int, optional
        Number of rows of the map; all by default.
    """

    t: float
    reg: float
    prior: Any
    n_components: int | None

    def check(self) -> None:
        """Raise an error if a parameter is not valid."""
        check_share("t", self.t)
        check_not_negative("reg", self.reg)

    def solve(self, X: Any, sums: Sums, weight: Array) -> tuple[Matrix, Matrix]:
        """Return A and the map L with LᵀL = A, or its leading rows.

        With fewer distinct samples than features, S and D are zero outside the span of the samples. If A₀ is
        the identity or has no effect, A is a multiple of the identity there, so the mean is computed in the
        span.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Samples.
        sums : callable
            Returns S and D of samples.
        weight : array of shape (n_samples,)
            Weights of the samples, for the covariance of the prior.
        """
        try:
            with np.errstate(all="ignore"):  # values that are not finite are detected here and later
                return self._solve(X, sums, weight)
        except np.linalg.LinAlgError:
            raise ValueError(TOO_EXTREME) from None

    def _solve(self, X: Any, sums: Sums, weight: Array) -> tuple[Matrix, Matrix]:
        """Return A and L, computed from the features or, if there are many, in the span of the samples."""
        is_identity = isinstance(self.prior, str) and self.prior == "identity"
        reduce = is_identity or self.reg == 0.0
        if not stays_sparse(X):
            X = centered(X.toarray() if hasattr(X, "toarray") else X)
        space = choose_space("identity", X, reduce=reduce)
        S, D = sums(centered(space.X))
        if not isinstance(space, FeatureSpace):
            A, outside = mean_in_span(S, D, self.t, self.reg)
            L = space.components(A / outside, self.n_components)
            return _scaled(space.lift(A / outside), outside), _scaled(L, float(np.sqrt(outside)))
        if self.reg > 0.0:
            A0, inverse = prior_matrices(self.prior, X, weight)
            S, D = S + self.reg * inverse, D + self.reg * A0
        L = mean_factor(S, D, self.t)
        A = L.T @ L
        return A, L if self.n_components is None else leading_components(A, self.n_components)


def _scaled(matrix: Matrix, factor: float) -> Matrix:
    return matrix.scaled(factor) if isinstance(matrix, LowRankPlusDiagonal) else np.asarray(factor * matrix)


def mean_factor(S: Array, D: Array, t: float) -> Array:
    """Return the upper triangular L with LᵀL = S⁻¹ #_t D; small eigenvalues are raised, see `GMML`."""
    scales = feature_scales(S + D)
    order, top = np.argsort(-scales, kind="stable"), float(scales.max())
    size = scales[order] / top  # from 1 downward
    if not size[-1] > _NARROWEST:
        raise ValueError(TOO_EXTREME)
    # In units in which all features scatter equally, small eigenvalues mean the same for every feature. In
    # these units, S = RᵀR and D = QᵀQ.
    place, units = np.ix_(order, order), np.outer(scales[order], scales[order])
    R, Q = (_raised_root(scatter[place] / units) for scatter in (S, D))
    # S⁻¹ #_t D = R⁻¹ (R QᵀQ Rᵀ)ᵗ R⁻ᵀ, except for the units: R diag(size) instead of R, and likewise for Q.
    # The orthogonal factor of R diag(size²) cancels. Without it, the rows of the product are graded like the
    # features, so that a singular value decomposition keeps the digits of small features.
    C = np.linalg.qr(R * size**2, mode="r") / size[:, None] ** 2
    directions, values, _ = np.linalg.svd((C @ Q.T) * size[:, None] ** 2)
    weighted = (directions * (values * top**2) ** t).T / size**2
    factor = solve_triangular(C, weighted.T, check_finite=False).T * (size / top)
    upper = np.linalg.qr(factor[:, np.argsort(order)], mode="r")  # unique up to signs
    return np.asarray(upper * np.where(np.diag(upper) < 0.0, -1.0, 1.0)[:, None])


def _raised_root(scatter: Array) -> Array:
    """Return R with RᵀR a scatter matrix in equal units, with small eigenvalues raised."""
    spectrum, basis = raised_spectrum(scatter, 1.0)
    return np.sqrt(spectrum)[:, None] * basis.T


def mean_in_span(S: Array, D: Array, t: float, reg: float) -> tuple[Array, float]:
    """Return S⁻¹ #_t D of S + λ I and D + λ I in the span of the samples, and its eigenvalue outside.

    Outside the span, S and D are λ I, or the floor to which their eigenvalues are raised.

    Parameters
    ----------
    S, D : array of shape (n_coordinates, n_coordinates)
        Sums over pairs in orthonormal coordinates of the span.
    t : float
        The weight of D.
    reg : float
        λ.

    Returns
    -------
    A : array of shape (n_coordinates, n_coordinates)
        The mean in the span.
    outside : float
        The only eigenvalue of the mean outside.
    """
    shift, largest = reg * np.eye(len(S)), float(np.linalg.eigvalsh(S + D)[-1])
    s_spectrum, s_basis = raised_spectrum(S + shift, largest)
    d_spectrum, d_basis = raised_spectrum(D + shift, largest)
    # Zero, the eigenvalue outside, is shifted and raised like those inside.
    s_outside, d_outside = (
        max(reg, raised_floor(spectrum, largest)) for spectrum in (s_spectrum, d_spectrum)
    )
    R = np.sqrt(s_spectrum)[:, None] * s_basis.T
    Q = np.sqrt(d_spectrum)[:, None] * d_basis.T
    factor = _one_root(R, (s_basis / np.sqrt(s_spectrum)).T, Q, t)
    return factor.T @ factor, s_outside ** (t - 1.0) * d_outside**t


def _one_root(R: Array, R_inverse: Array, Q: Array, t: float) -> Array:
    """Return F with FᵀF = S⁻¹ #_t D for S = RᵀR and D = QᵀQ, given R⁻ᵀ too."""
    # S⁻¹ #_t D = R⁻¹ (R QᵀQ Rᵀ)ᵗ R⁻ᵀ.
    directions, values, _ = np.linalg.svd(R @ Q.T)
    return np.asarray((directions * values**t).T @ R_inverse)
