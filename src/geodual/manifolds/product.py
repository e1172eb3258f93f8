"""Products of manifolds: points are tuples or, if the factors have names, dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from geodual.arrays import Array

from .adapter import PymanoptFrame, as_manifold
from .base import Manifold, NotOnManifoldError, abbreviated, check_parts
from .frame import Frame, HalfSquaredDistance, HessianMap, Point, Vector
from .recoded import flat_frame

Names = tuple[Any, ...] | None
"""The keys of the factors, or None if points are tuples."""


class Product(Manifold):
    """Several variables at once: points are tuples (x₁, …, x_k), one entry per factor, and metrics add up.

    If the factors have names, points are dictionaries. Gradients and other ambient vectors are tuples or
    dictionaries too. Products can be nested, and factors can be pymanopt manifolds.

    Parameters
    ----------
    *factors : Manifold
        The manifolds, as in ``Product(SPD(3), Euclidean(2))``, or one iterable or dictionary of manifolds.
    **named_factors : Manifold
        Named manifolds, as in ``Product(rotation=Rotations(3), shift=Euclidean(3))``.

    Attributes
    ----------
    factors : tuple of Manifold
        The manifolds.
    names : tuple or None
        Names of the factors, the keys of a point; None if points are tuples.
    dim : int
        Sum of the dimensions of the factors.

    See Also
    --------
    Power : Many points of one manifold as one array, which is faster.
    PymanoptManifold : A pymanopt manifold.

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

    With names:

    >>> named = Product(covariance=SPD(2), mean=Euclidean(2))
    >>> x, y = ({"covariance": np.eye(2), "mean": m} for m in (np.zeros(2), np.array([3.0, 4.0])))
    >>> round(named.dist(x, y), 6)
    5.0
    """

    def __init__(
        self, *factors: Manifold | Iterable[Manifold] | Mapping[Any, Manifold], **named_factors: Manifold
    ) -> None:
        self.names, given = _names_and_factors(factors, named_factors)
        self.factors = tuple(_check_factor(factor) for factor in given)
        if not self.factors:
            raise ValueError("`Product` needs at least one manifold, as in Product(SPD(3), Euclidean(2)).")
        self.dim = sum(factor.dim for factor in self.factors)
        self.has_log = all(factor.has_log for factor in self.factors)
        self.hadamard = all(factor.hadamard for factor in self.factors)
        self.closed_form_log = all(factor.closed_form_log for factor in self.factors)
        self.quotient = any(factor.quotient for factor in self.factors)
        # The length of a step in all factors is the root of the sum of the squared lengths.
        limits = [factor.step_limit for factor in self.factors if np.isfinite(factor.step_limit)]
        self.step_limit = float(np.linalg.norm(limits)) if limits else float("inf")

    def __repr__(self) -> str:
        shown = [repr(factor) for factor in self.factors]
        if self.names is not None:
            shown = [f"{name}={factor}" for name, factor in zip(self.names, shown, strict=True)]
        return f"Product({abbreviated(shown)})"

    def frame(self, x: Point) -> ProductFrame:
        parts = zip(self.factors, _parts(x, self.names), strict=True)
        return ProductFrame(x, [_array_frame(factor.frame(part)) for factor, part in parts], self.names)

    def check_point(self, x: Point) -> Point:
        self._check_structure(x)
        checked = []
        labels = self.names or range(len(self.factors))
        for label, factor, part in zip(labels, self.factors, _parts(x, self.names), strict=True):
            try:
                checked.append(factor.check_point(part))
            except ValueError as error:  # name the part, also in nested products
                raise NotOnManifoldError(f"Part {label!r} of the point: {error}") from None
        return _made(checked, self.names)

    def _check_structure(self, x: Point) -> None:
        if self.names is None:
            check_parts(x, len(self.factors), self)
        elif not isinstance(x, Mapping) or set(x) != set(self.names):
            found = f"the keys {list(x)}" if isinstance(x, Mapping) else type(x).__name__
            raise NotOnManifoldError(
                f"A point of {self} must be a dictionary with the keys {list(self.names)}, got {found}; give "
                "one point per factor."
            )

    def project(self, x: Point, v: Vector) -> Vector:
        parts = zip(self.factors, _parts(x, self.names), _parts(v, self.names), strict=True)
        return _made((factor.project(part, vector) for factor, part, vector in parts), self.names)

    def random_point(self, rng: np.random.Generator) -> Point:
        return _made((factor.random_point(rng) for factor in self.factors), self.names)


class ProductFrame(Frame):
    """The frames of the parts, with coordinates flattened and joined into one vector."""

    def __init__(self, point: Point, frames: list[Frame], names: Names = None) -> None:
        self.point = point
        self.frames, self._names = frames, names
        self.orthonormal = all(frame.orthonormal for frame in frames)
        self._ends = np.cumsum([np.prod(frame.shape, dtype=int) for frame in frames])

    @property
    def shape(self) -> tuple[int, ...]:
        return (int(self._ends[-1]),)

    @property
    def unit(self) -> float:
        return max(frame.unit for frame in self.frames)

    def _parts(self, c: Array) -> Iterator[tuple[Frame, Array]]:
        """Pair each frame with its part of the coordinates."""
        for frame, flat in zip(self.frames, np.split(c, self._ends[:-1]), strict=True):
            yield frame, flat.reshape(frame.shape)

    def _at(self, x: Point | Vector) -> Iterator[tuple[Frame, Any]]:
        """Pair each frame with its part of a point or an ambient vector."""
        return zip(self.frames, _parts(x, self._names), strict=True)

    def inner(self, a: Array, b: Array) -> float:
        if self.orthonormal:
            return super().inner(a, b)
        return sum(frame.inner(part, other) for (frame, part), (_, other) in self._pairs(a, b))

    def _pairs(self, a: Array, b: Array) -> Iterator[tuple[tuple[Frame, Array], tuple[Frame, Array]]]:
        return zip(self._parts(a), self._parts(b), strict=True)

    def tangent(self, c: Array) -> Vector:
        return _made((frame.tangent(part) for frame, part in self._parts(c)), self._names)

    def coordinates(self, u: Vector) -> Array:
        return _joined(frame.coordinates(part) for frame, part in self._at(u))

    def gradient(self, egrad: Vector) -> Array:
        return _joined(frame.gradient(part) for frame, part in self._at(egrad))

    def hessian_map(self, egrad: Vector) -> HessianMap:
        maps = [frame.hessian_map(part) for frame, part in self._at(egrad)]

        def convert(ehess: Vector, c: Array) -> Array:
            parts = zip(maps, _parts(ehess, self._names), self._parts(c), strict=True)
            return _joined(to_riemannian(part, d) for to_riemannian, part, (_, d) in parts)

        return convert

    def exp(self, c: Array) -> Point:
        return _made((frame.exp(part) for frame, part in self._parts(c)), self._names)

    def log(self, y: Point) -> Array:
        return _joined(frame.log(part) for frame, part in self._at(y))

    def dist(self, y: Point) -> float:
        return float(np.linalg.norm([frame.dist(part) for frame, part in self._at(y)]))

    def random(self, rng: np.random.Generator) -> Array:
        return _joined(frame.random(rng) for frame in self.frames)

    def retract(self, c: Array) -> Point:
        return _made((frame.retract(part) for frame, part in self._parts(c)), self._names)

    def move(self, c: Array) -> Point:
        return _made((frame.move(part) for frame, part in self._parts(c)), self._names)

    def remoteness(self, y: Point) -> float:
        return max(frame.remoteness(part) for frame, part in self._at(y))

    def transport(self, y: Point, c: Array) -> Vector:
        parts = zip(self._at(y), self._parts(c), strict=True)
        return _made((frame.transport(part, d) for (frame, part), (_, d) in parts), self._names)

    def half_squared_distance(self, y: Point) -> HalfSquaredDistance:
        terms = [frame.half_squared_distance(part) for frame, part in self._at(y)]

        def hessian(c: Array) -> Array:
            return _joined(term.hessian(part) for term, (_, part) in zip(terms, self._parts(c), strict=True))

        return HalfSquaredDistance(
            sum(term.value for term in terms), _joined(t.gradient for t in terms), hessian
        )


def _parts(x: Any, names: Names) -> Sequence[Any]:
    """Return the parts of a point or a vector, in the order of the factors."""
    return x if names is None else [x[name] for name in names]


def _made(parts: Iterable[Any], names: Names) -> Any:
    """Build a point or a vector from its parts."""
    return tuple(parts) if names is None else dict(zip(names, parts, strict=True))


def _joined(parts: Iterable[Array]) -> Array:
    return np.concatenate([np.ravel(part) for part in parts])


def _array_frame(frame: Frame) -> Frame:
    """Return a frame with real arrays as coordinates; pymanopt's may be complex, or lists."""
    return flat_frame(frame, frame.zero()) if isinstance(frame, PymanoptFrame) else frame


def _names_and_factors(factors: tuple[Any, ...], named: dict[str, Manifold]) -> tuple[Names, tuple[Any, ...]]:
    if factors and named:
        raise ValueError("`Product` takes either named or unnamed factors, got both; name all of them.")
    if len(factors) == 1 and isinstance(factors[0], Mapping):
        named = dict(factors[0])
    elif len(factors) == 1 and isinstance(factors[0], Iterable):
        factors = tuple(factors[0])
    return (tuple(named), tuple(named.values())) if named else (None, factors)


def _check_factor(factor: object) -> Manifold:
    try:
        return as_manifold(factor)
    except TypeError:
        raise ValueError(
            f"`Product` takes manifolds, got {type(factor).__name__}; write Product(SPD(3), Euclidean(2))."
        ) from None
