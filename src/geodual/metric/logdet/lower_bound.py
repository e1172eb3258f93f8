"""The dual of the program: a lower bound on its optimum from the slopes of the loss."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from geodual.arrays import Array

_SHRINKAGES = 1.0 - np.geomspace(1.0, 1e-3, 24)[1:]  # of multipliers, nearly up to the largest allowed


def lower_bound(prior: Array, slope_sum: Array, conjugate: float, weight: float, log_ratio: float) -> float:
    """Return the dual at λ = t φ′, or at a smaller λ if P(λ) is not positive definite.

    In the coordinates at W = LLᵀ its matrix is LᵀP(λ)L = Lᵀ W₀⁻¹ L + 2 t Σ φ′ z zᵀ, so the dual costs
    one Cholesky factorisation.

    Parameters
    ----------
    prior : array of shape (n_features, n_features)
        Lᵀ W₀⁻¹ L.
    slope_sum : array of shape (n_features, n_features)
        Σ φ′ z zᵀ over the differences z of the pairs, in the same coordinates.
    conjugate : float
        Σ φ*(φ′).
    weight : float
        t ≤ 1, the weight of the loss.
    log_ratio : float
        log det W − log det W₀.
    """
    try:
        factor = np.linalg.cholesky(prior + 2.0 * weight * slope_sum)
    except np.linalg.LinAlgError:
        return _shrunk_bound(prior, slope_sum, conjugate, weight, log_ratio)
    log_det = 2.0 * float(np.log(np.diagonal(factor)).sum())
    return 0.5 * (log_det - log_ratio) - weight * conjugate


def _shrunk_bound(prior: Array, slope_sum: Array, conjugate: float, weight: float, log_ratio: float) -> float:
    """Return the best bound at λ = s φ′ over some 0 < s < t for which P(λ) is positive definite.

    No pass over the pairs is needed: φ* is convex, and φ*(0) ≤ 0 because φ ≥ 0, so φ*(s a) ≤ s φ*(a).
    """
    try:
        spectrum = eigh(2.0 * slope_sum, prior, eigvals_only=True, check_finite=False)
    except np.linalg.LinAlgError:
        return -np.inf  # rounding errors or overflow: nothing is proved
    log_det_prior = float(np.linalg.slogdet(prior)[1])
    # 1 + s σ > 0 for the smallest generalised eigenvalue σ, with a margin for rounding errors. These may
    # also make σ ≥ 0, and then every s will do.
    limit = min(weight, (1.0 - 1e-9) / -float(spectrum[0])) if spectrum[0] < 0.0 else weight
    s = limit * _SHRINKAGES
    log_det = log_det_prior + np.log1p(s[:, None] * spectrum).sum(axis=1)
    return float((0.5 * (log_det - log_ratio) - s * conjugate).max())
