"""Symmetric positive definite matrices with the affine-invariant metric."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import expm
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf, dsyevd, dsygst

from geodual.arrays import Array

from .base import (
    Frame,
    HalfSquaredDistance,
    HessianMap,
    Manifold,
    NotOnManifoldError,
    Vector,
    as_finite_array,
    check_size,
)

_SYMMETRY_TOLERANCE = 1e-8
_SHORT = 0.3  # length of a step for which the second-order retraction is close to exp
_LARGE = 20  # rows from which on scaling and squaring beats eigenvalues
_NEAR = 6.0  # largest eigenvalue up to which it loses less than three digits of the smallest one
_FAR = 50.0  # root mean square of log eigenvalues beyond which a matrix is as good as singular
_OVERFLOW = 1e3  # length beyond which exp has no finite value


class SPD(Manifold):
    """Symmetric positive definite n × n matrices with ⟨U, V⟩_W = tr(W⁻¹ U W⁻¹ V).

    The frame at W = LLᵀ writes a tangent vector as V = L S Lᵀ with S symmetric. There the metric is the
    Frobenius product, exp is L expm(S) Lᵀ, and the distance to Y is ‖log spec(L⁻¹ Y L⁻ᵀ)‖.

    Parameters
    ----------
    n : int
        Number of rows.
    """

    hadamard = True

    def __init__(self, n: int) -> None:
        self.n = check_size(n, "n")
        self.dim = self.n * (self.n + 1) // 2
        self.step_limit = 2.0 * math.sqrt(self.n)

    def __repr__(self) -> str:
        return f"SPD({self.n})"

    def frame(self, x: Array) -> CholeskyFrame:
        return CholeskyFrame(x)

    def check_point(self, x: Array) -> Array:
        x = self._check_symmetric(x)
        _cholesky(x)
        return x

    def _check_symmetric(self, x: Any) -> Array:
        matrix = as_finite_array(x, (self.n, self.n), self)
        if np.array_equal(matrix, matrix.T):
            return matrix
        asymmetry = float(np.abs(matrix - matrix.T).max())
        if asymmetry > _SYMMETRY_TOLERANCE * float(np.abs(matrix).max()):
            raise NotOnManifoldError(
                f"A point of {self} must be symmetric, but it differs from its transpose by up to "
                f"{asymmetry:.3g}; symmetrise it with (x + x.T) / 2."
            )
        return matrix

    def _checked_frame(self, x: Array) -> CholeskyFrame:
        return CholeskyFrame(self._check_symmetric(x))

    def dist(self, x: Array, y: Array) -> float:
        """Return ‖log spec(x⁻¹ y)‖."""
        return self._checked_frame(x).dist(self._check_symmetric(y))

    def log(self, x: Array, y: Array) -> Array:
        """Return the tangent vector at `x` that points to `y` and is as long as their distance."""
        frame = self._checked_frame(x)
        return frame.tangent(frame.log(self._check_symmetric(y)))

    def project(self, x: Array, v: Vector) -> Array:
        return symmetrised(np.asarray(v, dtype=float))

    def random_point(self, rng: np.random.Generator) -> Array:
        q = np.linalg.qr(rng.standard_normal((self.n, self.n)))[0]
        half = q * np.exp(0.5 * rng.standard_normal(self.n))
        return np.asarray(half @ half.T)


class CholeskyFrame(Frame):
    """Tangent vectors V = L S Lᵀ at W = LLᵀ, in the coordinates S."""

    def __init__(self, point: Array) -> None:
        self.point = point
        self.factor = _cholesky(point)
        self._transposed = self.factor.T

    def tangent(self, c: Array) -> Array:
        return np.asarray(self.factor @ c @ self._transposed)

    def coordinates(self, u: Vector) -> Array:
        # L⁻¹ u L⁻ᵀ; the transposes are Fortran views, so that BLAS copies nothing.
        upper = self.factor.T
        half = dtrsm(1.0, upper, np.asarray(u, dtype=float).T, side=1)
        return symmetrised(dtrsm(1.0, upper, half, trans_a=1).T)

    def gradient(self, egrad: Vector) -> Array:
        return symmetrised(self._transposed @ egrad @ self.factor)

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # Second derivative of f(L(I + S + S²/2)Lᵀ) at S = 0.
        factor, transposed, gradient = self.factor, self._transposed, self.gradient(egrad)
        return lambda ehess, c: symmetrised(transposed @ ehess @ factor + gradient @ c)

    def exp(self, c: Array) -> Array:
        if len(c) >= _LARGE and _spectral_bound(c) < _NEAR:
            half = self.factor @ expm(0.5 * c)
        else:  # slower for large matrices, but exact however far the spectrum spreads
            spectrum, basis = _eigh(c)
            half = (self.factor @ basis) * np.exp(0.5 * spectrum)
        return np.asarray(half @ half.T)

    def _spectral_log(self, y: Array) -> tuple[Array, Array]:
        spectrum, basis = _eigh(_congruent(self.factor, y))
        return _log_spectrum(spectrum, y), basis

    def log(self, y: Array) -> Array:
        theta, basis = self._spectral_log(y)
        return np.asarray((basis * theta) @ basis.T)

    def dist(self, y: Array) -> float:
        spectrum = np.linalg.eigvalsh(_congruent(self.factor, y))
        return float(np.linalg.norm(_log_spectrum(spectrum, y)))

    def random(self, rng: np.random.Generator) -> Array:
        return symmetrised(rng.standard_normal(self.shape))

    def retract(self, c: Array) -> Array:
        # I + S + S²/2 = (I + (I + S)²)/2 is positive definite for every S.
        shifted = self.factor + self.factor @ c
        return np.asarray(0.5 * (self.factor @ self.factor.T + shifted @ shifted.T))

    def move(self, c: Array) -> Array:
        """Retract in 2ʲ short steps at once: L (I + s + s²/2)^(2ʲ) Lᵀ with s = c/2ʲ.

        It is positive definite, right to second order, grows like `exp`, and takes products only.
        """
        length = math.sqrt(np.vdot(c, c))
        if not length < _OVERFLOW:
            return np.full_like(c, np.inf)
        halvings = max(math.ceil(math.log2(length / _SHORT)), 1) if length > _SHORT else 1
        short = c * 0.5**halvings
        root = short + 0.5 * (short @ short)
        root.flat[:: len(c) + 1] += 1.0
        for _ in range(halvings - 1):
            root = root @ root
        half = self.factor @ root
        return np.asarray(half @ half.T)

    def remoteness(self, y: Array) -> float:
        return self.dist(y) / (_FAR * math.sqrt(len(y)))

    def transport(self, y: Array, c: Array) -> Array:
        theta, basis = self._spectral_log(y)
        half = (self.factor @ basis) * np.exp(0.5 * theta) @ basis.T
        return np.asarray(half @ c @ half.T)

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        theta, basis = self._spectral_log(y)
        weights = x_coth_x(0.5 * (theta[:, None] - theta))

        def hessian(c: Array) -> Array:
            return np.asarray(basis @ (weights * (basis.T @ c @ basis)) @ basis.T)

        return HalfSquaredDistance(0.5 * float(theta @ theta), -(basis * theta) @ basis.T, hessian)


def x_coth_x(x: Array) -> Array:
    """Return x coth x, which is 1 at zero."""
    near = np.abs(x) < 1e-4
    safe = np.where(near, 1.0, x)
    return np.where(near, 1.0 + x**2 / 3.0, safe / np.tanh(safe))


def symmetrised(a: Array) -> Array:
    """Return the symmetric part of `a`."""
    return np.asarray(0.5 * (a + a.T))


def _cholesky(x: Array) -> Array:
    # LAPACK sees the transpose of our row-major arrays: its upper factor is our lower one, without a copy.
    upper, info = dpotrf(x.T)
    if info:
        raise _indefinite(x)
    return np.asarray(upper.T)


def _eigh(a: Array) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of a symmetric matrix, of which only the lower triangle is read."""
    spectrum, basis, _ = dsyevd(a.T)
    return spectrum, basis


def _spectral_bound(a: Array) -> float:
    """Return (Σλ⁴)^¼, which is at least the largest |λ|."""
    square = a @ a
    return float(np.sqrt(np.sqrt(np.vdot(square, square))))


def _congruent(factor: Array, y: Array) -> Array:
    """Return L⁻¹ y L⁻ᵀ, of which only the lower triangle is set."""
    reduced, _ = dsygst(y.T, factor.T)
    return np.asarray(reduced.T)


def _log_spectrum(spectrum: Array, y: Array) -> Array:
    if not spectrum[0] > 0.0:
        raise _indefinite(y)
    return np.log(spectrum)


def _indefinite(x: Array) -> NotOnManifoldError:
    if not np.isfinite(x).all():
        return NotOnManifoldError("A point of SPD must be finite, got NaN or infinite entries.")
    spectrum = np.linalg.eigvalsh(x)
    return NotOnManifoldError(
        f"A point of SPD must be positive definite, but its eigenvalues range from {spectrum[0]:.3g} "
        f"to {spectrum[-1]:.3g}; add a multiple of the identity or raise its smallest eigenvalues."
    )
