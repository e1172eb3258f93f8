"""The three families of Liu and Boumal: non-negative PCA, k-means and minimum balanced cut.

Constants are those of C. Liu and N. Boumal, "Simple algorithms for optimization on Riemannian manifolds with
constraints", Applied Mathematics and Optimization 82, 2020 (section 6), and of their code. Their code stops
when a step is shorter than 1e-10, and compares cost, violation and time. We require a KKT residual of 1e-6,
the last inner tolerance of their code.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodual.manifolds import Oblique, Sphere, Stiefel
from geodual.optimize import Constraint

from ..problems.case import Array, Cost, LastPoint, linear_constraint
from .case import PublishedProblem, bounded_below
from .clustering_data import standardized
from .graphs import power_law_laplacian

DIMENSIONS = (50, 100, 200, 500, 1000, 2000)
SIGNALS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
SPARSITIES = (0.1, 0.3, 0.7, 0.9)
NODES = (50, 100, 200, 500)
DENSITIES = (0.01, 0.04, 0.08)
CLUSTERS = {"iris": 3, "wine": 3, "sonar": 2, "ecoli": 8}


def nonnegative_pca(d: int = 50, snr: float = 0.5, sparsity: float = 0.7, seed: int = 0) -> PublishedProblem:
    """Find a non-negative principal component: min −½ xᵀZx s.t. x ≥ 0 on the sphere.

    Z is the symmetric part of √snr · vvᵀ + N, where v has ⌊sparsity · d⌋ equal entries. The entries of N have
    the variance 1/d, those on its diagonal 4/d. The start is random, so it is infeasible.

    Parameters
    ----------
    d : int
        Dimension; published are 10, 50, 200, 500, 1000 and 2000.
    snr : float
        Strength of the signal, from 0.05 to 2.
    sparsity : float
        Share of non-zero entries of v, from 0.1 to 0.9.
    seed : int
        Seed of the random data and start.
    """
    rng = np.random.default_rng([seed, d])
    size = int(np.floor(sparsity * d + 1e-9))
    v = np.zeros(d)
    v[rng.choice(d, size, replace=False)] = 1.0 / np.sqrt(size)
    noise = rng.standard_normal((d, d))
    np.fill_diagonal(noise, 2.0 * rng.standard_normal(d))
    Z = np.sqrt(snr) * np.outer(v, v) + (noise + noise.T) / (2.0 * np.sqrt(d))
    product = LastPoint(lambda x: Z @ x)
    return PublishedProblem(
        f"d={d} snr={snr:g} sparsity={sparsity:g}",
        Sphere(d),
        Cost(lambda x: -0.5 * float(x @ product(x)), lambda x: -product(x), lambda x, u: -Z @ u),
        inequalities=(bounded_below((d,)),),
        convex=False,
        family="non-negative PCA",
        points={"random": Sphere(d).random_point(rng)},
    )


def k_means(name: str = "iris", n_starts: int = 3, seed: int = 0) -> PublishedProblem:
    """Cluster a data set: min tr(YᵀDY)/(2T) s.t. Y ≥ 0, YYᵀ1 = 1 on Stiefel(n, k).

    D has the squared distances of the standardized samples, and T is the sum of their squared norms. Feasible
    points are clusterings; their cost is the share of the variance within clusters. The division by 2T is our
    addition: it makes an absolute residual of 1e-6 mean the same on all data sets. The paper uses D, as we
    do. Its code minimizes tr(YᵀKY) with the Gram matrix K, the negative up to a constant.

    Parameters
    ----------
    name : str
        "iris", "wine", "sonar" or "ecoli"; the last two need a folder (see `clustering_data`).
    n_starts : int
        Number of random starts.
    seed : int
        Seed of the starts.

    Raises
    ------
    FileNotFoundError
        If the data set is not available.
    """
    return clustering_problem(standardized(name), CLUSTERS[name], n_starts, seed, name)


def clustering_problem(
    X: Array, k: int, n_starts: int = 1, seed: int = 0, name: str = "samples"
) -> PublishedProblem:
    """Return `k_means` for the samples in the rows of `X`, whose columns have mean 0."""
    n, squares = len(X), np.einsum("ij,ij->i", X, X)
    D = (squares[:, None] + squares - 2.0 * X @ X.T) / squares.sum()
    manifold = Stiefel(n, k)
    rng = np.random.default_rng([seed, n, k])
    product = LastPoint(lambda y: D @ y)
    return PublishedProblem(
        f"{name} {n}×{k}",
        manifold,
        Cost(lambda y: 0.5 * float(np.vdot(y, product(y))), product, lambda y, u: D @ u),
        inequalities=(bounded_below((n, k)),),
        equalities=(_membership(n),),
        convex=False,
        family="k-means",
        points={f"random {i + 1}": manifold.random_point(rng) for i in range(n_starts)},
    )


def balanced_cut(
    n: int = 50, density: float = 0.02, squared: bool = False, seed: int = 0
) -> PublishedProblem:
    """Relax the minimum balanced cut of a graph: min tr(XLXᵀ) s.t. Σ xᵢ = 0, with unit columns xᵢ in R².

    L is the Laplacian of a power-law graph. The start is random.

    Parameters
    ----------
    n : int
        Number of nodes; published are 50, 200, 500, 1000, 2000 and 5000.
    density : float
        New edges per node, divided by n; published are 0.005, 0.01, 0.02, 0.04 and 0.08.
    squared : bool
        Whether to require ‖Σ xᵢ‖² = 0, as in the published code, instead of the two equations Σ xᵢ = 0.
        Gradients of the square vanish at feasible points, so multipliers do not exist in general. Points with
        a residual of `tol` exist; their multipliers grow like 1/‖Σ xᵢ‖.
    seed : int
        Seed of the graph and of the start, which are the same in both forms.
    """
    rng = np.random.default_rng([seed, n])
    L = power_law_laplacian(n, density, rng)
    manifold = Oblique(2, n)
    product = LastPoint(lambda x: (L @ x.T).T)
    return PublishedProblem(
        f"N={n} density={density:g}",
        manifold,
        Cost(
            lambda x: float(np.vdot(x, product(x))),
            lambda x: 2.0 * product(x),
            lambda x, u: 2.0 * (L @ u.T).T,
        ),
        equalities=(_squared_sum(n) if squared else _column_sum(n),),
        convex=False,
        family="balanced cut, squared" if squared else "balanced cut",
        points={"random": manifold.random_point(rng)},
        squared_equality=squared,
    )


def _column_sum(n: int) -> Constraint:
    return linear_constraint(lambda x: x.sum(axis=1), lambda w: np.repeat(w[:, None], n, axis=1), 0.0)


def _squared_sum(n: int) -> Constraint:
    def repeated(w: Array, x: Array) -> Array:
        return np.repeat(2.0 * w[0] * x.sum(axis=1, keepdims=True), n, axis=1)

    return Constraint(
        lambda x: np.array([np.sum(x.sum(axis=1) ** 2)]),
        lambda x, w: repeated(w, x),
        directional=lambda x, u: np.array([2.0 * x.sum(axis=1) @ u.sum(axis=1)]),
        hessian_product=lambda x, w, u: repeated(w, u),
    )


def _membership(n: int) -> Constraint:
    """Return YYᵀ1 − 1, which is zero if every sample belongs to one cluster."""

    def symmetric_product(w: Array, y: Array) -> Array:
        return np.asarray(w[:, None] * y.sum(axis=0) + w @ y)

    def gradients(y: Array, indices: NDArray[np.intp]) -> Array:
        rows = np.repeat(y[indices][:, None, :], n, axis=1)
        rows[np.arange(len(indices)), indices] += y.sum(axis=0)
        return rows

    return Constraint(
        lambda y: y @ y.sum(axis=0) - 1.0,
        lambda y, w: symmetric_product(w, y),
        directional=lambda y, u: u @ y.sum(axis=0) + y @ u.sum(axis=0),
        hessian_product=lambda y, w, u: symmetric_product(w, u),
        gradients=gradients,
    )
