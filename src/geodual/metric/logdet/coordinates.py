"""The coordinates in which the program is solved, with a preconditioner that is diagonal there."""

from __future__ import annotations

from copy import copy

import numpy as np
from scipy.linalg.lapack import dpotrf

from geodual.arrays import Array
from geodual.manifolds.spd import CholeskyFrame, symmetrised


class StraightFrame(CholeskyFrame):
    """The coordinates S of V = L S Lᵀ at W = LLᵀ, with steps along straight lines L (I + S) Lᵀ.

    Distances are linear along them, so the loss stays convex. Below an eigenvalue of −½ of S a hyperbola
    takes over, so that W stays positive definite. It shrinks W less than an exponential would, from where
    Newton's method could only double an eigenvalue per step.
    """

    def turned(self, basis: Array) -> StraightFrame:
        """Return the frame with the factor L Q, for an orthogonal Q."""
        other = copy(self)
        other.factor = self.factor @ basis
        return other

    def move(self, c: Array) -> Array:
        shifted = c + 0.5 * np.eye(len(c))
        # A Cholesky factorisation succeeds if no eigenvalue is below −½, and is far cheaper than eigenvalues.
        if not dpotrf(shifted)[1]:
            return symmetrised(self.factor @ (shifted + 0.5 * np.eye(len(c))) @ self.factor.T)
        if not np.isfinite(c).all():  # an overflow, on which `eigh` would fail
            return np.full_like(c, np.nan)
        spectrum, basis = np.linalg.eigh(c)
        # The hyperbola −1/(4 s) joins the straight line at s = −½ with the same value and slope.
        factors = np.where(spectrum >= -0.5, 1.0 + spectrum, -0.25 / np.minimum(spectrum, -0.5))
        half = (self.factor @ basis) * np.sqrt(factors)
        return np.asarray(half @ half.T)


class GaussianPreconditioner:
    """The inverse of S ↦ ½ S + κ (2 Σ S Σ + tr(ΣS) Σ), an approximation of the Hessian, for a diagonal Σ.

    It would be exact for normal differences z of pairs with covariance Σ, as E[(zᵀSz) zzᵀ] = 2 Σ S Σ +
    tr(ΣS) Σ. κ is the total curvature, and Σ the mean of zzᵀ in which a pair counts by its curvature.

    Parameters
    ----------
    sigma : array of shape (n_features,)
        The diagonal of √κ Σ.
    """

    def __init__(self, sigma: Array) -> None:
        self._sigma = sigma
        self._inverse = 1.0 / (0.5 + 2.0 * np.outer(sigma, sigma))
        # The trace term only couples diagonal entries, with rank one: the Sherman-Morrison formula.
        diagonal = np.diagonal(self._inverse)
        self._coupled = sigma * diagonal / (1.0 + float(sigma**2 @ diagonal))

    def __call__(self, S: Array) -> Array:
        solved = S * self._inverse
        solved.flat[:: len(S) + 1] -= float(self._sigma @ np.diagonal(solved)) * self._coupled
        return solved
