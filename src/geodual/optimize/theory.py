"""The guarantees of the paper: Theorem 1 and Corollary 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geodual.arrays import Array


def theorem1_bound(
    step_sizes: Sequence[float] | Array, distance: float, n_constraints: int, constraint_bound: float
) -> Array:
    r"""Evaluate the right-hand side of eq. (5) for every number of iterations.

    .. math:: \frac{1}{\sum_{t<T} \eta_t}
              \Bigl(\tfrac12 d^2(x_*, x_0) + 2 m G^2 \sum_{t<T} \eta_t^2\Bigr)

    It bounds :math:`\min_{t<T} f(x_{t+1}) - f(x_*)` for x* feasible, f and h geodesically convex and
    αηₜ ≤ 1. It says nothing of the violation of the constraints (see `docs/errata.md`).

    Parameters
    ----------
    step_sizes : sequence of T floats
        η₀ … η_{T−1}.
    distance : float
        d(x*, x₀).
    n_constraints : int
        m.
    constraint_bound : float
        G, a bound on every |hₖ| over the iterates.

    Returns
    -------
    array of shape (T,)
        The bound after 1, …, T iterations.
    """
    eta = np.asarray(step_sizes, dtype=float)
    if eta.ndim != 1 or not (eta > 0.0).all():
        raise ValueError("`step_sizes` must be a sequence of positive numbers.")
    _check_constants(distance=distance, n_constraints=n_constraints, constraint_bound=constraint_bound)
    drift = 2.0 * n_constraints * constraint_bound**2 * np.cumsum(eta**2)
    return np.asarray((0.5 * distance**2 + drift) / np.cumsum(eta))


def corollary1_bound(
    n_iter: int | Array, diameter: float, n_constraints: int, constraint_bound: float
) -> Array:
    r"""Evaluate the bound of Corollary 1 (Appendix B) for ηₜ = 1/√(t+1).

    .. math:: \frac{\tfrac12 R^2 + 2 m G^2 (1 + \log T)}{2 (\sqrt T - 1)}

    Parameters
    ----------
    n_iter : int or array of int
        T ≥ 2; at T = 1 the printed bound is infinite.
    diameter : float
        R, a bound on d(x*, x₀).
    n_constraints : int
        m.
    constraint_bound : float
        G, a bound on every |hₖ| over the iterates.

    Returns
    -------
    array of the shape of `n_iter`
    """
    T = np.asarray(n_iter, dtype=float)
    if not (T >= 2).all():
        raise ValueError("`n_iter` must be at least 2: at T = 1 the bound is infinite.")
    _check_constants(diameter=diameter, n_constraints=n_constraints, constraint_bound=constraint_bound)
    drift = 2.0 * n_constraints * constraint_bound**2 * (1.0 + np.log(T))
    return np.asarray((0.5 * diameter**2 + drift) / (2.0 * (np.sqrt(T) - 1.0)))


def _check_constants(**constants: float) -> None:
    for name, value in constants.items():
        if not value >= 0.0:
            raise ValueError(f"`{name}` must not be negative, got {value}.")
