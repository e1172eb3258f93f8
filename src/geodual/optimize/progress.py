"""What methods tell the loop that runs them: an update a step, or that they have to stop."""

from __future__ import annotations

from dataclasses import dataclass

from geodual.manifolds.base import Array, Point

from .kkt import KKT
from .result import Status


@dataclass(frozen=True)
class Update:
    """A method's iterate after a step.

    Attributes
    ----------
    x : Point
        The point.
    multipliers : array
        λ of all constraints, inequalities first.
    step_size : float
        η of Algorithm 1, or the penalty of the default method.
    inner_iterations : int
        Hessian products spent.
    measured : (float, KKT), optional
        Cost and KKT residual at (x, λ), where the method knows them already.
    dual_used : array, optional
        The λ that the step to x was taken with, where the dual average is of interest.
    """

    x: Point
    multipliers: Array
    step_size: float
    inner_iterations: int
    measured: tuple[float, KKT] | None = None
    dual_used: Array | None = None


@dataclass(frozen=True)
class Stop:
    """A method's reason to give up."""

    status: Status
    message: str
