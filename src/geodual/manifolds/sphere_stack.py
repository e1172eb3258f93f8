"""Many unit spheres at once: the frame that `Oblique` and powers of spheres share."""

from __future__ import annotations

import numpy as np

from geodual.arrays import Array

from .base import NoLogarithmError
from .frame import AmbientFrame, HalfSquaredDistance, HessianMap, Vector, x_cot_x

_OPPOSITE = 1e-8  # length of x + y up to which x and y count as opposite


class SphereStackFrame(AmbientFrame):
    """Vectors orthogonal to a stack of unit vectors, one by one; `axis` runs along each unit vector."""

    def __init__(self, point: Array, axis: int) -> None:
        super().__init__(point)
        self._axis = axis

    def _dot(self, a: Array, b: Array) -> Array:
        """Return the inner product of each pair of vectors, with `axis` kept at length 1."""
        return np.add.reduce(a * b, axis=self._axis, keepdims=True)

    def _norm(self, a: Array) -> Array:
        return np.sqrt(self._dot(a, a))

    def _normalised(self, y: Array) -> Array:
        return np.asarray(y / self._norm(y))

    def gradient(self, egrad: Vector) -> Array:
        return np.asarray(egrad - self._dot(self.point, egrad) * self.point)

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # The geodesics bend towards −x, so the normal part of the gradient adds to the second derivative.
        normal = self._dot(self.point, egrad)
        # Project at the end: normal rounding errors of c would grow in long chains of products.
        return lambda ehess, c: self.gradient(ehess - normal * c)

    def exp(self, c: Array) -> Array:
        angle = self._norm(c)
        # sinc(angle/π) is sin(angle)/angle, defined at 0. Dividing by the norm stops drift over many steps.
        return self._normalised(np.cos(angle) * self.point + np.sinc(angle / np.pi) * c)

    def log(self, y: Array) -> Array:
        self._check_not_opposite(y)
        # The tangential part of y, computed from the shorter chord to lose fewer digits to cancellation.
        side = np.where(self._dot(self.point, y) > 0.0, 1.0, -1.0)
        across = self.gradient(y - side * self.point)
        return across * _ratio(self._angles(y), self._norm(across))

    def _angles(self, y: Array) -> Array:
        # The angle from both chords is accurate for near and for almost opposite points; arccos is not.
        return 2.0 * np.arctan2(self._norm(y - self.point), self._norm(y + self.point))

    def dist(self, y: Array) -> float:
        return float(np.linalg.norm(self._angles(y)))

    def _check_not_opposite(self, y: Array) -> None:
        opposite = np.flatnonzero(self._norm(self.point + y) <= _OPPOSITE)
        if opposite.size:
            raise NoLogarithmError(
                f"{opposite.size} of the unit vectors are opposite, the first with index {opposite[0]}. Many "
                "shortest geodesics join them, so there is no logarithm and no transport; go by way of a "
                "third point."
            )

    def retract(self, c: Array) -> Array:
        return self._normalised(self.point + c)

    def transport(self, y: Array, c: Array) -> Array:
        self._check_not_opposite(y)
        # On tangent vectors, parallel transport is the reflection in the hyperplane normal to x + y.
        chord = self.point + y
        return np.asarray(c - (2.0 * self._dot(chord, c) / self._dot(chord, chord)) * chord)

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        v = self.log(y)
        angle = self._norm(v)
        direction = v * _ratio(1.0, angle)
        # The Hessian is 1 along each geodesic and d cot d across it.
        across = x_cot_x(angle)
        along = (1.0 - across) * direction

        def hessian(c: Array) -> Array:
            return np.asarray(across * c + self._dot(direction, c) * along)

        return HalfSquaredDistance(0.5 * float(np.vdot(v, v)), -v, hessian)


def _ratio(a: Array | float, b: Array) -> Array:
    """Return a/b, or 0 where b is 0."""
    return np.asarray(np.divide(a, b, out=np.zeros_like(b), where=b > 0.0))
