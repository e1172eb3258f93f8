"""The barrier function that the interior-point method minimises in x, and its primal-dual Hessian.

Cost f, inequalities h and equalities g are scaled to unit size here. For a barrier parameter μ > 0, a
regularisation δ > 0 and centres z̄ and ȳ, the method looks for a point x, slacks s > 0 and multipliers z > 0
and y with

    ∇f + Σ zₖ ∇hₖ + Σ yⱼ ∇gⱼ = 0,   s z = μ,   h + s = δ (z − z̄),   g = δ (y − ȳ).

As μ and δ fall, these equations become the KKT conditions. If the start is strictly feasible, δ is 0 for
inequalities, so that s = −h: that is the classical barrier, which keeps all points strictly feasible. With
δ > 0 inequalities may be violated on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import Frame
from geodual.manifolds.frame import Coordinates

from .ambient import total
from .constraint import UNDEFINED
from .constraint_vector import ConstraintVector, EvaluatedPoint
from .kkt import Units
from .lagrangian import Lagrangian, LocalLagrangian

_EPS = float(np.finfo(float).eps)

Operator = Callable[[Coordinates], Coordinates]
"""A linear map of tangent vectors in the coordinates of a frame."""


@dataclass(frozen=True)
class Barrier:
    """The barrier function Φ, whose stationary points solve the equations above.

    For given x, all equations but the first have a closed-form solution (s, π). With it

        Φ(x) = f(x) − μ Σ log sₖ + (δ/2) Σ (πₖ² − z̄ₖ²),

    where the last sum leaves out inequalities with δ = 0. Its gradient is ∇f + Σ πₖ ∇cₖ.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    units : Units
        Sizes by which cost and constraints are divided.
    preconditioner : callable
        Takes a `LocalBarrier` and returns an approximate inverse of its Hessian.
    mu, delta : float
        μ and δ.
    centers : array of shape (m,)
        z̄ and ȳ.
    strict : bool
        Whether δ is 0 for inequalities. Then Φ is infinite where one of them does not hold strictly.
    """

    constraints: ConstraintVector
    units: Units
    preconditioner: Callable[[LocalBarrier], Operator]
    mu: float
    delta: float
    centers: Array
    strict: bool

    def at(self, point: EvaluatedPoint, multipliers: Array) -> LocalBarrier:
        """Return Φ at a point. Its Hessian is that for the multipliers z and y, which need not be π."""
        return LocalBarrier(self, point, multipliers)


class LocalBarrier:
    """A `Barrier` at a point with multipliers: a model for `truncated_cg`.

    Attributes
    ----------
    violations : array of shape (m,)
        The scaled constraints h and g.
    slacks : array of shape (m,)
        s; 0 for equalities.
    estimates : array of shape (m,)
        π.
    value : float
        Φ(x).
    """

    def __init__(self, function: Barrier, point: EvaluatedPoint, multipliers: Array) -> None:
        self.function, self.point, self.multipliers = function, point, multipliers
        self.frame: Frame = point.frame
        self.weights: Array = 1.0 / function.units.constraints
        self.violations: Array = self.weights * point.constraints
        self.estimates: Array = function.centers + self.violations / function.delta
        self.slacks: Array = np.zeros_like(self.estimates)
        self._solve_for_slacks()
        self._terms = self._measure_terms()
        value = sum(self._terms)
        self.value: float = value if math.isfinite(value) else math.inf

    @property
    def inequalities(self) -> slice:
        """Where the inequalities are in vectors of all constraints."""
        return slice(0, self.function.constraints.n_inequalities)

    @property
    def soft(self) -> slice:
        """Where the constraints with δ > 0 are."""
        return slice(self.inequalities.stop if self.function.strict else 0, None)

    def _solve_for_slacks(self) -> None:
        """Set s and π of the inequalities."""
        mu, delta, k = self.function.mu, self.function.delta, self.inequalities
        if self.function.strict:
            self.slacks[k] = -self.violations[k]
            self.estimates[k] = mu / self.slacks[k]
            return
        # π − μ/(δπ) = t: of the two forms of the positive root, each is exact for one sign of t.
        t = self.estimates[k]
        root = np.sqrt(t * t + 4.0 * mu / delta)
        self.estimates[k] = np.where(t > 0.0, 0.5 * (t + root), 2.0 * mu / delta / (root - t))
        self.slacks[k] = mu / self.estimates[k]

    def _measure_terms(self) -> tuple[float, float, float, float]:
        """Return the cost, the logarithms, and the two parts of the quadratic term."""
        # Kept apart, because their absolute values bound the rounding error of their sum.
        function, slacks = self.function, self.slacks[self.inequalities]
        if not (slacks > 0.0).all():
            return math.inf, 0.0, 0.0, 0.0
        pi, centers, half = self.estimates[self.soft], function.centers[self.soft], 0.5 * function.delta
        logarithms = -function.mu * float(np.log(slacks).sum())
        cost = self.point.cost / function.units.cost
        return cost, logarithms, half * float(pi @ pi), -half * float(centers @ centers)

    @property
    def noise(self) -> float:
        """Bound on the rounding error of the value."""
        return 16.0 * _EPS * sum(map(abs, self._terms))

    @cached_property
    def lagrangian(self) -> LocalLagrangian:
        """The scaled Lagrangian with the multipliers z and y."""
        constraints, units = self.function.constraints, self.function.units
        return Lagrangian(constraints, self.multipliers, 1.0 / units.cost, self.weights).at(self.point)

    @cached_property
    def gradient(self) -> Coordinates:
        """The Riemannian gradient of Φ."""
        constraints, units = self.function.constraints, self.function.units
        weights = self.weights * self.estimates
        return self.frame.gradient(
            constraints.lagrangian_gradient(self.frame.point, 1.0 / units.cost, weights)
        )

    @cached_property
    def stiffness(self) -> Array:
        """The diagonal D of the primal-dual Hessian: 1/(δ + s/z)."""
        function, k = self.function, self.inequalities
        stiffness = np.full(len(self.slacks), 1.0 / function.delta)
        flexibility = self.slacks[k] / self.multipliers[k]
        stiffness[k] = 1.0 / (flexibility if function.strict else function.delta + flexibility)
        return stiffness

    def slopes(self, c: Coordinates) -> Array:
        """Return J c: the derivatives of the scaled constraints along a tangent vector."""
        return self.weights * self.function.constraints.derivative(self.frame.point, self.frame.tangent(c))

    def pull(self, w: Array) -> Coordinates:
        """Return Jᵀ w: the sum of the gradients of the scaled constraints with the given weights."""
        terms = self.function.constraints.adjoint(self.frame.point, self.weights * w)
        return self.frame.gradient(total(terms))

    def hessian_product(self, c: Coordinates) -> Coordinates:
        """Return (H + Jᵀ D J) c, where H is the Hessian of the Lagrangian.

        It is the matrix that is left of Newton's method on the equations if all unknowns but x are
        eliminated. The Newton step d solves (H + Jᵀ D J) d = −∇Φ, and the next multipliers are π + D J d.
        """
        product = self.lagrangian.hessian_product(c)
        if self.stiffness.size:
            product = product + self.pull(self.stiffness * self.slopes(c))
        return product

    @cached_property
    def _inverse(self) -> Operator:
        return self.function.preconditioner(self)

    def precondition(self, c: Coordinates) -> Coordinates:
        """Return an approximate inverse of the Hessian applied to `c`."""
        return self._inverse(c)

    def moved(self, c: Coordinates) -> LocalBarrier | None:
        """Return Φ after a step, with the same multipliers; None if the functions have no value there."""
        constraints = self.function.constraints
        try:
            point = constraints.evaluate(self.frame.move(c))
        except UNDEFINED:
            return None
        defined = math.isfinite(point.cost) and bool(np.isfinite(point.constraints).all())
        return self.function.at(point, self.multipliers) if defined else None

    @property
    def limit_point(self) -> EvaluatedPoint:
        """The point with those inequalities set to 0 that are active as μ falls: they have s < z."""
        k, values = self.inequalities, self.point.constraints.copy()
        values[k] = np.where(self.slacks[k] < self.multipliers[k], 0.0, values[k])
        return replace(self.point, constraints=values)

    @property
    def violation(self) -> float:
        """The largest violation of a scaled constraint."""
        equality = self.function.constraints.is_equality
        excess = np.where(equality, np.abs(self.violations), np.maximum(self.violations, 0.0))
        return float(excess.max(initial=0.0))

    @cached_property
    def residual(self) -> float:
        """By how much x, z and y miss the equations."""
        k = self.inequalities
        products = np.abs(self.multipliers * self.slacks - self.function.mu)[k]
        coupling = self.function.delta * np.abs(self.multipliers - self.estimates)[self.soft]
        stationarity = self.frame.norm(self.lagrangian.gradient)
        return max(stationarity, float(products.max(initial=0.0)), float(coupling.max(initial=0.0)))
