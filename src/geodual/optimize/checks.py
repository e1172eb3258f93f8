"""Check that a problem is stated correctly: its derivatives, and its functions at the start of a solve.

`check_gradient` compares derivatives with functions, by the order of Taylor remainders. `check_start` is
cheap, and finds only obvious errors: values that are not finite, and results of the wrong shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import Frame
from geodual.manifolds.frame import Coordinates, Point, Vector

from .constraint import A_CONDITION, Constraint, as_cost
from .problem import ConstraintVector, EvaluatedPoint, Problem
from .trees import leaves, mapped, pairing

STEPS = 10.0 ** np.arange(-0.5, -8.25, -0.25)  # from long steps to those where rounding errors dominate
_SLOPE_MARGIN = 0.15  # correct slopes are close to whole numbers; wrong ones are lower by about 1
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
    """The result of `check_gradient`: true if every derivative passed; prints as a table.

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
    A gradient that lacks a factor of 2 has a remainder of order t, not t²:

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
    """Check handwritten derivatives of a problem against its functions.

    Along a random geodesic x(t) = exp(t u) the remainder f(x(t)) − f(x) − t ⟨grad f, u⟩ must fall like t²,
    and like t³ after the Hessian's term is subtracted. A wrong derivative gives a slope of about 1 (gradient)
    or 2 (Hessian).

    Parameters
    ----------
    problem : Problem
        The problem. First and second derivatives of the cost and of all blocks of constraints are checked.
        Bounds need no check, because their derivatives are built in.
    x : Point
        Point at which to check; it must not be a stationary point.
    rng : numpy Generator, optional
        Draws the direction and the weights of the constraints; a fixed seed by default.

    Returns
    -------
    GradientCheck
        True if all derivatives passed; print it to see which ones failed.

    See Also
    --------
    GradientCheck : What it returns.
    Problem : Takes the derivatives.
    Constraint : A block of constraints with more derivatives.

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
    with np.errstate(all="ignore"):  # values that are not finite fail the check; no numpy warnings
        functions = (problem.cost, problem.gradient, problem.hessian_product)
        checks = list(_check_function("cost", *functions, frame, c))
        for kind, blocks in (("inequalities", problem.inequalities), ("equalities", problem.equalities)):
            for position, block in enumerate(blocks):
                checks += _check_block(f"{kind}[{position}]", block, frame, c, rng)
        for position, term in enumerate(problem.terms):
            if term.map is not None:
                block = problem.blocks[problem.term_blocks[position]]
                checks += _check_block(f"terms[{position}]", block, frame, c, rng)
    return GradientCheck(tuple(checks))


def _check_function(
    name: str,
    value: Callable[[Point], float],
    egrad: Callable[[Point], object],
    ehess: Callable[[Point, object], object] | None,
    frame: Frame,
    c: Coordinates,
) -> Iterator[DerivativeCheck]:
    """Check the gradient and, if given, the Hessian of a function along the geodesic of `c`."""
    start = as_cost(value(frame.point))
    ahead = np.array([as_cost(value(frame.exp(t * c))) for t in STEPS])
    call = "gradient(x)" if name == "cost" else "jacobian_product(x, w)"
    gradient = check_structure(egrad(frame.point), frame, f"gradient of {name}", call)
    first = frame.inner(frame.gradient(gradient), c)
    remainder = ahead - start - STEPS * first
    # A remainder below this is rounding error and says nothing about the derivative.
    noise = 1e3 * _EPS * (abs(start) + np.abs(ahead).max() + abs(first))
    yield DerivativeCheck(f"gradient of {name}", remainder_slope(remainder, noise), 2.0)
    if ehess is not None:
        product = ehess(frame.point, frame.tangent(c))
        check_structure(product, frame, f"Hessian product of {name}", "hessian_product")
        second = frame.inner(frame.hessian(gradient, product, c), c)
        remainder = remainder - 0.5 * STEPS**2 * second
        yield DerivativeCheck(f"Hessian of {name}", remainder_slope(remainder, noise), 3.0)


def _check_block(
    name: str, block: Constraint, frame: Frame, c: Coordinates, rng: np.random.Generator
) -> Iterator[DerivativeCheck]:
    """Check ⟨w, c(x)⟩ of a block with random weights w, then its `directional` and `gradients`."""
    w = rng.standard_normal(len(block(frame.point)))
    second = block.hessian_product

    def weighted(x: Point) -> float:
        if len(values := block(x)) != len(w):
            raise ValueError(
                f"{name} returned {len(values)} numbers, but {len(w)} at `x`; return vectors of one length "
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
    start, ahead = block(frame.point), np.array([block(frame.exp(t * c)) for t in STEPS])
    remainders = np.abs(ahead - start - STEPS[:, None] * slopes).max(axis=1, initial=0.0)
    noise = 1e3 * _EPS * (np.abs(start).max(initial=0.0) + np.abs(ahead).max(initial=0.0))
    return DerivativeCheck(name, remainder_slope(remainders, noise), 2.0)


def remainder_slope(remainder: Array, noise: float) -> float:
    """Return the median slope over the smallest steps whose remainder exceeds the noise."""
    clear = np.flatnonzero(np.abs(remainder) > noise)
    if not np.isfinite(remainder).all():
        return float("-inf")
    if len(clear) < 4:
        return float("inf")  # all rounding error: the function is linear or quadratic along the geodesic
    tail = clear[-6:]  # the smallest steps, where the leading term of the remainder dominates
    slopes = np.diff(np.log(np.abs(remainder[tail]))) / np.diff(np.log(STEPS[tail]))
    return float(np.median(slopes))


def check_start(problem: Problem, x0: Point) -> tuple[ConstraintVector, EvaluatedPoint]:
    """Evaluate a problem at the start of a solve.

    Parameters
    ----------
    problem : Problem
        The problem.
    x0 : Point
        The start, which lies on the manifold.

    Returns
    -------
    ConstraintVector, EvaluatedPoint
        The constraints as one vector, and the start with its values.

    Raises
    ------
    ValueError
        If a value or gradient is not finite, a derivative does not have the structure of a point, a
        constraint returns truth values, or a function modifies its arguments; the message names the function.
    """
    constraints = ConstraintVector(problem, x0)
    if not problem.automatic:
        _check_are_numbers(problem, x0)
    if np.ndim(_called("cost", "cost(x)", problem.cost, x0)) != 0:
        raise ValueError("The cost must be a number, not an array; sum its entries.")
    point = constraints.evaluate(x0)
    if not np.isfinite(point.cost):
        raise ValueError(f"The cost must be finite at `x0`, got {point.cost}; start where it is defined.")
    _check_values(problem, point)
    _check_start_gradient(point, "gradient of the cost", "gradient(x)", problem.gradient, x0)
    if problem.automatic:
        _check_automatic(problem, point)
    else:
        _check_written(problem, point)
    return constraints, point


def _check_are_numbers(problem: Problem, x0: Point) -> None:
    for name, block in named_constraints(problem):
        if np.asarray(_called(name, "its function", block.value, x0)).dtype == bool:
            raise ValueError(A_CONDITION.format(name))


def _check_values(problem: Problem, point: EvaluatedPoint) -> None:
    values = point.constraints
    if np.isfinite(values).all():
        return
    bad = int(np.flatnonzero(~np.isfinite(values))[0])
    ends = np.cumsum([len(block(point.x)) for _, block in named_constraints(problem)])
    name, _ = list(named_constraints(problem))[int(np.searchsorted(ends, bad, side="right"))]
    raise ValueError(
        f"Constraint {bad} is {values[bad]} at `x0`, in {name}; start where all constraints are defined."
    )


def _check_automatic(problem: Problem, point: EvaluatedPoint) -> None:
    """Check that gradients are finite; automatic derivatives have the right structure."""
    # One sum of gradients per block shows whether all are finite; only if not, check functions one by one.
    sums = [block.jacobian_product(point.x, np.ones(len(block(point.x)))) for block in problem.blocks]
    if not all(_finite(gradient, point) for gradient in sums):
        for name, block in named_constraints(problem):
            _check_block_gradient(block, point, name, np.ones(len(block(point.x))))


def _check_written(problem: Problem, point: EvaluatedPoint) -> None:
    """Check the derivatives that a user wrote by hand."""
    u = point.frame.tangent(point.frame.random(np.random.default_rng(0)))
    if problem.hessian_product is not None:
        call = "hessian_product(x, u)"
        _checked(point, "Hessian product of the cost", call, problem.hessian_product, point.x, u)
    for name, block in named_constraints(problem):
        w = np.ones(len(block(point.x)))
        _check_block_gradient(block, point, name, w)
        _check_block_products(block, point, name, w, u)


def _check_block_gradient(block: Constraint, point: EvaluatedPoint, name: str, w: Array) -> None:
    call = "jacobian_product(x, w)"
    _check_start_gradient(point, f"gradient of {name}", call, block.jacobian_product, point.x, w)


def _check_block_products(block: Constraint, point: EvaluatedPoint, name: str, w: Array, u: Vector) -> None:
    """Raise an error unless the derivatives of a block of constraints have the right shapes at the start."""
    size = len(w)
    if block.directional is not None:
        what, call = f"directional derivative of {name}", "directional(x, u)"
        slopes = _evaluated(what, call, block.derivative, point.x, u)
        if len(slopes) != size:
            raise ValueError(
                f"The {what} has {len(slopes)} entries, but the values have {size}; check {call}."
            )
        if not np.isfinite(slopes).all():
            raise ValueError(_NOT_FINITE.format(what))
    if block.gradients is not None and size:
        what, call = f"gradients of {name}", "gradients(x, indices)"
        rows = _evaluated(what, call, block.rows, point.x, np.arange(1))
        if len(rows) != 1:
            raise ValueError(f"The {what} are {len(rows)} for 1 index; return one per index in {call}.")
        check_structure(rows[0], point.frame, f"first of the {what}", call)
    if block.hessian_product is not None:
        call = "hessian_product(x, w, u)"
        _checked(point, f"Hessian product of {name}", call, block.hessian_product, point.x, w, u)


def _check_start_gradient(point: EvaluatedPoint, what: str, call: str, *function: Any) -> None:
    if not _finite(_checked(point, what, call, *function), point):
        raise ValueError(_NOT_FINITE.format(what))


def _checked(point: EvaluatedPoint, what: str, call: str, *function: Any) -> Vector:
    """Call a function; raise an error unless the result has the structure of a point."""
    return check_structure(_evaluated(what, call, *function), point.frame, what, call)


def check_structure(vector: Vector, frame: Frame, what: str, call: str) -> Vector:
    """Return a derivative if it has the structure of a point; otherwise raise an error.

    Parameters
    ----------
    vector : Vector
        The result of the function.
    frame : Frame
        The frame at the point.
    what, call : str
        The derivative in words, and how the function is called.
    """
    found, expected = _structure(vector), _structure(frame.point)
    if found != expected:
        raise ValueError(f"The {what} has shape {found}, but a point has {expected}; check {call}.")
    return vector


def _evaluated(what: str, call: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; if it fails, the error names it."""
    try:
        return _called(what, call, function, *arguments)
    except Exception as error:
        error.add_note(f"The {what} failed at `x0`; check {call}.")
        raise


def _called(what: str, call: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; raise an error if it modifies its arguments."""
    before = _bytes(arguments)
    result = function(*arguments)
    if _bytes(arguments) != before:
        raise ValueError(f"The {what} changes its argument; work on a copy, as in x = x.copy(), in {call}.")
    return result


def _bytes(arguments: tuple[Any, ...]) -> list[bytes]:
    arrays = arguments if all(isinstance(each, np.ndarray) for each in arguments) else leaves(arguments)
    return [np.asarray(leaf).tobytes() for leaf in arrays]


def _finite(gradient: Vector, point: EvaluatedPoint) -> bool:
    return bool(np.isfinite(point.frame.norm(point.frame.gradient(gradient))))


def named_constraints(problem: Problem) -> Iterator[tuple[str, Constraint]]:
    """Pair the constraints with the names that messages use, in the order of their multipliers."""
    bounds, h = problem.bounds, problem.n_inequality_blocks
    terms = [(k, f"terms[{i}]") for i, k in enumerate(problem.term_blocks)]
    yield from ((f"inequalities[{k}]", block) for k, block in enumerate(problem.inequalities))
    yield from ((name, problem.blocks[k]) for k, name in terms if k < h)
    yield from (("the bounds", block) for block in (bounds.inequalities if bounds else ()))
    yield from ((f"equalities[{k}]", block) for k, block in enumerate(problem.equalities))
    yield from ((name, problem.blocks[k]) for k, name in terms if h <= k < h + problem.n_equality_blocks)
    yield from (("entries with equal bounds", block) for block in (bounds.equalities if bounds else ()))
    yield from ((name, problem.blocks[k]) for k, name in terms if k >= h + problem.n_equality_blocks)


def _structure(x: Any) -> Any:
    """Return the shape of an array, or the shapes of the parts of a point."""
    return mapped(np.shape, x)


def check_positive(name: str, value: float | None) -> None:
    """Raise a `ValueError` unless an option is a positive number, or None for its default."""
    if not (value is None or (isinstance(value, Real) and 0.0 < value < np.inf)):
        raise ValueError(
            f"`{name}` must be positive and finite, got {value!r}; leave it out for the default."
        )


_NOT_FINITE = "The {} is not finite at `x0`; start elsewhere, or check it with check_gradient."
