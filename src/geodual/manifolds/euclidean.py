"""Flat space: arrays of any shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array

from .base import Manifold, as_finite_array, check_size
from .frame import AmbientFrame, HalfSquaredDistance, HessianMap, Vector


class Euclidean(Manifold):
    """Flat space: arrays of a given shape with the inner product ⟨U, V⟩ = Σ UᵢVᵢ.

    Use it for unconstrained variables, alone or as a factor of a `Product`.

    Parameters
    ----------
    *shape : int
        Shape of the arrays: points of ``Euclidean(3)`` are vectors, those of ``Euclidean(3, 4)`` matrices.

    Attributes
    ----------
    shape : tuple of int
        Shape of a point.
    dim : int
        Number of entries of a point.

    See Also
    --------
    Product : Combines flat variables with others.
    PositiveOrthant : Positive numbers.
    Symmetric, SkewSymmetric : Other flat spaces.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> plane = Euclidean(2)
    >>> plane.dist(np.zeros(2), np.array([3.0, 4.0]))
    5.0
    >>> Euclidean(3, 4).dim
    12
    """

    vectorized = True
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
        return self._checked(as_finite_array(x, self.shape, self), x)

    def _checked(self, x: Array, given: Any) -> Array:
        return x

    def project(self, x: Array, v: Vector) -> Array:
        return np.asarray(v, dtype=float)

    def random_point(self, rng: np.random.Generator) -> Array:
        return rng.standard_normal(self.shape)


class EuclideanFrame(AmbientFrame):
    """The tangent space of flat space: the space itself."""

    @property
    def unit(self) -> float:
        # The spacing of floating-point numbers grows with the point, and so must a difference step.
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
