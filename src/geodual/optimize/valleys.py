"""Look for a lower valley where the method of multipliers has no means to choose one.

An equality such as ‖Ax‖² = 0 has a gradient that vanishes wherever it is satisfied. Its multiplier then only
adds to the penalty: it cannot move the iterates along the constraint, as multipliers of other equalities do.
On a compact manifold, where there are many minima, the first descent alone decides which of them is found. So
look at a few more: go away from the point in a random direction, descend again, and keep the lowest
(monotonic basin hopping; R. H. Leary, "Global optimization on funneling landscapes", Journal of Global
Optimization 18, 2000).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .constraint import UNDEFINED
from .constraint_vector import ConstraintVector, EvaluatedPoint
from .feasibility import elsewhere
from .lagrangian import LocalLagrangian
from .newton_cg import Minimum

LOOK_BELOW = 1e-2  # scaled violation at which to look: the valley shows, and little work is lost
_LOOKS = 6  # descents from other points


def are_squares(constraints: ConstraintVector, point: EvaluatedPoint) -> bool:
    """Tell whether there are equalities, and all look like squares, whose gradients vanish where they hold.

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

    The manifold must have a `step_limit`.

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
