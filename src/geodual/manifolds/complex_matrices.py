"""Complex matrices: Hermitian positive definite ones, and those with orthonormal columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from geodual.arrays import Array

from .base import Manifold, as_finite_array, check_size
from .frame import Vector
from .matrices import adjoint, check_hermitian, hermitian
from .recoded import RecodedFrame, real_frame
from .spd import CongruenceFrame
from .stiefel import StiefelFrame, check_orthonormal


class HermitianPD(Manifold):
    """Hermitian positive definite n × n matrices with ⟨U, V⟩_W = Re tr(W⁻¹ U W⁻¹ V).

    Use it for complex covariance matrices, such as those of antenna arrays and radar. It is `SPD` with
    complex entries: under this affine-invariant metric, d(A W Aᴴ, A Y Aᴴ) = d(W, Y) for every invertible A. A
    Euclidean gradient is the derivative with respect to the real parts plus i times that with respect to the
    imaginary parts; `Problem.from_jax` computes it so.

    Parameters
    ----------
    n : int
        Number of rows.

    Attributes
    ----------
    n : int
        Number of rows.
    dim : int
        n².

    See Also
    --------
    SPD : Real matrices.

    References
    ----------
    S. Sra, R. Hosseini, "Conic geometric optimization on the manifold of positive definite matrices", SIAM
    Journal on Optimization 25(1), 2015.

    Examples
    --------
    Halfway between two matrices is their geometric mean:

    >>> import numpy as np
    >>> from geodual.manifolds import HermitianPD
    >>> matrices = HermitianPD(2)
    >>> x, y = np.eye(2), np.array([[2.5, 1.5j], [-1.5j, 2.5]])  # y has the eigenvalues 1 and 4
    >>> middle = matrices.exp(x, 0.5 * matrices.log(x, y))
    >>> np.allclose(middle, [[1.5, 0.5j], [-0.5j, 1.5]])
    True
    """

    vectorized = True
    hadamard = True

    def __init__(self, n: int) -> None:
        self.n = check_size(n, "n")
        self.dim = self.n**2
        self.step_limit = 2.0 * math.sqrt(self.n)  # all eigenvalues change by a factor of e²

    def __repr__(self) -> str:
        return f"HermitianPD({self.n})"

    def frame(self, x: Array) -> RecodedFrame:
        return real_frame(CongruenceFrame(x))

    def check_point(self, x: Array) -> Array:
        return self._checked(as_finite_array(x, (self.n, self.n), self, complex), x)

    def _checked(self, x: Array, given: Any) -> Array:
        checked = check_hermitian(x, given, self)
        CongruenceFrame(checked)
        return checked

    def project(self, x: Array, v: Vector) -> Array:
        return hermitian(np.asarray(v, dtype=complex))

    def random_point(self, rng: np.random.Generator) -> Array:
        # Eigenvalues are log-normal, and eigenvectors form a random unitary matrix.
        half = _orthonormal(self.n, self.n, rng) * np.exp(0.5 * rng.standard_normal(self.n))
        return np.asarray(half @ adjoint(half))


class ComplexStiefel(Manifold):
    """Complex matrices with orthonormal columns, {X ∈ Cⁿˣᵖ : XᴴX = I}, with the metric ⟨U, V⟩ = Re tr(UᴴV).

    Use it for complex principal components, beamforming and unitary matrices (n = p). It is `Stiefel` with
    complex entries. A Euclidean gradient is the derivative with respect to the real parts plus i times that
    with respect to the imaginary parts; `Problem.from_jax` computes it so.

    Parameters
    ----------
    n : int
        Number of rows.
    p : int
        Number of columns, at most n.

    Attributes
    ----------
    n, p : int
        Number of rows and columns.
    dim : int
        2np − p².

    See Also
    --------
    Stiefel : Real matrices.
    UnitCircle : Complex numbers of absolute value 1.

    References
    ----------
    A. Edelman, T. A. Arias, S. T. Smith, "The geometry of algorithms with orthogonality constraints", SIAM
    Journal on Matrix Analysis and Applications 20(2), 1998.

    Examples
    --------
    Turn the phase of a unit vector by a right angle:

    >>> import numpy as np
    >>> from geodual.manifolds import ComplexStiefel
    >>> vectors = ComplexStiefel(2, 1)
    >>> x = np.array([[1.0], [0.0]])
    >>> np.round(vectors.exp(x, np.pi / 2 * 1j * x), 6).tolist()
    [[1j], [0j]]
    """

    vectorized = True
    closed_form_log = False
    step_limit = np.pi / 2  # as on `Stiefel`

    def __init__(self, n: int, p: int) -> None:
        self.n, self.p = check_size(n, "n"), check_size(p, "p")
        if self.p > self.n:
            raise ValueError(
                f"`p` must be at most n = {self.n}, got {self.p}; rows come first, as in "
                "ComplexStiefel(5, 2)."
            )
        self.dim = 2 * self.n * self.p - self.p**2

    def __repr__(self) -> str:
        return f"ComplexStiefel({self.n}, {self.p})"

    def frame(self, x: Array) -> RecodedFrame:
        return real_frame(StiefelFrame(x))

    def check_point(self, x: Array) -> Array:
        return self._checked(as_finite_array(x, (self.n, self.p), self, complex), x)

    def _checked(self, x: Array, given: Any) -> Array:
        return check_orthonormal(x, given, self)

    def project(self, x: Array, v: Vector) -> Array:
        return StiefelFrame(x).gradient(np.asarray(v, dtype=complex))

    def random_point(self, rng: np.random.Generator) -> Array:
        return _orthonormal(self.n, self.p, rng)


def _orthonormal(n: int, p: int, rng: np.random.Generator) -> Array:
    """Draw a matrix with orthonormal columns from the uniform distribution."""
    q, r = np.linalg.qr(rng.standard_normal((n, p)) + 1j * rng.standard_normal((n, p)))
    diagonal = np.diag(r)
    return np.asarray(q * (diagonal / np.abs(diagonal)))
