"""Problems with nonsmooth terms and cones from the literature, with data drawn as there.

Sources of the data: ManoptExamples.jl (sparse PCA on the oblique manifold, row-sparse low rank, spectral
Procrustes) and S. Chen, S. Ma, A. M.-C. So, T. Zhang, "Proximal gradient method for nonsmooth optimization
over the Stiefel manifold", SIAM Journal on Optimization 30(1), 2020 (sparse PCA and compressed modes).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geodual.manifolds import SPD, Euclidean, FixedRank, Oblique, Rotations, Stiefel
from geodual.optimize import (
    L1,
    Constraint,
    GroupL2,
    PositiveSemidefinite,
    Problem,
    SecondOrderCone,
    SpectralNorm,
    Term,
)

from .case import Array, linear_constraint


@dataclass(frozen=True)
class NonsmoothProblem:
    """A problem with terms, its start, and the data for other programs.

    Attributes
    ----------
    name, size : str
        Its name and size, for tables.
    problem : Problem
        The problem.
    start : point
        The starting point.
    data : dict
        The arrays and numbers that define it.
    """

    name: str
    size: str
    problem: Problem
    start: Any
    data: dict[str, Any] = field(default_factory=dict)


def oblique_sparse_pca(n: int = 300, r: int = 5, mu: float = 0.5, seed: int = 0) -> NonsmoothProblem:
    """Minimize ½ ‖XᵀHX − D‖² + μ ‖X‖₁ over matrices X with r unit columns, as in ManoptExamples.jl.

    H is the Gram matrix of 20 random samples with standardized features, scaled to norm 10, and D has its
    largest eigenvalues on the diagonal.
    """
    rng = np.random.default_rng([26, seed])
    A = rng.standard_normal((20, n))
    A = (A - A.mean(axis=0)) / A.std(axis=0, ddof=1)
    H = A.T @ A
    scale = 10.0 / float(np.linalg.norm(H))
    A, H = np.sqrt(scale) * A, scale * H
    D = np.diag(np.sort(np.linalg.eigvalsh(A @ A.T))[::-1][:r])
    manifold = Oblique(n, r)

    def misfit(X: Array) -> Array:
        AX = A @ X
        return np.asarray(AX.T @ AX - D)

    def hessian_product(X: Array, U: Array) -> Array:
        AX, AU = A @ X, A @ U
        cross = AU.T @ AX
        return np.asarray(2.0 * A.T @ (AU @ misfit(X) + AX @ (cross + cross.T)))

    problem = Problem(
        manifold,
        lambda X: 0.5 * float(np.sum(misfit(X) ** 2)),
        lambda X: 2.0 * A.T @ (A @ X @ misfit(X)),
        hessian_product,
        terms=[Term(L1(mu))],
    )
    start = manifold.random_point(rng)
    return NonsmoothProblem("sparse PCA, oblique", f"{n} × {r}, μ = {mu:g}", problem, start, {"mu": mu})


def stiefel_sparse_pca(n: int = 100, r: int = 5, mu: float = 0.8, seed: int = 0) -> NonsmoothProblem:
    """Minimize −tr(XᵀBᵀBX) + μ ‖X‖₁ over orthonormal X, with 50 samples, as in Chen, Ma, So and Zhang.

    The features have mean 0 and norm 1.
    """
    rng = np.random.default_rng([26, seed])
    B = rng.standard_normal((50, n))
    B -= B.mean(axis=0)
    B /= np.linalg.norm(B, axis=0)
    start = np.linalg.svd(rng.standard_normal((n, r)), full_matrices=False)[0]
    problem = quadratic_on_stiefel(lambda X: B.T @ (B @ X), n, r, mu)
    data = {"B": B, "mu": mu, "kind": 0.0}
    return NonsmoothProblem("sparse PCA, Stiefel", f"{n} × {r}, μ = {mu:g}", problem, start, data)


def compressed_modes(n: int = 128, r: int = 4, mu: float = 0.3, seed: int = 0) -> NonsmoothProblem:
    """Minimize tr(XᵀHX) + μ ‖X‖₁ over orthonormal X, with H = −½ d²/dt² on a ring of length 50.

    The minima are localized waves; see V. Ozoliņš, R. Lai, R. Caflisch, S. Osher, "Compressed modes for
    variational problems in mathematics and physics", PNAS 110(46), 2013.
    """
    rng = np.random.default_rng([26, seed])
    squared = (50.0 / n) ** 2

    def minus_H(X: Array) -> Array:
        return np.asarray((np.roll(X, 1, axis=0) + np.roll(X, -1, axis=0) - 2.0 * X) * (0.5 / squared))

    start = np.linalg.svd(rng.standard_normal((n, r)), full_matrices=False)[0]
    problem = quadratic_on_stiefel(minus_H, n, r, mu)
    data = {"B": minus_H(np.eye(n)), "mu": mu, "kind": 1.0}
    return NonsmoothProblem("compressed modes", f"{n} × {r}, μ = {mu:g}", problem, start, data)


def quadratic_on_stiefel(A: Callable[[Array], Array], n: int, r: int, mu: float) -> Problem:
    """Return the problem to minimize −tr(XᵀAX) + μ ‖X‖₁ on `Stiefel(n, r)`."""
    return Problem(
        Stiefel(n, r),
        lambda X: -float(np.sum(X * A(X))),
        lambda X: -2.0 * A(X),
        lambda X, U: -2.0 * A(U),
        terms=[Term(L1(mu))],
    )


def row_sparse_recovery(
    m: int = 500, n: int = 100, r: int = 1, measurements: int = 300, seed: int = 0
) -> NonsmoothProblem:
    """Find a matrix of rank r with ten rows from few linear measurements, as in ManoptExamples.jl.

    Minimize ½ ‖𝒜(X) − y‖² + 1e-4 Σ ‖rows of X‖ over matrices of rank r, from near the true matrix.
    """
    rng = np.random.default_rng([26, seed])
    truth = rng.random((m, r)) @ np.linalg.qr(rng.random((n, r)))[0].T
    truth[rng.permutation(m)[10:]] = 0.0
    truth /= np.linalg.norm(truth)
    A = rng.standard_normal((measurements, m * n)) / np.sqrt(measurements)
    y = A @ truth.ravel()
    manifold = FixedRank(m, n, r)

    def residual(x: Array) -> Array:
        return np.asarray(A @ np.ravel(x) - y)

    problem = Problem(
        manifold,
        lambda x: 0.5 * float(np.sum(residual(x) ** 2)),
        lambda x: (A.T @ residual(x)).reshape(m, n),
        lambda x, u: (A.T @ (A @ np.ravel(u))).reshape(m, n),
        terms=[Term(GroupL2(1e-4))],
    )
    start = manifold.nearest(truth + rng.standard_normal((m, n)) * (0.01 / np.sqrt(r)))
    return NonsmoothProblem("row-sparse low rank", f"{m} × {n}, r = {r}", problem, start, {"truth": truth})


def robust_completion(m: int = 60, n: int = 40, r: int = 3, seed: int = 0) -> NonsmoothProblem:
    """Complete a matrix of rank r from half of its entries, a tenth of them wrong, by an l1 loss."""
    rng = np.random.default_rng([26, seed])
    truth = rng.standard_normal((m, r)) @ rng.standard_normal((r, n))
    known = np.flatnonzero(rng.random(m * n) < 0.5)
    seen = truth.ravel()[known]
    wrong = rng.random(known.size) < 0.1
    seen = seen + wrong * rng.choice([-10.0, 10.0], known.size)

    def pick(x: Array) -> Array:
        return np.asarray(np.ravel(x)[known])

    def put(w: Array) -> Array:
        full = np.zeros(m * n)
        full[known] = w
        return full.reshape(m, n)

    manifold = FixedRank(m, n, r)
    problem = Problem(
        manifold,
        lambda x: 0.0,
        lambda x: np.zeros((m, n)),
        lambda x, u: np.zeros((m, n)),
        terms=[Term(L1(1.0), linear_constraint(pick, put, seen))],
    )
    start = manifold.nearest(put(seen))
    data = {"truth": truth, "n_wrong": int(wrong.sum())}
    return NonsmoothProblem("robust completion", f"{m} × {n}, r = {r}", problem, start, data)


def graphical_model(n: int = 20, alpha: float = 0.1, seed: int = 0) -> NonsmoothProblem:
    """Minimize tr(SX) − log det X + α Σ |X_ij|, i ≠ j, on SPD(n): a sparse precision matrix."""
    rng = np.random.default_rng([26, seed])
    precision = np.eye(n) + 0.4 * (np.eye(n, k=1) + np.eye(n, k=-1))
    samples = rng.multivariate_normal(np.zeros(n), np.linalg.inv(precision), 5 * n)
    S = np.cov(samples.T, bias=True)

    def hessian_product(X: Array, U: Array) -> Array:
        inverse = np.linalg.inv(X)
        return np.asarray(inverse @ U @ inverse)

    problem = Problem(
        SPD(n),
        lambda X: float(np.sum(S * X) - np.linalg.slogdet(X)[1]),
        lambda X: S - np.linalg.inv(X),
        hessian_product,
        terms=[Term(L1(alpha * (1.0 - np.eye(n))))],
    )
    start = np.diag(1.0 / np.diag(S))
    return NonsmoothProblem("graphical model", f"{n} × {n}", problem, start, {"S": S, "alpha": alpha})


def spectral_procrustes(m: int = 1000, n: int = 250, seed: int = 0) -> NonsmoothProblem:
    """Minimize the largest singular value of A − BR over rotations R, as in ManoptExamples.jl.

    A has uniform and B normal entries. The start is the best rotation in the Frobenius norm. A and B have
    many rows, so we replace them by the triangular factor of (A, B), which preserves the singular values.
    """
    rng = np.random.default_rng([26, seed])
    A, B = rng.random((m, n)), rng.standard_normal((m, n))
    A, B = np.hsplit(np.linalg.qr(np.hstack([A, B]), mode="r"), 2)
    u, _, vt = np.linalg.svd(B.T @ A)
    start = u @ np.diag([*np.ones(n - 1), np.linalg.det(u @ vt)]) @ vt
    rest = Constraint(
        lambda R: A - B @ R,
        lambda R, w: -B.T @ w,
        lambda R, U: -B @ U,
        lambda R, w, U: np.zeros_like(U),
    )
    problem = Problem(
        Rotations(n),
        lambda R: 0.0,
        lambda R: np.zeros((n, n)),
        lambda R, U: np.zeros((n, n)),
        terms=[Term(SpectralNorm(), rest)],
    )
    return NonsmoothProblem("spectral Procrustes", f"{m} × {n}", problem, start, {"A": A, "B": B})


def largest_inner_ellipsoid(n: int = 8, count: int = 3, seed: int = 0) -> NonsmoothProblem:
    """Maximize log det X subject to X ≤ Cₖ as matrices for all k: the largest ellipsoid within others."""
    rng = np.random.default_rng([26, seed])
    factors = rng.standard_normal((count, n, 2 * n))
    C = factors @ factors.swapaxes(1, 2) / n

    def room(k: int) -> Constraint:
        return Constraint(
            lambda X: C[k] - X, lambda X, w: -w, lambda X, U: -U, lambda X, w, U: np.zeros_like(U)
        )

    def hessian_product(X: Array, U: Array) -> Array:
        inverse = np.linalg.inv(X)
        return np.asarray(inverse @ U @ inverse)

    problem = Problem(
        SPD(n),
        lambda X: -float(np.linalg.slogdet(X)[1]),
        lambda X: -np.linalg.inv(X),
        hessian_product,
        terms=[Term(PositiveSemidefinite(), room(k)) for k in range(count)],
    )
    return NonsmoothProblem("matrix inequalities", f"{count} of {n} × {n}", problem, np.eye(n), {"C": C})


def robust_linear_program(n: int = 20, count: int = 30, seed: int = 0) -> NonsmoothProblem:
    """Minimize ⟨c, x⟩ subject to ⟨aₖ + Pₖu, x⟩ ≤ 1 for all ‖u‖ ≤ 1: count cones 1 − ⟨aₖ, x⟩ ≥ ‖Pₖᵀx‖.

    c is minus a sum of the aₖ with nonnegative weights, which makes the problem bounded.
    """
    rng = np.random.default_rng([26, seed])
    a = rng.standard_normal((count, n))
    P = 0.3 * rng.standard_normal((count, n, n)) / np.sqrt(n)
    c = -rng.random(count) @ a
    maps = [np.vstack([-a[k], P[k].T]) for k in range(count)]
    offset = np.eye(n + 1)[0]
    problem = Problem(
        Euclidean(n),
        lambda x: float(c @ x),
        lambda x: c,
        lambda x, u: np.zeros(n),
        terms=[Term(SecondOrderCone(), _affine(matrix, offset)) for matrix in maps],
    )
    data = {"c": c, "maps": maps, "offset": offset}
    return NonsmoothProblem("second-order cones", f"{count} in R{n}", problem, np.zeros(n), data)


def _affine(matrix: Array, offset: Array) -> Constraint:
    return linear_constraint(lambda x: matrix @ x, lambda w: matrix.T @ w, -offset)
