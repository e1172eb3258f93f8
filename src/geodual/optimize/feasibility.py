"""Find a feasible point, or show that there is none nearby."""

from __future__ import annotations

import numpy as np

from .constraint_vector import ConstraintVector, EvaluatedPoint
from .kkt import Units
from .lagrangian import Lagrangian, LocalLagrangian
from .newton_cg import Minimum, newton_cg

_STATIONARY = 1e-5  # slope of a violation, relative to it, below which it counts as stationary


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
        tol=0.1 * tol,
        step_limit=constraints.problem.manifold.step_limit,
        may_escape=True,
    )


def seek_feasible(
    constraints: ConstraintVector, units: Units, start: EvaluatedPoint, tol: float
) -> Minimum[LocalLagrangian]:
    """Minimise the violation from a point; if some is left, try again from beside the minimum."""
    found = least_violation(constraints, units, start, tol)
    if is_stationary_violation(found, tol):
        # It may be a maximum or a saddle point of the violation, which a short step leaves.
        start_beside = _beside(constraints, found.model.point)
        beside = least_violation(constraints, units, start_beside, tol)
        found = min(found, beside, key=lambda minimum: minimum.model.value)
    return found


def remaining_violation(minimum: Minimum[LocalLagrangian]) -> float:
    """Return the largest scaled violation at the end of `least_violation`."""
    return float(np.abs(minimum.model.estimates).max(initial=0.0))


def is_stationary_violation(minimum: Minimum[LocalLagrangian], tol: float) -> bool:
    """Tell whether a violation is left that no small step reduces."""
    left, model = remaining_violation(minimum), minimum.model
    return left > 10.0 * tol and model.frame.norm(model.gradient) < _STATIONARY * left


def _beside(constraints: ConstraintVector, point: EvaluatedPoint) -> EvaluatedPoint:
    """Return a point a short step away in a random direction."""
    frame = point.frame
    c = frame.random(np.random.default_rng(0))
    return constraints.evaluate(frame.move((0.1 * frame.unit / frame.norm(c)) * c))
