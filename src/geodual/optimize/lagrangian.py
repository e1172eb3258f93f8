"""The functions that solvers minimise in x: the Lagrangian, augmented or proximal or both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import Frame
from geodual.manifolds.base import Coordinates, Point, Vector

from .ambient import scaled, total
from .constraint_vector import ConstraintVector, EvaluatedPoint

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
        return LocalLagrangian(self, self.constraints.evaluate(x))

    def at(self, point: EvaluatedPoint) -> LocalLagrangian:
        """Evaluate where cost and constraints are known already."""
        return LocalLagrangian(self, point)


class LocalLagrangian:
    """A `Lagrangian` at a point; derivatives are computed when first asked for."""

    def __init__(self, function: Lagrangian, point: EvaluatedPoint) -> None:
        self.function = function
        self.point = point
        self.frame: Frame = point.frame
        self.violations: Array = function.weights * point.constraints
        self.estimates: Array = self._estimate()
        """The multipliers y that the penalty implies: λ itself where there is none."""
        self._distance = (
            self.frame.half_squared_distance(function.center) if function.proximal_weight else None
        )
        self._terms = self._measure_terms()
        self.value: float = sum(self._terms)

    def _estimate(self) -> Array:
        function = self.function
        if not function.penalty:
            return function.multipliers
        shifted = function.multipliers + function.penalty * self.violations
        return function.constraints.nonnegative(shifted)

    def _measure_terms(self) -> tuple[float, float, float, float]:
        """Return cost, what the constraints add and take off, and proximity."""
        function, y, lam = self.function, self.estimates, self.function.multipliers
        if function.penalty:
            half = 0.5 / function.penalty
            coupling = half * float(y @ y), -half * float(lam @ lam)
        else:
            coupling = float(lam @ self.violations), 0.0
        proximity = function.proximal_weight * self._distance.value if self._distance else 0.0
        return (function.cost_weight * self.point.cost, *coupling, proximity)

    @property
    def noise(self) -> float:
        """The rounding error that the value may have."""
        return 16.0 * _EPS * sum(map(abs, self._terms))

    @cached_property
    def _egrad(self) -> Vector:
        function = self.function
        weights = function.weights * self.estimates
        return function.constraints.lagrangian_gradient(self.frame.point, function.cost_weight, weights)

    @cached_property
    def gradient(self) -> Coordinates:
        """The Riemannian gradient."""
        gradient = self.frame.gradient(self._egrad)
        if self._distance:
            gradient = gradient + self.function.proximal_weight * self._distance.gradient
        return gradient

    @cached_property
    def _hessian(self) -> _Hessian:
        return _Hessian(self.function, self.frame, self.estimates, self._egrad)

    def hessian_product(self, c: Coordinates) -> Coordinates:
        """Return the Riemannian Hessian applied to `c`."""
        product = self._hessian.product(c)
        if self._distance:
            product = product + self.function.proximal_weight * self._distance.hessian(c)
        return product

    def precondition(self, c: Coordinates) -> Coordinates:
        """Return `c`: nothing is known of a user's Hessian."""
        return c


class _Hessian:
    """The Riemannian Hessian of a `Lagrangian` without its proximal term, as an operator at a point."""

    def __init__(self, function: Lagrangian, frame: Frame, estimates: Array, egrad: Vector) -> None:
        self._constraints, self._cost_weight = function.constraints, function.cost_weight
        self._frame, self._x = frame, frame.point
        self._weighted = function.constraints.weighted(np.asarray(function.weights * estimates))
        self._stiffness = _stiffness(function, estimates)
        self._to_riemannian = frame.hessian_map(egrad)
        self._undifferentiated = self._gradient_without_hessian(frame.point)

    def product(self, c: Coordinates) -> Coordinates:
        u = self._frame.tangent(c)
        terms = self._multiplier_terms(c, u)
        if self._stiffness is not None:
            slopes = self._constraints.derivative(self._x, u)
            terms += self._constraints.adjoint(self._x, self._stiffness * slopes)
        return self._to_riemannian(total(terms), c)

    def _multiplier_terms(self, c: Coordinates, u: Vector) -> list[Vector]:
        """Return terms of the Euclidean Hessian of a f + ⟨y, c⟩ for fixed y, differenced if not given."""
        terms = self._constraints.lagrangian_hessian(self._x, self._cost_weight, self._weighted, u)
        if self._undifferentiated is not None:
            length = self._frame.norm(c)
            if length > 0.0:
                step = _DIFFERENCE_STEP * self._frame.unit / length
                ahead = self._gradient_without_hessian(self._frame.move(step * c))
                terms += [scaled(1.0 / step, ahead), scaled(-1.0 / step, self._undifferentiated)]
        return terms or [scaled(0.0, u)]

    def _gradient_without_hessian(self, x: Point) -> Vector | None:
        return self._constraints.gradient_without_hessian(x, self._cost_weight, self._weighted)


def _stiffness(function: Lagrangian, estimates: Array) -> Array | None:
    """Return ρ for the constraints whose penalty is active, in their own units; None without such."""
    if not function.penalty:
        return None
    active = function.constraints.is_equality | (estimates > 0.0)
    return function.penalty * function.weights**2 * active if active.any() else None
