"""The families of Lai and Yoshise: non-negative low-rank matrices, and projections onto Stiefel.

Constants are those of Z. Lai and A. Yoshise, "Riemannian interior point methods for constrained optimization
on manifolds", Journal of Optimization Theory and Applications 201, 2024 (section 5), and of their code. They
run 20 repetitions of each and count those that reach a KKT residual of 1e-8 (low rank) or 1e-6 (projections).
"""

from __future__ import annotations

import numpy as np

from geodual.manifolds import FixedRank, Oblique, Stiefel
from geodual.optimize import Constraint

from ..problems.case import Array, Cost
from .case import PublishedProblem, bounded_below

NOISES = (0.0, 0.001, 0.01)
HEIGHTS = (20, 30, 40)
ROWS = (40, 50, 60, 70)


def nonnegative_low_rank(
    m: int = 20, noise: float = 0.01, observed: float = 1.0, seed: int = 0
) -> PublishedProblem:
    """Approximate by a non-negative matrix of low rank: min ½‖P∘(X − A)‖² s.t. X ≥ 0, X of rank r.

    A = LR + noise is m × 0.8 m, with factors of rank r = 0.1 m whose entries are uniform on [0, 1]. The start
    is another product LR of this kind, so it is feasible.

    Parameters
    ----------
    m : int
        Number of rows; published are 20, 30 and 40.
    noise : float
        Standard deviation of the noise; published are 0, 0.001 and 0.01.
    observed : float
        Share of the entries that P keeps. The published tables use 1; smaller values make it a completion.
    seed : int
        Seed of the random data and start.
    """
    n, r = (8 * m) // 10, m // 10
    rng = np.random.default_rng([seed, m])
    A = rng.uniform(size=(m, r)) @ rng.uniform(size=(r, n)) + noise * rng.standard_normal((m, n))
    start = rng.uniform(size=(m, r)) @ rng.uniform(size=(r, n))
    P = np.ones((m, n)) if observed >= 1.0 else (rng.uniform(size=(m, n)) < observed) * 1.0
    manifold = FixedRank(m, n, r)
    kind = "" if observed >= 1.0 else f" observed={observed:g}"
    return PublishedProblem(
        f"{m}×{n} rank {r} noise={noise:g}{kind} seed={seed}",
        manifold,
        Cost(lambda x: 0.5 * float(np.sum((P * (x - A)) ** 2)), lambda x: P * (x - A), lambda x, u: P * u),
        inequalities=(bounded_below((m, n)),),
        convex=False,
        family="non-negative low rank",
        points={"random": manifold.nearest(start)},
        tol=1e-8,
    )


def stiefel_projection(n: int = 40, seed: int = 0) -> PublishedProblem:
    """Project onto non-negative orthonormal frames: min −2 tr(XᵀC) s.t. X ≥ 0 on Stiefel(n, n/5).

    C = X̂Lᵀ with X̂ ≥ 0 orthonormal and L = kI + U, where U is uniform on [0, 1]. X̂ is the solution. The start
    is the orthonormal frame nearest to C.

    Parameters
    ----------
    n : int
        Number of rows; published are 40, 50, 60 and 70.
    seed : int
        Seed of the random data.
    """
    solution, L, C = _target(n, seed)
    k = len(L)
    # −2C − Λ + X̂S = 0 with a symmetric S. Rows of X̂ have one positive entry, in column a say. There Λ must
    # vanish, so S_aa = 2L_aa. Elsewhere Λ is x_a (S_aj − 2L_ja), which S = 2 max(L, Lᵀ) makes non-negative.
    lam = solution @ (2.0 * np.maximum(L, L.T) - 2.0 * L.T)
    return PublishedProblem(
        f"{n}×{k} seed={seed}",
        Stiefel(n, k),
        _linear_cost(C),
        inequalities=(bounded_below((n, k)),),
        x=solution,
        cost=-2.0 * float(np.trace(L)),
        multipliers=lam.ravel(),
        unique_multipliers=False,
        convex=False,
        family="Stiefel projection",
        points={"polar": _polar(C)},
    )


def oblique_projection(n: int = 70, seed: int = 0) -> PublishedProblem:
    """Solve `stiefel_projection` with only unit columns, and orthogonality as one equality ‖X1‖² = k.

    For X ≥ 0 with unit columns, ‖X1‖² is at least k, with equality only if the columns are orthogonal. So the
    equality holds only at minimizers of its left-hand side, and no constraint qualification holds.

    Parameters
    ----------
    n : int
        Number of rows; published are 40, 50, 60 and 70.
    seed : int
        Seed of the random data.
    """
    solution, L, C = _target(n, seed)
    k = len(L)
    # −2C − Λ + 2y/k X̂11ᵀ + X̂ diag(s) = 0. Any y with y/k at least the largest entry beside the diagonal of
    # L gives Λ ≥ 0, and s makes Λ vanish where X̂ is positive.
    y = k * float(np.max(L - np.diag(np.diag(L))))
    weights = 2.0 * y / k - 2.0 * L.T
    np.fill_diagonal(weights, 0.0)
    return PublishedProblem(
        f"{n}×{k} seed={seed}",
        Oblique(n, k),
        _linear_cost(C),
        inequalities=(bounded_below((n, k)),),
        equalities=(_orthogonality(k),),
        x=solution,
        cost=-2.0 * float(np.trace(L)),
        multipliers=(solution @ weights).ravel(),
        equality_multipliers=np.array([y]),
        unique_multipliers=False,
        convex=False,
        family="oblique projection",
        points={"polar": _polar(C)},
    )


def _target(n: int, seed: int) -> tuple[Array, Array, Array]:
    """Return X̂, L and C of the projections: the columns of X̂ have disjoint supports of about 5 rows."""
    k = n // 5
    rng = np.random.default_rng([seed, n])
    owner = rng.permutation(np.minimum(np.arange(n) // (n // k), k - 1))
    solution = np.where(owner[:, None] == np.arange(k), rng.uniform(1.0, 2.0, (n, k)), 0.0)
    solution /= np.linalg.norm(solution, axis=0)
    L = rng.uniform(size=(k, k)) + k * np.eye(k)
    return solution, L, solution @ L.T


def _linear_cost(C: Array) -> Cost:
    return Cost(lambda x: -2.0 * float(np.vdot(x, C)), lambda x: -2.0 * C, lambda x, u: np.zeros_like(u))


def _orthogonality(k: int) -> Constraint:
    """Return ‖XV‖² − 1 with V = 1/√k, as in the published code."""

    def product(w: Array, x: Array) -> Array:
        return np.repeat((2.0 / k) * w[0] * x.sum(axis=1, keepdims=True), k, axis=1)

    return Constraint(
        lambda x: np.array([np.sum(x.sum(axis=1) ** 2) / k - 1.0]),
        lambda x, w: product(w, x),
        directional=lambda x, u: np.array([2.0 / k * (x.sum(axis=1) @ u.sum(axis=1))]),
        hessian_product=lambda x, w, u: product(w, u),
    )


def _polar(C: Array) -> Array:
    u, _, vt = np.linalg.svd(C, full_matrices=False)
    return np.asarray(u @ vt)
