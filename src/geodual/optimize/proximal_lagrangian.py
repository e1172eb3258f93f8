"""The default method: Rockafellar's proximal method of multipliers on a manifold, with a Newton polish.

Each iteration minimises the augmented Lagrangian plus a small proximal term by Newton-CG, inexactly at
first, and then updates the multipliers. The problem is scaled by its sizes at the start, so that the
constants below mean the same for every problem (Rockafellar 1976; see `minimize`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from geodual.arrays import Array
from geodual.manifolds.base import check_size

from . import feasibility
from .active_set import Polished, polish, polish_limit
from .constraint_vector import ConstraintVector, EvaluatedPoint
from .kkt import Units, measure_feasibility, measure_kkt, refreshed_units
from .lagrangian import Lagrangian, LocalLagrangian
from .multiplier_progress import Progress, endless_fall, infeasible, no_progress, ran_away, unbounded, worst
from .multiplier_state import PROXIMAL_WEIGHT, State
from .newton_cg import Minimum, newton_cg
from .quasi_newton import is_preferable, limited_memory
from .schedule import FAST, Schedule, choose_schedule
from .second_order import judge
from .second_try import with_second_try
from .start_checks import check_positive
from .updates import Stop, Update
from .valleys import LOOK_BELOW, are_squares, lowest_valley

_PENALTY_LIMIT = 1e16  # beyond it rounding errors of the violation swamp the cost
_PATIENCE = 15  # iterations without progress before giving up
_SMALL_STEPS = 25  # quasi-Newton steps that count as one Newton iteration
_UNFINISHED = 20  # inner solves in a row that may run out of iterations
_SADDLES = 10  # saddle points that a solve may leave
_RETURNS = 4  # times to go back to a feasible point, each with more penalty
_POLISH_AGAIN = 0.1  # after a failed polish, try again once the residual has fallen to this share

_Minimum = Minimum[LocalLagrangian]


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
        The start; it may be infeasible.
    units : Units
        Sizes of cost and constraints.
    tol : float
        The KKT residual to reach.
    multipliers : array of shape (m,)
        Multipliers to start from.
    watch, stop : callable
        Called with the function at every inner step; the inner solve ends if `stop` returns True.
    penalty : float, optional
        The first ρ, for the scaled problem; see `choose_schedule` for the default.
    inner_iterations : int
        Newton iterations per inner solve; one that needs more goes on in the next iteration.
    """
    check_positive("penalty", penalty)
    check_size(inner_iterations, "inner_iterations")
    # Multipliers to start from mean that the valley has been chosen.
    schedule = FAST if multipliers.any() else choose_schedule(constraints)
    if penalty is not None:
        schedule = replace(schedule, penalty=penalty)
    method = _ProximalLagrangian(constraints, units, tol, inner_iterations, watch, stop, schedule)
    updates = method.iterate(start, units.scaled(multipliers))
    return with_second_try(updates, constraints, start, units=units, tol=tol, multipliers=multipliers)


class _ProximalLagrangian:
    def __init__(
        self,
        constraints: ConstraintVector,
        units: Units,
        tol: float,
        inner_iterations: int,
        watch: Callable[[LocalLagrangian], object],
        stop: Callable[[LocalLagrangian], bool],
        schedule: Schedule,
    ) -> None:
        self.constraints, self.units, self.tol = constraints, units, tol
        self.inner_iterations, self.watch, self.stop = inner_iterations, watch, stop
        self.schedule = schedule
        self.manifold = constraints.problem.manifold
        self.gradients_only = is_preferable(constraints)
        self.feasible: EvaluatedPoint | None = None  # the feasible point of lowest cost so far

    @property
    def scaled_tol(self) -> float:
        """The tolerance for the gradient of the scaled problem."""
        return self.tol * self.units.cost_unit / self.units.cost

    def iterate(self, start: EvaluatedPoint, y: Array) -> Iterator[Update | Stop]:
        # Without constraints there are no multipliers to update: solve the first problem to the end.
        inner_tol = self.schedule.inner_tol if y.size else 0.5 * self.scaled_tol
        state = State(start, y, self.schedule.penalty, inner_tol=inner_tol)
        self._note_feasible(start)
        self.start = start
        progress = Progress()
        while True:
            minimum = self._minimise(state)
            if minimum.status == "runaway" or feasibility.is_greedy(minimum.model, state.point):
                outcome = self._after_escape(state, minimum)
                if isinstance(outcome, Stop):
                    last = self._update(minimum.model.point, state.y, state.penalty, minimum.n_products)
                    yield self._in_refreshed_units(last)
                    yield outcome
                    return
                state = outcome
                continue
            update, state = self._advance(state, minimum)
            self._note_feasible(update.point)
            if worst(update) <= self.tol:
                update, left = self._judged(state, update)
                if left is not None:
                    state, progress = left, Progress()
                    continue
            yield update
            progress.note(update, state.unfinished > 0)
            state = self._in_lowest_valley(state)
            # A growing penalty does not reduce the violation: perhaps no feasible point exists.
            if state.misses >= 3 and state.penalty >= 1e3 * FAST.penalty and state.restorations < _RETURNS:
                restored = self._restore(state)
                if isinstance(restored, tuple):
                    yield from restored
                    return
                state = restored
            if progress.since_best >= _PATIENCE or state.penalty > _PENALTY_LIMIT:
                best = progress.best or update
                yield best
                yield no_progress(worst(best), blocked=minimum.status == "blocked")
                return

    def _in_lowest_valley(self, state: State) -> State:
        """Look for a lower valley, once, where multipliers cannot lead to it."""
        if not (self.schedule.looks and state.violation <= LOOK_BELOW):
            return state
        self.schedule = replace(self.schedule, looks=False)
        if not are_squares(self.constraints, state.point):
            return state
        self.schedule = FAST  # because the valley will have been chosen
        return replace(
            state, point=lowest_valley(state.point, lambda x: self._minimise(replace(state, point=x)))
        )

    def _judged(self, state: State, update: Update) -> tuple[Update, State | None]:
        """Check the second-order condition at a KKT point; where it fails, return a state beside it."""
        verdict, lower = judge(self.constraints, self.units, update.point, update.multipliers)
        update = replace(update, second_order=verdict)
        if lower is None or state.saddles >= _SADDLES:
            return update, None
        return update, state.beside_saddle(lower, self.units.scaled(update.multipliers))

    def _objective(self, state: State) -> Lagrangian:
        return Lagrangian(
            self.constraints,
            state.y,
            cost_weight=1.0 / self.units.cost,
            weights=1.0 / self.units.constraints,
            penalty=state.penalty,
            proximal_weight=state.proximal_weight,
            center=state.point.x,
        )

    def _minimise(self, state: State) -> _Minimum:
        # If quasi-Newton steps do not finish a problem, it is too ill-conditioned for them.
        small = self.gradients_only and not state.unfinished
        minimum = self._descend(self._objective(state).at(state.point), state.inner_tol, small)
        if minimum.status != "converged" or minimum.model.violation > 0.0:
            return minimum
        # If no constraint matters, the next problem would be this one again: solve it to the end.
        end = self._descend(minimum.model, 0.5 * self.scaled_tol, small)
        return replace(end, n_products=minimum.n_products + end.n_products)

    def _descend(self, start: LocalLagrangian, tol: float, small: bool) -> _Minimum:
        minimise = limited_memory if small else newton_cg
        first = self.start.cost / self.units.cost
        # A fall counts from the start of the solve, because iterates may lie far above it.
        fall_limit = endless_fall(first) + max(start.value - first, 0.0)
        return minimise(
            start.function,
            start,
            tol=tol,
            max_iter=self.inner_iterations * (_SMALL_STEPS if small else 1),
            step_limit=self.manifold.step_limit,
            fall_limit=fall_limit,
            may_escape=True,
            watch=self.watch,
            stop=self.stop,
        )

    def _advance(self, state: State, minimum: _Minimum) -> tuple[Update, State]:
        """Update the multipliers from the inner minimum, polish if promising, and prepare the next step."""
        model, violation = minimum.model, minimum.model.violation
        update = self._update(model.point, model.estimates, state.penalty, minimum.n_products)
        # What looks like a certificate goes on: it must hold in the units of its own point.
        if minimum.status == "max_iterations" and state.unfinished < _UNFINISHED and worst(update) > self.tol:
            return update, replace(state, point=model.point, unfinished=state.unfinished + 1)
        state = replace(state, point=model.point, y=model.estimates, unfinished=0)
        if self.tol < worst(update) < min(state.polish_below, polish_limit(self.constraints, state.point)):
            update, state = self._polished(state, update)
        update = self._in_refreshed_units(update)
        # If the violation falls too little, the penalty is too small.
        schedule = self.schedule.at(violation)
        missed = violation > schedule.fall * state.violation and not self._is_feasible(update)
        return update, replace(
            state,
            y=self.units.scaled(update.multipliers),
            penalty=state.penalty * (schedule.growth if missed else 1.0),
            proximal_weight=self._next_proximal_weight(state),
            inner_tol=self._next_inner_tol(state, violation),
            violation=violation,
            misses=state.misses + 1 if missed else 0,
        )

    def _polished(self, state: State, update: Update) -> tuple[Update, State]:
        assert update.kkt is not None
        start = Polished(state.point, state.y, update.kkt, update.hessian_products)
        found = polish(self.constraints, self.units, start, state.penalty, self.tol)
        multipliers, spent = self.units.unscaled(found.y), found.n_products
        update = Update(
            found.point, multipliers, penalty=state.penalty, hessian_products=spent, kkt=found.kkt
        )
        return update, replace(state, point=found.point, polish_below=_POLISH_AGAIN * found.kkt.worst)

    def _in_refreshed_units(self, update: Update) -> Update:
        units = refreshed_units(self.units, self.constraints, update.point)
        if units is self.units:
            return update
        self.units = units
        kkt = measure_kkt(self.constraints, update.point, update.multipliers, units)
        return replace(update, kkt=kkt)

    def _next_proximal_weight(self, state: State) -> float:
        # Elsewhere the distance may not be smooth, and in the flat valleys of symmetries it slows the end.
        if not (self.manifold.hadamard and self.manifold.closed_form_log):
            return 0.0
        return 0.1 * state.proximal_weight if state.proximal_weight else PROXIMAL_WEIGHT

    def _next_inner_tol(self, state: State, violation: float) -> float:
        # A violation of 0 says little about the next iterate: demand a hundred times more at most.
        wanted = max(0.1 * violation, 0.01 * state.inner_tol)
        return max(0.1 * self.scaled_tol, min(state.inner_tol, wanted))

    def _is_feasible(self, update: Update) -> bool:
        assert update.kkt is not None
        return max(update.kkt.feasibility, update.kkt.complementarity) <= self.tol

    def _note_feasible(self, point: EvaluatedPoint) -> None:
        """Keep the feasible point of lowest cost: while there is one, the problem is not infeasible."""
        is_feasible = measure_feasibility(self.constraints, point, self.units) <= self.tol
        if is_feasible and (self.feasible is None or point.cost < self.feasible.cost):
            self.feasible = point

    def _update(self, point: EvaluatedPoint, y: Array, penalty: float, n_products: int) -> Update:
        multipliers = self.units.unscaled(y)
        kkt = measure_kkt(self.constraints, point, multipliers, self.units)
        return Update(point, multipliers, penalty=penalty, hessian_products=n_products, kkt=kkt)

    def _restore(self, state: State) -> State | tuple[Update, Stop]:
        """Restart from a feasible point; if there is none nearby, stop as infeasible."""
        minimum = feasibility.seek_feasible(self.constraints, self.units, state.point, self.tol)
        model = minimum.model
        if feasibility.is_stationary_violation(minimum, self.tol):
            if self.feasible is not None:
                return state.returned(self.feasible)
            update = self._update(model.point, np.zeros_like(state.y), state.penalty, minimum.n_products)
            return update, infeasible(feasibility.remaining_violation(minimum))
        return state.restored(model.point)

    def _after_escape(self, state: State, minimum: _Minimum) -> State | Stop:
        """Stop if the problem is unbounded; otherwise raise the penalty, which was too weak."""
        escaped, back = minimum.model.point, minimum
        if self.constraints.size:
            back = feasibility.least_violation(self.constraints, self.units, escaped, self.tol)
        feasible = back.model
        # Unbounded: a feasible point near the escaped one keeps at least half of the fall, and is a new low.
        satisfied = feasibility.remaining_violation(back) <= math.sqrt(self.tol)
        fall, kept = (state.point.cost - point.cost for point in (escaped, feasible.point))
        if satisfied and kept > 0.5 * fall > 0.0 and feasible.point.cost < self.start.cost:
            return unbounded()
        if state.escapes >= 5:
            return ran_away()
        return state.after_escape(may_weigh=self.manifold.closed_form_log)
