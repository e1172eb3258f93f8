"""The engine: trust-region Newton-CG in tangent coordinates, with backtracking where a step fails.

Every layer minimises its smooth functions with it. A function to be minimised is a callable that evaluates
itself at a point and returns a `LocalModel`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from geodual.manifolds import Frame, NoLogarithmError, NotOnManifoldError
from geodual.manifolds.base import Coordinates, Point

_EPS = float(np.finfo(float).eps)
_MAX_BACKTRACKS = 40
_SUFFICIENT = 1e-4
_LONG_WAY = 50.0  # length of a path after which to look whether it leads to infinity
_LEAST_FRACTION = 1e-3  # of a step, where only gradients can judge it


class LocalModel(Protocol):
    """A function at a point: value, and derivatives in the coordinates of the frame there."""

    @property
    def frame(self) -> Frame:
        """The frame at the point."""

    @property
    def value(self) -> float:
        """The value."""

    @property
    def noise(self) -> float:
        """The rounding error that the value may have."""

    @property
    def gradient(self) -> Coordinates:
        """The Riemannian gradient."""

    def hessian_product(self, c: Coordinates) -> Coordinates:
        """Return the Riemannian Hessian applied to `c`."""

    def precondition(self, c: Coordinates) -> Coordinates:
        """Return an approximate inverse of the Hessian applied to `c`, symmetric and positive definite."""


Model = TypeVar("Model", bound=LocalModel)


@dataclass(frozen=True)
class Minimum(Generic[Model]):
    """Where a minimisation ended.

    Attributes
    ----------
    model : LocalModel
        The function at the last point.
    status : str
        "converged", "max_iterations", "stalled" (no further decrease in floating point), "blocked" (the
        function is not defined where it would have to go) or "runaway" (it falls without end as far as
        numbers go).
    n_iter, n_products : int
        Newton iterations and Hessian products spent.
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


@np.errstate(all="ignore")  # trial points may overflow; they are recognised and rejected
def newton_cg(
    objective: Callable[[Point], Model],
    start: Model,
    *,
    tol: float,
    max_iter: int = 200,
    step_limit: float = float("inf"),
    least_radius: float = 0.0,
    fall_limit: float = float("inf"),
    may_escape: bool = False,
    forcing: float = 0.1,
    is_done: Callable[[Model], bool] | None = None,
) -> Minimum[Model]:
    """Minimise a smooth function on a manifold.

    Parameters
    ----------
    objective : callable
        ``objective(x)`` gives a `LocalModel`.
    start : LocalModel
        The function at the start.
    tol : float
        Bound on the norm of the gradient.
    max_iter : int
        Bound on Newton iterations.
    step_limit : float
        Length of the longest first step; later steps may grow.
    least_radius : float
        Length that steps may always have: below it, failures do not shorten the next one.
    fall_limit : float
        A value this far below the start counts as minus infinity.
    may_escape : bool
        Whether a point as far from the start as numbers go counts as infinitely far.
    forcing : float
        Largest relative residual at which conjugate gradients stop; it shrinks with the gradient.
    is_done : callable, optional
        Asked at every iterate, the start included; the minimisation ends as converged where it is true.

    Returns
    -------
    Minimum
    """
    model = start
    radius = step_limit if math.isfinite(step_limit) else 1e3 * model.frame.unit
    norm = first_norm = model.frame.norm(model.gradient)
    travelled, n_products = 0.0, 0
    for iteration in range(max_iter):
        if norm <= tol or (is_done is not None and is_done(model)):
            return Minimum(model, "converged", iteration, n_products)
        accuracy = min(forcing, math.sqrt(norm / first_norm) if norm < first_norm else forcing)
        step = truncated_cg(model, radius, max(accuracy, 0.1 * tol / norm))
        n_products += step.n_products
        trial, fraction, obstacle = _advance(objective, model, step, norm)
        if trial is None:
            return Minimum(model, obstacle or "stalled", iteration, n_products)
        length = fraction * model.frame.norm(step.direction)
        radius = max(_next_radius(radius, length, step, fraction, model.value - trial.value), least_radius)
        model, norm = trial, trial.frame.norm(trial.gradient)
        travelled += length
        fallen = start.value - model.value > fall_limit
        far = may_escape and travelled > _LONG_WAY and _is_remote(start.frame, model.frame.point)
        if fallen or far:
            return Minimum(model, "runaway", iteration + 1, n_products)
    done = norm <= tol or (is_done is not None and is_done(model))
    return Minimum(model, "converged" if done else "max_iterations", max_iter, n_products)


def truncated_cg(model: LocalModel, radius: float, accuracy: float) -> _Step:
    """Minimise the quadratic model within a ball, approximately (Steihaug and Toint), preconditioned."""
    inner = model.frame.inner
    gradient = model.gradient
    residual = -gradient
    step, hessian_step, direction = 0.0 * gradient, 0.0 * gradient, model.precondition(residual)
    enough = accuracy**2 * inner(residual, residual)
    product = inner(residual, direction)
    step_squared, at_boundary, n_products = 0.0, False, 0
    budget = 2 * model.frame.dim + 20
    while n_products < budget:
        image = model.hessian_product(direction)
        n_products += 1
        curvature = inner(direction, image)
        length = product / curvature if curvature > 0.0 else math.inf
        overlap, squared = inner(step, direction), inner(direction, direction)
        ahead = step_squared + 2.0 * length * overlap + length * length * squared
        if not ahead < radius * radius:
            root = overlap * overlap + squared * (radius * radius - step_squared)
            length = (math.sqrt(root) - overlap) / squared
            at_boundary = True
        step, hessian_step = step + length * direction, hessian_step + length * image
        residual = residual - length * image
        if at_boundary or inner(residual, residual) <= enough:
            break
        step_squared = ahead
        preconditioned = model.precondition(residual)
        previous, product = product, inner(residual, preconditioned)
        direction = preconditioned + (product / previous) * direction
    slope = inner(gradient, step)
    return _Step(step, slope, -slope - 0.5 * inner(step, hessian_step), at_boundary, n_products)


def _advance(
    objective: Callable[[Point], Model], model: Model, step: _Step, norm: float
) -> tuple[Model | None, float, str]:
    """Take the step or a fraction of it; tell that fraction and what, if anything, stood in the way."""
    fraction, obstacle = 1.0, ""
    for _ in range(_MAX_BACKTRACKS):
        trial = _evaluate(objective, model.frame.move(fraction * step.direction))
        if isinstance(trial, str):
            obstacle = trial
            fraction *= 0.25
            continue
        change = trial.value - model.value
        if change <= _SUFFICIENT * fraction * step.slope:
            return trial, fraction, obstacle
        if abs(fraction * step.slope) <= model.noise:
            # Values no longer tell better from worse here, but gradients still do.
            if trial.frame.norm(trial.gradient) < (1.0 - _SUFFICIENT * fraction) * norm:
                return trial, fraction, obstacle
            if fraction < _LEAST_FRACTION:
                break
            fraction *= 0.25
            continue
        best = -0.5 * step.slope * fraction**2 / (change - fraction * step.slope)
        fraction = float(np.clip(best, 0.1 * fraction, 0.5 * fraction))
    return None, fraction, obstacle


def _evaluate(objective: Callable[[Point], Model], x: Point) -> Model | str:
    """Evaluate at a trial point; "runaway" if its numbers overflow, "blocked" if functions have no value."""
    if not _is_finite(x):
        return "runaway"
    try:
        model = objective(x)
        finite = math.isfinite(model.value) and math.isfinite(model.frame.norm(model.gradient))
    except (np.linalg.LinAlgError, NotOnManifoldError, NoLogarithmError):
        return "blocked"
    return model if finite else "blocked"


def _is_finite(x: Point) -> bool:
    if isinstance(x, (tuple, list)):
        return all(map(_is_finite, x))
    return bool(np.isfinite(x).all())


def _is_remote(start: Frame, x: Point) -> bool:
    try:
        return start.remoteness(x) > 1.0
    except NotOnManifoldError:
        return True


def _next_radius(radius: float, length: float, step: _Step, fraction: float, decrease: float) -> float:
    if fraction < 1.0:
        return length
    ratio = decrease / step.decrease if step.decrease > 0.0 else 0.0
    if ratio < 0.25:
        return 0.5 * length
    return 3.0 * radius if ratio > 0.75 and step.at_boundary else radius
