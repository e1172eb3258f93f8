"""The interior-point method: primal-dual Newton steps on barrier problems with a decreasing μ.

Inequalities get a logarithmic barrier. If the start satisfies all of them strictly, so does every iterate.
Otherwise they have slacks, and their violations decrease together with μ, as do those of equalities. Each
step solves the condensed Newton system by preconditioned conjugate gradients within a trust region, and
follows negative curvature. Multipliers are separate variables, so that a few steps per μ are enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from geodual.arrays import Array
from geodual.manifolds.frame import Coordinates

from .barrier import Barrier, BarrierPreconditioner, LocalBarrier
from .checks import check_positive
from .constraint import UNDEFINED
from .feasibility import is_stationary_violation, remaining_violation, seek_feasible
from .kkt import Units, measure_kkt, refreshed_units
from .newton_cg import lowest_of_parabola, truncated_cg
from .problem import ConstraintVector, EvaluatedPoint
from .second_order import Judgment, judge
from .updates import RAN_AWAY, UNBOUNDED, Progress, Stop, Update, endless_fall, infeasible, no_progress

_FIRST_MU = (0.1, 0.3)  # first μ; from a strict start, at most the second over the number of inequalities
_SOLVED = 10.0  # a barrier problem is solved if its residual is at most this multiple of μ
_USUAL_DELTA = 1e-6  # smallest δ; less makes Newton systems worse, and convergence is fast already
_LEAST_DELTA = 1e-10  # smallest δ if the last digits need it
_FIRST_RADIUS = 10.0  # of the trust region, in units of length, if the manifold sets no limit
_PATIENCE = 40  # iterations without progress before giving up
_RESTARTS = 3  # from a feasible point
_ESCAPES = 5  # restarts after the iterates ran away
_EXTRA_STEPS = 5  # after the certificate, for a more accurate cost
_TRIALS = 40
_SUFFICIENT = 1e-4  # share of the decrease promised by the slope that a step must achieve (Armijo)
_NEAR = 0.99  # share of the way to the boundary that a step may go; more as μ decreases
_RANGE = 1e4  # factor by which a multiplier may differ from its estimate
_CG_ACCURACY = (1e-10, 0.1)  # smallest and largest relative residual of conjugate gradients

End = tuple[Update | Stop, ...]


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
        The starting point. If it satisfies all inequalities strictly, so does every iterate.
    units : Units
        Units of cost and constraints.
    tol : float
        The KKT residual to reach.
    multipliers : array of shape (m,)
        Multipliers to start from.
    barrier : float, optional
        The first μ, for the scaled problem. The default is 0.1, or less if the start satisfies many
        inequalities strictly.
    """
    check_positive("barrier", barrier)
    if constraints.functions:
        raise ValueError(
            "The interior-point method takes inequalities, equalities and bounds, but no other terms; use "
            "the default method."
        )
    method = InteriorPoint(constraints, start, units, tol, barrier)
    return method.iterate(units.scaled(multipliers))


@dataclass(frozen=True)
class State:
    """A point with multipliers, and the settings of the next step.

    Attributes
    ----------
    model, update : LocalBarrier, Update
        The barrier function there, and its KKT residual.
    radius : float
        Trust-region radius.
    softness : float
        Factor of δ; it decreases after an escape, and at the end.
    violation : float
        Violation at the last reduction of μ.
    misses : int
        Number of consecutive reductions of μ at which the violation had decreased too little.
    """

    model: LocalBarrier
    update: Update
    radius: float
    softness: float = 1.0
    violation: float = math.inf
    misses: int = 0


class InteriorPoint:
    """The method: transitions between states, and a record of the solve."""

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
        self.first_mu = barrier or self._usual_mu()
        self.progress = Progress()
        self.feasible = False  # whether any point was feasible
        self.saddle_cost = math.inf  # cost next to the last saddle point that was left
        self.restarts = self.escapes = 0
        self.products = 0  # Hessian products since the last update

    def _usual_mu(self) -> float:
        # At a strictly feasible start, many logarithms would outweigh the cost and drive the point away. With
        # slacks, a small μ would hold multipliers of inactive constraints in place for many steps.
        n = self.constraints.n_inequalities
        is_strict = bool((self.start.constraints[:n] < 0.0).all())
        return min(_FIRST_MU[0], _FIRST_MU[1] / max(n, 1)) if is_strict else _FIRST_MU[0]

    @property
    def last_mu(self) -> float:
        """The μ at which the KKT residual is small enough."""
        return 0.1 * self.tol * self.units.cost_unit / self.units.cost

    def iterate(self, y: Array) -> Iterator[Update | Stop]:
        """Yield updates, beginning with multipliers of the scaled problem."""
        state: State | End = self.started(self.start, y)
        while isinstance(state, State):
            if state.update.worst <= self.tol:
                state = self.judged(self.refined(state))
                continue
            state = self.tightened(state)
            step = self.step(state)
            if isinstance(step, str):
                state = self.restarted(state) or self.given_up(state, blocked=step == "blocked")
                continue
            state = self.stepped(state, step)
            if state.update.worst > self.tol:
                yield state.update
                self.products = 0
                state = self.examined(state)
        yield from state

    def started(self, point: EvaluatedPoint, y: Array, softness: float = 1.0) -> State:
        """Return the state at a point with multipliers of the scaled problem."""
        k, size = self.inequalities, self.constraints.size
        strict = k.stop > 0 and bool((point.constraints[k] < 0.0).all())
        mu = self.first_mu if size else self.last_mu
        if y[k].any():
            # The complementarity of given multipliers shows how close they are to a solution.
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
        return State(model, self._update(model), radius, softness)

    def _delta(self, mu: float, softness: float) -> float:
        return max(_LEAST_DELTA, softness * max(_USUAL_DELTA, mu / self.first_mu))

    def _update(self, model: LocalBarrier) -> Update:
        multipliers = self.units.unscaled(model.multipliers)
        kkt = measure_kkt(self.constraints, model.point, multipliers, self.units)
        return Update(model.point, multipliers, hessian_products=self.products, kkt=kkt, units=self.units)

    def tightened(self, state: State) -> State:
        """Reduce μ and δ, and move the centers, as long as the barrier problem is solved."""
        while self.constraints.size and state.model.residual <= _SOLVED * state.model.function.mu:
            mu = state.model.function.mu
            state = self.recentered(state, max(self.last_mu, min(0.2 * mu, mu**1.5)))
            if state.model.function.mu > 0.5 * mu:
                break
        return state

    def recentered(self, state: State, mu: float) -> State:
        """Return the state for another μ, with the current multipliers as centers."""
        model, kkt = state.model, state.update.kkt
        assert kkt is not None
        # The violation must decrease fourfold, as in the default method.
        missed = kkt.feasibility > max(0.25 * state.violation, self.tol)
        # Once μ no longer decreases, only a smaller δ can reduce the rest.
        softness = state.softness * (0.1 if mu > 0.5 * model.function.mu else 1.0)
        function = replace(model.function, mu=mu, delta=self._delta(mu, softness), centers=model.multipliers)
        return replace(
            state,
            model=function.at(model.point, model.multipliers),
            softness=softness,
            violation=kkt.feasibility,
            misses=state.misses + 1 if missed else 0,
        )

    def step(self, state: State) -> BarrierStep | str:
        """Take a step, or return why there is none."""
        model = state.model
        target = _SOLVED * max(model.function.mu, self.last_mu)
        step = take_step(model, state.radius, target)
        if not isinstance(step, str) or not self.constraints.size:
            return step
        # With the estimates as multipliers, this is Newton's step for the barrier function alone.
        return take_step(model.function.at(model.point, model.estimates), 0.1 * state.radius, target)

    def stepped(self, state: State, step: BarrierStep) -> State:
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
        # A decrease of Φ that is not small compared with μ is progress, too.
        self.progress.note(update, step.decrease > 0.1 * model.function.mu)
        return replace(state, model=model, update=update, radius=step.radius)

    def refined(self, state: State) -> State:
        """Take more steps after the certificate, because many products λ h add up in the cost."""
        again, mu = state, 0.01 * self.last_mu
        for _ in range(_EXTRA_STEPS if self.constraints.n_inequalities else 0):
            if again.model.function.mu > mu:
                again = self.recentered(again, mu)
            step = self.step(again)
            if isinstance(step, str):
                break
            again = self.stepped(again, step)
            if again.update.worst <= self.tol:
                state = again
                if float((again.model.multipliers * again.model.slacks).max()) <= _SOLVED * mu:
                    break
        return state

    def judged(self, state: State) -> State | End:
        """Check the second-order condition at a KKT point; if it fails, return a state next to it."""
        found = judge(self.constraints, self.units, state.model.limit_point, state.update.multipliers)
        update = replace(state.update, hessian_products=self.products, second_order=found.verdict)
        # If leaving the last saddle point did not lower the cost, leaving this one will not either.
        beside = self.beside(state.model, found) if update.point.cost < self.saddle_cost else None
        if beside is None:
            return (update,)
        self.saddle_cost, self.progress = beside.cost, Progress()
        fall = (update.point.cost - beside.cost) / self.units.cost
        state = self.started(beside, np.zeros(self.constraints.size))
        # A barrier that outweighs the decrease would lead back to the same point.
        mu = max(self.last_mu, fall)
        return self.recentered(state, mu) if mu < 0.5 * state.model.function.mu else state

    def beside(self, model: LocalBarrier, found: Judgment) -> EvaluatedPoint | None:
        """Return a lower point next to a saddle point; strictly feasible if all iterates must be."""
        if found.curvature is None:
            return None
        point = found.curvature.lower_point(model.moved, model.value, model.frame.unit)
        return found.lower if point is None and not model.function.strict else point

    def examined(self, state: State) -> State | End:
        """Stop or restart if the problem seems unbounded or infeasible, or nothing improves."""
        if self.has_run_away(state.update.point):
            return self.after_escape(state)
        stuck = self.progress.since_best >= _PATIENCE
        doubtful = stuck or (state.misses >= 3 and state.model.function.delta <= 1e-3)
        otherwise = self.given_up(state, blocked=False) if stuck else state
        return (self.restarted(state) if doubtful else None) or otherwise

    def has_run_away(self, point: EvaluatedPoint) -> bool:
        """Return whether the cost decreased without bound, or numbers almost overflow."""
        first, last = self.start.cost / self.units.cost, point.cost / self.units.cost
        try:
            return first - last > endless_fall(first) or self.start.frame.remoteness(point.x) > 1.0
        except UNDEFINED:
            return True

    def after_escape(self, state: State) -> State | End:
        """Stop if the problem is unbounded; otherwise restart with harder constraints."""
        if state.model.violation <= math.sqrt(self.tol):
            return (UNBOUNDED,)
        if self.escapes >= _ESCAPES:
            return (RAN_AWAY,)
        self.escapes += 1
        return self.started(self.start, np.zeros(self.constraints.size), 0.01**self.escapes)

    def restarted(self, state: State) -> State | End | None:
        """Restart from a feasible point; stop if none is near; return None if this does not help."""
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
            # If all iterates satisfy the inequalities, so must the last one.
            return (end,) if strict else (Update(point, zeros, hessian_products=found.n_products), end)
        if strict and not (point.constraints[self.inequalities] < 0.0).all():
            return None
        self.progress, self.units = Progress(), refreshed_units(self.units, self.constraints, point)
        return self.started(point, zeros, 1e-3)

    def given_up(self, state: State, *, blocked: bool) -> End:
        """Return the best update and the stop."""
        best = self.progress.best or state.update
        return best, no_progress(best.worst, blocked=blocked)


@dataclass(frozen=True)
class BarrierStep:
    """The result of a step.

    Attributes
    ----------
    model : LocalBarrier
        The barrier function at the new point, with the new multipliers.
    radius : float
        Trust-region radius of the next step.
    decrease : float
        Decrease of the barrier function.
    n_products : int
        Number of Hessian products.
    """

    model: LocalBarrier
    radius: float
    decrease: float
    n_products: int


def take_step(model: LocalBarrier, radius: float, target: float) -> BarrierStep | str:
    """Take a primal-dual Newton step that reduces the barrier function.

    Parameters
    ----------
    model : LocalBarrier
        The barrier function at the current point.
    radius : float
        Trust-region radius.
    target : float
        The residual that is good enough.

    Returns
    -------
    BarrierStep or str
        The step, or why there is none: "stalled" if no trial point is better, "blocked" if cost or
        constraints are not defined at the trial points.
    """
    if not model.frame.norm(model.gradient) > 0.0:  # the step is 0, but the multipliers may still be wrong
        return BarrierStep(model.function.at(model.point, model.estimates), radius, 0.0, 0)
    newton = truncated_cg(model, radius, newton_accuracy(model, target))
    slopes = model.slopes(newton.direction)
    found = follow(model, newton.direction, newton.slope, slopes)
    if isinstance(found, str):
        return found
    trial, fraction = found
    moved = model.function.at(trial.point, _next_multipliers(model, trial, slopes))
    if not math.isfinite(moved.residual):  # a gradient is not finite
        return "blocked"
    decrease = model.value - trial.value
    if fraction < 1.0:
        radius = max(2.0 * fraction * model.frame.norm(newton.direction), 0.5 * radius)
    elif not decrease > 0.1 * newton.decrease:
        radius *= 0.5
    elif newton.at_boundary and decrease > 0.5 * newton.decrease:
        radius *= 4.0 if decrease > 0.9 * newton.decrease else 2.0
    return BarrierStep(moved, radius, decrease, newton.n_products)


def newton_accuracy(model: LocalBarrier, target: float) -> float:
    """Return the relative residual to which the Newton system is worth solving."""
    # After a full step, the residual of the system is the gradient of the Lagrangian. It need not be much
    # smaller than the target, or than it is now.
    present, norm = model.frame.norm(model.lagrangian.gradient), model.frame.norm(model.gradient)
    wanted = max(0.3 * target, min(0.1, math.sqrt(present)) * present)
    return float(np.clip(wanted / norm, *_CG_ACCURACY))


def follow(
    model: LocalBarrier, direction: Coordinates, slope: float, slopes: Array
) -> tuple[LocalBarrier, float] | str:
    """Follow the direction, or if that fails a parabola, until Φ decreases enough; return the fraction."""
    fraction, obstacle = _fraction_to_boundary(model, slopes), "stalled"
    bend = 0.0 * direction
    for attempt in range(_TRIALS):
        trial = model.moved(fraction * direction + fraction**2 * bend)
        if trial is None:
            obstacle, fraction = "blocked", 0.25 * fraction
            continue
        if trial.value - model.value <= _SUFFICIENT * fraction * slope + model.noise:
            return trial, fraction
        if attempt == 0 and slopes.size:
            curved = _bend(model, trial, fraction, slopes)
            if fraction * model.frame.norm(curved) < model.frame.norm(direction):
                bend = curved
                continue
        fraction = shorter_fraction(model, trial, fraction, slope, slopes)
    return obstacle


def _fraction_to_boundary(model: LocalBarrier, slopes: Array) -> float:
    """Return the fraction of the step at which a strict inequality would almost be 0."""
    k = model.inequalities
    fastest = float((slopes[k] / model.slacks[k]).max(initial=0.0)) if model.function.strict else 0.0
    near = max(_NEAR, 1.0 - model.function.mu)
    return near / fastest if fastest > near else 1.0


def _bend(model: LocalBarrier, trial: LocalBarrier, fraction: float, slopes: Array) -> Coordinates:
    """Return b that makes stiff constraints almost linear along t d + t² b.

    Without it, steps along a curved boundary are very short. A constraint with the quadratic term q t² along
    d needs J b = −q. The b that disturbs Φ least is −(H + Jᵀ D J)⁻¹ Jᵀ D q.
    """
    q = (trial.violations - model.violations - fraction * slopes) / fraction**2
    return -1.0 * model.precondition(model.pull(model.stiffness * q))


def shorter_fraction(
    model: LocalBarrier, trial: LocalBarrier, fraction: float, slope: float, slopes: Array
) -> float:
    """Return a smaller fraction after a trial that was not good enough."""
    change = trial.value - model.value
    if math.isfinite(change):
        best = lowest_of_parabola(slope, change, fraction)
        return float(np.clip(best, 0.1 * fraction, 0.5 * fraction))
    # The point at which the parabola through both values and the slope of an inequality is almost 0.
    h, dh = model.violations[model.inequalities], slopes[model.inequalities]
    q = (trial.violations[model.inequalities] - h - fraction * dh) / fraction**2
    roots = -2.0 * _NEAR * h / (dh + np.sqrt(np.maximum(dh**2 - 4.0 * _NEAR * q * h, 0.0)))
    nearest = float(roots[roots > 0.0].min(initial=math.inf))
    return float(np.clip(nearest, 0.1 * fraction, 0.9 * fraction))


def _next_multipliers(model: LocalBarrier, trial: LocalBarrier, slopes: Array) -> Array:
    """Return the multipliers π + D J d of the Newton step; those of inequalities stay positive."""
    k = model.inequalities
    multipliers = model.estimates + model.stiffness * slopes
    old = model.multipliers[k]
    falls = old - multipliers[k]
    to_zero = float((old[falls > 0.0] / falls[falls > 0.0]).min(initial=math.inf))
    fraction = min(1.0, max(_NEAR, 1.0 - model.function.mu) * to_zero)
    # Multipliers far from their estimates would make the next Newton step useless.
    estimates = trial.estimates[k]
    multipliers[k] = np.clip(old - fraction * falls, estimates / _RANGE, estimates * _RANGE)
    return multipliers
