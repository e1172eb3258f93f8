"""The Grassmann manifold: subspaces of Rⁿ, each represented by an orthonormal basis."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodual.arrays import Array

from .base import Manifold, NoLogarithmError, as_finite_array, check_size
from .frame import AmbientFrame, HalfSquaredDistance, HessianMap, Vector, x_cot_x
from .matrices import hermitian, polar, skew
from .stiefel import check_orthonormal

_RIGHT_ANGLE = 1e-8  # cosine of a principal angle up to which it counts as a right angle


class Grassmann(Manifold):
    """Subspaces of dimension p of Rⁿ, with the canonical metric of the quotient of orthonormal bases.

    Use it for principal subspaces and subspace tracking, where only the span of the columns of X matters. A
    subspace is represented by any n × p matrix X whose orthonormal columns span it. So a cost must have the
    same value at X and at XQ for every orthogonal Q, as tr(XᵀAX) does: it is a function of the subspace.

    A tangent vector at X is a matrix U with XᵀU = 0 (its horizontal lift), and ⟨U, V⟩ = tr(UᵀV). The distance
    is the norm of the principal angles between two subspaces. The logarithm is unique unless one of these
    angles is a right angle. `exp`, `log` and parallel transport have closed forms, by singular value
    decompositions.

    Parameters
    ----------
    n : int
        Dimension of the space.
    p : int
        Dimension of the subspaces, less than n.

    Attributes
    ----------
    n, p : int
        Number of rows and columns.
    dim : int
        p(n − p).

    See Also
    --------
    Stiefel : Orthonormal bases, if the basis itself matters.
    FixedRank : Matrices of fixed rank.

    References
    ----------
    A. Edelman, T. A. Arias, S. T. Smith, "The geometry of algorithms with orthogonality constraints", SIAM
    Journal on Matrix Analysis and Applications 20(2), 1998.

    T. Bendokat, R. Zimmermann, P.-A. Absil, "A Grassmann manifold handbook: basic geometry and computational
    aspects", Advances in Computational Mathematics 50(6), 2024.

    Examples
    --------
    Two planes of R³ that share a line, with an angle of 60° between them; the basis does not matter:

    >>> import math
    >>> import numpy as np
    >>> from geodual.manifolds import Grassmann
    >>> planes = Grassmann(3, 2)
    >>> x = np.eye(3)[:, :2]
    >>> y = np.array([[1.0, 0.0], [0.0, 0.5], [0.0, np.sqrt(0.75)]])
    >>> [round(math.degrees(planes.dist(x, basis)), 6) for basis in (y, -y[:, ::-1])]
    [60.0, 60.0]
    """

    vectorized = True
    quotient = True

    def __init__(self, n: int, p: int) -> None:
        self.n, self.p = check_size(n, "n", least=2), check_size(p, "p")
        if self.p >= self.n:
            raise ValueError(
                f"`p` must be less than n = {self.n}, got {self.p}; rows come first, as in Grassmann(5, 2)."
            )
        self.dim = self.p * (self.n - self.p)
        # Half of the distance to subspaces at a right angle to x, beyond which geodesics are not shortest.
        self.step_limit = math.pi / 4 * math.sqrt(min(self.p, self.n - self.p))

    def __repr__(self) -> str:
        return f"Grassmann({self.n}, {self.p})"

    def frame(self, x: Array) -> GrassmannFrame:
        return GrassmannFrame(x)

    def check_point(self, x: Array) -> Array:
        return self._checked(as_finite_array(x, (self.n, self.p), self), x)

    def _checked(self, x: Array, given: Any) -> Array:
        return check_orthonormal(x, given, self)

    def project(self, x: Array, v: Vector) -> Array:
        return GrassmannFrame(x).gradient(np.asarray(v, dtype=float))

    def random_point(self, rng: np.random.Generator) -> Array:
        return np.asarray(np.linalg.qr(rng.standard_normal((self.n, self.p)))[0])


@dataclass(frozen=True)
class _Geodesic:
    """A geodesic from X: velocity U diag(angles) Vᵀ, and the rotation from its last basis to a given one."""

    left: Array
    angles: Array
    right: Array  # V, of shape (p, p)
    rotation: Array

    @property
    def velocity(self) -> Array:
        return np.asarray((self.left * self.angles[..., None, :]) @ self.right.mT)


class GrassmannFrame(AmbientFrame):
    """The horizontal matrices at X, or at each matrix of a stack: those with XᵀU = 0."""

    def gradient(self, egrad: Vector) -> Array:
        return np.asarray(egrad - self.point @ (self.point.mT @ egrad))

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # The geodesic X(t) has X″(0) = −X UᵀU. Its product with the gradient G is −tr(UᵀU XᵀG). For a
        # function of the subspace, XᵀG is symmetric.
        symmetric = hermitian(self.point.mT @ egrad)
        return lambda ehess, c: self.gradient(ehess - c @ symmetric)

    def exp(self, c: Array) -> Array:
        # Edelman, Arias and Smith 1998, eq. (2.65), in the basis that does not rotate along the geodesic.
        left, angles, right = np.linalg.svd(c, full_matrices=False)
        angles = angles[..., None, :]
        end = (self.point @ right.mT) * np.cos(angles) + left * np.sin(angles)
        return polar(end @ right)

    def retract(self, c: Array) -> Array:
        return polar(self.point + c)

    def _geodesic(self, y: Array) -> _Geodesic:
        """Return the shortest geodesic to the span of `y` (Bendokat, Zimmermann and Absil, algorithm 5.3)."""
        start, cosines, end = np.linalg.svd(self.point.mT @ y)
        if not (cosines > _RIGHT_ANGLE).all():
            raise NoLogarithmError(
                "The subspaces are at a right angle: they have many shortest geodesics between them, but no "
                "logarithm and no transport; go through a third subspace."
            )
        rotation = start @ end  # the basis y·rotationᵀ is the one closest to X
        across = self.gradient(y @ rotation.mT)
        left, sines, right = np.linalg.svd(across, full_matrices=False)
        # The largest sine belongs to the smallest cosine. The arctangent of both is accurate everywhere.
        return _Geodesic(left, np.arctan2(sines, cosines[..., ::-1]), right.mT, rotation)

    def log(self, y: Array) -> Array:
        return self._geodesic(y).velocity

    def dist(self, y: Array) -> float:
        cosines = np.linalg.svd(self.point.mT @ y, compute_uv=False)
        sines = np.linalg.svd(self.gradient(y), compute_uv=False)
        return float(np.linalg.norm(np.arctan2(sines, cosines[..., ::-1])))

    def transport(self, y: Array, c: Array) -> Array:
        way = self._geodesic(y)
        return np.asarray(self._rotated(way, c) @ way.rotation)  # to the given basis of y

    def rotation_to(self, y: Array) -> Callable[[Array], Array]:
        """Return the rotation of Rⁿ that carries this subspace along the geodesic to the span of `y`."""
        way = self._geodesic(y)
        return lambda a: self._rotated(way, a)

    def _rotated(self, way: _Geodesic, a: Array) -> Array:
        # Edelman, Arias and Smith 1998, eq. (2.68), which rotates X and U by the angles in their planes.
        angles = way.angles[..., None, :]
        start, cosine, sine = self.point @ way.right, np.cos(angles) - 1.0, np.sin(angles)
        from_left = (way.left * cosine - start * sine) @ (way.left.mT @ a)
        from_start = (start * cosine + way.left * sine) @ (start.mT @ a)
        return np.asarray(a + from_left + from_start)

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        """Return ½ d² with its exact Hessian.

        In the bases U and V of the geodesic with angles θ, the curvature operator has the eigenvalues
        (θᵢ − θⱼ)² on symmetric parts, (θᵢ + θⱼ)² on skew parts, and θⱼ² outside the span of U. The Hessian
        has the eigenvalue x cot x where the curvature operator has x².
        """
        way = self._geodesic(y)
        row, column = way.angles[..., None, :], way.angles[..., :, None]
        even, odd, outside = x_cot_x(column - row), x_cot_x(column + row), x_cot_x(row)

        def hessian(c: Array) -> Array:
            turned = c @ way.right
            block = way.left.mT @ turned
            inside = even * hermitian(block) + odd * skew(block)
            rest = (turned - way.left @ block) * outside
            return np.asarray((way.left @ inside + rest) @ way.right.mT)

        return HalfSquaredDistance(0.5 * float(np.vdot(way.angles, way.angles)), -way.velocity, hessian)
