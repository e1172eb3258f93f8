"""The state of the proximal method of multipliers between iterations, and how it changes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from geodual.arrays import Array

from .constraint_vector import EvaluatedPoint
from .schedule import FAST

PROXIMAL_WEIGHT = 1e-3  # on Hadamard manifolds, divided by 10 in each iteration


@dataclass(frozen=True)
class State:
    """A point, the multipliers y of the scaled problem, and the settings of the next iteration.

    Attributes
    ----------
    point : EvaluatedPoint
        Where the next inner problem starts.
    y : array of shape (m,)
        Multipliers of the scaled problem.
    penalty : float
        ρ.
    proximal_weight : float
        Weight of the proximal term; 0 at first, because the start is an arbitrary centre.
    inner_tol : float
        Bound on the gradient of the next inner problem.
    violation : float
        Violation of the last iterate.
    unfinished : int
        Number of inner solves in a row that ran out of iterations.
    misses : int
        Number of iterations in a row in which the violation fell too little.
    escapes, restorations, saddles : int
        Number of inner solves that ran away, of restarts after a violation that did not fall, and of saddle
        points left.
    polish_below : float
        KKT residual below which to try a polish.
    """

    point: EvaluatedPoint
    y: Array
    penalty: float = FAST.penalty
    proximal_weight: float = 0.0
    inner_tol: float = FAST.inner_tol
    violation: float = math.inf
    unfinished: int = 0
    misses: int = 0
    escapes: int = 0
    restorations: int = 0
    saddles: int = 0
    polish_below: float = math.inf

    def restored(self, point: EvaluatedPoint) -> State:
        """Start again from a point with less violation, without multipliers."""
        return replace(
            self,
            point=point,
            y=np.zeros_like(self.y),
            violation=math.inf,
            misses=0,
            restorations=self.restorations + 1,
        )

    def returned(self, feasible: EvaluatedPoint) -> State:
        """Go back to a feasible point, with so much penalty that the way down from it stays near feasibility.

        With multipliers of 0 the augmented Lagrangian is the cost there, and no later iterate can exceed it.
        """
        return replace(
            self.restored(feasible),
            penalty=FAST.penalty * 100.0 ** (self.restorations + 1),
            proximal_weight=0.0,
            inner_tol=FAST.inner_tol,
        )

    def beside_saddle(self, point: EvaluatedPoint, y: Array) -> State:
        """Go on from a point beside a saddle point, with the multipliers found there."""
        return replace(
            self,
            point=point,
            y=y,
            proximal_weight=0.0,
            inner_tol=FAST.inner_tol if y.size else self.inner_tol,
            violation=math.inf,
            polish_below=math.inf,
            saddles=self.saddles + 1,
        )

    def after_escape(self, *, may_weigh: bool) -> State:
        """Raise the penalty, which was too weak to hold the iterates, and the proximal weight if allowed."""
        return replace(
            self,
            penalty=100.0 * self.penalty,
            proximal_weight=10.0 * max(self.proximal_weight, PROXIMAL_WEIGHT) if may_weigh else 0.0,
            escapes=self.escapes + 1,
        )
