"""Check hand-written derivatives by the order of their Taylor remainders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import Frame
from geodual.manifolds.frame import Coordinates, Point

from .ambient import pairing
from .constraint import as_cost
from .problem import Constraint, Problem
from .start_checks import check_structure

_STEPS = 10.0 ** np.arange(-0.5, -8.25, -0.25)  # from long steps to those where rounding errors dominate
_SLOPE_MARGIN = 0.15  # right slopes are close to whole numbers; wrong ones are lower by about 1
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class DerivativeCheck:
    """The check of one derivative.

    Attributes
    ----------
    name : str
        The derivative and its function.
    slope : float
        Slope of the Taylor remainder against the step on a log-log scale; infinite for a remainder that is
        only rounding error.
    expected : float
        Least slope of a correct derivative.
    """

    name: str
    slope: float
    expected: float

    @property
    def passed(self) -> bool:
        """Whether the slope is steep enough."""
        return self.slope >= self.expected - _SLOPE_MARGIN


@dataclass(frozen=True)
class GradientCheck:
    """The outcome of `check_gradient`: true if every derivative passed, and printed as a table.

    Attributes
    ----------
    checks : tuple
        One check per derivative, each with `name`, `slope`, `expected` and `passed`.
    passed : bool
        Whether every derivative passed.

    See Also
    --------
    check_gradient : Returns a `GradientCheck`.

    Examples
    --------
    A gradient with a forgotten factor 2 has a remainder of order t, not t²:

    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import Problem, check_gradient
    >>> check = check_gradient(Problem(Euclidean(2), lambda x: x @ x, gradient=lambda x: x), np.ones(2))
    >>> check.passed
    False
    >>> print(check)
    FAIL gradient of cost                              slope  1.00, expected 2
    """

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
    """Check all derivatives of a problem, which you wrote by hand, against its functions.

    Along a random geodesic x(t) = exp(t u) the remainder f(x(t)) − f(x) − t ⟨grad f, u⟩ must fall like t²,
    and like t³ after the Hessian's term is subtracted. A wrong derivative gives a slope of about 1 (gradient)
    or 2 (Hessian).

    Parameters
    ----------
    problem : Problem
        The problem; cost and all blocks of constraints are checked, first and second derivatives. Bounds need
        no check, because nobody writes their derivatives.
    x : Point
        Point at which to check; it must not be a stationary point.
    rng : numpy Generator, optional
        Draws the direction and the weights of the constraints; a fixed seed by default.

    Returns
    -------
    GradientCheck
        True if all derivatives passed; print it to see which did not.

    References
    ----------
    N. Boumal, *An Introduction to Optimization on Smooth Manifolds*, Cambridge University Press, 2023,
    Section 4.8.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.manifolds import SPD
    >>> from geodual.optimize import Problem, check_gradient
    >>> problem = Problem(
    ...     SPD(3),
    ...     cost=lambda x: -np.linalg.slogdet(x)[1],
    ...     gradient=lambda x: -np.linalg.inv(x),
    ...     hessian_product=lambda x, u: np.linalg.inv(x) @ u @ np.linalg.inv(x),
    ...     inequalities=lambda x: np.trace(x @ x) - 6.0,
    ...     jacobian_product=lambda x, w: 2.0 * w[0] * x,
    ... )
    >>> check = check_gradient(problem, np.diag([1.0, 2.0, 3.0]))
    >>> bool(check), [entry.name for entry in check.checks]
    (True, ['gradient of cost', 'Hessian of cost', 'gradient of inequalities[0]'])
    """
    rng = np.random.default_rng(0) if rng is None else rng
    x = problem.manifold.check_point(x)
    frame = problem.manifold.frame(x)
    c = frame.coordinates(problem.manifold.random_tangent(x, rng))  # of length 1
    with np.errstate(all="ignore"):  # a function that is not finite fails the check; numpy need not warn
        functions = (problem.cost, problem.gradient, problem.hessian_product)
        checks = list(_check_function("cost", *functions, frame, c))
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
    """Check the gradient and, if it is given, the Hessian of a function along the geodesic of `c`."""
    start = as_cost(value(frame.point))
    ahead = np.array([as_cost(value(frame.exp(t * c))) for t in _STEPS])
    call = "gradient(x)" if name == "cost" else "jacobian_product(x, w)"
    gradient = check_structure(egrad(frame.point), frame, f"gradient of {name}", call)
    first = frame.inner(frame.gradient(gradient), c)
    remainder = ahead - start - _STEPS * first
    # A remainder below this is rounding error, and says nothing about the derivative.
    noise = 1e3 * _EPS * (abs(start) + np.abs(ahead).max() + abs(first))
    yield DerivativeCheck(f"gradient of {name}", _slope(remainder, noise), 2.0)
    if ehess is not None:
        product = ehess(frame.point, frame.tangent(c))
        check_structure(product, frame, f"Hessian product of {name}", "hessian_product")
        second = frame.inner(frame.hessian(gradient, product, c), c)
        remainder = remainder - 0.5 * _STEPS**2 * second
        yield DerivativeCheck(f"Hessian of {name}", _slope(remainder, noise), 3.0)


def _check_block(
    name: str, block: Constraint, frame: Frame, c: Coordinates, rng: np.random.Generator
) -> Iterator[DerivativeCheck]:
    """Check a block through ⟨w, c(x)⟩ with random weights w; `directional` and `gradients` by themselves."""
    w = rng.standard_normal(len(block(frame.point)))
    second = block.hessian_product

    def weighted(x: Point) -> float:
        if len(values := block(x)) != len(w):
            raise ValueError(
                f"{name} gave {len(values)} numbers, but {len(w)} at `x`; return vectors of the same length "
                "everywhere."
            )
        return float(w @ values)

    yield from _check_function(
        name,
        weighted,
        lambda x: block.jacobian_product(x, w),
        None if second is None else lambda x, u: second(x, w, u),
        frame,
        c,
    )
    u = frame.tangent(c)
    if block.directional is not None:
        slopes = block.derivative(frame.point, u)
        yield _check_slopes(f"directional derivative of {name}", block, slopes, frame, c)
    if block.gradients is not None:
        rows = block.rows(frame.point, np.arange(len(w)))
        slopes = np.array([pairing(row, u) for row in rows])
        yield _check_slopes(f"separate gradients of {name}", block, slopes, frame, c)


def _check_slopes(
    name: str, block: Constraint, slopes: Array, frame: Frame, c: Coordinates
) -> DerivativeCheck:
    """Check the derivatives of all entries of a block along the geodesic of `c`."""
    start, ahead = block(frame.point), np.array([block(frame.exp(t * c)) for t in _STEPS])
    remainders = np.abs(ahead - start - _STEPS[:, None] * slopes).max(axis=1, initial=0.0)
    noise = 1e3 * _EPS * (np.abs(start).max(initial=0.0) + np.abs(ahead).max(initial=0.0))
    return DerivativeCheck(name, _slope(remainders, noise), 2.0)


def _slope(remainder: Array, noise: float) -> float:
    """Return the median slope over the smallest steps whose remainder exceeds the noise."""
    clear = np.flatnonzero(np.abs(remainder) > noise)
    if not np.isfinite(remainder).all():
        return float("-inf")
    if len(clear) < 4:
        return float("inf")  # all rounding error: the function is linear or quadratic along the geodesic
    tail = clear[-6:]  # the smallest steps, where the leading term of the remainder dominates
    slopes = np.diff(np.log(np.abs(remainder[tail]))) / np.diff(np.log(_STEPS[tail]))
    return float(np.median(slopes))
