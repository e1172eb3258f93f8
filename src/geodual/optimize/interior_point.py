"""The interior-point method: primal-dual Newton steps on barrier problems with a falling parameter μ.

Inequalities get a logarithmic barrier. If the start satisfies all of them strictly, so does every iterate.
Otherwise they have slacks, and violations fall together with μ, as those of equalities do. Each step solves
the condensed Newton system by preconditioned conjugate gradients within a trust region, which follows
negative curvature. Multipliers are variables of their own, so that a few steps per μ suffice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from geodual.arrays import Array

from .barrier import Barrier, LocalBarrier
from .barrier_preconditioner import BarrierPreconditioner
from .barrier_step import BarrierStep, step_beside, take_step
from .constraint import UNDEFINED
from .constraint_vector import ConstraintVector, EvaluatedPoint
from .feasibility import is_stationary_violation, remaining_violation, seek_feasible
from .kkt import Units, measure_kkt, refreshed_units
from .multiplier_progress import Progress, endless_fall, infeasible, no_progress, ran_away, unbounded, worst
from .second_order import least_curvature
from .start_checks import check_positive
from .updates import Stop, Update

_FIRST_MU = (0.1, 0.3)  # the first μ, and at most this divided by the number of inequalities
_SOLVED = 10.0  # a barrier problem is solved if its residual is at most this multiple of μ
_USUAL_DELTA = 1e-6  # least δ; smaller ones make Newton systems worse, and convergence is fast already
_LEAST_DELTA = 1e-10  # least δ where the last digits need it
_FIRST_RADIUS = 10.0  # of the trust region, in units of length, where the manifold sets no limit
_PATIENCE = 40  # iterations without progress before giving up
_RESTARTS = 3  # from a feasible point
_ESCAPES = 5  # restarts after the iterates ran away
_EXTRA_STEPS = 5  # after the certificate, for a more exact cost

_End = tuple[Update | Stop, ...]


def interior_point(
    constraints: ConstraintVector,
    start: EvaluatedPoint,
    *,
    units: Units,
    tol: float,
    multipliers: Array,
    barrier: float | None = None,
) -> Iterator[Update | Stop]:
    """Run the primal-dual interior-point method, aiming at a KKT residual of `tol`.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    start : EvaluatedPoint
        The start. If it satisfies all inequalities strictly, so does every iterate.
    units : Units
        Sizes of cost and constraints.
    tol : float
        The KKT residual to reach.
    multipliers : array of shape (m,)
        Multipliers to start from.
    barrier : float, optional
        The first μ, for the scaled problem. The default is 0.1, or less if there are many inequalities.
    """
    check_positive("barrier", barrier)
    method = _InteriorPoint(constraints, start, units, tol, barrier)
    return method.iterate(units.scaled(multipliers))


@dataclass(frozen=True)
class _State:
    """A point with multipliers, and what the next step needs to know.

    Attributes
    ----------
    model, update : LocalBarrier, Update
        The barrier function there, and its KKT residual.
    radius : float
        Trust-region radius.
    softness : float
        Factor of δ; it falls after an escape, and at the end.
    violation : float
        Violation when μ was reduced last.
    misses : int
        Number of reductions of μ in a row at which the violation had fallen too little.
    """

    model: LocalBarrier
    update: Update
    radius: float
    softness: float = 1.0
    violation: float = math.inf
    misses: int = 0


class _InteriorPoint:
    def __init__(
        self,
        constraints: ConstraintVector,
        start: EvaluatedPoint,
        units: Units,
        tol: float,
        barrier: float | None,
    ) -> None:
        self.constraints, self.start, self.units, self.tol = constraints, start, units, tol
        self.inequalities = slice(0, constraints.n_inequalities)
        self.preconditioner = BarrierPreconditioner(constraints, start)
        self.first_mu = barrier or min(_FIRST_MU[0], _FIRST_MU[1] / max(constraints.n_inequalities, 1))
        self.progress = Progress()
        self.feasible = False  # whether a feasible point was seen
        self.saddle_cost = math.inf  # cost beside the last saddle point that was left
        self.restarts = self.escapes = 0
        self.products = 0  # Hessian products since the last update

    @property
    def last_mu(self) -> float:
        """The μ at which the KKT residual is small enough."""
        return 0.1 * self.tol * self.units.cost_unit / self.units.cost

    def iterate(self, y: Array) -> Iterator[Update | Stop]:
        state: _State | _End = self._started(self.start, y)
        while isinstance(state, _State):
            if worst(state.update) <= self.tol:
                state = self._judged(self._refined(state))
                continue
            state = self._tightened(state)
            step = self._step(state)
            if isinstance(step, str):
                state = self._restarted(state) or self._given_up(state, blocked=step == "blocked")
                continue
            state = self._stepped(state, step)
            if worst(state.update) > self.tol:
                yield state.update
                self.products = 0
                state = self._examined(state)
        yield from state

    def _started(self, point: EvaluatedPoint, y: Array, softness: float = 1.0) -> _State:
        """Return the state at a point with multipliers of the scaled problem."""
        k, size = self.inequalities, self.constraints.size
        strict = k.stop > 0 and bool((point.constraints[k] < 0.0).all())
        mu = self.first_mu if size else self.last_mu
        if y[k].any():
            # The complementarity of given multipliers tells how near they are to a solution.
            slacks = np.abs(point.constraints / self.units.constraints)[k]
            mu = float(np.clip(y[k] @ slacks / len(slacks), self.last_mu, mu))
        delta = self._delta(mu, softness)
        function = Barrier(self.constraints, self.units, self.preconditioner.at, mu, delta, y, strict)
        first = function.at(point, np.ones(size)).estimates
        # The estimate μ/s of an inequality that is almost 0 is too large; 1 is the size of the cost.
        first[k] = np.clip(y[k] if y[k].any() else 1.0, 1e-4 * first[k], first[k])
        limit = self.constraints.problem.manifold.step_limit
        radius = limit if math.isfinite(limit) else _FIRST_RADIUS * point.frame.unit
        model = function.at(point, first)
        return _State(model, self._update(model), radius, softness)

    def _delta(self, mu: float, softness: float) -> float:
        return max(_LEAST_DELTA, softness * max(_USUAL_DELTA, mu / self.first_mu))

    def _update(self, model: LocalBarrier) -> Update:
        multipliers = self.units.unscaled(model.multipliers)
        kkt = measure_kkt(self.constraints, model.point, multipliers, self.units)
        return Update(model.point, multipliers, hessian_products=self.products, kkt=kkt)

    def _tightened(self, state: _State) -> _State:
        """Go on to smaller μ and δ, and to new centres, while the barrier problem is solved."""
        while self.constraints.size and state.model.residual <= _SOLVED * state.model.function.mu:
            mu = state.model.function.mu
            state = self._recentred(state, max(self.last_mu, min(0.2 * mu, mu**1.5)))
            if state.model.function.mu > 0.5 * mu:
                break
        return state

    def _recentred(self, state: _State, mu: float) -> _State:
        """Return the state for another μ, with the present multipliers as centres."""
        model, kkt = state.model, state.update.kkt
        assert kkt is not None
        # Demand a fourfold fall of the violation, as the default method does.
        missed = kkt.feasibility > max(0.25 * state.violation, self.tol)
        # Where μ does not fall any more, only a smaller δ can reduce what is left.
        softness = state.softness * (0.1 if mu > 0.5 * model.function.mu else 1.0)
        function = replace(model.function, mu=mu, delta=self._delta(mu, softness), centers=model.multipliers)
        return replace(
            state,
            model=function.at(model.point, model.multipliers),
            softness=softness,
            violation=kkt.feasibility,
            misses=state.misses + 1 if missed else 0,
        )

    def _step(self, state: _State) -> BarrierStep | str:
        model = state.model
        target = _SOLVED * max(model.function.mu, self.last_mu)
        step = take_step(model, state.radius, target)
        if not isinstance(step, str) or not self.constraints.size:
            return step
        # With the estimates as multipliers it is Newton's step for the barrier function alone.
        return take_step(model.function.at(model.point, model.estimates), 0.1 * state.radius, target)

    def _stepped(self, state: _State, step: BarrierStep) -> _State:
        """Return the state after a step, in new units if cost or constraints looked large at a far start."""
        model, old = step.model, self.units
        self.units = refreshed_units(old, self.constraints, model.point)
        if self.units is not old:
            y, centers = (
                self.units.scaled(old.unscaled(each)) for each in (model.multipliers, model.function.centers)
            )
            model = replace(model.function, units=self.units, centers=centers).at(model.point, y)
        self.products += step.n_products + bool(self.constraints.size)  # one is for the preconditioner
        update = self._update(model)
        assert update.kkt is not None
        self.feasible |= update.kkt.feasibility <= self.tol
        # A fall of Φ that is not small compared with μ is progress, too.
        self.progress.note(update, step.decrease > 0.1 * model.function.mu)
        return replace(state, model=model, update=update, radius=step.radius)

    def _refined(self, state: _State) -> _State:
        """Take more steps after the certificate: the products λ h of many inequalities add up in the cost."""
        again, mu = state, 0.01 * self.last_mu
        for _ in range(_EXTRA_STEPS if self.constraints.n_inequalities else 0):
            if again.model.function.mu > mu:
                again = self._recentred(again, mu)
            step = self._step(again)
            if isinstance(step, str):
                break
            again = self._stepped(again, step)
            if worst(again.update) <= self.tol:
                state = again
                if float((again.model.multipliers * again.model.slacks).max()) <= _SOLVED * mu:
                    break
        return state

    def _judged(self, state: _State) -> _State | _End:
        """Check the second-order condition at a KKT point; where it fails, return a state beside it."""
        update = replace(state.update, hessian_products=self.products)
        curvature = least_curvature(self.constraints, self.units, state.model.limit_point, update.multipliers)
        if curvature is None:
            return (replace(update, second_order="unknown"),)
        if not curvature.is_negative:
            return (replace(update, second_order="holds"),)
        # If the last saddle point was not left for a lower cost, this one will not be either.
        beside = step_beside(state.model, curvature) if update.point.cost < self.saddle_cost else None
        if beside is None:
            return (replace(update, second_order="fails"),)
        self.saddle_cost, self.progress = beside.cost, Progress()
        return self._started(beside, np.zeros(self.constraints.size))

    def _examined(self, state: _State) -> _State | _End:
        """Stop or start again if the problem seems unbounded or infeasible, or nothing improves."""
        if self._has_run_away(state.update.point):
            return self._after_escape(state)
        stuck = self.progress.since_best >= _PATIENCE
        doubtful = stuck or (state.misses >= 3 and state.model.function.delta <= 1e-3)
        otherwise = self._given_up(state, blocked=False) if stuck else state
        return (self._restarted(state) if doubtful else None) or otherwise

    def _has_run_away(self, point: EvaluatedPoint) -> bool:
        first, last = self.start.cost / self.units.cost, point.cost / self.units.cost
        try:
            return first - last > endless_fall(first) or self.start.frame.remoteness(point.x) > 1.0
        except UNDEFINED:
            return True

    def _after_escape(self, state: _State) -> _State | _End:
        if state.model.violation <= math.sqrt(self.tol):
            return (unbounded(),)
        if self.escapes >= _ESCAPES:
            return (ran_away(),)
        self.escapes += 1
        return self._started(self.start, np.zeros(self.constraints.size), 0.01**self.escapes)

    def _restarted(self, state: _State) -> _State | _End | None:
        """Start again from a feasible point; stop if there is none nearby; None if that is no remedy."""
        if state.model.violation <= 10.0 * self.tol or self.restarts >= _RESTARTS:
            return None
        self.restarts += 1
        found = seek_feasible(self.constraints, self.units, state.update.point, self.tol)
        if is_stationary_violation(found, self.tol):
            found = seek_feasible(self.constraints, self.units, self.start, self.tol)
        point, zeros, strict = found.model.point, np.zeros(self.constraints.size), state.model.function.strict
        if is_stationary_violation(found, self.tol):
            if self.feasible:
                return None
            end = infeasible(remaining_violation(found))
            # Where all iterates satisfy the inequalities, so must the last.
            return (end,) if strict else (Update(point, zeros, hessian_products=found.n_products), end)
        if strict and not (point.constraints[self.inequalities] < 0.0).all():
            return None
        self.progress, self.units = Progress(), refreshed_units(self.units, self.constraints, point)
        return self._started(point, zeros, 1e-3)

    def _given_up(self, state: _State, *, blocked: bool) -> _End:
        best = self.progress.best or state.update
        return best, no_progress(worst(best), blocked=blocked)
