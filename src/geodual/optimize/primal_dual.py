"""Algorithm 1 of the paper, with an exact or a linearized proximal step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from numbers import Real

import numpy as np

from geodual.arrays import Array

from .lagrangian import Lagrangian, LocalLagrangian
from .newton_cg import Minimum, newton_cg
from .problem import ConstraintVector, EvaluatedPoint
from .updates import Stop, Update

StepRule = str | float | Callable[[int], float]
PrimalOutcome = tuple[EvaluatedPoint, Array, int] | Stop
PrimalStep = Callable[[EvaluatedPoint, Array, float], PrimalOutcome]
_PROXIMAL_TOLERANCE = 1e-13  # close to rounding error, because Theorem 1 assumes exact proximal steps
_MULTIPLIER_STEPS = 60  # for the terms of a proximal step; each reduces the error by a factor of at least 4


def primal_dual(
    constraints: ConstraintVector,
    start: EvaluatedPoint,
    *,
    watch: Callable[[LocalLagrangian], object] | None = None,
    stop: Callable[[LocalLagrangian], bool] | None = None,
    multipliers: Array | None = None,
    alpha: float = 0.0,
    step: StepRule = "sqrt",
) -> Iterator[Update | Stop]:
    """Run Algorithm 1, eqs. (2)–(4), with each proximal problem solved to rounding error.

    Terms of the problem belong to f: they are part of each proximal problem and have no dual step.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    start : EvaluatedPoint
        x₀.
    watch, stop : callable, optional
        Called with the function at every step of a proximal problem, which ends if `stop` returns True.
    multipliers : array of shape (m,), optional
        λ₀; 0 by default, as Theorem 1 assumes.
    alpha : float
        α of eq. (2). With α > 0, the iterates tend to a point that violates active constraints by αλ*.
    step : "sqrt", float or callable
        ηₜ: 1/√(t+1), a constant, or a function of t.
    """
    manifold = constraints.problem.manifold
    if not manifold.has_log:
        raise ValueError(
            f"Algorithm 1 needs distances, which {manifold} does not have; use the default method "
            'or "primal-dual-linearized".'
        )

    def minimized(start: LocalLagrangian) -> Minimum[LocalLagrangian]:
        tol = _PROXIMAL_TOLERANCE * max(1.0, start.frame.norm(start.gradient))
        limit = manifold.step_limit
        return newton_cg(
            start.function, start, tol=tol, step_limit=limit, max_iter=500, watch=watch, stop=stop
        )

    def proximal_step(point: EvaluatedPoint, lam: Array, eta: float) -> PrimalOutcome:
        # Eq. (3), without the term in λ alone, which is constant here.
        if constraints.functions:
            return _proximal_step_with_terms(constraints, point, lam, eta, minimized)
        objective = Lagrangian(constraints, lam, proximal_weight=1.0 / eta, center=point.x)
        minimum = minimized(objective.at(point))
        if minimum.status in ("runaway", "max_iterations"):
            return Stop("breakdown", _NO_MINIMizER.format(eta))
        return minimum.model.point, lam, minimum.n_products

    return iterate_primal_dual(constraints, start, alpha, step, proximal_step, multipliers)


def _proximal_step_with_terms(
    constraints: ConstraintVector,
    point: EvaluatedPoint,
    lam: Array,
    eta: float,
    minimized: Callable[[LocalLagrangian], Minimum[LocalLagrangian]],
) -> PrimalOutcome:
    """Solve eq. (3) if f has terms g(c(x)), by the method of multipliers for these terms only."""
    tail, spent = constraints.tail, 0
    smooth = constraints.with_fixed_multipliers(lam, point.x)
    y, penalty, violation = lam[tail], 1.0 / eta, np.inf  # the proximal term has the curvature 1/η
    inner = smooth.evaluate(point.x)
    for _ in range(_MULTIPLIER_STEPS):
        terms = {"penalty": penalty, "proximal_weight": 1.0 / eta, "center": point.x}
        minimum = minimized(Lagrangian(smooth, y, **terms).at(inner))
        spent += minimum.n_products
        if minimum.status in ("runaway", "max_iterations"):
            break
        model, last, y = minimum.model, violation, minimum.model.estimates
        inner, violation = model.point, model.violation
        if violation <= _PROXIMAL_TOLERANCE * max(1.0, float(np.abs(inner.constraints).max(initial=0.0))):
            return constraints.evaluate(inner.x), np.concatenate([lam[: tail.start], y]), spent
        penalty *= 10.0 if violation > 0.25 * last else 1.0
    return Stop("breakdown", _NO_MINIMizER.format(eta))


def primal_dual_linearized(
    constraints: ConstraintVector,
    start: EvaluatedPoint,
    *,
    multipliers: Array | None = None,
    alpha: float = 0.0,
    step: StepRule = "sqrt",
    exponential: bool = False,
) -> Iterator[Update | Stop]:
    """Run Algorithm 1 with one Riemannian gradient step instead of each proximal problem.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    start : EvaluatedPoint
        x₀.
    multipliers : array of shape (m,), optional
        λ₀; 0 by default.
    alpha : float
        α of eq. (2). With α > 0, the iterates tend to a point that violates active constraints by αλ*.
    step : "sqrt", float or callable
        ηₜ: 1/√(t+1), a constant, or a function of t.
    exponential : bool
        Whether to step along geodesics (Khuzani and Li 2017) instead of by the manifold's retraction.
        Appendix C retracts by projection, under the embedded metric; see docs/errata.md.
    """
    if constraints.functions:
        raise ValueError(
            "A gradient step takes inequalities, equalities and bounds, but no other terms; use "
            '"primal-dual", whose proximal step has them, or the default method.'
        )

    def gradient_step(point: EvaluatedPoint, lam: Array, eta: float) -> PrimalOutcome:
        model = Lagrangian(constraints, lam).at(point)
        # One gradient step needs no proximal term: its gradient is 0 at the current point.
        move = model.frame.exp if exponential else model.frame.retract
        return constraints.evaluate(move(-eta * model.gradient)), lam, 0

    return iterate_primal_dual(constraints, start, alpha, step, gradient_step, multipliers)


def iterate_primal_dual(
    constraints: ConstraintVector,
    start: EvaluatedPoint,
    alpha: float,
    step: StepRule,
    primal_step: PrimalStep,
    multipliers: Array | None = None,
) -> Iterator[Update | Stop]:
    """Alternate a primal step with the dual step of eq. (4).

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    start : EvaluatedPoint
        x₀.
    alpha : float
        α of eq. (2).
    step : "sqrt", float or callable
        ηₜ: 1/√(t+1), a constant, or a function of t.
    primal_step : callable
        ``primal_step(point, lam, eta)`` returns the next point, λ with new multipliers of the terms, and the
        number of Hessian products, or a `Stop`.
    multipliers : array of shape (m,), optional
        λ₀; 0 by default.
    """
    if not (isinstance(alpha, Real) and alpha >= 0.0):
        raise ValueError(f"`alpha` must not be negative, got {alpha!r}; use 0 for the exact solution.")
    rule = _step_rule(step)
    point, t = start, 0
    lam = np.zeros(constraints.size) if multipliers is None else multipliers
    while True:
        eta = rule(t)
        outcome = primal_step(point, lam, eta)
        if isinstance(outcome, Stop):
            yield outcome
            return
        point, known, products = outcome
        head = slice(0, constraints.tail.start)
        ascended = np.array(known)
        ascended[head] = lam[head] + eta * (point.constraints[head] - alpha * lam[head])  # Eq. (4)
        lam_next = constraints.nonnegative(ascended)
        update = Update(point, lam_next, step_size=eta, hessian_products=products, dual_used=lam[head])
        yield replace(update, advice=_STALLS) if alpha else update
        lam, t = lam_next, t + 1


def _step_rule(step: StepRule) -> Callable[[int], float]:
    """Return the function t ↦ ηₜ."""
    if step == "sqrt":
        return lambda t: float(1.0 / np.sqrt(t + 1.0))
    if callable(step):
        return lambda t: _positive_step(float(step(t)))
    if not isinstance(step, Real):
        raise ValueError(f'`step` must be "sqrt", a positive number or a function of t, got {step!r}.')
    constant = _positive_step(float(step))
    return lambda t: constant


def _positive_step(eta: float) -> float:
    if not (eta > 0.0 and np.isfinite(eta)):
        raise ValueError(f"`step` must be positive and finite, got {eta}; try 0.1.")
    return eta


_STALLS = "with `alpha` > 0 the iteration stalls at a violation of αλ*; use alpha=0, or the default method."
_NO_MINIMizER = (
    "The proximal problem has no minimizer within reach; use steps below {:.2g}, or the default method."
)


def theorem1_bound(
    step_sizes: Sequence[float] | Array, distance: float, n_constraints: int, constraint_bound: float
) -> Array:
    r"""Return the bound of Theorem 1, eq. (5), on the cost after each iteration of Algorithm 1.

    .. math:: \frac{1}{\sum_{t<T} \eta_t}
              \Bigl(\tfrac12 d^2(x_*, x_0) + 2 m G^2 \sum_{t<T} \eta_t^2\Bigr)

    It bounds :math:`\min_{t<T} f(x_{t+1}) - f(x_*)` for x* feasible, f and h geodesically convex, and
    αηₜ ≤ 1. It does not bound the violation of the constraints (see `docs/errata.md`).

    Parameters
    ----------
    step_sizes : sequence of T floats
        Step sizes η₀, …, η_{T−1}.
    distance : float
        Distance d(x*, x₀) from the start to the solution.
    n_constraints : int
        Number m of constraints.
    constraint_bound : float
        Bound G on the absolute value of every hₖ over the iterates.

    Returns
    -------
    array of shape (T,)
        The bound after 1, …, T iterations.

    See Also
    --------
    corollary1_bound : The bound for ηₜ = 1/√(t+1).

    References
    ----------
    S. Wang, B. Zhu, L. Ma, Y. Qi, "A Riemannian primal-dual algorithm based on proximal operator and its
    application in metric learning".

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import theorem1_bound
    >>> steps = 1.0 / np.sqrt(np.arange(1.0, 10_001.0))
    >>> bound = theorem1_bound(steps, distance=2.0, n_constraints=1, constraint_bound=0.5)
    >>> np.round(bound[[0, 99, 9999]], 3).tolist()
    [2.5, 0.247, 0.035]
    """
    eta = np.asarray(step_sizes, dtype=float)
    if eta.ndim != 1 or not (eta > 0.0).all():
        raise ValueError("`step_sizes` must be a sequence of positive numbers; give one per iteration.")
    _check_constants(distance=distance, n_constraints=n_constraints, constraint_bound=constraint_bound)
    drift = 2.0 * n_constraints * constraint_bound**2 * np.cumsum(eta**2)
    return np.asarray((0.5 * distance**2 + drift) / np.cumsum(eta))  # Eq. (5)


def corollary1_bound(
    n_iter: int | Array, diameter: float, n_constraints: int, constraint_bound: float
) -> Array:
    r"""Return the bound of Corollary 1 (Appendix B) on the cost after T iterations with ηₜ = 1/√(t+1).

    .. math:: \frac{\tfrac12 R^2 + 2 m G^2 (1 + \log T)}{2 (\sqrt T - 1)}

    Parameters
    ----------
    n_iter : int or array of int
        Number T ≥ 2 of iterations; at T = 1 the printed bound is infinite.
    diameter : float
        Bound R on d(x*, x₀).
    n_constraints : int
        Number m of constraints.
    constraint_bound : float
        Bound G on the absolute value of every hₖ over the iterates.

    Returns
    -------
    array of the shape of `n_iter`
        The bound.

    See Also
    --------
    theorem1_bound : The bound for any step sizes.

    References
    ----------
    S. Wang, B. Zhu, L. Ma, Y. Qi, "A Riemannian primal-dual algorithm based on proximal operator and its
    application in metric learning".

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import corollary1_bound
    >>> bound = corollary1_bound(np.array([100, 10_000]), diameter=2.0, n_constraints=1, constraint_bound=0.5)
    >>> np.round(bound, 3).tolist()
    [0.267, 0.036]
    """
    T = np.asarray(n_iter, dtype=float)
    if not (T >= 2).all():
        raise ValueError(
            "`n_iter` must be at least 2: at T = 1 the bound is infinite; use theorem1_bound there."
        )
    _check_constants(diameter=diameter, n_constraints=n_constraints, constraint_bound=constraint_bound)
    # Eq. (5) with Σ ηₜ ≥ 2 (√T − 1) and Σ ηₜ² ≤ 1 + log T.
    drift = 2.0 * n_constraints * constraint_bound**2 * (1.0 + np.log(T))
    return np.asarray((0.5 * diameter**2 + drift) / (2.0 * (np.sqrt(T) - 1.0)))


def _check_constants(**constants: float) -> None:
    for name, value in constants.items():
        if not value >= 0.0:
            raise ValueError(f"`{name}` must not be negative, got {value}.")
