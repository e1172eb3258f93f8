"""Flat space of arrays of any shape."""

from __future__ import annotations

import numpy as np

from geodual.arrays import Array

from .base import AmbientFrame, HalfSquaredDistance, HessianMap, Manifold, Vector, as_finite_array, check_size


class Euclidean(Manifold):
    """Arrays of a given shape with the Frobenius inner product.

    Parameters
    ----------
    *shape : int
        Shape of the arrays: ``Euclidean(3)`` are vectors, ``Euclidean(3, 4)`` matrices.
    """

    hadamard = True

    def __init__(self, *shape: int) -> None:
        if not shape:
            raise ValueError("`Euclidean` needs a shape, as in Euclidean(3) or Euclidean(3, 4).")
        self.shape = tuple(check_size(n, "shape") for n in shape)
        self.dim = int(np.prod(self.shape))

    def __repr__(self) -> str:
        return f"Euclidean({', '.join(map(str, self.shape))})"

    def frame(self, x: Array) -> EuclideanFrame:
        return EuclideanFrame(x)

    def check_point(self, x: Array) -> Array:
        return as_finite_array(x, self.shape, self)

    def project(self, x: Array, v: Vector) -> Array:
        return np.asarray(v, dtype=float)

    def random_point(self, rng: np.random.Generator) -> Array:
        return rng.standard_normal(self.shape)


class EuclideanFrame(AmbientFrame):
    """The tangent space of flat space: the space itself."""

    @property
    def unit(self) -> float:
        return max(1.0, float(np.abs(self.point).max()))

    def gradient(self, egrad: Vector) -> Array:
        return np.asarray(egrad, dtype=float)

    def hessian_map(self, egrad: Vector) -> HessianMap:
        return lambda ehess, c: np.asarray(ehess, dtype=float)

    def exp(self, c: Array) -> Array:
        return np.asarray(self.point + c)

    def log(self, y: Array) -> Array:
        return np.asarray(y - self.point)

    def retract(self, c: Array) -> Array:
        return self.exp(c)

    def transport(self, y: Array, c: Array) -> Array:
        return c

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        v = self.log(y)
        return HalfSquaredDistance(0.5 * float(np.vdot(v, v)), -v, lambda c: c)
