"""Trust-region Newton-CG in tangent coordinates, with backtracking if a step fails.

All layers use it to minimize smooth functions. An objective is a callable that takes a point and returns the
function there, as a `LocalModel`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from geodual.manifolds import Frame
from geodual.manifolds.frame import Coordinates, Point

from .constraint import UNDEFINED
from .trees import leaves

_MAX_BACKTRACKS = 40
_SUFFICIENT = 1e-4  # share of the predicted decrease that a step must achieve (Armijo)
_LONG_WAY = 50.0  # length of the path after which to check whether it runs to infinity
_LEAST_FRACTION = 1e-3  # of a step that can only be judged by gradients


class LocalModel(Protocol):
    """A function at a point: its value, and its derivatives in the coordinates of the frame there."""

    @property
    def frame(self) -> Frame:
        """The frame at the point."""

    @property
    def value(self) -> float:
        """The value of the function."""

    @property
    def noise(self) -> float:
        """Bound on the rounding error of the value."""

    @property
    def gradient(self) -> Coordinates:
        """The Riemannian gradient."""

    def hessian_product(self, c: Coordinates) -> Coordinates:
        """Return the Riemannian Hessian applied to `c`."""

    def precondition(self, c: Coordinates) -> Coordinates:
        """Apply an approximate inverse of the Hessian, symmetric and positive definite, to `c`."""


Model = TypeVar("Model", bound=LocalModel)


@dataclass(frozen=True)
class Minimum(Generic[Model]):
    """The end of a minimization.

    Attributes
    ----------
    model : LocalModel
        The function at the last point.
    status : str
        "converged", "max_iterations", "stalled" (rounding errors allow no further decrease), "blocked" (the
        function is not defined where the steps lead) or "runaway" (it decreases without bound).
    n_iter, n_products : int
        Number of Newton iterations and of Hessian products.
    """

    model: Model
    status: str
    n_iter: int
    n_products: int

    @property
    def point(self) -> Point:
        """The last point."""
        return self.model.frame.point


@dataclass(frozen=True)
class _Step:
    direction: Coordinates
    slope: float  # <gradient, direction>
    decrease: float  # of the quadratic model, positive
    at_boundary: bool
    n_products: int


@np.errstate(all="ignore")  # trial points may overflow; they are detected and rejected
def newton_cg(
    objective: Callable[[Point], Model],
    start: Model,
    *,
    tol: float | None,
    max_iter: int = 200,
    step_limit: float = float("inf"),
    least_radius: float = 0.0,
    fall_limit: float = float("inf"),
    may_escape: bool = False,
    forcing: float = 0.1,
    stop: Callable[[Model], bool] | None = None,
    prepare: Callable[[Model], object] | None = None,
    watch: Callable[[Model], object] | None = None,
) -> Minimum[Model]:
    """Minimize a smooth function on a manifold by trust-region Newton steps with conjugate gradients.

    It is the inner solver of the default method; use it in your own methods.

    Parameters
    ----------
    objective : callable
        ``objective(x)`` returns the function at x: an object with `frame`, `value`, `noise` (a bound on the
        rounding error of the value), `gradient`, `hessian_product(c)` and `precondition(c)` (an approximate
        inverse of the Hessian, or `c` itself), in the coordinates of the frame. A `Lagrangian` is one.
    start : object
        The function at the start, ``objective(x0)``.
    tol : float or None
        Largest norm of the gradient at convergence; with None, only `stop` ends the minimization.
    max_iter : int
        Maximum number of Newton iterations.
    step_limit : float
        Longest first step, such as ``manifold.step_limit``; later steps may be longer.
    least_radius : float
        Failed steps do not shrink the trust-region radius below this.
    fall_limit : float
        A decrease by this much from the start counts as minus infinity.
    may_escape : bool
        Whether to stop at points so far from the start that numbers almost overflow.
    forcing : float
        Largest relative residual at which conjugate gradients stop; it shrinks with the gradient.
    stop : callable, optional
        Called with the function at each iterate; if it returns True, the minimization ends as converged.
    prepare : callable, optional
        Called with the function at an iterate before a step from there is computed. It may change the
        function's preconditioner and coordinates, but not its value.
    watch : callable, optional
        Called with the function at every iterate, including the start, unless `tol` holds there. It cannot
        change anything.

    Returns
    -------
    minimum : object
        With `point` (the last point), `model` (the function there), `status` ("converged", "max_iterations",
        "stalled", "blocked" or "runaway"), `n_iter` and `n_products` (number of Hessian products).

    See Also
    --------
    limited_memory : Needs no second derivatives.
    Lagrangian : An objective for it.

    References
    ----------
    T. Steihaug, "The conjugate gradient method and trust regions in large scale optimization", SIAM Journal
    on Numerical Analysis 20(3), 1983.

    P.-A. Absil, R. Mahony, R. Sepulchre, *Optimization Algorithms on Matrix Manifolds*, Princeton University
    Press, 2008, Chapter 7.

    Examples
    --------
    The leading eigenvector of A minimizes −xᵀAx on the sphere:

    >>> import numpy as np
    >>> from geodual.manifolds import Sphere
    >>> from geodual.optimize import ConstraintVector, Lagrangian, Problem, newton_cg
    >>> A = np.diag([1.0, 2.0, 5.0])
    >>> problem = Problem(Sphere(3), lambda x: -x @ A @ x, gradient=lambda x: -2.0 * A @ x)
    >>> x0 = np.full(3, 3**-0.5)
    >>> cost = Lagrangian(ConstraintVector(problem, x0), np.zeros(0))
    >>> minimum = newton_cg(cost, cost(x0), tol=1e-8, step_limit=problem.manifold.step_limit)
    >>> minimum.status, round(-minimum.model.value, 6), np.round(np.abs(minimum.point), 6).tolist()
    ('converged', 5.0, [0.0, 0.0, 1.0])
    """
    model = start
    is_guess = not math.isfinite(step_limit)
    radius = model.frame.first_radius if is_guess else step_limit
    norm = first_norm = model.frame.norm(model.gradient)
    traveled, n_products = 0.0, 0
    for iteration in range(max_iter):
        if is_done(model, norm, tol, stop, watch):
            return Minimum(model, "converged", iteration, n_products)
        if norm == 0.0:  # no further step, even if `stop` expects one
            return Minimum(model, "stalled", iteration, n_products)
        if prepare is not None:
            prepare(model)
        # Solve each Newton system only as accurately as useful: more so as the gradient decreases, but no
        # more than `tol` requires.
        accuracy = min(forcing, math.sqrt(norm / first_norm) if norm < first_norm else forcing)
        step = truncated_cg(model, radius, max(accuracy, 0.1 * (tol or 0.0) / norm))
        n_products += step.n_products
        trial, fraction, obstacle = advance(objective, model, step, norm)
        if trial is None:
            return Minimum(model, obstacle or "stalled", iteration, n_products)
        length = fraction * model.frame.norm(step.direction)
        is_guess = is_guess and fraction < 1.0  # adapt to the first short steps at once
        next_radius = adjusted_radius(radius, length, step, fraction, model.value - trial.value)
        radius = max(2.0 * length if is_guess else next_radius, least_radius)
        model, norm = trial, trial.frame.norm(trial.gradient)
        traveled += length
        fallen = start.value - model.value > fall_limit
        far = may_escape and traveled > _LONG_WAY and is_remote(start.frame, model.frame.point)
        if fallen or far:
            return Minimum(model, "runaway", iteration + 1, n_products)
    status = "converged" if is_done(model, norm, tol, stop, watch) else "max_iterations"
    return Minimum(model, status, max_iter, n_products)


def is_done(
    model: Model,
    norm: float,
    tol: float | None,
    stop: Callable[[Model], bool] | None,
    watch: Callable[[Model], object] | None,
) -> bool:
    """Return whether the minimization ends at an iterate; call `watch` if `tol` does not hold there."""
    if tol is not None and norm <= tol:
        return True
    if watch is not None:
        watch(model)
    return stop is not None and stop(model)


def truncated_cg(model: LocalModel, radius: float, accuracy: float) -> _Step:
    """Minimize the quadratic model within a ball by preconditioned conjugate gradients (Steihaug 1983)."""
    inner = model.frame.inner
    gradient = model.gradient
    residual = -gradient
    step, direction = 0.0 * gradient, model.precondition(residual)
    left = inner(residual, residual)
    enough = accuracy**2 * left
    product = left if direction is residual else inner(residual, direction)
    reach, at_boundary, n_products = 0.0, False, 0  # the step is no longer than `reach`
    # In exact arithmetic, `dim` products are enough; rounding errors may require more.
    budget = 2 * model.frame.dim + 20
    # Both squares are 0 only if they underflow: then nothing is left to solve.
    while n_products < budget and product != 0.0 and (squared := inner(direction, direction)) != 0.0:
        image = model.hessian_product(direction)
        n_products += 1
        curvature = inner(direction, image)
        # At negative curvature, the model decreases without bound: go to the boundary.
        length = product / curvature if curvature > 0.0 else math.inf
        reach += abs(length) * math.sqrt(squared)
        if not reach < radius:
            overlap, step_squared = inner(step, direction), inner(step, step)
            ahead = step_squared + 2.0 * length * overlap + length * length * squared
            at_boundary = not ahead < radius * radius
            if at_boundary:  # solve ‖step + length · direction‖ = radius for the length
                root = overlap * overlap + squared * (radius * radius - step_squared)
                length = (math.sqrt(root) - overlap) / squared
            reach = math.sqrt(max(ahead, 0.0))
        step, residual = step + length * direction, residual - length * image
        if at_boundary or (left := inner(residual, residual)) <= enough:
            break
        preconditioned = model.precondition(residual)
        previous, product = product, left if preconditioned is residual else inner(residual, preconditioned)
        direction = preconditioned + (product / previous) * direction
    slope = inner(gradient, step)
    # The residual is −gradient − H step, so <step, H step> needs no further product.
    return _Step(step, slope, 0.5 * (inner(step, residual) - slope), at_boundary, n_products)


def advance(
    objective: Callable[[Point], Model], model: Model, step: _Step, norm: float
) -> tuple[Model | None, float, str]:
    """Take the step or a fraction of it; return the new model, the fraction, and the obstacle if any."""
    fraction, obstacle = 1.0, ""
    for _ in range(_MAX_BACKTRACKS):
        trial = evaluate_trial(objective, model.frame.move(fraction * step.direction))
        if isinstance(trial, str):
            obstacle = trial
            fraction *= 0.25
            continue
        change = trial.value - model.value
        if change <= _SUFFICIENT * fraction * step.slope:
            return trial, fraction, obstacle
        if abs(fraction * step.slope) <= model.noise:
            # The change is below rounding error, so the step is judged by gradients, not by values.
            if trial.frame.norm(trial.gradient) < (1.0 - _SUFFICIENT * fraction) * norm:
                return trial, fraction, obstacle
            if fraction < _LEAST_FRACTION:
                break
            fraction *= 0.25
            continue
        # Keep away from 0 and 1.
        best = lowest_of_parabola(step.slope, change, fraction)
        fraction = float(np.clip(best, 0.1 * fraction, 0.5 * fraction))
    return None, fraction, obstacle


def lowest_of_parabola(slope: float, change: float, fraction: float) -> float:
    """Return the minimizer of the parabola with a slope at 0 and a change at `fraction`; inf for a line."""
    bend = change - fraction * slope
    return -0.5 * slope * fraction**2 / bend if bend else math.inf


def evaluate_trial(objective: Callable[[Point], Model], x: Point) -> Model | str:
    """Evaluate at a trial point; return "runaway" on overflow, "blocked" if functions are not defined."""
    if not _is_finite(x):
        return "runaway"
    try:
        model = objective(x)
        finite = math.isfinite(model.value) and math.isfinite(model.frame.norm(model.gradient))
    except UNDEFINED:
        return "blocked"
    return model if finite else "blocked"


def _is_finite(x: Point) -> bool:
    if isinstance(x, np.ndarray):  # the common case, and this is called at every trial point
        return bool(np.isfinite(x).all())
    return all(map(_is_finite, leaves(x)))


def is_remote(start: Frame, x: Point) -> bool:
    """Return whether `x` is so far from the start that numbers almost overflow."""
    try:
        return start.remoteness(x) > 1.0
    except UNDEFINED:
        return True


def adjusted_radius(radius: float, length: float, step: _Step, fraction: float, decrease: float) -> float:
    """Shrink the trust region after a poor step; expand it after a good one that it limited.

    Backtracking finds a good length, so the radius shrinks at most to a tenth. At a kink of a penalty, a
    radius that follows every short step would grow and shrink again and again.
    """
    if fraction < 1.0:
        return max(2.0 * length, 0.1 * radius)
    ratio = decrease / step.decrease if step.decrease > 0.0 else 0.0
    if ratio < 0.1:
        return 0.5 * radius
    return 2.0 * radius if ratio > 0.5 and step.at_boundary else radius
