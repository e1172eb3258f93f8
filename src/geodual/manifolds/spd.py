"""Symmetric positive definite matrices with the affine-invariant metric."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import expm
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf, dsyevd, dsygst

from geodual.arrays import Array

from .base import Manifold, NotOnManifoldError, as_finite_array, check_size
from .frame import Frame, HalfSquaredDistance, HessianMap, Vector, in_double_precision, normal_like, x_coth_x
from .matrices import adjoint, check_hermitian, hermitian

SHORT = 0.3  # step length up to which the second-order retraction is close to `exp`
_LARGE = 20  # number of rows above which `expm` is faster than an eigendecomposition
_NEAR = 6.0  # largest eigenvalue for which `expm` loses at most three digits of the smallest one
FAR = 50.0  # root mean square of the log eigenvalues beyond which a matrix is numerically singular
OVERFLOW = 1e3  # step length beyond which `exp` overflows


class SPD(Manifold):
    """Symmetric positive definite n × n matrices with ⟨U, V⟩_W = tr(W⁻¹ U W⁻¹ V).

    Use it for covariance matrices and Mahalanobis metrics. Under this affine-invariant metric,
    d(A W Aᵀ, A Y Aᵀ) = d(W, Y) for every invertible A, and singular matrices are infinitely far away.

    The frame at W = LLᵀ writes a tangent vector as V = L S Lᵀ with S symmetric. In S, the metric is the
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

    See Also
    --------
    HermitianPD : Complex matrices.
    PositiveOrthant : Positive numbers, as on the diagonal.
    Symmetric : Symmetric matrices that need not be positive definite.

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

    vectorized = True
    hadamard = True

    def __init__(self, n: int) -> None:
        self.n = check_size(n, "n")
        self.dim = self.n * (self.n + 1) // 2
        self.step_limit = 2.0 * math.sqrt(self.n)  # all eigenvalues change by a factor of e²

    def __repr__(self) -> str:
        return f"SPD({self.n})"

    def frame(self, x: Array) -> CongruenceFrame:
        return CholeskyFrame(x) if x.ndim == 2 else CongruenceFrame(x)

    def check_point(self, x: Array) -> Array:
        return self._checked(as_finite_array(x, (self.n, self.n), self), x)

    def _checked(self, x: Array, given: Any) -> Array:
        checked = check_hermitian(x, given, self)
        self.frame(checked)
        return checked

    def _check_symmetric(self, x: Any) -> Array:
        # Skip the Cholesky test of `check_point`: the operations below factor the matrix anyway.
        return check_hermitian(as_finite_array(x, (self.n, self.n), self), x, self)

    def _checked_frame(self, x: Array) -> CongruenceFrame:
        return self.frame(self._check_symmetric(x))

    def dist(self, x: Array, y: Array) -> float:
        """Return ‖log spec(x⁻¹ y)‖."""
        return self._checked_frame(x).dist(self._check_symmetric(y))

    def log(self, x: Array, y: Array) -> Array:
        """Return the tangent vector at `x` that points to `y`; its length is the distance."""
        frame = self._checked_frame(x)
        return frame.tangent(frame.log(self._check_symmetric(y)))

    def project(self, x: Array, v: Vector) -> Array:
        return hermitian(np.asarray(v, dtype=float))

    def random_point(self, rng: np.random.Generator) -> Array:
        # Eigenvalues are log-normal, and eigenvectors form a random orthogonal matrix.
        q = np.linalg.qr(rng.standard_normal((self.n, self.n)))[0]
        half = q * np.exp(0.5 * rng.standard_normal(self.n))
        return np.asarray(half @ half.T)


class CongruenceFrame(Frame):
    """The tangent space at W = LLᴴ, or at each matrix of a stack: V = L S Lᴴ in the coordinates S.

    Matrices are real or complex.
    """

    _dot: Callable[[Array, Any], Array] = staticmethod(np.matmul)

    def __init__(self, point: Array) -> None:
        self.point = point
        self.factor = self._cholesky(point)
        self._adjoint = adjoint(self.factor)

    @staticmethod
    def _cholesky(x: Array) -> Array:
        try:
            return np.linalg.cholesky(x)
        except np.linalg.LinAlgError:
            raise indefinite(x) from None

    @staticmethod
    def _eigh(a: Array) -> tuple[Array, Array]:
        """Return eigenvalues and eigenvectors, reading only the lower triangle."""
        return np.linalg.eigh(a)

    @cached_property
    def _inverse(self) -> Array:
        return np.linalg.inv(self.factor)

    def _congruent(self, y: Array) -> Array:
        """Return L⁻¹ y L⁻ᴴ, or possibly only its lower triangle."""
        return np.asarray(self._inverse @ y @ adjoint(self._inverse))

    def tangent(self, c: Array) -> Array:
        return np.asarray(self._dot(self._dot(self.factor, c), self._adjoint))

    def coordinates(self, u: Vector) -> Array:
        return hermitian(self._congruent(in_double_precision(u)))

    def random(self, rng: np.random.Generator) -> Array:
        return hermitian(normal_like(self.point, rng))

    def gradient(self, egrad: Vector) -> Array:
        return hermitian(self._dot(self._dot(self._adjoint, egrad), self.factor))

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # Second derivative of f(L(I + S + S²/2)Lᴴ) at S = 0.
        dot, factor, back, gradient = self._dot, self.factor, self._adjoint, self.gradient(egrad)
        return lambda ehess, c: hermitian(dot(dot(back, ehess), factor) + dot(gradient, c))

    def exp(self, c: Array) -> Array:
        spectrum, basis = self._eigh(c)
        return _square((self.factor @ basis) * np.exp(0.5 * spectrum)[..., None, :])

    def _spectral_log(self, y: Array) -> tuple[Array, Array]:
        spectrum, basis = self._eigh(self._congruent(y))
        return _log_spectrum(spectrum, y), basis

    def _log_eigenvalues(self, y: Array) -> Array:
        return _log_spectrum(np.linalg.eigvalsh(self._congruent(y)), y)

    def log(self, y: Array) -> Array:
        theta, basis = self._spectral_log(y)
        return np.asarray((basis * theta[..., None, :]) @ adjoint(basis))

    def dist(self, y: Array) -> float:
        return float(np.linalg.norm(self._log_eigenvalues(y)))

    def retract(self, c: Array) -> Array:
        # W + V + ½ V W⁻¹ V, and I + S + S²/2 = (I + (I + S)²)/2 is positive definite for every S.
        return np.asarray(0.5 * (_square(self.factor) + _square(self.factor + self.factor @ c)))

    def move(self, c: Array) -> Array:
        """Retract in 2ʲ short steps at once: L (I + s + s²/2)^(2ʲ) Lᴴ with s = c/2ʲ.

        The result is positive definite, agrees with `exp` to second order and grows like it, but needs only
        matrix products. In a stack, j suits the longest step.
        """
        length = math.sqrt(np.vdot(c, c).real if c.ndim == 2 else (c * c.conj()).real.sum((-2, -1)).max())
        if not length < OVERFLOW:
            return np.full_like(c, np.inf)
        halvings = max(math.ceil(math.log2(length / SHORT)), 1) if length > SHORT else 1
        short = np.multiply(c, 0.5**halvings, order="C")
        root = short + 0.5 * (short @ short)
        root.reshape(*root.shape[:-2], -1)[..., :: root.shape[-1] + 1] += 1.0  # add the identity
        # Square only up to the half power: the last product squares once more and preserves symmetry.
        for _ in range(halvings - 1):
            root = root @ root
        return _square(self.factor @ root)

    def remoteness(self, y: Array) -> float:
        lengths = np.linalg.norm(self._log_eigenvalues(y), axis=-1)
        return float(lengths.max()) / (FAR * math.sqrt(y.shape[-1]))

    def transport(self, y: Array, c: Array) -> Array:
        theta, basis = self._spectral_log(y)
        half = (self.factor @ basis) * np.exp(0.5 * theta)[..., None, :] @ adjoint(basis)
        return np.asarray(half @ c @ adjoint(half))

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        theta, basis = self._spectral_log(y)
        # In the eigenbasis of the logarithm, the Hessian scales entry ij by x coth x, x = (θᵢ − θⱼ)/2.
        weights = x_coth_x(0.5 * (theta[..., :, None] - theta[..., None, :]))
        back, dot = adjoint(basis), self._dot

        def hessian(c: Array) -> Array:
            return np.asarray(dot(dot(basis, weights * dot(dot(back, c), basis)), back))

        gradient = -(basis * theta[..., None, :]) @ back
        return HalfSquaredDistance(0.5 * float(np.vdot(theta, theta)), gradient, hessian)


class CholeskyFrame(CongruenceFrame):
    """The same at a single real matrix, by faster routines: those of LAPACK, and numpy's `dot`."""

    _dot = staticmethod(np.ndarray.dot)

    @staticmethod
    def _cholesky(x: Array) -> Array:
        # LAPACK reads row-major arrays as their transpose, so its upper factor is our lower one, without a
        # copy.
        upper, info = dpotrf(x.T)
        if info:
            raise indefinite(x)
        return np.asarray(upper.T)

    @staticmethod
    def _eigh(a: Array) -> tuple[Array, Array]:
        spectrum, basis, _ = dsyevd(a.T)
        return spectrum, basis

    def _congruent(self, y: Array) -> Array:
        reduced, _ = dsygst(y.T, self._adjoint)
        return np.asarray(reduced.T)

    def coordinates(self, u: Vector) -> Array:
        # L⁻¹ u L⁻ᵀ. The transposes are Fortran-ordered views, so BLAS copies nothing.
        half = dtrsm(1.0, self._adjoint, np.asarray(u, dtype=float).T, side=1)
        return symmetrized(dtrsm(1.0, self._adjoint, half, trans_a=1).T)

    def exp(self, c: Array) -> Array:
        if len(c) >= _LARGE and _spectral_bound(c) < _NEAR:
            return _square(self.factor @ expm(0.5 * c))
        return super().exp(c)  # slower for large matrices, but accurate for any spread of the spectrum


def symmetrized(a: Array) -> Array:
    """Return the symmetric part of a real matrix."""
    return np.asarray(0.5 * (a + a.T))


def _spectral_bound(a: Array) -> float:
    """Return (Σλ⁴)^¼, an upper bound on the largest |λ|."""
    square = a @ a
    return float(np.sqrt(np.sqrt(np.vdot(square, square))))


def _square(half: Array) -> Array:
    """Return half·halfᴴ."""
    return np.asarray(half @ adjoint(half))


def _log_spectrum(spectrum: Array, y: Array) -> Array:
    if not (spectrum > 0.0).all():
        raise indefinite(y)
    return np.log(spectrum)


def indefinite(x: Array) -> NotOnManifoldError:
    """Return the error for a matrix that is not positive definite, or for the worst one of a stack."""
    owner = "HermitianPD" if np.iscomplexobj(x) else "SPD"
    if not np.isfinite(x).all():
        return NotOnManifoldError(
            f"A point of {owner} must be finite, got NaN or infinite entries; replace them."
        )
    spectra = np.linalg.eigvalsh(x).reshape(-1, x.shape[-1])
    spectrum = spectra[int(np.argmin(spectra[:, 0]))]
    return NotOnManifoldError(
        f"A point of {owner} must be positive definite, but its eigenvalues range from {spectrum[0]:.3g} "
        f"to {spectrum[-1]:.3g}; add a multiple of the identity or raise its smallest eigenvalues."
    )
