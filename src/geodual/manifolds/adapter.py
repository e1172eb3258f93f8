"""Use manifolds of pymanopt in geodual."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .base import Manifold, NotOnManifoldError, as_finite_array
from .frame import Coordinates, Frame, HessianMap, Point, Vector
from .spd import SPD

# pymanopt does not say which of its manifolds are Hadamard, so they are known by class name.
_HADAMARD = {
    "Euclidean",
    "Symmetric",
    "SkewSymmetric",
    "SymmetricPositiveDefinite",
    "PoincareBall",
    "Positive",
}


class PymanoptManifold(Manifold):
    """A manifold of pymanopt with the interface of a `Manifold`, for use in `Problem`.

    If pymanopt's manifold has no `exp`, its retraction is used. If it has no `log`, then `log` and `dist`
    raise a `ValueError`. The default solver runs without its proximal term here, because some of pymanopt's
    logarithms are NaN at equal points. Its tangent vectors serve as coordinates of the frames.

    Parameters
    ----------
    manifold : pymanopt.manifolds.manifold.Manifold
        The manifold to adapt.

    Attributes
    ----------
    wrapped : pymanopt.manifolds.manifold.Manifold
        The manifold that was adapted.
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
    >>> grassmann = PymanoptManifold(pymanopt.manifolds.Grassmann(3, 1))
    >>> x, y = np.array([[1.0], [0.0], [0.0]]), np.array([[0.6], [0.8], [0.0]])
    >>> grassmann.dim, round(float(np.cos(grassmann.dist(x, y))), 6)  # the angle between two lines
    (2, 0.6)
    """

    closed_form_log = False

    def __init__(self, manifold: Any) -> None:
        self.wrapped = manifold
        self.dim = int(manifold.dim)
        self.hadamard = all(type(factor).__name__ in _HADAMARD for factor in _factors(manifold))
        self.has_log = _implements(manifold, "log")
        self._example = self.random_point(np.random.default_rng(0))  # pymanopt does not tell the shape
        # pymanopt's typical distance is √dim or, on compact manifolds, the diameter.
        self.step_limit = float("inf") if self.hadamard else float(manifold.typical_dist)

    def __repr__(self) -> str:
        return f"PymanoptManifold({self.wrapped})"

    def frame(self, x: Point) -> PymanoptFrame:
        return PymanoptFrame(self, x)

    def check_point(self, x: Point) -> Point:
        """Return `x` if it has the right shape, is finite, and is unchanged by a zero step."""
        if isinstance(self._example, np.ndarray):
            x = as_finite_array(x, self._example.shape, self)
        elif not all(np.isfinite(part).all() for part in x):
            raise NotOnManifoldError(
                f"A point of {self} must be finite, got NaN or infinite entries; replace them."
            )
        if type(self.wrapped).__name__ == "SymmetricPositiveDefinite" and np.ndim(x) == 2:
            return SPD(len(x)).check_point(x)
        # A retraction maps onto the manifold, so a zero step moves only points that are off it.
        still = self.wrapped.retraction(x, self.wrapped.zero_vector(x))
        defect = max(float(np.abs(a - b).max()) for a, b in zip(_parts(x), _parts(still), strict=True))
        if defect > 1e-6 * max(1.0, *(float(np.abs(part).max()) for part in _parts(x))):
            raise NotOnManifoldError(
                f"Not a point of {self}: it is off by {defect:.3g}; project it onto the manifold first."
            )
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
        """Raise a `ValueError` if the wrapped manifold does not implement an operation."""
        if not _implements(self.wrapped, operation):
            raise ValueError(
                f"pymanopt's {self.wrapped} has no `{operation}`; use a manifold of geodual that has it."
            )


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
        # Some manifolds store tangent vectors in a form of their own, which `projection` returns.
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
        """Transport as pymanopt does, which changes inner products on some of its manifolds."""
        return self._wrapped.embedding(y, self._wrapped.transport(self.point, y, c))


def as_manifold(manifold: Any) -> Manifold:
    """Adapt a pymanopt manifold; return a geodual manifold unchanged.

    `Problem` calls it on its manifold, so that pymanopt's manifolds can be passed directly.

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
    if isinstance(manifold, Manifold):
        return manifold
    if hasattr(manifold, "euclidean_to_riemannian_gradient") and hasattr(manifold, "inner_product"):
        return PymanoptManifold(manifold)
    raise TypeError(
        f"`manifold` must be a geodual or pymanopt manifold, got {type(manifold).__name__}; "
        "choose one of geodual.manifolds, such as SPD(3)."
    )


def _implements(manifold: Any, operation: str) -> bool:
    """Tell whether a pymanopt manifold, or every factor of a product, implements an operation."""
    return all(_defines(factor, operation) for factor in _factors(manifold))


def _defines(manifold: Any, operation: str) -> bool:
    """Tell whether a class defines an operation itself; pymanopt's base classes only raise or warn."""
    own = (cls for cls in type(manifold).__mro__ if cls.__module__ != "pymanopt.manifolds.manifold")
    return any(operation in vars(cls) for cls in own)


def _parts(x: Point) -> list[Any]:
    """Return the parts of a point of a product, or the point alone."""
    return list(x) if isinstance(x, (tuple, list)) else [x]


def _factors(manifold: Any) -> tuple[Any, ...]:
    """Return the factors of a pymanopt product, or the manifold alone."""
    return tuple(getattr(manifold, "manifolds", (manifold,)))


@contextmanager
def _global_generator(rng: np.random.Generator) -> Iterator[None]:
    """Seed numpy's global generator, which pymanopt draws from, with `rng`; restore its state afterwards."""
    state = np.random.get_state()  # noqa: NPY002 - the global state is what we protect
    np.random.seed(rng.integers(2**32))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
