"""The solution of a problem as a function of its data, which jax can differentiate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from geodual.manifolds.frame import Point

from .problem import ConstraintVector, Problem
from .result import Result
from .solve import minimize
from .trees import as_data, leaves

_KEPT = 64  # results kept for their derivatives: as many as in a small batch under `jax.vmap`


class Solution(NamedTuple):
    """A solution, as returned by the function of `solution_map`.

    Attributes
    ----------
    x : Point
        The point.
    cost : float
        The cost.
    multipliers, equality_multipliers : array
        The multipliers.

    See Also
    --------
    solution_map : Returns the function.
    Result : What `minimize` returns.

    Examples
    --------
    >>> import jax, numpy as np
    >>> from geodual.manifolds import Sphere
    >>> from geodual.optimize import Problem, Solution, solution_map
    >>> problem = Problem.from_jax(Sphere(2), lambda x, a: -a @ x, data=np.array([3.0, 4.0]))
    >>> solution = solution_map(problem, np.array([1.0, 0.0]))(problem.data)
    >>> isinstance(solution, Solution), round(float(solution.cost), 4)
    (True, -5.0)
    """

    x: Any
    cost: Any
    multipliers: Any
    equality_multipliers: Any


def solution_map(problem: Problem, x0: Point, **options: Any) -> Callable[[Any], Solution]:
    """Turn a problem into a function from data to the solution, for `jax.grad`, `jax.jit` and `jax.vmap`.

    Each call solves the problem by `minimize`. Gradients take one more linear system (`Result.vjp`);
    iterations are not differentiated.

    Parameters
    ----------
    problem : Problem
        A problem with data, from `Problem.from_jax`, `Problem.from_torch` or `Problem.from_family`.
    x0 : Point
        The start of every solve.
    **options
        Arguments of `minimize`, such as `tol`.

    Returns
    -------
    callable
        ``function(data)`` returns a `Solution` of jax arrays. The data must have the structure and the shapes
        of ``problem.data``. It raises an error if a solve does not converge, or if the derivative does not
        exist.

    See Also
    --------
    Result.vjp : The same derivative without jax.
    Solution : What the function returns.

    Examples
    --------
    The gradient of the first entry of the unit vector closest to a:

    >>> import jax, numpy as np
    >>> from geodual.manifolds import Sphere
    >>> from geodual.optimize import Problem, solution_map
    >>> problem = Problem.from_jax(Sphere(2), lambda x, a: -a @ x, data=np.array([0.0, 2.0]))
    >>> solve = solution_map(problem, np.array([0.6, 0.8]))
    >>> slope = jax.jit(jax.grad(lambda a: solve(a).x[0]))(np.array([0.0, 2.0]))
    >>> (np.round(slope, 4) + 0.0).tolist()
    [0.5, 0.0]
    """
    try:  # jax is an extra, and slow to import
        from .autodiff import with_pullback
    except ImportError as error:
        raise ImportError("solution_map needs jax: pip install 'geodual[jax]'.") from error
    if problem.data is None:
        raise ValueError(
            "`problem` must have data; build it with Problem.from_jax(..., data=...) or Problem.from_family."
        )
    x0 = problem.manifold.check_point(x0)
    constraints = ConstraintVector(problem, x0)
    sizes = np.zeros(constraints.n_inequalities), np.zeros(constraints.n_equalities)
    solves = _Solves(problem, x0, options)
    return with_pullback(solves.solution, solves.pullback, problem.data, Solution(x0, 0.0, *sizes))


class _Solves:
    """Solve a problem for any data, and keep the last results for their derivatives."""

    def __init__(self, problem: Problem, x0: Point, options: dict[str, Any]) -> None:
        self._problem, self._x0, self._options = problem, x0, options
        self._kept: dict[tuple[Any, ...], Result] = {}

    def solution(self, data: Any) -> Solution:
        """Return the solution for some data."""
        found = self._result(data)
        return Solution(found.x, found.cost, found.multipliers, found.equality_multipliers)

    def pullback(self, data: Any, by: Solution) -> Any:
        """Pull gradients with respect to the solution back to the data."""
        # Without a gradient by x, no system is solved, so that the cost has a gradient even at kinks.
        x = by.x if any(np.any(part) for part in leaves(by.x)) else None
        return self._result(data).vjp(
            x=x, cost=by.cost, multipliers=by.multipliers, equality_multipliers=by.equality_multipliers
        )

    def _result(self, data: Any) -> Result:
        data = as_data(data)
        key = tuple((leaf.shape, leaf.tobytes()) for leaf in leaves(data))
        if key not in self._kept:
            result = minimize(self._problem.with_data(data), self._x0, **self._options)
            if not result.success:
                raise RuntimeError(f"A solve of `solution_map` ended as {result.status!r}: {result.message}")
            while len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = result
        return self._kept[key]
