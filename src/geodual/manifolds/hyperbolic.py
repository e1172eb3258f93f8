"""Hyperbolic space in the hyperboloid model."""

from __future__ import annotations

import numpy as np

from .base import (
    Array,
    Frame,
    HalfSquaredDistance,
    Manifold,
    Vector,
    as_finite_array,
    check_size,
    radial_hessian,
)

_CONSTRAINT_TOLERANCE = 1e-8


def minkowski(u: Array, v: Array) -> float:
    """Return −u₀v₀ + Σ uᵢvᵢ."""
    return float(np.dot(u[1:], v[1:]) - u[0] * v[0])


class Hyperbolic(Manifold):
    """Hyperbolic space of curvature −1 as {x ∈ Rⁿ⁺¹ : −x₀² + Σ xᵢ² = −1, x₀ > 0}.

    Parameters
    ----------
    n : int
        Dimension; points have n + 1 coordinates, the first of them time-like.
    """

    hadamard = True
    step_limit = 2.0

    def __init__(self, n: int) -> None:
        self.n = check_size(n, "n")
        self.dim = self.n

    def __repr__(self) -> str:
        return f"Hyperbolic({self.n})"

    def frame(self, x: Array) -> HyperbolicFrame:
        return HyperbolicFrame(x)

    def check_point(self, x: Array) -> Array:
        x = as_finite_array(x, (self.n + 1,), self)
        if x[0] <= 0.0:
            raise ValueError(f"A point of {self} must have a positive first coordinate, got {x[0]:.6g}.")
        defect = minkowski(x, x) + 1.0
        if abs(defect) > _CONSTRAINT_TOLERANCE * x[0] ** 2:
            raise ValueError(
                f"A point of {self} must satisfy −x₀² + Σxᵢ² = −1, got {defect - 1.0:.6g}; "
                "lift(x[1:]) gives the point over given space coordinates."
            )
        return x

    def lift(self, space: Array) -> Array:
        """Return the point with the given n space-like coordinates."""
        space = as_finite_array(space, (self.n,), self)
        return np.concatenate([[np.hypot(1.0, np.linalg.norm(space))], space])

    def project(self, x: Array, v: Vector) -> Array:
        return np.asarray(v + minkowski(x, v) * x)

    def random_point(self, rng: np.random.Generator) -> Array:
        return self.lift(rng.standard_normal(self.n))

    def random_ambient(self, rng: np.random.Generator) -> Array:
        return rng.standard_normal(self.n + 1)


class HyperbolicFrame(Frame):
    """The tangent space, carried to the origin (1, 0, …, 0) by a Lorentz boost: there it is flat Rⁿ."""

    def __init__(self, point: Array) -> None:
        self.point = point
        self._time = float(point[0])
        self._space = point[1:]

    @property
    def shape(self) -> tuple[int, ...]:
        return self._space.shape

    def _boost(self, time: float, space: Array) -> Array:
        along = float(np.dot(self._space, space))
        shifted = space + self._space * (time + along / (1.0 + self._time))
        return np.concatenate([[self._time * time + along], shifted])

    def _unboosted_space(self, y: Array) -> Array:
        along = float(np.dot(self._space, y[1:]))
        return np.asarray(y[1:] + self._space * (along / (1.0 + self._time) - y[0]))

    def tangent(self, c: Array) -> Array:
        return self._boost(0.0, c)

    def coordinates(self, u: Vector) -> Array:
        return np.asarray(u[1:] - self._space * (u[0] / (1.0 + self._time)))

    def gradient(self, egrad: Vector) -> Array:
        # The transpose of `tangent`.
        along = float(np.dot(self._space, egrad[1:]))
        return np.asarray(egrad[1:] + self._space * (egrad[0] + along / (1.0 + self._time)))

    def hessian(self, egrad: Vector, ehess: Vector, c: Array) -> Array:
        return self.gradient(ehess) + float(np.dot(self.point, egrad)) * c

    def exp(self, c: Array) -> Array:
        length = float(np.linalg.norm(c))
        stretch = np.sinh(length) / length if length > 0.0 else 1.0
        return self._normalised(self._boost(np.cosh(length), stretch * c))

    def log(self, y: Array) -> Array:
        space = self._unboosted_space(y)
        length = float(np.linalg.norm(space))
        return np.asarray(space * (np.arcsinh(length) / length)) if length > 0.0 else space

    def retract(self, c: Array) -> Array:
        return self._normalised(self._boost(float(np.hypot(1.0, np.linalg.norm(c))), c))

    def transport(self, y: Array, c: Array) -> Array:
        u = self.tangent(c)
        return np.asarray(u + (minkowski(y, u) / (1.0 - minkowski(self.point, y))) * (self.point + y))

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        v = self.log(y)
        length = float(np.linalg.norm(v))
        tangential = length / np.tanh(length) if length > 1e-6 else 1.0 + length**2 / 3.0
        return HalfSquaredDistance(0.5 * length**2, -v, radial_hessian(v, tangential))

    @staticmethod
    def _normalised(y: Array) -> Array:
        y[0] = np.hypot(1.0, np.linalg.norm(y[1:]))
        return y
