"""The unit sphere."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array

from .base import (
    Manifold,
    NoLogarithmError,
    NotOnManifoldError,
    as_finite_array,
    check_size,
    defect_tolerance,
    is_single,
)
from .frame import AmbientFrame, HalfSquaredDistance, HessianMap, Vector, dots, radial_hessian, x_cot_x

_OPPOSITE = 1e-8  # length of x + y up to which x and y count as opposite


class Sphere(Manifold):
    """The unit sphere {x ∈ Rⁿ : ‖x‖ = 1} with the embedded metric ⟨u, v⟩ = uᵀv.

    Use it for directions and eigenvectors. The distance between x and y is the angle between them, and
    exp_x(u) = cos‖u‖ x + sin‖u‖ u/‖u‖.

    Parameters
    ----------
    n : int
        Number of coordinates of a point, at least 2; the sphere has dimension n − 1.

    Attributes
    ----------
    n : int
        Number of coordinates.
    dim : int
        n − 1.

    See Also
    --------
    Oblique : Many unit vectors as the columns of one matrix.
    Stiefel : Several orthonormal vectors.
    Hyperbolic : The space of curvature −1.

    References
    ----------
    P.-A. Absil, R. Mahony, R. Sepulchre, *Optimization Algorithms on Matrix Manifolds*, Princeton University
    Press, 2008, Example 5.4.1.

    Examples
    --------
    A step of length π/2 from the north pole leads to the equator:

    >>> import numpy as np
    >>> from geodual.manifolds import Sphere
    >>> sphere = Sphere(3)
    >>> north, u = np.array([0.0, 0.0, 1.0]), np.array([np.pi / 2, 0.0, 0.0])
    >>> equator = sphere.exp(north, u)
    >>> np.round(equator, 6).tolist(), round(sphere.dist(north, equator) / np.pi, 6)
    ([1.0, 0.0, 0.0], 0.5)
    """

    vectorized = True
    step_limit = np.pi / 2  # a longer first step would cross to the other hemisphere

    def __init__(self, n: int) -> None:
        self.n = check_size(n, "n", least=2)
        self.dim = self.n - 1

    def __repr__(self) -> str:
        return f"Sphere({self.n})"

    def frame(self, x: Array) -> SphereFrame:
        return SphereFrame(x)

    def check_point(self, x: Array) -> Array:
        return self._checked(as_finite_array(x, (self.n,), self), x)

    def _checked(self, x: Array, given: Any) -> Array:
        norms = np.linalg.norm(x, axis=-1, keepdims=True)
        if (np.abs(norms - 1.0) > defect_tolerance(given)).any():
            raise NotOnManifoldError(
                f"A point of {self} must have norm 1, got {norms.flat[0]:.10g}; divide it by its norm."
            )
        return x / norms if is_single(given) else x

    def project(self, x: Array, v: Vector) -> Array:
        return SphereFrame(x).gradient(np.asarray(v, dtype=float))

    def random_point(self, rng: np.random.Generator) -> Array:
        x = rng.standard_normal(self.n)
        return np.asarray(x / np.linalg.norm(x))


class SphereFrame(AmbientFrame):
    """The vectors orthogonal to a unit vector, or to each of a stack of them; `axis` runs along each."""

    def __init__(self, point: Array, axis: int = -1) -> None:
        super().__init__(point)
        self._axis = axis

    def _dot(self, a: Array, b: Array) -> Array:
        return dots(a, b, self._axis)

    def _norm(self, a: Array) -> Array:
        return np.sqrt(self._dot(a, a))

    def _normalized(self, y: Array) -> Array:
        return np.asarray(y / self._norm(y))

    def gradient(self, egrad: Vector) -> Array:
        return np.asarray(egrad - self._dot(self.point, egrad) * self.point)

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # The geodesic bends toward −x, so the normal part of the gradient adds to the second derivative.
        normal = self._dot(self.point, egrad)
        # Project at the end: otherwise rounding errors of c in the normal direction would grow over many
        # products.
        return lambda ehess, c: self.gradient(ehess - normal * c)

    def exp(self, c: Array) -> Array:
        angle = self._norm(c)
        # sinc(angle/π) is sin(angle)/angle, defined at 0. Dividing by the norm stops drift over many steps.
        return self._normalized(np.cos(angle) * self.point + np.sinc(angle / np.pi) * c)

    def log(self, y: Array) -> Array:
        self._check_not_opposite(y)
        # The tangential part of y, computed from the shorter chord to lose fewer digits to cancellation.
        side = np.where(self._dot(self.point, y) > 0.0, 1.0, -1.0)
        across = self.gradient(y - side * self.point)
        return across * _ratio(self._angles(y), self._norm(across))

    def _angles(self, y: Array) -> Array:
        # The angle from both chords is accurate for close and for almost opposite points; arccos is not.
        return 2.0 * np.arctan2(self._norm(y - self.point), self._norm(y + self.point))

    def dist(self, y: Array) -> float:
        return float(np.linalg.norm(self._angles(y)))

    def _check_not_opposite(self, y: Array) -> None:
        opposite = np.flatnonzero(self._norm(self.point + y) <= _OPPOSITE)
        if opposite.size:
            count = f"{opposite.size} of the unit vectors are opposite, the first with index {opposite[0]}. "
            raise NoLogarithmError(
                f"{count if self.point.ndim > 1 else ''}Opposite points of a sphere have many shortest "
                "geodesics between them, so there is no logarithm and no transport; go through a third "
                "point."
            )

    def retract(self, c: Array) -> Array:
        return self._normalized(self.point + c)

    def transport(self, y: Array, c: Array) -> Array:
        self._check_not_opposite(y)
        # On tangent vectors, parallel transport is the reflection in the hyperplane normal to x + y.
        chord = self.point + y
        return np.asarray(c - (2.0 * self._dot(chord, c) / self._dot(chord, chord)) * chord)

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        v = self.log(y)
        angle = self._norm(v)
        # The Hessian is 1 along the geodesic and d cot d across it.
        return HalfSquaredDistance(
            0.5 * float(np.vdot(v, v)), -v, radial_hessian(v, x_cot_x(angle), self._axis)
        )


def _ratio(a: Array, b: Array) -> Array:
    """Return a/b, or 0 where b is 0."""
    return np.asarray(np.divide(a, b, out=np.zeros_like(b), where=b > 0.0))
