"""Problems on spheres and orthonormal frames, which are not Hadamard manifolds; none is convex."""

from __future__ import annotations

import numpy as np

from geodual.manifolds import Oblique, Sphere, Stiefel
from geodual.optimize import Constraint

from .case import Array, BenchmarkProblem, Cost, linear_constraint


def nonnegative_pca(n: int = 20, snr: float = 1.0, seed: int = 0) -> BenchmarkProblem:
    """Find a non-negative principal component: min −xᵀZx s.t. x ≥ 0 on the sphere.

    Z = √snr · vvᵀ + noise/√n is a spiked model with a sparse non-negative v (Montanari and Richard 2016).
    """
    rng = np.random.default_rng(seed)
    v = np.where(np.arange(n) < n // 3, 1.0, 0.0) / np.sqrt(n // 3)
    noise = rng.standard_normal((n, n))
    Z = np.sqrt(snr) * np.outer(v, v) + (noise + noise.T) / np.sqrt(2.0 * n)
    start = rng.standard_normal(n)
    return BenchmarkProblem(
        "non-negative PCA",
        Sphere(n),
        Cost(lambda x: -float(x @ Z @ x), lambda x: -2.0 * (Z @ x), lambda x, u: -2.0 * (Z @ u)),
        inequalities=(nonnegativity((n,)),),
        feasible_start=np.full(n, 1.0 / np.sqrt(n)),
        infeasible_start=start / np.linalg.norm(start),
        convex=False,
    )


def nonnegative_projection(n: int = 20, k: int = 4, seed: int = 0) -> BenchmarkProblem:
    """Project onto non-negative orthonormal frames: min −2 tr(XᵀC) s.t. X ≥ 0 on Stiefel(n, k).

    C = X̂D − Λ/2 with X̂ ≥ 0 orthonormal, D > 0 diagonal and Λ > 0 where X̂ is zero. For every feasible X,
    tr(XᵀC) ≤ Σ d_j x_jᵀx̂_j ≤ tr D = tr(X̂ᵀC), so X̂ is the global optimum. X̂D is normal to the manifold, so
    Λ are multipliers. As in all problems of this kind, they are not unique: Λ + X̂S are others, for symmetric
    S ≥ 0 with zero diagonal.
    """
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    x = _frame_on_labels(labels, rng.uniform(0.5, 1.5, n))
    lam = np.where(x > 0.0, 0.0, rng.uniform(0.5, 1.5, (n, k)))
    C = x * rng.uniform(1.0, 2.0, k) - 0.5 * lam
    u, _, vt = np.linalg.svd(C, full_matrices=False)
    return BenchmarkProblem(
        "Stiefel projection",
        Stiefel(n, k),
        Cost(lambda x: -2.0 * float(np.vdot(x, C)), lambda x: -2.0 * C, lambda x, u: np.zeros_like(u)),
        inequalities=(nonnegativity((n, k)),),
        feasible_start=_frame_on_labels(labels, rng.uniform(0.5, 1.5, n)),
        infeasible_start=u @ vt,
        x=x,
        cost=-2.0 * float(np.vdot(x, C)),
        multipliers=lam.ravel(),
        unique_multipliers=False,
        convex=False,
    )


def balanced_cut(n: int = 12, seed: int = 0) -> BenchmarkProblem:
    """Relax the minimum balanced cut of a graph: min ¼ Σ w_ij ‖x_i − x_j‖²/2 s.t. Σ x_i = 0, x_i on spheres.

    With the graph Laplacian L the cost is ¼ tr(XLXᵀ), where the n unit vectors x_i are the columns of X.
    """
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.uniform(0.0, 1.0, (n, n)) * (rng.uniform(size=(n, n)) < 0.5), 1)
    weights += weights.T
    laplacian = np.diag(weights.sum(axis=0)) - weights
    manifold = Oblique(3, n)
    pairs = [s * v / np.linalg.norm(v) for v in rng.standard_normal((n // 2, 3)) for s in (1.0, -1.0)]

    return BenchmarkProblem(
        "balanced cut",
        manifold,
        Cost(
            lambda x: 0.25 * float(np.vdot(x, x @ laplacian)),
            lambda x: 0.5 * x @ laplacian,
            lambda x, u: 0.5 * u @ laplacian,
        ),
        equalities=(
            linear_constraint(lambda x: x.sum(axis=1), lambda w: np.repeat(w[:, None], n, axis=1), 0.0),
        ),
        feasible_start=np.array(pairs).T,
        infeasible_start=manifold.random_point(rng),
        convex=False,
    )


def k_means(n: int = 12, k: int = 3, separation: float = 4.0, seed: int = 0) -> BenchmarkProblem:
    """Cluster: min −tr(XᵀKX) s.t. X ≥ 0, XXᵀ1 = 1 on Stiefel(n, k), K the Gram matrix (Carson et al. 2017).

    The feasible points are the clusterings: column j is 1/√(cluster size) on the members of cluster j. The
    clusters are drawn far apart, so they are the optimum. Every clustering is a KKT point, with multipliers
    from `_clustering_multipliers`.
    """
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    centers = np.linalg.qr(rng.standard_normal((k, k)))[0] * separation
    points = centers[labels] + 0.5 * rng.standard_normal((n, k))
    K = (points @ points.T) / n
    x = _frame_on_labels(labels, np.ones(n))
    mislabeled = labels.copy()
    mislabeled[:2] = labels[1::-1]  # swap two points: feasible, but not optimal
    lam, y = _clustering_multipliers(K, x)
    return BenchmarkProblem(
        "k-means",
        Stiefel(n, k),
        Cost(lambda x: -float(np.vdot(x, K @ x)), lambda x: -2.0 * (K @ x), lambda x, u: -2.0 * (K @ u)),
        inequalities=(nonnegativity((n, k)),),
        equalities=(_membership_constraint(n),),
        feasible_start=_frame_on_labels(mislabeled, np.ones(n)),
        infeasible_start=Stiefel(n, k).random_point(rng),
        x=x,
        cost=-float(np.vdot(x, K @ x)),
        multipliers=lam.ravel(),
        equality_multipliers=y,
        unique_multipliers=False,
        convex=False,
    )


def nonnegativity(shape: tuple[int, ...]) -> Constraint:
    """Return −x, one constraint per entry."""
    return linear_constraint(lambda x: -x.ravel(), lambda w: -w.reshape(shape), 0.0)


def _membership_constraint(n: int) -> Constraint:
    """Return XXᵀ1 − 1, which is zero if every point belongs to one cluster."""
    ones = np.ones(n)

    def symmetric_product(w: Array, x: Array) -> Array:
        return np.outer(w, ones @ x) + np.outer(ones, w @ x)

    return Constraint(
        lambda x: x @ (ones @ x) - 1.0,
        lambda x, w: symmetric_product(w, x),
        directional=lambda x, u: u @ (ones @ x) + x @ (ones @ u),
        hessian_product=lambda x, w, u: symmetric_product(w, u),
    )


def _clustering_multipliers(K: Array, x: Array) -> tuple[Array, Array]:
    """Return λ ≥ 0 and y that certify a clustering x: −2Kx − λ + y1ᵀx + 1yᵀx + xS = 0 with S symmetric.

    With yᵀx = 0 the entries on the support of x give S_jj and y. Off the support, x_ai S_ij > 0 for a in
    cluster i, so a large enough S_ij makes λ positive.
    """
    support = x > 0.0
    root_sizes = x.sum(axis=0)
    slope = 2.0 * K @ x
    S = np.diag(np.einsum("ij,ij->j", x, slope))
    y = np.where(support, (slope - x @ S) / root_sizes, 0.0).sum(axis=1)
    short = np.where(support, 0.0, slope - np.outer(y, root_sizes))
    needed = np.stack([(short[support[:, i]] * root_sizes[i]).max(axis=0) for i in range(x.shape[1])])
    S += np.maximum(np.maximum(needed, needed.T), 0.0) + 1.0 - np.eye(x.shape[1])
    np.fill_diagonal(S, np.einsum("ij,ij->j", x, slope))
    lam = np.where(support, 0.0, x @ S + np.outer(y, root_sizes) - slope)
    return lam, y


def _frame_on_labels(labels: Array, weights: Array) -> Array:
    """Return the orthonormal frame whose column j is proportional to `weights` on the rows with label j."""
    x = np.where(labels[:, None] == np.arange(labels.max() + 1), weights[:, None], 0.0)
    return np.asarray(x / np.linalg.norm(x, axis=0))
