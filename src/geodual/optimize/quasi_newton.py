"""Limited-memory quasi-Newton steps (L-BFGS) on a manifold, without second derivatives.

It minimizes the same functions as `newton_cg`, but needs only values and gradients. Each step is based on the
last steps and the changes of the gradient along them, which are carried from point to point.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

import numpy as np

from geodual.manifolds import Frame
from geodual.manifolds.frame import AmbientFrame, Coordinates, Point

from .newton_cg import Minimum, Model, evaluate_trial, is_done, is_remote, lowest_of_parabola

_MEMORY = 15  # pairs to remember; more converge faster, but each costs four passes over a vector per step
_SUFFICIENT = 1e-4  # share of the decrease promised by the slope that a step must achieve (Armijo)
_FLATTER = 0.9  # largest share of the slope left at the end of a step (Wolfe)
_LEAST_COSINE = 1e-8  # between a step and its change of gradient; below it, rounding errors decide
_TRIALS = 40
_IDLE = 200  # consecutive steps, all below rounding error, that need not reduce the gradient
_LONG_WAY = 50.0  # length of the path after which to check whether it runs to infinity


@np.errstate(all="ignore")  # trial points may overflow; they are detected and rejected
def limited_memory(
    objective: Callable[[Point], Model],
    start: Model,
    *,
    tol: float,
    max_iter: int = 1000,
    step_limit: float = float("inf"),
    fall_limit: float = float("inf"),
    may_escape: bool = False,
    stop: Callable[[Model], bool] | None = None,
    watch: Callable[[Model], object] | None = None,
) -> Minimum[Model]:
    """Minimize a smooth function on a manifold by limited-memory quasi-Newton steps (L-BFGS).

    Use it in your own methods if second derivatives are missing and gradients are cheap. It needs one value
    and one gradient per step, and the memory of about 30 points.

    Parameters
    ----------
    objective : callable
        ``objective(x)`` returns the function at x, as for `newton_cg`. Its `hessian_product` is not called.
    start : object
        The function at the start, ``objective(x0)``.
    tol : float
        Largest norm of the gradient at convergence.
    max_iter : int
        Maximum number of steps.
    step_limit : float
        Longest first step, such as ``manifold.step_limit``; later steps may be longer.
    fall_limit : float
        A decrease by this much from the start counts as minus infinity.
    may_escape : bool
        Whether to stop at points so far from the start that numbers almost overflow.
    stop : callable, optional
        Called with the function at each iterate; if it returns True, the minimization ends as converged.
    watch : callable, optional
        Called with the function at every iterate, including the start, unless `tol` holds there. It cannot
        change anything.

    Returns
    -------
    minimum : object
        With `point` (the last point), `model` (the function there), `status` ("converged", "max_iterations",
        "stalled", "blocked" or "runaway"), `n_iter`, and `n_products`, which is 0.

    See Also
    --------
    newton_cg : The solver inside the default method; faster if products with the Hessian are available.
    Lagrangian : An objective for it.

    References
    ----------
    J. Nocedal, "Updating quasi-Newton matrices with limited storage", Mathematics of Computation 35, 1980.

    W. Huang, K. A. Gallivan, P.-A. Absil, "A Broyden class of quasi-Newton methods for Riemannian
    optimization", SIAM Journal on Optimization 25(3), 2015.

    W. W. Hager, H. Zhang, "A new conjugate gradient method with guaranteed descent and an efficient line
    search", SIAM Journal on Optimization 16(1), 2005, for steps below rounding error.

    Examples
    --------
    The leading eigenvector of A minimizes −xᵀAx on the sphere:

    >>> import numpy as np
    >>> from geodual.manifolds import Sphere
    >>> from geodual.optimize import ConstraintVector, Lagrangian, Problem, limited_memory
    >>> A = np.diag([1.0, 2.0, 5.0])
    >>> problem = Problem(Sphere(3), lambda x: -x @ A @ x, gradient=lambda x: -2.0 * A @ x)
    >>> x0 = np.full(3, 3**-0.5)
    >>> cost = Lagrangian(ConstraintVector(problem, x0), np.zeros(0))
    >>> minimum = limited_memory(cost, cost(x0), tol=1e-8, step_limit=problem.manifold.step_limit)
    >>> minimum.status, round(-minimum.model.value, 6), np.round(np.abs(minimum.point), 6).tolist()
    ('converged', 5.0, [0.0, 0.0, 1.0])
    """
    model, memory, idle = start, _Memory(), Idleness(start)
    radius = step_limit if math.isfinite(step_limit) else model.frame.first_radius
    traveled = 0.0
    for iteration in range(max_iter):
        if is_done(model, model.frame.norm(model.gradient), tol, stop, watch):
            return Minimum(model, "converged", iteration, 0)
        direction = memory.direction(model, radius)
        step = line_search(objective, model, direction, radius)
        if isinstance(step, str):
            if not memory.pairs:
                return Minimum(model, step, iteration, 0)
            memory.forget()  # steepest descent may still succeed
            continue
        memory.learn(model, step)
        length = step.fraction * model.frame.norm(direction)
        radius = max(radius, 2.0 * length)
        promised = -step.fraction * model.frame.inner(model.gradient, direction)
        quiet = min(promised, model.value - step.end.value) <= model.noise
        model = step.end
        traveled += length
        fallen = start.value - model.value > fall_limit
        far = may_escape and traveled > _LONG_WAY and is_remote(start.frame, model.frame.point)
        if fallen or far:
            return Minimum(model, "runaway", iteration + 1, 0)
        if idle.note(model, quiet):
            return Minimum(idle.best, "stalled", iteration + 1, 0)
    done = is_done(model, model.frame.norm(model.gradient), tol, stop, watch)
    return Minimum(model, "converged" if done else "max_iterations", max_iter, 0)


@dataclass(frozen=True)
class _Taken(Generic[Model]):
    end: Model
    fraction: float  # of the direction that was followed
    carried: Coordinates  # the direction, at the end of the step


@dataclass(frozen=True)
class _Pair:
    step: Coordinates
    change: Coordinates  # of the gradient along the step
    curvature: float  # <step, change>, positive


class _Memory:
    """The last steps and changes of the gradient, as tangent vectors at the current point."""

    def __init__(self) -> None:
        self.pairs: list[_Pair] = []

    def forget(self) -> None:
        self.pairs = []

    def direction(self, model: Model, radius: float) -> Coordinates:
        """Return a descent direction no longer than `radius`."""
        frame, gradient = model.frame, model.gradient
        direction = -self._inverse_product(model)
        if not frame.inner(direction, gradient) < 0.0:
            self.forget()
            direction = -gradient
        length = frame.norm(direction)
        # Nothing is known about the size of the first step; the line search lengthens it if that pays off.
        longest = radius if self.pairs else min(radius, frame.unit)
        return direction * (longest / length) if length > longest else direction

    def _inverse_product(self, model: Model) -> Coordinates:
        """Return the approximate inverse Hessian times the gradient (two-loop recursion, Nocedal 1980)."""
        inner = model.frame.inner
        result, shares = model.gradient, []
        for pair in reversed(self.pairs):
            shares.append(inner(pair.step, result) / pair.curvature)
            result = result - shares[-1] * pair.change
        result = model.precondition(result)
        if self.pairs:
            last = self.pairs[-1]
            result = result * (last.curvature / inner(last.change, model.precondition(last.change)))
        for pair, share in zip(self.pairs, reversed(shares), strict=True):
            result = result + (share - inner(pair.change, result) / pair.curvature) * pair.step
        return result

    def learn(self, model: Model, taken: _Taken[Model]) -> None:
        """Carry all pairs to the end of the step and add the new one, except those without curvature."""
        here, there = model.frame, taken.end.frame
        carry = _carrier(here, there)
        vectors = [(carry(pair.step), carry(pair.change)) for pair in self.pairs[1 - _MEMORY :]]
        pairs = [_Pair(s, y, there.inner(s, y)) for s, y in vectors]
        self.pairs = [pair for pair in pairs if pair.curvature > 0.0]
        s, y = taken.fraction * taken.carried, taken.end.gradient - carry(model.gradient)
        curvature = there.inner(s, y)
        if curvature > _LEAST_COSINE * there.norm(s) * there.norm(y):
            self.pairs.append(_Pair(s, y, curvature))


def _carrier(here: Frame, there: Frame) -> Callable[[Coordinates], Coordinates]:
    """Return the map of tangent vectors from one point to another."""
    if isinstance(there, AmbientFrame):
        # The orthogonal projection: cheaper than a transport, and close to it for short steps.
        return there.gradient

    def carry(c: Coordinates) -> Coordinates:
        try:
            return there.coordinates(here.transport(there.point, c))
        except ValueError:  # no transport, or none between these points
            return there.coordinates(here.tangent(c))

    return carry


class Idleness(Generic[Model]):
    """Count consecutive steps that neither change the value beyond rounding errors nor flatten it."""

    def __init__(self, start: Model) -> None:
        self.best, self._count = start, 0

    def note(self, model: Model, quiet: bool) -> bool:
        """Record a step; return whether rounding errors allow no further progress."""
        best = self.best
        if not quiet or model.frame.norm(model.gradient) < best.frame.norm(best.gradient):
            self.best, self._count = model, 0
        else:
            self._count += 1
        return self._count >= _IDLE


def line_search(
    objective: Callable[[Point], Model], model: Model, direction: Coordinates, radius: float
) -> _Taken[Model] | str:
    """Follow the direction until the Wolfe conditions hold; return the obstacle if no step is acceptable.

    If the change of the value, or the change predicted by the slope, is below rounding error, the slope at
    the end of the step decides.
    """
    frame = model.frame
    slope, longest = frame.inner(model.gradient, direction), radius / frame.norm(direction)
    low, high, fraction = 0.0, math.inf, 1.0
    found, obstacle = None, "stalled"
    for _ in range(_TRIALS):
        trial = evaluate_trial(objective, frame.move(fraction * direction))
        if isinstance(trial, str):
            obstacle, high = trial, fraction
            fraction = low + 0.25 * (high - low)
            continue
        change = trial.value - model.value
        carried = _carrier(frame, trial.frame)(direction)
        end_slope = trial.frame.inner(trial.gradient, carried)
        falls = change <= _SUFFICIENT * fraction * slope
        unclear = min(change, -fraction * slope) <= model.noise
        level = unclear and end_slope <= (2.0 * _SUFFICIENT - 1.0) * slope
        if not (falls or level):
            high = fraction
            fraction = between(lowest_of_parabola(slope, change, fraction), low, high)
            continue
        flat = end_slope >= _FLATTER * slope
        if falls or flat:
            found = _Taken(trial, fraction, carried)
        if flat or fraction >= longest:
            break
        low = fraction
        # The zero of the slope, by linear interpolation; without an upper end, go ten times as far.
        best = fraction * slope / (slope - end_slope) if end_slope > slope else math.inf
        fraction = min(10.0 * low, longest) if high == math.inf else between(best, low, high)
    return found or obstacle


def between(best: float, low: float, high: float) -> float:
    """Return `best`, kept away from both ends of the interval; NaN counts as the lower end."""
    return min(max(low + 0.1 * (high - low), best), low + 0.5 * (high - low))
