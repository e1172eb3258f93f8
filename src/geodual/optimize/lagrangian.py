"""The functions that solvers minimise in x: the Lagrangian, augmented or proximal or both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geodual.manifolds import Frame
from geodual.manifolds.base import Array, Coordinates, HalfSquaredDistance, HessianMap, Point, Vector

from .ambient import scaled, total
from .constraint_vector import ConstraintVector, Sample
from .problem import Constraint

_EPS = float(np.finfo(float).eps)
_DIFFERENCE_STEP = float(np.sqrt(_EPS))


@dataclass(frozen=True)
class Lagrangian:
    """a f(x) + ⟨λ, c(x)⟩, augmented with a penalty ρ and with a proximal term.

    With ρ = 0 it is the Lagrangian of eq. (2) without the term in λ alone. With ρ > 0 it is
    a f(x) + Σ (yₖ² − λₖ²)/(2ρ), where y = λ + ρ c(x), cut off at 0 for inequalities.

    Parameters
    ----------
    constraints : ConstraintVector
        The problem's constraints.
    multipliers : array
        λ.
    cost_weight : float
        a; with 0 only the violation remains.
    weights : array, optional
        Scale factors of the constraints, 1 by default; λ belongs to the scaled constraints.
    penalty : float
        ρ.
    proximal_weight : float
        Weight w of the proximal term (w/2) d²(center, x).
    center : Point, optional
        Its center.
    """

    constraints: ConstraintVector
    multipliers: Array
    cost_weight: float = 1.0
    weights: Array | float = 1.0
    penalty: float = 0.0
    proximal_weight: float = 0.0
    center: Point = None

    def __call__(self, x: Point) -> LocalLagrangian:
        """Evaluate at `x`."""
        return LocalLagrangian(self, self.constraints.sample(x))

    def at(self, sample: Sample) -> LocalLagrangian:
        """Evaluate where cost and constraints are known already."""
        return LocalLagrangian(self, sample)


class LocalLagrangian:
    """A `Lagrangian` at a point; derivatives are computed when first asked for."""

    def __init__(self, function: Lagrangian, sample: Sample) -> None:
        self.function = function
        self.sample = sample
        self.frame: Frame = sample.frame
        self._x = sample.x
        self.violations = function.weights * sample.constraints

    @cached_property
    def estimates(self) -> Array:
        """The multipliers y that the penalty implies: λ itself where there is none."""
        function = self.function
        if not function.penalty:
            return function.multipliers
        shifted = function.multipliers + function.penalty * self.violations
        return np.where(function.constraints.is_equality, shifted, np.maximum(shifted, 0.0))

    @cached_property
    def _distance(self) -> HalfSquaredDistance | None:
        function = self.function
        return self.frame.half_squared_distance(function.center) if function.proximal_weight else None

    @cached_property
    def _terms(self) -> tuple[float, float, float, float]:
        """Cost, what the constraints add and take off, and proximity."""
        function, y, lam = self.function, self.estimates, self.function.multipliers
        if function.penalty:
            half = 0.5 / function.penalty
            coupling = half * float(y @ y), -half * float(lam @ lam)
        else:
            coupling = float(lam @ self.violations), 0.0
        proximity = function.proximal_weight * self._distance.value if self._distance else 0.0
        return (function.cost_weight * self.sample.cost, *coupling, proximity)

    @cached_property
    def value(self) -> float:
        """The value at the point."""
        return sum(self._terms)

    @property
    def noise(self) -> float:
        """The rounding error that the value may have."""
        return 16.0 * _EPS * sum(map(abs, self._terms))

    @cached_property
    def _weighted_estimates(self) -> Array:
        return np.asarray(self.function.weights * self.estimates)

    def _euclidean_gradient(self, x: Point) -> Vector:
        function = self.function
        return function.constraints.lagrangian_gradient(x, function.cost_weight, self._weighted_estimates)

    @cached_property
    def _egrad(self) -> Vector:
        return self._euclidean_gradient(self._x)

    @cached_property
    def gradient(self) -> Coordinates:
        """The Riemannian gradient."""
        gradient = self.frame.gradient(self._egrad)
        if self._distance:
            gradient = gradient + self.function.proximal_weight * self._distance.gradient
        return gradient

    @cached_property
    def _to_riemannian(self) -> HessianMap:
        return self.frame.hessian_map(self._egrad)

    @cached_property
    def _stiffness(self) -> Array | None:
        """ρ for the constraints whose penalty is active, in their own units; None without such."""
        function = self.function
        if not function.penalty:
            return None
        active = function.constraints.is_equality | (self.estimates > 0.0)
        return function.penalty * function.weights**2 * active if active.any() else None

    @cached_property
    def _weighted(self) -> list[tuple[Constraint, Array]]:
        return self.function.constraints.weighted(self._weighted_estimates)

    def hessian_product(self, c: Coordinates) -> Coordinates:
        """Return the Riemannian Hessian applied to `c`."""
        constraints = self.function.constraints
        u = self.frame.tangent(c)
        terms = self._multiplier_hessian(c, u)
        if self._stiffness is not None:
            terms += constraints.adjoint(self._x, self._stiffness * constraints.derivative(self._x, u))
        product = self._to_riemannian(total(terms), c)
        if self._distance:
            product = product + self.function.proximal_weight * self._distance.hessian(c)
        return product

    def precondition(self, c: Coordinates) -> Coordinates:
        """Return `c`: nothing is known of a user's Hessian."""
        return c

    def _multiplier_hessian(self, c: Coordinates, u: Vector) -> list[Vector]:
        """Return terms of the Euclidean Hessian of a f + ⟨y, c⟩ for fixed y, differenced if not given."""
        constraints, weight = self.function.constraints, self.function.cost_weight
        terms = constraints.lagrangian_hessian(self._x, weight, self._weighted, u)
        length = self.frame.norm(c)
        if self._undifferentiated is not None and length > 0.0:
            step = _DIFFERENCE_STEP * self.frame.unit / length
            ahead = constraints.gradient_without_hessian(self.frame.move(step * c), weight, self._weighted)
            terms += [scaled(1.0 / step, ahead), scaled(-1.0 / step, self._undifferentiated)]
        return terms or [scaled(0.0, u)]

    @cached_property
    def _undifferentiated(self) -> Vector | None:
        function = self.function
        return function.constraints.gradient_without_hessian(self._x, function.cost_weight, self._weighted)
