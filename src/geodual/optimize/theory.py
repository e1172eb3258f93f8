"""The guarantees of the paper: Theorem 1 and Corollary 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geodual.arrays import Array


def theorem1_bound(
    step_sizes: Sequence[float] | Array, distance: float, n_constraints: int, constraint_bound: float
) -> Array:
    r"""Return the bound of Theorem 1, eq. (5), on the cost after every number of iterations of Algorithm 1.

    .. math:: \frac{1}{\sum_{t<T} \eta_t}
              \Bigl(\tfrac12 d^2(x_*, x_0) + 2 m G^2 \sum_{t<T} \eta_t^2\Bigr)

    It bounds :math:`\min_{t<T} f(x_{t+1}) - f(x_*)` for x* feasible, f and h geodesically convex, and
    αηₜ ≤ 1. It does not bound the violation of the constraints (see `docs/errata.md`).

    Parameters
    ----------
    step_sizes : sequence of T floats
        Step sizes η₀, …, η_{T−1}.
    distance : float
        Distance d(x*, x₀) from the start to the solution.
    n_constraints : int
        Number m of constraints.
    constraint_bound : float
        Bound G on the absolute value of every hₖ over the iterates.

    Returns
    -------
    array of shape (T,)
        The bound after 1, …, T iterations.

    See Also
    --------
    corollary1_bound : The bound for ηₜ = 1/√(t+1).

    References
    ----------
    S. Wang, B. Zhu, L. Ma, Y. Qi, "A Riemannian primal-dual algorithm based on proximal operator and its
    application in metric learning".

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import theorem1_bound
    >>> steps = 1.0 / np.sqrt(np.arange(1.0, 10_001.0))
    >>> bound = theorem1_bound(steps, distance=2.0, n_constraints=1, constraint_bound=0.5)
    >>> np.round(bound[[0, 99, 9999]], 3).tolist()
    [2.5, 0.247, 0.035]
    """
    eta = np.asarray(step_sizes, dtype=float)
    if eta.ndim != 1 or not (eta > 0.0).all():
        raise ValueError("`step_sizes` must be a sequence of positive numbers; give one per iteration.")
    _check_constants(distance=distance, n_constraints=n_constraints, constraint_bound=constraint_bound)
    drift = 2.0 * n_constraints * constraint_bound**2 * np.cumsum(eta**2)
    return np.asarray((0.5 * distance**2 + drift) / np.cumsum(eta))  # Eq. (5)


def corollary1_bound(
    n_iter: int | Array, diameter: float, n_constraints: int, constraint_bound: float
) -> Array:
    r"""Return the bound of Corollary 1 (Appendix B) on the cost after T iterations with ηₜ = 1/√(t+1).

    .. math:: \frac{\tfrac12 R^2 + 2 m G^2 (1 + \log T)}{2 (\sqrt T - 1)}

    Parameters
    ----------
    n_iter : int or array of int
        Number T ≥ 2 of iterations; at T = 1 the printed bound is infinite.
    diameter : float
        Bound R on d(x*, x₀).
    n_constraints : int
        Number m of constraints.
    constraint_bound : float
        Bound G on the absolute value of every hₖ over the iterates.

    Returns
    -------
    array of the shape of `n_iter`
        The bound.

    See Also
    --------
    theorem1_bound : The bound for any step sizes.

    References
    ----------
    S. Wang, B. Zhu, L. Ma, Y. Qi, "A Riemannian primal-dual algorithm based on proximal operator and its
    application in metric learning".

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import corollary1_bound
    >>> bound = corollary1_bound(np.array([100, 10_000]), diameter=2.0, n_constraints=1, constraint_bound=0.5)
    >>> np.round(bound, 3).tolist()
    [0.267, 0.036]
    """
    T = np.asarray(n_iter, dtype=float)
    if not (T >= 2).all():
        raise ValueError(
            "`n_iter` must be at least 2: at T = 1 the bound is infinite; use theorem1_bound there."
        )
    _check_constants(diameter=diameter, n_constraints=n_constraints, constraint_bound=constraint_bound)
    # Eq. (5) with Σ ηₜ ≥ 2 (√T − 1) and Σ ηₜ² ≤ 1 + log T.
    drift = 2.0 * n_constraints * constraint_bound**2 * (1.0 + np.log(T))
    return np.asarray((0.5 * diameter**2 + drift) / (2.0 * (np.sqrt(T) - 1.0)))


def _check_constants(**constants: float) -> None:
    for name, value in constants.items():
        if not value >= 0.0:
            raise ValueError(f"`{name}` must not be negative, got {value}.")
