"""`minimize` and its methods: check the input, run a method, return the result."""

from __future__ import annotations

import inspect
import numbers
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from geodual.arrays import Array
from geodual.manifolds.frame import Point
from geodual.threads import blas_threads_for, product_operations

from .checks import check_start
from .convexity import Declaration
from .interior_point import interior_point
from .kkt import Units, measure_units
from .primal_dual import primal_dual, primal_dual_linearized
from .problem import ConstraintVector, EvaluatedPoint, Problem
from .proximal_lagrangian import proximal_lagrangian
from .result import COLUMNS, InnerIterate, Iterate, Result
from .scaling import Scaling, kept_even
from .trees import leaves, mapped
from .updates import Stop, Update
from .watch import InnerWatch, Watch, show

Method = Callable[..., Iterator[Update | Stop]]
"""``method(constraints, start, **options)`` yields one `Update` per step; see `docs/add_a_method.md`."""

_OWN_MAX_ITER = 1000  # for a user's method, whose steps may be cheap and small


@dataclass(frozen=True)
class MethodChoice:
    """A method with its name and its default budget of iterations."""

    name: str
    run: Method
    max_iter: int
    scales: bool = False

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters that the method accepts, by name."""
        return inspect.signature(self.run).parameters

    def start(
        self,
        constraints: ConstraintVector,
        start: EvaluatedPoint,
        known: dict[str, Any],
        options: dict[str, Any],
    ) -> Iterator[Update | Stop]:
        """Start the method with its options and those `known` values that are in its signature."""
        # A method that does not need the tolerance or units need not accept them.
        wanted = {name: value for name, value in known.items() if name in self.parameters}
        self._check_options(options, known)
        return iter(self.run(constraints, start, **wanted, **options))

    def _check_options(self, options: dict[str, Any], known: dict[str, Any]) -> None:
        parameters = list(self.parameters.values())[2:]  # after constraints and start
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            return
        allowed = [parameter.name for parameter in parameters if parameter.name not in known]
        for name in options:
            if name not in allowed:
                listed = ", ".join(f"`{each}`" for each in allowed)
                remedy = f"its options are {listed}." if allowed else "it has none; leave it out."
                raise TypeError(f"`{name}` is not an option of the method {self.name!r}; {remedy}")


METHODS = {
    choice.name: choice
    for choice in (
        MethodChoice("proximal-lagrangian", proximal_lagrangian, 400, scales=True),
        MethodChoice("interior-point", interior_point, 2000, scales=True),
        MethodChoice("primal-dual", primal_dual, 1000),
        MethodChoice("primal-dual-linearized", primal_dual_linearized, 10_000),
    )
}


def choose_method(method: str | Method) -> MethodChoice:
    """Return the method with the given name, or wrap the given function as a method."""
    if callable(method):
        return MethodChoice(getattr(method, "__name__", type(method).__name__), method, _OWN_MAX_ITER)
    if not (isinstance(method, str) and method in METHODS):
        raise ValueError(
            f"`method` must be one of {', '.join(map(repr, METHODS))}, or a function, got {method!r}."
        )
    return METHODS[method]


def minimize(
    problem: Problem,
    x0: Point,
    method: str | Method = "proximal-lagrangian",
    tol: float = 1e-8,
    *,
    multipliers: ArrayLike | None = None,
    equality_multipliers: ArrayLike | None = None,
    term_multipliers: Sequence[ArrayLike] | None = None,
    max_iter: int | None = None,
    max_time: float = float("inf"),
    callback: Callable[[Iterate], object] | None = None,
    inner_callback: Callable[[InnerIterate], object] | None = None,
    record: Mapping[str, Callable[[Point], Any]] | None = None,
    verbose: int = 0,
    **options: Any,
) -> Result:
    """Minimize f(x) + Σ gᵢ(cᵢ(x)) over a manifold subject to h(x) ≤ 0 and g(x) = 0.

    Every solve ends with a certificate (all parts of the KKT residual at most `tol`) or with another status
    and a message that says what to do.

    Parameters
    ----------
    problem : Problem
        The cost, constraints and manifold.
    x0 : Point
        Starting point on the manifold; it need not satisfy the constraints.
    method : str or callable
        "proximal-lagrangian" (Rockafellar's proximal method of multipliers with a Newton polish: fast and
        accurate), "interior-point" (primal-dual Newton steps with a barrier, after Lai and Yoshise: if the
        start satisfies all inequalities strictly, so does every iterate; often faster with many bounds),
        "primal-dual" (Algorithm 1 of the paper), "primal-dual-linearized" (Algorithm 1 with a gradient step
        instead of the proximal step), or your own function ``method(constraints, start, **options)``, which
        yields one `Update` per step.
    tol : float
        Bound on every part of the KKT residual.
    multipliers, equality_multipliers : array, optional
        Multipliers to start from, in the form of a `Result`; 0 by default. ``minimize(problem,
        **result.warm_start())`` continues where a solve ended.
    term_multipliers : sequence of array, optional
        The same for terms, one array per term.
    max_iter : int, optional
        Maximum number of iterations. The default is 400 for "proximal-lagrangian", 2,000 for
        "interior-point", 1,000 for "primal-dual", 10,000 for "primal-dual-linearized", and 1,000 for your own
        method.
    max_time : float
        Seconds after which to stop, with the status "max_time".
    callback : callable, optional
        Called with an `Iterate` after every iteration; the solve stops if it returns True.
    inner_callback : callable, optional
        Called with an `InnerIterate` at every step within an iteration, possibly hundreds of times; the solve
        stops soon if it returns True.
    record : dict, optional
        Quantities to record after every iteration, as functions of x by name: ``record={"trace": np.trace}``
        adds a column "trace" to ``result.history.to_frame()``.
    verbose : int
        1 prints one line per iteration; 2 also prints one per step within it, with the slope of the function
        that the iteration minimizes instead of the stationarity.
    **options
        Options of the method. The default method has `penalty` (the first ρ, for a problem scaled to unit
        size: by default 3, or 0.3 with equalities or terms on a manifold that is not Hadamard, and less if
        there are only terms, which add little to the slope of the cost) and `inner_iterations` (Newton
        iterations per inner solve, default 40). The interior-point method has `barrier` (the first μ, for a
        problem scaled to unit size; chosen by default). Both forms of Algorithm 1 have `alpha` (α of eq. (2),
        default 0) and `step` (ηₜ: "sqrt" for 1/√(t+1), the default, a number, or a function of t). The
        linearized form also has `exponential` (True steps along geodesics). Your own method has its own.

    Returns
    -------
    Result
        The last iterate, its multipliers, the certificate, the status and the history.

    See Also
    --------
    Problem : States a problem.
    minimize_many : Solves from many starts, or many problems.
    check_gradient : Checks handwritten derivatives, before the first solve.
    Update : What your own methods yield; `docs/add_a_method.md` is a guide.

    References
    ----------
    R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in convex
    programming", Mathematics of Operations Research 1(2), 1976.

    Z. Lai, A. Yoshise, "Riemannian interior point methods for constrained optimization on manifolds", Journal
    of Optimization Theory and Applications 201, 2024.

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
    if not isinstance(problem, Problem):
        raise TypeError(f"`problem` must be a `Problem`, got {type(problem).__name__}; build one first.")
    chosen = choose_method(method)
    _check_limits(tol, max_iter, max_time)
    recorded = _check_record(record)
    for name, function in (("callback", callback), ("inner_callback", inner_callback)):
        if not (function is None or callable(function)):
            raise ValueError(f"`{name}` must be a function, got {function!r}; leave it out for none.")
    if inner_callback is not None:
        _check_has_steps(chosen)
    deadline = time.perf_counter() + max_time
    # A copy, so that the result does not change if the user writes to `x0` later.
    x0 = _copied(problem.manifold.check_point(x0))
    # Trial points may overflow; solvers detect and reject them, so numpy need not warn.
    with np.errstate(all="ignore"), blas_threads_for(_largest_product(x0)):
        constraints, start = check_start(problem, x0)
        first = _check_multipliers(constraints, multipliers, equality_multipliers)
        first = _with_terms(constraints, first, term_multipliers)
        scaling = Scaling(constraints, start)
        if chosen.scales:
            scaling = scaling.sized(start).adapted(start, first)
            constraints, start = scaling.constraints, scaling.at(start)
        units = measure_units(constraints, start)
        inner = InnerWatch(constraints, units, deadline, inner_callback, show if verbose > 1 else None)
        known: dict[str, Any] = {"tol": tol, "deadline": deadline}
        known |= {"watch": inner, "stop": inner.is_over}

        def run(scaling: Scaling, point: EvaluatedPoint, units: Units, y: Array) -> Iterator[Update | Stop]:
            there = known | {"units": units, "multipliers": y}
            return chosen.start(scaling.constraints, point, there, options)

        updates = run(scaling, start, units, first)
        if chosen.scales:
            updates = kept_even(updates, scaling, tol, run)
        declaration = Declaration.examined(problem, x0)
        seen = (inner, callback, recorded, verbose, chosen.name)
        watch = Watch(constraints, units, tol, deadline, declaration, *seen)
        budget = chosen.max_iter if max_iter is None else max_iter
        return replace(watch.run(Update(start, first), updates, budget), problem=problem)


def _check_limits(tol: float, max_iter: int | None, max_time: float) -> None:
    if not (isinstance(tol, numbers.Real) and 0.0 < tol < np.inf):
        raise ValueError(f"`tol` must be a positive and finite number, got {tol!r}; try 1e-8.")
    if not (max_iter is None or (isinstance(max_iter, numbers.Integral) and max_iter >= 0)):
        raise ValueError(f"`max_iter` must be a whole number of at least 0, got {max_iter!r}; leave it out.")
    if not (isinstance(max_time, numbers.Real) and max_time > 0.0):
        raise ValueError(
            f"`max_time` must be a positive number, got {max_time!r}; leave it out for no limit."
        )


def _check_has_steps(method: MethodChoice) -> None:
    if "watch" not in method.parameters:
        raise ValueError(
            f"`inner_callback` needs a method that shows its inner steps, and {method.name!r} does not; use "
            "`callback`, or give your own method a parameter `watch` (docs/add_a_method.md)."
        )


def _check_multipliers(constraints: ConstraintVector, multipliers: Any, equality_multipliers: Any) -> Array:
    """Return the multipliers to start from as one vector, inequalities first; 0 by default."""
    n = constraints.n_inequalities
    parts = []
    for name, given, size in (
        ("multipliers", multipliers, n),
        ("equality_multipliers", equality_multipliers, constraints.n_equalities),
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
    return np.concatenate([*parts, np.zeros(constraints.size - constraints.tail.start)])


def _with_terms(constraints: ConstraintVector, first: Array, given: Any) -> Array:
    """Return the multipliers to start from with those of the terms."""
    if given is None:
        return first
    if len(given) != len(constraints.terms):
        raise ValueError(
            f"`term_multipliers` must be {len(constraints.terms)} arrays, one per term, got {len(given)}; "
            "leave it out to start from 0."
        )
    for k, (term, y) in enumerate(zip(constraints.terms, given, strict=True)):
        part = np.asarray(y, dtype=float)
        if part.shape != term.shape or not np.isfinite(part).all():
            raise ValueError(
                f"`term_multipliers[{k}]` must be finite numbers of shape {term.shape}, got {part.shape}; "
                "leave it out to start from 0."
            )
        if term in constraints.functions:
            first[term.part] = part.ravel()
    return first


def _check_record(record: Any) -> Mapping[str, Callable[[Point], Any]]:
    """Return the quantities to record; raise an error if they are not valid."""
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


def _copied(x: Point) -> Point:
    # A copy of a low-rank matrix would lose its factors.
    return mapped(
        lambda part: np.array(part) if isinstance(part, np.ndarray) and not _is_constant(part) else part, x
    )


def _is_constant(x: Any) -> bool:
    """Return whether an array, and every array of which it is a view, is read-only."""
    return x is None or (isinstance(x, np.ndarray) and not x.flags.writeable and _is_constant(x.base))


def _largest_product(x: Point) -> float:
    """Return the operations of a product of two square matrices of the size of the largest part of `x`."""
    n = max(round(np.sqrt(np.size(part))) for part in leaves(x))
    return product_operations(n, n, n)
