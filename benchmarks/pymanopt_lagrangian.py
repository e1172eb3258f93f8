"""A peer built on pymanopt: a Riemannian augmented Lagrangian around its trust-region solver.

The method is that of Liu and Boumal (2019), with two settings:

- `PUBLISHED` has the parameters of their code. The first penalty is 1. It grows by a factor of 1/0.3 unless
  the violation falls below 0.8 times the last one. The inner tolerance goes from 1e-3 to 1e-6 over 30
  iterations.
- `TUNED` is the best of ten settings that we tried on these benchmark problems. The first penalty is that of
  ALGENCAN (Birgin and Martínez 2014), 10 max(1, |f|) / max(1, ½‖violation‖²). It grows tenfold unless the
  violation falls fourfold. The inner tolerance starts at 0.1 and falls tenfold each time.

In both, multipliers start at zero and are not capped, because the cap of 20 in their code would fail. Inner
solves start at the last point. The KKT residual is the stopping criterion. The inner solver receives the same
handwritten gradients and Hessian products as ours. The gradient at a point is computed only once, although
pymanopt requests it with every Hessian product. Stiefel manifolds use the second-order polar retraction.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from pymanopt.optimizers import TrustRegions

from geodual.optimize.problem import ConstraintVector
from geodual.optimize.trees import total
from testing.optimality import Residual, kkt_residual
from testing.problems import BenchmarkProblem
from testing.problems.case import Array, LastPoint

from .pymanopt_charts import Chart, chart_of


@dataclass(frozen=True)
class Settings:
    """Parameters of the outer iteration; a first penalty of None means ALGENCAN's."""

    first_penalty: float | None
    penalty_growth: float
    enough_progress: float
    first_tolerance: float
    tolerance_decrease: float


PUBLISHED = Settings(1.0, 1.0 / 0.3, 0.8, 1e-3, 1e-3 ** (1.0 / 30.0))
TUNED = Settings(None, 10.0, 0.25, 0.1, 0.1)


@dataclass(frozen=True)
class PeerResult:
    """The result of the peer: the point, its multipliers and residual, the time and the iterations."""

    x: Any
    multipliers: Array
    equality_multipliers: Array
    kkt: Residual
    seconds: float
    n_iter: int
    inner_iterations: int


@dataclass(frozen=True)
class _State:
    """Point and multipliers, with the penalty and tolerance of the next inner solve."""

    x: Any
    multipliers: Array
    penalty: float
    inner_tol: float
    violation: float = np.inf
    n_iter: int = 0
    inner_iterations: int = 0


class _AugmentedLagrangian:
    """f(x) + Σ (yₖ² − λₖ²)/(2ρ) with y = λ + ρ c(x), cut off at zero for inequalities."""

    def __init__(self, constraints: ConstraintVector, multipliers: Array, penalty: float) -> None:
        self._constraints = constraints
        self._problem = constraints.problem
        self._multipliers = multipliers
        self._penalty = penalty
        self._estimates_at = LastPoint(self.estimates)
        self.gradient = LastPoint(self._gradient)

    def estimates(self, x: Any) -> Array:
        """Return y."""
        shifted = self._multipliers + self._penalty * self._constraints.value(x)
        return np.where(self._constraints.is_equality, shifted, np.maximum(shifted, 0.0))

    def value(self, x: Any) -> float:
        y = self._estimates_at(x)
        return float(
            self._problem.cost(x) + (y @ y - self._multipliers @ self._multipliers) / (2.0 * self._penalty)
        )

    def _gradient(self, x: Any) -> Any:
        return self._constraints.lagrangian_gradient(x, 1.0, self._estimates_at(x))

    def hessian_product(self, x: Any, u: Any) -> Any:
        y = self._estimates_at(x)
        bent = self._penalty * np.where(
            self._constraints.is_equality | (y > 0.0), self._constraints.derivative(x, u), 0.0
        )
        product = self._constraints.lagrangian_hessian(x, 1.0, self._constraints.weighted(y))(u)
        return total([product, *self._constraints.adjoint(x, bent)]) if bent.any() else product


def has_peer(case: BenchmarkProblem) -> bool:
    """Return whether pymanopt supports the manifold of the problem; it has no hyperboloid."""
    return chart_of(case.manifold) is not None


def solve_with_pymanopt(
    case: BenchmarkProblem,
    x0: Any,
    settings: Settings = TUNED,
    tol: float = 1e-6,
    max_iter: int = 300,
    max_seconds: float = 10.0,
) -> PeerResult:
    """Solve a benchmark problem by the augmented Lagrangian method around pymanopt's trust regions.

    Parameters
    ----------
    case : BenchmarkProblem
        The problem, on a manifold for which `has_peer` holds.
    x0 : point
        Start.
    settings : Settings
        `PUBLISHED` or `TUNED`.
    tol : float
        Stop when stationarity, violation and complementarity are all at most this.
    max_iter : int
        Maximum number of inner solves.
    max_seconds : float
        Stop after the inner solve that ends past this time.

    Returns
    -------
    PeerResult
    """
    deadline = time.perf_counter() + max_seconds
    chart = chart_of(case.manifold)
    constraints = ConstraintVector(case.problem, x0)
    penalty = settings.first_penalty or _first_penalty(case, constraints, x0)
    state = _State(x0, np.zeros(constraints.size), penalty, settings.first_tolerance)
    for _ in range(max_iter):
        state = _advance(state, settings, constraints, chart, tol, deadline)
        lam, y = np.split(state.multipliers, [constraints.n_inequalities])
        kkt = kkt_residual(case, state.x, lam, y)
        if kkt.worst <= tol or time.perf_counter() > deadline:
            break
    seconds = time.perf_counter() - deadline + max_seconds
    return PeerResult(state.x, lam, y, kkt, seconds, state.n_iter, state.inner_iterations)


def _advance(
    state: _State,
    settings: Settings,
    constraints: ConstraintVector,
    chart: Chart,
    tol: float,
    deadline: float,
) -> _State:
    """Minimize the augmented Lagrangian, then update multipliers, penalty and tolerance."""
    function = _AugmentedLagrangian(constraints, state.multipliers, state.penalty)
    x, steps = _minimize(function, chart, state.x, state.inner_tol, deadline - time.perf_counter())
    multipliers = function.estimates(x)
    # The change of a multiplier, divided by ρ, is the violation of feasibility and complementarity together.
    violation = float(np.abs(multipliers - state.multipliers).max(initial=0.0)) / state.penalty
    missed = violation > max(settings.enough_progress * state.violation, 0.1 * tol)
    return _State(
        x,
        multipliers,
        state.penalty * (settings.penalty_growth if missed else 1.0),
        max(settings.tolerance_decrease * state.inner_tol, 0.5 * tol),
        violation,
        state.n_iter + 1,
        state.inner_iterations + steps,
    )


def _first_penalty(case: BenchmarkProblem, constraints: ConstraintVector, x: Any) -> float:
    values = constraints.value(x)
    violation = np.where(constraints.is_equality, values, np.maximum(values, 0.0))
    ratio = max(1.0, abs(case.objective.value(x))) / max(1.0, 0.5 * float(violation @ violation))
    return float(np.clip(10.0 * ratio, 1e-3, 1e4))


def _minimize(
    function: _AugmentedLagrangian, chart: Chart, x: Any, tol: float, max_seconds: float
) -> tuple[Any, int]:
    """Run pymanopt's trust regions; return the point and the number of iterations."""
    optimizer = TrustRegions(
        verbosity=0, min_gradient_norm=tol, max_iterations=500, max_time=max(max_seconds, 0.1)
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = optimizer.run(chart.problem(function), initial_point=chart.to_peer(x))
    parts = (result.point,) if chart.manifold.num_values == 1 else result.point
    return chart.to_ours(*parts), result.iterations
