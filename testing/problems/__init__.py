"""The benchmark problems, with optima known by construction where possible.

Each builder returns a `BenchmarkProblem` with exact first and second derivatives. It takes sizes, named as in
the formula of its docstring (n rows, m constraints, k columns), and a `seed` for the random data.
"""

from .case import BenchmarkProblem, Cost
from .hard import infeasible_on_spd, infeasible_on_sphere, unbounded_on_euclidean, unbounded_on_spd
from .means import hyperbolic_mean_in_ball, karcher_mean_under_trace
from .orthogonality import balanced_cut, k_means, nonnegative_pca, nonnegative_projection
from .positive_definite import (
    determinant_under_trace,
    duplicated_constraint,
    far_start,
    rank_one_constraints,
    sparse_precision,
)

__all__ = [
    "BenchmarkProblem",
    "Cost",
    "balanced_cut",
    "benchmark_problems",
    "determinant_under_trace",
    "duplicated_constraint",
    "far_start",
    "hard_problems",
    "hyperbolic_mean_in_ball",
    "infeasible_on_spd",
    "infeasible_on_sphere",
    "k_means",
    "karcher_mean_under_trace",
    "nonnegative_pca",
    "nonnegative_projection",
    "rank_one_constraints",
    "sparse_precision",
    "unbounded_on_euclidean",
    "unbounded_on_spd",
]


def benchmark_problems(seed: int = 0) -> list[BenchmarkProblem]:
    """Return every benchmark problem that has a solution."""
    return [
        determinant_under_trace(seed=seed),
        karcher_mean_under_trace(seed=seed),
        hyperbolic_mean_in_ball(seed=seed),
        nonnegative_pca(seed=seed),
        nonnegative_projection(seed=seed),
        balanced_cut(seed=seed),
        k_means(seed=seed),
        rank_one_constraints(seed=seed),
        rank_one_constraints(n=30, m=300, active=60, seed=seed),
        sparse_precision(seed=seed),
        duplicated_constraint(seed=seed),
        far_start(seed=seed),
    ]


def hard_problems() -> list[BenchmarkProblem]:
    """Return the problems without a solution; their `status` is the reason."""
    return [infeasible_on_spd(), infeasible_on_sphere(), unbounded_on_spd(), unbounded_on_euclidean()]
