"""The default method: Rockafellar's proximal method of multipliers on a manifold, with a Newton polish.

Each iteration minimises the augmented Lagrangian plus a small proximal term by Newton-CG, inexactly at
first, and updates the multipliers from it. The problem is scaled by its sizes at the start, so that the
numbers below mean the same for every problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from geodual.manifolds.base import Array, Point

from .active_set import polish
from .kkt import Units, measure_kkt
from .lagrangian import Lagrangian, LocalLagrangian
from .newton_cg import Minimum, newton_cg
from .problem import ConstraintVector
from .progress import Stop, Update

_PENALTY = 10.0
_PENALTY_GROWTH = 10.0
_PENALTY_LIMIT = 1e14
_PROXIMAL_WEIGHT = 1e-3
_INNER_TOLERANCE = 1e-2
_INNER_ITERATIONS = 40
_ESCAPE_VALUE = 1e12  # a scaled cost this far below the start counts as minus infinity
_ESCAPE_STEPS = 25.0  # as does a point this many step limits away on a curved Hadamard manifold
_PATIENCE = 15


@dataclass(frozen=True)
class _State:
    """x and the multipliers y of the scaled problem, with what steers the next iteration."""

    x: Point
    y: Array
    penalty: float = _PENALTY
    proximal_weight: float = _PROXIMAL_WEIGHT
    inner_tol: float = _INNER_TOLERANCE
    violation: float = float("inf")  # of the last iterate
    misses: int = 0  # iterations in a row in which the violation fell too little
    escapes: int = 0  # inner solves that ran away
    restorations: int = 0
    polish_below: float = float("inf")  # residual below which a polish is worth a try


def proximal_lagrangian(
    constraints: ConstraintVector, x: Point, *, units: Units, tol: float
) -> Iterator[Update | Stop]:
    """Iterate the proximal method of multipliers until a KKT residual of `tol`.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    x : Point
        Start; it may be infeasible.
    units : Units
        Sizes of cost and constraints.
    tol : float
        The KKT residual aimed at.
    """
    return _ProximalLagrangian(constraints, units, tol).iterate(x)


class _ProximalLagrangian:
    def __init__(self, constraints: ConstraintVector, units: Units, tol: float) -> None:
        self.constraints, self.units, self.tol = constraints, units, tol
        self.manifold = constraints.problem.manifold
        # What `tol` is for the gradient of the scaled problem.
        self.scaled_tol = tol * units.cost_unit / units.cost

    def iterate(self, x: Point) -> Iterator[Update | Stop]:
        state = self._initial(x)
        best, since_best = float("inf"), 0
        while True:
            minimum = self._minimise(state)
            if minimum.status == "runaway":
                outcome = self._after_escape(state, minimum)
                if isinstance(outcome, Stop):
                    yield self._update(minimum.point, state.y, state.penalty, minimum.n_products)
                    yield outcome
                    return
                state = outcome
                continue
            update, state = self._advance(state, minimum)
            yield update
            residual = _worst(update)
            best, since_best = (residual, 0) if residual < 0.9 * best else (best, since_best + 1)
            if state.misses >= 3 and state.penalty >= 1e3 * _PENALTY and state.restorations < 2:
                restored = self._restore(state)
                if isinstance(restored, Stop):
                    yield restored
                    return
                state = restored
            if since_best >= _PATIENCE or state.penalty > _PENALTY_LIMIT:
                yield Stop("breakdown", _NO_PROGRESS.format(best))
                return

    def _initial(self, x: Point) -> _State:
        y = np.zeros(self.constraints.size)
        if not self.constraints.size:
            return _State(x, y, proximal_weight=0.0, inner_tol=0.5 * self.scaled_tol)
        return _State(x, y, proximal_weight=_PROXIMAL_WEIGHT if self.manifold.closed_form_log else 0.0)

    def _minimise(self, state: _State) -> Minimum:
        objective = Lagrangian(
            self.constraints,
            state.y,
            cost_weight=1.0 / self.units.cost,
            weights=1.0 / self.units.constraints,
            penalty=state.penalty,
            proximal_weight=state.proximal_weight,
            center=state.x,
        )
        return newton_cg(
            objective,
            state.x,
            tol=state.inner_tol,
            max_iter=_INNER_ITERATIONS,
            step_limit=self.manifold.step_limit,
            travel_limit=_ESCAPE_STEPS * self.manifold.step_limit if self.manifold.hadamard else np.inf,
            lower_limit=objective(state.x).value - _ESCAPE_VALUE,
        )

    def _advance(self, state: _State, minimum: Minimum) -> tuple[Update, _State]:
        """Update the multipliers from the inner minimum, polish if that is promising, and steer."""
        model = minimum.model
        assert isinstance(model, LocalLagrangian)
        x, y, violation = minimum.point, model.estimates, self._violation(model, state)
        update = self._update(x, y, state.penalty, minimum.n_products)
        if minimum.status == "max_iterations":
            return update, self._continued(state, x, violation)
        polish_below = state.polish_below
        if self.constraints.size and self.tol < _worst(update) < polish_below:
            polished = polish(self.constraints, self.units, x, y, state.penalty, self.tol)
            x, y, polish_below = polished.x, polished.y, 0.1 * polished.residual
            update = self._update(x, y, state.penalty, minimum.n_products + polished.n_products)
        missed = violation > 0.25 * state.violation and violation > self.tol
        inner_tol = max(0.1 * self.scaled_tol, 0.1 * min(state.inner_tol, max(violation, self.scaled_tol)))
        return update, replace(
            state,
            x=x,
            y=y,
            penalty=state.penalty * (_PENALTY_GROWTH if missed else 1.0),
            proximal_weight=0.1 * state.proximal_weight,
            inner_tol=inner_tol,
            violation=violation,
            misses=state.misses + 1 if missed else 0,
            polish_below=polish_below,
        )

    def _continued(self, state: _State, x: Point, violation: float) -> _State:
        """Go on with an unfinished inner problem, with more penalty if it leads away from feasibility."""
        growth = _PENALTY_GROWTH if violation > state.violation else 1.0
        return replace(state, x=x, penalty=growth * state.penalty)

    def _violation(self, model: LocalLagrangian, state: _State) -> float:
        """Return the largest violation of feasibility and complementarity together."""
        slack = np.maximum(model.violations, -state.y / state.penalty)
        error = np.where(self.constraints.is_equality, model.violations, slack)
        return float(np.max(np.abs(error), initial=0.0))

    def _update(self, x: Point, y: Array, penalty: float, n_products: int) -> Update:
        multipliers = y * self.units.cost / self.units.constraints
        measured = measure_kkt(self.constraints, x, multipliers, self.units)
        return Update(x, multipliers, penalty, n_products, measured)

    def _least_violation(self, x: Point) -> Minimum:
        """Minimise half the squared violation from `x`."""
        objective = Lagrangian(
            self.constraints,
            np.zeros(self.constraints.size),
            cost_weight=0.0,
            weights=1.0 / self.units.constraints,
            penalty=1.0,
        )
        limit = _ESCAPE_STEPS * self.manifold.step_limit if self.manifold.hadamard else np.inf
        return newton_cg(
            objective, x, tol=0.1 * self.tol, step_limit=self.manifold.step_limit, travel_limit=limit
        )

    def _restore(self, state: _State) -> _State | Stop:
        """Look for a feasible point; if there is none nearby, say that the problem is infeasible."""
        minimum = self._least_violation(state.x)
        model = minimum.model
        assert isinstance(model, LocalLagrangian)
        left = float(np.max(np.abs(model.estimates), initial=0.0))
        slope = model.frame.norm(model.gradient) / max(left, self.tol)
        if left > np.sqrt(self.tol) and (slope < 1e-5 or minimum.status == "runaway"):
            return Stop("infeasible", _INFEASIBLE.format(left))
        return replace(
            state,
            x=minimum.point,
            y=np.zeros_like(state.y),
            violation=float("inf"),
            misses=0,
            restorations=state.restorations + 1,
        )

    def _after_escape(self, state: _State, minimum: Minimum) -> _State | Stop:
        """Tell an unbounded problem from a penalty that was too weak to hold the iterate."""
        start_cost = self._scaled_cost(state.x)
        feasible = self._least_violation(minimum.point) if self.constraints.size else minimum
        fall = start_cost - self._scaled_cost(minimum.point)
        kept = start_cost - self._scaled_cost(feasible.point)
        model = feasible.model
        assert isinstance(model, LocalLagrangian)
        violated = not self.constraints.size or np.max(np.abs(model.estimates)) <= np.sqrt(self.tol)
        if violated and kept > 0.5 * fall > 0.0:
            return Stop("unbounded", _UNBOUNDED)
        if state.escapes >= 5:
            return Stop("breakdown", _ESCAPED)
        return replace(
            state,
            penalty=100.0 * state.penalty,
            proximal_weight=10.0 * state.proximal_weight,
            escapes=state.escapes + 1,
        )

    def _scaled_cost(self, x: Point) -> float:
        return float(self.constraints.problem.cost(x)) / self.units.cost


def _worst(update: Update) -> float:
    assert update.measured is not None
    return update.measured[1].worst


_NO_PROGRESS = (
    "No further progress: the best KKT residual is {:.2g}. The tolerance may be below what rounding errors "
    "allow, or the problem may lack regularity; try a larger `tol` or another start."
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
