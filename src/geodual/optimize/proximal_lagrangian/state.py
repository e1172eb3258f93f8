"""The settings of the default method, and what is passed between the stages of an iteration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from geodual.arrays import Array
from geodual.manifolds.frame import Vector

from ..banded_hessian import BandedHessian
from ..kkt import Units, measure_feasibility, measure_kkt, refreshed_units
from ..lagrangian import LocalLagrangian
from ..newton_cg import Minimum
from ..problem import ConstraintVector, EvaluatedPoint
from ..trees import scaled
from ..updates import Progress, Stop, Update

PROXIMAL_WEIGHT = 1e-3  # on Hadamard manifolds; divided by 10 in each iteration, so that weights are summable
_CAREFUL_ABOVE = 1e-4  # violation above which the choice among minima may still be open


@dataclass(frozen=True)
class Schedule:
    """The settings of the outer iteration, for a problem scaled to unit size.

    Attributes
    ----------
    penalty : float
        The first ρ. Larger values make inner problems harder; smaller ones make updates of multipliers
        slower.
    growth : float
        Factor by which the penalty grows after an iteration that reduced the violation too little.
    fall : float
        Largest ratio of the next violation to the last one.
    inner_tol : float
        Bound on the gradient of the first inner problem.
    """

    penalty: float
    growth: float
    fall: float
    inner_tol: float

    def at(self, violation: float) -> Schedule:
        """Return the schedule for a violation: near feasibility, the fast one."""
        return self if violation > _CAREFUL_ABOVE else FAST


# Growth by 10 unless the violation decreases to a fraction is usual (Birgin and Martínez 2014; see
# `safeguards`). Early multipliers do not justify a tighter inner tolerance.
FAST = Schedule(penalty=3.0, growth=10.0, fall=0.25, inner_tol=0.03)
# Chosen on balanced cuts and clusterings, which have equalities (`python -m benchmarks families`).
CAREFUL = Schedule(penalty=0.3, growth=3.3, fall=0.8, inner_tol=1e-3)


def choose_schedule(constraints: ConstraintVector) -> Schedule:
    """Choose the careful schedule if it decides which of many minima is found.

    On a whole compact manifold only constants are convex, and equalities leave a thin set of feasible points.
    A small penalty that grows slowly then leads to lower minima, for about twice the work. With inequalities
    alone, the minima are mostly the same. With other terms, such as norms, a small first penalty that grows
    slowly also leads to lower minima, and to fewer steps in total, because kinks stay wide.
    """
    if constraints.problem.manifold.hadamard:
        return FAST
    if constraints.n_equalities:
        return CAREFUL
    slow = replace(FAST, penalty=CAREFUL.penalty, growth=CAREFUL.growth)
    return slow if constraints.functions else FAST


@dataclass(frozen=True)
class State:
    """A point, the multipliers y of the scaled problem, and the settings of the next iteration.

    Attributes
    ----------
    point : EvaluatedPoint
        Start of the next inner problem.
    y : array of shape (m,)
        Multipliers of the scaled problem.
    penalty : float
        ρ.
    proximal_weight : float
        Weight of the proximal term; 0 at first, because the start is an arbitrary center.
    inner_tol : float
        Bound on the gradient of the next inner problem.
    violation : float
        Violation of the last iterate.
    unfinished : int
        Number of consecutive inner solves that ran out of iterations.
    misses : int
        Number of consecutive iterations in which the violation decreased too little.
    escapes, restorations, saddles : int
        Number of inner solves that ran away, of restarts after a violation that did not decrease, and of
        saddle points left.
    polish_below : float
        KKT residual below which to try a polish.
    relaxations : int
        Number of reductions of the penalty.
    by : str
        The safeguard that chose this state; empty if none did.
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
    relaxations: int = 0
    by: str = ""

    def restored(self, point: EvaluatedPoint) -> State:
        """Restart from a point with less violation, without multipliers."""
        return replace(
            self,
            point=point,
            y=np.zeros_like(self.y),
            violation=math.inf,
            misses=0,
            restorations=self.restorations + 1,
            by="restoration",
        )

    def returned(self, feasible: EvaluatedPoint) -> State:
        """Return to a feasible point, with enough penalty that descent from it stays nearly feasible.

        With multipliers of 0, the augmented Lagrangian there equals the cost, and no later iterate can exceed
        it.
        """
        return replace(
            self.restored(feasible),
            penalty=FAST.penalty * 100.0 ** (self.restorations + 1),
            proximal_weight=0.0,
            inner_tol=FAST.inner_tol,
        )

    def beside_saddle(self, point: EvaluatedPoint, y: Array) -> State:
        """Continue from a point next to a saddle point, with the multipliers found there."""
        return replace(
            self,
            point=point,
            y=y,
            proximal_weight=0.0,
            inner_tol=FAST.inner_tol if y.size else self.inner_tol,
            violation=math.inf,
            polish_below=math.inf,
            saddles=self.saddles + 1,
            by="saddle",
        )

    def relaxed(self) -> State:
        """Reduce the penalty, which made the kinks of terms too sharp."""
        penalty, count = self.penalty / FAST.growth, self.relaxations + 1
        return replace(self, penalty=penalty, relaxations=count, by="relaxation")

    def after_escape(self, *, may_weigh: bool) -> State:
        """Raise the penalty, which was too weak to hold the iterates, and the proximal weight if allowed."""
        return replace(
            self,
            penalty=100.0 * self.penalty,
            proximal_weight=10.0 * max(self.proximal_weight, PROXIMAL_WEIGHT) if may_weigh else 0.0,
            escapes=self.escapes + 1,
            by="escape",
        )


@dataclass
class Solve:
    """What all stages share: the problem, the settings, units that may change, and a record of the solve.

    Attributes
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    start : EvaluatedPoint
        The start.
    units : Units
        Units of cost and constraints.
    tol : float
        The KKT residual to reach.
    inner_iterations : int
        Newton iterations per inner solve.
    watch, stop : callable
        Passed to the inner solves.
    schedule : Schedule
        The growth of the penalty.
    feasible : EvaluatedPoint or None
        The feasible point of lowest cost so far; if there is one, the problem is not infeasible.
    progress : Progress
        The best update so far, and its age.
    hessian : BandedHessian
        Forms the Hessian of inner problems on which conjugate gradients take too many steps.
    """

    constraints: ConstraintVector
    start: EvaluatedPoint
    units: Units
    tol: float
    inner_iterations: int
    watch: Callable[[LocalLagrangian], object]
    stop: Callable[[LocalLagrangian], bool]
    schedule: Schedule
    feasible: EvaluatedPoint | None = None

    def __post_init__(self) -> None:
        self.manifold = self.constraints.problem.manifold
        self.progress = Progress()
        self.hessian = BandedHessian(self.manifold)
        self.note_feasible(self.start)

    @property
    def scaled_tol(self) -> float:
        """The tolerance for the gradient of the scaled problem."""
        return self.tol * self.units.cost_unit / self.units.cost

    def note_feasible(self, point: EvaluatedPoint) -> None:
        """Keep the feasible point of lowest cost."""
        cost = self.constraints.total_cost
        is_feasible = measure_feasibility(self.constraints, point, self.units) <= self.tol
        if is_feasible and (self.feasible is None or cost(point) < cost(self.feasible)):
            self.feasible = point

    def update(
        self,
        point: EvaluatedPoint,
        y: Array,
        penalty: float,
        n_products: int,
        by: str,
        egrad: Vector | None = None,
    ) -> Update:
        """Return an update at a point with multipliers (and gradient, if known) of the scaled problem."""
        multipliers = self.units.unscaled(y)
        known = None if egrad is None else scaled(self.units.cost, egrad)
        kkt = measure_kkt(self.constraints, point, multipliers, self.units, known)
        update = Update(point, multipliers, penalty=penalty, hessian_products=n_products, by=by)
        return replace(update, kkt=kkt, units=self.units)

    def in_refreshed_units(self, update: Update) -> Update:
        """Measure cost and constraints again, if they looked large at a far start."""
        units = refreshed_units(self.units, self.constraints, update.point)
        if units is self.units:
            return update
        self.units = units
        kkt = measure_kkt(self.constraints, update.point, update.multipliers, units)
        return replace(update, kkt=kkt, units=units)


@dataclass(frozen=True)
class Turn:
    """The state of an iteration, passed from stage to stage.

    Attributes
    ----------
    state : State
        The state at its beginning; after the stage `penalty`, that of the next iteration.
    minimum : Minimum
        The end of the inner solve.
    update : Update or None
        The new point with its multipliers, once there is one.
    violation : float
        The violation at the end of the inner solve.
    is_over : bool
        Whether the remaining stages are skipped: the point was left, or the inner solve continues.
    shows : bool
        Whether the update counts as an iteration.
    stop : Stop or None
        Why the solve ends, if it does.
    """

    state: State
    minimum: Minimum[LocalLagrangian]
    update: Update | None = None
    violation: float = math.inf
    is_over: bool = False
    shows: bool = True
    stop: Stop | None = None

    @property
    def known(self) -> Update:
        """The update made by the stage `multipliers`."""
        assert self.update is not None
        return self.update

    def left(self, state: State) -> Turn:
        """Continue elsewhere, without an update."""
        return replace(self, state=state, is_over=True, shows=False)

    def ended(self, stop: Stop, update: Update) -> Turn:
        """End the solve at an update."""
        return replace(self, stop=stop, update=update, is_over=True)
