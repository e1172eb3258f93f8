"""What a method tells the loop that runs it: one update per step, or a reason to stop."""

from __future__ import annotations

import math
from dataclasses import dataclass

from geodual.arrays import Array

from .constraint_vector import EvaluatedPoint
from .kkt import KKT
from .result import SecondOrder, Status


@dataclass(frozen=True)
class Update:
    """What a method of your own yields after every step; `minimize` measures, records and shows it.

    Parameters
    ----------
    point : EvaluatedPoint
        The new point with its cost and constraints, from ``constraints.evaluate(x)``.
    multipliers : array of shape (m,)
        λ of all m constraints, inequalities first. Negative ones of inequalities count as 0.
    step_size : float
        η of Algorithm 1; NaN for a method without one.
    penalty : float
        ρ of an augmented Lagrangian; NaN for a method without one.
    hessian_products : int
        Number of Hessian products in this step.
    kkt : KKT, optional
        The KKT residual at (x, λ), if the method has measured it already.
    dual_used : array of shape (m,), optional
        The λ that the step to x used. If given, the result has a `dual_average`.
    second_order : str, optional
        Whether the second-order condition "holds" or "fails" at x, if the method has checked it already.
    advice : str
        What to do if the budget of iterations runs out here; by default, to raise it.

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
    dual_used: Array | None = None
    second_order: SecondOrder | None = None
    advice: str = "raise `max_iter`, or use the default method if this is another one."


@dataclass(frozen=True)
class Stop:
    """What a method of your own yields to give up; the solve ends with its status and message.

    Parameters
    ----------
    status : str
        "infeasible", "unbounded" or "breakdown".
    message : str
        What happened, and what the user can do about it.

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
