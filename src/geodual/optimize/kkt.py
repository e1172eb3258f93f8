"""Optimality: the KKT conditions, and the units in which their violation is measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodual.manifolds import Frame
from geodual.manifolds.base import Array, Point

from .lagrangian import Lagrangian
from .problem import ConstraintVector

_PROBES = 4


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
        """The largest of the three parts."""
        parts = (self.stationarity, self.feasibility, self.complementarity)
        return max(parts) if np.isfinite(parts).all() else float("inf")


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

    @property
    def cost_unit(self) -> float:
        """What one unit of stationarity and complementarity is."""
        return float(_reporting_unit(np.array(self.cost)))

    @property
    def constraint_units(self) -> Array:
        """What one unit of violation is, for each constraint."""
        return _reporting_unit(self.constraints)


def _reporting_unit(size: Array) -> Array:
    """Return 1 for sizes from 1 to 10⁴, so that residuals are absolute there, and relative beyond."""
    return np.where(size < 1.0, size, np.maximum(1.0, 1e-4 * size))


def measure_units(constraints: ConstraintVector, x: Point) -> Units:
    """Measure the sizes of cost and constraints at `x`."""
    frame = constraints.problem.manifold.frame(x)
    cost = Lagrangian(constraints, np.zeros(constraints.size))(x)
    slope = frame.norm(cost.gradient)
    direction = cost.gradient / slope if slope > 0.0 else _unit_tangents(constraints, frame)[0]
    size = max(slope, frame.norm(cost.hessian_product(direction)) * frame.unit)
    return Units(size if size > 0.0 else 1.0, _constraint_sizes(constraints, frame))


def _constraint_sizes(constraints: ConstraintVector, frame: Frame) -> Array:
    """Measure each constraint by its value, and by slopes and changes in a few random directions."""
    if not constraints.size:
        return np.zeros(0)
    value = constraints.value(frame.point)
    tangents = _unit_tangents(constraints, frame)
    slopes = [constraints.derivative(frame.point, frame.tangent(c)) for c in tangents]
    changes = [constraints.value(frame.move(c)) - value for c in tangents]
    probes = np.nan_to_num(np.maximum(np.abs(slopes), np.abs(changes)), posinf=0.0)
    sizes = np.linalg.norm(probes, axis=0) * np.sqrt(constraints.problem.manifold.dim / _PROBES)
    sizes = np.maximum(sizes, np.abs(value))
    sizes = np.maximum(sizes, 1e-10 * sizes.max())
    return np.where(sizes > 0.0, sizes, 1.0)


def _unit_tangents(constraints: ConstraintVector, frame: Frame) -> list[Array]:
    rng = np.random.default_rng(0)
    manifold = constraints.problem.manifold
    return [frame.coordinates(manifold.random_tangent(frame.point, rng)) for _ in range(_PROBES)]


def measure_kkt(
    constraints: ConstraintVector, x: Point, multipliers: Array, units: Units
) -> tuple[float, KKT]:
    """Return the cost at `x` and the KKT residual of (x, λ)."""
    model = Lagrangian(constraints, multipliers)(x)
    values = model.violations
    excess = np.where(constraints.is_equality, np.abs(values), np.maximum(values, 0.0))
    products = np.where(constraints.is_equality, 0.0, np.abs(multipliers * values))
    return model.cost, KKT(
        stationarity=model.frame.norm(model.gradient) / units.cost_unit,
        feasibility=float(np.max(excess / units.constraint_units, initial=0.0)),
        complementarity=float(np.max(products, initial=0.0)) / units.cost_unit,
    )
