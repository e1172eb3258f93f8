"""`minimize`: check the input, run a method, and return the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from geodual.manifolds.frame import Point, Vector
from geodual.threads import blas_threads_for, product_operations

from .constraint_vector import ConstraintVector, EvaluatedPoint
from .kkt import measure_units
from .methods import Method, choose_method
from .problem import Problem
from .result import Iterate, Result
from .watch import Watch


def minimize(
    problem: Problem,
    x0: Point,
    method: str | Method = "proximal-lagrangian",
    tol: float = 1e-8,
    *,
    max_iter: int | None = None,
    callback: Callable[[Iterate], object] | None = None,
    verbose: int = 0,
    **options: Any,
) -> Result:
    """Minimise f(x) over a manifold subject to h(x) ≤ 0 and g(x) = 0.

    Every solve ends in a certificate (all parts of the KKT residual at most `tol`) or in another status with
    a message that says what to do.

    Parameters
    ----------
    problem : Problem
        Cost, constraints and manifold.
    x0 : Point
        Start on the manifold; it need not satisfy the constraints.
    method : str or callable
        "proximal-lagrangian" (Rockafellar's proximal method of multipliers with a Newton polish: fast and
        accurate), "primal-dual" (Algorithm 1 of the paper), "primal-dual-linearized" (Algorithm 1 with a
        gradient step in place of the proximal step), or your own function
        ``method(constraints, start, **options)``, which yields one `Update` per step.
    tol : float
        Bound on every part of the KKT residual.
    max_iter : int, optional
        Largest number of iterations. The default is 200 for "proximal-lagrangian", 1,000 for "primal-dual",
        10,000 for "primal-dual-linearized", and 1,000 for your own method.
    callback : callable, optional
        Called with an `Iterate` after every iteration; the solve stops if it returns True.
    verbose : int
        1 prints one line per iteration.
    **options
        Options of the method. Both forms of Algorithm 1 have `alpha` (α of eq. (2), default 0) and `step`
        (ηₜ: "sqrt" for 1/√(t+1), the default, a number, or a function of t). The linearised form also has
        `exponential` (True steps along geodesics). Your own method has its own.

    Returns
    -------
    Result
        The last iterate, its multipliers, the certificate, the status and the history.

    See Also
    --------
    Problem : How to state a problem.
    check_gradient : Check derivatives written by hand, before the first solve.
    Update : What a method of your own yields; `docs/add_a_method.md` is a guide.

    References
    ----------
    R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in convex
    programming", Mathematics of Operations Research 1(2), 1976.

    S. Wang, B. Zhu, L. Ma, Y. Qi, "A Riemannian primal-dual algorithm based on proximal operator and its
    application in metric learning".

    Examples
    --------
    The positive definite matrix of largest determinant with trace at most 6:

    >>> import numpy as np
    >>> from geodual.manifolds import SPD
    >>> from geodual.optimize import Problem, minimize
    >>> problem = Problem(
    ...     SPD(3),
    ...     cost=lambda x: -np.linalg.slogdet(x)[1],
    ...     gradient=lambda x: -np.linalg.inv(x),
    ...     inequalities=lambda x: np.trace(x) - 6.0,
    ...     jacobian_product=lambda x, w: w[0] * np.eye(3),
    ... )
    >>> result = minimize(problem, np.eye(3))
    >>> result.status, np.round(result.x, 6).tolist(), round(float(result.multipliers[0]), 6)
    ('converged', [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]], 0.5)
    """
    chosen = choose_method(method)
    if not 0.0 < tol < np.inf:
        raise ValueError(f"`tol` must be positive and finite, got {tol}; try 1e-8.")
    if max_iter is not None and not max_iter >= 0:
        raise ValueError(f"`max_iter` must not be negative, got {max_iter}; leave it out for the default.")
    # A copy, so that the result does not change if the user writes to `x0` later.
    x0 = _copied(problem.manifold.check_point(x0))
    # Trial points may overflow; solvers recognise and reject them, so numpy need not warn.
    with np.errstate(all="ignore"), blas_threads_for(_largest_product(x0)):
        constraints, start = _check_start(problem, x0)
        units = measure_units(constraints, start)
        updates = chosen.start(constraints, start, {"units": units, "tol": tol}, options)
        hint = _STALLS if options.get("alpha") else _RAISE
        watch = Watch(constraints, units, tol, callback, verbose, hint)
        return watch.run(start, updates, chosen.max_iter if max_iter is None else max_iter)


def _copied(x: Point) -> Point:
    # Points of pymanopt may be sequences of their own kind, which only pymanopt can build.
    if isinstance(x, (tuple, list)):
        return type(x)(map(_copied, x)) if type(x) in (tuple, list) else x
    return np.array(x) if isinstance(x, np.ndarray) else x


def _largest_product(x: Point) -> float:
    """Return the operations to multiply two square matrices of the size of the largest part of `x`."""
    if isinstance(x, (tuple, list)):
        return max(map(_largest_product, x))
    n = round(np.sqrt(np.size(x)))
    return product_operations(n, n, n)


def _check_start(problem: Problem, x0: Point) -> tuple[ConstraintVector, EvaluatedPoint]:
    """Return the constraints as one vector and the evaluated start; raise if a value is not finite."""
    constraints = ConstraintVector(problem, x0)
    if np.ndim(problem.cost(x0)) != 0:
        raise ValueError("The cost must be a number, not an array; sum up its entries.")
    point = constraints.evaluate(x0)
    if not np.isfinite(point.cost):
        raise ValueError(f"The cost must be finite at `x0`, got {point.cost}; start where it is defined.")
    values = point.constraints
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(
            f"Constraint {bad} is {values[bad]} at `x0`; start where all constraints are defined."
        )
    _check_derivative(problem.gradient(x0), point, "gradient of the cost", "gradient(x)")
    for kind, blocks in (("inequalities", problem.inequalities), ("equalities", problem.equalities)):
        for position, block in enumerate(blocks):
            weights = np.ones(len(block(x0)))
            what, call = f"gradient of {kind}[{position}]", "jacobian_product(x, w)"
            _check_derivative(block.jacobian_product(x0, weights), point, what, call)
    return constraints, point


def _check_derivative(derivative: Vector, point: EvaluatedPoint, what: str, call: str) -> None:
    """Raise unless a Euclidean derivative at the start has the structure of a point and is finite."""
    # Where coordinates are pymanopt's, derivatives may have a structure of their own.
    found, expected = _structure(derivative), _structure(point.x)
    if found != expected and point.frame.orthonormal:
        raise ValueError(f"The {what} has shape {found}, but a point has {expected}; check {call}.")
    if not np.isfinite(point.frame.norm(point.frame.gradient(derivative))):
        raise ValueError(
            f"The {what} is not finite at `x0`; start elsewhere, or check it with check_gradient."
        )


def _structure(x: Any) -> Any:
    """Return the shape of an array, or a tuple of the shapes of its parts."""
    return tuple(map(_structure, x)) if isinstance(x, (tuple, list)) else np.shape(x)


_RAISE = "raise `max_iter`, or use the default method if this is another one."
_STALLS = "with `alpha` > 0 the iteration stalls at a violation of αλ*; use alpha=0, or the default method."
