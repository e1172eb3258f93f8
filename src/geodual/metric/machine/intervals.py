"""Prediction intervals of kernel ridge by leave-one-out: the jackknife+."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from geodual.arrays import Array

_BLOCK = 4_000_000  # entries of arrays of one row per new sample and one column per sample: 32 MB


def jackknife_plus(
    K: Array, new: Array, wanted: Array, penalty: Array, weight: Array, coverage: float
) -> tuple[Array, Array]:
    """Return lower and upper ends of intervals, from predictions without each sample and its residual there.

    Without sample i the coefficients are α − G_i α_i/G_ii for G = (K + diag(penalty))⁻¹, so no machine is
    fitted again.

    Parameters
    ----------
    K : array of shape (n_samples, n_samples)
        Kernel of the samples.
    new : array of shape (n_new, n_samples)
        Kernel of new samples.
    wanted : array of shape (n_samples,)
        Targets less their mean.
    penalty : array of shape (n_samples,)
        What is added to the diagonal of K.
    weight : array of shape (n_samples,)
        How often each sample counts.
    coverage : float
        Share of new targets that should lie in their intervals.
    """
    factor = cho_factor(K + np.diag(penalty), check_finite=False)
    diagonal = np.diagonal(cho_solve(factor, np.eye(len(K)), check_finite=False))
    alpha = cho_solve(factor, wanted, check_finite=False)
    residual = np.abs(alpha / diagonal)
    ends = []
    step = max(_BLOCK // len(K), 1)
    for start in range(0, len(new), step):
        k = new[start : start + step]
        without = (k @ alpha)[:, None] - cho_solve(factor, k.T, check_finite=False).T * (alpha / diagonal)
        lower = -_order_statistic(residual - without, weight, coverage)
        ends.append(np.stack([lower, _order_statistic(without + residual, weight, coverage)]))
    both = np.hstack(ends)
    return both[0], both[1]


def _order_statistic(values: Array, weight: Array, share: float) -> Array:
    """Return the ⌈share · (n + 1)⌉-th smallest value of each row of n; infinity if there are too few.

    Samples of weight w count as w values.
    """
    order = np.argsort(values, axis=1)
    reached = np.cumsum(weight[order], axis=1)
    needed = np.ceil(share * (weight.sum() + 1.0) - 1e-9)  # but for rounding
    place = (reached < needed - 1e-9).sum(axis=1)
    last = np.take_along_axis(values, order[:, -1:], axis=1)
    padded = np.hstack([np.take_along_axis(values, order, axis=1), np.full_like(last, np.inf)])
    return np.asarray(padded[np.arange(len(values)), place])
