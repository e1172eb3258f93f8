"""Non-negative PCA and Rosenbrock's function, two families of Obara, Okuno and Takeda.

Constants are those of M. Obara, T. Okuno and A. Takeda, "A primal-dual interior point trust region method for
inequality-constrained optimization on Riemannian manifolds", arXiv:2501.15419, and of their code. They run
each solver for 240 s and plot the KKT residual over time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from geodual.manifolds import Grassmann, Stiefel

from ..problems.case import Array, Cost
from .case import PublishedProblem, bounded_below
from .liu_boumal import nonnegative_pca


def interior_pca(d: int = 50, seed: int = 0) -> PublishedProblem:
    """Return min −xᵀZx s.t. x ≥ 0 on the sphere from a strictly feasible start.

    Z is that of `nonnegative_pca` with snr = 0.5 and sparsity 0.7. The start has uniform entries.

    Parameters
    ----------
    d : int
        Dimension; published is 50.
    seed : int
        Seed of the random data and start.
    """
    case = nonnegative_pca(d, seed=seed)
    start = np.random.default_rng([seed, d, 1]).uniform(size=d)
    return replace(
        case,
        name=f"d={d} seed={seed}",
        objective=case.objective.scaled(2.0),
        family="non-negative PCA, interior start",
        points={"interior": start / np.linalg.norm(start)},
    )


def rosenbrock(n: int = 5, p: int = 3, alpha: float = 1e7, subspaces: bool = True) -> PublishedProblem:
    """Return min Σ α (vᵢ₊₁ − vᵢ)² + (1 − vᵢ)² s.t. v ≥ −0.01, where v has the entries of X row by row.

    The published problem is on Grassmann(n, p), although the cost depends on the basis X of the subspace. So
    it is not a function of the subspace, and the results of solvers depend on their paths: a point counts as
    solved if the part of the gradient orthogonal to X vanishes. On Stiefel(n, p), the problem is well
    defined. The start has the first p unit vectors as columns.

    Parameters
    ----------
    n, p : int
        Number of rows and columns; published are 5 and 3.
    alpha : float
        α; published is 1e7.
    subspaces : bool
        Whether X lies on Grassmann(n, p), as published, or on Stiefel(n, p).
    """
    size = n * p
    forward = np.diff(np.eye(size), axis=0)
    counted = np.arange(size) < size - 1  # the last entry has no term of its own
    H = 2.0 * (alpha * forward.T @ forward + np.diag(counted * 1.0))

    def value(x: Array) -> float:
        v = x.ravel()
        return alpha * float(np.sum(np.diff(v) ** 2)) + float(np.sum((1.0 - v[:-1]) ** 2))

    def gradient(x: Array) -> Array:
        v = x.ravel()
        steep = 2.0 * alpha * (forward.T @ np.diff(v))
        return np.asarray(steep - 2.0 * counted * (1.0 - v)).reshape(n, p)

    manifold = Grassmann(n, p) if subspaces else Stiefel(n, p)
    return PublishedProblem(
        f"{manifold} α={alpha:g}",
        manifold,
        Cost(value, gradient, lambda x, u: (H @ u.ravel()).reshape(n, p)),
        inequalities=(bounded_below((n, p), -0.01),),
        convex=False,
        family="Rosenbrock",
        points={"unit vectors": np.eye(n, p)},
    )
