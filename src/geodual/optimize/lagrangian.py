"""The functions that solvers minimise in x: the Lagrangian, augmented or proximal or both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodual.manifolds import Frame
from geodual.manifolds.base import Array, Coordinates, HalfSquaredDistance, Point, Vector

from .ambient import scaled, total
from .problem import ConstraintVector

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
        return LocalLagrangian(self, self.constraints.problem.manifold.frame(x))


class LocalLagrangian:
    """A `Lagrangian` at a point; derivatives are computed when first asked for."""

    def __init__(self, function: Lagrangian, frame: Frame) -> None:
        self.function = function
        self.frame = frame
        self._x = frame.point
        problem = function.constraints.problem
        self.cost = float(problem.cost(self._x)) if function.cost_weight else 0.0
        self.violations = function.weights * function.constraints.value(self._x)

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
    def _terms(self) -> Array:
        function = self.function
        if function.penalty:
            coupling = (self.estimates**2 - function.multipliers**2) / (2.0 * function.penalty)
        else:
            coupling = function.multipliers * self.violations
        proximity = function.proximal_weight * self._distance.value if self._distance else 0.0
        return np.concatenate([coupling, [function.cost_weight * self.cost, proximity]])

    @cached_property
    def value(self) -> float:
        """The value at the point."""
        return float(self._terms.sum())

    @property
    def noise(self) -> float:
        """The rounding error that the value may have."""
        return 16.0 * _EPS * float(np.abs(self._terms).sum())

    def _euclidean_gradient(self, x: Point) -> Vector:
        function = self.function
        return function.constraints.lagrangian_gradient(
            x, function.cost_weight, function.weights * self.estimates
        )

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

    def hessian_product(self, c: Coordinates) -> Coordinates:
        """Return the Riemannian Hessian applied to `c`."""
        function = self.function
        u = self.frame.tangent(c)
        ehess = self._multiplier_hessian(c, u)
        if function.penalty and self._active.any():
            slopes = function.constraints.derivative(self._x, u)
            bend = (function.penalty * function.weights**2) * (self._active * slopes)
            ehess = total([ehess, function.constraints.adjoint(self._x, bend)])
        product = self.frame.hessian(self._egrad, ehess, c)
        if self._distance:
            product = product + function.proximal_weight * self._distance.hessian(c)
        return product

    @cached_property
    def _active(self) -> NDArray[np.bool_]:
        return self.function.constraints.is_equality | (self.estimates > 0.0)

    def _multiplier_hessian(self, c: Coordinates, u: Vector) -> Vector:
        """Return the Euclidean Hessian of a f + ⟨y, c⟩ for fixed y, by differences where it is not given."""
        function = self.function
        if function.constraints.problem.has_hessian:
            return function.constraints.lagrangian_hessian(
                self._x, function.cost_weight, function.weights * self.estimates, u
            )
        length = self.frame.norm(c)
        if length == 0.0:
            return scaled(0.0, self._egrad)
        step = _DIFFERENCE_STEP * self.frame.unit / length
        ahead = self._euclidean_gradient(self.frame.move(step * c))
        return scaled(1.0 / step, total([ahead, scaled(-1.0, self._egrad)]))
