"""Rotations: orthogonal matrices of determinant 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from geodual.arrays import Array

from .base import Manifold, NoLogarithmError, NotOnManifoldError, as_finite_array, check_size
from .frame import Frame, HalfSquaredDistance, HessianMap, Vector, x_cot_x
from .matrices import adjoint, expm_skew, hermitian, product, reorthonormalized, skew
from .stiefel import check_orthonormal

_HALF_TURN = 1e-8  # an angle this close to π counts as π


class Rotations(Manifold):
    """The group SO(n) = {X ∈ Rⁿˣⁿ : XᵀX = I, det X = 1} with the bi-invariant metric ⟨U, V⟩ = tr(UᵀV).

    Use it for orientations and for changes of orthonormal bases. The metric is that of the space of matrices,
    so a rotation of one plane by the angle θ has the distance √2 θ from the identity. (Half of this metric is
    also common; its distances are shorter by a factor of √2.)

    The frame at X writes a tangent vector as U = XΩ with a skew-symmetric matrix Ω. In Ω, the metric is the
    Frobenius product, exp is X expm(Ω), and the logarithm of Y is logm(XᵀY). It is unique unless XᵀY turns
    some plane by π. Solvers step by the Cayley transform, a second-order retraction.

    Parameters
    ----------
    n : int
        Number of rows, at least 2.

    Attributes
    ----------
    n : int
        Number of rows.
    dim : int
        n(n − 1)/2.

    See Also
    --------
    Stiefel : Orthonormal vectors; ``Stiefel(n, n)`` contains reflections too.
    SkewSymmetric : The logarithms of rotations.

    References
    ----------
    A. Edelman, T. A. Arias, S. T. Smith, "The geometry of algorithms with orthogonality constraints", SIAM
    Journal on Matrix Analysis and Applications 20(2), 1998.

    N. Boumal, *An Introduction to Optimization on Smooth Manifolds*, Cambridge University Press, 2023,
    Section 7.4.

    Examples
    --------
    Halfway to a quarter turn of the plane is an eighth turn:

    >>> import math
    >>> import numpy as np
    >>> from geodual.manifolds import Rotations
    >>> plane = Rotations(2)
    >>> x, y = np.eye(2), np.array([[0.0, -1.0], [1.0, 0.0]])
    >>> half = plane.exp(x, 0.5 * plane.log(x, y))
    >>> round(math.degrees(math.atan2(half[1, 0], half[0, 0])), 6)
    45.0
    >>> round(plane.dist(x, y) / math.sqrt(2.0), 6)  # a quarter turn, π/2
    1.570796
    """

    vectorized = True

    def __init__(self, n: int) -> None:
        self.n = check_size(n, "n", least=2)
        self.dim = self.n * (self.n - 1) // 2
        self.step_limit = math.pi / 2 * math.sqrt(2 * (self.n // 2))  # every plane may turn by a right angle

    def __repr__(self) -> str:
        return f"Rotations({self.n})"

    def frame(self, x: Array) -> RotationFrame:
        return RotationFrame(x)

    def check_point(self, x: Array) -> Array:
        return self._checked(as_finite_array(x, (self.n, self.n), self), x)

    def _checked(self, x: Array, given: Any) -> Array:
        matrix = check_orthonormal(x, given, self)
        if (np.linalg.det(matrix) < 0.0).any():
            raise NotOnManifoldError(
                f"A point of {self} must have determinant 1, got -1, a reflection; change the sign of one "
                "column."
            )
        return matrix

    def project(self, x: Array, v: Vector) -> Array:
        return np.asarray(x @ skew(x.mT @ v))

    def random_point(self, rng: np.random.Generator) -> Array:
        # Uniform (Haar) draws require a QR decomposition with a positive diagonal of R.
        q, r = np.linalg.qr(rng.standard_normal((self.n, self.n)))
        q = q * np.where(np.diag(r) < 0.0, -1.0, 1.0)
        q[:, 0] *= np.sign(np.linalg.det(q))
        return np.asarray(q)


class RotationFrame(Frame):
    """Tangent vectors U = XΩ in the coordinates Ω, which are skew-symmetric, at X or a stack of them."""

    def __init__(self, point: Array) -> None:
        self.point = point
        self._transposed = point.mT

    def tangent(self, c: Array) -> Array:
        return product(self.point, c)

    def coordinates(self, u: Vector) -> Array:
        return skew(product(self._transposed, u))

    def random(self, rng: np.random.Generator) -> Array:
        return skew(rng.standard_normal(self.shape))

    def gradient(self, egrad: Vector) -> Array:
        return skew(product(self._transposed, egrad))

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # Second derivative of f(X(I + Ω + Ω²/2)) at Ω = 0.
        symmetric = hermitian(product(self._transposed, egrad))
        return lambda ehess, c: skew(product(self._transposed, ehess) - product(c, symmetric))

    def exp(self, c: Array) -> Array:
        return reorthonormalized(product(self.point, _exponential(c)))

    def log(self, y: Array) -> Array:
        return _logarithm(self._transposed @ y)

    def dist(self, y: Array) -> float:
        # Unlike the logarithm, the angles are unique even for half turns. Each appears twice, as ±θ.
        return float(np.linalg.norm(np.angle(np.linalg.eigvals(self._transposed @ y))))

    def retract(self, c: Array) -> Array:
        """Return X (I − Ω/2)⁻¹ (I + Ω/2), the Cayley transform, a rotation for every Ω."""
        return reorthonormalized(product(self.point, _cayley(c)))

    def move(self, c: Array) -> Array:
        return self.retract(c)

    def transport(self, y: Array, c: Array) -> Array:
        # Parallel transport along X expm(tΩ): half of the rotation from each side.
        half = _exponential(0.5 * self.log(y))
        return np.asarray(y @ (half.mT @ c @ half))

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        v = self.log(y)
        theta, basis = np.linalg.eigh(-1j * v)
        # The curvature operator is −¼ ad². In the complex eigenbasis of the logarithm, it scales entry ab by
        # x², and the Hessian of ½ d² by x cot x, with x = (θₐ − θ_b)/2.
        weights = x_cot_x(0.5 * (theta[..., :, None] - theta[..., None, :]))
        back = adjoint(basis)

        def hessian(c: Array) -> Array:
            return skew((basis @ (weights * (back @ c @ basis)) @ back).real)

        return HalfSquaredDistance(0.5 * float(np.vdot(v, v)), -v, hessian)


def _exponential(c: Array) -> Array:
    """Return expm(Ω) of a skew-symmetric matrix; for n ≤ 3 by Rodrigues' formula."""
    if c.shape[-1] > 3:
        return expm_skew(c)
    angle = np.sqrt(_squared_angle(c))
    # (1 − cos θ)/θ² = sinc²(θ/2)/2 with sinc x = sin(x)/x, which numpy scales by π.
    return _polynomial(c, np.sinc(angle / np.pi), 0.5 * np.sinc(0.5 * angle / np.pi) ** 2)


def _cayley(c: Array) -> Array:
    """Return (I − Ω/2)⁻¹ (I + Ω/2); for n ≤ 3, where Ω³ = −θ²Ω, as a polynomial in Ω."""
    if c.shape[-1] > 3:
        identity = np.eye(c.shape[-1])
        return np.linalg.solve(identity - 0.5 * c, identity + 0.5 * c)
    first = 1.0 / (1.0 + 0.25 * _squared_angle(c))
    return _polynomial(c, first, 0.5 * first)


def _squared_angle(c: Array) -> Array:
    """Return the squared angle θ² of a rotation expm(Ω) of the plane or of space."""
    return np.asarray(0.5 * np.sum(c * c, axis=(-2, -1), keepdims=True))


def _polynomial(c: Array, first: Array, second: Array) -> Array:
    return np.asarray(np.eye(c.shape[-1]) + first * c + second * product(c, c))


def _logarithm(rotation: Array) -> Array:
    """Return the skew-symmetric logarithm of a rotation; raise an error if it turns some plane by π."""
    # I + R is the square root of R, which turns by half the angles, times 2 cos(θ/2) in each plane.
    left, cosines, right = np.linalg.svd(rotation + np.eye(rotation.shape[-1]))
    if not (cosines > _HALF_TURN).all():
        raise NoLogarithmError(
            "The rotations differ by half a turn of some plane, where both directions are equally short, so "
            "there is no logarithm and no transport; go through a third rotation."
        )
    # Half angles are below a right angle. So planes of the square root with equal sines have equal angles,
    # and its eigenvectors are eigenvectors of the rotation, from which the angles are read.
    _, basis = np.linalg.eigh(-1j * skew(left @ right))
    angles = np.angle(np.sum(basis.conj() * (rotation @ basis), axis=-2))
    return skew(((1j * basis * angles[..., None, :]) @ adjoint(basis)).real)
