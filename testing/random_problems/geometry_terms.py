"""Terms of a manifold: intrinsic distances, and barriers at the edge of open manifolds.

The formulas are written out in plain numpy, independently of the geometry under test.
"""

from __future__ import annotations

import numpy as np

from geodual.manifolds import SPD, Euclidean, FixedRank, Hyperbolic, Manifold, PositiveOrthant, Simplex

from ..problems.case import Array
from .terms import Term, squared_distance

OPEN = (Euclidean, SPD, PositiveOrthant, Simplex, Hyperbolic, FixedRank)
"""Manifolds that are not compact: a cost may decrease without bound on them, or toward an edge."""


def half_squared_distance(manifold: Manifold, center: Array) -> Term:
    """Return ½ d²(x, center) on a Hadamard manifold, and ½‖z − center‖² on others."""
    if isinstance(manifold, SPD):
        return _spd_distance(manifold.n, center)
    if isinstance(manifold, PositiveOrthant):
        return Term(
            lambda z: 0.5 * float(np.sum(np.log(z / center) ** 2)),
            lambda z: np.log(z / center) / z,
            lambda z, v: v * (1.0 - np.log(z / center)) / z**2,
        )
    if isinstance(manifold, Simplex):
        return Term(
            lambda z: 0.5 * float(np.sum(_log_ratio(z, center) ** 2)),
            lambda z: _log_ratio(z, center) / z,
            lambda z, v: (v / z - np.mean(v / z)) / z - _log_ratio(z, center) * v / z**2,
        )
    if isinstance(manifold, Hyperbolic):
        return _hyperbolic_distance(center)
    return squared_distance(center)


def barrier(manifold: Manifold) -> Term | None:
    """Return a function that grows to infinity at the edge of a manifold; None if it has no edge."""
    if isinstance(manifold, SPD):
        return _minus_log_determinant(manifold.n)
    if isinstance(manifold, (PositiveOrthant, Simplex)):
        return Term(lambda z: -float(np.log(z).sum()), lambda z: -1.0 / z, lambda z, v: v / z**2)
    if isinstance(manifold, FixedRank):
        return _minus_log_singular_values(manifold)
    return None


def _log_ratio(z: Array, center: Array) -> Array:
    ratio = np.log(z / center)
    return np.asarray(ratio - ratio.mean())


def _spd_distance(n: int, center: Array) -> Term:
    # With Y = L⁻¹XL⁻ᵀ = Q diag(s) Qᵀ and center = LLᵀ, the distance is ‖log s‖.
    inverse = np.linalg.inv(np.linalg.cholesky(center.reshape(n, n)))

    def spectrum(z: Array) -> tuple[Array, Array]:
        s, basis = np.linalg.eigh(inverse @ z.reshape(n, n) @ inverse.T)
        return s, inverse.T @ basis

    def gradient(z: Array) -> Array:
        s, basis = spectrum(z)
        return ((basis * (np.log(s) / s)) @ basis.T).ravel()

    return Term(lambda z: 0.5 * float(np.sum(np.log(spectrum(z)[0]) ** 2)), gradient)


def _hyperbolic_distance(center: Array) -> Term:
    signs = np.ones_like(center)
    signs[0] = -1.0

    def distance(z: Array) -> float:
        # cosh d − 1 is half the Minkowski square of the difference, which loses no digits at near points.
        half = 0.5 * float(signs @ (z - center) ** 2)
        return 2.0 * float(np.arcsinh(np.sqrt(max(0.5 * half, 0.0))))

    def gradient(z: Array) -> Array:
        d = distance(z)
        ratio = d / np.sinh(d) if d > 1e-6 else 1.0 - d**2 / 6.0
        return -ratio * signs * center

    return Term(lambda z: 0.5 * distance(z) ** 2, gradient)


def _minus_log_determinant(n: int) -> Term:
    def inverse(z: Array) -> Array:
        return np.linalg.inv(z.reshape(n, n))

    return Term(
        lambda z: -float(np.linalg.slogdet(z.reshape(n, n))[1]),
        lambda z: -inverse(z).ravel(),
        lambda z, v: (inverse(z) @ v.reshape(n, n) @ inverse(z)).ravel(),
    )


def _minus_log_singular_values(manifold: FixedRank) -> Term:
    """Return −Σ log σᵢ of the r singular values, which keeps the rank from decreasing."""
    shape, r = (manifold.m, manifold.n), manifold.r

    def gradient(z: Array) -> Array:
        u, s, vt = np.linalg.svd(z.reshape(shape), full_matrices=False)
        return np.asarray(-((u[:, :r] / s[:r]) @ vt[:r]).ravel())

    def value(z: Array) -> float:
        return -float(np.log(np.linalg.svd(z.reshape(shape), compute_uv=False)[:r]).sum())

    return Term(value, gradient)
