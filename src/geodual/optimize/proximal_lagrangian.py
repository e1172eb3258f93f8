"""The default method: Rockafellar's proximal method of multipliers on a manifold, with a Newton polish.

Each iteration minimises the augmented Lagrangian plus a small proximal term by Newton-CG, inexactly at
first, and then updates the multipliers. The problem is scaled by its sizes at the start, so that the
constants below mean the same for every problem (Rockafellar 1976; see `minimize`).

Safeguards, in the order in which an iteration may need them:

- escape: the inner solve ran away or gave up feasibility for cost; the penalty grows (`_after_escape`);
- polish: near a solution, Newton's method on the active constraints (`active_set`);
- saddle: at a KKT point that is no minimum, go on beside it (`second_order`);
- valley: look for a lower one where multipliers cannot lead to it (`feasibility`);
- restoration: where the violation does not fall, seek a feasible point (`feasibility`);
- second method: where all of this fails, the interior-point method (`with_second_try`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from geodual.arrays import Array
from geodual.manifolds.base import check_size

from . import feasibility
from .active_set import Polished, polish, polish_limit
from .checks import check_positive
from .feasibility import LOOK_BELOW, are_squares, lowest_valley
from .interior_point import interior_point
from .kkt import Units, measure_feasibility, measure_kkt, refreshed_units, term_share
from .lagrangian import LocalLagrangian
from .newton_cg import Minimum, newton_cg
from .problem import ConstraintVector, EvaluatedPoint
from .quasi_newton import limited_memory
from .second_order import judge
from .updates import RAN_AWAY, UNBOUNDED, Progress, Stop, Update, endless_fall, infeasible, no_progress

PROXIMAL_WEIGHT = 1e-3  # on Hadamard manifolds, divided by 10 in each iteration
_CAREFUL_ABOVE = 1e-4  # violation above which the choice between valleys may still be open
_PENALTY_LIMIT = 1e16  # beyond it rounding errors of the violation swamp the cost
_PATIENCE = 15  # iterations without progress before giving up
_SMALL_STEPS = 25  # quasi-Newton steps that count as one Newton iteration
_UNFINISHED = 20  # inner solves in a row that may run out of iterations
_SADDLES = 10  # saddle points that a solve may leave
_RETURNS = 4  # times to go back to a feasible point, each with more penalty
_POLISH_AGAIN = 0.1  # after a failed polish, try again once the residual has fallen to this share
_GREED = 10.0  # growth of the (scaled) violation in an inner solve at which it is rejected
_MANY = 500  # constraints whose gradients take long to form
_SECOND_STEPS = 150  # of the second try at most
_SECOND_PATIENCE = 30  # iterations of the first try after which the second may come in between

_Minimum = Minimum[LocalLagrangian]


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
        Whether to look for lower valleys where multipliers cannot lead to them; see `lowest_valley`.
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
    inequalities alone the minima are mostly the same. With other terms, such as norms, a small first penalty
    that grows slowly leads to lower minima too, and to fewer steps in all, because kinks stay wide.
    """
    manifold = constraints.problem.manifold
    if manifold.hadamard:
        return FAST
    if not constraints.n_equalities:
        slow = replace(FAST, penalty=CAREFUL.penalty, growth=CAREFUL.growth)
        return slow if constraints.functions else FAST
    # Without a longest step the manifold is not compact, and there is no telling how far to look.
    return replace(CAREFUL, looks=math.isfinite(manifold.step_limit))


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
    elif constraints.functions and not (constraints.n_inequalities or constraints.n_equalities):
        # An envelope with a larger penalty is a kink again: its bend is narrower than the point is large. But
        # constraints need that penalty.
        share = term_share(constraints, start, units)
        schedule = replace(schedule, penalty=share * schedule.penalty)
    method = ProximalLagrangian(constraints, units, tol, inner_iterations, watch, stop, schedule)
    updates = method.iterate(start, units.scaled(multipliers))
    return with_second_try(updates, constraints, start, units=units, tol=tol, multipliers=multipliers)


@dataclass
class ProximalLagrangian:
    """The method with its settings; a schedule and units that may change; and what it has seen.

    Attributes
    ----------
    constraints, units, tol, inner_iterations, watch, stop : any
        As `proximal_lagrangian` takes them.
    schedule : Schedule
        How fast the penalty grows.
    feasible : EvaluatedPoint or None
        The feasible point of lowest cost so far.
    """

    constraints: ConstraintVector
    units: Units
    tol: float
    inner_iterations: int
    watch: Callable[[LocalLagrangian], object]
    stop: Callable[[LocalLagrangian], bool]
    schedule: Schedule
    feasible: EvaluatedPoint | None = None

    def __post_init__(self) -> None:
        self.manifold = self.constraints.problem.manifold
        self.gradients_only = prefers_quasi_newton(self.constraints)

    @property
    def scaled_tol(self) -> float:
        """The tolerance for the gradient of the scaled problem."""
        return self.tol * self.units.cost_unit / self.units.cost

    def iterate(self, start: EvaluatedPoint, y: Array) -> Iterator[Update | Stop]:
        """Yield updates from a start with multipliers of the scaled problem."""
        # Without constraints there are no multipliers to update: solve the first problem to the end.
        inner_tol = self.schedule.inner_tol if y.size else 0.5 * self.scaled_tol
        state = State(start, y, self.schedule.penalty, inner_tol=inner_tol)
        self._note_feasible(start)
        self.start = start
        progress = Progress()
        while True:
            minimum = self._minimise(state)
            if minimum.status == "runaway" or is_greedy(minimum.model, state.point):
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
            if update.worst <= self.tol:
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
                yield no_progress(best.worst, blocked=minimum.status == "blocked")
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

    def _minimise(self, state: State) -> _Minimum:
        # If quasi-Newton steps do not finish a problem, it is too ill-conditioned for them.
        small = self.gradients_only and not state.unfinished
        terms = {"penalty": state.penalty, "proximal_weight": state.proximal_weight, "center": state.point.x}
        objective = self.units.lagrangian(self.constraints, state.y, **terms)
        minimum = self._descend(objective.at(state.point), state.inner_tol, small)
        if minimum.status != "converged" or minimum.model.violation > 0.0:
            return minimum
        # If no constraint matters, the next problem would be this one again: solve it to the end.
        end = self._descend(minimum.model, 0.5 * self.scaled_tol, small)
        return replace(end, n_products=minimum.n_products + end.n_products)

    def _descend(self, start: LocalLagrangian, tol: float, small: bool) -> _Minimum:
        """Minimise the augmented Lagrangian from a point, within the budget of an inner solve."""
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
        if minimum.status == "max_iterations" and state.unfinished < _UNFINISHED and update.worst > self.tol:
            return update, replace(state, point=model.point, unfinished=state.unfinished + 1)
        state = replace(state, point=model.point, y=model.estimates, unfinished=0)
        if self.tol < update.worst < min(state.polish_below, polish_limit(self.constraints, state.point)):
            update, state = self._polished(state, update)
        update = self._in_refreshed_units(update)
        # If the violation falls too little, the penalty is too small.
        schedule = self.schedule.at(violation)
        missed = violation > schedule.fall * state.violation and not self.is_feasible(update)
        return update, replace(
            state,
            y=self.units.scaled(update.multipliers),
            penalty=state.penalty * (schedule.growth if missed else 1.0),
            proximal_weight=self.next_proximal_weight(state),
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

    def next_proximal_weight(self, state: State) -> float:
        """Return the weight of the next proximal term; 0 where there is none."""
        # Elsewhere the distance may not be smooth, and in the flat valleys of symmetries it slows the end.
        if not (self.manifold.hadamard and self.manifold.closed_form_log):
            return 0.0
        return 0.1 * state.proximal_weight if state.proximal_weight else PROXIMAL_WEIGHT

    def _next_inner_tol(self, state: State, violation: float) -> float:
        # A violation of 0 says little about the next iterate: demand a hundred times more at most.
        wanted = max(0.1 * violation, 0.01 * state.inner_tol)
        return max(0.1 * self.scaled_tol, min(state.inner_tol, wanted))

    def is_feasible(self, update: Update) -> bool:
        """Return whether feasibility and complementarity are within the tolerance."""
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
            return UNBOUNDED
        if state.escapes >= 5:
            return RAN_AWAY
        return state.after_escape(may_weigh=self.manifold.closed_form_log)


def is_greedy(model: LocalLagrangian, start: EvaluatedPoint) -> bool:
    """Return whether an inner solve gave up feasibility for cost: it went so far out that no way leads back.

    That happens where the cost falls faster than the penalty grows, so not on a compact manifold.
    """
    constraints, weights = model.function.constraints, model.function.weights
    if not constraints.problem.manifold.hadamard:
        return False
    there, here = (
        np.abs(weights * (point.constraints - constraints.prox(point.constraints, 0.0))).max(initial=0.0)
        for point in (model.point, start)
    )
    return bool(there > _GREED * max(1.0, here))


def prefers_quasi_newton(constraints: ConstraintVector) -> bool:
    """Return whether `limited_memory` suits the augmented Lagrangian of a problem better than `newton_cg`.

    It does if a block of many constraints lacks `directional` and the cost lacks second derivatives. Every
    point at which `newton_cg` asks for Hessian products then takes one gradient per constraint, and every
    product takes one more gradient of the cost. Where only second derivatives are missing, differences of
    gradients in `newton_cg` are as fast or faster.
    """
    problem = constraints.problem
    if problem.hessian_product is not None:
        return False
    sizes = map(len, constraints.split(np.zeros(constraints.size)))
    return any(b.directional is None and size >= _MANY for b, size in zip(problem.blocks, sizes, strict=True))


def with_second_try(
    updates: Iterator[Update | Stop],
    constraints: ConstraintVector,
    start: EvaluatedPoint,
    *,
    units: Units,
    tol: float,
    multipliers: Array,
) -> Iterator[Update | Stop]:
    """Pass updates on; if they end in a breakdown or as infeasible, try the interior-point method.

    If it does not reach the tolerance either, the best update and the stop of the first try come last. On
    Hadamard manifolds the second try comes in between if the first takes long.
    """
    has_inequalities = constraints.n_inequalities > 0 and not constraints.functions
    # On Hadamard manifolds both mostly find the same minimum, so try early. Elsewhere only as a last resort.
    patience = _SECOND_PATIENCE if has_inequalities and constraints.problem.manifold.hadamard else -1
    progress = Progress()
    last: Update | None = None

    def second_try() -> Iterator[Update]:
        tries = interior_point(constraints, start, units=units, tol=tol, multipliers=multipliers)
        for update in islice(tries, _SECOND_STEPS):
            # Before a stop an update may come without a residual.
            if isinstance(update, Stop) or update.kkt is None or not math.isfinite(update.worst):
                return
            progress.note(update, unfinished=False)
            yield update

    for count, update in enumerate(updates, start=1):
        if isinstance(update, Update):
            last = update  # a method yields its best update before it gives up
            yield update
            if count == patience:
                yield from second_try()
            continue
        if last is not None and update.status in ("breakdown", "infeasible") and has_inequalities:
            progress.note(last, unfinished=False)
            if count <= patience or patience < 0:
                yield from second_try()
            # The point of least violation belongs to "infeasible"; otherwise the best point is of most use.
            yield last if update.status == "infeasible" else progress.best or last
        yield update
