"""One step of the interior-point method: a primal-dual Newton direction, and how far to follow it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from geodual.arrays import Array
from geodual.manifolds.frame import Coordinates

from .barrier import LocalBarrier
from .constraint_vector import EvaluatedPoint
from .newton_cg import truncated_cg
from .second_order import Curvature

_TRIALS = 40
_SUFFICIENT = 1e-4  # share of the decrease promised by the slope that a step must achieve (Armijo)
_NEAR = 0.99  # share of the way to the boundary that a step may go; more as μ falls
_RANGE = 1e4  # factor by which a multiplier may differ from its estimate
_HALVINGS = 20  # of the step beside a saddle point
_CG_ACCURACY = (1e-10, 0.1)  # least and greatest relative residual of conjugate gradients


@dataclass(frozen=True)
class BarrierStep:
    """The end of a step.

    Attributes
    ----------
    model : LocalBarrier
        The barrier function at the new point, with the new multipliers.
    radius : float
        Trust-region radius of the next step.
    decrease : float
        By how much the barrier function fell.
    n_products : int
        Number of Hessian products.
    """

    model: LocalBarrier
    radius: float
    decrease: float
    n_products: int


def take_step(model: LocalBarrier, radius: float, target: float) -> BarrierStep | str:
    """Take a primal-dual Newton step that reduces the barrier function.

    Parameters
    ----------
    model : LocalBarrier
        The barrier function at the current point.
    radius : float
        Trust-region radius.
    target : float
        The residual that is good enough.

    Returns
    -------
    BarrierStep or str
        The step, or why there is none: "stalled" if no trial point is better, "blocked" if cost or
        constraints are not defined there.
    """
    if not model.frame.norm(model.gradient) > 0.0:  # the step is 0, but the multipliers need not be right yet
        return BarrierStep(model.function.at(model.point, model.estimates), radius, 0.0, 0)
    newton = truncated_cg(model, radius, _accuracy(model, target))
    slopes = model.slopes(newton.direction)
    found = _search(model, newton.direction, newton.slope, slopes)
    if isinstance(found, str):
        return found
    trial, fraction = found
    moved = model.function.at(trial.point, _next_multipliers(model, trial, slopes))
    if not math.isfinite(moved.residual):  # a gradient is not
        return "blocked"
    decrease = model.value - trial.value
    if fraction < 1.0:
        radius = max(2.0 * fraction * model.frame.norm(newton.direction), 0.5 * radius)
    elif not decrease > 0.1 * newton.decrease:
        radius *= 0.5
    elif newton.at_boundary and decrease > 0.5 * newton.decrease:
        radius *= 4.0 if decrease > 0.9 * newton.decrease else 2.0
    return BarrierStep(moved, radius, decrease, newton.n_products)


def step_beside(model: LocalBarrier, curvature: Curvature) -> EvaluatedPoint | None:
    """Return a point along negative curvature at which the barrier function is lower; None if there is none.

    Parameters
    ----------
    model : LocalBarrier
        The barrier function at a maximum or saddle point.
    curvature : Curvature
        A direction of negative curvature.
    """
    for length in model.frame.unit * 0.5 ** np.arange(_HALVINGS):
        for sign in (1.0, -1.0):
            trial = model.moved(sign * length * curvature.direction)
            # A quarter of the fall that the curvature promises is enough.
            if trial is not None and trial.value < model.value + 0.125 * length**2 * curvature.least:
                return trial.point
    return None


def _accuracy(model: LocalBarrier, target: float) -> float:
    """Return the relative residual to which the Newton system is worth solving."""
    # After a full step the residual of the system is the gradient of the Lagrangian. It need not be much
    # smaller than the target, nor much smaller than it is now.
    present, norm = model.frame.norm(model.lagrangian.gradient), model.frame.norm(model.gradient)
    wanted = max(0.3 * target, min(0.1, math.sqrt(present)) * present)
    return float(np.clip(wanted / norm, *_CG_ACCURACY))


def _search(
    model: LocalBarrier, direction: Coordinates, slope: float, slopes: Array
) -> tuple[LocalBarrier, float] | str:
    """Follow the direction, or a parabola if that fails, so far that Φ falls enough; return the fraction."""
    fraction, obstacle = _fraction_to_boundary(model, slopes), "stalled"
    bend = 0.0 * direction
    for attempt in range(_TRIALS):
        trial = model.moved(fraction * direction + fraction**2 * bend)
        if trial is None:
            obstacle, fraction = "blocked", 0.25 * fraction
            continue
        if trial.value - model.value <= _SUFFICIENT * fraction * slope + model.noise:
            return trial, fraction
        if attempt == 0 and slopes.size:
            curved = _bend(model, trial, fraction, slopes)
            if fraction * model.frame.norm(curved) < model.frame.norm(direction):
                bend = curved
                continue
        fraction = _shorter(model, trial, fraction, slope, slopes)
    return obstacle


def _fraction_to_boundary(model: LocalBarrier, slopes: Array) -> float:
    """Return the fraction of the step at which a strict inequality would almost be 0."""
    k = model.inequalities
    fastest = float((slopes[k] / model.slacks[k]).max(initial=0.0)) if model.function.strict else 0.0
    near = max(_NEAR, 1.0 - model.function.mu)
    return near / fastest if fastest > near else 1.0


def _bend(model: LocalBarrier, trial: LocalBarrier, fraction: float, slopes: Array) -> Coordinates:
    """Return the b for which stiff constraints are almost straight along t d + t² b.

    Without it, steps along a curved boundary are very short. A constraint that bends by q t² along d needs
    J b = −q. The b that disturbs Φ least is −(H + Jᵀ D J)⁻¹ Jᵀ D q.
    """
    q = (trial.violations - model.violations - fraction * slopes) / fraction**2
    return -1.0 * model.precondition(model.pull(model.stiffness * q))


def _shorter(model: LocalBarrier, trial: LocalBarrier, fraction: float, slope: float, slopes: Array) -> float:
    """Return a smaller fraction after a trial that was not good enough."""
    change = trial.value - model.value
    if math.isfinite(change):
        # The minimum of the parabola through both values and the slope.
        best = -0.5 * slope * fraction**2 / (change - fraction * slope)
        return float(np.clip(best, 0.1 * fraction, 0.5 * fraction))
    # Where the parabola through both values and the slope of an inequality is almost 0.
    h, dh = model.violations[model.inequalities], slopes[model.inequalities]
    q = (trial.violations[model.inequalities] - h - fraction * dh) / fraction**2
    roots = -2.0 * _NEAR * h / (dh + np.sqrt(np.maximum(dh**2 - 4.0 * _NEAR * q * h, 0.0)))
    nearest = float(roots[roots > 0.0].min(initial=math.inf))
    return float(np.clip(nearest, 0.1 * fraction, 0.9 * fraction))


def _next_multipliers(model: LocalBarrier, trial: LocalBarrier, slopes: Array) -> Array:
    """Return the multipliers π + D J d of the Newton step; those of inequalities stay positive."""
    k = model.inequalities
    multipliers = model.estimates + model.stiffness * slopes
    old = model.multipliers[k]
    falls = old - multipliers[k]
    to_zero = float((old[falls > 0.0] / falls[falls > 0.0]).min(initial=math.inf))
    fraction = min(1.0, max(_NEAR, 1.0 - model.function.mu) * to_zero)
    # Multipliers that are far from their estimates would make the next Newton step useless.
    estimates = trial.estimates[k]
    multipliers[k] = np.clip(old - fraction * falls, estimates / _RANGE, estimates * _RANGE)
    return multipliers
