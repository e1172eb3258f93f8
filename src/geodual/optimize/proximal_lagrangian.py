"""The default method: Rockafellar's proximal method of multipliers on a manifold, with a Newton polish.

Each iteration minimises the augmented Lagrangian plus a small proximal term by Newton-CG, inexactly at
first, and updates the multipliers from it. The problem is scaled by its sizes at the start, so that the
numbers below mean the same for every problem.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from geodual.arrays import Array

from .active_set import Polished, polish
from .constraint_vector import ConstraintVector, EvaluatedPoint
from .kkt import Units, measure_kkt, refreshed_units
from .lagrangian import Lagrangian, LocalLagrangian
from .newton_cg import Minimum, newton_cg
from .updates import Stop, Update

_PENALTY = 3.0
_PENALTY_GROWTH = 10.0
_PENALTY_LIMIT = 1e14
_PROXIMAL_WEIGHT = 1e-3  # on Hadamard manifolds, tenfold less each iteration
_COMPACT_PROXIMAL_WEIGHT = 3e-3  # elsewhere, where symmetries leave flat valleys to the end
_INNER_TOLERANCE = 0.03
_INNER_ITERATIONS = 40
_FALL_LIMIT = 1e12  # a scaled cost this far below the start counts as minus infinity
_CONSISTENT = 1e-5  # slope of a violation, relative to it, below which it is stationary
_PATIENCE = 15
_POLISH_AGAIN = 0.5  # after a polish that fell short, once the residual is this much smaller


_Minimum = Minimum[LocalLagrangian]


@dataclass(frozen=True)
class _State:
    """A point and the multipliers y of the scaled problem, with what steers the next iteration."""

    point: EvaluatedPoint
    y: Array
    penalty: float = _PENALTY
    proximal_weight: float = 0.0  # the first center, the start, is arbitrary
    inner_tol: float = _INNER_TOLERANCE
    violation: float = math.inf  # of the last iterate
    misses: int = 0  # iterations in a row in which the violation fell too little
    escapes: int = 0  # inner solves that ran away
    restorations: int = 0
    polish_below: float = math.inf  # residual below which a polish is worth a try


def proximal_lagrangian(
    constraints: ConstraintVector, start: EvaluatedPoint, *, units: Units, tol: float
) -> Iterator[Update | Stop]:
    """Iterate the proximal method of multipliers until a KKT residual of `tol`.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    start : EvaluatedPoint
        Start; it may be infeasible.
    units : Units
        Sizes of cost and constraints.
    tol : float
        The KKT residual aimed at.
    """
    return _ProximalLagrangian(constraints, units, tol).iterate(start)


class _ProximalLagrangian:
    def __init__(self, constraints: ConstraintVector, units: Units, tol: float) -> None:
        self.constraints, self.units, self.tol = constraints, units, tol
        self.manifold = constraints.problem.manifold

    @property
    def scaled_tol(self) -> float:
        """What `tol` is for the gradient of the scaled problem."""
        return self.tol * self.units.cost_unit / self.units.cost

    def iterate(self, start: EvaluatedPoint) -> Iterator[Update | Stop]:
        y = np.zeros(self.constraints.size)
        state = _State(start, y, inner_tol=_INNER_TOLERANCE if y.size else 0.5 * self.scaled_tol)
        best: Update | None = None
        since_best, blocked = 0, False
        while True:
            minimum = self._minimise(state)
            blocked = minimum.status == "blocked"
            if minimum.status == "runaway":
                outcome = self._after_escape(state, minimum)
                if isinstance(outcome, Stop):
                    yield self._update(minimum.model.point, state.y, state.penalty, minimum.n_products)
                    yield outcome
                    return
                state = outcome
                continue
            update, state = self._advance(state, minimum)
            yield update
            improved = best is None or _worst(update) < 0.9 * _worst(best)
            best, since_best = (update, 0) if improved else (best, since_best + 1)
            if state.misses >= 3 and state.penalty >= 1e3 * _PENALTY and state.restorations < 2:
                restored = self._restore(state)
                if isinstance(restored, tuple):
                    yield from restored
                    return
                state = restored
            if since_best >= _PATIENCE or state.penalty > _PENALTY_LIMIT:
                yield best or update
                yield Stop(
                    "breakdown", (_BLOCKED if blocked else _NO_PROGRESS).format(_worst(best or update))
                )
                return

    def _minimise(self, state: _State) -> _Minimum:
        objective = Lagrangian(
            self.constraints,
            state.y,
            cost_weight=1.0 / self.units.cost,
            weights=1.0 / self.units.constraints,
            penalty=state.penalty,
            proximal_weight=state.proximal_weight,
            center=state.point.x,
        )
        return newton_cg(
            objective,
            objective.at(state.point),
            tol=state.inner_tol,
            max_iter=_INNER_ITERATIONS,
            step_limit=self.manifold.step_limit,
            fall_limit=_FALL_LIMIT,
            may_escape=True,
        )

    def _advance(self, state: _State, minimum: _Minimum) -> tuple[Update, _State]:
        """Update the multipliers from the inner minimum, polish if that is promising, and steer."""
        model = minimum.model
        violation = self._violation(model, state)
        update = self._update(model.point, model.estimates, state.penalty, minimum.n_products)
        if minimum.status == "max_iterations":
            return update, self._continued(state, model.point, violation)
        state = replace(state, point=model.point, y=model.estimates)
        if self._is_worth_polishing(state, update):
            update, state = self._polished(state, update)
        update = self._in_refreshed_units(update)
        missed = violation > 0.25 * state.violation and violation > self.tol
        return update, replace(
            state,
            y=self.units.scaled(update.multipliers),
            penalty=state.penalty * (_PENALTY_GROWTH if missed else 1.0),
            proximal_weight=self._next_proximal_weight(state),
            inner_tol=max(0.1 * self.scaled_tol, min(state.inner_tol, 0.1 * violation)),
            violation=violation,
            misses=state.misses + 1 if missed else 0,
        )

    def _is_worth_polishing(self, state: _State, update: Update) -> bool:
        orthonormal = state.point.frame.orthonormal
        return orthonormal and self.constraints.size > 0 and self.tol < _worst(update) < state.polish_below

    def _polished(self, state: _State, update: Update) -> tuple[Update, _State]:
        assert update.kkt is not None
        start = Polished(state.point, state.y, update.kkt, update.hessian_products)
        found = polish(self.constraints, self.units, start, state.penalty, self.tol)
        multipliers = self.units.unscaled(found.y)
        update = Update(
            found.point,
            multipliers,
            penalty=state.penalty,
            hessian_products=found.n_products,
            kkt=found.kkt,
        )
        return update, replace(state, point=found.point, polish_below=_POLISH_AGAIN * found.kkt.worst)

    def _in_refreshed_units(self, update: Update) -> Update:
        units = refreshed_units(self.units, self.constraints, update.point)
        if units is self.units:
            return update
        self.units = units
        kkt = measure_kkt(self.constraints, update.point, update.multipliers, units)
        return replace(update, kkt=kkt)

    def _next_proximal_weight(self, state: _State) -> float:
        if not self.manifold.closed_form_log:
            return 0.0
        if not self.manifold.hadamard:
            return _COMPACT_PROXIMAL_WEIGHT
        return 0.1 * state.proximal_weight if state.proximal_weight else _PROXIMAL_WEIGHT

    def _continued(self, state: _State, point: EvaluatedPoint, violation: float) -> _State:
        """Go on with an unfinished inner problem, with more penalty if it leads away from feasibility."""
        growth = _PENALTY_GROWTH if violation > state.violation else 1.0
        return replace(state, point=point, penalty=growth * state.penalty)

    def _violation(self, model: LocalLagrangian, state: _State) -> float:
        """Return the largest violation of feasibility and complementarity together."""
        slack = np.maximum(model.violations, -state.y / state.penalty)
        error = np.where(self.constraints.is_equality, model.violations, slack)
        return float(np.abs(error).max(initial=0.0))

    def _update(self, point: EvaluatedPoint, y: Array, penalty: float, n_products: int) -> Update:
        multipliers = self.units.unscaled(y)
        kkt = measure_kkt(self.constraints, point, multipliers, self.units)
        return Update(point, multipliers, penalty=penalty, hessian_products=n_products, kkt=kkt)

    def _least_violation(self, point: EvaluatedPoint) -> _Minimum:
        """Minimise half the squared violation."""
        objective = Lagrangian(
            self.constraints,
            np.zeros(self.constraints.size),
            cost_weight=0.0,
            weights=1.0 / self.units.constraints,
            penalty=1.0,
        )
        return newton_cg(
            objective,
            objective.at(point),
            tol=0.1 * self.tol,
            step_limit=self.manifold.step_limit,
            may_escape=True,
        )

    def _restore(self, state: _State) -> _State | tuple[Update, Stop]:
        """Look for a feasible point; if there is none nearby, say that the problem is infeasible."""
        minimum = self._least_violation(state.point)
        if _is_stationary_violation(minimum, self.tol):
            # Perhaps a maximum or a saddle of the violation: try once from beside it.
            beside = self._least_violation(self._beside(minimum.model.point))
            minimum = min(minimum, beside, key=lambda found: found.model.value)
        model = minimum.model
        if _is_stationary_violation(minimum, self.tol):
            update = self._update(model.point, np.zeros_like(state.y), state.penalty, minimum.n_products)
            return update, Stop("infeasible", _INFEASIBLE.format(_left(minimum)))
        return replace(
            state,
            point=model.point,
            y=np.zeros_like(state.y),
            violation=math.inf,
            misses=0,
            restorations=state.restorations + 1,
        )

    def _beside(self, point: EvaluatedPoint) -> EvaluatedPoint:
        frame = point.frame
        c = frame.random(np.random.default_rng(0))
        return self.constraints.evaluate(frame.move((0.1 * frame.unit / frame.norm(c)) * c))

    def _after_escape(self, state: _State, minimum: _Minimum) -> _State | Stop:
        """Tell an unbounded problem from a penalty that was too weak to hold the iterate."""
        escaped = minimum.model.point
        feasible = (self._least_violation(escaped) if self.constraints.size else minimum).model
        satisfied = float(np.abs(feasible.estimates).max(initial=0.0)) <= math.sqrt(self.tol)
        fall = state.point.cost - escaped.cost
        kept = state.point.cost - feasible.point.cost
        if satisfied and kept > 0.5 * fall > 0.0:
            return Stop("unbounded", _UNBOUNDED)
        if state.escapes >= 5:
            return Stop("breakdown", _ESCAPED)
        return replace(
            state,
            penalty=100.0 * state.penalty,
            proximal_weight=10.0 * max(state.proximal_weight, _PROXIMAL_WEIGHT),
            escapes=state.escapes + 1,
        )


def _left(minimum: _Minimum) -> float:
    """Return the largest violation that is left."""
    return float(np.abs(minimum.model.estimates).max(initial=0.0))


def _is_stationary_violation(minimum: _Minimum, tol: float) -> bool:
    """Tell whether a violation is left that no small step reduces."""
    left, model = _left(minimum), minimum.model
    return left > 10.0 * tol and model.frame.norm(model.gradient) < _CONSISTENT * left


def _worst(update: Update) -> float:
    assert update.kkt is not None
    return update.kkt.worst


_NO_PROGRESS = (
    "No further progress: the best KKT residual is {:.2g}. The tolerance may be below what rounding errors "
    "allow, or the problem may lack regularity; try a larger `tol` or another start."
)
_BLOCKED = (
    "Stuck at the edge of where cost or constraints are defined: the best KKT residual is {:.2g}. Start "
    "further inside, or extend the functions beyond the edge."
)
_INFEASIBLE = (
    "Stopped at a stationary point of the violation, where it is {:.2g} (scaled): no feasible point is near. "
    "Relax the constraints, or try another start if the problem is not convex."
)
_UNBOUNDED = (
    "The cost falls without bound along feasible points. Add the constraint that is missing, or check the "
    "sign of the cost."
)
_ESCAPED = (
    "The iterates ran away again and again, however large the penalty. Start closer to the feasible set, or "
    "bound the cost from below."
)
