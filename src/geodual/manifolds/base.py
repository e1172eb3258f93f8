"""Base class of manifolds: points, with a frame (coordinates of the tangent space) at each of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import groupby
from typing import Any

import numpy as np

from geodual.arrays import Array

from .frame import Coordinates, Frame, Point, Vector

_DOUBLE = 1e-8  # largest defect of a point in double precision
_SINGLE = 1e-5  # of a point in single precision, about a hundred times its rounding error


class NotOnManifoldError(ValueError):
    """Raised if a point is not on the manifold; the message gives the defect and a remedy.

    See Also
    --------
    Manifold.check_point : Raises it.

    Examples
    --------
    >>> from geodual.manifolds import NotOnManifoldError, Sphere
    >>> try:
    ...     Sphere(2).check_point([3.0, 4.0])
    ... except NotOnManifoldError as error:
    ...     print(error)
    A point of Sphere(2) must have norm 1, got 5; divide it by its norm.
    """


class NoLogarithmError(ValueError):
    """Raised if no unique shortest geodesic between two points was found.

    This happens at opposite points of a sphere, and at points that are far apart on a Stiefel manifold.

    See Also
    --------
    Manifold.log : Raises it.

    Examples
    --------
    >>> from geodual.manifolds import NoLogarithmError, Sphere
    >>> try:
    ...     Sphere(2).log([1.0, 0.0], [-1.0, 0.0])
    ... except NoLogarithmError:
    ...     print("opposite points")
    opposite points
    """


class Manifold(ABC):
    """Base class of Riemannian manifolds: check points, draw them, and return a frame at each point.

    The operations on ambient vectors (`exp`, `log`, `dist`, `gradient`, …) use the frame and check their
    points. Solvers use the frame directly. To add a manifold, derive from this class and from `Frame`; see
    `docs/add_a_manifold.md`.

    Attributes
    ----------
    dim : int
        Dimension of the manifold.
    hadamard : bool
        Whether it is complete, simply connected and nowhere positively curved, as the paper's theory
        requires.
    has_log : bool
        Whether logarithm and distance are available.
    closed_form_log : bool
        Whether logarithm and distance are cheap enough to use in every step of a solver.
    quotient : bool
        Whether several arrays represent one point, as the bases of a subspace do. Then single entries of an
        array have no meaning, and `Problem` rejects bounds on them.
    vectorized : bool
        Whether `frame` and `project` also accept a stack of points, with leading axes, so that a `Power` does
        not loop over its points.
    step_limit : float
        Longest first step that a solver should try.

    See Also
    --------
    Frame : The tangent space at a point.
    as_manifold : Adapt a manifold of pymanopt.

    References
    ----------
    P.-A. Absil, R. Mahony, R. Sepulchre, *Optimization Algorithms on Matrix Manifolds*, Princeton University
    Press, 2008.

    Examples
    --------
    The same function on two manifolds returns the point halfway between two others:

    >>> import numpy as np
    >>> from geodual.manifolds import SPD, Manifold, Sphere
    >>> def midpoint(manifold: Manifold, x, y):
    ...     return manifold.exp(x, 0.5 * manifold.log(x, y))
    >>> np.round(midpoint(SPD(2), np.eye(2), np.diag([4.0, 9.0])), 6).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    >>> np.round(midpoint(Sphere(2), np.array([1.0, 0.0]), np.array([0.0, 1.0])), 3).tolist()
    [0.707, 0.707]
    """

    dim: int
    hadamard: bool = False
    has_log: bool = True
    closed_form_log: bool = True
    quotient: bool = False
    vectorized: bool = False
    step_limit: float = float("inf")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # A subclass with its own frames must declare itself that they accept stacks.
        own = vars(cls).keys()
        if own & {"frame", "project", "check_point"} and "vectorized" not in own:
            cls.vectorized = False

    @abstractmethod
    def frame(self, x: Point) -> Frame:
        """Return the frame at `x`, without checking that `x` is on the manifold."""

    @abstractmethod
    def check_point(self, x: Point) -> Point:
        """Return `x` in double precision, or raise a `NotOnManifoldError` that describes the defect.

        Arrays in single precision may be off the manifold by rounding errors, which are removed.
        """

    def _checked(self, x: Array, given: Any) -> Array | None:
        """Check a point, or all points of a stack, of the right shape and in double precision.

        `given` is the array before conversion. None means that a stack must be checked one by one.
        """
        return None

    @abstractmethod
    def project(self, x: Point, v: Vector) -> Vector:
        """Project the ambient vector `v` orthogonally onto the tangent space at `x`.

        Solvers call this often, so `x` is not checked.
        """

    @abstractmethod
    def random_point(self, rng: np.random.Generator) -> Point:
        """Draw a random point."""

    def random_tangent(self, x: Point, rng: np.random.Generator) -> Vector:
        """Draw a tangent vector of unit length at `x`, uniform in direction."""
        frame = self._checked_frame(x)
        c = frame.random(rng)
        length = frame.norm(c)
        # On a manifold of dimension 0, the only tangent vector is zero.
        return frame.tangent(c / length) if length > 0.0 else frame.tangent(c)

    def inner(self, x: Point, u: Vector, v: Vector) -> float:
        """Return the inner product of the tangent vectors `u` and `v` at `x`."""
        frame = self._checked_frame(x)
        return frame.inner(self._coordinates(frame, u), self._coordinates(frame, v))

    def norm(self, x: Point, u: Vector) -> float:
        """Return the length of the tangent vector `u` at `x`."""
        frame = self._checked_frame(x)
        return frame.norm(self._coordinates(frame, u))

    def dist(self, x: Point, y: Point) -> float:
        """Return the geodesic distance between two points."""
        frame = self._checked_frame(x)
        return frame.dist(self.check_point(y))

    def exp(self, x: Point, u: Vector) -> Point:
        """Follow the geodesic from `x` with velocity `u` for unit time."""
        frame = self._checked_frame(x)
        return frame.exp(self._coordinates(frame, u))

    def log(self, x: Point, y: Point) -> Vector:
        """Return the tangent vector at `x` that points to `y`; its length is the distance."""
        frame = self._checked_frame(x)
        return frame.tangent(frame.log(self.check_point(y)))

    def retract(self, x: Point, u: Vector) -> Point:
        """Approximate `exp` to second order at lower cost."""
        frame = self._checked_frame(x)
        return frame.retract(self._coordinates(frame, u))

    def transport(self, x: Point, y: Point, u: Vector) -> Vector:
        """Transport the tangent vector `u` from `x` to `y`, preserving inner products."""
        frame = self._checked_frame(x)
        return frame.transport(self.check_point(y), self._coordinates(frame, u))

    def gradient(self, x: Point, egrad: Vector) -> Vector:
        """Convert a Euclidean gradient into the Riemannian gradient."""
        frame = self._checked_frame(x)
        return frame.tangent(frame.gradient(_checked_vector(egrad, frame.point, self)))

    def hessian(self, x: Point, egrad: Vector, ehess: Vector, u: Vector) -> Vector:
        """Convert a Euclidean Hessian product into the Riemannian Hessian applied to `u`.

        `egrad` is the Euclidean gradient at `x` and `ehess` its derivative along the tangent vector `u`.
        """
        frame = self._checked_frame(x)
        egrad, ehess = (_checked_vector(v, frame.point, self) for v in (egrad, ehess))
        return frame.tangent(frame.hessian(egrad, ehess, self._coordinates(frame, u)))

    def _checked_frame(self, x: Point) -> Frame:
        return self.frame(self.check_point(x))

    def _coordinates(self, frame: Frame, u: Vector) -> Coordinates:
        return frame.coordinates(_checked_vector(u, frame.point, self))


def as_finite_array(x: Any, shape: tuple[int, ...], owner: object, dtype: type = float) -> Array:
    """Return `x` as an array of the given type, or raise an error that says what is wrong."""
    try:
        given = np.asarray(x)
        if dtype is float and np.iscomplexobj(given):  # imaginary parts would be dropped
            raise TypeError("its entries are complex.")
        array: Array = np.asarray(given, dtype=dtype)
    except (TypeError, ValueError) as error:
        kind = "a real array" if dtype is float else "an array"
        raise NotOnManifoldError(f"A point of {owner} must be {kind} of shape {shape}: {error}") from None
    if array.shape != shape:
        raise NotOnManifoldError(
            f"A point of {owner} must have shape {shape}, got {array.shape}; check the sizes of both."
        )
    if not np.isfinite(array).all():
        bad = int(np.count_nonzero(~np.isfinite(array)))
        raise NotOnManifoldError(
            f"A point of {owner} must be finite, got {bad} NaN or infinite entries; replace them."
        )
    return array


def check_parts(x: Any, n: int, owner: object) -> None:
    """Raise a `NotOnManifoldError` unless the point of a product is a tuple or list of n parts."""
    if not isinstance(x, (tuple, list)) or len(x) != n:
        found = f"{len(x)} parts" if isinstance(x, (tuple, list)) else type(x).__name__
        raise NotOnManifoldError(
            f"A point of {owner} must be a tuple of {n} points, got {found}; give one point per factor."
        )


def _checked_vector(v: Vector, x: Point, owner: object) -> Vector:
    """Return `v` if it has the structure of the point `x`; numpy would broadcast other shapes."""
    if isinstance(x, dict):
        if not (isinstance(v, dict) and v.keys() == x.keys()):
            raise ValueError(
                f"A vector at a point of {owner} must be a dictionary with the keys {list(x)}; give one per "
                "factor."
            )
        for name, other in x.items():
            _checked_vector(v[name], other, owner)
        return v
    if isinstance(x, (tuple, list)):
        if not (isinstance(v, (tuple, list)) and len(v) == len(x)):
            raise ValueError(
                f"A vector at a point of {owner} must be a tuple of {len(x)} vectors; give one per factor."
            )
        for part, other in zip(v, x, strict=True):
            _checked_vector(part, other, owner)
        return v
    found = tuple(v.shape) if hasattr(v, "shape") else np.shape(v)  # np.shape fails for sparse arrays
    if found != np.shape(x):
        raise ValueError(
            f"A vector at a point of {owner} must have the shape of the point, {np.shape(x)}, got {found}; "
            "check the sizes of both."
        )
    if np.iscomplexobj(v) and not np.iscomplexobj(x):  # imaginary parts would be dropped, or spread
        raise ValueError(
            f"A vector at a point of {owner} must be real, got complex numbers; take its real part."
        )
    return v


def is_single(x: Any) -> bool:
    """Return whether `x` is in single precision, so that `check_point` removes its rounding errors."""
    return np.asarray(x).dtype in (np.float32, np.complex64)


def defect_tolerance(x: Any) -> float:
    """Return the largest relative defect that counts as rounding error in the precision of `x`."""
    return _SINGLE if is_single(x) else _DOUBLE


def abbreviated(names: list[str], most: int = 5) -> str:
    """Join names, with runs of equal names as "name × 3"; show at most `most` runs."""
    runs = [(name, len(list(group))) for name, group in groupby(names)]
    shown = [name if count == 1 else f"{name} × {count}" for name, count in runs[:most]]
    hidden = sum(count for _, count in runs[most:])
    return ", ".join(shown) + (f", … ({hidden} more)" if hidden else "")


def check_size(value: Any, name: str, least: int = 1) -> int:
    """Return `value` as an integer, or raise a `ValueError` if it is not an integer of at least `least`."""
    # A bool is an int in Python, but SPD(True) is surely a mistake.
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"`{name}` must be an integer of at least {least}, got {value!r}.")
    return int(value)
