"""`minimize`: check the input, run a method, watch it, and report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import NoLogarithmError, NotOnManifoldError
from geodual.manifolds.base import Point, Vector
from geodual.threads import blas_threads_for, product_operations

from .constraint_vector import ConstraintVector, Sample
from .history import History, Iteration
from .kkt import KKT, Units, measure_kkt, measure_units, refreshed_units
from .primal_dual import primal_dual, primal_dual_linearized
from .problem import Problem
from .progress import Stop, Update
from .proximal_lagrangian import proximal_lagrangian
from .result import Iterate, Result, Status


@dataclass(frozen=True)
class _Method:
    run: Callable[..., Iterator[Update | Stop]]
    max_iter: int
    knows_tolerance: bool


_METHODS = {
    "proximal-lagrangian": _Method(proximal_lagrangian, 200, knows_tolerance=True),
    "primal-dual": _Method(primal_dual, 1000, knows_tolerance=False),
    "primal-dual-linearized": _Method(primal_dual_linearized, 10_000, knows_tolerance=False),
}


def minimize(
    problem: Problem,
    x0: Point,
    method: str = "proximal-lagrangian",
    tol: float = 1e-8,
    *,
    max_iter: int | None = None,
    callback: Callable[[Iterate], object] | None = None,
    verbose: int = 0,
    **options: Any,
) -> Result:
    """Minimise a cost over a manifold under constraints.

    Parameters
    ----------
    problem : Problem
        Cost, constraints and manifold.
    x0 : Point
        Start on the manifold; it need not satisfy the constraints.
    method : str
        "proximal-lagrangian" (the default: fast and to high accuracy), "primal-dual" (Algorithm 1 of the
        paper) or "primal-dual-linearized" (its proximal step replaced by a gradient step).
    tol : float
        Bound on every part of the KKT residual.
    max_iter : int, optional
        Bound on the iterations: 200, 1,000 or 10,000 by default, in the order of the methods above.
    callback : callable, optional
        Called with an `Iterate` after every iteration; the solve stops if it returns True.
    verbose : int
        1 prints a line an iteration.
    **options
        Of Algorithm 1: `alpha` (α of eq. (2), 0 by default) and `step` ("sqrt" for 1/√(t+1), the default, a
        number, or a function of t); of the linearised one also `exponential` (step along geodesics).

    Returns
    -------
    Result

    Examples
    --------
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
    if method not in _METHODS:
        raise ValueError(f"`method` must be one of {', '.join(map(repr, _METHODS))}, got {method!r}.")
    if not 0.0 < tol < np.inf:
        raise ValueError(f"`tol` must be positive and finite, got {tol}.")
    if max_iter is not None and not max_iter >= 0:
        raise ValueError(f"`max_iter` must not be negative, got {max_iter}.")
    chosen = _METHODS[method]
    x0 = _copied(problem.manifold.check_point(x0))
    with np.errstate(all="ignore"), blas_threads_for(_largest_product(x0)):
        constraints, start = _check_start(problem, x0)
        units = measure_units(constraints, start)
        known = {"units": units, "tol": tol} if chosen.knows_tolerance else {}
        updates = chosen.run(constraints, start, **known, **options)
        watch = _Watch(
            constraints, units, tol, callback, verbose, _STALLS if options.get("alpha") else _RAISE
        )
        return watch.run(start, updates, chosen.max_iter if max_iter is None else max_iter)


def _copied(x: Point) -> Point:
    if isinstance(x, (tuple, list)):
        return type(x)(map(_copied, x)) if type(x) in (tuple, list) else x
    return np.array(x) if isinstance(x, np.ndarray) else x


def _largest_product(x: Point) -> float:
    """Return the operations of a product of two matrices with as many entries as the largest part of `x`."""
    if isinstance(x, (tuple, list)):
        return max(map(_largest_product, x))
    n = round(np.sqrt(np.size(x)))
    return product_operations(n, n, n)


def _check_start(problem: Problem, x0: Point) -> tuple[ConstraintVector, Sample]:
    """Return the constraints as one vector and all values at `x0`; raise if any is not finite."""
    constraints = ConstraintVector(problem, x0)
    if np.ndim(problem.cost(x0)) != 0:
        raise ValueError("The cost must be a number, not an array.")
    sample = constraints.sample(x0)
    if not np.isfinite(sample.cost):
        raise ValueError(f"The cost must be finite at `x0`, got {sample.cost}; start where it is defined.")
    values = sample.constraints
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(
            f"Constraint {bad} is {values[bad]} at `x0`; start where all constraints are defined."
        )
    _check_derivative(problem.gradient(x0), sample, "gradient of the cost", "gradient(x)")
    for kind, blocks in (("inequalities", problem.inequalities), ("equalities", problem.equalities)):
        for position, block in enumerate(blocks):
            weights = np.ones(len(block(x0)))
            what, call = f"gradient of {kind}[{position}]", "jacobian_product(x, w)"
            _check_derivative(block.jacobian_product(x0, weights), sample, what, call)
    return constraints, sample


def _check_derivative(derivative: Vector, sample: Sample, what: str, call: str) -> None:
    """Raise unless a Euclidean derivative at the start has the structure of a point and is finite."""
    found, expected = _structure(derivative), _structure(sample.x)
    if found != expected and sample.frame.orthonormal:
        raise ValueError(f"The {what} has shape {found}, but a point has {expected}; check {call}.")
    if not np.isfinite(sample.frame.norm(sample.frame.gradient(derivative))):
        raise ValueError(
            f"The {what} is not finite at `x0`; start elsewhere, or check it with check_gradient."
        )


def _structure(x: Any) -> Any:
    """Return the shape of an array, or the tuple of the shapes of its parts."""
    return tuple(map(_structure, x)) if isinstance(x, (tuple, list)) else np.shape(x)


class _Watch:
    """Follow a method: measure, record, print, call back, and decide when it is over."""

    def __init__(
        self,
        constraints: ConstraintVector,
        units: Units,
        tol: float,
        callback: Callable[[Iterate], object] | None,
        verbose: int,
        hint: str,
    ) -> None:
        self.constraints, self.units, self.tol = constraints, units, tol
        self.callback, self.verbose, self.hint = callback, verbose, hint
        self.started = time.perf_counter()
        self.rows: list[Iteration] = []
        self.best: tuple[float, Point] = (float("inf"), None)
        self.dual_sum: Array | None = None
        self.step_sum = 0.0

    def run(self, start: Sample, updates: Iterator[Update | Stop], max_iter: int) -> Result:
        if self.verbose:
            _print(Iteration.header)
        iterate = self._observe(0, Update(start, np.zeros(self.constraints.size), 0.0, 0))
        if iterate.kkt.worst <= self.tol:
            return self._result(
                iterate, "converged", "The start satisfies the KKT conditions to the tolerance."
            )
        for iteration, update in enumerate(self._guarded(updates, max_iter), start=1):
            if isinstance(update, Stop):
                return self._result(iterate, update.status, update.message)
            previous, iterate = iterate, self._observe(iteration, update)
            if not np.isfinite(iterate.kkt.worst):
                return self._result(previous, "breakdown", _OVERFLOW)
            stopped = self.callback is not None and bool(self.callback(iterate))
            if iterate.kkt.worst <= self.tol:
                return self._result(iterate, "converged", "The KKT conditions hold to the tolerance.")
            if stopped:
                return self._result(iterate, "stopped", "Stopped by the callback.")
        return self._result(iterate, "max_iterations", _out_of_budget(max_iter, iterate, self.hint))

    def _guarded(self, updates: Iterator[Update | Stop], max_iter: int) -> Iterator[Update | Stop]:
        """Pass updates on, but turn points where numbers end into a breakdown."""
        for _ in range(max_iter):
            try:
                update = next(updates)
            except (np.linalg.LinAlgError, NotOnManifoldError, NoLogarithmError) as error:
                yield Stop("breakdown", f"The iterates left the manifold: {error}")
                return
            yield update
            if isinstance(update, Stop):
                return

    def _observe(self, iteration: int, update: Update) -> Iterate:
        lam, sample, split = update.multipliers, update.sample, self.constraints.n_inequalities
        kkt = update.kkt or self._measure(sample, lam)
        step, inner = update.step_size, update.inner_iterations
        iterate = Iterate(iteration, sample.x, sample.cost, lam[:split], lam[split:], kkt, step, inner)
        seconds = time.perf_counter() - self.started
        row = Iteration(
            iteration,
            sample.cost,
            kkt.stationarity,
            kkt.feasibility,
            kkt.complementarity,
            step,
            inner,
            seconds,
        )
        self.rows.append(row)
        if self.verbose:
            _print(str(row))
        if iteration > 0 and -np.inf < sample.cost < self.best[0]:
            self.best = (sample.cost, sample.x)
        if update.dual_used is not None:
            self.step_sum += update.step_size
            weighted = update.step_size * update.dual_used
            self.dual_sum = weighted if self.dual_sum is None else self.dual_sum + weighted
        return iterate

    def _measure(self, sample: Sample, lam: Array) -> KKT:
        self.units = refreshed_units(self.units, self.constraints, sample)
        return measure_kkt(self.constraints, sample, lam, self.units)

    def _result(self, iterate: Iterate, status: Status, message: str) -> Result:
        if not self.constraints.problem.manifold.hadamard:
            message += _NOT_HADAMARD.format(self.constraints.problem.manifold)
        best_cost, best_x = self.best if self.best[1] is not None else (iterate.cost, iterate.x)
        return Result(
            x=iterate.x,
            cost=iterate.cost,
            multipliers=iterate.multipliers,
            equality_multipliers=iterate.equality_multipliers,
            kkt=iterate.kkt,
            status=status,
            message=message,
            n_iter=iterate.iteration,
            history=History(self.rows),
            tol=self.tol,
            best_x=best_x,
            best_cost=best_cost,
            dual_average=None if self.dual_sum is None else self.dual_sum / self.step_sum,
        )


_NOT_HADAMARD = (
    " {} is not a Hadamard manifold: this is a local statement, without the guarantees of Theorem 1."
)


_OVERFLOW = (
    "Cost, constraints or gradients are no longer finite: the iteration diverged. This is its last finite "
    "iterate; use smaller steps, or the default method."
)


_RAISE = "raise `max_iter`, or use the default method if this is another one."
_STALLS = "with `alpha` > 0 the iteration stalls at a violation of αλ*: use alpha=0, or the default method."


def _out_of_budget(max_iter: int, iterate: Iterate, hint: str) -> str:
    residual = iterate.kkt.worst
    return f"The budget of {max_iter} iterations ended at a KKT residual of {residual:.2g}; {hint}"


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - what `verbose` asks for
