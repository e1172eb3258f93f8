"""Safeguards: stages of an iteration that help if the plain method of multipliers would fail.

Each stage takes the state of an iteration and returns it, changed if the stage acted. In order:

- escape: a weak penalty may let the iterates run to infinity (Birgin and Martínez 2014).
- relaxation: kinks of terms may be so sharp that inner solves do not end; a smaller penalty, and so a wider
  Moreau envelope, smooths them (Rockafellar 1976: the method converges for every penalty).
- polish: near a solution, the plain method converges linearly, Newton's method on the KKT system
  quadratically (Bertsekas 1982).
- saddle: the method may converge to a saddle point or a maximum; directions of negative curvature lead away
  (Curtis and Robinson 2019).
- restoration: the violation may not decrease, because no feasible point is near (Wächter and Biegler 2006,
  Section 3.3).
- patience: rounding errors may allow no further progress.
- second method: if multipliers do not exist, a barrier may still lead to the solution.

References
----------
D. P. Bertsekas, *Constrained Optimization and Lagrange Multiplier Methods*, Academic Press, 1982.

E. G. Birgin, J. M. Martínez, *Practical Augmented Lagrangian Methods for Constrained Optimization*, SIAM,
2014.

R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in convex
programming", Mathematics of Operations Research 1(2), 1976.

F. E. Curtis, D. P. Robinson, "Exploiting negative curvature in deterministic and stochastic optimization",
Mathematical Programming 176, 2019.

A. Wächter, L. T. Biegler, "On the implementation of an interior-point filter line-search algorithm for
large-scale nonlinear programming", Mathematical Programming 106, 2006.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from geodual.arrays import Array

from .. import active_set, feasibility, second_order
from ..interior_point import interior_point
from ..kkt import Units
from ..lagrangian import LocalLagrangian
from ..newton_cg import Minimum
from ..problem import ConstraintVector, EvaluatedPoint
from ..updates import RAN_AWAY, UNBOUNDED, Progress, Stop, Update, infeasible, no_progress
from .state import FAST, Solve, State, Turn

_ESCAPES = 5  # inner solves that may run away; by then the penalty has grown by 10¹⁰
_GREED = 10.0  # growth of the scaled violation in an inner solve that is too much
_SHARP = 4  # consecutive unfinished inner solves after which kinks count as too sharp
_RELAXATIONS = 3  # a thousandfold smaller penalty; after that it only grows
_POLISH_AGAIN = 0.1  # after a failed polish, retry once the residual has decreased to this share
_SADDLES = 10  # saddle points that a solve may leave; each costs less than the last, so there are no cycles
_MISSES = 3  # consecutive iterations without a decrease of the violation, at a thousandfold penalty
_RETURNS = 4  # returns to a feasible point; by then the penalty has grown by 10⁸
_PENALTY_LIMIT = 1e16  # beyond it, rounding errors of the violation, 10⁻¹⁶, exceed the cost
_SECOND_STEPS = 150  # of the second method; if it succeeds, it takes 30 to 60
_PATIENCE = 15  # iterations without progress, in which the penalty may grow by 10¹⁵


def escape(solve: Solve, turn: Turn) -> Turn:
    """Reject an inner solve that ran away or traded feasibility for cost; raise the penalty."""
    minimum, state = turn.minimum, turn.state
    if not (minimum.status == "runaway" or is_greedy(minimum.model, state.point)):
        return turn
    outcome = _after_escape(solve, state, minimum)
    if isinstance(outcome, State):
        return turn.left(outcome)
    last = solve.update(minimum.model.point, state.y, state.penalty, minimum.n_products, "escape")
    return turn.ended(outcome, solve.in_refreshed_units(last))


def _after_escape(solve: Solve, state: State, minimum: Minimum[LocalLagrangian]) -> State | Stop:
    """Stop if the problem is unbounded; otherwise raise the penalty, which was too weak."""
    escaped, back = minimum.model.point, minimum
    if solve.constraints.size:
        back = feasibility.least_violation(solve.constraints, solve.units, escaped, solve.tol)
    feasible = back.model
    # Unbounded: the decrease had no end, and a feasible point near the escaped one keeps at least half of it
    # and is a new minimum. A decrease that was only greedy may end soon.
    endless = minimum.status == "runaway"
    satisfied = feasibility.remaining_violation(back) <= math.sqrt(solve.tol)
    fall, kept = (state.point.cost - point.cost for point in (escaped, feasible.point))
    if endless and satisfied and kept > 0.5 * fall > 0.0 and feasible.point.cost < solve.start.cost:
        return UNBOUNDED
    if state.escapes >= _ESCAPES:
        return RAN_AWAY
    return state.after_escape(may_weigh=solve.manifold.closed_form_log)


def is_greedy(model: LocalLagrangian, start: EvaluatedPoint) -> bool:
    """Return whether an inner solve traded feasibility for cost, going so far that no way leads back.

    This happens if the cost decreases faster than the penalty grows, so not on a compact manifold.
    """
    constraints, weights = model.function.constraints, model.function.weights
    if not constraints.problem.manifold.hadamard:
        return False
    there, here = (
        np.abs(weights * (point.constraints - constraints.prox(point.constraints, 0.0))).max(initial=0.0)
        for point in (model.point, start)
    )
    return bool(there > _GREED * max(1.0, here))


def relaxation(solve: Solve, turn: Turn) -> Turn:
    """Reduce the penalty if inner solves with terms do not end."""
    state, unfinished = turn.state, turn.minimum.status == "max_iterations"
    if not (unfinished and solve.constraints.functions and state.relaxations < _RELAXATIONS):
        return turn
    if (state.unfinished + 1) % _SHARP:
        return turn
    return replace(turn, state=state.relaxed())


def polish(solve: Solve, turn: Turn) -> Turn:
    """Take Newton steps on the active constraints, which converge quadratically near a solution."""
    state, update = turn.state, turn.known
    limit = active_set.polish_limit(solve.constraints, state.point)
    if not solve.tol < update.worst < min(state.polish_below, limit):
        return turn
    assert update.kkt is not None
    start = active_set.Polished(state.point, state.y, update.kkt, update.hessian_products)
    found = active_set.polish(solve.constraints, solve.units, start, state.penalty, solve.tol)
    if found is not start:
        update = replace(
            update,
            point=found.point,
            multipliers=solve.units.unscaled(found.y),
            hessian_products=found.n_products,
            kkt=found.kkt,
            by="polish",
        )
    state = replace(state, point=found.point, polish_below=_POLISH_AGAIN * found.kkt.worst)
    return replace(turn, update=update, state=state)


def saddle(solve: Solve, turn: Turn) -> Turn:
    """Check the second-order condition at a KKT point; if it fails, continue next to it."""
    update, state = turn.known, turn.state
    if update.worst > solve.tol:
        return turn
    found = second_order.judge(solve.constraints, solve.units, update.point, update.multipliers)
    if found.lower is not None and state.saddles < _SADDLES:
        solve.progress = Progress()
        return turn.left(state.beside_saddle(found.lower, solve.units.scaled(update.multipliers)))
    return replace(turn, update=replace(update, second_order=found.verdict), is_over=True)


def restoration(solve: Solve, turn: Turn) -> Turn:
    """If the violation does not decrease, seek a feasible point; stop as infeasible if none is near."""
    state = turn.state
    # With terms, the first penalty may be tiny and take many iterations to grow. This is not a standstill.
    grows = state.misses > 0 and state.penalty < FAST.penalty
    solve.progress.note(turn.known, unfinished=grows)
    grown = state.penalty >= 10.0**_MISSES * FAST.penalty
    if not (state.misses >= _MISSES and grown and state.restorations < _RETURNS):
        return turn
    minimum = feasibility.seek_feasible(solve.constraints, solve.units, state.point, solve.tol)
    point = minimum.model.point
    if not feasibility.is_stationary_violation(minimum, solve.tol):
        return replace(turn, state=state.restored(point))
    if solve.feasible is not None:
        return replace(turn, state=state.returned(solve.feasible))
    zeros = np.zeros_like(state.y)
    update = solve.update(point, zeros, state.penalty, minimum.n_products, "restoration")
    return turn.ended(infeasible(feasibility.remaining_violation(minimum)), update)


def patience(solve: Solve, turn: Turn) -> Turn:
    """Stop at the best update after many iterations without progress."""
    if solve.progress.since_best < _PATIENCE and turn.state.penalty <= _PENALTY_LIMIT:
        return turn
    best: Update = solve.progress.best or turn.known
    return turn.ended(no_progress(best.worst, blocked=turn.minimum.status == "blocked"), best)


def second_method(
    updates: Iterator[Update | Stop],
    constraints: ConstraintVector,
    start: EvaluatedPoint,
    *,
    units: Units,
    tol: float,
    multipliers: Array,
) -> Iterator[Update | Stop]:
    """Pass on updates; if they end in a breakdown or as infeasible, try the interior-point method.

    It starts only after the first method has given up, so that no solve pays for both without need. Its
    updates are marked as its own. If it does not reach the tolerance either, the best update of both methods
    comes last, followed by a stop.
    """
    progress, last, blocked = Progress(), None, False
    applies = constraints.n_inequalities > 0 and not constraints.functions

    def tries() -> Iterator[Update]:
        nonlocal blocked
        found = interior_point(constraints, start, units=units, tol=tol, multipliers=multipliers)
        for update in islice(found, _SECOND_STEPS):
            if isinstance(update, Stop):
                blocked = update.blocked
                return
            # The update before a stop may have no residual.
            if update.kkt is None or not math.isfinite(update.worst):
                return
            own = replace(update, by="interior-point")
            progress.note(own, unfinished=False)
            yield own

    for update in updates:
        if isinstance(update, Update):
            last = update  # a method yields its best update before it gives up
        elif last is not None and update.status in ("breakdown", "infeasible") and applies:
            progress.note(last, unfinished=False)
            yield from tries()
            # "infeasible" goes with the point of least violation; otherwise the best point is most useful.
            best = last if update.status == "infeasible" else progress.best or last
            yield best
            if best is not last and update is not RAN_AWAY:  # its message states another point's residual
                update = no_progress(best.worst, blocked=blocked or update.blocked)
        yield update
