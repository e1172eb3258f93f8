"""Whether the method of multipliers makes progress, and what it says when it gives up."""

from __future__ import annotations

import math

from .updates import Stop, Update


def worst(update: Update) -> float:
    """Return the KKT residual of an update that was measured."""
    assert update.kkt is not None
    return update.kkt.worst


def endless_fall(first: float) -> float:
    """Return how far below its first value a scaled cost must fall to count as falling without bound."""
    return _ENDLESS_FALL[0] + _ENDLESS_FALL[1] * abs(first)


class Progress:
    """The best update so far, and the number of updates since then that were no progress."""

    def __init__(self) -> None:
        self.best: Update | None = None
        self.since_best = 0
        self._to_beat = math.inf

    def note(self, update: Update, unfinished: bool) -> None:
        """Note an update; an inner solve that goes on is progress."""
        if self.best is None or worst(update) < worst(self.best):
            self.best = update
        if worst(update) < 0.9 * self._to_beat:
            self._to_beat, self.since_best = worst(update), 0
        elif not unfinished:
            self.since_best += 1


def no_progress(residual: float, *, blocked: bool) -> Stop:
    """Return the stop after many iterations without progress."""
    if blocked:
        why = (
            f"Stuck at the edge of where cost or constraints are defined: the best KKT residual is "
            f"{residual:.2g}. Start further inside, or extend the functions beyond the edge."
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
    return Stop("breakdown", why)


def infeasible(violation: float) -> Stop:
    """Return the stop where no small step reduces the violation."""
    return Stop(
        "infeasible",
        f"No feasible point is near: no small step reduces the violation, which is {violation:.2g} (scaled). "
        "Relax the constraints or, if the problem is not convex, try another start.",
    )


def unbounded() -> Stop:
    """Return the stop where the cost falls for ever."""
    return Stop(
        "unbounded",
        "The cost falls without bound along feasible points. Add the missing constraint, or check the sign "
        "of the cost.",
    )


def ran_away() -> Stop:
    """Return the stop after several inner solves that ran away."""
    return Stop(
        "breakdown",
        "The iterates ran away several times, although the penalty was raised each time. Start closer to the "
        "feasible set, or bound the cost from below.",
    )


_ENDLESS_FALL = (1e12, 10.0)  # so many units, plus so many times the first value
_LARGE = 1e-2  # a residual that rounding errors do not explain
