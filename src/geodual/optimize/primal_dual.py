"""Algorithm 1 of the paper, with an exact or a linearised proximal step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from numbers import Real

import numpy as np

from geodual.arrays import Array

from .constraint_vector import ConstraintVector, EvaluatedPoint
from .lagrangian import Lagrangian, LocalLagrangian
from .newton_cg import newton_cg
from .updates import Stop, Update

StepRule = str | float | Callable[[int], float]
PrimalStep = Callable[[EvaluatedPoint, Array, float], tuple[EvaluatedPoint, int] | Stop]
_PROXIMAL_TOLERANCE = 1e-13  # close to rounding error, because Theorem 1 assumes exact proximal steps


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

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    start : EvaluatedPoint
        x₀.
    watch, stop : callable, optional
        Called with the function at every step of a proximal problem; it ends if `stop` returns True.
    multipliers : array of shape (m,), optional
        λ₀; 0 by default, as Theorem 1 assumes.
    alpha : float
        α of eq. (2). With α > 0 the iterates tend to a point that violates active constraints by αλ*.
    step : "sqrt", float or callable
        ηₜ: 1/√(t+1), a constant, or a function of t.
    """
    manifold = constraints.problem.manifold
    if not manifold.has_log:
        raise ValueError(
            f"Algorithm 1 needs distances, which {manifold} does not have; use the default method, "
            'or "primal-dual-linearized".'
        )

    def proximal_step(point: EvaluatedPoint, lam: Array, eta: float) -> tuple[EvaluatedPoint, int] | Stop:
        # Eq. (3), without the term in λ alone, which is constant here.
        objective = Lagrangian(constraints, lam, proximal_weight=1.0 / eta, center=point.x)
        start = objective.at(point)
        tol = _PROXIMAL_TOLERANCE * max(1.0, start.frame.norm(start.gradient))
        minimum = newton_cg(
            objective, start, tol=tol, step_limit=manifold.step_limit, max_iter=500, watch=watch, stop=stop
        )
        if minimum.status in ("runaway", "max_iterations"):
            return Stop("breakdown", _NO_MINIMISER.format(eta))
        return minimum.model.point, minimum.n_products

    return iterate_primal_dual(constraints, start, alpha, step, proximal_step, multipliers)


def primal_dual_linearized(
    constraints: ConstraintVector,
    start: EvaluatedPoint,
    *,
    multipliers: Array | None = None,
    alpha: float = 0.0,
    step: StepRule = "sqrt",
    exponential: bool = False,
) -> Iterator[Update | Stop]:
    """Run Algorithm 1 with one Riemannian gradient step in place of each proximal problem.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    start : EvaluatedPoint
        x₀.
    multipliers : array of shape (m,), optional
        λ₀; 0 by default.
    alpha : float
        α of eq. (2). With α > 0 the iterates tend to a point that violates active constraints by αλ*.
    step : "sqrt", float or callable
        ηₜ: 1/√(t+1), a constant, or a function of t.
    exponential : bool
        Step along geodesics (Khuzani and Li 2017) instead of by the manifold's retraction. Appendix C
        retracts by projection, under the embedded metric; see docs/errata.md.
    """

    def gradient_step(point: EvaluatedPoint, lam: Array, eta: float) -> tuple[EvaluatedPoint, int] | Stop:
        model = Lagrangian(constraints, lam).at(point)
        # One gradient step needs no proximal term: its gradient is 0 at the current point.
        move = model.frame.exp if exponential else model.frame.retract
        return constraints.evaluate(move(-eta * model.gradient)), 0

    return iterate_primal_dual(constraints, start, alpha, step, gradient_step, multipliers)


def iterate_primal_dual(
    constraints: ConstraintVector,
    start: EvaluatedPoint,
    alpha: float,
    step: StepRule,
    primal_step: PrimalStep,
    multipliers: Array | None = None,
) -> Iterator[Update | Stop]:
    """Alternate any primal step with the dual step of eq. (4).

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
        ``primal_step(point, lam, eta)`` returns the next point and the number of Hessian products, or a
        `Stop`.
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
        point, products = outcome
        ascended = lam + eta * (point.constraints - alpha * lam)  # Eq. (4)
        lam_next = constraints.nonnegative(ascended)
        update = Update(point, lam_next, step_size=eta, hessian_products=products, dual_used=lam)
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
_NO_MINIMISER = (
    "The proximal problem has no minimiser within reach; use steps below {:.2g}, or the default method."
)
