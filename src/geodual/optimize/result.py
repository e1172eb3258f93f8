"""What a solve gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Literal

from geodual.arrays import Array
from geodual.manifolds.base import Point

from .history import History
from .kkt import KKT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Status = Literal["converged", "max_iterations", "infeasible", "unbounded", "breakdown", "stopped"]


@dataclass(frozen=True)
class Iterate:
    """A solver's state after an iteration; callbacks receive it.

    Attributes
    ----------
    iteration : int
        Number of iterations done; 0 is the start.
    x : Point
        The point.
    cost : float
        f(x).
    multipliers, equality_multipliers : array
        λ ≥ 0 of the inequalities and those of the equalities, all blocks in order.
    kkt : KKT
        The optimality residual of (x, λ).
    step_size : float
        η of Algorithm 1; NaN under other methods.
    penalty : float
        ρ of the default method; NaN under other methods.
    hessian_products : int
        Hessian products spent in this iteration.
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
    """The outcome of `minimize`.

    Attributes
    ----------
    x : Point
        The last iterate.
    cost : float
        f(x).
    multipliers, equality_multipliers : array
        λ ≥ 0 of the inequalities and those of the equalities, all blocks in order.
    kkt : KKT
        Parts `stationarity`, `feasibility`, `complementarity` of the optimality residual.
    status : str
        "converged", "max_iterations", "infeasible", "unbounded", "breakdown", or "stopped" (by a callback).
    message : str
        The status in words, with what to do about it.
    n_iter : int
        Iterations.
    history : History
        Every iteration, the start included.
    tol : float
        The tolerance asked for.
    best_x, best_cost : Point, float
        The iterate x₁ … x_T of lowest cost, which Theorem 1 speaks of. It may be infeasible.
    dual_average : array or None
        Σ ηₜ λₜ / Σ ηₜ of Algorithm 1, inequalities first and equalities after them; None for other methods.
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
    dual_average: Array | None = field(default=None, repr=False)

    @property
    def success(self) -> bool:
        """Whether every part of the KKT residual is within the tolerance."""
        return self.status == "converged"

    def _repr_html_(self) -> str:
        """Return status, message and the last iterations, for notebooks."""
        words = f"<b>{escape(self.status)}</b> after {self.n_iter} iterations: {escape(self.message)}"
        return f"<p>{words}</p>{self.history[-5:]._repr_html_()}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the KKT residual over the iterations."""
        return self.history.plot(ax, tol=self.tol)
