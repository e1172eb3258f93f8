"""Measure the violation of the KKT optimality conditions, and the units for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import Frame
from geodual.manifolds.frame import Coordinates, Vector

from .constraint import UNDEFINED
from .lagrangian import Lagrangian, LocalLagrangian
from .problem import ConstraintVector, EvaluatedPoint

_PROBES = 6  # random directions used to estimate the size of constraint gradients
_ROUNDING = float(np.sqrt(np.finfo(float).eps))  # a slope below this share of a size may be rounding error
_FLAT = 1e-6  # share of the cost's size below which a curvature may be an error of finite differences
_AHEAD = np.array([1.0, 0.1])  # how far ahead to look if derivatives vanish, in units of length
_LEAST_SHARE = 1e-3  # a smaller slope may be rounding noise; row-sparse recovery needs 0.01 or less
_ALIKE = 10.0  # sizes within this factor of the median of their block count as equal


@dataclass(frozen=True)
class KKT:
    """The certificate of a solve: by how much (x, λ) violates the KKT conditions.

    All parts are 0 at a solution. They are absolute for problems of ordinary size and relative otherwise; see
    `docs/notation.md`. For a term g(c(x)), the multiplier y must be a subgradient of g at c(x), which is
    equivalent to c = prox(c + y).

    Parameters
    ----------
    stationarity : float
        Riemannian norm of grad f + Σ λₖ grad hₖ + Σ μⱼ grad gⱼ, and the same for the maps of terms.
    feasibility : float
        Largest violation of a constraint hₖ(x) ≤ 0 or gⱼ(x) = 0; for a term, distance of c(x) from the set
        where g is finite.
    complementarity : float
        Largest absolute value of λₖ hₖ; for a term, largest entry of c − prox(c + y).

    Attributes
    ----------
    worst : float
        The largest of the three parts; infinite if one of them is not finite.

    See Also
    --------
    Result : Its `kkt` is the residual at the solution.

    Examples
    --------
    >>> from geodual.optimize import KKT
    >>> KKT(stationarity=1e-9, feasibility=0.0, complementarity=2e-6).worst
    2e-06

    `minimize` succeeds if the worst part is at most `tol`:

    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import Problem, minimize
    >>> problem = Problem(Euclidean(2), lambda x: x @ x, gradient=lambda x: 2.0 * x)
    >>> minimize(problem, np.ones(2), tol=1e-6).kkt.worst <= 1e-6
    True
    """

    stationarity: float
    feasibility: float
    complementarity: float

    @property
    def worst(self) -> float:
        """The largest of the three parts; infinite if one of them is not finite."""
        parts = (self.stationarity, self.feasibility, self.complementarity)
        return max(parts) if all(map(math.isfinite, parts)) else math.inf


@dataclass(frozen=True)
class Units:
    """Sizes of cost and constraints near the start; they make solves independent of scale.

    Attributes
    ----------
    cost : float
        Size of the derivatives of the cost.
    constraints : array of shape (m,)
        Size of each constraint: that of its gradient or of its value, whichever is larger.
    """

    cost: float
    constraints: Array

    def unscaled(self, y: Array) -> Array:
        """Return the multipliers of the original problem, given those of the scaled one."""
        return np.asarray(y * (self.cost / self.constraints))

    def scaled(self, multipliers: Array) -> Array:
        """Return the multipliers of the scaled problem."""
        return np.asarray(multipliers * (self.constraints / self.cost))

    def prox_point(self, constraints: ConstraintVector, point: EvaluatedPoint, multipliers: Array) -> Array:
        """Return prox(c + y), in units of the problem: c(x) itself if y is a subgradient there."""
        steps = self.constraints**2 / self.cost
        return constraints.prox(point.constraints + steps * multipliers, steps)

    def lagrangian(self, constraints: ConstraintVector, y: Array, **terms: Any) -> Lagrangian:
        """Return the Lagrangian of the scaled problem, with further terms if given."""
        return Lagrangian(constraints, y, 1.0 / self.cost, 1.0 / self.constraints, **terms)

    @property
    def largest(self) -> float:
        """The largest unit of a residual; above 1 if a size is too large for absolute residuals."""
        return max(self.cost_unit, float(self.constraint_units.max(initial=0.0)))

    @cached_property
    def cost_unit(self) -> float:
        """The unit of stationarity and complementarity."""
        return float(_reporting_unit(np.array(self.cost)))

    @cached_property
    def constraint_units(self) -> Array:
        """The unit of violation of each constraint."""
        return _reporting_unit(self.constraints)


def _reporting_unit(size: Array) -> Array:
    """Return 1 for sizes from 1 to 10⁴, where residuals are absolute; for other sizes they are relative."""
    # Below 1, everything would be stationary in absolute terms. Above 10⁴, rounding errors are too large.
    return np.where(size < 1.0, size, np.maximum(1.0, 1e-4 * size))


def measure_units(constraints: ConstraintVector, point: EvaluatedPoint) -> Units:
    """Measure the sizes of cost and constraints at a point."""
    frame = point.frame
    rng = np.random.default_rng(0)  # fixed, so that repeated solves are identical
    tangents = [random_direction(frame, rng) for _ in range(_PROBES)]
    size = _cost_size(constraints, point, tangents[0])
    if constraints.functions:
        size = max(size, _term_size(constraints, point, tangents))
    return Units(size, _constraint_sizes(constraints, point, tangents))


def _cost_size(constraints: ConstraintVector, point: EvaluatedPoint, tangent: Coordinates) -> float:
    """Measure the cost by its slope and curvature, as far as they exceed rounding errors."""
    frame = point.frame
    cost = Lagrangian(constraints, np.zeros(constraints.size)).at(point)
    slope = frame.norm(cost.gradient)
    # The curvature counts too: at a stationary start the slope is 0, but the cost has a size.
    if slope > _ROUNDING * max(1.0, abs(point.cost)) / frame.unit:
        return max(slope, _curvature(cost, cost.gradient / slope))
    size = _curvature(cost, tangent)
    if slope > _ROUNDING * size:  # otherwise the gradient may be rounding error, not even tangent
        size = max(size, slope, _curvature(cost, cost.gradient / slope))
    # Flat, perhaps up to errors of finite differences: the size is the change of the cost farther ahead.
    change = min(_cost_change(constraints, point, sign * tangent) for sign in (1.0, -1.0)) / frame.unit
    return (size if size > _FLAT * change else change) or 1.0


def _curvature(cost: LocalLagrangian, direction: Coordinates) -> float:
    """Return the change of the gradient over one unit of length; 0 if it overflows."""
    change = cost.frame.norm(cost.hessian_product(direction)) * cost.frame.unit
    return change if math.isfinite(change) else 0.0


def _cost_change(constraints: ConstraintVector, point: EvaluatedPoint, c: Coordinates) -> float:
    """Return the change of the cost ahead, modeled as a fourth power; 0 where it is not defined.

    Of two lengths, the one with the smaller change counts: a cost may explode one unit of length away.
    """
    try:
        ahead = [constraints.problem.cost(point.frame.move(d * point.frame.unit * c)) for d in _AHEAD]
    except UNDEFINED:
        return 0.0
    change = float((np.abs(np.array(ahead, dtype=float) - point.cost) / _AHEAD**4).min())
    return change if math.isfinite(change) else 0.0


def term_share(constraints: ConstraintVector, point: EvaluatedPoint, units: Units) -> float:
    """Return the slope of the terms relative to that of the full cost, at least 0.001; 1 without a slope."""
    rng = np.random.default_rng(0)
    size = _term_size(constraints, point, [random_direction(point.frame, rng) for _ in range(_PROBES)])
    return float(np.clip(size / units.cost, _LEAST_SHARE, 1.0)) if size > 0.0 else 1.0


def _term_size(constraints: ConstraintVector, point: EvaluatedPoint, tangents: list[Coordinates]) -> float:
    """Estimate the slope of the terms from changes along random unit directions; 0 where infinite."""
    frame, z = point.frame, point.constraints
    steps = [constraints.derivative(frame.point, frame.tangent(c)) for c in tangents]
    changes = np.array([constraints.term_cost(z + step) for step in steps]) - constraints.term_cost(z)
    changes = np.where(np.isfinite(changes), changes, 0.0)
    return float(_root_mean_square(changes, constraints))


def refreshed_units(units: Units, constraints: ConstraintVector, point: EvaluatedPoint) -> Units:
    """Measure again if cost or constraints looked large at a far start; sizes never increase."""
    if not units.largest > 1.0:
        return units
    new = measure_units(constraints, point)
    return Units(min(units.cost, new.cost), np.minimum(units.constraints, new.constraints))


def _constraint_sizes(
    constraints: ConstraintVector, point: EvaluatedPoint, tangents: list[Coordinates]
) -> Array:
    """Measure each constraint by its value, and by slopes and changes in a few random directions."""
    if not constraints.size:
        return np.zeros(0)
    frame, value = point.frame, np.abs(point.constraints)
    slopes = [constraints.derivative(frame.point, frame.tangent(c)) for c in tangents]
    sizes = _root_mean_square(slopes, constraints)
    if (sizes <= 1e-3 * value.max()).any():
        # Flat at the start, such as a squared distance at its center: measure the change farther ahead.
        changes = [_change(constraints, point, c) for c in tangents]
        sizes = np.maximum(sizes, _root_mean_square(changes, constraints))
    sizes = np.maximum(sizes, value)
    sizes = np.where(sizes > 0.0, sizes, sizes.max() if sizes.any() else 1.0)
    sizes = np.concatenate([_evened(part) for part in constraints.split(sizes)])
    for function in constraints.functions:  # only a common factor for all entries commutes with a prox
        sizes[function.part] = np.median(sizes[function.part]) if sizes[function.part].size else 1.0
    return sizes


def _evened(sizes: Array) -> Array:
    """Return the sizes of a block, with similar ones replaced by the median.

    Estimates from few probes differ by chance, and uneven penalties make inner problems ill-conditioned.
    """
    typical = float(np.median(sizes)) if sizes.size else 1.0
    alike = (sizes < _ALIKE * typical) & (typical < _ALIKE * sizes)
    return np.where(alike, typical, sizes)


def _change(constraints: ConstraintVector, point: EvaluatedPoint, c: Coordinates) -> Array:
    """Return the change of the constraints after a step; 0 where they are not defined."""
    try:
        change = constraints.value(point.frame.move(c)) - point.constraints
    except UNDEFINED:
        return np.zeros(constraints.size)
    return np.nan_to_num(change, posinf=0.0, neginf=0.0)


def _root_mean_square(slopes: list[Array] | Array, constraints: ConstraintVector) -> Array:
    """Estimate the norms of gradients from slopes in random unit directions."""
    # On average, the squared slope in a random unit direction is 1/dim of the squared norm.
    squares = np.mean(np.square(slopes), axis=0)
    return np.asarray(np.sqrt(constraints.problem.manifold.dim * squares))


def random_direction(frame: Frame, rng: np.random.Generator) -> Coordinates:
    """Draw a tangent vector of unit length; 0 on a manifold of dimension 0."""
    c = frame.random(rng)
    return c / max(frame.norm(c), 1e-300)


def measure_kkt(
    constraints: ConstraintVector,
    point: EvaluatedPoint,
    multipliers: Array,
    units: Units,
    egrad: Vector | None = None,
) -> KKT:
    """Return the KKT residual at a point with multipliers λ; pass the Lagrangian's gradient if known."""
    if egrad is None:
        egrad = constraints.lagrangian_gradient(point.x, 1.0, multipliers)
    # Complementarity applies only to inequalities and terms.
    n = constraints.n_inequalities
    products = np.abs(multipliers[:n] * point.constraints[:n])
    complementarity = float(products.max(initial=0.0)) / units.cost_unit
    if constraints.functions:
        gap = np.abs(point.constraints - units.prox_point(constraints, point, multipliers))
        errors = (gap / units.constraint_units)[constraints.tail]
        complementarity = max(complementarity, float(errors.max(initial=0.0)))
    return KKT(
        stationarity=point.frame.norm(point.frame.gradient(egrad)) / units.cost_unit,
        feasibility=measure_feasibility(constraints, point, units),
        complementarity=complementarity,
    )


def measure_feasibility(constraints: ConstraintVector, point: EvaluatedPoint, units: Units) -> float:
    """Return the largest violation of a constraint at a point."""
    values = point.constraints
    excess = np.abs(constraints.nonnegative(values))
    if constraints.functions:
        excess[constraints.tail] = np.abs(values - constraints.prox(values, 0.0))[constraints.tail]
    return float((excess / units.constraint_units).max(initial=0.0))
