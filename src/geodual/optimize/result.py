"""What a solve returns, what it shows to callbacks, and its record, iteration by iteration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from geodual.arrays import Array
from geodual.extras import import_extra, new_axes
from geodual.manifolds.frame import Point, Vector

from .kkt import KKT

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Colours that colour-blind readers can tell apart (Okabe and Ito).
_PARTS = {"stationarity": "#0072B2", "feasibility": "#D55E00", "complementarity": "#009E73"}


@dataclass(frozen=True)
class Iteration:
    """One row of a `History`; it prints as a line of the table that ``verbose=1`` shows.

    Attributes
    ----------
    iteration : int
        Number of the iteration; 0 is the start.
    cost : float
        f(x).
    stationarity, feasibility, complementarity : float
        The parts of the KKT residual.
    step_size : float
        η of Algorithm 1; NaN for methods without one.
    penalty : float
        ρ of an augmented Lagrangian; NaN for methods without one.
    hessian_products : int
        Number of Hessian products in this iteration.
    seconds : float
        Time since the start of the solve.
    by : str
        Who made the step, if not the method itself: a safeguard of the default method, such as "polish", or
        "interior-point".
    recorded : dict
        The quantities that `minimize` was asked to `record`, by name.

    See Also
    --------
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
        # Arrays may be recorded too, but a line has no room for them.
        recorded = self.recorded.items()
        numbers = [f"{name}={value:.6g}" for name, value in recorded if isinstance(value, (int, float))]
        return "  ".join([row, *([self.by] if self.by else []), *numbers])

    @property
    def _control(self) -> float:
        """The step size of the method, or its penalty if it has no step size."""
        return self.penalty if math.isnan(self.step_size) else self.step_size


COLUMNS = tuple(entry.name for entry in fields(Iteration) if entry.name != "recorded")
"""The columns that every history has."""


class History(Sequence[Iteration]):
    """The iterations of a solve, as a sequence, a printed table, a DataFrame or a plot.

    Parameters
    ----------
    iterations : sequence of Iteration
        The rows; `minimize` fills them in, starting with row 0 for the start.

    See Also
    --------
    Result : Its `history` is a `History`.

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
        """Return a DataFrame with one row per iteration, and one column per recorded quantity at the end."""
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
            Where to draw; a new figure by default.
        tol : float, optional
            Tolerance to mark by a dashed line.

        Returns
        -------
        matplotlib Axes
        """
        ax = new_axes(6.4, 4.0) if ax is None else ax
        steps = [row.iteration for row in self]
        for part, colour in _PARTS.items():
            ax.semilogy(steps, self._positive(part), ".-", color=colour, label=part)
        if tol is not None:
            ax.axhline(tol, color="0.5", linestyle="--", linewidth=1, label="tolerance")
        ax.set(xlabel="iteration", ylabel="KKT residual")
        ax.legend(frameon=False)
        ax.grid(alpha=0.3)
        return ax

    def _positive(self, part: str) -> Any:
        """Return a part of the residual with NaN for zeros, which a logarithmic axis cannot show."""
        values = np.array([getattr(row, part) for row in self])
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
    """A term g(c(x)) at a point, in `Result.terms`: exact zeros are exact here.

    Attributes
    ----------
    name : str
        Name of the function g.
    value : array
        The prox point p, which is c(x) up to the tolerance. Constraints hold at p, and entries or groups that
        g makes zero are exactly zero.
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
    Term : What it is the value of.

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
    """The state of a solve after an iteration, as callbacks receive it.

    Attributes
    ----------
    iteration : int
        Number of the iteration; 0 is the start.
    x : Point
        The point.
    cost : float
        f(x), and the terms.
    multipliers : array of shape (n_inequalities,)
        λ ≥ 0 of the inequalities, all blocks in order.
    equality_multipliers : array of shape (n_equalities,)
        Multipliers of the equalities, all blocks in order.
    kkt : KKT
        The optimality residual at (x, λ).
    step_size : float
        η of Algorithm 1; NaN for methods without one.
    penalty : float
        ρ of an augmented Lagrangian; NaN for methods without one.
    hessian_products : int
        Number of Hessian products in this iteration.
    terms : tuple of TermValue
        The terms.

    See Also
    --------
    minimize : Its `callback` is called with an `Iterate` after every iteration.
    InnerIterate : What it shows between two iterations.

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
    """The state of a solve within an iteration, as inner callbacks receive it.

    An iteration of most methods minimises a function of x, such as an augmented Lagrangian, which may take
    many steps.

    Attributes
    ----------
    iteration : int
        Number of the iteration that is under way; the first is 1.
    inner : int
        Number of the step within it; 0 is its start.
    x : Point
        The point.
    cost : float
        f(x).
    feasibility : float
        Largest violation of a constraint, as in `KKT`.
    value : float
        The function that the iteration minimises. The default method scales cost and constraints to unit size
        in it.
    slope : float
        Norm of its Riemannian gradient.

    See Also
    --------
    minimize : Its `inner_callback` is called with an `InnerIterate` at every step within an iteration.
    Iterate : What a `callback` sees after every iteration.

    Examples
    --------
    One iteration suffices where there are no constraints, but it has many steps:

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
    """The outcome of `minimize`: a point, its multipliers, and how close they are to optimal.

    Attributes
    ----------
    x : Point
        The last iterate.
    cost : float
        f(x), and the terms at their prox points.
    multipliers : array of shape (n_inequalities,)
        λ ≥ 0 of the inequalities, all blocks in order; those of the bounds come last.
    equality_multipliers : array of shape (n_equalities,)
        Multipliers of the equalities, all blocks in order; those of entries with equal bounds come last.
    lower_multipliers, upper_multipliers : Vector or None
        Multipliers ≥ 0 of the bounds, with the structure of x, and 0 for entries without bound; None if the
        problem has no bounds. The Euclidean gradient of the Lagrangian has them as upper minus lower. On
        symmetric matrices an entry and its mirror image have half the multiplier each.
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
        The status in words, with a remedy if the solve failed.
    method : str
        The method, and the safeguards that took part: "proximal-lagrangian with saddle, polish".
    n_iter : int
        Number of iterations.
    history : History
        Every iteration, including the start.
    tol : float
        The requested tolerance.
    best_x : Point
        The iterate of lowest cost among x₁, …, x_T, which Theorem 1 is about. It may be infeasible.
    best_cost : float
        f(best_x).
    second_order : str
        Whether the second-order necessary condition of a minimum "holds" at a converged point, "fails" (a
        feasible point nearby costs less: a maximum or a saddle point), or is "unknown". The curvature of the
        Lagrangian must not be negative along the active constraints, of which those with multiplier 0 may be
        left. It is estimated by up to 40 Lanczos steps. They may miss a negative curvature that is less than
        about a hundredth of the largest. Where it is negative but no lower point is found, the condition is
        "unknown".
    global_minimum : bool
        Whether the solve converged and the problem is declared geodesically convex, and nothing that was seen
        contradicts the declaration. Then x is a global minimum, if the declaration is true, which is not
        proved. On a manifold that is not Hadamard it is one among the points of the geodesically convex part
        that the declaration is about.
    best_feasible : object or None
        The feasible iterate of lowest cost, with its `x` and `cost`; None if no iterate was feasible.
    dual_average : array of shape (n_inequalities + n_equalities,) or None
        Σ ηₜ λₜ / Σ ηₜ of Algorithm 1, inequalities first; None for other methods.

    See Also
    --------
    minimize : Returns a `Result`.
    KKT : The parts of the optimality residual.

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
    lower_multipliers: Vector | None = field(default=None, repr=False)
    upper_multipliers: Vector | None = field(default=None, repr=False)
    terms: tuple[TermValue, ...] = field(default=(), repr=False)
    best_feasible: Feasible | None = field(default=None, repr=False)
    dual_average: Array | None = field(default=None, repr=False)

    @property
    def success(self) -> bool:
        """Whether every part of the KKT residual is within the tolerance."""
        return self.status == "converged"

    def warm_start(self) -> dict[str, Any]:
        """Return where to go on: ``minimize(problem, **result.warm_start())``.

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

    def _repr_html_(self) -> str:
        """Return the status, the message and the last iterations as HTML, for notebooks."""
        words = f"<b>{escape(self.status)}</b> after {self.n_iter} iterations: {escape(self.message)}"
        return f"<p>{words}</p>{self.history[-5:]._repr_html_()}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the KKT residual over the iterations."""
        return self.history.plot(ax, tol=self.tol)
