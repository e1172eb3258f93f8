"""Use pymanopt's manifolds in geodual."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .base import Manifold, abbreviated, check_parts
from .frame import Coordinates, Frame, HessianMap, Point, Vector
from .pymanopt_factor import PymanoptFactor


class PymanoptManifold(Manifold):
    """A pymanopt manifold with the interface of `Manifold`, for use in `Problem`.

    All manifolds of pymanopt 2.2.1 work, including complex ones and products, except `FixedRankEmbedded`: use
    `FixedRank` instead. Points of a product are tuples. On complex manifolds the inner product is ⟨a, b⟩ = Re
    Σ āᵢbᵢ, and a Euclidean gradient is the derivative with respect to the real parts plus i times that with
    respect to the imaginary parts.

    If pymanopt's manifold has no `exp`, its retraction is used. If it has no `log`, then `log` and `dist`
    raise a `ValueError`. The default solver runs without its proximal term here, because some of pymanopt's
    logarithms are NaN at equal points. pymanopt's tangent vectors serve as coordinates of the frames.

    Parameters
    ----------
    manifold : pymanopt.manifolds.manifold.Manifold
        The manifold to adapt.

    Attributes
    ----------
    wrapped : pymanopt.manifolds.manifold.Manifold
        The adapted manifold.
    dim : int
        Its dimension.

    See Also
    --------
    as_manifold : Adapts pymanopt manifolds and returns others unchanged.

    References
    ----------
    J. Townsend, N. Koep, S. Weichwald, "Pymanopt: a Python toolbox for optimization on manifolds using
    automatic differentiation", Journal of Machine Learning Research 17(137), 2016.

    Examples
    --------
    >>> import numpy as np
    >>> import pymanopt
    >>> from geodual.manifolds import PymanoptManifold
    >>> circle = PymanoptManifold(pymanopt.manifolds.ComplexCircle(2))
    >>> x, y = np.array([1.0, 1.0j]), np.array([1.0j, 1.0j])  # the first number is turned by a right angle
    >>> circle.dim, round(circle.dist(x, y) / np.pi, 6)
    (2, 0.5)
    """

    closed_form_log = False

    def __init__(self, manifold: Any) -> None:
        _check_pymanopt(manifold)
        self.wrapped = manifold
        self.is_product = hasattr(manifold, "manifolds")
        self.factors = [PymanoptFactor(factor) for factor in getattr(manifold, "manifolds", [manifold])]
        self.hadamard = all(factor.hadamard for factor in self.factors)
        self.quotient = any(factor.quotient for factor in self.factors)
        self.has_log = self._implements("log")
        self._example = self.random_point(np.random.default_rng(0))  # pymanopt does not provide the shape
        self.dim = int(np.sum(self.each("dimension", self._example)))
        # pymanopt's typical distance is √dim or, on compact manifolds, the diameter.
        self.step_limit = float("inf") if self.hadamard else float(manifold.typical_dist)

    def __repr__(self) -> str:
        return f"PymanoptManifold({abbreviated([str(factor) for factor in self.factors])})"

    def frame(self, x: Point) -> PymanoptFrame:
        return PymanoptFrame(self, x)

    def check_point(self, x: Point) -> Point:
        if not self.is_product:
            return self.factors[0].check_point(x, self._example, self)
        check_parts(x, len(self.factors), self)
        parts = zip(self.factors, x, self._example, strict=True)
        return tuple(factor.check_point(part, example, self) for factor, part, example in parts)

    def project(self, x: Point, v: Vector) -> Vector:
        return self.each("embedding", x, self.each("projection", x, v))

    def random_point(self, rng: np.random.Generator) -> Point:
        with _global_generator(rng):
            return self.each("random_point")

    def each(self, operation: str, *arguments: Any) -> Any:
        """Apply an operation to the manifold or, on a product, to each factor; return a tuple there."""
        if not self.is_product:
            return getattr(self.factors[0], operation)(*arguments)
        parts = zip(self.factors, *arguments, strict=True)
        return tuple(getattr(factor, operation)(*rest) for factor, *rest in parts)

    def require(self, operation: str) -> None:
        """Raise a `ValueError` if the wrapped manifold does not implement an operation."""
        if not self._implements(operation):
            raise ValueError(
                f"pymanopt's {self.wrapped} has no `{operation}`; use a manifold of geodual that has it."
            )

    def _implements(self, operation: str) -> bool:
        return all(factor.implements(operation) for factor in self.factors)


class PymanoptFrame(Frame):
    """The tangent space at a point, in pymanopt's own representation."""

    orthonormal = False

    def __init__(self, manifold: PymanoptManifold, point: Point) -> None:
        self.manifold = manifold
        self.point = point
        self._each = manifold.each

    @property
    def dim(self) -> int:
        return self.manifold.dim

    def _joined(self, c: Any) -> Coordinates:
        """Return coordinates that can be added and scaled: on a product pymanopt's own class, not a tuple."""
        return type(self.manifold.wrapped.zero_vector(self.point))(c) if self.manifold.is_product else c

    def zero(self) -> Coordinates:
        """Return the zero vector; it is complex if points are."""
        return self._each("zero", self.point)

    def random(self, rng: np.random.Generator) -> Coordinates:
        with _global_generator(rng):
            return self.manifold.wrapped.random_tangent_vector(self.point)

    def tangent(self, c: Coordinates) -> Vector:
        return self._each("embedding", self.point, c)

    def coordinates(self, u: Vector) -> Coordinates:
        return self._joined(self._each("coordinates", self.point, u))

    def inner(self, a: Coordinates, b: Coordinates) -> float:
        return float(np.sum(self._each("inner_product", self.point, a, b)))

    def gradient(self, egrad: Vector) -> Coordinates:
        return self._joined(self._each("gradient", self.point, egrad))

    def hessian_map(self, egrad: Vector) -> HessianMap:
        return lambda ehess, c: self._joined(self._each("hessian", self.point, egrad, ehess, c))

    def exp(self, c: Coordinates) -> Point:
        return self._each("exp", self.point, c)

    def log(self, y: Point) -> Coordinates:
        self.manifold.require("log")
        return self._joined(self._each("log", self.point, y))

    def retract(self, c: Coordinates) -> Point:
        return self._each("retraction", self.point, c)

    def move(self, c: Coordinates) -> Point:
        return self.retract(c)

    def transport(self, y: Point, c: Coordinates) -> Vector:
        """Transport as pymanopt does; on some of its manifolds this changes inner products."""
        self.manifold.require("transport")
        return self._each("embedding", y, self._each("transport", self.point, y, c))


def as_manifold(manifold: Any) -> Manifold:
    """Adapt a pymanopt manifold; return a geodual manifold unchanged.

    `Problem` calls this on its manifold, so you can pass it a pymanopt manifold directly.

    Parameters
    ----------
    manifold : Manifold or pymanopt.manifolds.manifold.Manifold
        The manifold.

    Returns
    -------
    Manifold
        `manifold` itself, or a `PymanoptManifold`.

    See Also
    --------
    PymanoptManifold : The adapted manifold.

    Examples
    --------
    >>> import pymanopt
    >>> from geodual.manifolds import SPD, as_manifold
    >>> as_manifold(SPD(2))
    SPD(2)
    >>> as_manifold(pymanopt.manifolds.Sphere(3)).dim
    2
    """
    return manifold if isinstance(manifold, Manifold) else PymanoptManifold(manifold)


def _check_pymanopt(manifold: Any) -> None:
    if not hasattr(manifold, "euclidean_to_riemannian_gradient") or not hasattr(manifold, "inner_product"):
        raise TypeError(
            f"`manifold` must be a geodual or pymanopt manifold, got {type(manifold).__name__}; "
            "choose one of geodual.manifolds, such as SPD(3)."
        )


@contextmanager
def _global_generator(rng: np.random.Generator) -> Iterator[None]:
    """Seed numpy's global generator, which pymanopt uses, from `rng`; restore its state afterward."""
    state = np.random.get_state()  # noqa: NPY002 - the global state is protected here
    np.random.seed(rng.integers(2**32))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
