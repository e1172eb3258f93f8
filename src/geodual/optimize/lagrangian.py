"""The functions of x that solvers minimize: the Lagrangian with a penalty, a proximal term, or both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.manifolds import Frame
from geodual.manifolds.frame import Coordinates, Point, Vector

from .functions import LinearMap
from .problem import ConstraintVector, EvaluatedPoint
from .trees import scaled, total

_EPS = float(np.finfo(float).eps)
Preconditioner = Callable[["LocalLagrangian", Coordinates], Coordinates]
"""A function that takes a model at a point and a tangent vector c, and returns an approximate H⁻¹ c."""

_DIFFERENCE_STEP = float(np.sqrt(_EPS))  # balances truncation and rounding of a forward difference


@dataclass(frozen=True)
class Lagrangian:
    """The Lagrangian a f(x) + ⟨λ, c(x)⟩ as a function of x, an objective for `newton_cg`.

    With a penalty ρ > 0, it is the augmented Lagrangian: each function g of the problem is replaced by its
    Moreau envelope e(z) = min over p of a g(p) + (ρ/2) ‖p − z‖² at z = c(x) + λ/ρ. The minimizer p is the
    prox point. So the value is a f(x) + a g(p) + (‖y‖² − ‖λ‖²)/(2ρ) with y = ρ (z − p), and the gradient is
    that of a f(x) + ⟨y, c(x)⟩. For inequalities, g is 0 where z ≤ 0 and infinite elsewhere, so that y is
    max(λ + ρ c(x), 0). With a proximal weight w > 0, (w/2) d²(center, x) is added. With neither, it is eq.
    (2) without the term in λ alone.

    Calling it at a point x returns an object with `value`, Riemannian `gradient`, `hessian_product(c)`,
    `frame`, `point` (an `EvaluatedPoint`), and `estimates`: the multipliers y, which are the next λ of the
    method of multipliers. With terms, `prox_point` is p, in units of the problem.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    multipliers : array of shape (m,)
        λ.
    cost_weight : float
        Weight a of the cost; with 0 only the violation remains.
    weights : float or array of shape (m,)
        Scale factors of the constraints; λ belongs to the scaled constraints.
    penalty : float
        ρ.
    proximal_weight : float
        Weight w of the proximal term.
    center : Point, optional
        Center of the proximal term.

    See Also
    --------
    newton_cg, limited_memory : Minimize it.
    ConstraintVector : The constraints in it.

    References
    ----------
    R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in convex
    programming", Mathematics of Operations Research 1(2), 1976.

    Examples
    --------
    For min x² subject to 1 − x ≤ 0, with λ = 0 and ρ = 10, the augmented Lagrangian is x² + 5 (1 − x)² for x
    < 1. At its minimum x = 5/6 the estimate is y = 10 (1 − x) = 5/3, closer to the solution λ* = 2:

    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import ConstraintVector, Lagrangian, Problem
    >>> problem = Problem(Euclidean(1), lambda x: x @ x, gradient=lambda x: 2.0 * x,
    ...                   inequalities=lambda x: 1.0 - x, jacobian_product=lambda x, w: -w)
    >>> constraints = ConstraintVector(problem, np.zeros(1))
    >>> model = Lagrangian(constraints, np.zeros(1), penalty=10.0)(np.array([5.0 / 6.0]))
    >>> round(model.value, 6), np.round(model.estimates, 6).tolist(), bool(abs(model.gradient[0]) < 1e-12)
    (0.833333, [1.666667], True)
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
        """Evaluate at a point whose cost and constraints are already known."""
        return LocalLagrangian(self, point)


class LocalLagrangian:
    """A `Lagrangian` at a point; derivatives are computed on first use."""

    def __init__(self, function: Lagrangian, point: EvaluatedPoint) -> None:
        self.function = function
        self.point = point
        self.frame: Frame = point.frame
        self.violations: Array = function.weights * point.constraints
        self.prox_point: Array | None = None
        """The prox point p of all entries, in units of the problem; None without a penalty or terms."""
        self.estimates: Array = self._estimate()
        """The multipliers y = ρ (z − p); λ itself without a penalty."""
        self._distance = (
            self.frame.half_squared_distance(function.center) if function.proximal_weight else None
        )
        self._terms = self._measure_terms()
        self.value: float = sum(self._terms)
        self.preconditioner: Preconditioner | None = None

    def _estimate(self) -> Array:
        function = self.function
        if not function.penalty:
            return function.multipliers
        constraints, shifted = function.constraints, function.multipliers + function.penalty * self.violations
        estimates = constraints.nonnegative(shifted)
        if constraints.functions:
            self._z = shifted / self._stiffness
            self.prox_point = constraints.prox(self._z, self._steps)
            tail = constraints.tail
            estimates[tail] = (self._stiffness * (self._z - self.prox_point))[tail]
        return estimates

    @property
    def _stiffness(self) -> Array | float:
        """The factor ρ w of every entry: z is (λ + ρ w c)/(ρ w) in units of the problem."""
        return self.function.penalty * self.function.weights

    @property
    def _steps(self) -> Array | float:
        """The t of the prox of every entry, in units of the problem."""
        return self.function.cost_weight / (self._stiffness * self.function.weights)

    def _measure_terms(self) -> tuple[float, ...]:
        """Return the cost, the two terms of the constraints, the proximal term, and g(p)."""
        # Kept separate, because their absolute values bound the rounding error of the sum.
        function, y, lam = self.function, self.estimates, self.function.multipliers
        if function.penalty:
            half = 0.5 / function.penalty
            coupling = half * float(y @ y), -half * float(lam @ lam)
        else:
            coupling = float(lam @ self.violations), 0.0
        proximity = function.proximal_weight * self._distance.value if self._distance else 0.0
        terms = (function.cost_weight * self.point.cost, *coupling, proximity)
        if self.prox_point is None or not function.cost_weight:
            return terms
        return (*terms, function.cost_weight * function.constraints.term_cost(self.prox_point))

    @property
    def noise(self) -> float:
        """Bound on the rounding error of the value."""
        return 16.0 * _EPS * sum(map(abs, self._terms))

    @property
    def violation(self) -> float:
        """Largest |c − p|, which is 0 if and only if λ is a subgradient of g at c(x); requires a penalty."""
        # For an inequality, max(c, −λ/ρ) is 0 if and only if c ≤ 0, λ ≥ 0 and c λ = 0.
        function = self.function
        slack = np.maximum(self.violations, -function.multipliers / function.penalty)
        error = np.where(function.constraints.is_equality, self.violations, slack)
        if self.prox_point is not None:
            tail = function.constraints.tail
            error[tail] = (function.weights * (self.point.constraints - self.prox_point))[tail]
        return float(np.abs(error).max(initial=0.0))

    @property
    def fixed_entries(self) -> NDArray[np.bool_] | None:
        """The entries with a constant prox, such as active inequalities; None if some move halfway.

        All functions must act on each entry separately.
        """
        constraints = self.function.constraints
        active = constraints.is_equality | (self.estimates > 0.0)
        if constraints.functions:
            slopes = constraints.prox_derivative(self._z, self._steps)(np.ones(constraints.size))
            if not np.isin(slopes, (0.0, 1.0)).all():
                return None
            active[constraints.tail] = slopes[constraints.tail] == 0.0
        return active

    def subgradient(self, y: Array) -> Array:
        """Return multipliers near y that are subgradients at the prox point: y ≥ 0 for inequalities."""
        constraints = self.function.constraints
        if self.prox_point is None:
            return constraints.nonnegative(y)
        z = self.prox_point + y / self._stiffness
        return np.asarray(self._stiffness * (z - constraints.prox(z, self._steps)))

    @cached_property
    def egrad(self) -> Vector:
        """The Euclidean gradient, without the proximal term."""
        # The gradient of Σ yₖ²/(2ρ) is Σ yₖ ∇cₖ: that of the plain Lagrangian with the multipliers y.
        function = self.function
        weights = function.weights * self.estimates
        return function.constraints.lagrangian_gradient(self.frame.point, function.cost_weight, weights)

    @cached_property
    def gradient(self) -> Coordinates:
        """The Riemannian gradient."""
        gradient = self.frame.gradient(self.egrad)
        if self._distance:
            gradient = gradient + self.function.proximal_weight * self._distance.gradient
        return gradient

    @cached_property
    def _hessian(self) -> _Hessian:
        penalty_map = None if self.function.constraints.is_separable else self.penalty_map
        added = (self._active_stiffness, penalty_map)
        return _Hessian(self.function, self.frame, self.estimates, self.egrad, *added)

    @property
    def _active_stiffness(self) -> Array | None:
        """The diagonal of the penalty, if it has one: ρ w² of active constraints; None if none is active."""
        function, constraints = self.function, self.function.constraints
        if not function.penalty or not constraints.is_separable:
            return None
        active: Array = np.asarray(constraints.is_equality | (self.estimates > 0.0), dtype=float)
        if constraints.functions:
            active = 1.0 - constraints.prox_derivative(self._z, self._steps)(np.ones(constraints.size))
        return function.penalty * function.weights**2 * active if np.count_nonzero(active) else None

    @cached_property
    def penalty_map(self) -> LinearMap | None:
        """The Hessian of the envelopes as a map of slopes Dc[u]: ρ w² (I − P); None without penalty or terms.

        P is the derivative of the prox.
        """
        function, constraints = self.function, self.function.constraints
        if not function.penalty or not constraints.functions:
            return None
        stiffness = function.penalty * function.weights**2
        derivative = constraints.prox_derivative(self._z, self._steps)
        return lambda slopes: stiffness * (slopes - derivative(slopes))

    def hessian_product(self, c: Coordinates) -> Coordinates:
        """Return the Riemannian Hessian applied to `c`."""
        product = self._hessian.product(c)
        if self._distance:
            product = product + self.function.proximal_weight * self._distance.hessian(c)
        return product

    def precondition(self, c: Coordinates) -> Coordinates:
        """Apply an approximate inverse of the Hessian to `c`; by default return `c` itself."""
        return c if self.preconditioner is None else self.preconditioner(self, c)


class _Hessian:
    """The Riemannian Hessian of a `Lagrangian` at a point, without the proximal term."""

    def __init__(
        self,
        function: Lagrangian,
        frame: Frame,
        estimates: Array,
        egrad: Vector,
        stiffness: Array | None,
        penalty_map: LinearMap | None,
    ) -> None:
        constraints = self._constraints = function.constraints
        self._frame, self._penalty_map = frame, penalty_map
        self._weights = function.cost_weight, constraints.weighted(np.asarray(function.weights * estimates))
        stiff = None if stiffness is None else constraints.split(stiffness)
        # The penalty adds ρ Jᵀ J of the active constraints; with terms, ρ Jᵀ (I − P) J.
        self._given = constraints.lagrangian_hessian(frame.point, *self._weights, stiff)
        self._to_riemannian = frame.hessian_map(egrad)
        self._undifferentiated = self._gradient_without_hessian(frame.point)
        self._is_partial = penalty_map is not None or self._undifferentiated is not None

    def product(self, c: Coordinates) -> Coordinates:
        """Return the Riemannian Hessian of a f + ⟨y, c⟩ for fixed y, and of the penalty, applied to `c`."""
        u = self._frame.tangent(c)
        ehess = self._given(u)
        if self._is_partial or ehess is None:
            given = scaled(0.0, u) if ehess is None else ehess  # zero, with the structure of a point
            ehess = total([given, *self._mapped(u), *self._differences(c)])
        return self._to_riemannian(ehess, c)

    def _mapped(self, u: Vector) -> list[Vector]:
        """Return the terms of the penalty if it is not diagonal."""
        if self._penalty_map is None:
            return []
        x, constraints = self._frame.point, self._constraints
        return constraints.adjoint(x, self._penalty_map(constraints.derivative(x, u)))

    def _differences(self, c: Coordinates) -> list[Vector]:
        """Return the Hessian terms of functions without second derivatives, by a difference of gradients."""
        # A numpy number: if the step underflows, the product is infinite, and no exception is raised.
        length = np.float64(0.0 if self._undifferentiated is None else self._frame.norm(c))
        if not length > 0.0:
            return []
        step = _DIFFERENCE_STEP * self._frame.unit / length
        # `move` follows the tangent vector to first order, which is enough for a difference.
        ahead = self._gradient_without_hessian(self._frame.move(step * c))
        return [scaled(1.0 / step, ahead), scaled(-1.0 / step, self._undifferentiated)]

    def _gradient_without_hessian(self, x: Point) -> Vector | None:
        return self._constraints.gradient_without_hessian(x, *self._weights)
