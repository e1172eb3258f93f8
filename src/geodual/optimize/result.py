"""What a solve returns, and what it shows to callbacks."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from geodual.arrays import Array
from geodual.manifolds.frame import Point

from .history import History
from .kkt import KKT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Status = Literal["converged", "max_iterations", "infeasible", "unbounded", "breakdown", "stopped", "max_time"]
SecondOrder = Literal["holds", "fails", "unknown"]


@dataclass(frozen=True)
class Feasible:
    """A feasible point and its cost."""

    x: Point = field(repr=False)
    cost: float


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
        f(x).
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

    See Also
    --------
    minimize : Its `callback` is called with an `Iterate` after every iteration.

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


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of `minimize`: a point, its multipliers, and how close they are to optimal.

    Attributes
    ----------
    x : Point
        The last iterate.
    cost : float
        f(x).
    multipliers : array of shape (n_inequalities,)
        λ ≥ 0 of the inequalities, all blocks in order.
    equality_multipliers : array of shape (n_equalities,)
        Multipliers of the equalities, all blocks in order.
    kkt : KKT
        The optimality residual: its parts are `stationarity`, `feasibility` and `complementarity`.
    status : str
        "converged", "max_iterations", "max_time", "infeasible", "unbounded", "breakdown", or "stopped" (by a
        callback).
    success : bool
        Whether the status is "converged".
    message : str
        The status in words, with a remedy if the solve failed.
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
        maximum or a saddle point), or is "unknown": the curvature of the Lagrangian along all active
        constraints must not be negative. It is estimated by up to 40 Lanczos steps.
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
    second_order: SecondOrder = "unknown"
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
            The arguments `x0`, `multipliers` and `equality_multipliers` of `minimize`.
        """
        return {
            "x0": self.x,
            "multipliers": self.multipliers,
            "equality_multipliers": self.equality_multipliers,
        }

    def _repr_html_(self) -> str:
        """Return the status, the message and the last iterations as HTML, for notebooks."""
        words = f"<b>{escape(self.status)}</b> after {self.n_iter} iterations: {escape(self.message)}"
        return f"<p>{words}</p>{self.history[-5:]._repr_html_()}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the KKT residual over the iterations."""
        return self.history.plot(ax, tol=self.tol)
