"""What a method tells the loop that runs it: one update per step, or that it has to stop."""

from __future__ import annotations

import math
from dataclasses import dataclass

from geodual.arrays import Array

from .constraint_vector import EvaluatedPoint
from .kkt import KKT
from .result import Status


@dataclass(frozen=True)
class Update:
    """A method's iterate after a step: what `minimize` measures, records and shows.

    Attributes
    ----------
    point : EvaluatedPoint
        The point, with cost and constraints there.
    multipliers : array
        λ of all constraints, inequalities first.
    step_size : float
        η of Algorithm 1; NaN for a method without one.
    penalty : float
        ρ of an augmented Lagrangian; NaN for a method without one.
    hessian_products : int
        Hessian products spent in this step.
    kkt : KKT, optional
        The KKT residual at (x, λ), if the method has measured it already.
    dual_used : array, optional
        The λ that the step to x was taken with. Methods that give it get a `dual_average` in the result.
    """

    point: EvaluatedPoint
    multipliers: Array
    step_size: float = math.nan
    penalty: float = math.nan
    hessian_products: int = 0
    kkt: KKT | None = None
    dual_used: Array | None = None


@dataclass(frozen=True)
class Stop:
    """A method's reason to give up.

    Attributes
    ----------
    status : str
        "infeasible", "unbounded" or "breakdown".
    message : str
        What happened and what the user can do about it.
    """

    status: Status
    message: str
