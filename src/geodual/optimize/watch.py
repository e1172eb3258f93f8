"""The loop around every method: measure, record, print, call back, and decide when to stop.

`Watch` does this after every iteration, and `InnerWatch` at the steps within one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import NotOnManifoldError
from geodual.manifolds.frame import Point

from .constraint import UNDEFINED
from .convexity import Declaration, GlobalBound
from .kkt import KKT, Units, measure_feasibility, measure_kkt, refreshed_units
from .newton_cg import LocalModel
from .problem import ConstraintVector, EvaluatedPoint
from .refutation import Certificate, violation_at, wrong_derivative
from .result import (
    Feasible,
    History,
    InnerIterate,
    Iterate,
    Iteration,
    Result,
    SecondOrder,
    Status,
    TermValue,
)
from .second_order import judge
from .updates import Stop, Update


@dataclass
class InnerWatch:
    """The `watch` of inner minimizations: methods pass it to `newton_cg`, which calls it at every step.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    units : Units
        Units of cost and constraints.
    deadline : float
        Value of `time.perf_counter` at which to stop.
    callback : callable, optional
        Called with an `InnerIterate`; the solve stops if it returns True.
    show : callable, optional
        Called with each line to print.

    Attributes
    ----------
    stopped : bool
        Whether the callback requested a stop.
    """

    constraints: ConstraintVector
    units: Units
    deadline: float
    callback: Callable[[InnerIterate], object] | None = None
    show: Callable[[str], None] | None = None
    stopped: bool = False

    def __post_init__(self) -> None:
        self.begin(1)

    def begin(self, iteration: int) -> None:
        """Begin a new iteration: count steps from 0."""
        self._iteration, self._inner = iteration, 0

    def __call__(self, model: LocalModel) -> None:
        """Print a step and pass it to the callback, unless the solve is over."""
        if (self.callback is None and self.show is None) or self.is_over():
            return
        iterate = self._observe(model)
        self._inner += 1
        if self.show is not None:
            self.show(str(iterate))
        self.stopped = self.callback is not None and bool(self.callback(iterate))

    def is_over(self, _: object = None) -> bool:
        """Return whether the callback requested a stop or time is up; the `stop` of minimizations."""
        return self.stopped or time.perf_counter() > self.deadline

    def _observe(self, model: LocalModel) -> InnerIterate:
        point = getattr(model, "point", None)
        if not isinstance(point, EvaluatedPoint):  # objectives other than a `Lagrangian` need not have one
            point = self.constraints.evaluate(model.frame.point)
        return InnerIterate(
            self._iteration,
            self._inner,
            point.x,
            self.constraints.total_cost(point),
            measure_feasibility(self.constraints, point, self.units),
            model.value,
            model.frame.norm(model.gradient),
        )


@dataclass
class Watch:
    """Run a method: measure, record and print its updates, call back, and decide when to stop.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    units : Units
        Units of cost and constraints.
    tol : float
        The KKT residual to reach.
    deadline : float
        Value of `time.perf_counter` at which to stop.
    declaration : Declaration
        The declaration of convexity.
    inner : InnerWatch
        Watches the steps within an iteration.
    callback : callable, optional
        Called with an `Iterate` after every iteration.
    record : dict of callables
        Quantities to record, as functions of x by name.
    verbose : int
        Whether to print.
    method : str
        Name of the method.
    """

    constraints: ConstraintVector
    units: Units
    tol: float
    deadline: float
    declaration: Declaration
    inner: InnerWatch
    callback: Callable[[Iterate], object] | None
    record: Mapping[str, Callable[[Point], Any]]
    verbose: int
    method: str = ""

    def __post_init__(self) -> None:
        self.started = time.perf_counter()
        self.rows: list[Iteration] = []
        self.best: tuple[float, Point] = (float("inf"), None)
        self.feasible: Feasible | None = None
        self.dual_sum: Array | None = None
        self.step_sum = 0.0

    def run(self, start: Update, updates: Iterator[Update | Stop], max_iter: int) -> Result:
        """Take updates until the KKT conditions hold, something stops the solve, or iterations run out."""
        if self.verbose:
            show(Iteration.header)
        iterate = self._observe(0, start)
        self._start = self._last = start
        if iterate.kkt.worst <= self.tol and self._judge(start) != "fails":
            return self._result(
                iterate, "converged", "The start satisfies the KKT conditions to the tolerance."
            )
        for iteration, update in enumerate(self._guarded(updates, max_iter), start=1):
            if isinstance(update, Stop):
                return self._result(iterate, update.status, update.message)
            previous, iterate = iterate, self._observe(iteration, update)
            self._last = update
            if not np.isfinite([iterate.kkt.worst, iterate.cost]).all():
                return self._result(previous, "breakdown", _OVERFLOW)
            # Call back before testing convergence, so that the callback sees the last iterate too.
            stopped = self.callback is not None and bool(self.callback(iterate))
            if iterate.kkt.worst <= self.tol:
                return self._result(iterate, "converged", "The KKT conditions hold to the tolerance.")
            if stopped or self.inner.stopped:
                by = "callback" if stopped else "inner callback"
                return self._result(iterate, "stopped", f"Stopped by the {by}.")
            if time.perf_counter() > self.deadline:
                return self._result(iterate, "max_time", _OUT_OF_TIME.format(iterate.kkt.worst))
            self.inner.begin(iteration + 1)
        message = _OUT_OF_BUDGET.format(max_iter, iterate.kkt.worst, self._last.advice)
        return self._result(iterate, "max_iterations", message)

    def _guarded(self, updates: Iterator[Update | Stop], max_iter: int) -> Iterator[Update | Stop]:
        """Pass on updates; an error where functions are not defined becomes a breakdown."""
        for _ in range(max_iter):
            try:  # for example, a long step may make a matrix singular
                update = next(updates, _ENDED)
            except UNDEFINED as error:
                yield Stop("breakdown", _LEFT.format(error))
                return
            if not isinstance(update, Update | Stop):
                raise TypeError(
                    f"A method must yield `Update` or `Stop`, got {type(update).__name__}; "
                    "see docs/add_a_method.md."
                )
            if isinstance(update, Stop):
                yield update
                return
            yield self._signed(update)

    def _signed(self, update: Update) -> Update:
        """Return the update with negative λ of inequalities set to 0, as a certificate requires."""
        given, size = np.asarray(update.multipliers, dtype=float), self.constraints.size
        if given.shape != (size,):
            raise ValueError(
                f"An `Update` must have one multiplier per constraint, {size}, got shape {given.shape}; see "
                "docs/add_a_method.md."
            )
        if not (given[: self.constraints.n_inequalities] < 0.0).any():
            return update
        return replace(update, multipliers=self.constraints.nonnegative(given), kkt=None, second_order=None)

    def _observe(self, iteration: int, update: Update) -> Iterate:
        """Measure an update, add its row to the history, and return the iterate for callbacks."""
        lam, point, split = update.multipliers, update.point, self.constraints.n_inequalities
        mu = lam[split : self.constraints.tail.start]
        self.units = update.units or self.units  # a certificate refers to the units of its own point
        kkt = update.kkt or self._measure(point, lam)  # methods need not measure it themselves
        terms = self._term_values(point, lam)
        cost = point.cost + sum(term.cost for term in terms)
        spent = (update.step_size, update.penalty, update.hessian_products)
        iterate = Iterate(iteration, point.x, cost, lam[:split], mu, kkt, *spent, terms)
        parts = (kkt.stationarity, kkt.feasibility, kkt.complementarity)
        seconds = time.perf_counter() - self.started
        row = Iteration(iteration, cost, *parts, *spent, seconds, update.by, self._recorded(point.x))
        self.rows.append(row)
        if self.verbose:
            show(str(row))
        # Before a solve converges, terms at their prox points may cost less than at any point.
        there = self.constraints.total_cost(point)
        # Theorem 1 is about x₁, …, x_T, so the start does not count.
        if iteration > 0 and -np.inf < there < self.best[0]:
            self.best = (there, point.x)
        least = np.inf if self.feasible is None else self.feasible.cost
        if kkt.feasibility <= self.tol and -np.inf < there < least:
            self.feasible = Feasible(point.x, there)
        if update.dual_used is not None:
            self.step_sum += update.step_size
            weighted = update.step_size * update.dual_used
            self.dual_sum = weighted if self.dual_sum is None else self.dual_sum + weighted
        return iterate

    def _term_values(self, point: EvaluatedPoint, lam: Array) -> tuple[TermValue, ...]:
        if not self.constraints.terms:
            return ()
        p = self.units.prox_point(self.constraints, point, lam)
        names = [term.name for term in self.constraints.problem.terms]
        return tuple(
            TermValue(name, placed.of(p), placed.value(p), placed.of(lam))
            for name, placed in zip(names, self.constraints.terms, strict=True)
        )

    def _recorded(self, x: Point) -> dict[str, Any]:
        quantities = {}
        for name, function in self.record.items():
            try:
                value = np.array(function(x))  # a copy, because the value may share memory with x
            except Exception as error:
                error.add_note(f"It was raised by record[{name!r}], which is called as record[{name!r}](x).")
                raise
            quantities[name] = value if value.ndim else value.item()
        return quantities

    def _judge(self, update: Update) -> SecondOrder:
        """Return whether the second-order necessary condition holds at a KKT point."""
        if update.second_order is not None:
            return update.second_order
        return judge(self.constraints, self.units, update.point, update.multipliers).verdict

    def _contradiction(self, iterate: Iterate, second_order: SecondOrder) -> str:
        """Return the reason why a KKT point is not a global minimum, if there is one."""
        if second_order == "fails":
            return "the second-order condition fails"
        # Points that are feasible only to the tolerance may cost a little less than the minimum.
        margin = self.tol**0.5 * max(self.units.cost_unit, abs(iterate.cost))
        is_beaten = self.feasible is not None and self.feasible.cost < iterate.cost - margin
        return "a feasible iterate costs less (see `best_feasible`)" if is_beaten else ""

    def _who(self) -> str:
        """Return the name of the method, and the safeguards that acted."""
        helpers = list(dict.fromkeys(row.by for row in self.rows if row.by))
        return f"{self.method} with {', '.join(helpers)}" if helpers else self.method

    def _examined(self, status: Status, message: str) -> tuple[Status, str]:
        """Return the status and the message of a solve, corrected if values of functions contradict them."""
        last, constraints, units = self._last, self.constraints, self.units
        if status == "converged":
            try:
                constraints.problem.manifold.check_point(last.point.x)
            except NotOnManifoldError as error:
                return "breakdown", _OFF_MANIFOLD.format(error)
            points = self._start.point, last.point
            refuted = Certificate(constraints, units, self.tol, *points, last.multipliers).refuted()
            return (refuted.status, refuted.message) if refuted else (status, message)
        if status in ("infeasible", "breakdown"):
            models = [violation_at(constraints, units, last.point)]
            if status == "breakdown":
                models.append(units.lagrangian(constraints, units.scaled(last.multipliers)).at(last.point))
            wrong = next(filter(None, (wrong_derivative(constraints, model) for model in models)), "")
            return ("breakdown", f"{message} {wrong}") if wrong else (status, message)
        return status, message

    def _count_bounds(self) -> tuple[int, int]:
        """Return the numbers of inequalities and equalities that are bounds."""
        is_bound = self.constraints.bounded_entries >= 0
        n = self.constraints.n_inequalities
        return int(is_bound[:n].sum()), int(is_bound[n:].sum())

    def _bound(self, iterate: Iterate) -> GlobalBound | None:
        """Return how much less than an iterate other points can cost, if convexity is declared."""
        if not self.declaration.stands:
            return None
        # The last point has the metric in which it was found.
        last, terms = self._last.point, [np.ravel(term.multiplier) for term in self._general(iterate)]
        lam = np.concatenate([iterate.multipliers, iterate.equality_multipliers, *terms])
        point = last if last.x is iterate.x else self.constraints.evaluate(iterate.x)
        point, lam = self._at_prox_point(point, lam)
        return self.declaration.bound(self.constraints, point, lam, self._start.point.x)

    def _general(self, iterate: Iterate) -> list[TermValue]:
        """Return the terms that are neither inequalities nor equalities."""
        pairs = zip(self.constraints.terms, iterate.terms, strict=True)
        return [term for placed, term in pairs if placed in self.constraints.functions]

    def _at_prox_point(self, point: EvaluatedPoint, lam: Array) -> tuple[EvaluatedPoint, Array]:
        """Return c − p instead of c for terms, and y, which is exactly a subgradient at the prox point p.

        Then g(c(z)) ≥ g(p) + ⟨y, c(z) − p⟩ at every point z; for inequalities, the analog is h(z) ≤ 0.
        """
        if not self.constraints.functions:
            return point, lam
        tail, units = self.constraints.tail, self.units
        off = point.constraints - units.prox_point(self.constraints, point, lam)
        y, values = np.array(lam), np.array(point.constraints)
        y[tail] += (off * units.cost / units.constraints**2)[tail]
        values[tail] = off[tail]
        return replace(point, constraints=values), y

    def _measure(self, point: EvaluatedPoint, lam: Array) -> KKT:
        self.units = refreshed_units(self.units, self.constraints, point)
        return measure_kkt(self.constraints, point, lam, self.units)

    def _result(self, iterate: Iterate, status: Status, message: str) -> Result:
        """Return the result at the end of a solve, with the findings on curvature and convexity."""
        second_order: SecondOrder = "unknown"
        problem = self.constraints.problem
        status, message = self._examined(status, message)
        bound, is_global = self._bound(iterate), False
        if status == "converged":
            second_order = self._judge(self._last)
            message += _NOT_A_MINIMUM if second_order == "fails" else ""
            contradiction = self._contradiction(iterate, second_order)
            bound = None if contradiction else bound
            is_global = bound is not None and bound.is_small(iterate.cost, self.tol**0.5, self.units.cost)
            message += self.declaration.words(contradiction, bound, is_global)
        if not problem.manifold.hadamard and not is_global:
            message += _NOT_HADAMARD.format(problem.manifold)
        lam, mu = iterate.multipliers, iterate.equality_multipliers
        lower, upper = problem.bounds.multipliers(lam, mu) if problem.bounds else (None, None)
        best_cost, best_x = self.best if self.best[1] is not None else (iterate.cost, iterate.x)
        return Result(
            x=iterate.x,
            cost=iterate.cost,
            multipliers=lam,
            equality_multipliers=mu,
            lower_multipliers=lower,
            upper_multipliers=upper,
            terms=iterate.terms,
            n_bounds=self._count_bounds(),
            kkt=iterate.kkt,
            status=status,
            message=message,
            method=self._who(),
            n_iter=iterate.iteration,
            history=History(self.rows),
            tol=self.tol,
            best_x=best_x,
            best_cost=best_cost,
            second_order=second_order,
            global_minimum=is_global,
            global_bound=bound,
            best_feasible=self.feasible,
            dual_average=None if self.dual_sum is None else self.dual_sum / self.step_sum,
        )


_ENDED = Stop(
    "breakdown",
    "The method ended before the KKT conditions held: it yielded no more updates. Let it run until stopped.",
)

_OFF_MANIFOLD = (
    "The KKT conditions seem to hold, but the point has left the manifold, perhaps by rounding errors at its "
    "edge, where gradients fade: {} Bound the feasible set away from the edge."
)

_LEFT = (
    "The steps led to where cost, constraints or the manifold are not defined; use smaller steps or another "
    "start. The error was: {}"
)

_NOT_A_MINIMUM = (
    " But the second-order condition fails: a feasible point nearby costs less, so this is a maximum or a "
    "saddle point. Start elsewhere."
)

_NOT_HADAMARD = (
    " {} is not a Hadamard manifold, so this is a local statement, without the guarantees of Theorem 1."
)


_OVERFLOW = (
    "The iteration diverged: cost, constraints or gradients are no longer finite. This is the last finite "
    "iterate. Use smaller steps, or the default method."
)


_OUT_OF_TIME = (
    "The time ran out at a KKT residual of {:.2g}. Raise `max_time`, or continue with "
    "minimize(problem, **result.warm_start())."
)

_OUT_OF_BUDGET = "The budget of {} iterations ran out at a KKT residual of {:.2g}; {}"


def show(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201 - what `verbose` asks for
