"""Look elsewhere: for a feasible point, or for a lower valley where multipliers cannot lead to it.

Minimising the violation from several points finds a feasible one, or shows that there is none nearby. A
lower valley matters where all equalities are squares.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .constraint import UNDEFINED
from .kkt import Units
from .lagrangian import Lagrangian, LocalLagrangian
from .newton_cg import Minimum, newton_cg
from .problem import ConstraintVector, EvaluatedPoint

_LENGTHS = 0.1 * 3.0 ** np.arange(5)  # how far away to look for feasible points
_DIRECTIONS = 4  # random directions per length
_STATIONARY = 1e-5  # slope of a violation, relative to it, below which it counts as stationary
LOOK_BELOW = 1e-2  # scaled violation at which to look: the valley shows, and little work is lost
_LOOKS = 6  # descents from other points


def least_violation(
    constraints: ConstraintVector, units: Units, start: EvaluatedPoint, tol: float
) -> Minimum[LocalLagrangian]:
    """Minimise half the squared (scaled) violation from a point."""
    objective = Lagrangian(
        constraints,
        np.zeros(constraints.size),
        cost_weight=0.0,
        weights=1.0 / units.constraints,
        penalty=1.0,  # then the value is half the squared violation, and the estimates are the violation
    )
    return newton_cg(
        objective,
        objective.at(start),
        tol=0.1 * tol / max(start.frame.unit, 1.0),  # where lengths are large, slopes are small
        step_limit=constraints.problem.manifold.step_limit,
        may_escape=True,
    )


def seek_feasible(
    constraints: ConstraintVector, units: Units, start: EvaluatedPoint, tol: float
) -> Minimum[LocalLagrangian]:
    """Minimise the violation from a point; while some is left, try again from other points."""
    found = least_violation(constraints, units, start, tol)
    rng = np.random.default_rng(0)
    for length in np.tile(_LENGTHS, _DIRECTIONS):
        if not is_stationary_violation(found, tol):
            break
        # Beside it first: it may be a maximum or a saddle point of the violation. Then further and further
        # away, because the feasible set may lie in another valley.
        other = elsewhere(constraints, found.model.point, float(length), rng)
        if other is not None:
            again = least_violation(constraints, units, other, tol)
            found = min(found, again, key=lambda minimum: minimum.model.value)
    return found


def remaining_violation(minimum: Minimum[LocalLagrangian]) -> float:
    """Return the largest scaled violation at the end of `least_violation`."""
    return float(np.abs(minimum.model.estimates).max(initial=0.0))


def is_stationary_violation(minimum: Minimum[LocalLagrangian], tol: float) -> bool:
    """Return whether a violation is left that no step reduces that is small compared with `frame.unit`."""
    left, model = remaining_violation(minimum), minimum.model
    slope = model.frame.norm(model.gradient) * max(model.frame.unit, 1.0)
    return left > 10.0 * tol and slope < _STATIONARY * left


def elsewhere(
    constraints: ConstraintVector, point: EvaluatedPoint, length: float, rng: np.random.Generator
) -> EvaluatedPoint | None:
    """Return a point some way away in a random direction; None if the functions are not defined there."""
    frame = point.frame
    c = frame.random(rng)
    try:
        other = constraints.evaluate(frame.move((length * frame.unit / frame.norm(c)) * c))
    except UNDEFINED:
        return None
    return other if np.isfinite(other.constraints).all() and np.isfinite(other.cost) else None


def are_squares(constraints: ConstraintVector, point: EvaluatedPoint) -> bool:
    """Return whether there are equalities, and all look like squares, whose gradients vanish where they hold.

    Go down the gradient twice as far as it takes a linear function to reach 0. An ordinary equality g then
    becomes −g, and a square, 0.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    point : EvaluatedPoint
        A point with a small violation.
    """
    indices = np.flatnonzero(constraints.is_equality)
    return indices.size > 0 and all(_is_square(constraints, point, int(k)) for k in indices)


def _is_square(constraints: ConstraintVector, point: EvaluatedPoint, k: int) -> bool:
    frame, value = point.frame, float(point.constraints[k])
    gradient = frame.gradient(constraints.gradients(point.x, np.array([k]))[0])
    squared_slope = frame.inner(gradient, gradient)
    if not squared_slope > 0.0:
        return True
    try:
        beyond = constraints.value(frame.move((-2.0 * value / squared_slope) * gradient))[k]
    except UNDEFINED:
        return False
    return bool(np.sign(value) * beyond > -0.5 * abs(value))


def lowest_valley(
    point: EvaluatedPoint, descend: Callable[[EvaluatedPoint], Minimum[LocalLagrangian]]
) -> EvaluatedPoint:
    """Descend from a point and from others as far away as a first step may lead; return the lowest minimum.

    An equality such as ‖Ax‖² = 0 has a gradient that vanishes wherever it is satisfied. Its multiplier then
    only adds to the penalty: it cannot move the iterates along the constraint, as multipliers of other
    equalities do. On a compact manifold, where there are many minima, the first descent alone decides which
    of them is found. So look at a few more: go away from the point in a random direction, descend again, and
    keep the lowest (monotonic basin hopping; R. H. Leary, "Global optimization on funneling landscapes",
    Journal of Global Optimization 18, 2000). The manifold must have a `step_limit`.

    Parameters
    ----------
    point : EvaluatedPoint
        The point.
    descend : callable
        ``descend(start)`` minimises the augmented Lagrangian from a start.
    """
    found = descend(point)
    constraints = found.model.function.constraints
    rng = np.random.default_rng(0)  # fixed, so that repeated solves are identical
    for _ in range(_LOOKS):
        start = elsewhere(constraints, found.model.point, constraints.problem.manifold.step_limit, rng)
        if start is not None:
            found = min(found, descend(start), key=lambda minimum: minimum.model.value)
    return found.model.point
