"""Means of points under a constraint, with known optima by construction."""

from __future__ import annotations

from math import comb

import numpy as np
from scipy.linalg import solve_triangular

from geodual.manifolds import SPD, Hyperbolic
from geodual.manifolds.frame import x_coth_x
from geodual.manifolds.spd import symmetrized
from geodual.optimize import Constraint

from .case import Array, BenchmarkProblem, Cost, LastPoint
from .positive_definite import trace_constraint


def karcher_mean_under_trace(
    n: int = 10, count: int = 5, lam: float = 2.0, seed: int = 0
) -> BenchmarkProblem:
    """Average matrices under a trace bound: min ½ Σ d²(x, Yᵢ) s.t. tr(x) ≤ c on SPD(n).

    The optimum x is drawn first. The gradients of cost and trace at x are −Σ log_x Yᵢ and x². So the
    matrices Yᵢ = exp_x(vᵢ + (λ/N) x²) with Σ vᵢ = 0 make x the optimum, with multiplier λ and c = tr(x).
    """
    rng = np.random.default_rng(seed)
    manifold = SPD(n)
    x = manifold.random_point(rng)
    v = np.stack([manifold.random_tangent(x, rng) for _ in range(count)]) * np.sqrt(n)
    shift = (lam / count) * x @ x - v.mean(axis=0)
    Y = np.stack([manifold.exp(x, each + shift) for each in v])
    c = float(np.trace(x))
    objective = spd_distances_cost(Y)
    return BenchmarkProblem(
        "Karcher mean",
        manifold,
        objective,
        inequalities=(trace_constraint(np.eye(n), c),),
        feasible_start=(0.5 * c / n) * np.eye(n),
        infeasible_start=(3.0 * c / n) * np.eye(n),
        x=x,
        cost=objective.value(x),
        multipliers=np.array([lam]),
    )


def hyperbolic_mean_in_ball(
    n: int = 2, count: int = 6, radius: float = 1.0, lam: float = 3.0, seed: int = 0
) -> BenchmarkProblem:
    """Average points inside a geodesic ball: min ½ Σ d²(x, yᵢ) s.t. ½(d²(x, p) − r²) ≤ 0 on Hyperbolic(n).

    Center p and optimum x, at distance r, are drawn first. The points yᵢ = exp_x(vᵢ − (λ/N) log_x p) with
    Σ vᵢ = 0 make x the optimum with multiplier λ. Their unconstrained mean lies outside the ball.
    """
    rng = np.random.default_rng(seed)
    manifold = Hyperbolic(n)
    p = manifold.random_point(rng)
    x = manifold.exp(p, radius * manifold.random_tangent(p, rng))
    v = np.stack([manifold.random_tangent(x, rng) for _ in range(count)])
    shift = -(lam / count) * manifold.log(x, p) - v.mean(axis=0)
    y = np.stack([manifold.exp(x, each + shift) for each in v])
    objective = hyperbolic_distances_cost(y)
    ball = hyperbolic_distances_cost(p[None])
    return BenchmarkProblem(
        "hyperbolic mean",
        manifold,
        objective,
        inequalities=(
            Constraint(
                lambda x: np.array([ball.value(x) - 0.5 * radius**2]),
                lambda x, w: w[0] * ball.gradient(x),
                directional=lambda x, u: np.array([ball.gradient(x) @ u]),
                hessian_product=lambda x, w, u: w[0] * ball.hessian_product(x, u),
            ),
        ),
        feasible_start=p,
        infeasible_start=manifold.exp(p, 3.0 * radius * manifold.random_tangent(p, rng)),
        x=x,
        cost=objective.value(x),
        multipliers=np.array([lam]),
    )


def spd_distances_cost(Y: Array) -> Cost:
    """Return ½ Σ d²(x, Yᵢ) on SPD, with derivatives that are finite at repeated eigenvalues too.

    Let x = LLᵀ, and let exp θ and Q be the eigenvalues and eigenvectors of L⁻¹YᵢL⁻ᵀ. In the frame of L the
    value is ½‖θ‖², the gradient −QθQᵀ, and the Hessian S → Q(W∘QᵀSQ)Qᵀ with W_ab = z coth z at
    z = (θ_a − θ_b)/2. Undoing f(L(I + S + S²/2)Lᵀ) gives the Euclidean derivatives.
    """

    def spectra(x: Array) -> tuple[Array, Array, Array, Array]:
        inverse = solve_triangular(np.linalg.cholesky(x), np.eye(len(x)), lower=True)
        spectrum, Q = np.linalg.eigh(inverse @ Y @ inverse.T)
        theta = np.log(spectrum)
        gradient = -((Q * theta[:, None, :]) @ Q.swapaxes(1, 2)).sum(axis=0)
        return inverse, theta, Q, gradient

    at = LastPoint(spectra)
    curvature = LastPoint(lambda x: x_coth_x(0.5 * (at(x)[1][:, :, None] - at(x)[1][:, None, :])))

    def value(x: Array) -> float:
        theta = at(x)[1]
        return 0.5 * float(np.vdot(theta, theta))

    def gradient(x: Array) -> Array:
        inverse, _, _, g = at(x)
        return np.asarray(inverse.T @ g @ inverse)

    def hessian_product(x: Array, u: Array) -> Array:
        inverse, _, Q, g = at(x)
        S = inverse @ u @ inverse.T
        rotated = Q.swapaxes(1, 2)
        total = (Q @ (curvature(x) * (rotated @ S @ Q)) @ rotated).sum(axis=0)
        return np.asarray(inverse.T @ (total - symmetrized(g @ S)) @ inverse)

    return Cost(value, gradient, hessian_product)


def hyperbolic_distances_cost(y: Array) -> Cost:
    """Return ½ Σ d²(x, yᵢ) = Σ φ(−⟨x, yᵢ⟩), with the Minkowski product and φ = ½ arccosh²."""
    dual = y * np.concatenate([[1.0], -np.ones(y.shape[1] - 1)])
    phi = LastPoint(lambda x: _half_squared_arccosh(dual @ x))

    def value(x: Array) -> float:
        return float(phi(x)[0].sum())

    def gradient(x: Array) -> Array:
        return np.asarray(phi(x)[1] @ dual)

    def hessian_product(x: Array, u: Array) -> Array:
        return np.asarray((phi(x)[2] * (dual @ u)) @ dual)

    return Cost(value, gradient, hessian_product)


# ½ arccosh²(1 + t) = Σ_k (−1)^(k−1) (2t)^k / (k² C(2k, k)); twelve terms reach 1e-16 for |t| ≤ 0.1.
_SERIES = np.array([-((-2.0) ** k) / (k**2 * comb(2 * k, k)) if k else 0.0 for k in range(12, -1, -1)])
_SERIES_SLOPE = np.polyder(_SERIES)
_SERIES_CURVATURE = np.polyder(_SERIES, 2)


def _half_squared_arccosh(p: Array) -> tuple[Array, Array, Array]:
    """Return φ = ½ arccosh²(p) and its first two derivatives, by series near p = 1."""
    near = p < 1.1
    far = np.where(near, 2.0, p)  # 2 is a placeholder for which the formulas are finite
    angle, square = np.arccosh(far), far**2 - 1.0
    slope = angle / np.sqrt(square)
    value, curvature = 0.5 * angle**2, (1.0 - far * slope) / square
    if near.any():
        t = p[near] - 1.0
        value[near] = np.polyval(_SERIES, t)
        slope[near] = np.polyval(_SERIES_SLOPE, t)
        curvature[near] = np.polyval(_SERIES_CURVATURE, t)
    return value, slope, curvature
