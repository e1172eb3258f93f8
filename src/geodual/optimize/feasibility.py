"""Search for a feasible point: minimize the violation from several points.

This finds one, or shows that none is near.
"""

from __future__ import annotations

import numpy as np

from .constraint import UNDEFINED
from .kkt import Units
from .lagrangian import Lagrangian, LocalLagrangian
from .newton_cg import Minimum, newton_cg
from .problem import ConstraintVector, EvaluatedPoint

_LENGTHS = 0.1 * 3.0 ** np.arange(5)  # how far away to search for feasible points
_DIRECTIONS = 4  # random directions per length
_STATIONARY = 1e-5  # slope of a violation, relative to its size, below which it counts as stationary


def least_violation(
    constraints: ConstraintVector, units: Units, start: EvaluatedPoint, tol: float
) -> Minimum[LocalLagrangian]:
    """Minimize half the squared (scaled) violation from a point."""
    objective = Lagrangian(
        constraints,
        np.zeros(constraints.size),
        cost_weight=0.0,
        weights=1.0 / units.constraints,
        penalty=1.0,  # so the value is half the squared violation, and the estimates are the violation
    )
    return newton_cg(
        objective,
        objective.at(start),
        tol=0.1 * tol / max(start.frame.unit, 1.0),  # for large lengths, slopes are small
        step_limit=constraints.problem.manifold.step_limit,
        may_escape=True,
    )


def seek_feasible(
    constraints: ConstraintVector, units: Units, start: EvaluatedPoint, tol: float
) -> Minimum[LocalLagrangian]:
    """Minimize the violation from a point; while some is left, retry from other points."""
    found = least_violation(constraints, units, start, tol)
    rng = np.random.default_rng(0)
    for length in np.tile(_LENGTHS, _DIRECTIONS):
        if not is_stationary_violation(found, tol):
            break
        # Start close by: the point may be a maximum or a saddle point of the violation. Then move farther and
        # farther away, because the feasible set may be in another valley.
        other = elsewhere(constraints, found.model.point, float(length), rng)
        if other is not None:
            again = least_violation(constraints, units, other, tol)
            found = min(found, again, key=lambda minimum: minimum.model.value)
    return found


def remaining_violation(minimum: Minimum[LocalLagrangian]) -> float:
    """Return the largest scaled violation at the end of `least_violation`."""
    return float(np.abs(minimum.model.estimates).max(initial=0.0))


def is_stationary_violation(minimum: Minimum[LocalLagrangian], tol: float) -> bool:
    """Return whether a violation is left that no small step, relative to `frame.unit`, reduces."""
    left, model = remaining_violation(minimum), minimum.model
    slope = model.frame.norm(model.gradient) * max(model.frame.unit, 1.0)
    return left > 10.0 * tol and slope < _STATIONARY * left


def elsewhere(
    constraints: ConstraintVector, point: EvaluatedPoint, length: float, rng: np.random.Generator
) -> EvaluatedPoint | None:
    """Return a point at a distance in a random direction; None if the functions are not defined there."""
    frame = point.frame
    c = frame.random(rng)
    try:
        other = constraints.evaluate(frame.move((length * frame.unit / frame.norm(c)) * c))
    except UNDEFINED:
        return None
    return other if np.isfinite(other.constraints).all() and np.isfinite(other.cost) else None
