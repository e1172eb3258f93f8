"""What a method yields to the loop that runs it: one update per step, or a stop.

Stops that several methods share are here too, and a record of progress.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from geodual.arrays import Array

from .kkt import KKT, Units
from .problem import EvaluatedPoint
from .result import SecondOrder, Status

_ENDLESS_FALL = (1e12, 10.0)  # this many units, plus this many times the first value
_LARGE = 1e-2  # a residual beyond rounding errors


@dataclass(frozen=True)
class Update:
    """What your own method yields after every step; `minimize` measures, records and shows it.

    Parameters
    ----------
    point : EvaluatedPoint
        The new point with its cost and constraints, from ``constraints.evaluate(x)``.
    multipliers : array of shape (m,)
        Multipliers λ of all m constraints, inequalities first. Negative ones of inequalities count as 0.
    step_size : float
        Step size η of Algorithm 1; NaN for other methods.
    penalty : float
        Penalty ρ of an augmented Lagrangian; NaN for other methods.
    hessian_products : int
        Number of Hessian products in this step.
    kkt : KKT, optional
        The KKT residual at (x, λ), if the method has already measured it.
    units : Units, optional
        The units of cost and constraints in which it was measured, if they differ from the given ones.
    dual_used : array of shape (m,), optional
        The λ used in the step to x. If given, the result has a `dual_average`.
    second_order : str, optional
        Whether the second-order condition "holds" or "fails" at x, if the method has already checked it.
    advice : str
        What to do if the iterations run out here; by default, raise `max_iter`.
    by : str
        What made the step, if not the method itself: a safeguard, or a second method.

    See Also
    --------
    Stop : What a method yields to give up.
    minimize : Runs the method; `docs/add_a_method.md` is a guide.

    Examples
    --------
    Riemannian gradient descent, for problems without constraints:

    >>> import numpy as np
    >>> from geodual.manifolds import Sphere
    >>> from geodual.optimize import Problem, Update, minimize
    >>> def descend(constraints, start, *, step=0.1):
    ...     point = start
    ...     while True:
    ...         gradient = point.frame.gradient(constraints.problem.gradient(point.x))
    ...         point = constraints.evaluate(point.frame.move(-step * gradient))
    ...         yield Update(point, np.zeros(0), step_size=step)
    >>> A = np.diag([1.0, 2.0, 5.0])
    >>> problem = Problem(Sphere(3), lambda x: -x @ A @ x, gradient=lambda x: -2.0 * A @ x)
    >>> result = minimize(problem, np.full(3, 3**-0.5), method=descend, step=0.15)
    >>> result.status, round(-result.cost, 6)  # the largest eigenvalue of A
    ('converged', 5.0)
    """

    point: EvaluatedPoint
    multipliers: Array
    step_size: float = math.nan
    penalty: float = math.nan
    hessian_products: int = 0
    kkt: KKT | None = None
    units: Units | None = None
    dual_used: Array | None = None
    second_order: SecondOrder | None = None
    advice: str = "raise `max_iter`, or use the default method if this is another one."
    by: str = ""

    @property
    def worst(self) -> float:
        """The largest part of the KKT residual, which must be measured already."""
        assert self.kkt is not None
        return self.kkt.worst


@dataclass(frozen=True)
class Stop:
    """What your own method yields to give up; the solve ends with its status and message.

    Parameters
    ----------
    status : str
        "infeasible", "unbounded" or "breakdown".
    message : str
        What happened, and what the user can do about it.
    blocked : bool
        Whether the method got stuck at the boundary of where cost or constraints are defined.

    See Also
    --------
    Update : What a method yields after a step.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import Problem, Stop, minimize
    >>> def picky(constraints, start):
    ...     if constraints.size == 0:
    ...         yield Stop("breakdown", "There are no constraints; use the default method.")
    >>> problem = Problem(Euclidean(2), lambda x: x @ x, gradient=lambda x: 2.0 * x)
    >>> result = minimize(problem, np.ones(2), method=picky)
    >>> result.status, result.message
    ('breakdown', 'There are no constraints; use the default method.')
    """

    status: Status
    message: str
    blocked: bool = False


def endless_fall(first: float) -> float:
    """Return the decrease of a scaled cost that counts as unbounded."""
    return _ENDLESS_FALL[0] + _ENDLESS_FALL[1] * abs(first)


class Progress:
    """The best update so far, and the number of updates without progress since."""

    def __init__(self) -> None:
        self.best: Update | None = None
        self.since_best = 0
        self._to_beat = math.inf

    def note(self, update: Update, unfinished: bool) -> None:
        """Record an update; an inner solve that continues is progress."""
        if self.best is None or update.worst < self.best.worst:
            self.best = update
        if update.worst < 0.9 * self._to_beat:
            self._to_beat, self.since_best = update.worst, 0
        elif not unfinished:
            self.since_best += 1


def no_progress(residual: float, *, blocked: bool) -> Stop:
    """Return the stop after many iterations without progress."""
    if blocked:
        why = (
            f"Stuck at the edge of where cost or constraints are defined: the best KKT residual is "
            f"{residual:.2g}. Start farther inside, or extend the functions beyond the edge."
        )
    elif residual > _LARGE:
        why = (
            f"No further progress: the best KKT residual is {residual:.2g}, which is large. A derivative may "
            "be wrong: check all with `check_gradient`. Otherwise try another start."
        )
    else:
        why = (
            f"No further progress: the best KKT residual is {residual:.2g}. Rounding errors may not allow a "
            "smaller one, or the gradients of the active constraints may be dependent. Try a larger `tol` or "
            "another start."
        )
    return Stop("breakdown", why, blocked)


def infeasible(violation: float) -> Stop:
    """Return the stop if no small step reduces the violation."""
    return Stop(
        "infeasible",
        f"No feasible point is near: no small step reduces the violation, which is {violation:.2g} (scaled). "
        "Relax the constraints or, if the problem is not convex, try another start.",
    )


UNBOUNDED = Stop(
    "unbounded",
    "The cost decreases without bound along feasible points. Add the missing constraint, or check the sign "
    "of the cost.",
)
"""The stop if the cost decreases without bound."""

RAN_AWAY = Stop(
    "breakdown",
    "The iterates ran away several times, although the penalty was raised each time. Start closer to the "
    "feasible set, or bound the cost from below.",
)
"""The stop after several inner solves that ran away."""
