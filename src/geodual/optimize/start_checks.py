"""Check the functions of a problem at the start, where a mistake can still be named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import Frame
from geodual.manifolds.frame import Point, Vector

from .constraint import Constraint
from .constraint_vector import ConstraintVector, EvaluatedPoint
from .history import COLUMNS
from .problem import Problem


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
        If a value or gradient is not finite, or a derivative has not the structure of a point; the message
        names the function.
    """
    constraints = ConstraintVector(problem, x0)
    if np.ndim(problem.cost(x0)) != 0:
        raise ValueError("The cost must be a number, not an array; sum up its entries.")
    point = constraints.evaluate(x0)
    if not np.isfinite(point.cost):
        raise ValueError(f"The cost must be finite at `x0`, got {point.cost}; start where it is defined.")
    _check_values(problem, point)
    _check_gradient(point, "gradient of the cost", "gradient(x)", problem.gradient, x0)
    if problem.automatic:
        _check_automatic(problem, point)
    else:
        _check_written(problem, point)
    return constraints, point


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
    # One sum of gradients per block tells whether all are sound; only if not, functions are looked at alone.
    sums = [block.jacobian_product(point.x, np.ones(len(block(point.x)))) for block in problem.blocks]
    if not all(_finite(gradient, point) for gradient in sums):
        for name, block in named_constraints(problem):
            _check_block_gradient(block, point, name)


def _check_written(problem: Problem, point: EvaluatedPoint) -> None:
    """Check the derivatives that a user wrote by hand."""
    u = point.frame.tangent(point.frame.random(np.random.default_rng(0)))
    if problem.hessian_product is not None:
        call = "hessian_product(x, u)"
        _checked(point, "Hessian product of the cost", call, problem.hessian_product, point.x, u)
    for name, block in named_constraints(problem):
        _check_block_gradient(block, point, name)
        _check_block_products(block, point, name, u)


def _check_block_gradient(block: Constraint, point: EvaluatedPoint, name: str) -> None:
    w, call = np.ones(len(block(point.x))), "jacobian_product(x, w)"
    _check_gradient(point, f"gradient of {name}", call, block.jacobian_product, point.x, w)


def _check_block_products(block: Constraint, point: EvaluatedPoint, name: str, u: Vector) -> None:
    size = len(block(point.x))
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
        _checked(point, f"Hessian product of {name}", call, block.hessian_product, point.x, np.ones(size), u)


def _check_gradient(point: EvaluatedPoint, what: str, call: str, *function: Any) -> None:
    if not _finite(_checked(point, what, call, *function), point):
        raise ValueError(_NOT_FINITE.format(what))


def _checked(point: EvaluatedPoint, what: str, call: str, *function: Any) -> Vector:
    """Call a function with its arguments; raise unless the result has the structure of a point."""
    return check_structure(_evaluated(what, call, *function), point.frame, what, call)


def check_structure(vector: Vector, frame: Frame, what: str, call: str) -> Vector:
    """Return a derivative if it has the structure of a point; otherwise raise, and name the function.

    Parameters
    ----------
    vector : Vector
        What the function returned.
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
    """Call a function; if it fails, the error says which one it was."""
    try:
        return function(*arguments)
    except Exception as error:
        error.add_note(f"The {what} failed at `x0`; check {call}.")
        raise


def _finite(gradient: Vector, point: EvaluatedPoint) -> bool:
    return bool(np.isfinite(point.frame.norm(point.frame.gradient(gradient))))


def named_constraints(problem: Problem) -> Iterator[tuple[str, Constraint]]:
    """Pair the constraints with the names that messages use, in the order of their multipliers."""
    bounds = problem.bounds
    yield from ((f"inequalities[{k}]", block) for k, block in enumerate(problem.inequalities))
    yield from (("the bounds", block) for block in (bounds.inequalities if bounds else ()))
    yield from ((f"equalities[{k}]", block) for k, block in enumerate(problem.equalities))
    yield from (("entries with equal bounds", block) for block in (bounds.equalities if bounds else ()))


def _structure(x: Any) -> Any:
    """Return the shape of an array, or a tuple of the shapes of its parts."""
    return tuple(map(_structure, x)) if isinstance(x, (tuple, list)) else np.shape(x)


def check_multipliers(constraints: ConstraintVector, multipliers: Any, equality_multipliers: Any) -> Array:
    """Return the multipliers to start from as one vector, inequalities first; 0 for those not given."""
    n = constraints.n_inequalities
    parts = []
    for name, given, size in (
        ("multipliers", multipliers, n),
        ("equality_multipliers", equality_multipliers, constraints.size - n),
    ):
        try:
            part = np.zeros(size) if given is None else np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"`{name}` must be {size} numbers, one per constraint, got {given!r}.") from None
        if part.shape != (size,) or not np.isfinite(part).all():
            raise ValueError(
                f"`{name}` must be {size} finite numbers, one per constraint, got shape {part.shape}; leave "
                "it out to start from 0."
            )
        parts.append(part)
    if (parts[0] < 0.0).any():
        raise ValueError(
            f"`multipliers` of inequalities must not be negative, got {parts[0].min():g}; use 0 or more."
        )
    return np.concatenate(parts)


def check_positive(name: str, value: float | None) -> None:
    """Raise a `ValueError` unless an option is a positive number, or None for its default."""
    if not (value is None or (isinstance(value, Real) and 0.0 < value < np.inf)):
        raise ValueError(
            f"`{name}` must be positive and finite, got {value!r}; leave it out for the default."
        )


def check_record(record: Any) -> Mapping[str, Callable[[Point], Any]]:
    """Return the quantities to record, or raise an error that says what is wrong with them."""
    if record is None:
        return {}
    if not isinstance(record, Mapping) or not all(map(callable, record.values())):
        raise TypeError(
            '`record` must be a dictionary of functions of x, as in {"trace": np.trace}; check its values.'
        )
    taken = [name for name in record if name in COLUMNS or not isinstance(name, str)]
    if taken:
        raise ValueError(f"`record` cannot use {taken[0]!r} as a name; choose a text other than {COLUMNS}.")
    return dict(record)


_NOT_FINITE = "The {} is not finite at `x0`; start elsewhere, or check it with check_gradient."
