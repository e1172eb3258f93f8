"""Powers of a manifold: many points, stacked into one array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from geodual.arrays import Array

from .adapter import PymanoptManifold
from .base import Manifold, NotOnManifoldError, as_finite_array, check_size
from .frame import Frame, HalfSquaredDistance, HessianMap, Point, Vector


class Power(Manifold):
    """Many points x[0], …, x[n − 1] of one manifold as one array x; their metrics add up.

    Use it instead of a `Product` of equal factors. Powers of all manifolds of geodual except `FixedRank` are
    vectorized: solvers never loop over the n points in Python. So are powers of your own manifold if its
    `vectorized` is true; other powers are correct, but loop.

    Parameters
    ----------
    manifold : Manifold
        The manifold; its points must be arrays.
    n : int
        Number of points.

    Attributes
    ----------
    manifold : Manifold
        The manifold.
    n : int
        Number of points.
    shape : tuple of int
        Shape of a point of the power: n, followed by the shape of a point of the manifold.
    dim : int
        n times the dimension of the manifold.

    See Also
    --------
    Oblique : Unit vectors as columns.
    Product : Points of different manifolds.

    Examples
    --------
    Three covariance matrices as one array:

    >>> import numpy as np
    >>> from geodual.manifolds import SPD, Power
    >>> covariances = Power(SPD(2), 3)
    >>> covariances, covariances.shape, covariances.dim
    (Power(SPD(2), 3), (3, 2, 2), 9)
    >>> x = np.stack([np.eye(2)] * 3)
    >>> round(covariances.dist(x, np.e * x), 6)  # the root of the sum of three squared distances, 2 each
    2.44949
    """

    def __init__(self, manifold: Manifold, n: int) -> None:
        self.manifold, self.n = _check_base(manifold), check_size(n, "n")
        example = manifold.random_point(np.random.default_rng(0))  # manifolds do not provide the shape
        if not isinstance(example, np.ndarray):
            raise ValueError(
                f"`Power` needs a manifold whose points are arrays, got {manifold}; write a product of "
                "powers, as in Product(Power(SPD(3), 5), Power(Euclidean(2), 5))."
            )
        self.shape = (self.n, *example.shape)
        self._dtype = complex if np.iscomplexobj(example) else float
        self.dim = self.n * manifold.dim
        self.has_log = manifold.has_log
        self.hadamard = manifold.hadamard
        self.closed_form_log = manifold.closed_form_log
        self.quotient = manifold.quotient
        self.vectorized = manifold.vectorized
        self.step_limit = math.sqrt(self.n) * manifold.step_limit

    def __repr__(self) -> str:
        return f"Power({self.manifold}, {self.n})"

    def frame(self, x: Array) -> Frame:
        if self.vectorized:
            return self.manifold.frame(x)
        return LoopFrame(x, [self.manifold.frame(part) for part in x])

    def check_point(self, x: Array) -> Array:
        point = as_finite_array(x, self.shape, self, self._dtype)
        try:
            checked = self._checked(point, x)
        except NotOnManifoldError:  # check them one by one, to say which one is wrong
            checked = None
        return self._checked_one_by_one(x) if checked is None else checked

    def _checked(self, x: Array, given: Any) -> Array | None:
        return self.manifold._checked(x, given) if self.vectorized else None

    def _checked_one_by_one(self, x: Array) -> Array:
        checked = []
        for position, part in enumerate(np.asarray(x)):  # before conversion, because the precision matters
            try:
                checked.append(self.manifold.check_point(part))
            except ValueError as error:
                raise NotOnManifoldError(f"Entry {position} of the point: {error}") from None
        return np.stack(checked)

    def project(self, x: Array, v: Vector) -> Array:
        if self.vectorized:
            return np.asarray(self.manifold.project(x, v))
        return np.stack([self.manifold.project(part, w) for part, w in zip(x, v, strict=True)])

    def random_point(self, rng: np.random.Generator) -> Array:
        return np.stack([self.manifold.random_point(rng) for _ in range(self.n)])


class LoopFrame(Frame):
    """The frames of all points, with stacked coordinates and results."""

    def __init__(self, point: Array, frames: list[Frame]) -> None:
        self.point = point
        self.frames = frames

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.frames), *self.frames[0].shape)

    @property
    def unit(self) -> float:
        return max(frame.unit for frame in self.frames)

    def _each(self, operation: str, *arguments: Array) -> Array:
        """Apply an operation to all frames, and stack the results."""
        parts = zip(self.frames, *arguments, strict=True)
        return np.stack([getattr(frame, operation)(*rest) for frame, *rest in parts])

    def tangent(self, c: Array) -> Array:
        return self._each("tangent", c)

    def coordinates(self, u: Vector) -> Array:
        return self._each("coordinates", u)

    def random(self, rng: np.random.Generator) -> Array:
        return np.stack([frame.random(rng) for frame in self.frames])

    def gradient(self, egrad: Vector) -> Array:
        return self._each("gradient", egrad)

    def hessian_map(self, egrad: Vector) -> HessianMap:
        maps = [frame.hessian_map(part) for frame, part in zip(self.frames, egrad, strict=True)]
        return lambda ehess, c: np.stack([to(e, d) for to, e, d in zip(maps, ehess, c, strict=True)])

    def exp(self, c: Array) -> Array:
        return self._each("exp", c)

    def log(self, y: Array) -> Array:
        return self._each("log", y)

    def dist(self, y: Array) -> float:
        return float(np.linalg.norm([frame.dist(part) for frame, part in zip(self.frames, y, strict=True)]))

    def retract(self, c: Array) -> Array:
        return self._each("retract", c)

    def move(self, c: Array) -> Array:
        return self._each("move", c)

    def remoteness(self, y: Point) -> float:
        return max(frame.remoteness(part) for frame, part in zip(self.frames, y, strict=True))

    def transport(self, y: Array, c: Array) -> Array:
        return self._each("transport", y, c)

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        terms = [frame.half_squared_distance(part) for frame, part in zip(self.frames, y, strict=True)]

        def hessian(c: Array) -> Array:
            return np.stack([term.hessian(part) for term, part in zip(terms, c, strict=True)])

        return HalfSquaredDistance(
            sum(term.value for term in terms), np.stack([term.gradient for term in terms]), hessian
        )


def _check_base(manifold: object) -> Manifold:
    if not isinstance(manifold, Manifold):
        raise ValueError(
            f"`Power` takes a manifold, got {type(manifold).__name__}; write Power(Sphere(3), 100)."
        )
    if isinstance(manifold, PymanoptManifold):  # its frames are not orthonormal
        raise ValueError("A pymanopt manifold has no powers here; adapt pymanopt's own power manifold.")
    return manifold
