"""Check hand-written derivatives by the slope of their Taylor remainders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import Frame
from geodual.manifolds.base import Coordinates, Point

from .problem import Constraint, Problem

_STEPS = 10.0 ** np.arange(-0.5, -8.25, -0.25)
_SLOPE_MARGIN = 0.15
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class DerivativeCheck:
    """The check of one derivative.

    Attributes
    ----------
    name : str
        Which derivative of what.
    slope : float
        Slope of the Taylor remainder over the step on a log-log scale; infinite if it is rounding error.
    expected : float
        What the slope is at least if the derivative is right.
    """

    name: str
    slope: float
    expected: float

    @property
    def passed(self) -> bool:
        """Whether the slope is as steep as it has to be."""
        return self.slope >= self.expected - _SLOPE_MARGIN


@dataclass(frozen=True)
class GradientCheck:
    """The checks of all derivatives of a problem; true if all passed, and prints as a table."""

    checks: tuple[DerivativeCheck, ...]

    @property
    def passed(self) -> bool:
        """Whether every derivative passed."""
        return all(check.passed for check in self.checks)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        rows = [
            f"{'ok  ' if check.passed else 'FAIL'} {check.name:<45} slope {check.slope:5.2f}, "
            f"expected {check.expected:.0f}"
            for check in self.checks
        ]
        return "\n".join(rows)


def check_gradient(problem: Problem, x: Point, rng: np.random.Generator | None = None) -> GradientCheck:
    """Compare all derivatives of a problem with its functions along a random geodesic.

    Along x(t) = exp(t u) the remainder f(x(t)) − f(x) − t ⟨grad f, u⟩ must fall like t², and like t³ with
    the Hessian's term. A wrong derivative gives a slope of about 1 (gradient) or 2 (Hessian).

    Parameters
    ----------
    problem : Problem
        What to check: cost and every block of constraints, first and second derivatives.
    x : Point
        Where; not at a stationary point.
    rng : numpy Generator, optional
        For the direction and the weights of the constraints; a fixed seed by default.

    Returns
    -------
    GradientCheck
    """
    rng = np.random.default_rng(0) if rng is None else rng
    x = problem.manifold.check_point(x)
    frame = problem.manifold.frame(x)
    c = frame.coordinates(problem.manifold.random_tangent(x, rng))
    checks = list(_check_function("cost", problem.cost, problem.gradient, problem.hessian_product, frame, c))
    for kind, blocks in (("inequalities", problem.inequalities), ("equalities", problem.equalities)):
        for position, block in enumerate(blocks):
            checks += _check_block(f"{kind}[{position}]", block, frame, c, rng)
    return GradientCheck(tuple(checks))


def _check_function(
    name: str,
    value: Callable[[Point], float],
    egrad: Callable[[Point], object],
    ehess: Callable[[Point, object], object] | None,
    frame: Frame,
    c: Coordinates,
) -> Iterator[DerivativeCheck]:
    start = float(value(frame.point))
    ahead = np.array([float(value(frame.exp(t * c))) for t in _STEPS])
    gradient = egrad(frame.point)
    first = frame.inner(frame.gradient(gradient), c)
    remainder = ahead - start - _STEPS * first
    noise = 1e3 * _EPS * (abs(start) + np.abs(ahead).max() + abs(first))
    yield DerivativeCheck(f"gradient of {name}", _slope(remainder, noise), 2.0)
    if ehess is not None:
        second = frame.inner(frame.hessian(gradient, ehess(frame.point, frame.tangent(c)), c), c)
        remainder = remainder - 0.5 * _STEPS**2 * second
        yield DerivativeCheck(f"Hessian of {name}", _slope(remainder, noise), 3.0)


def _check_block(
    name: str, block: Constraint, frame: Frame, c: Coordinates, rng: np.random.Generator
) -> Iterator[DerivativeCheck]:
    """Check a block through the function ⟨w, c(x)⟩ with random weights, and its two products together."""
    w = rng.standard_normal(len(block(frame.point)))
    second = block.hessian_product
    yield from _check_function(
        name,
        lambda x: float(w @ block(x)),
        lambda x: block.jacobian_product(x, w),
        None if second is None else lambda x, u: second(x, w, u),
        frame,
        c,
    )
    if block.directional is not None:
        forward = block.derivative(frame.point, frame.tangent(c))
        start, ahead = block(frame.point), [block(frame.exp(t * c)) for t in _STEPS]
        remainders = [
            np.abs(after - start - t * forward).max() for t, after in zip(_STEPS, ahead, strict=True)
        ]
        noise = 1e3 * _EPS * (np.abs(start).max() + np.abs(ahead).max())
        yield DerivativeCheck(f"directional derivative of {name}", _slope(np.array(remainders), noise), 2.0)


def _slope(remainder: Array, noise: float) -> float:
    """Return the median slope over the smallest steps at which the remainder stands out of the noise."""
    clear = np.flatnonzero(np.abs(remainder) > noise)
    if not np.isfinite(remainder).all():
        return float("-inf")
    if len(clear) < 4:
        return float("inf")
    tail = clear[-6:]
    slopes = np.diff(np.log(np.abs(remainder[tail]))) / np.diff(np.log(_STEPS[tail]))
    return float(np.median(slopes))
