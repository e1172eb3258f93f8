"""Hyperbolic space in the hyperboloid model."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array

from .base import Manifold, NotOnManifoldError, as_finite_array, check_size, defect_tolerance, is_single
from .frame import (
    Frame,
    HalfSquaredDistance,
    HessianMap,
    Vector,
    dots,
    polar_coordinates,
    radial_hessian,
    x_coth_x,
)

_FAR = 50.0  # distance d beyond which coordinates, of size eᵈ, are too coarse to distinguish points


def minkowski(u: Array, v: Array) -> Array:
    """Return the Minkowski product −u₀v₀ + Σ uᵢvᵢ along the last axis."""
    (u_time, u_space), (v_time, v_space) = _parts(u), _parts(v)
    return np.asarray(dots(u_space, v_space) - u_time * v_time)


class Hyperbolic(Manifold):
    """Hyperbolic space of curvature −1: {x ∈ Rⁿ⁺¹ : −x₀² + Σ xᵢ² = −1, x₀ > 0}.

    Use it to embed trees and hierarchies. This is the hyperboloid model, with the metric ⟨u, v⟩ = −u₀v₀ + Σ
    uᵢvᵢ. The distance satisfies cosh d(x, y) = x₀y₀ − Σ xᵢyᵢ.

    Parameters
    ----------
    n : int
        Dimension; points have n + 1 coordinates, the first of them time-like.

    Attributes
    ----------
    n, dim : int
        Dimension.

    See Also
    --------
    Sphere : The space of curvature 1.
    Euclidean : The flat space.

    References
    ----------
    M. Nickel, D. Kiela, "Learning continuous hierarchies in the Lorentz model of hyperbolic geometry", ICML,
    2018.

    Examples
    --------
    `lift` returns the point with given space-like coordinates:

    >>> import numpy as np
    >>> from geodual.manifolds import Hyperbolic
    >>> space = Hyperbolic(2)
    >>> origin, x = space.lift(np.zeros(2)), space.lift(np.array([np.sinh(3.0), 0.0]))
    >>> round(space.dist(origin, x), 6)
    3.0
    """

    vectorized = True
    hadamard = True
    step_limit = 2.0  # a longer step multiplies the coordinates more than sevenfold

    def __init__(self, n: int) -> None:
        self.n = check_size(n, "n")
        self.dim = self.n

    def __repr__(self) -> str:
        return f"Hyperbolic({self.n})"

    def frame(self, x: Array) -> HyperbolicFrame:
        return HyperbolicFrame(x)

    def check_point(self, x: Array) -> Array:
        return self._checked(as_finite_array(x, (self.n + 1,), self), x)

    def _checked(self, x: Array, given: Any) -> Array:
        time = x[..., :1]
        if (time <= 0.0).any():
            raise NotOnManifoldError(
                f"A point of {self} must have a positive first coordinate, got {time.min():.6g}; "
                "lift(x[1:]) gives the point with these space coordinates."
            )
        product = minkowski(x, x)
        # Rounding errors of the Minkowski product grow with its terms, which are as large as x₀².
        if (np.abs(product + 1.0) > defect_tolerance(given) * time**2).any():
            raise NotOnManifoldError(
                f"A point of {self} must satisfy −x₀² + Σxᵢ² = −1, got {product.flat[0]:.10g}; "
                "lift(x[1:]) gives the point with these space coordinates."
            )
        return _lifted(x[..., 1:]) if is_single(given) else x

    def lift(self, space: Array) -> Array:
        """Return the point with the given n space-like coordinates."""
        space = as_finite_array(space, (self.n,), self)
        return _lifted(space)

    def project(self, x: Array, v: Vector) -> Array:
        return np.asarray(v + minkowski(x, v) * x)

    def random_point(self, rng: np.random.Generator) -> Array:
        return self.lift(rng.standard_normal(self.n))


class HyperbolicFrame(Frame):
    """The tangent space, moved by a Lorentz boost to the origin (1, 0, …, 0), where it is flat Rⁿ.

    Points run along the last axis, so that a stack of points has a frame too.
    """

    def __init__(self, point: Array) -> None:
        self.point = point
        self._time, self._space = _parts(point)
        self._radius, self._outward = polar_coordinates(self._space)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._space.shape

    def tangent(self, c: Array) -> Array:
        along = dots(self._space, c)
        return _joined(along, c + self._space * (along / (1.0 + self._time)))

    def coordinates(self, u: Vector) -> Array:
        time, space = _parts(u)
        return np.asarray(space - self._space * (time / (1.0 + self._time)))

    def gradient(self, egrad: Vector) -> Array:
        # The transpose of `tangent`.
        time, space = _parts(egrad)
        along = dots(self._space, space)
        return np.asarray(space + self._space * (time + along / (1.0 + self._time)))

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # The geodesic bends toward +x, so the normal part of the gradient adds to the second derivative.
        normal = dots(self.point, egrad)
        return lambda ehess, c: self.gradient(ehess) + normal * c

    def exp(self, c: Array) -> Array:
        length, direction = polar_coordinates(c)
        return self._reach(direction, np.sinh(length))

    def retract(self, c: Array) -> Array:
        length, direction = polar_coordinates(c)
        return self._reach(direction, length)

    def _reach(self, direction: Array, sinh: Array) -> Array:
        """Return the point at the given sinh of the distance in a unit direction."""
        # The boosted space part is x (cosh + tanh(r/2) cos(angle) sinh) + sinh · direction, where r is the
        # distance from x to the origin. As a sum of positive terms, the factor of x loses no digits toward
        # the origin: cosh = 1/(cosh + sinh) + sinh, and `outward` = 1 + tanh(r/2) cos(angle).
        turned = self._outward + direction
        spread = 0.5 * dots(turned, turned)
        outward = (1.0 + 1.0 / (self._time + self._radius) + self._radius * spread) / (1.0 + self._time)
        factor = 1.0 / (np.hypot(1.0, sinh) + sinh) + sinh * outward
        return _lifted(factor * self._space + sinh * direction)

    def log(self, y: Array) -> Array:
        excess = self._cosh_minus_one(y)
        # The space part of y, boosted back; written in terms of y − x so that close points lose no digits.
        time, space = _parts(y)
        back = (time - self._time + excess) / (1.0 + self._time)
        here = space - self._space - self._space * back
        return np.asarray(polar_coordinates(here)[1] * (2.0 * np.arcsinh(np.sqrt(0.5 * excess))))

    def _cosh_minus_one(self, y: Array) -> Array:
        """Return cosh d(x, y) − 1 as the sum of a radial and an angular part, neither of them negative."""
        time, space = _parts(y)
        radius, outward = polar_coordinates(space)
        area, turned = self._radius * radius, outward - self._outward
        radial = (radius - self._radius) ** 2 / (1.0 + self._time * time + area)
        return np.asarray(radial + 0.5 * area * dots(turned, turned))

    def remoteness(self, y: Array) -> float:
        return float(np.linalg.norm(self.log(y), axis=-1).max()) / _FAR

    def transport(self, y: Array, c: Array) -> Array:
        # Parallel transport adds a multiple of x + y, proportional to the component along the geodesic.
        length, direction = polar_coordinates(self.log(y))
        along = np.tanh(0.5 * length) * dots(direction, c)
        return np.asarray(self.tangent(c) + along * (self.point + y))

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        v = self.log(y)
        # The Hessian is 1 along the geodesic and d coth d across it.
        hessian = radial_hessian(v, x_coth_x(polar_coordinates(v)[0]))
        return HalfSquaredDistance(0.5 * float(np.vdot(v, v)), -v, hessian)


def _parts(x: Array) -> tuple[Array, Array]:
    """Return the time and the space coordinates."""
    x = np.asarray(x)
    return (x[0], x[1:]) if x.ndim == 1 else (x[..., :1], x[..., 1:])


def _joined(time: Array, space: Array) -> Array:
    joined = np.empty((*space.shape[:-1], space.shape[-1] + 1))
    joined[..., :1], joined[..., 1:] = time, space
    return joined


def _lifted(space: Array) -> Array:
    """Return (√(1 + ‖space‖²), space)."""
    return _joined(np.sqrt(1.0 + dots(space, space)), space)
