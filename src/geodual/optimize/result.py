"""The result of a solve, what callbacks receive, and the history of iterations."""

from __future__ import annotations

import math
import numbers
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from geodual.arrays import Array
from geodual.extras import import_extra, new_axes
from geodual.manifolds.frame import Point, Vector

from .convexity import GlobalBound
from .kkt import KKT
from .problem import Problem
from .sensitivity import Derivative, NotDifferentiableError, Sensitivity
from .term import is_constraint
from .trees import leaves

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_WIDTH = 100  # of printed results, in characters
_SHOWN = 5  # multipliers of one kind in a printed result

# Colors that color-blind readers can distinguish (Okabe and Ito).
_PARTS = {"stationarity": "#0072B2", "feasibility": "#D55E00", "complementarity": "#009E73"}


@dataclass(frozen=True)
class Iteration:
    """One row of a `History`; prints as a line of the table that ``verbose=1`` shows.

    Attributes
    ----------
    iteration : int
        Number of the iteration; 0 is the start.
    cost : float
        f(x).
    stationarity, feasibility, complementarity : float
        The parts of the KKT residual.
    step_size : float
        Step size η of Algorithm 1; NaN for other methods.
    penalty : float
        Penalty ρ of an augmented Lagrangian; NaN for other methods.
    hessian_products : int
        Number of Hessian products in this iteration.
    seconds : float
        Time since the start of the solve.
    by : str
        What made the step, if not the method itself: a safeguard, such as "polish" or "rescaling", or
        "interior-point".
    recorded : dict
        The quantities passed to `minimize` as `record`, by name.

    See Also
    --------
    Result : The result of a solve.
    History : All iterations of a solve.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import Problem, minimize
    >>> problem = Problem(Euclidean(2), lambda x: x @ x, gradient=lambda x: 2.0 * x)
    >>> first = minimize(problem, np.array([3.0, 4.0])).history[0]
    >>> first.iteration, first.cost, first.stationarity, first.feasibility
    (0, 25.0, 10.0, 0.0)
    """

    iteration: int
    cost: float
    stationarity: float
    feasibility: float
    complementarity: float
    step_size: float
    penalty: float
    hessian_products: int
    seconds: float
    by: str = ""
    recorded: Mapping[str, Any] = field(default_factory=dict)

    header = "  iter            cost   stationary    feasible  complement.  step/penalty  products   seconds"

    def __str__(self) -> str:
        row = (
            f"{self.iteration:6d} {self.cost:15.8e} {self.stationarity:12.2e} {self.feasibility:11.2e} "
            f"{self.complementarity:12.2e} {self._control:13.2e} {self.hessian_products:9d} "
            f"{self.seconds:9.3f}"
        )
        # Arrays may be recorded too, but do not fit in a line.
        recorded = self.recorded.items()
        numbers = [f"{name}={value:.6g}" for name, value in recorded if isinstance(value, (int, float))]
        return "  ".join([row, *([self.by] if self.by else []), *numbers])

    @property
    def _control(self) -> float:
        """The step size of the method, or its penalty if it has no step size."""
        return self.penalty if math.isnan(self.step_size) else self.step_size


COLUMNS = tuple(entry.name for entry in fields(Iteration) if entry.name != "recorded")
"""The columns of every history."""


class History(Sequence[Iteration]):
    """The iterations of a solve, as a sequence, a printed table, a DataFrame or a plot.

    Parameters
    ----------
    iterations : sequence of Iteration
        The rows, filled in by `minimize`; row 0 is the start.

    See Also
    --------
    Result : Its `history` is a `History`.
    Iteration : A row of it.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import Problem, minimize
    >>> problem = Problem(Euclidean(2), lambda x: x @ x, gradient=lambda x: 2.0 * x)
    >>> history = minimize(problem, np.array([3.0, 4.0]), method="primal-dual", step=1.0, max_iter=2).history
    >>> history
    History(3 iterations)
    >>> [round(row.cost, 3) for row in history]  # each proximal step divides x by 3
    [25.0, 2.778, 0.309]
    >>> history.to_frame().columns[:4].tolist()
    ['cost', 'stationarity', 'feasibility', 'complementarity']
    """

    def __init__(self, iterations: Sequence[Iteration] = ()) -> None:
        self._iterations = tuple(iterations)

    def __len__(self) -> int:
        return len(self._iterations)

    @overload
    def __getitem__(self, index: int) -> Iteration: ...
    @overload
    def __getitem__(self, index: slice) -> History: ...
    def __getitem__(self, index: int | slice) -> Iteration | History:
        if isinstance(index, slice):
            return History(self._iterations[index])
        return self._iterations[index]

    def __repr__(self) -> str:
        return f"History({len(self)} iterations)"

    def __str__(self) -> str:
        return "\n".join([Iteration.header, *map(str, self)])

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row per iteration; recorded quantities are the last columns."""
        pandas = import_extra("pandas", "funds", "Tables need pandas")
        rows = [{**{name: getattr(row, name) for name in COLUMNS}, **row.recorded} for row in self]
        recorded = list(self[0].recorded) if len(self) else []
        table: pd.DataFrame = pandas.DataFrame(rows, columns=[*COLUMNS, *recorded])
        return table.set_index("iteration")

    def _repr_html_(self) -> str:
        """Return the iterations as HTML, for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"

    def plot(self, ax: Axes | None = None, tol: float | None = None) -> Axes:
        """Plot the parts of the KKT residual over the iterations.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.
        tol : float, optional
            Tolerance to mark with a dashed line.

        Returns
        -------
        matplotlib Axes
        """
        ax = new_axes(6.4, 4.0) if ax is None else ax
        steps = [row.iteration for row in self]
        for part, color in _PARTS.items():
            ax.semilogy(
                steps,
                _positive(np.array([getattr(row, part) for row in self])),
                ".-",
                color=color,
                label=part,
            )
        if tol is not None:
            ax.axhline(tol, color="0.5", linestyle="--", linewidth=1, label="tolerance")
        ax.set(xlabel="iteration", ylabel="KKT residual")
        ax.locator_params(axis="x", integer=True)
        ax.legend(frameon=False)
        ax.grid(alpha=0.3)
        return ax

    def plot_cost(self, ax: Axes | None = None) -> Axes:
        """Plot the difference between the cost and its last value over the iterations.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        ax = new_axes(6.4, 4.0) if ax is None else ax
        costs = np.array([row.cost for row in self])
        ax.semilogy(
            [row.iteration for row in self], _positive(np.abs(costs - costs[-1])), ".-", color="black"
        )
        ax.set(ylabel="|cost − last cost|")
        ax.grid(alpha=0.3)
        return ax


def _positive(values: Array) -> Array:
    """Replace zeros by NaN, because a logarithmic axis cannot show them."""
    return np.where(values > 0.0, values, np.nan)


Status = Literal["converged", "max_iterations", "infeasible", "unbounded", "breakdown", "stopped", "max_time"]
SecondOrder = Literal["holds", "fails", "unknown"]


@dataclass(frozen=True)
class Feasible:
    """A feasible point and its cost."""

    x: Point = field(repr=False)
    cost: float


@dataclass(frozen=True, eq=False)
class TermValue:
    """A term g(c(x)) at a point, with exact zeros; see `Result.terms`.

    Attributes
    ----------
    name : str
        Name of the function g.
    value : array
        The prox point p, which equals c(x) up to the tolerance. Constraints hold at p, and entries or groups
        that g makes zero are exactly zero.
    cost : float
        g(p).
    multiplier : array
        The multiplier y, a subgradient of g.
    support : array of bool
        Which entries of `value` are not zero.
    rank : int or None
        The rank of `value` if it is a matrix.

    See Also
    --------
    Term : The term.
    Result : Its `terms` are `TermValue` objects.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import L1, Problem, Term, minimize
    >>> a = np.array([3.0, 0.5])
    >>> problem = Problem(Euclidean(2), lambda x: 0.5 * np.sum((x - a) ** 2), gradient=lambda x: x - a,
    ...                   terms=[Term(L1(1.0))])
    >>> term = minimize(problem, np.zeros(2)).terms[0]
    >>> term.value.round(6).tolist(), term.multiplier.round(6).tolist(), term.support.tolist()
    ([2.0, 0.0], [1.0, 0.5], [True, False])
    """

    name: str
    value: Array
    cost: float
    multiplier: Array

    @property
    def support(self) -> Array:
        """Which entries of `value` are not zero."""
        return np.asarray(self.value != 0.0)

    @property
    def rank(self) -> int | None:
        """The rank of `value` if it is a matrix."""
        return int(np.linalg.matrix_rank(self.value)) if self.value.ndim == 2 else None


@dataclass(frozen=True)
class Iterate:
    """The state of a solve after an iteration, as passed to callbacks.

    Attributes
    ----------
    iteration : int
        Number of the iteration; 0 is the start.
    x : Point
        The point.
    cost : float
        f(x) plus the terms.
    multipliers : array of shape (n_inequalities,)
        Multipliers λ ≥ 0 of the inequalities, all blocks in order.
    equality_multipliers : array of shape (n_equalities,)
        Multipliers of the equalities, all blocks in order.
    kkt : KKT
        The optimality residual at (x, λ).
    step_size : float
        Step size η of Algorithm 1; NaN for other methods.
    penalty : float
        Penalty ρ of an augmented Lagrangian; NaN for other methods.
    hessian_products : int
        Number of Hessian products in this iteration.
    terms : tuple of TermValue
        The terms.

    See Also
    --------
    minimize : Its `callback` is called with an `Iterate` after every iteration.
    InnerIterate : The state within an iteration.

    Examples
    --------
    Stop a solve early, at a KKT residual of 1e-3:

    >>> import numpy as np
    >>> from geodual.manifolds import SPD
    >>> from geodual.optimize import Iterate, Problem, minimize
    >>> problem = Problem(SPD(2), lambda x: np.trace(x) - np.linalg.slogdet(x)[1],
    ...                   gradient=lambda x: np.eye(2) - np.linalg.inv(x))
    >>> def good_enough(iterate: Iterate) -> bool:
    ...     return iterate.kkt.worst < 1e-3
    >>> result = minimize(problem, np.diag([2.0, 5.0]), method="primal-dual", callback=good_enough)
    >>> result.status, bool(1e-8 < result.kkt.worst < 1e-3)
    ('stopped', True)
    """

    iteration: int
    x: Point
    cost: float
    multipliers: Array
    equality_multipliers: Array
    kkt: KKT
    step_size: float
    penalty: float
    hessian_products: int
    terms: tuple[TermValue, ...] = ()


@dataclass(frozen=True)
class InnerIterate:
    """The state of a solve within an iteration, as passed to inner callbacks.

    In most methods, an iteration minimizes a function of x, such as an augmented Lagrangian, in many steps.

    Attributes
    ----------
    iteration : int
        Number of the current iteration; the first is 1.
    inner : int
        Number of the step within the iteration; 0 is its start.
    x : Point
        The point.
    cost : float
        f(x) plus the terms.
    feasibility : float
        Largest violation of a constraint, as in `KKT`.
    value : float
        Value of the function that the iteration minimizes. In it, the default method scales cost and
        constraints to unit size.
    slope : float
        Norm of its Riemannian gradient.

    See Also
    --------
    minimize : Its `inner_callback` is called with an `InnerIterate` at every step within an iteration.
    Iterate : The state after an iteration, as passed to a `callback`.

    Examples
    --------
    Without constraints, one iteration is enough, but it has many steps:

    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import InnerIterate, Problem, minimize
    >>> problem = Problem(Euclidean(1), lambda x: float(np.cosh(x[0])), gradient=np.sinh)
    >>> costs = []
    >>> def note(iterate: InnerIterate) -> None:
    ...     costs.append(iterate.cost)
    >>> result = minimize(problem, np.array([3.0]), inner_callback=note)
    >>> result.n_iter, len(costs) > 3, costs == sorted(costs, reverse=True)
    (1, True, True)
    """

    iteration: int
    inner: int
    x: Point
    cost: float
    feasibility: float
    value: float
    slope: float

    def __str__(self) -> str:
        step = f"{self.iteration}.{self.inner}"
        return f"{step:>6} {self.cost:15.8e} {self.slope:12.2e} {self.feasibility:11.2e}"


@dataclass(frozen=True, eq=False)
class Result:
    """The result of `minimize`: a point, its multipliers, and how close they are to optimal.

    Attributes
    ----------
    x : Point
        The last iterate.
    cost : float
        f(x) plus the terms at their prox points.
    multipliers : array of shape (n_inequalities,)
        Multipliers λ ≥ 0 of the inequalities, all blocks in order; those of the bounds come last.
    equality_multipliers : array of shape (n_equalities,)
        Multipliers of the equalities, all blocks in order; those of entries with equal bounds come last.
    lower_multipliers, upper_multipliers : Vector or None
        Multipliers ≥ 0 of the bounds, with the structure of x, and 0 for entries without bounds; None if the
        problem has no bounds. They enter the Euclidean gradient of the Lagrangian as upper minus lower. On
        symmetric matrices, an entry and its mirror image have half of the multiplier each.
    terms : tuple of TermValue
        The terms of the problem, in order: each with its `value` (the prox point, with exact zeros), `cost`,
        `multiplier`, `support` and `rank`.
    kkt : KKT
        The optimality residual: its parts are `stationarity`, `feasibility` and `complementarity`.
    status : str
        "converged", "max_iterations", "max_time", "infeasible", "unbounded", "breakdown", or "stopped" (by a
        callback).
    success : bool
        Whether the status is "converged".
    message : str
        An explanation of the status, with a remedy if the solve failed.
    method : str
        The method and the safeguards that acted, such as "proximal-lagrangian with saddle, polish".
    n_iter : int
        Number of iterations.
    history : History
        Every iteration, including the start.
    tol : float
        The requested tolerance.
    best_x : Point
        The iterate of lowest cost among x₁, …, x_T, as in Theorem 1. It may be infeasible.
    best_cost : float
        f(best_x).
    second_order : str
        Whether the second-order necessary condition of a minimum "holds" at a converged point, "fails" (a
        feasible point nearby costs less: a maximum or a saddle point), or is "unknown". The curvature of the
        Lagrangian must not be negative along the active constraints; those with multiplier 0 may be left. It
        is estimated by up to 40 Lanczos steps, which may miss a negative curvature of less than about a
        hundredth of the largest. If it is negative but no lower point is found, the condition is "unknown".
    global_minimum : bool
        Whether the solve converged, the problem is declared geodesically convex, no check contradicts the
        declaration, and the gap is small: no feasible point within a distance R of x costs less by more than
        √tol times the larger of the cost's size and 1 (or its unit, if that is below 1), provided that the
        declaration is true, which is not proved. R is the largest of 1, the size of x, the distance of its
        farthest finite bounds and, on a manifold that is not flat, the distance from the start; all in the
        metric of the solve, see `docs/notation.md`. `message` states R and the gap. On a manifold that is not
        Hadamard, this refers to the geodesically convex part meant by the declaration.
    global_bound : object or None
        The basis of `global_gap`; None if convexity is not declared or was contradicted.
    n_bounds : tuple of two int
        Number of `multipliers` and of `equality_multipliers` that belong to bounds.
    best_feasible : object or None
        The feasible iterate of lowest cost, with its `x` and `cost`; None if no iterate was feasible.
    dual_average : array of shape (n_inequalities + n_equalities,) or None
        Σ ηₜ λₜ / Σ ηₜ of Algorithm 1, inequalities first; None for other methods.
    problem : Problem or None
        The problem, which `derivative`, `jvp` and `vjp` need. It is not pickled, because functions often
        cannot be; ``dataclasses.replace(result, problem=problem)`` restores it.

    See Also
    --------
    minimize : Returns a `Result`.
    KKT : The parts of the optimality residual.
    History : The iterations.
    TermValue : A term at the solution.

    Examples
    --------
    The point of the unit disc closest to (2, 0):

    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import Problem, minimize
    >>> target = np.array([2.0, 0.0])
    >>> problem = Problem(
    ...     Euclidean(2),
    ...     cost=lambda x: 0.5 * np.sum((x - target) ** 2),
    ...     gradient=lambda x: x - target,
    ...     inequalities=lambda x: 0.5 * (x @ x - 1.0),
    ...     jacobian_product=lambda x, w: w[0] * x,
    ... )
    >>> result = minimize(problem, np.zeros(2))
    >>> result.success, np.round(result.x, 6).tolist(), np.round(result.multipliers, 6).tolist()
    (True, [1.0, 0.0], [1.0])
    >>> result.kkt.worst <= result.tol
    True
    """

    x: Point = field(repr=False)
    cost: float
    multipliers: Array = field(repr=False)
    equality_multipliers: Array = field(repr=False)
    kkt: KKT
    status: Status
    message: str
    n_iter: int
    history: History = field(repr=False)
    tol: float = field(repr=False)
    best_x: Point = field(repr=False)
    best_cost: float = field(repr=False)
    method: str = ""
    second_order: SecondOrder = "unknown"
    global_minimum: bool = False
    global_bound: GlobalBound | None = field(default=None, repr=False)
    lower_multipliers: Vector | None = field(default=None, repr=False)
    upper_multipliers: Vector | None = field(default=None, repr=False)
    terms: tuple[TermValue, ...] = field(default=(), repr=False)
    n_bounds: tuple[int, int] = field(default=(0, 0), repr=False)
    best_feasible: Feasible | None = field(default=None, repr=False)
    dual_average: Array | None = field(default=None, repr=False)
    problem: Problem | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_sensitivity"} | {
            "problem": None
        }

    @property
    def success(self) -> bool:
        """Whether every part of the KKT residual is within the tolerance."""
        return self.status == "converged"

    def global_gap(self, radius: float) -> float:
        """Return how much less than x a feasible point within a distance `radius` can cost.

        For a geodesically convex problem, f(y) ≥ f(x) + Σ λₖ hₖ(x) + Σ μⱼ gⱼ(x) − ‖grad L(x)‖ d(x, y) for
        every feasible y, where L is the Lagrangian and d the distance on the manifold of the problem. This
        holds at every x, so it also bounds the error of a solve that ended early.

        Parameters
        ----------
        radius : float
            The largest distance of y from x.

        Returns
        -------
        float
            An upper bound on f(x) − f(y), at least 0. It is infinite if the problem is not declared
            geodesically convex, or if a check contradicts the declaration.

        Examples
        --------
        >>> import numpy as np
        >>> from geodual.manifolds import Euclidean
        >>> from geodual.optimize import Problem, minimize
        >>> problem = Problem(Euclidean(2), lambda x: x @ x, gradient=lambda x: 2.0 * x,
        ...                   geodesically_convex=True)
        >>> bool(minimize(problem, np.ones(2)).global_gap(radius=100.0) < 1e-6)
        True
        >>> round(minimize(problem, np.ones(2), max_iter=0).global_gap(radius=2.0), 6)  # f(x) = 2
        5.656854
        """
        if not (isinstance(radius, numbers.Real) and radius >= 0.0):
            raise ValueError(f"`radius` must be a number of at least 0, got {radius!r}; give a distance.")
        return math.inf if self.global_bound is None else self.global_bound.gap(float(radius))

    def warm_start(self) -> dict[str, Any]:
        """Return arguments to continue with: ``minimize(problem, **result.warm_start())``.

        Returns
        -------
        dict
            The arguments `x0`, `multipliers` and `equality_multipliers` of `minimize`, and `term_multipliers`
            if there are terms.
        """
        known = {
            "x0": self.x,
            "multipliers": self.multipliers,
            "equality_multipliers": self.equality_multipliers,
        }
        if self.terms:
            known["term_multipliers"] = [term.multiplier for term in self.terms]
        return known

    def derivative(self, parameter: Any = None) -> Derivative:
        """Return the derivative of the solution with respect to a part of the problem's data.

        It is that of the KKT point, by the implicit function theorem. It does not exist if an inequality is
        about to become active, if gradients of active constraints are dependent, or if there are other
        solutions nearby.

        Parameters
        ----------
        parameter : any
            The key of an array in the data, or a tuple of keys; None if the data are a single array.

        Returns
        -------
        Derivative
            The derivatives of `x`, `cost` and the multipliers; the axes of the parameter come last.

        Raises
        ------
        NotDifferentiableError
            If the derivative does not exist; the message says why.

        Examples
        --------
        The unit vector closest to a turns with a, and does not change with its length:

        >>> import numpy as np
        >>> from geodual.manifolds import Sphere
        >>> from geodual.optimize import Problem, minimize
        >>> problem = Problem.from_jax(Sphere(2), lambda x, data: -data["a"] @ x,
        ...                            data={"a": np.array([2.0, 0.0])})
        >>> by_a = minimize(problem, np.array([0.6, 0.8])).derivative("a")
        >>> (by_a.x.round(6) + 0.0).tolist(), (by_a.cost.round(6) + 0.0).tolist()
        ([[0.0, 0.0], [0.0, 0.5]], [-1.0, 0.0])
        """
        return self._sensitivity.derivative(parameter)

    def jvp(self, direction: Any) -> Derivative:
        """Return the derivative of the solution along one direction of the data.

        Parameters
        ----------
        direction : any
            The direction, with the structure and the shapes of the data.

        Returns
        -------
        Derivative
            The derivatives of `x`, `cost` and the multipliers, with the same shapes as these.
        """
        return self._sensitivity.jvp(direction)

    def vjp(
        self,
        *,
        x: Vector | None = None,
        cost: float = 0.0,
        multipliers: Array | None = None,
        equality_multipliers: Array | None = None,
    ) -> Any:
        """Return the gradient of a function of the solution with respect to all data, from one linear system.

        Parameters
        ----------
        x : Vector, optional
            Gradient of the function with respect to x, as an ambient vector.
        cost : float
            Derivative of the function with respect to the cost. If only this is given, no system is solved,
            and the gradient exists even where `derivative` does not.
        multipliers, equality_multipliers : array, optional
            Gradients of the function with respect to the multipliers.

        Returns
        -------
        any
            The gradient, with the structure of the data; 0 for integers and truth values.

        Examples
        --------
        >>> import numpy as np
        >>> from geodual.manifolds import Sphere
        >>> from geodual.optimize import Problem, minimize
        >>> problem = Problem.from_jax(Sphere(2), lambda x, data: -data["a"] @ x,
        ...                            data={"a": np.array([2.0, 0.0])})
        >>> result = minimize(problem, np.array([0.6, 0.8]))
        >>> (result.vjp(x=np.array([0.0, 1.0]))["a"].round(6) + 0.0).tolist()
        [0.0, 0.5]
        """
        return self._sensitivity.vjp(x, cost, multipliers, equality_multipliers)

    @cached_property
    def _sensitivity(self) -> Sensitivity:
        """The object that computes derivatives; it reuses its factorization."""
        if self.problem is None:
            raise ValueError(
                "This result has lost its problem, because it was pickled or copied; use "
                "dataclasses.replace(result, problem=problem)."
            )
        if not self.success:
            raise NotDifferentiableError(
                f"The solve ended as {self.status!r}, and only a converged one has derivatives; continue "
                "with minimize(problem, **result.warm_start())."
            )
        pairs = zip(self.problem.terms, self.terms, strict=True)
        rest = [np.ravel(value.multiplier) for term, value in pairs if not is_constraint(term)]
        y = np.concatenate([self.multipliers, self.equality_multipliers, *rest])
        return Sensitivity(self.problem, self.x, y, self.kkt.worst)

    def __str__(self) -> str:
        rows = summary_rows(self)
        margin = max(len(name) for name, _ in rows) + 2
        lines = [textwrap.fill(text, _WIDTH) for text in (_headline(self), self.message)]
        for name, text in rows:
            lines.append(textwrap.fill(f"{name:<{margin}}{text}", _WIDTH, subsequent_indent=" " * margin))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the printed summary and the last iterations as HTML, for notebooks."""
        status, words = self.status, _headline(self).removeprefix(self.status)
        rows = (
            f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(text)}'
            "</td></tr>"
            for name, text in summary_rows(self)
        )
        return (
            f"<p><b>{escape(status)}</b>{escape(words)} {escape(self.message)}</p>"
            f"<table>{''.join(rows)}</table>{self.history[-3:]._repr_html_()}"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the history: the cost, and below it the KKT residual with the tolerance.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw the residual on, without the cost; by default a new figure shows both, one above the
            other.

        Returns
        -------
        matplotlib Axes
            The axes of the residual.
        """
        if ax is None:
            upper, ax = new_axes(6.4, 6.0, rows=2)
            self.history.plot_cost(upper)
        return self.history.plot(ax, tol=self.tol)


def _headline(result: Result) -> str:
    """Return the status, the number of iterations, the time, and the method if known."""
    seconds = result.history[-1].seconds if result.history else 0.0
    by = f", by {result.method}" if result.method else ""
    count = f"{result.n_iter} iteration{'' if result.n_iter == 1 else 's'}"
    return f"{result.status} after {count} in {seconds:.3g} s{by}."


def summary_rows(result: Result) -> list[tuple[str, str]]:
    """Return the summary of a result, as pairs of a name and a text."""
    rows = [("cost", f"{result.cost:.10g}")]
    for part in _PARTS:
        value = getattr(result.kkt, part)
        rows.append((part, f"{value:.2e} ({'within' if value <= result.tol else 'above'} {result.tol:g})"))
    if result.success:
        rows.append(("second order", result.second_order))
    if result.global_bound is not None and str(result.global_bound) not in result.message:
        rows.append(("global gap", str(result.global_bound)))
    rows += _multiplier_rows(result)
    rows += [("term", _term_words(term)) for term in result.terms]
    if not result.success and result.best_feasible is not None:
        rows.append(("best feasible", f"cost {result.best_feasible.cost:.10g}, in `best_feasible`"))
    if result.status in ("max_iterations", "max_time", "stopped"):
        rows.append(("continue with", "minimize(problem, **result.warm_start())"))
    return rows


def _multiplier_rows(result: Result) -> list[tuple[str, str]]:
    """Return the active constraints with their multipliers, only the largest of each kind."""
    n, m = (len(lam) - k for lam, k in zip(_multipliers(result), result.n_bounds, strict=True))
    inequalities = [(f"inequality {k}", value) for k, value in enumerate(result.multipliers[:n])]
    equalities = [(f"equality {k}", value) for k, value in enumerate(result.equality_multipliers[:m])]
    bounds = [*_bound_multipliers(result, "lower"), *_bound_multipliers(result, "upper")]
    least = result.tol * max((np.abs(lam).max(initial=0.0) for lam in _multipliers(result)), default=0.0)
    kinds = (
        ("inequalities", n, inequalities),
        ("equalities", m, equalities),
        ("bounds", sum(result.n_bounds), bounds),
    )
    return [(kind, _active_words(size, named, least)) for kind, size, named in kinds if size]


def _multipliers(result: Result) -> tuple[Array, Array]:
    return result.multipliers, result.equality_multipliers


def _bound_multipliers(result: Result, side: str) -> Iterator[tuple[str, float]]:
    """Yield the names and multipliers of the active bounds on one side."""
    vector = getattr(result, f"{side}_multipliers")
    parts = [] if vector is None else leaves(vector)
    for number, part in enumerate(parts):
        where = f" of part {number}" if len(parts) > 1 else ""
        for index in map(tuple, np.argwhere(part > 0.0).tolist()):
            yield f"{side} bound of entry {index[0] if len(index) == 1 else index}{where}", part[index]


def _active_words(size: int, named: list[tuple[str, float]], least: float) -> str:
    """Return the number of nonzero multipliers, and the largest ones."""
    active = sorted((one for one in named if abs(one[1]) > least), key=lambda one: -abs(one[1]))
    if not active:
        return f"none of {size} active"
    shown = ", ".join(f"{value:.4g} ({name})" for name, value in active[:_SHOWN])
    rest = f", and {len(active) - _SHOWN} smaller" if len(active) > _SHOWN else ""
    return f"{len(active)} of {size} active; multipliers {shown}{rest}"


def _term_words(term: TermValue) -> str:
    """Return the cost of a term of the problem, and its support or rank."""
    support = term.support
    facts = [f"cost {term.cost:.6g}", f"{np.count_nonzero(support)} of {support.size} entries not 0"]
    if term.rank is not None:
        facts.append(f"rank {term.rank}")
    return ", ".join([f"{term.name}: {facts[0]}", *facts[1:]])
