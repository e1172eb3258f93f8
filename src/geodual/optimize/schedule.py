"""How fast the method of multipliers raises its penalty, and how exactly it solves its inner problems."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from .constraint_vector import ConstraintVector

_CAREFUL_ABOVE = 1e-4  # violation above which the choice between valleys may still be open


@dataclass(frozen=True)
class Schedule:
    """The settings of the outer iteration, for a problem scaled to unit size.

    Attributes
    ----------
    penalty : float
        The first ρ. Larger ones make inner problems harder, smaller ones updates of multipliers slower.
    growth : float
        Factor by which the penalty grows after an iteration that reduced the violation too little.
    fall : float
        Share of the last violation that the next one may have at most.
    inner_tol : float
        Bound on the gradient of the first inner problem.
    looks : bool
        Whether to look for lower valleys where multipliers cannot lead to them; see `valleys`.
    """

    penalty: float
    growth: float
    fall: float
    inner_tol: float
    looks: bool = False

    def at(self, violation: float) -> Schedule:
        """Return the schedule to follow from a violation on: near feasibility the fast one."""
        return self if violation > _CAREFUL_ABOVE else FAST


FAST = Schedule(penalty=3.0, growth=10.0, fall=0.25, inner_tol=0.03)  # early multipliers deserve no better
CAREFUL = Schedule(penalty=0.3, growth=3.3, fall=0.8, inner_tol=1e-3, looks=True)


def choose_schedule(constraints: ConstraintVector) -> Schedule:
    """Choose the careful schedule where it decides which of many minima is found.

    Only constants are convex on a whole compact manifold, and equalities leave a thin set of feasible points
    there. A small penalty that grows slowly then leads to lower minima, for about twice the work. With
    inequalities alone the minima are mostly the same.
    """
    manifold = constraints.problem.manifold
    if constraints.n_inequalities == constraints.size or manifold.hadamard:
        return FAST
    # Without a longest step the manifold is not compact, and there is no telling how far to look.
    return replace(CAREFUL, looks=math.isfinite(manifold.step_limit))
