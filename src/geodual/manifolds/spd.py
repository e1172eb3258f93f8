"""Symmetric positive definite matrices with the affine-invariant metric."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import expm
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf, dsyevd, dsygst

from geodual.arrays import Array

from .base import Manifold, NotOnManifoldError, as_finite_array, check_size, defect_tolerance, is_single
from .frame import Frame, HalfSquaredDistance, HessianMap, Vector

SHORT = 0.3  # step length up to which the second-order retraction is close to exp
_LARGE = 20  # number of rows from which `expm` is faster than an eigendecomposition
_NEAR = 6.0  # largest eigenvalue up to which `expm` loses at most three digits of the smallest one
FAR = 50.0  # root mean square of the log eigenvalues beyond which a matrix is numerically singular
OVERFLOW = 1e3  # step length beyond which exp overflows


class SPD(Manifold):
    """Symmetric positive definite n × n matrices with ⟨U, V⟩_W = tr(W⁻¹ U W⁻¹ V).

    Use it for covariance matrices and Mahalanobis metrics. Under this affine-invariant metric,
    d(A W Aᵀ, A Y Aᵀ) = d(W, Y) for every invertible A, and singular matrices are infinitely far away.

    The frame at W = LLᵀ writes a tangent vector as V = L S Lᵀ with S symmetric. In S the metric is the
    Frobenius product, exp is L expm(S) Lᵀ, and d(W, Y) = ‖log spec(L⁻¹ Y L⁻ᵀ)‖.

    Parameters
    ----------
    n : int
        Number of rows.

    Attributes
    ----------
    n : int
        Number of rows.
    dim : int
        n(n + 1)/2.

    References
    ----------
    X. Pennec, P. Fillard, N. Ayache, "A Riemannian framework for tensor computing", International Journal of
    Computer Vision 66(1), 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.manifolds import SPD
    >>> spd = SPD(2)
    >>> x, y = np.eye(2), np.diag([4.0, 0.25])
    >>> middle = spd.exp(x, 0.5 * spd.log(x, y))  # the geometric mean
    >>> np.round(middle, 6).tolist()
    [[2.0, 0.0], [0.0, 0.5]]
    >>> a = np.array([[1.0, 2.0], [0.0, 3.0]])
    >>> abs(spd.dist(a @ x @ a.T, a @ y @ a.T) - spd.dist(x, y)) < 1e-12
    True
    """

    hadamard = True

    def __init__(self, n: int) -> None:
        self.n = check_size(n, "n")
        self.dim = self.n * (self.n + 1) // 2
        self.step_limit = 2.0 * math.sqrt(self.n)  # all eigenvalues change by a factor of e²

    def __repr__(self) -> str:
        return f"SPD({self.n})"

    def frame(self, x: Array) -> CholeskyFrame:
        return CholeskyFrame(x)

    def check_point(self, x: Array) -> Array:
        x = self._check_symmetric(x)
        _cholesky(x)
        return x

    def _check_symmetric(self, x: Any) -> Array:
        # Without the Cholesky test of `check_point`: the operations below factor the matrix anyway.
        matrix = as_finite_array(x, (self.n, self.n), self)
        if np.array_equal(matrix, matrix.T):
            return matrix
        asymmetry = float(np.abs(matrix - matrix.T).max())
        if asymmetry > defect_tolerance(x) * float(np.abs(matrix).max()):
            raise NotOnManifoldError(
                f"A point of {self} must be symmetric, but it differs from its transpose by up to "
                f"{asymmetry:.3g}; symmetrise it with (x + x.T) / 2."
            )
        return symmetrised(matrix) if is_single(x) else matrix

    def _checked_frame(self, x: Array) -> CholeskyFrame:
        return CholeskyFrame(self._check_symmetric(x))

    def dist(self, x: Array, y: Array) -> float:
        """Return ‖log spec(x⁻¹ y)‖."""
        return self._checked_frame(x).dist(self._check_symmetric(y))

    def log(self, x: Array, y: Array) -> Array:
        """Return the tangent vector at `x` that points to `y`; its length is their distance."""
        frame = self._checked_frame(x)
        return frame.tangent(frame.log(self._check_symmetric(y)))

    def project(self, x: Array, v: Vector) -> Array:
        matrix = np.asarray(v, dtype=float)
        return np.asarray(0.5 * (matrix + np.swapaxes(matrix, -1, -2)))  # of each matrix of a stack, too

    def random_point(self, rng: np.random.Generator) -> Array:
        # Eigenvalues are log-normal, and the eigenvectors a random orthogonal matrix.
        q = np.linalg.qr(rng.standard_normal((self.n, self.n)))[0]
        half = q * np.exp(0.5 * rng.standard_normal(self.n))
        return np.asarray(half @ half.T)


class CholeskyFrame(Frame):
    """The tangent space at W = LLᵀ: vectors V = L S Lᵀ in the coordinates S."""

    def __init__(self, point: Array) -> None:
        self.point = point
        self.factor = _cholesky(point)
        self._transposed = self.factor.T

    def tangent(self, c: Array) -> Array:
        return np.asarray(self.factor @ c @ self._transposed)

    def coordinates(self, u: Vector) -> Array:
        # L⁻¹ u L⁻ᵀ. The transposes are Fortran-ordered views, so BLAS copies nothing.
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
        else:  # slower for large matrices, but accurate for any spread of the spectrum
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
        # W + V + ½ V W⁻¹ V, and I + S + S²/2 = (I + (I + S)²)/2 is positive definite for every S.
        shifted = self.factor + self.factor @ c
        return np.asarray(0.5 * (self.factor @ self.factor.T + shifted @ shifted.T))

    def move(self, c: Array) -> Array:
        """Retract in 2ʲ short steps at once: L (I + s + s²/2)^(2ʲ) Lᵀ with s = c/2ʲ.

        The result is positive definite, agrees with `exp` to second order and grows like it, but needs
        matrix products only.
        """
        length = math.sqrt(np.vdot(c, c))
        if not length < OVERFLOW:
            return np.full_like(c, np.inf)
        halvings = max(math.ceil(math.log2(length / SHORT)), 1) if length > SHORT else 1
        short = c * 0.5**halvings
        root = short + 0.5 * (short @ short)
        root.flat[:: len(c) + 1] += 1.0  # add the identity
        # Square up to the half power only: half @ half.T squares once more and keeps symmetry.
        for _ in range(halvings - 1):
            root = root @ root
        half = self.factor @ root
        return np.asarray(half @ half.T)

    def remoteness(self, y: Array) -> float:
        return self.dist(y) / (FAR * math.sqrt(len(y)))

    def transport(self, y: Array, c: Array) -> Array:
        theta, basis = self._spectral_log(y)
        half = (self.factor @ basis) * np.exp(0.5 * theta) @ basis.T
        return np.asarray(half @ c @ half.T)

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        theta, basis = self._spectral_log(y)
        # In the eigenbasis of the logarithm the Hessian scales entry ij by x coth x, x = (θᵢ − θⱼ)/2.
        weights = x_coth_x(0.5 * (theta[:, None] - theta))

        def hessian(c: Array) -> Array:
            return np.asarray(basis @ (weights * (basis.T @ c @ basis)) @ basis.T)

        return HalfSquaredDistance(0.5 * float(theta @ theta), -(basis * theta) @ basis.T, hessian)


def x_coth_x(x: Array) -> Array:
    """Return x coth x, which is 1 at 0."""
    near = np.abs(x) < 1e-4  # the next term of the series, x⁴/45, is below rounding error here
    safe = np.where(near, 1.0, x)
    return np.where(near, 1.0 + x**2 / 3.0, safe / np.tanh(safe))


def symmetrised(a: Array) -> Array:
    """Return the symmetric part of `a`."""
    return np.asarray(0.5 * (a + a.T))


def _cholesky(x: Array) -> Array:
    # LAPACK reads row-major arrays as their transpose, so its upper factor is our lower one without a copy.
    upper, info = dpotrf(x.T)
    if info:
        raise indefinite(x)
    return np.asarray(upper.T)


def _eigh(a: Array) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of a symmetric matrix; only its lower triangle is read."""
    spectrum, basis, _ = dsyevd(a.T)
    return spectrum, basis


def _spectral_bound(a: Array) -> float:
    """Return (Σλ⁴)^¼, an upper bound on the largest |λ|."""
    square = a @ a
    return float(np.sqrt(np.sqrt(np.vdot(square, square))))


def _congruent(factor: Array, y: Array) -> Array:
    """Return L⁻¹ y L⁻ᵀ; only its lower triangle is set."""
    reduced, _ = dsygst(y.T, factor.T)
    return np.asarray(reduced.T)


def _log_spectrum(spectrum: Array, y: Array) -> Array:
    if not spectrum[0] > 0.0:
        raise indefinite(y)
    return np.log(spectrum)


def indefinite(x: Array) -> NotOnManifoldError:
    """Return the error for a matrix that is not positive definite."""
    if not np.isfinite(x).all():
        return NotOnManifoldError("A point of SPD must be finite, got NaN or infinite entries; replace them.")
    spectrum = np.linalg.eigvalsh(x)
    return NotOnManifoldError(
        f"A point of SPD must be positive definite, but its eigenvalues range from {spectrum[0]:.3g} "
        f"to {spectrum[-1]:.3g}; add a multiple of the identity or raise its smallest eigenvalues."
    )
