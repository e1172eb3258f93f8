"""Frames: coordinates of the tangent space at a point, and the geometry seen from there."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodual.arrays import Array

Point = Any
"""An array or, on a `Product`, a tuple or dictionary of points."""
Vector = Any
"""An ambient vector: it has the structure of a point."""
Coordinates = Any
"""A tangent vector in a frame: it can be added, scaled and paired with `Frame.inner`."""


HessianMap = Callable[[Vector, Coordinates], Coordinates]
"""A function that takes ``(ehess, c)`` and returns the Riemannian Hessian applied to `c`."""


@dataclass(frozen=True, slots=True)
class HalfSquaredDistance:
    """½ d²(·, y) at a point: value, gradient and Hessian in the coordinates of the frame there."""

    value: float
    gradient: Coordinates
    hessian: Callable[[Coordinates], Coordinates]


class Frame(ABC):
    """Coordinates of the tangent space at a point; solvers do all their linear algebra in them.

    A frame maps tangent vectors to coordinates c whose plain inner product is the Riemannian one (unless
    `orthonormal` is false). It converts them to ambient vectors only for calls of a user's function. It also
    computes geodesics, logarithms and distances from its point.

    Get a frame from ``manifold.frame(x)``. Derive from this class to add a manifold; see
    `docs/add_a_manifold.md`.

    Attributes
    ----------
    point : Point
        The point x.
    orthonormal : bool
        Whether coordinates are arrays with the plain inner product.
    shape : tuple of int
        Shape of the coordinates.
    dim : int
        Number of coordinates; at least the dimension of the manifold.
    unit : float
        Typical length at this point; finite differences and first steps are relative to it.
    first_radius : float
        Longest first step that a solver should try if the manifold has no `step_limit`.

    See Also
    --------
    Manifold : Returns frames, and has the same operations on ambient vectors.

    References
    ----------
    P.-A. Absil, R. Mahony, R. Sepulchre, *Optimization Algorithms on Matrix Manifolds*, Princeton University
    Press, 2008.

    Examples
    --------
    At W = diag(4, 9), the coordinates S of a tangent vector V = L S Lᵀ do not depend on the scale of W:

    >>> import numpy as np
    >>> from geodual.manifolds import SPD
    >>> frame = SPD(2).frame(np.diag([4.0, 9.0]))
    >>> c = frame.log(np.diag([4.0 * np.e, 9.0]))
    >>> np.round(c, 6).tolist(), round(frame.norm(c), 6)
    ([[1.0, 0.0], [0.0, 0.0]], 1.0)
    >>> np.round(frame.tangent(c), 6).tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """

    point: Point
    orthonormal: bool = True
    """Whether coordinates are arrays with the plain inner product."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the coordinates."""
        return np.shape(self.point)

    @property
    def dim(self) -> int:
        """Number of coordinates; at least the dimension of the manifold."""
        return math.prod(self.shape)

    def remoteness(self, y: Point) -> float:
        """Return the distance to `y` relative to the overflow distance; 0 if there is no such limit."""
        return 0.0

    @property
    def unit(self) -> float:
        """Typical length at this point; finite differences and first steps are relative to it."""
        return 1.0

    @property
    def first_radius(self) -> float:
        """Longest first step if the manifold has no `step_limit`."""
        return 1e3 * self.unit  # flat space has no natural length

    @abstractmethod
    def tangent(self, c: Coordinates) -> Vector:
        """Return the tangent vector with coordinates `c`."""

    @abstractmethod
    def coordinates(self, u: Vector) -> Coordinates:
        """Return the coordinates of the tangent vector `u`."""

    @abstractmethod
    def gradient(self, egrad: Vector) -> Coordinates:
        """Convert a Euclidean gradient into the Riemannian gradient."""

    @abstractmethod
    def hessian_map(self, egrad: Vector) -> HessianMap:
        """Return the map from Euclidean to Riemannian Hessian products, given the Euclidean gradient.

        The map takes ``(ehess, c)``: the derivative of the Euclidean gradient along ``tangent(c)``, and `c`.
        Terms that depend only on the gradient are computed once for all products at this point.
        """

    def hessian(self, egrad: Vector, ehess: Vector, c: Coordinates) -> Coordinates:
        """Return the Riemannian Hessian applied to `c`.

        `egrad` is the Euclidean gradient and `ehess` its derivative along ``tangent(c)``.
        """
        return self.hessian_map(egrad)(ehess, c)

    @abstractmethod
    def exp(self, c: Coordinates) -> Point:
        """Follow the geodesic with initial velocity `c` for unit time."""

    @abstractmethod
    def log(self, y: Point) -> Coordinates:
        """Return the initial velocity of the shortest geodesic to `y`."""

    @abstractmethod
    def retract(self, c: Coordinates) -> Point:
        """Approximate `exp` to second order at lower cost."""

    @abstractmethod
    def transport(self, y: Point, c: Coordinates) -> Vector:
        """Transport `c` to the tangent space at `y`, preserving inner products."""

    def move(self, c: Coordinates) -> Point:
        """Take a solver's step: `exp`, or a retraction where that works better."""
        return self.exp(c)

    def inner(self, a: Coordinates, b: Coordinates) -> float:
        """Return the Riemannian inner product of two tangent vectors in coordinates."""
        return float(np.vdot(a, b).real)

    def norm(self, c: Coordinates) -> float:
        """Return the Riemannian norm of a tangent vector in coordinates."""
        # In a frame that is not orthonormal, rounding may make the inner product of a tiny vector negative.
        return math.sqrt(max(self.inner(c, c), 0.0))

    def dist(self, y: Point) -> float:
        """Return the distance to `y`."""
        return self.norm(self.log(y))

    def random(self, rng: np.random.Generator) -> Coordinates:
        """Draw a tangent vector from the standard normal distribution."""
        return rng.standard_normal(self.shape)

    def half_squared_distance(self, y: Point) -> HalfSquaredDistance:
        """Return ½ d²(·, y) at this point with its derivatives; the Hessian is exact to first order in d."""
        v = self.log(y)
        # The Hessian is the identity plus curvature terms of order d²; on a flat space it is the identity.
        return HalfSquaredDistance(0.5 * self.inner(v, v), -v, lambda c: c)


class AmbientFrame(Frame):
    """A frame whose coordinates are the ambient vectors (submanifolds with the embedded metric)."""

    def __init__(self, point: Array) -> None:
        self.point = point

    def tangent(self, c: Array) -> Array:
        return c

    def coordinates(self, u: Vector) -> Array:
        return in_double_precision(u)

    def random(self, rng: np.random.Generator) -> Array:
        # Under the embedded metric, `gradient` projects orthogonally onto the tangent space. Projecting twice
        # removes the rounding error of a draw that was almost normal to it.
        return np.asarray(self.gradient(self.gradient(normal_like(self.point, rng))))


def in_double_precision(u: Any) -> Array:
    """Return `u` as an array in double precision; complex numbers stay complex."""
    return np.asarray(u, dtype=complex if np.iscomplexobj(u) else float)


def dots(a: Array, b: Array, axis: int = -1) -> Array:
    """Return the inner products of vectors along `axis`, which is kept with length 1.

    For two single vectors, the result is a scalar.
    """
    if a.ndim == 1:
        return np.asarray(a.dot(b))  # half the time of `np.dot`
    if axis == -1:  # faster for vectors that are contiguous in memory
        return np.asarray(np.vecdot(a, b, keepdims=True))  # type: ignore[call-overload]
    return np.add.reduce(a * b, axis=axis, keepdims=True)


def polar_coordinates(v: Array, axis: int = -1) -> tuple[Array, Array]:
    """Return the lengths and directions of vectors along `axis`; the direction of 0 is 0."""
    length = np.sqrt(dots(v, v, axis))
    return length, v / (length + (length == 0.0))


def radial_hessian(v: Array, tangential: Array, axis: int = -1) -> Callable[[Array], Array]:
    """Return the operator that is 1 along `v` and `tangential` across it, for each vector of a stack.

    This is the Hessian of ½ d² on a space of constant curvature, where v is the logarithm. Vectors run along
    `axis`, where `tangential` has length 1.
    """
    _, direction = polar_coordinates(v, axis)
    radial = (1.0 - tangential) * direction
    return lambda c: tangential * c + dots(direction, c, axis) * radial


def x_cot_x(x: Array) -> Array:
    """Return x cot x, which is 1 at 0.

    This is the Hessian of ½ d² across a geodesic of length x where the curvature is 1.
    """
    near = np.abs(x) < 1e-4  # the next term of the series, x⁴/45, is below rounding error here
    safe = np.where(near, 1.0, x)
    return np.where(near, 1.0 - x**2 / 3.0, safe / np.tan(safe))


def x_coth_x(x: Array) -> Array:
    """Return x coth x, which is 1 at 0.

    This is the Hessian of ½ d² across a geodesic of length x where the curvature is −1.
    """
    near = np.abs(x) < 1e-4  # the next term of the series, x⁴/45, is below rounding error here
    safe = np.where(near, 1.0, x)
    return np.where(near, 1.0 + x**2 / 3.0, safe / np.tanh(safe))


def normal_like(point: Array, rng: np.random.Generator) -> Array:
    """Draw a standard normal array of the shape of `point`, complex if `point` is."""
    real = rng.standard_normal(np.shape(point))
    return real + 1j * rng.standard_normal(np.shape(point)) if np.iscomplexobj(point) else real
