"""Optimality: the KKT conditions, and the units in which their violation is measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import Frame, NotOnManifoldError
from geodual.manifolds.base import Coordinates

from .constraint_vector import ConstraintVector, EvaluatedPoint
from .lagrangian import Lagrangian

_PROBES = 3


@dataclass(frozen=True)
class KKT:
    """How far (x, λ) is from a KKT point, in the `Units` of the problem.

    Attributes
    ----------
    stationarity : float
        Riemannian norm of grad f + Σ λₖ grad hₖ + Σ μⱼ grad gⱼ.
    feasibility : float
        Largest violation of a constraint.
    complementarity : float
        Largest |λₖ hₖ|.
    """

    stationarity: float
    feasibility: float
    complementarity: float

    @property
    def worst(self) -> float:
        """The largest of the three parts; infinite if one of them is not a number."""
        parts = (self.stationarity, self.feasibility, self.complementarity)
        return max(parts) if all(map(math.isfinite, parts)) else math.inf


@dataclass(frozen=True)
class Units:
    """The sizes of cost and constraints around the start, which make solves independent of scale.

    Attributes
    ----------
    cost : float
        Size of the derivatives of the cost.
    constraints : array
        Size of each constraint: of its gradient or, where that is larger, of its value.
    """

    cost: float
    constraints: Array

    def unscaled(self, y: Array) -> Array:
        """Return the multipliers of the problem itself, given those of the scaled one."""
        return np.asarray(y * (self.cost / self.constraints))

    def scaled(self, multipliers: Array) -> Array:
        """Return the multipliers of the scaled problem."""
        return np.asarray(multipliers * (self.constraints / self.cost))

    @property
    def exceed_ordinary_size(self) -> bool:
        """Whether a size is so large that residuals are reported relative to it."""
        return self.cost_unit > 1.0 or bool((self.constraint_units > 1.0).any())

    @cached_property
    def cost_unit(self) -> float:
        """What one unit of stationarity and complementarity is."""
        return float(_reporting_unit(np.array(self.cost)))

    @cached_property
    def constraint_units(self) -> Array:
        """What one unit of violation is, for each constraint."""
        return _reporting_unit(self.constraints)


def _reporting_unit(size: Array) -> Array:
    """Return 1 for sizes from 1 to 10⁴, so that residuals are absolute there, and relative beyond."""
    return np.where(size < 1.0, size, np.maximum(1.0, 1e-4 * size))


def measure_units(constraints: ConstraintVector, point: EvaluatedPoint) -> Units:
    """Measure the sizes of cost and constraints at a point."""
    frame = point.frame
    tangents = _unit_tangents(frame)
    cost = Lagrangian(constraints, np.zeros(constraints.size)).at(point)
    slope = frame.norm(cost.gradient)
    direction = cost.gradient / slope if slope > 0.0 else tangents[0]
    size = max(slope, frame.norm(cost.hessian_product(direction)) * frame.unit)
    return Units(size if size > 0.0 else 1.0, _constraint_sizes(constraints, point, tangents))


def refreshed_units(units: Units, constraints: ConstraintVector, point: EvaluatedPoint) -> Units:
    """Measure again where a far start made cost or constraints look larger than they are."""
    if not units.exceed_ordinary_size:
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
        # Flat at the start, as a squared distance is at its center: look how much it changes further on.
        changes = [_change(constraints, point, c) for c in tangents]
        sizes = np.maximum(sizes, _root_mean_square(changes, constraints))
    sizes = np.maximum(sizes, value)
    return np.where(sizes > 0.0, sizes, sizes.max() if sizes.any() else 1.0)


def _change(constraints: ConstraintVector, point: EvaluatedPoint, c: Coordinates) -> Array:
    """Return how much the constraints change after a step, 0 where they have no value there."""
    try:
        change = constraints.value(point.frame.move(c)) - point.constraints
    except (np.linalg.LinAlgError, NotOnManifoldError):
        return np.zeros(constraints.size)
    return np.nan_to_num(change, posinf=0.0, neginf=0.0)


def _root_mean_square(slopes: list[Array] | Array, constraints: ConstraintVector) -> Array:
    """Estimate the norms of gradients from slopes in random unit directions."""
    squares = np.mean(np.square(slopes), axis=0)
    return np.asarray(np.sqrt(constraints.problem.manifold.dim * squares))


def _unit_tangents(frame: Frame) -> list[Coordinates]:
    rng = np.random.default_rng(0)
    draws = [frame.random(rng) for _ in range(_PROBES)]
    return [c / max(frame.norm(c), 1e-300) for c in draws]


def measure_kkt(
    constraints: ConstraintVector, point: EvaluatedPoint, multipliers: Array, units: Units
) -> KKT:
    """Return the KKT residual of a point with multipliers λ."""
    model = Lagrangian(constraints, multipliers).at(point)
    values = point.constraints
    excess = np.where(constraints.is_equality, np.abs(values), np.maximum(values, 0.0))
    products = np.where(constraints.is_equality, 0.0, np.abs(multipliers * values))
    return KKT(
        stationarity=point.frame.norm(model.gradient) / units.cost_unit,
        feasibility=float((excess / units.constraint_units).max(initial=0.0)),
        complementarity=float(products.max(initial=0.0)) / units.cost_unit,
    )
