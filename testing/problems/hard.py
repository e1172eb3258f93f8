"""Problems without a solution: a solver must report whether they are infeasible or unbounded."""

from __future__ import annotations

import numpy as np

from geodual.manifolds import SPD, Euclidean, Sphere
from geodual.optimize import Constraint

from .case import BenchmarkProblem, Cost, linear_constraint
from .positive_definite import log_det_cost, trace_constraint


def infeasible_on_spd(n: int = 5) -> BenchmarkProblem:
    """Require both tr x ≤ 1 and logdet x ≥ 0, although the first implies logdet x ≤ −n log n."""
    volume = log_det_cost(np.zeros((n, n)))
    return BenchmarkProblem(
        "infeasible, SPD",
        SPD(n),
        log_det_cost(np.eye(n)),
        inequalities=(
            trace_constraint(np.eye(n), 1.0),
            Constraint(
                lambda x: np.array([volume.value(x)]),
                lambda x, w: w[0] * volume.gradient(x),
                directional=lambda x, u: np.array([np.vdot(volume.gradient(x), u)]),
                hessian_product=lambda x, w, u: w[0] * volume.hessian_product(x, u),
            ),
        ),
        infeasible_start=np.eye(n),
        status="infeasible",
    )


def infeasible_on_sphere(n: int = 5) -> BenchmarkProblem:
    """Require x₁ ≥ 0.9 and x₂ ≥ 0.9 of a unit vector."""
    corner = linear_constraint(lambda x: -x[:2], lambda w: np.concatenate([-w, np.zeros(n - 2)]), -0.9)
    start = np.full(n, 1.0 / np.sqrt(n))
    return BenchmarkProblem(
        "infeasible, sphere",
        Sphere(n),
        _linear_cost(np.arange(n, dtype=float)),
        inequalities=(corner,),
        infeasible_start=start,
        convex=False,
        status="infeasible",
    )


def unbounded_on_spd(n: int = 5) -> BenchmarkProblem:
    """Maximize the determinant with a bound on only one diagonal entry."""
    corner = np.zeros((n, n))
    corner[0, 0] = 1.0
    return BenchmarkProblem(
        "unbounded, SPD",
        SPD(n),
        log_det_cost(np.zeros((n, n))),
        inequalities=(trace_constraint(corner, 1.0),),
        feasible_start=0.5 * np.eye(n),
        infeasible_start=3.0 * np.eye(n),
        status="unbounded",
    )


def unbounded_on_euclidean(n: int = 5) -> BenchmarkProblem:
    """Minimize −Σ xᵢ over the half-space x₁ ≤ 1."""
    half_space = linear_constraint(lambda x: x[:1], lambda w: np.concatenate([w, np.zeros(n - 1)]), 1.0)
    return BenchmarkProblem(
        "unbounded, Euclidean",
        Euclidean(n),
        _linear_cost(-np.ones(n)),
        inequalities=(half_space,),
        feasible_start=np.zeros(n),
        infeasible_start=np.full(n, 3.0),
        status="unbounded",
    )


def _linear_cost(slope: np.ndarray) -> Cost:
    return Cost(lambda x: float(slope @ x), lambda x: slope, lambda x, u: np.zeros_like(u))
