"""The unit sphere."""

from __future__ import annotations

import numpy as np

from .base import (
    AmbientFrame,
    Array,
    HalfSquaredDistance,
    Manifold,
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
            raise ValueError(f"A point of {self} must have norm 1, got {norm:.6g}; divide it by its norm.")
        return x

    def project(self, x: Array, v: Vector) -> Array:
        return np.asarray(v - np.dot(x, v) * x)

    def random_point(self, rng: np.random.Generator) -> Array:
        x = rng.standard_normal(self.n)
        return np.asarray(x / np.linalg.norm(x))

    def random_ambient(self, rng: np.random.Generator) -> Array:
        return rng.standard_normal(self.n)


class SphereFrame(AmbientFrame):
    """The plane orthogonal to a unit vector."""

    def gradient(self, egrad: Vector) -> Array:
        return np.asarray(egrad - np.dot(self.point, egrad) * self.point)

    def hessian(self, egrad: Vector, ehess: Vector, c: Array) -> Array:
        return self.gradient(ehess) - float(np.dot(self.point, egrad)) * c

    def exp(self, c: Array) -> Array:
        angle = float(np.linalg.norm(c))
        y = np.cos(angle) * self.point + np.sinc(angle / np.pi) * c
        return np.asarray(y / np.linalg.norm(y))

    def log(self, y: Array) -> Array:
        # The angle from both chords is accurate for near and for nearly opposite points alike.
        angle = 2.0 * np.arctan2(np.linalg.norm(y - self.point), np.linalg.norm(y + self.point))
        across = self.gradient(y - self.point)
        length = float(np.linalg.norm(across))
        if length == 0.0:
            if angle > 1.0:
                raise ValueError("Opposite points of a sphere have no unique geodesic, so no logarithm.")
            return np.zeros_like(self.point)
        return np.asarray((angle / length) * across)

    def retract(self, c: Array) -> Array:
        y = self.point + c
        return np.asarray(y / np.linalg.norm(y))

    def transport(self, y: Array, c: Array) -> Array:
        denominator = 1.0 + np.dot(self.point, y)
        if denominator == 0.0:
            raise ValueError("Opposite points of a sphere have no unique geodesic, so no transport.")
        return np.asarray(c - (np.dot(y, c) / denominator) * (self.point + y))

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        v = self.log(y)
        angle = float(np.linalg.norm(v))
        tangential = angle / np.tan(angle) if angle > 1e-6 else 1.0 - angle**2 / 3.0
        return HalfSquaredDistance(0.5 * angle**2, -v, radial_hessian(v, tangential))
