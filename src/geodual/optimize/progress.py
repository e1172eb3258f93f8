"""What methods tell the loop that runs them: an update a step, or that they have to stop."""

from __future__ import annotations

from dataclasses import dataclass

from geodual.arrays import Array

from .constraint_vector import Sample
from .kkt import KKT
from .result import Status


@dataclass(frozen=True)
class Update:
    """A method's iterate after a step.

    Attributes
    ----------
    sample : Sample
        The point, with cost and constraints there.
    multipliers : array
        λ of all constraints, inequalities first.
    step_size : float
        η of Algorithm 1, or the penalty of the default method.
    inner_iterations : int
        Hessian products spent.
    kkt : KKT, optional
        The KKT residual at (x, λ), where the method knows it already.
    dual_used : array, optional
        The λ that the step to x was taken with, where the dual average is of interest.
    """

    sample: Sample
    multipliers: Array
    step_size: float
    inner_iterations: int
    kkt: KKT | None = None
    dual_used: Array | None = None


@dataclass(frozen=True)
class Stop:
    """A method's reason to give up."""

    status: Status
    message: str
