"""The unit sphere."""

from __future__ import annotations

import numpy as np

from geodual.arrays import Array

from .base import (
    AmbientFrame,
    HalfSquaredDistance,
    HessianMap,
    Manifold,
    NoLogarithmError,
    NotOnManifoldError,
    Vector,
    as_finite_array,
    check_size,
    radial_hessian,
)

_NORM_TOLERANCE = 1e-8


class Sphere(Manifold):
    """Unit vectors of Rⁿ with the embedded metric.

    Parameters
    ----------
    n : int
        Number of coordinates; the sphere has dimension n − 1.
    """

    hadamard = False
    step_limit = np.pi / 2

    def __init__(self, n: int) -> None:
        self.n = check_size(n, "n", least=2)
        self.dim = self.n - 1

    def __repr__(self) -> str:
        return f"Sphere({self.n})"

    def frame(self, x: Array) -> SphereFrame:
        return SphereFrame(x)

    def check_point(self, x: Array) -> Array:
        x = as_finite_array(x, (self.n,), self)
        norm = float(np.linalg.norm(x))
        if abs(norm - 1.0) > _NORM_TOLERANCE:
            raise NotOnManifoldError(
                f"A point of {self} must have norm 1, got {norm:.6g}; divide it by its norm."
            )
        return x

    def project(self, x: Array, v: Vector) -> Array:
        return np.asarray(v - np.dot(x, v) * x)

    def random_point(self, rng: np.random.Generator) -> Array:
        x = rng.standard_normal(self.n)
        return np.asarray(x / np.linalg.norm(x))


class SphereFrame(AmbientFrame):
    """The plane orthogonal to a unit vector."""

    def gradient(self, egrad: Vector) -> Array:
        return np.asarray(egrad - np.dot(self.point, egrad) * self.point)

    def hessian_map(self, egrad: Vector) -> HessianMap:
        normal = float(np.dot(self.point, egrad))
        return lambda ehess, c: self.gradient(ehess) - normal * c

    def exp(self, c: Array) -> Array:
        angle = float(np.linalg.norm(c))
        y = np.cos(angle) * self.point + np.sinc(angle / np.pi) * c
        return np.asarray(y / np.linalg.norm(y))

    def log(self, y: Array) -> Array:
        self._check_not_opposite(y)
        # The tangential part of y, from the shorter chord so that little cancels.
        near = float(np.dot(self.point, y)) > 0.0
        across = self.gradient(y - self.point if near else y + self.point)
        length = float(np.linalg.norm(across))
        return across * (self.dist(y) / length) if length > 0.0 else across

    def dist(self, y: Array) -> float:
        # The angle from both chords is accurate for near and for nearly opposite points alike.
        return 2.0 * float(np.arctan2(np.linalg.norm(y - self.point), np.linalg.norm(y + self.point)))

    def _check_not_opposite(self, y: Array) -> None:
        if np.linalg.norm(self.point + y) <= _NORM_TOLERANCE:
            raise NoLogarithmError(
                "Opposite points of a sphere are joined by many shortest geodesics, so they have "
                "no logarithm and no transport; put a point between them."
            )

    def retract(self, c: Array) -> Array:
        y = self.point + c
        return np.asarray(y / np.linalg.norm(y))

    def transport(self, y: Array, c: Array) -> Array:
        self._check_not_opposite(y)
        chord = self.point + y
        return np.asarray(c - (2.0 * np.dot(chord, c) / np.dot(chord, chord)) * chord)

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        v = self.log(y)
        angle = float(np.linalg.norm(v))
        tangential = angle / np.tan(angle) if angle > 1e-6 else 1.0 - angle**2 / 3.0
        return HalfSquaredDistance(0.5 * angle**2, -v, radial_hessian(v, tangential))
