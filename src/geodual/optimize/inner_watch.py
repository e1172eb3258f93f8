"""What happens at the steps within an iteration: they are printed and shown, and the solve may stop there."""

from __future__ import annotations

import time
from collections.abc import Callable

from .constraint_vector import ConstraintVector, EvaluatedPoint
from .kkt import Units, measure_feasibility
from .newton_cg import LocalModel
from .result import InnerIterate


class InnerWatch:
    """The `watch` of inner minimisations: methods pass it on to `newton_cg`, which calls it at every step.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    units : Units
        Sizes of cost and constraints.
    deadline : float
        Time of `time.perf_counter` at which to stop.
    callback : callable, optional
        Called with an `InnerIterate`; the solve stops if it returns True.
    show : callable, optional
        Called with the line to print.

    Attributes
    ----------
    stopped : bool
        Whether the callback has asked to stop.
    """

    def __init__(
        self,
        constraints: ConstraintVector,
        units: Units,
        deadline: float,
        callback: Callable[[InnerIterate], object] | None = None,
        show: Callable[[str], None] | None = None,
    ) -> None:
        self._constraints, self._units, self._deadline = constraints, units, deadline
        self._callback, self._show = callback, show
        self.stopped = False
        self.begin(1)

    def begin(self, iteration: int) -> None:
        """Count steps from 0 again, in another iteration."""
        self._iteration, self._inner = iteration, 0

    def __call__(self, model: LocalModel) -> None:
        """Print a step and show it to the callback, unless the solve is over."""
        if (self._callback is None and self._show is None) or self.is_over():
            return
        iterate = self._observe(model)
        self._inner += 1
        if self._show is not None:
            self._show(str(iterate))
        self.stopped = self._callback is not None and bool(self._callback(iterate))

    def is_over(self, _: object = None) -> bool:
        """Return whether the callback has asked to stop or the time is over: the `stop` of minimisations."""
        return self.stopped or time.perf_counter() > self._deadline

    def _observe(self, model: LocalModel) -> InnerIterate:
        point = getattr(model, "point", None)
        if not isinstance(point, EvaluatedPoint):  # objectives other than a `Lagrangian` need not know it
            point = self._constraints.evaluate(model.frame.point)
        return InnerIterate(
            self._iteration,
            self._inner,
            point.x,
            point.cost,
            measure_feasibility(self._constraints, point, self._units),
            model.value,
            model.frame.norm(model.gradient),
        )
