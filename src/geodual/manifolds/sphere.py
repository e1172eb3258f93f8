"""The unit sphere."""

from __future__ import annotations

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
from .frame import AmbientFrame, HalfSquaredDistance, HessianMap, Vector, radial_hessian

_OPPOSITE = 1e-8  # length of x + y up to which x and y count as opposite


class Sphere(Manifold):
    """The unit sphere {x ∈ Rⁿ : ‖x‖ = 1} with the embedded metric ⟨u, v⟩ = uᵀv.

    Use it for directions and for eigenvectors. The distance of x and y is the angle between them, and
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

    References
    ----------
    P.-A. Absil, R. Mahony, R. Sepulchre, *Optimization Algorithms on Matrix Manifolds*, Princeton University
    Press, 2008, Example 5.4.1.

    Examples
    --------
    From the north pole a step of length π/2 leads to the equator:

    >>> import numpy as np
    >>> from geodual.manifolds import Sphere
    >>> sphere = Sphere(3)
    >>> north, u = np.array([0.0, 0.0, 1.0]), np.array([np.pi / 2, 0.0, 0.0])
    >>> equator = sphere.exp(north, u)
    >>> np.round(equator, 6).tolist(), round(sphere.dist(north, equator) / np.pi, 6)
    ([1.0, 0.0, 0.0], 0.5)
    """

    step_limit = np.pi / 2  # a longer first step would cross to the other hemisphere

    def __init__(self, n: int) -> None:
        self.n = check_size(n, "n", least=2)
        self.dim = self.n - 1

    def __repr__(self) -> str:
        return f"Sphere({self.n})"

    def frame(self, x: Array) -> SphereFrame:
        return SphereFrame(x)

    def check_point(self, x: Array) -> Array:
        vector = as_finite_array(x, (self.n,), self)
        norm = float(np.linalg.norm(vector))
        if abs(norm - 1.0) > defect_tolerance(x):
            raise NotOnManifoldError(
                f"A point of {self} must have norm 1, got {norm:.10g}; divide it by its norm."
            )
        return vector / norm if is_single(x) else vector

    def project(self, x: Array, v: Vector) -> Array:
        return np.asarray(v - np.dot(x, v) * x)

    def random_point(self, rng: np.random.Generator) -> Array:
        x = rng.standard_normal(self.n)
        return np.asarray(x / np.linalg.norm(x))


class SphereFrame(AmbientFrame):
    """The vectors orthogonal to a unit vector."""

    def gradient(self, egrad: Vector) -> Array:
        return np.asarray(egrad - np.dot(self.point, egrad) * self.point)

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # The geodesic bends towards −x, so the normal part of the gradient adds to the second derivative.
        normal = float(np.dot(self.point, egrad))
        # Project at the end: normal rounding errors of c would grow in long chains of products.
        return lambda ehess, c: self.gradient(ehess - normal * c)

    def exp(self, c: Array) -> Array:
        angle = float(np.linalg.norm(c))
        # sinc(angle/π) is sin(angle)/angle, defined at 0. Dividing by the norm stops drift over many steps.
        y = np.cos(angle) * self.point + np.sinc(angle / np.pi) * c
        return np.asarray(y / np.linalg.norm(y))

    def log(self, y: Array) -> Array:
        self._check_not_opposite(y)
        # The tangential part of y, computed from the shorter chord to lose fewer digits to cancellation.
        near = float(np.dot(self.point, y)) > 0.0
        across = self.gradient(y - self.point if near else y + self.point)
        length = float(np.linalg.norm(across))
        return across * (self.dist(y) / length) if length > 0.0 else across

    def dist(self, y: Array) -> float:
        # The angle from both chords is accurate for near and for almost opposite points; arccos is not.
        return 2.0 * float(np.arctan2(np.linalg.norm(y - self.point), np.linalg.norm(y + self.point)))

    def _check_not_opposite(self, y: Array) -> None:
        if np.linalg.norm(self.point + y) <= _OPPOSITE:
            raise NoLogarithmError(
                "Opposite points of a sphere have many shortest geodesics between them, so there is "
                "no logarithm and no transport; go by way of a third point."
            )

    def retract(self, c: Array) -> Array:
        y = self.point + c
        return np.asarray(y / np.linalg.norm(y))

    def transport(self, y: Array, c: Array) -> Array:
        self._check_not_opposite(y)
        # On tangent vectors, parallel transport is the reflection in the hyperplane normal to x + y.
        chord = self.point + y
        return np.asarray(c - (2.0 * np.dot(chord, c) / np.dot(chord, chord)) * chord)

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        v = self.log(y)
        angle = float(np.linalg.norm(v))
        # The Hessian across the geodesic is d cot d; its series replaces 0/0 at nearly equal points.
        tangential = angle / np.tan(angle) if angle > 1e-6 else 1.0 - angle**2 / 3.0
        return HalfSquaredDistance(0.5 * angle**2, -v, radial_hessian(v, tangential))
