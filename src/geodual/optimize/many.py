"""Minimize one problem from many starts, or many problems."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from geodual.extras import import_extra
from geodual.manifolds.frame import Point

from .problem import Problem
from .result import Result
from .solve import minimize

if TYPE_CHECKING:
    import pandas as pd

_HEADER = "  solve  status                  cost   residual   seconds  iterations"


@dataclass(frozen=True)
class Solve:
    """One solve of `minimize_many`; prints as a line of the table.

    Attributes
    ----------
    result : Result or None
        The result of `minimize`; None if it raised an error.
    seconds : float
        Time of the solve, including any compilation.
    error : str
        The error message; empty if there was none.
    """

    result: Result | None = field(repr=False)
    seconds: float
    error: str = ""

    @property
    def row(self) -> dict[str, Any]:
        """The columns of the table."""
        found = self.result
        return {
            "status": found.status if found else "error",
            "cost": found.cost if found else math.nan,
            "residual": found.kkt.worst if found else math.nan,
            "seconds": self.seconds,
            "iterations": found.n_iter if found else 0,
            "message": found.message if found else self.error,
        }

    def __str__(self) -> str:
        row = self.row
        return (
            f"{row['status']:<14} {row['cost']:13.6e} {row['residual']:10.2e} {row['seconds']:9.3f} "
            f"{row['iterations']:11d}"
        )


@dataclass(frozen=True, eq=False)
class ManyResults(Sequence["Result | None"]):
    """The results of `minimize_many`, as a sequence, a printed table or a DataFrame.

    Attributes
    ----------
    results : tuple of Result or None
        One result per solve, in the order of the starts or problems; None if the solve raised an error.
    errors : dict
        The error messages, by the number of the solve.
    best : Result
        The result of lowest cost among those that converged. If none converged, the one with the best
        feasible iterate, its `best_feasible`. If there is none either, the one with the smallest violation.
        Its `success` says whether it is certified.
    best_index : int
        The number of its solve.
    solves : tuple
        One object per solve, with `result`, `seconds` and `error`.
    n_problems : int
        Number of different problems. If there are several, their costs are not comparable, and `best` raises
        an error.

    See Also
    --------
    minimize_many : Returns a `ManyResults`.
    Result : The result of one solve.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import Problem, minimize_many
    >>> problem = Problem(Euclidean(1), lambda x: float(np.sqrt(x[0]) + 1.0 / x[0]),
    ...                   gradient=lambda x: 0.5 / np.sqrt(x) - 1.0 / x**2)
    >>> many = minimize_many(problem, [np.array([1.0]), np.array([-1.0])])
    >>> len(many), many.results[1], many.errors[1]
    (2, None, 'ValueError: The cost must be finite at `x0`, got nan; start where it is defined.')
    >>> many.to_frame()["status"].tolist()
    ['converged', 'error']
    """

    solves: tuple[Solve, ...]
    n_problems: int = 1

    @property
    def results(self) -> tuple[Result | None, ...]:
        """One result per solve; None if the solve raised an error."""
        return tuple(solve.result for solve in self.solves)

    @property
    def errors(self) -> dict[int, str]:
        """The error messages, by the number of the solve."""
        return {k: solve.error for k, solve in enumerate(self.solves) if solve.result is None}

    @property
    def best_index(self) -> int:
        """The number of the best solve."""
        if self.n_problems > 1:
            raise ValueError(
                f"There are {self.n_problems} problems, whose costs are not comparable; choose among "
                "`results` yourself."
            )
        ranks = {k: _rank(found) for k, found in enumerate(self.results) if found is not None}
        return min(ranks, key=ranks.__getitem__)

    @property
    def best(self) -> Result:
        """The best certified result; if there is none, the most promising one."""
        best = self.results[self.best_index]
        assert best is not None
        return best

    def __len__(self) -> int:
        return len(self.solves)

    def __getitem__(self, index: Any) -> Any:
        return self.results[index]

    def __repr__(self) -> str:
        return f"ManyResults({self._count})"

    @property
    def _count(self) -> str:
        converged = sum(found is not None and found.success for found in self.results)
        return f"{converged} of {len(self)} converged"

    def __str__(self) -> str:
        rows = [f"{k:7d}  {solve}" for k, solve in enumerate(self.solves)]
        end = (
            f"{self._count}."
            if self.n_problems > 1
            else f"{self._count}; the best is solve {self.best_index}."
        )
        return "\n".join([_HEADER, *rows, end])

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row per solve: status, cost, residual, seconds, iterations, message."""
        pandas = import_extra("pandas", "funds", "Tables need pandas")
        table: pd.DataFrame = pandas.DataFrame([solve.row for solve in self.solves])
        return table.rename_axis("solve")

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"


def _rank(result: Result) -> tuple[float, float]:
    """Return the key to sort results by: first the kind of answer, then its quality."""
    kind, score = 2.0, result.kkt.feasibility
    if result.success:
        kind, score = 0.0, result.cost
    elif result.best_feasible is not None:
        kind, score = 1.0, result.best_feasible.cost
    return kind, math.inf if math.isnan(score) else score  # NaN cannot be sorted


def minimize_many(
    problem: Problem | Sequence[Problem],
    starts: int | Sequence[Point],
    *,
    n_jobs: int = 1,
    seed: int = 0,
    **options: Any,
) -> ManyResults:
    """Minimize one problem from many starts, or many problems from one start each.

    Use it if a problem has many local minima, or to solve many problems in parallel. A solve that raises an
    error does not stop the others.

    Parameters
    ----------
    problem : Problem or sequence of Problem
        The problem, or one problem per start.
    starts : int or sequence of points
        The starts. A number draws this many random points of the manifold; a larger number adds points and
        keeps the first ones.
    n_jobs : int
        Number of processes, as in joblib; -1 means one per core. Results and their order do not depend on it.
        Problems are pickled for other processes, which works for lambdas too.
    seed : int
        Seed of the random starts.
    **options
        Passed to `minimize`: `method`, `tol`, `max_time` (per solve) and so on. With several processes,
        callbacks run in these and cannot change objects in this one.

    Returns
    -------
    ManyResults
        All results, the best of them, and a table.

    See Also
    --------
    minimize : Solves one problem from one start.
    ManyResults : What it returns.

    Examples
    --------
    Of the minima of the tilted double well (x² − 1)² + x/4, the left one is lower:

    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import Problem, minimize_many
    >>> problem = Problem(Euclidean(1), lambda x: float((x[0] ** 2 - 1.0) ** 2 + 0.25 * x[0]),
    ...                   gradient=lambda x: 4.0 * x * (x**2 - 1.0) + 0.25)
    >>> many = minimize_many(problem, 8)
    >>> many, np.round(many.best.x, 3).tolist()
    (ManyResults(8 of 8 converged), [-1.03])
    >>> sorted({round(result.cost, 3) for result in many.results})
    [-0.254, 0.246]
    """
    problems, points = _paired(problem, starts, seed)
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"`n_jobs` must be a whole number other than 0, got {n_jobs!r}; use 1 or -1.")
    import joblib  # imported here, so that single solves do not wait for it

    tasks = (joblib.delayed(_solved)(one, x0, options) for one, x0 in zip(problems, points, strict=True))
    many = ManyResults(
        tuple(joblib.Parallel(n_jobs=int(n_jobs))(tasks)), n_problems=len({id(one) for one in problems})
    )
    if len(many.errors) == len(many):
        raise RuntimeError(f"All {len(many)} solves failed. The first error was: {many.errors[0]}")
    return many


def _paired(problem: Any, starts: Any, seed: int) -> tuple[list[Problem], list[Point]]:
    """Return one problem per start."""
    single = isinstance(problem, Problem)
    problems = [problem] if single else list(problem) if isinstance(problem, Iterable) else []
    if not problems or not all(isinstance(one, Problem) for one in problems):
        raise TypeError("`problem` must be a `Problem` or a list of them, and not empty; check its entries.")
    if isinstance(starts, (int, np.integer)) and not isinstance(starts, bool):
        points = _drawn(problems[0] if single else None, int(starts), seed)
    else:
        points = list(starts) if isinstance(starts, Iterable) else []
    if single:
        problems = problems * len(points)
    if not points or len(points) != len(problems):
        raise ValueError(
            f"`starts` must hold one start per problem and at least one, got {len(points)} starts for "
            f"{len(problems)} problems; give a list of points, as in minimize_many(problem, [x0, x1])."
        )
    return problems, points


def _drawn(problem: Problem | None, n: int, seed: int) -> list[Point]:
    if problem is None or n < 1:
        raise ValueError(
            f"`starts` must be a list of points, or for one problem a number of at least 1, got {n}."
        )
    rng = np.random.default_rng(seed)
    return [problem.manifold.random_point(rng) for _ in range(n)]


def _solved(problem: Problem, x0: Point, options: dict[str, Any]) -> Solve:
    """Solve one problem; return errors as text, because not all errors can be sent between processes."""
    started = time.perf_counter()
    try:
        result = minimize(problem, x0, **options)
    except Exception as error:
        words = "".join(traceback.format_exception_only(error)).strip()
        return Solve(None, time.perf_counter() - started, words)
    return Solve(result, time.perf_counter() - started)
