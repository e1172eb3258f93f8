"""Products of manifolds: points are tuples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from geodual.arrays import Array

from .adapter import PymanoptManifold
from .base import Manifold, NotOnManifoldError, abbreviated, check_parts
from .frame import Frame, HalfSquaredDistance, HessianMap, Point, Vector


class Product(Manifold):
    """Several variables at once: points are tuples (x₁, …, x_k), one per factor, and metrics add up.

    Gradients and other ambient vectors are tuples too. Products may be nested.

    Parameters
    ----------
    *factors : Manifold
        The manifolds, as in ``Product(SPD(3), Euclidean(2))``, or one iterable of manifolds.

    Attributes
    ----------
    factors : tuple of Manifold
        The manifolds.
    dim : int
        Sum of their dimensions.

    See Also
    --------
    Power : Many copies of one manifold as one array, which is faster.
    PymanoptManifold : For products that contain a pymanopt manifold, adapt pymanopt's own product.

    Examples
    --------
    A covariance matrix and a mean, with d² = d²(covariances) + ‖difference of the means‖²:

    >>> import numpy as np
    >>> from geodual.manifolds import SPD, Euclidean, Product
    >>> gaussians = Product(SPD(2), Euclidean(2))
    >>> gaussians.dim
    5
    >>> x, y = (np.eye(2), np.zeros(2)), (np.eye(2), np.array([3.0, 4.0]))
    >>> round(gaussians.dist(x, y), 6)
    5.0
    """

    def __init__(self, *factors: Manifold | Iterable[Manifold]) -> None:
        if len(factors) == 1 and isinstance(factors[0], Iterable):
            factors = tuple(factors[0])
        self.factors = tuple(_check_factor(factor) for factor in factors)
        if not self.factors:
            raise ValueError("`Product` needs at least one manifold, as in Product(SPD(3), Euclidean(2)).")
        self.dim = sum(factor.dim for factor in self.factors)
        self.has_log = all(factor.has_log for factor in self.factors)
        self.hadamard = all(factor.hadamard for factor in self.factors)
        self.closed_form_log = all(factor.closed_form_log for factor in self.factors)
        self.quotient = any(factor.quotient for factor in self.factors)
        # Steps of all factors at once are as long as the root of the sum of their squares.
        limits = [factor.step_limit for factor in self.factors if np.isfinite(factor.step_limit)]
        self.step_limit = float(np.linalg.norm(limits)) if limits else float("inf")

    def __repr__(self) -> str:
        return f"Product({abbreviated([repr(factor) for factor in self.factors])})"

    def frame(self, x: Point) -> ProductFrame:
        return ProductFrame(x, [factor.frame(part) for factor, part in zip(self.factors, x, strict=True)])

    def check_point(self, x: Point) -> Point:
        check_parts(x, len(self.factors), self)
        checked = []
        for position, (factor, part) in enumerate(zip(self.factors, x, strict=True)):
            try:
                checked.append(factor.check_point(part))
            except ValueError as error:  # say which part is wrong, also in nested products
                raise NotOnManifoldError(f"Part {position} of the point: {error}") from None
        return tuple(checked)

    def project(self, x: Point, v: Vector) -> Vector:
        return tuple(
            factor.project(part, vector) for factor, part, vector in zip(self.factors, x, v, strict=True)
        )

    def random_point(self, rng: np.random.Generator) -> Point:
        return tuple(factor.random_point(rng) for factor in self.factors)


class ProductFrame(Frame):
    """The frames of the parts; coordinates are flattened and joined into one vector."""

    def __init__(self, point: Point, frames: list[Frame]) -> None:
        self.point = point
        self.frames = frames
        self._ends = np.cumsum([np.prod(frame.shape, dtype=int) for frame in frames])

    @property
    def shape(self) -> tuple[int, ...]:
        return (int(self._ends[-1]),)

    @property
    def unit(self) -> float:
        return max(frame.unit for frame in self.frames)

    def _parts(self, c: Array) -> Iterator[tuple[Frame, Array]]:
        """Pair each frame with its own part of the coordinates."""
        for frame, flat in zip(self.frames, np.split(c, self._ends[:-1]), strict=True):
            yield frame, flat.reshape(frame.shape)

    def tangent(self, c: Array) -> Vector:
        return tuple(frame.tangent(part) for frame, part in self._parts(c))

    def coordinates(self, u: Vector) -> Array:
        return _joined(frame.coordinates(part) for frame, part in zip(self.frames, u, strict=True))

    def gradient(self, egrad: Vector) -> Array:
        return _joined(frame.gradient(part) for frame, part in zip(self.frames, egrad, strict=True))

    def hessian_map(self, egrad: Vector) -> HessianMap:
        maps = [frame.hessian_map(part) for frame, part in zip(self.frames, egrad, strict=True)]

        def convert(ehess: Vector, c: Array) -> Array:
            parts = zip(maps, ehess, self._parts(c), strict=True)
            return _joined(to_riemannian(part, d) for to_riemannian, part, (_, d) in parts)

        return convert

    def exp(self, c: Array) -> Point:
        return tuple(frame.exp(part) for frame, part in self._parts(c))

    def log(self, y: Point) -> Array:
        return _joined(frame.log(part) for frame, part in zip(self.frames, y, strict=True))

    def dist(self, y: Point) -> float:
        return float(np.linalg.norm([frame.dist(part) for frame, part in zip(self.frames, y, strict=True)]))

    def random(self, rng: np.random.Generator) -> Array:
        return _joined(frame.random(rng) for frame in self.frames)

    def retract(self, c: Array) -> Point:
        return tuple(frame.retract(part) for frame, part in self._parts(c))

    def move(self, c: Array) -> Point:
        return tuple(frame.move(part) for frame, part in self._parts(c))

    def remoteness(self, y: Point) -> float:
        return max(frame.remoteness(part) for frame, part in zip(self.frames, y, strict=True))

    def transport(self, y: Point, c: Array) -> Vector:
        return tuple(frame.transport(part, d) for (frame, d), part in zip(self._parts(c), y, strict=True))

    def half_squared_distance(self, y: Point) -> HalfSquaredDistance:
        terms = [frame.half_squared_distance(part) for frame, part in zip(self.frames, y, strict=True)]

        def hessian(c: Array) -> Array:
            return _joined(term.hessian(part) for term, (_, part) in zip(terms, self._parts(c), strict=True))

        return HalfSquaredDistance(
            sum(term.value for term in terms), _joined(t.gradient for t in terms), hessian
        )


def _joined(parts: Iterable[Array]) -> Array:
    return np.concatenate([np.ravel(part) for part in parts])


def _check_factor(factor: object) -> Manifold:
    if not isinstance(factor, Manifold):
        raise ValueError(
            f"`Product` takes manifolds, got {type(factor).__name__}; write Product(SPD(3), Euclidean(2))."
        )
    if isinstance(factor, PymanoptManifold):  # its frames are not orthonormal
        raise ValueError("A pymanopt manifold cannot be a factor; use pymanopt's own Product and adapt that.")
    return factor
