"""The absolute KKT residual, for comparing different solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodual.optimize.problem import ConstraintVector

from .problems import BenchmarkProblem
from .problems.case import Array


@dataclass(frozen=True)
class Residual:
    """The absolute KKT residual of a point and its multipliers."""

    stationarity: float
    feasibility: float
    complementarity: float

    @property
    def worst(self) -> float:
        """The largest of the three parts; infinite if one is not finite."""
        parts = (self.stationarity, self.feasibility, self.complementarity)
        return max(parts) if np.isfinite(parts).all() else np.inf


def kkt_residual(case: BenchmarkProblem, x: Any, lam: Array, y: Array) -> Residual:
    """Measure the absolute violation of the KKT conditions by a point and its multipliers.

    Parameters
    ----------
    case : BenchmarkProblem
        The problem.
    x : point
        The point.
    lam, y : array
        Multipliers of all inequalities and of all equalities.

    Returns
    -------
    Residual
        The Riemannian norm of the Lagrangian's gradient, the largest violation, and the largest |λₖ hₖ| or
        −λₖ.
    """
    constraints = ConstraintVector(case.problem, x)
    h, g = np.split(constraints.value(x), [constraints.n_inequalities])
    frame = case.manifold.frame(x)
    gradient = frame.gradient(constraints.lagrangian_gradient(x, 1.0, np.concatenate([lam, y])))
    return Residual(
        frame.norm(gradient),
        float(max(np.max(h, initial=0.0), np.max(np.abs(g), initial=0.0))),
        float(max(np.max(np.abs(lam * h), initial=0.0), np.max(-lam, initial=0.0))),
    )
