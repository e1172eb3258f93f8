"""The class of benchmark problems: a cost, constraints, two starts, and the solution if it is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.manifolds import Manifold
from geodual.optimize import Constraint, Problem
from geodual.optimize.trees import scaled

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Cost:
    """A cost with its Euclidean derivatives: f(x), ∇f(x) and ∇²f(x)[u]."""

    value: Callable[[Any], float]
    gradient: Callable[[Any], Any]
    hessian_product: Callable[[Any, Any], Any]

    def scaled(self, weight: float) -> Cost:
        """Return weight · f."""
        return Cost(
            lambda x: weight * self.value(x),
            lambda x: scaled(weight, self.gradient(x)),
            lambda x, u: scaled(weight, self.hessian_product(x, u)),
        )


@dataclass(frozen=True)
class BenchmarkProblem:
    """A constrained problem with two starts and, if known, its solution.

    Attributes
    ----------
    name : str
        Short name for tables.
    manifold : Manifold
        The manifold of the variable.
    objective : Cost
        The cost and its derivatives.
    inequalities, equalities : tuple of Constraint
        h(x) ≤ 0 and g(x) = 0.
    feasible_start, infeasible_start : point or None
        Starts inside and outside the feasible set; None if there is no such point.
    x, cost : point, float or None
        A global optimum and its value, exact by construction; None if unknown.
    multipliers, equality_multipliers : array or None
        Multipliers that certify `x`, one entry per constraint.
    unique_multipliers : bool
        Whether these are the only multipliers that certify `x`.
    convex : bool
        Whether every KKT point is a global optimum (by convexity along geodesics or in the ordinary sense).
    status : str
        The status that a correct solver reports.
    """

    name: str
    manifold: Manifold
    objective: Cost
    inequalities: tuple[Constraint, ...] = ()
    equalities: tuple[Constraint, ...] = ()
    feasible_start: Any = None
    infeasible_start: Any = None
    x: Any = None
    cost: float | None = None
    multipliers: Array | None = None
    equality_multipliers: Array | None = None
    unique_multipliers: bool = True
    convex: bool = True
    status: str = "converged"

    @cached_property
    def problem(self) -> Problem:
        """The same problem as a `geodual.optimize.Problem`."""
        return Problem(
            self.manifold,
            self.objective.value,
            gradient=self.objective.gradient,
            hessian_product=self.objective.hessian_product,
            inequalities=self.inequalities or None,
            equalities=self.equalities or None,
        )

    @property
    def starts(self) -> dict[str, Any]:
        """The existing starts, by the names "feasible" and "infeasible"."""
        both = {"feasible": self.feasible_start, "infeasible": self.infeasible_start}
        return {name: x for name, x in both.items() if x is not None}

    def scaled(self, weight: float) -> BenchmarkProblem:
        """Return the problem, and its known solution, for the cost multiplied by `weight` > 0."""
        return replace(
            self,
            name=f"{self.name} × {weight:g}",
            objective=self.objective.scaled(weight),
            cost=_scaled_if_known(weight, self.cost),
            multipliers=_scaled_if_known(weight, self.multipliers),
            equality_multipliers=_scaled_if_known(weight, self.equality_multipliers),
        )


class LastPoint:
    """Compute something expensive once per point, shared by value, gradient and Hessian products.

    Points are compared by identity, which is safe because solvers never change a point in place.

    Parameters
    ----------
    compute : callable
        Function of a point; its last value is cached.
    """

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self._compute = compute
        self._point: Any = None
        self._value: Any = None

    def __call__(self, x: Any) -> Any:
        if x is not self._point:
            self._value = self._compute(x)
            self._point = x
        return self._value


def linear_constraint(
    product: Callable[[Any], Array],
    adjoint: Callable[[Array], Any],
    bound: Array | float,
    gradients: Callable[[Any, Any], Any] | None = None,
) -> Constraint:
    """Return the constraint function product(x) − bound, whose second derivative is zero.

    Parameters
    ----------
    product : callable
        A linear map from points to vectors of length m.
    adjoint : callable
        Its adjoint, from vectors of length m to ambient vectors.
    bound : array of shape (m,) or float
        The vector or number to subtract.
    gradients : callable, optional
        ``gradients(x, indices)`` returns the gradients of the constraints in `indices`.
    """
    return Constraint(
        lambda x: product(x) - bound,
        lambda x, w: adjoint(w),
        directional=lambda x, u: product(u),
        hessian_product=lambda x, w, u: scaled(0.0, u),
        gradients=gradients,
    )


def _scaled_if_known(weight: float, value: Any) -> Any:
    return None if value is None else weight * value
