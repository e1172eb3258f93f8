"""What a manifold is: points, and a frame (coordinates of the tangent space) at each of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodual.arrays import Array

Point = Any
"""An array, or a tuple of points on a `Product`."""
Vector = Any
"""An ambient vector: it has the structure of a point."""
Coordinates = Any
"""A tangent vector as seen in a frame: it can be added, scaled and paired with `Frame.inner`."""


HessianMap = Callable[[Vector, Coordinates], Coordinates]


class NotOnManifoldError(ValueError):
    """A point that is not on the manifold; the message names the defect."""


class NoLogarithmError(ValueError):
    """Two points between which no shortest geodesic could be found."""


@dataclass(frozen=True, slots=True)
class HalfSquaredDistance:
    """½ d²(·, y) at a point: its value, gradient and Hessian in the coordinates of the frame there."""

    value: float
    gradient: Coordinates
    hessian: Callable[[Coordinates], Coordinates]


class Frame(ABC):
    """Coordinates of the tangent space at a point, and the geometry as seen from there.

    Solvers work in frames: all linear algebra is done on coordinates, whose inner product is the plain one
    (unless `orthonormal` is false), and the conversion to ambient vectors happens only where a user's
    function is called.
    """

    point: Point
    orthonormal: bool = True
    """Whether coordinates are arrays and their inner product is the plain one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the coordinates."""
        return np.shape(self.point)

    @property
    def dim(self) -> int:
        """Number of coordinates, at least the dimension of the manifold."""
        return math.prod(self.shape)

    def remoteness(self, y: Point) -> float:
        """Return how far `y` is as a share of the distance at which numbers end; 0 where they do not."""
        return 0.0

    @property
    def unit(self) -> float:
        """A length that matters at this point: differences and first steps are chosen relative to it."""
        return 1.0

    @abstractmethod
    def tangent(self, c: Coordinates) -> Vector:
        """Return the tangent vector whose coordinates are `c`."""

    @abstractmethod
    def coordinates(self, u: Vector) -> Coordinates:
        """Return the coordinates of the tangent vector `u`."""

    @abstractmethod
    def gradient(self, egrad: Vector) -> Coordinates:
        """Return the Riemannian gradient, given the Euclidean one."""

    @abstractmethod
    def hessian_map(self, egrad: Vector) -> HessianMap:
        """Return the map from a Euclidean Hessian product to the Riemannian one, given the gradient.

        The map takes ``(ehess, c)``: the derivative of the Euclidean gradient along ``tangent(c)``, and `c`.
        What depends on the gradient only is computed once, for all products at this point.
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
        """Carry `c` to the tangent space at `y` without changing inner products."""

    def move(self, c: Coordinates) -> Point:
        """Take a step: the map the solvers use, `exp` unless a retraction serves better."""
        return self.exp(c)

    def inner(self, a: Coordinates, b: Coordinates) -> float:
        """Return the Riemannian inner product of two tangent vectors in coordinates."""
        return float(np.vdot(a, b))

    def norm(self, c: Coordinates) -> float:
        """Return the Riemannian norm of a tangent vector in coordinates."""
        return math.sqrt(max(self.inner(c, c), 0.0))

    def dist(self, y: Point) -> float:
        """Return the distance to `y`."""
        return self.norm(self.log(y))

    def random(self, rng: np.random.Generator) -> Coordinates:
        """Draw a tangent vector with a standard normal distribution, the same in all directions."""
        return rng.standard_normal(self.shape)

    def half_squared_distance(self, y: Point) -> HalfSquaredDistance:
        """Return ½ d²(·, y) at this point with its derivatives; the Hessian is exact to first order in d."""
        v = self.log(y)
        return HalfSquaredDistance(0.5 * self.inner(v, v), -v, lambda c: c)


class AmbientFrame(Frame):
    """A frame whose coordinates are the ambient vector itself (submanifolds with the embedded metric)."""

    def __init__(self, point: Array) -> None:
        self.point = point

    def tangent(self, c: Array) -> Array:
        return c

    def coordinates(self, u: Vector) -> Array:
        return np.asarray(u, dtype=float)

    def random(self, rng: np.random.Generator) -> Array:
        # Under the embedded metric `gradient` is the orthogonal projection onto the tangent space;
        # once more, it removes the rounding error of a draw that was almost normal to it.
        return np.asarray(self.gradient(self.gradient(rng.standard_normal(self.shape))))


def radial_hessian(v: Array, tangential: float) -> Callable[[Array], Array]:
    """Return the operator that is 1 along `v` and `tangential` across it.

    It is the Hessian of ½ d² on a space of constant curvature, where v is the logarithm.
    """
    length = math.sqrt(np.vdot(v, v))
    if length == 0.0:
        return lambda c: c
    direction = v / length
    return lambda c: tangential * c + ((1.0 - tangential) * np.vdot(direction, c)) * direction


class Manifold(ABC):
    """A Riemannian manifold; subclasses give a frame at each point, the rest follows from it.

    Attributes
    ----------
    dim : int
        Dimension of the manifold.
    hadamard : bool
        Whether it is complete, simply connected and nowhere positively curved, as the paper's theory needs.
    has_log : bool
        Whether logarithm and distance are available.
    closed_form_log : bool
        Whether they are cheap, so that a solver may use them in every step.
    step_limit : float
        Length of the longest first step a solver should try from a point it knows nothing about.
    """

    dim: int
    hadamard: bool = False
    has_log: bool = True
    closed_form_log: bool = True
    step_limit: float = float("inf")

    @abstractmethod
    def frame(self, x: Point) -> Frame:
        """Return the frame at `x`, which is taken to be on the manifold."""

    @abstractmethod
    def check_point(self, x: Point) -> Point:
        """Return `x` as a point in double precision, or raise a `NotOnManifoldError` naming its defect."""

    @abstractmethod
    def project(self, x: Point, v: Vector) -> Vector:
        """Project the ambient vector `v` orthogonally onto the tangent space at `x`."""

    @abstractmethod
    def random_point(self, rng: np.random.Generator) -> Point:
        """Draw a point."""

    def random_tangent(self, x: Point, rng: np.random.Generator) -> Vector:
        """Draw a tangent vector of unit length at `x`, uniform in direction."""
        frame = self.frame(x)
        c = frame.random(rng)
        length = frame.norm(c)
        return frame.tangent(c / length) if length > 0.0 else frame.tangent(c)

    def inner(self, x: Point, u: Vector, v: Vector) -> float:
        """Return the inner product of the tangent vectors `u` and `v` at `x`."""
        frame = self._checked_frame(x)
        return frame.inner(frame.coordinates(u), frame.coordinates(v))

    def norm(self, x: Point, u: Vector) -> float:
        """Return the length of the tangent vector `u` at `x`."""
        frame = self._checked_frame(x)
        return frame.norm(frame.coordinates(u))

    def dist(self, x: Point, y: Point) -> float:
        """Return the geodesic distance of two points."""
        frame = self._checked_frame(x)
        return frame.dist(self.check_point(y))

    def exp(self, x: Point, u: Vector) -> Point:
        """Follow the geodesic from `x` with velocity `u` for unit time."""
        frame = self._checked_frame(x)
        return frame.exp(frame.coordinates(u))

    def log(self, x: Point, y: Point) -> Vector:
        """Return the tangent vector at `x` that points to `y` and is as long as their distance."""
        frame = self._checked_frame(x)
        return frame.tangent(frame.log(self.check_point(y)))

    def retract(self, x: Point, u: Vector) -> Point:
        """Approximate `exp` to second order at lower cost."""
        frame = self._checked_frame(x)
        return frame.retract(frame.coordinates(u))

    def transport(self, x: Point, y: Point, u: Vector) -> Vector:
        """Carry the tangent vector `u` from `x` to `y` isometrically."""
        frame = self._checked_frame(x)
        return frame.transport(self.check_point(y), frame.coordinates(u))

    def gradient(self, x: Point, egrad: Vector) -> Vector:
        """Convert a Euclidean gradient into the Riemannian gradient."""
        frame = self._checked_frame(x)
        return frame.tangent(frame.gradient(egrad))

    def hessian(self, x: Point, egrad: Vector, ehess: Vector, u: Vector) -> Vector:
        """Convert a Euclidean Hessian product into the Riemannian Hessian applied to `u`.

        `egrad` is the Euclidean gradient at `x` and `ehess` its derivative along the tangent vector `u`.
        """
        frame = self._checked_frame(x)
        return frame.tangent(frame.hessian(egrad, ehess, frame.coordinates(u)))

    def _checked_frame(self, x: Point) -> Frame:
        return self.frame(self.check_point(x))


def as_finite_array(x: Any, shape: tuple[int, ...], owner: object) -> Array:
    """Return `x` as a float array, or say what is wrong with its type, shape or values."""
    try:
        if np.iscomplexobj(x):
            raise TypeError("its entries are complex.")
        array = np.asarray(x, dtype=float)
    except (TypeError, ValueError) as error:
        raise NotOnManifoldError(
            f"A point of {owner} must be a real array of shape {shape}: {error}"
        ) from None
    if array.shape != shape:
        raise NotOnManifoldError(f"A point of {owner} must have shape {shape}, got {array.shape}.")
    if not np.isfinite(array).all():
        bad = int(np.count_nonzero(~np.isfinite(array)))
        raise NotOnManifoldError(f"A point of {owner} must be finite, got {bad} NaN or infinite entries.")
    return array


def check_size(value: Any, name: str, least: int = 1) -> int:
    """Return `value` as an integer of at least `least`, or raise a `ValueError` that names it."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"`{name}` must be an integer of at least {least}, got {value!r}.")
    return int(value)
