"""The iteration: its stages in order; some of them are safeguards.

Each iteration minimizes the augmented Lagrangian plus a small proximal term by Newton-CG, inexactly at first,
and then updates the multipliers. The problem is scaled by its sizes at the start, so that the constants suit
every problem (Rockafellar 1976; see `minimize`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.manifolds.base import check_size

from ..checks import check_positive
from ..kkt import Units, term_share
from ..lagrangian import LocalLagrangian
from ..newton_cg import Minimum, newton_cg
from ..problem import ConstraintVector, EvaluatedPoint
from ..quasi_newton import limited_memory
from ..updates import Stop, Update, endless_fall
from . import safeguards
from .state import FAST, PROXIMAL_WEIGHT, Solve, State, Turn, choose_schedule

_SMALL_STEPS = 25  # quasi-Newton steps that count as one Newton iteration, which takes as many gradients
_UNFINISHED = 20  # consecutive inner solves that may run out of iterations, as in a long curved valley
_MANY = 500  # number of constraints above which single gradients dominate the time (measured)


def proximal_lagrangian(
    constraints: ConstraintVector,
    start: EvaluatedPoint,
    *,
    units: Units,
    tol: float,
    multipliers: Array,
    watch: Callable[[LocalLagrangian], object],
    stop: Callable[[LocalLagrangian], bool],
    penalty: float | None = None,
    inner_iterations: int = 40,
) -> Iterator[Update | Stop]:
    """Run the proximal method of multipliers, aiming at a KKT residual of `tol`.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    start : EvaluatedPoint
        The starting point; it may be infeasible.
    units : Units
        Units of cost and constraints.
    tol : float
        The KKT residual to reach.
    multipliers : array of shape (m,)
        Multipliers to start from.
    watch, stop : callable
        Called with the function at every inner step; the inner solve ends if `stop` returns True.
    penalty : float, optional
        The first ρ, for the scaled problem; see `choose_schedule` for the default.
    inner_iterations : int
        Newton iterations per inner solve; a solve that needs more continues in the next iteration.
    """
    check_positive("penalty", penalty)
    check_size(inner_iterations, "inner_iterations")
    # Given multipliers mean that a minimum has been chosen already.
    schedule = FAST if multipliers.any() else choose_schedule(constraints)
    if penalty is not None:
        schedule = replace(schedule, penalty=penalty)
    elif constraints.functions and not constraints.tail.start:
        # With a larger penalty an envelope becomes a kink again: its bend is narrower than the size of the
        # point. But constraints need that penalty.
        share = term_share(constraints, start, units)
        schedule = replace(schedule, penalty=share * schedule.penalty)
    solve = Solve(constraints, start, units, tol, inner_iterations, watch, stop, schedule)
    updates = iterate(solve, units.scaled(multipliers))
    return safeguards.second_method(
        updates, constraints, start, units=units, tol=tol, multipliers=multipliers
    )


def iterate(solve: Solve, y: Array) -> Iterator[Update | Stop]:
    """Yield updates, beginning with multipliers of the scaled problem."""
    # Without constraints, there are no multipliers to update: solve the first problem to the end.
    inner_tol = solve.schedule.inner_tol if y.size else 0.5 * solve.scaled_tol
    state = State(solve.start, y, solve.schedule.penalty, inner_tol=inner_tol)
    while True:
        turn = Turn(state, minimize(solve, state))
        for stage in STAGES:
            turn = stage(solve, turn)
            if turn.is_over:
                break
        if turn.shows:
            yield turn.known
        if turn.stop is not None:
            yield turn.stop
            return
        state = turn.state


def minimize(solve: Solve, state: State) -> Minimum[LocalLagrangian]:
    """Minimize the augmented Lagrangian with a proximal term from a state."""
    # If quasi-Newton steps do not finish a problem, it is too ill-conditioned for them.
    small = prefers_quasi_newton(solve.constraints) and not state.unfinished
    terms = {"penalty": state.penalty, "proximal_weight": state.proximal_weight, "center": state.point.x}
    objective = solve.units.lagrangian(solve.constraints, state.y, **terms)
    minimum = _descend(solve, objective.at(state.point), state.inner_tol, small)
    if minimum.status != "converged" or minimum.model.violation > 0.0:
        return minimum
    # If no constraint matters, the next problem would be this one again: solve it to the end.
    end = _descend(solve, minimum.model, 0.5 * solve.scaled_tol, small)
    return replace(end, n_products=minimum.n_products + end.n_products)


def _descend(solve: Solve, start: LocalLagrangian, tol: float, small: bool) -> Minimum[LocalLagrangian]:
    """Minimize the augmented Lagrangian from a point, within the budget of an inner solve."""
    first = solve.start.cost / solve.units.cost
    settings: dict[str, Any] = {
        "tol": tol,
        "step_limit": solve.manifold.step_limit,
        # Measure the decrease from the start of the solve, because iterates may be far above it.
        "fall_limit": endless_fall(first) + max(start.value - first, 0.0),
        "may_escape": True,
        "watch": solve.watch,
        "stop": solve.stop,
    }
    if small:
        steps = solve.inner_iterations * _SMALL_STEPS
        return limited_memory(start.function, start, max_iter=steps, **settings)
    settings |= {"max_iter": solve.inner_iterations, "prepare": solve.hessian.prepare}
    before = solve.hessian.n_products
    minimum = newton_cg(start.function, start, **settings)
    more = solve.hessian.n_products - before
    return replace(minimum, n_products=minimum.n_products + more) if more else minimum


def prefers_quasi_newton(constraints: ConstraintVector) -> bool:
    """Return whether `limited_memory` suits the augmented Lagrangian of a problem better than `newton_cg`.

    It does if a block of many constraints lacks `directional` and the cost lacks second derivatives. Every
    point at which `newton_cg` computes Hessian products then takes one gradient per constraint, and every
    product takes one more gradient of the cost. If only second derivatives are missing, `newton_cg` with
    differences of gradients is as fast or faster.
    """
    problem = constraints.problem
    if problem.hessian_product is not None:
        return False
    sizes = map(len, constraints.split(np.zeros(constraints.size)))
    return any(b.directional is None and size >= _MANY for b, size in zip(problem.blocks, sizes, strict=True))


def multipliers(solve: Solve, turn: Turn) -> Turn:
    """Take the multipliers of the inner minimum, unless the inner solve continues in the next iteration."""
    state, model = turn.state, turn.minimum.model
    spent = (state.penalty, turn.minimum.n_products, state.by)
    update = solve.update(model.point, model.estimates, *spent, model.egrad)
    unfinished = turn.minimum.status == "max_iterations" and state.unfinished < _UNFINISHED
    # Continue with an apparent certificate: it must hold in the units of its own point.
    goes_on = unfinished and update.worst > solve.tol
    if goes_on:
        solve.note_feasible(model.point)
        solve.progress.note(update, unfinished=True)
        state = replace(state, point=model.point, unfinished=state.unfinished + 1)
    else:
        state = replace(state, point=model.point, y=model.estimates, unfinished=0, by="")
    return replace(turn, state=state, update=update, violation=model.violation, is_over=goes_on)


def penalty(solve: Solve, turn: Turn) -> Turn:
    """Raise the penalty if the violation decreases too little; choose the next inner tolerance."""
    update = solve.in_refreshed_units(turn.known)
    state, violation = turn.state, turn.violation
    schedule = solve.schedule.at(violation)
    missed = violation > schedule.fall * state.violation and not is_feasible(update, solve.tol)
    state = replace(
        state,
        y=solve.units.scaled(update.multipliers),
        penalty=state.penalty * (schedule.growth if missed else 1.0),
        proximal_weight=next_proximal_weight(solve, state),
        inner_tol=_next_inner_tol(solve, state, violation),
        violation=violation,
        misses=state.misses + 1 if missed else 0,
    )
    solve.note_feasible(update.point)
    return replace(turn, update=update, state=state)


def is_feasible(update: Update, tol: float) -> bool:
    """Return whether feasibility and complementarity are within the tolerance."""
    assert update.kkt is not None
    return max(update.kkt.feasibility, update.kkt.complementarity) <= tol


def next_proximal_weight(solve: Solve, state: State) -> float:
    """Return the weight of the next proximal term; 0 if there is none."""
    # On other manifolds the distance may not be smooth, and in flat valleys of symmetries it slows the end.
    if not (solve.manifold.hadamard and solve.manifold.closed_form_log):
        return 0.0
    return 0.1 * state.proximal_weight if state.proximal_weight else PROXIMAL_WEIGHT


def _next_inner_tol(solve: Solve, state: State, violation: float) -> float:
    # A violation of 0 says little about the next iterate: tighten the tolerance at most a hundredfold.
    wanted = max(0.1 * violation, 0.01 * state.inner_tol)
    return max(0.1 * solve.scaled_tol, min(state.inner_tol, wanted))


STAGES: tuple[Callable[[Solve, Turn], Turn], ...] = (
    safeguards.escape,
    safeguards.relaxation,
    multipliers,
    safeguards.polish,
    penalty,
    safeguards.saddle,
    safeguards.restoration,
    safeguards.patience,
)
"""The stages of an iteration after its inner solve. `second_method` comes after the last iteration."""
