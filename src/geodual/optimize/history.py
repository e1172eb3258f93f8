"""The record of a solve, iteration by iteration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from geodual.extras import import_extra, new_axes

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
        return "  ".join([row, *numbers])

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

    def __iter__(self) -> Iterator[Iteration]:
        return iter(self._iterations)

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
