"""Scale the variables: find a metric in which the cost is about equally curved along all of them.

If one entry of x is in thousands and another in thousandths, a small gradient says little: along the first
entry, the cost may still decrease a lot. So if curvatures differ much, a solve uses the metric ⟨u, v⟩ = Σ dᵢ²
uᵢ vᵢ on the flat part of the manifold. If x itself is very large, such as a power in watts, all dᵢ are
divided by its size. Points and functions do not change. Steps, trust regions and residuals are in scaled
coordinates.

Curved manifolds and `PositiveOrthant` have their own lengths, so they are not scaled.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.manifolds import Euclidean, Frame, Manifold, Power, Product
from geodual.manifolds.frame import HessianMap, Point, Vector
from geodual.manifolds.product import ProductFrame

from .constraint import UNDEFINED
from .kkt import KKT, Units, measure_kkt, measure_units
from .lagrangian import Lagrangian, LocalLagrangian
from .problem import ConstraintVector, EvaluatedPoint
from .updates import Stop, Update

# If curvatures differ by a factor κ, a gradient of norm `tol` leaves a gap of up to κ tol²/2. A dense Hessian
# shows only √κ in its rows, so below this ratio κ is at most 1e8, and the gap at most tol/2 for tol = 1e-8.
_UNEVEN = 1e4
_STEEP = 1e4  # curvature above which residuals would be relative (`kkt.Units`): scale at most to this
_LARGE = 1e4  # size of x above which it is the unit of length: the end of ordinary sizes in `kkt.Units`
_EVEN = 10.0  # single random products of a well-scaled matrix reach this ratio, too
_ROUNDS = 8  # of equilibration: each halves the exponents, so that 1e32 becomes 1.3
_REPEATS = 2  # of a solve, if the curvatures at its end differ from those at its start
_EPS = float(np.finfo(float).eps)
_NOISE = 20.0 * float(np.sqrt(_EPS))  # ten times 2ε/√ε: the relative rounding error of a forward difference

Restart = Callable[["Scaling", EvaluatedPoint, Units, Array], Iterator[Update | Stop]]
"""A function that runs a method in a metric, from a point, with units and multipliers."""


class ScaledFrame(Frame):
    """A frame of a flat space, with coordinates multiplied by d, entry by entry."""

    def __init__(self, frame: Frame, d: Array) -> None:
        self._frame, self._d = frame, d
        self.point = frame.point

    @property
    def shape(self) -> tuple[int, ...]:
        return self._frame.shape

    @property
    def unit(self) -> float:
        return max(1.0, float(np.abs(self.coordinates(self.point)).max()))

    def tangent(self, c: Array) -> Vector:
        return self._frame.tangent(c / self._d)

    def coordinates(self, u: Vector) -> Array:
        return np.asarray(self._d * self._frame.coordinates(u))

    def gradient(self, egrad: Vector) -> Array:
        return np.asarray(self._frame.gradient(egrad) / self._d)

    def hessian_map(self, egrad: Vector) -> HessianMap:
        unscaled = self._frame.hessian_map(egrad)
        return lambda ehess, c: unscaled(ehess, c / self._d) / self._d

    def exp(self, c: Array) -> Point:
        return self._frame.exp(c / self._d)

    def log(self, y: Point) -> Array:
        return np.asarray(self._d * self._frame.log(y))

    def retract(self, c: Array) -> Point:
        return self._frame.retract(c / self._d)

    def transport(self, y: Point, c: Array) -> Vector:
        return self._frame.transport(y, c / self._d)


class ScaledSpace(Manifold):
    """A flat space with a different metric: the coordinates of its frames are multiplied by d."""

    hadamard = True

    def __init__(self, space: Manifold, d: Array) -> None:
        self.space, self._d = space, d
        self.dim = space.dim

    def __repr__(self) -> str:
        return repr(self.space)  # for messages

    def frame(self, x: Point) -> ScaledFrame:
        return ScaledFrame(self.space.frame(x), self._d)

    def check_point(self, x: Point) -> Point:
        return self.space.check_point(x)

    def project(self, x: Point, v: Vector) -> Vector:
        return self.space.project(x, v)

    def random_point(self, rng: np.random.Generator) -> Point:
        return self.space.random_point(rng)


def is_flat(manifold: Manifold) -> bool:
    """Return whether the entries of a point can be scaled one by one."""
    return type(manifold.manifold if isinstance(manifold, Power) else manifold) is Euclidean


def flat_coordinates(manifold: Manifold, frame: Frame) -> NDArray[np.bool_]:
    """Return the coordinates of a frame that belong to flat parts of a manifold."""
    if isinstance(manifold, Product) and isinstance(frame, ProductFrame):
        parts = zip(manifold.factors, frame.frames, strict=True)
        return np.concatenate([flat_coordinates(*part) for part in parts])
    return np.full(frame.dim, is_flat(manifold))


def flat_entries(manifold: Manifold, frame: Frame) -> Array:
    """Return the coordinates of a point in flat parts of a manifold; 0 in other parts."""
    if isinstance(manifold, Product) and isinstance(frame, ProductFrame):
        parts = zip(manifold.factors, frame.frames, strict=True)
        return np.concatenate([flat_entries(*part) for part in parts])
    return np.ravel(frame.point) if is_flat(manifold) else np.zeros(frame.dim)


def with_metric(manifold: Manifold, frame: Frame, d: Array) -> Manifold:
    """Return a manifold with its flat parts scaled by d, which has one entry per coordinate."""
    if isinstance(manifold, Product) and isinstance(frame, ProductFrame):
        pieces = np.split(d, np.cumsum([part.dim for part in frame.frames])[:-1])
        parts = zip(manifold.factors, frame.frames, pieces, strict=True)
        scaled = copy.copy(manifold)
        scaled.factors = tuple(with_metric(*part) for part in parts)
        return scaled
    return ScaledSpace(manifold, d.reshape(frame.shape)) if is_flat(manifold) else manifold


class Scaling:
    """The metric of a solve; `constraints` is the problem in this metric, at first that of the user.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem of the user.
    point : EvaluatedPoint
        Any point.
    """

    def __init__(self, constraints: ConstraintVector, point: EvaluatedPoint) -> None:
        self._given, self._frame, self.constraints = constraints, point.frame, constraints
        self._flat = flat_coordinates(constraints.problem.manifold, point.frame)
        self._d = np.ones(self._flat.size)
        self._length = 1.0

    def at(self, point: EvaluatedPoint) -> EvaluatedPoint:
        """Return a point with its frame in this metric."""
        return replace(point, frame=self.constraints.problem.manifold.frame(point.x))

    def sized(self, point: EvaluatedPoint) -> Scaling:
        """Return a metric whose unit of length is the size of a point, if this is large."""
        size = self._size(point) if self._flat.any() else 0.0
        return self._with_length(size) if size > _LARGE else self

    def adapted(self, point: EvaluatedPoint, multipliers: Array) -> Scaling:
        """Return a metric that suits the curvatures at a point, or this one if they do not differ much in it.

        It is found by equilibration: divide each coordinate by the root of its row norm, and repeat (D. Ruiz,
        "A scaling algorithm to equilibrate both rows and columns norms in matrices", RAL-TR-2001-034).
        """
        # A far start provides no length. Nor does a point that may be on its way to infinity.
        was_far = self._length > 1.0 and self._size(point) < 1.0 / _LARGE
        return (self._with_length(1.0) if was_far else self)._evened(point, multipliers)

    def renewed(self, point: EvaluatedPoint, multipliers: Array, tol: float) -> Scaling:
        """Return a metric for the point at which a solve ends, or this one if it is as good.

        A metric from far away may hide a slope. So the KKT conditions must also hold in the metric of the
        user, unless this metric is the one that suits the point.
        """
        found, plain = self.adapted(point, multipliers), Scaling(self._given, point)
        if found is not self or (self._d == 1.0).all() or plain.measured(point, multipliers)[1].worst <= tol:
            return found
        fresh = plain._with_length(self._length).adapted(point, multipliers)
        return fresh if spread(fresh._d / self._d) > _UNEVEN else self

    def measured(self, point: EvaluatedPoint, multipliers: Array) -> tuple[Units, KKT]:
        """Return the sizes of cost and constraints at a point, and the KKT residual, in this metric."""
        units = measure_units(self.constraints, self.at(point))
        return units, measure_kkt(self.constraints, self.at(point), multipliers, units)

    def _size(self, point: EvaluatedPoint) -> float:
        """Return the largest entry of a point in the flat part, in this metric."""
        manifold = self._given.problem.manifold
        return float(np.abs(self._d * flat_entries(manifold, manifold.frame(point.x))).max())

    def _with_length(self, length: float) -> Scaling:
        scaled = self._times(np.where(self._flat, self._length / length, 1.0))
        scaled._length = length
        return scaled

    def _evened(self, point: EvaluatedPoint, multipliers: Array) -> Scaling:
        if not self._flat.any():
            return self
        rng = np.random.default_rng(0)  # fixed, so that repeated solves are identical
        rows = self._rows(point, multipliers, rng)
        if spread(rows) > _UNEVEN:  # measure again, because terms may cancel by chance
            rows = np.fmax(rows, self._rows(point, multipliers, rng))
        if not spread(rows) > _UNEVEN:
            return self
        scaled = self
        for _ in range(_ROUNDS):
            scaled = scaled._times(np.sqrt(np.where(np.isfinite(rows), rows, 1.0)))
            rows = scaled._rows(point, multipliers, rng, _STEEP)
            if not spread(rows) > _EVEN:
                break
        return scaled

    def _times(self, factors: Array) -> Scaling:
        scaled, problem = copy.copy(self), copy.copy(self._given.problem)
        scaled._d = self._d * factors
        problem.manifold = with_metric(problem.manifold, self._frame, scaled._d)
        scaled.constraints = copy.copy(self._given)
        scaled.constraints.problem = problem
        return scaled

    def _rows(
        self, point: EvaluatedPoint, multipliers: Array, rng: np.random.Generator, most: float = np.inf
    ) -> Array:
        """Estimate the norms of the rows of the Lagrangian's Hessian, relative to those of curved parts.

        Without curved parts, they are relative to their geometric mean, or to `most` if that is less. Rows
        that are 0 are replaced by the slopes of the cost. NaN means unknown or not scalable.
        """
        model = Lagrangian(self.constraints, multipliers).at(self.at(point))
        # Different lengths, so that integers do not cancel.
        v = rng.choice([-1.0, 1.0], model.frame.shape) * rng.uniform(1.0, 2.0, model.frame.shape)
        try:
            rows = np.abs(np.ravel(model.hessian_product(v)))
        except UNDEFINED:
            return np.full(self._flat.size, np.nan)
        rows[~(rows > self._noise(model))] = np.nan
        curved = rows[~self._flat]
        rows = relative(rows, curved) if np.isfinite(curved).any() else relative(rows, rows, most)
        straight = self._flat & np.isnan(rows)
        if straight.any():
            slopes = self._slopes(point)[straight]
            rows[straight] = relative(slopes, slopes)
        return np.where(self._flat, rows, np.nan)

    def _noise(self, model: LocalLagrangian) -> Array | float:
        """Return the rounding errors of a Hessian product computed by differences of gradients."""
        weighted = self.constraints.weighted(model.function.multipliers)
        differenced = self.constraints.gradient_without_hessian(model.frame.point, 1.0, weighted)
        if differenced is None:
            return 0.0
        slopes = np.abs(np.ravel(model.frame.gradient(differenced)))
        return np.asarray(_NOISE * np.sqrt(slopes.size) / model.frame.unit * slopes)

    def _slopes(self, point: EvaluatedPoint) -> Array:
        """Return the absolute slopes of the cost; NaN for those that may be rounding errors."""
        slopes = np.abs(np.ravel(self._frame.gradient(self._given.problem.gradient(point.x))))
        return np.where(slopes > _EPS * slopes.max(), slopes / self._d, np.nan)


def relative(rows: Array, typical: Array, most: float = np.inf) -> Array:
    """Return rows divided by the geometric mean of typical ones, or by `most`; NaN means no row."""
    known = typical[np.isfinite(typical)]
    return np.asarray(rows / min(np.exp(np.mean(np.log(known))), most)) if known.size else rows


def spread(rows: Array) -> float:
    """Return the ratio of the largest to the smallest of the rows and 1; NaN means no row."""
    known = np.append(rows[np.isfinite(rows)], 1.0)
    return float(known.max() / known.min())


def kept_even(
    updates: Iterator[Update | Stop], scaling: Scaling, tol: float, run: Restart
) -> Iterator[Update | Stop]:
    """Pass on a method's updates; if curvatures differ much at its end, rerun it in a better metric.

    Parameters
    ----------
    updates : iterator
        The updates, with their KKT residuals.
    scaling : Scaling
        The metric of the updates.
    tol : float
        The KKT residual to reach.
    run : callable
        ``run(scaling, point, units, multipliers)`` restarts the method.
    """
    last: Update | None = None
    repeats = 0
    while True:
        for update in updates:
            last = update if isinstance(update, Update) else last
            found = scaling
            if last is not None and repeats < _REPEATS and _ends(update, tol):
                found = scaling.renewed(last.point, last.multipliers, tol)
            if last is None or found is scaling:
                yield update
                continue
            point = found.at(last.point)
            units, kkt = found.measured(point, last.multipliers)
            last, scaling = replace(last, point=point, kkt=kkt, units=units, by="rescaling"), found
            repeats += 1
            yield last  # the solve ends here if the KKT conditions hold in this metric too
            updates = run(scaling, point, units, last.multipliers)
            break
        else:
            return


def _ends(update: Update | Stop, tol: float) -> bool:
    if isinstance(update, Stop):
        return update.status == "breakdown"
    return update.kkt is not None and update.worst <= tol
