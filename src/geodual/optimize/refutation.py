"""Refute certificates: a derivative contradicts its function, or the cost decreases farther away.

The KKT residual consists of gradients at one point. A wrong gradient that vanishes makes it small, and so
does one that fades far from the start. A few values of cost and constraints reveal both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from geodual.arrays import Array
from geodual.manifolds.frame import Coordinates, Point

from .checks import named_constraints
from .constraint import UNDEFINED, as_cost
from .kkt import Units, measure_feasibility, random_direction
from .lagrangian import Lagrangian, LocalLagrangian
from .newton_cg import truncated_cg
from .problem import ConstraintVector, EvaluatedPoint
from .trees import scaled
from .updates import Stop

_EPS = float(np.finfo(float).eps)
_STEP = _EPS ** (1 / 3)  # balances truncation and rounding errors of a central difference
_WIDER = 10.0  # factor of the second step, which must confirm the slope
_BEYOND = 10.0  # more than this many times the estimated rounding error is not rounding
_CLEAR = 1e-4  # error of a slope of the scaled Lagrangian above which it counts
_ALIKE = 0.2  # relative difference up to which two slopes agree
_PENALTY = 3.0  # of the scaled problem, as at the start of the default method
_FAR = 10.0  # units of length from the start within which a small gradient cannot mislead
_FADED = 0.01  # times √tol: share of the change of the cost that the slope predicts over the same distance
_LONG = 0.1  # length of a Newton step, as a share of the way from the start, above which it matters
_DOUBLINGS = 10  # of the distance, up to a thousandfold
_QUARTERS = 20  # of a Newton step in a curved valley, down to 1e-12 of it
_STEADY = 0.9  # ratio of consecutive decreases above which a series of them counts as endless


def wrong_derivative(constraints: ConstraintVector, model: LocalLagrangian) -> str:
    """Return a message if a function contradicts its derivative at a point, otherwise "".

    The slope of ⟨w, (f, c)⟩ along a random direction is measured by a forward and a central difference of
    values. If both clearly differ from the derivatives, a wider difference must confirm it. Kinks are not a
    contradiction: there, the slopes ahead and behind differ.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    model : LocalLagrangian
        A combination of cost and constraints, without a penalty, at a point.
    """
    function, frame = model.function, model.frame
    c = frame.unit * random_direction(frame, np.random.default_rng(1))
    weights = np.append(function.cost_weight, function.weights * function.multipliers)
    here = np.append(model.point.cost, model.point.constraints)
    told = frame.inner(model.gradient, c)
    errors = []
    for step in (_STEP, _WIDER * _STEP):
        ahead = _values(constraints, frame.move(step * c))
        if ahead is None or abs(float(weights @ (ahead - here)) / step - told) <= _CLEAR:
            return ""
        behind = _values(constraints, frame.move(-step * c))
        if behind is None:
            return ""
        changes = (here - behind) / step, (ahead - here) / step
        backward, forward = (float(weights @ change) for change in changes)
        noise = 16.0 * _EPS * float(np.abs(weights) @ (np.abs(behind) + np.abs(ahead))) / step
        errors.append(0.5 * (forward + backward) - told)
        if not abs(errors[-1]) > max(_CLEAR, _BEYOND * noise, abs(forward - backward)):
            return ""
    if abs(errors[1] - errors[0]) > _ALIKE * abs(errors[0]):
        return ""
    return _CONTRADICTED.format(_culprit(constraints, model, c, 0.5 * (changes[0] + changes[1])))


def violation_at(constraints: ConstraintVector, units: Units, point: EvaluatedPoint) -> LocalLagrangian:
    """Return the combination of constraints whose gradient is that of the violation, scaled to size 1."""
    excess = (point.constraints - constraints.prox(point.constraints, 0.0)) / units.constraints
    y = excess / max(float(np.linalg.norm(excess)), _EPS)
    return Lagrangian(constraints, y, cost_weight=0.0, weights=1.0 / units.constraints).at(point)


def _values(constraints: ConstraintVector, x: Point) -> Array | None:
    """Return cost and constraints at a point; None where they are not defined."""
    try:
        values = np.append(as_cost(constraints.problem.cost(x)), constraints.value(x))
    except UNDEFINED:
        return None
    return values if np.isfinite(values).all() else None


def _culprit(constraints: ConstraintVector, model: LocalLagrangian, c: Coordinates, slopes: Array) -> str:
    """Return the function whose slope differs most from its derivative."""
    problem, frame, function = constraints.problem, model.frame, model.function
    w = np.broadcast_to(function.weights * function.multipliers, constraints.size)

    def difference(weights: Array, slope: Array, egrad: object) -> float:
        return abs(float(weights @ slope) - frame.inner(frame.gradient(egrad), c))

    a = np.array([function.cost_weight])
    found = {
        "the cost": difference(a, slopes[:1], scaled(a[0], problem.gradient(frame.point))) if a[0] else 0.0
    }
    begin = 0
    for name, block in named_constraints(problem):
        own = slice(begin, begin + len(block(frame.point)))
        begin = own.stop
        if w[own].any():
            egrad = block.jacobian_product(frame.point, w[own])
            found[name] = difference(w[own], slopes[1:][own], egrad)
    return max(found, key=lambda name: found[name])


class _Flattened(LocalLagrangian):
    """A function with its curvature reduced by what may be rounding error."""

    def __init__(self, model: LocalLagrangian, errors: Array) -> None:
        super().__init__(model.function, model.point)
        self._errors = errors

    def hessian_product(self, c: Coordinates) -> Coordinates:
        """Return the Hessian times `c`."""
        return super().hessian_product(c) - self._errors * c


def _parabola_promises(model: LocalLagrangian, c: Coordinates, constraints: ConstraintVector) -> float:
    """Return the decrease of a function along a line if its values lie on a parabola; otherwise infinity.

    The curvature of a parabola is not rounding error: it is the same over long distances.
    """
    lengths = 0.25 ** np.arange(3)
    try:
        points = [[constraints.evaluate(model.frame.move(s * t * c)) for s in (-1.0, 1.0)] for t in lengths]
    except UNDEFINED:
        return math.inf
    values = np.array([[model.function.at(point).value for point in pair] for pair in points])
    bends = (values.sum(axis=1) - 2.0 * model.value) / lengths**2
    alike = 0.0 < bends.max() <= (1.0 + _ALIKE) * bends.min()
    return 0.5 * model.frame.inner(model.gradient, c) ** 2 / float(bends.min()) if alike else math.inf


@dataclass(frozen=True)
class Certificate:
    """A point that satisfies the KKT conditions to a tolerance, and the start of the solve.

    Attributes
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    units : Units
        Units of cost and constraints.
    tol : float
        The tolerance.
    start, point : EvaluatedPoint
        The start of the solve, and the point.
    multipliers : array of shape (m,)
        The multipliers there.
    """

    constraints: ConstraintVector
    units: Units
    tol: float
    start: EvaluatedPoint
    point: EvaluatedPoint
    multipliers: Array

    def refuted(self) -> Stop | None:
        """Return what contradicts the certificate; None if nothing does."""
        y = self.units.scaled(self.multipliers)
        wrong = wrong_derivative(self.constraints, self.units.lagrangian(self.constraints, y).at(self.point))
        if wrong:
            return Stop("breakdown", "The KKT conditions only seem to hold. " + wrong)
        return self._still_falls(y) or self._falls_nearby(y)

    def _falls_nearby(self, y: Array) -> Stop | None:
        """Return a stop if a Newton step leads to a much lower cost, or rounding errors hide whether it does.

        Compared with a large cost or a large unit of length, a slope may be within the tolerance and still
        matter.
        """
        frame, here = self.point.frame, self.constraints.total_cost(self.point)
        size = max(abs(here), 1.0)
        # As for a global minimum, a decrease by √tol of the cost is too much. With ordinary units, no slope
        # within the tolerance predicts so much.
        if math.sqrt(self.tol) * self.units.largest * frame.unit <= size:
            return None
        enough = math.sqrt(self.tol) * size / self.units.cost
        model = self.units.lagrangian(self.constraints, y, penalty=_PENALTY).at(self.point)
        promised = frame.norm(model.gradient) * frame.unit
        if promised <= enough:
            return None
        # Accurate enough that the remaining slope, as along a narrow valley, predicts less than that.
        accuracy = min(0.1, enough / promised)
        step = truncated_cg(model, frame.unit, accuracy)
        steepest = truncated_cg(_Flattened(model, self._rounding(model)), frame.unit, accuracy)
        if 0.0 <= steepest.decrease <= enough:
            return None
        # A decrease on part of the step, which may be short in a curved valley, confirms it.
        costs = (self._feasible_cost(0.25**k * step.direction) for k in range(_QUARTERS))
        if step.decrease > enough and any(cost < here - self.tol * size for cost in costs):
            return Stop("breakdown", _FALLS)
        # Constraints may prevent a decrease. Otherwise only rounding errors can hide it, if they are most of
        # the predicted decrease or make it negative.
        errors = steepest.decrease - step.decrease
        hidden = not self.constraints.size or not 0.0 <= errors <= step.decrease
        if not hidden or _parabola_promises(model, steepest.direction, self.constraints) <= enough:
            return None
        return Stop("breakdown", _UNCLEAR)

    def _rounding(self, model: LocalLagrangian) -> Array:
        """Return the rounding error of each coordinate's curvature: a share of its row's."""
        frame, weighted = model.frame, self.constraints.weighted(self.multipliers)
        if not frame.orthonormal:
            return np.zeros(frame.shape)
        differenced = self.constraints.gradient_without_hessian(self.point.x, 1.0, weighted) is not None
        v = np.random.default_rng(0).uniform(1.0, 2.0, frame.shape)
        # A forward difference has an error of √ε, products with a given Hessian one of ε.
        share = _BEYOND * (math.sqrt(_EPS) if differenced else _EPS)
        return np.asarray(share * np.abs(model.hessian_product(v)))

    def _still_falls(self, y: Array) -> Stop | None:
        """Return a stop if the slope is small only because it fades far from the start.

        Then the Newton step is not short compared with the distance from the start, and the cost decreases
        along it.
        """
        frame, unit = self.point.frame, self.start.frame.unit
        distance = self._distance()
        if distance <= _FAR * unit:
            return None
        model = self.units.lagrangian(self.constraints, y, penalty=_PENALTY).at(self.point)
        promised = frame.norm(model.gradient) * distance
        costs = [self.constraints.total_cost(point) for point in (self.start, self.point)]
        change = abs(costs[0] - costs[1]) / self.units.cost
        if not promised > _FADED * math.sqrt(self.tol) * change:
            return None
        step = truncated_cg(model, distance, 0.1).direction
        if not frame.norm(step) > _LONG * distance:
            return None
        costs = [self._feasible_cost((2.0**k - 1.0) * step) for k in range(_DOUBLINGS + 1)]
        falls = -np.diff(costs) / self.units.cost
        if not falls[0] > _LONG * frame.norm(model.gradient) * frame.norm(step):
            return None
        endless = bool((falls[1:] >= _STEADY * falls[:-1]).all())
        return Stop("unbounded", _ENDLESS) if endless else Stop("breakdown", _FADES)

    def _distance(self) -> float:
        """Return the distance of the point from the start; 0 if distances are slow to compute."""
        if not self.constraints.problem.manifold.closed_form_log:
            return 0.0
        try:
            return self.start.frame.dist(self.point.x)
        except UNDEFINED:
            return 0.0

    def _feasible_cost(self, c: Coordinates) -> float:
        """Return the cost after a step; NaN if it is not defined there, or the point is not feasible."""
        try:
            there = self.constraints.evaluate(self.point.frame.move(c))
        except UNDEFINED:
            return math.nan
        allowed = self.tol * max(1.0, self.point.frame.norm(c))
        feasible = measure_feasibility(self.constraints, there, self.units) <= allowed
        return self.constraints.total_cost(there) if feasible else math.nan


_CONTRADICTED = (
    "The gradient of {} contradicts the function: a difference of values shows another slope. Check all "
    "derivatives with `check_gradient`."
)
_ENDLESS = (
    "The gradient fades, but the cost keeps decreasing along feasible points: with each doubling of the "
    "distance, by about as much as before or more. So it seems to be unbounded below. Add the missing "
    "constraint, or check the sign of the cost."
)
_FALLS = (
    "The gradient is small only relative to the cost, whose size was measured far from a minimum: a short "
    "step leads to a much lower cost. Start closer, or continue with minimize(problem, result.best_x)."
)
_UNCLEAR = (
    "The gradient is small only relative to the cost, whose size was measured far from a minimum, and "
    "rounding errors hide the curvature: a much lower cost may be near. Start closer to a minimum."
)
_FADES = (
    "The gradient is within the tolerance only because it fades far from the start: twice as far away, the "
    "cost still decreases. It may approach a value that no point attains. Bound the feasible set, or use a "
    "smaller `tol`."
)
