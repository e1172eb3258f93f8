"""Use a manifold of pymanopt as one of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .base import Coordinates, Frame, HessianMap, Manifold, NotOnManifoldError, Point, Vector, as_finite_array
from .spd import SPD

_HADAMARD = {
    "Euclidean",
    "Symmetric",
    "SkewSymmetric",
    "SymmetricPositiveDefinite",
    "PoincareBall",
    "Positive",
}


class PymanoptManifold(Manifold):
    """A pymanopt manifold behind our interface; its tangent vectors serve as coordinates.

    What the manifold lacks is replaced where that is harmless (`exp` by the retraction) and refused with an
    error otherwise (`log`, `dist`). The default solver runs without its proximal term here, because some of
    the logarithms are NaN where two points coincide.

    Parameters
    ----------
    manifold : pymanopt.manifolds.manifold.Manifold
        The manifold to adapt.
    """

    closed_form_log = False

    def __init__(self, manifold: Any) -> None:
        self.wrapped = manifold
        self.dim = int(manifold.dim)
        self.hadamard = all(type(factor).__name__ in _HADAMARD for factor in _factors(manifold))
        self.has_log = _implements(manifold, "log")
        self._example = self.random_point(np.random.default_rng(0))
        # Their typical distance is the square root of the dimension or, on compact manifolds, the diameter.
        self.step_limit = float("inf") if self.hadamard else float(manifold.typical_dist)

    def __repr__(self) -> str:
        return f"PymanoptManifold({self.wrapped})"

    def frame(self, x: Point) -> PymanoptFrame:
        return PymanoptFrame(self, x)

    def check_point(self, x: Point) -> Point:
        """Return `x` if it has the shape of a point, is finite, and stays where it is under a zero step."""
        if isinstance(self._example, np.ndarray):
            x = as_finite_array(x, self._example.shape, self)
        elif not all(np.isfinite(part).all() for part in x):
            raise NotOnManifoldError(f"A point of {self} must be finite, got NaN or infinite entries.")
        if type(self.wrapped).__name__ == "SymmetricPositiveDefinite" and np.ndim(x) == 2:
            return SPD(len(x)).check_point(x)
        still = self.wrapped.retraction(x, self.wrapped.zero_vector(x))
        defect = max(float(np.abs(a - b).max()) for a, b in zip(_parts(x), _parts(still), strict=True))
        if defect > 1e-6 * max(1.0, *(float(np.abs(part).max()) for part in _parts(x))):
            raise NotOnManifoldError(f"Not a point of {self}: it is off by {defect:.3g}.")
        return x

    def project(self, x: Point, v: Vector) -> Vector:
        return self.wrapped.embedding(x, self.wrapped.projection(x, v))

    def random_point(self, rng: np.random.Generator) -> Point:
        with _global_generator(rng):
            return self.wrapped.random_point()

    def random_tangent(self, x: Point, rng: np.random.Generator) -> Vector:
        with _global_generator(rng):
            u = self.wrapped.random_tangent_vector(x)
        return self.wrapped.embedding(x, u / self.wrapped.norm(x, u))

    def require(self, operation: str) -> None:
        """Raise a `ValueError` if the wrapped manifold lacks an operation."""
        if not _implements(self.wrapped, operation):
            raise ValueError(f"pymanopt's {self.wrapped} has no `{operation}`.")


class PymanoptFrame(Frame):
    """The tangent space at a point, in pymanopt's own representation."""

    orthonormal = False

    def __init__(self, manifold: PymanoptManifold, point: Point) -> None:
        self.manifold = manifold
        self.point = point
        self._wrapped = manifold.wrapped

    @property
    def dim(self) -> int:
        return self.manifold.dim

    def random(self, rng: np.random.Generator) -> Coordinates:
        with _global_generator(rng):
            return self._wrapped.random_tangent_vector(self.point)

    def tangent(self, c: Coordinates) -> Vector:
        return self._wrapped.embedding(self.point, c)

    def coordinates(self, u: Vector) -> Coordinates:
        # Some manifolds keep tangent vectors in a form of their own, which `projection` returns.
        return self._wrapped.projection(self.point, u) if _defines(self._wrapped, "embedding") else u

    def inner(self, a: Coordinates, b: Coordinates) -> float:
        return float(self._wrapped.inner_product(self.point, a, b))

    def gradient(self, egrad: Vector) -> Coordinates:
        return self._wrapped.euclidean_to_riemannian_gradient(self.point, egrad)

    def hessian_map(self, egrad: Vector) -> HessianMap:
        convert = self._wrapped.euclidean_to_riemannian_hessian
        return lambda ehess, c: convert(self.point, egrad, ehess, c)

    def exp(self, c: Coordinates) -> Point:
        return self._wrapped.exp(self.point, c) if _implements(self._wrapped, "exp") else self.retract(c)

    def log(self, y: Point) -> Coordinates:
        self.manifold.require("log")
        return self._wrapped.log(self.point, y)

    def retract(self, c: Coordinates) -> Point:
        return self._wrapped.retraction(self.point, c)

    def move(self, c: Coordinates) -> Point:
        return self.retract(c)

    def transport(self, y: Point, c: Coordinates) -> Vector:
        """Transport as pymanopt does, which is not isometric on all of its manifolds."""
        return self._wrapped.embedding(y, self._wrapped.transport(self.point, y, c))


def as_manifold(manifold: Any) -> Manifold:
    """Return a manifold of ours: itself, or a pymanopt manifold adapted."""
    if isinstance(manifold, Manifold):
        return manifold
    if hasattr(manifold, "euclidean_to_riemannian_gradient") and hasattr(manifold, "inner_product"):
        return PymanoptManifold(manifold)
    raise TypeError(
        f"`manifold` must be a geodual or pymanopt manifold, got {type(manifold).__name__}; "
        "geodual.manifolds lists what there is."
    )


def _implements(manifold: Any, operation: str) -> bool:
    """Tell whether a pymanopt manifold has an operation; a product has what all its factors have."""
    return all(_defines(factor, operation) for factor in _factors(manifold))


def _defines(manifold: Any, operation: str) -> bool:
    """Tell whether a class defines an operation itself; those of pymanopt's base classes raise or warn."""
    own = (cls for cls in type(manifold).__mro__ if cls.__module__ != "pymanopt.manifolds.manifold")
    return any(operation in vars(cls) for cls in own)


def _parts(x: Point) -> list[Any]:
    return list(x) if isinstance(x, (tuple, list)) else [x]


def _factors(manifold: Any) -> tuple[Any, ...]:
    """Return the factors of a pymanopt product, or the manifold alone."""
    return tuple(getattr(manifold, "manifolds", (manifold,)))


@contextmanager
def _global_generator(rng: np.random.Generator) -> Iterator[None]:
    """Make pymanopt, which draws from numpy's global generator, draw from ours; restore the global one."""
    state = np.random.get_state()  # noqa: NPY002 - the global state is what we protect
    np.random.seed(rng.integers(2**32))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
