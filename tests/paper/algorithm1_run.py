"""Run Algorithm 1 and keep all iterates; the functions of the paper are written independently of the code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geodual.optimize import Iterate, Result, minimize
from testing.problems import BenchmarkProblem


@dataclass
class Run:
    case: BenchmarkProblem
    alpha: float
    x0: Any
    states: list[Iterate] = field(default_factory=list)
    result: Result | None = None

    @property
    def points(self) -> list[Any]:
        """x₀, x₁, …, x_T."""
        return [self.x0, *(state.x for state in self.states)]

    @property
    def multipliers(self) -> list[np.ndarray]:
        """λ₀, λ₁, …, λ_T."""
        return [np.zeros(len(self.h(self.x0))), *(state.multipliers for state in self.states)]

    @property
    def steps(self) -> np.ndarray:
        """η₀, …, η_{T−1}."""
        return np.array([state.step_size for state in self.states])

    def f(self, x: Any) -> float:
        return float(self.case.objective.value(x))

    def h(self, x: Any) -> np.ndarray:
        return np.concatenate([np.atleast_1d(block.value(x)) for block in self.case.inequalities])

    def lagrangian(self, x: Any, lam: np.ndarray) -> float:
        """Eq. (2)."""
        return self.f(x) + float(lam @ self.h(x)) - 0.5 * self.alpha * float(lam @ lam)

    def lagrangian_gradient(self, x: Any, lam: np.ndarray) -> Any:
        (block,) = self.case.inequalities
        egrad = self.case.objective.gradient(x) + block.jacobian_product(x, lam)
        return self.case.manifold.gradient(x, egrad)


def run_algorithm1(case: BenchmarkProblem, n_iter: int, alpha: float = 0.0, **options: Any) -> Run:
    run = Run(case, alpha, case.feasible_start)
    run.result = minimize(
        case.problem,
        run.x0,
        method="primal-dual",
        tol=1e-300,
        max_iter=n_iter,
        callback=run.states.append,
        alpha=alpha,
        **options,
    )
    return run
