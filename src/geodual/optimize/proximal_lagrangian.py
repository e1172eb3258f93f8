"""The default method: Rockafellar's proximal method of multipliers on a manifold, with a Newton polish.

Each iteration minimises the augmented Lagrangian plus a small proximal term by Newton-CG, inexactly at
first, and then updates the multipliers. The problem is scaled by its sizes at the start, so that the
constants below mean the same for every problem (Rockafellar 1976; see `minimize`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from geodual.arrays import Array

from .active_set import Polished, polish
from .constraint_vector import ConstraintVector, EvaluatedPoint
from .feasibility import is_stationary_violation, least_violation, remaining_violation, seek_feasible
from .kkt import Units, measure_kkt, refreshed_units
from .lagrangian import Lagrangian, LocalLagrangian
from .newton_cg import Minimum, newton_cg
from .updates import Stop, Update

_PENALTY = 3.0  # first ρ; larger ones make inner problems harder, smaller ones updates slower
_PENALTY_GROWTH = 10.0
_PENALTY_LIMIT = 1e14  # beyond it rounding errors of the violation swamp the cost
_PROXIMAL_WEIGHT = 1e-3  # on Hadamard manifolds, divided by 10 in each iteration
_COMPACT_PROXIMAL_WEIGHT = 3e-3  # on others; constant, because symmetries leave flat valleys to the end
_INNER_TOLERANCE = 0.03  # of the first inner problem; early multipliers deserve no better
_INNER_ITERATIONS = 40
_FALL_LIMIT = 1e12  # a scaled cost this far below the start counts as minus infinity
_PATIENCE = 15  # iterations without progress before giving up
_POLISH_AGAIN = 0.5  # after a failed polish, try again once the residual has fallen to this share


_Minimum = Minimum[LocalLagrangian]


@dataclass(frozen=True)
class _State:
    """A point, the multipliers y of the scaled problem, and the settings of the next iteration."""

    point: EvaluatedPoint
    y: Array
    penalty: float = _PENALTY
    proximal_weight: float = 0.0  # 0 at first, because the start is an arbitrary centre
    inner_tol: float = _INNER_TOLERANCE
    violation: float = math.inf  # of the last iterate
    misses: int = 0  # number of iterations in a row in which the violation fell too little
    escapes: int = 0  # number of inner solves that ran away
    restorations: int = 0
    polish_below: float = math.inf  # residual below which to try a polish


def proximal_lagrangian(
    constraints: ConstraintVector, start: EvaluatedPoint, *, units: Units, tol: float
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
    """
    return _ProximalLagrangian(constraints, units, tol).iterate(start)


class _ProximalLagrangian:
    def __init__(self, constraints: ConstraintVector, units: Units, tol: float) -> None:
        self.constraints, self.units, self.tol = constraints, units, tol
        self.manifold = constraints.problem.manifold

    @property
    def scaled_tol(self) -> float:
        """The tolerance for the gradient of the scaled problem."""
        return self.tol * self.units.cost_unit / self.units.cost

    def iterate(self, start: EvaluatedPoint) -> Iterator[Update | Stop]:
        y = np.zeros(self.constraints.size)
        # Without constraints there are no multipliers to update: solve the first problem to the end.
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
            # A growing penalty does not reduce the violation: perhaps no feasible point exists.
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
        """Update the multipliers from the inner minimum, polish if promising, and prepare the next step."""
        model = minimum.model
        violation = self._violation(model, state)
        update = self._update(model.point, model.estimates, state.penalty, minimum.n_products)
        if minimum.status == "max_iterations":
            return update, self._continued(state, model.point, violation)
        state = replace(state, point=model.point, y=model.estimates)
        if self._is_worth_polishing(state, update):
            update, state = self._polished(state, update)
        update = self._in_refreshed_units(update)
        # Demand a fourfold fall of the violation per iteration; otherwise the penalty is too small.
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
        """Continue an unfinished inner problem, with more penalty if it leads away from feasibility."""
        growth = _PENALTY_GROWTH if violation > state.violation else 1.0
        return replace(state, point=point, penalty=growth * state.penalty)

    def _violation(self, model: LocalLagrangian, state: _State) -> float:
        """Return the largest violation of feasibility and complementarity together."""
        # For an inequality max(c, −y/ρ) is 0 exactly if c ≤ 0, y ≥ 0 and c y = 0.
        slack = np.maximum(model.violations, -state.y / state.penalty)
        error = np.where(self.constraints.is_equality, model.violations, slack)
        return float(np.abs(error).max(initial=0.0))

    def _update(self, point: EvaluatedPoint, y: Array, penalty: float, n_products: int) -> Update:
        multipliers = self.units.unscaled(y)
        kkt = measure_kkt(self.constraints, point, multipliers, self.units)
        return Update(point, multipliers, penalty=penalty, hessian_products=n_products, kkt=kkt)

    def _restore(self, state: _State) -> _State | tuple[Update, Stop]:
        """Restart from a feasible point; if there is none nearby, stop as infeasible."""
        minimum = seek_feasible(self.constraints, self.units, state.point, self.tol)
        model = minimum.model
        if is_stationary_violation(minimum, self.tol):
            update = self._update(model.point, np.zeros_like(state.y), state.penalty, minimum.n_products)
            return update, Stop("infeasible", _INFEASIBLE.format(remaining_violation(minimum)))
        return replace(
            state,
            point=model.point,
            y=np.zeros_like(state.y),
            violation=math.inf,
            misses=0,
            restorations=state.restorations + 1,
        )

    def _after_escape(self, state: _State, minimum: _Minimum) -> _State | Stop:
        """Stop if the problem is unbounded; otherwise raise the penalty, which was too weak."""
        escaped = minimum.model.point
        back = minimum
        if self.constraints.size:
            back = least_violation(self.constraints, self.units, escaped, self.tol)
        feasible = back.model
        # Unbounded: a feasible point near the escaped one keeps at least half of the fall of the cost.
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


def _worst(update: Update) -> float:
    assert update.kkt is not None
    return update.kkt.worst


_NO_PROGRESS = (
    "No further progress: the best KKT residual is {:.2g}. Rounding errors may not allow a smaller one, or "
    "the gradients of the active constraints may be dependent. Try a larger `tol` or another start."
)
_BLOCKED = (
    "Stuck at the edge of where cost or constraints are defined: the best KKT residual is {:.2g}. Start "
    "further inside, or extend the functions beyond the edge."
)
_INFEASIBLE = (
    "No feasible point is near: no small step reduces the violation, which is {:.2g} (scaled). Relax the "
    "constraints or, if the problem is not convex, try another start."
)
_UNBOUNDED = (
    "The cost falls without bound along feasible points. Add the missing constraint, or check the sign of "
    "the cost."
)
_ESCAPED = (
    "The iterates ran away several times, although the penalty was raised each time. Start closer to the "
    "feasible set, or bound the cost from below."
)
