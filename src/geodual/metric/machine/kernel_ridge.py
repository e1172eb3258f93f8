"""Kernel ridge with a Laplace kernel: bandwidth and ridge are chosen by exact leave-one-out.

Samples may be weighted. With K = exp(−D/h), weights w and the targets Y less their means, the machine
minimises Σ w (Y − f)² + r ‖f‖² over functions of the kernel. Its coefficients α solve
(K + r diag(1/w)) α = Y, so the residual of a sample is r α/w. If the share s of a sample is left out, its
residual is divided by 1 − s H, where H is the derivative of the fit with respect to the target there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotri

from geodual.arrays import Array

from .scoring import RidgeTargets

BANDWIDTHS = (0.5, 1.0, 2.0, 4.0)  # relative to the median distance
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # relative to a hundredth of the total weight


class MachineCertificates(NamedTuple):
    """What is proved about a machine in a learnt metric.

    Attributes
    ----------
    metric_gap : float or None
        Relative duality gap of the metric; None without a metric.
    ridge_residual : float or None
        Relative residual of the linear system of the kernel machine: its solution is exact but for rounding.
        None for nearest neighbours, which solve nothing.
    """

    metric_gap: float | None
    ridge_residual: float | None


class Ridge(NamedTuple):
    """A kernel machine.

    Attributes
    ----------
    criterion : float
        How good it is by leave-one-out; the larger, the better.
    bandwidth, ridge : float
        h and r.
    coefficients : array of shape (n_samples, n_outputs)
        α.
    scores : array of shape (n_samples, n_outputs)
        Predictions by leave-one-out: of classes, their scores.
    """

    criterion: float
    bandwidth: float
    ridge: float
    coefficients: Array
    scores: Array


def bandwidths(D: Array) -> list[float]:
    """Return multiples of the median distance of distinct samples; of 1 if all distances are zero."""
    distances = D[np.triu_indices(len(D), 1)]
    unit = float(np.median(distances)) or float(distances.max(initial=0.0)) or 1.0
    return [factor * unit for factor in BANDWIDTHS]


def ridges(targets: RidgeTargets) -> list[float]:
    """Return the ridges to try."""
    return [factor * float(targets.weight.sum()) / 100.0 for factor in RIDGES]


def best_ridge(D: Array, targets: RidgeTargets) -> Ridge:
    """Return the best machine for distances D of all samples, with one eigendecomposition per bandwidth."""
    root, wanted = np.sqrt(targets.weight), targets.values - targets.means
    best: Ridge | None = None
    for h in bandwidths(D):
        K = np.exp(D * (-1.0 / h)) * root[:, None] * root
        spectrum, U = eigh(K, driver="evd", overwrite_a=True, check_finite=False)
        projected, squares = U.T @ (root[:, None] * wanted), U**2
        for r in ridges(targets):
            inverse = 1.0 / (np.maximum(spectrum, 0.0) + r)
            coefficients = root[:, None] * (U @ (inverse[:, None] * projected))
            scores = left_out_scores(coefficients, squares @ inverse, r, targets)
            criterion = targets.criterion(scores)
            if best is None or criterion > best.criterion:
                best = Ridge(criterion, h, r, coefficients, scores)
    assert best is not None  # there are several bandwidths and ridges
    return best


def left_out_scores(coefficients: Array, diagonal: Array, r: float, targets: RidgeTargets) -> Array:
    """Return the scores of each sample when it, or one of its copies, is left out.

    Parameters
    ----------
    coefficients : array of shape (n_samples, n_outputs)
        α.
    diagonal : array of shape (n_samples,)
        Diagonal of the inverse of √w K √w + r I.
    r : float
        The ridge.
    targets : RidgeTargets
        What is fitted, and weights.
    """
    kept = 1.0 - targets.left_out * (1.0 - r * diagonal)
    return np.asarray(targets.values - (r / targets.weight / kept)[:, None] * coefficients)


def scores_at(D: Array, h: float, r: float, targets: RidgeTargets) -> Array:
    """Return scores by leave-one-out for one bandwidth and ridge: a fifth of an eigendecomposition."""
    root, wanted = np.sqrt(targets.weight), targets.values - targets.means
    K = np.asfortranarray(np.exp(D * (-1.0 / h)) * root[:, None] * root)
    K.flat[:: len(K) + 1] += r
    factor, _ = dpotrf(K, lower=1, overwrite_a=1)
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    inverse = np.tril(lower) + np.tril(lower, -1).T
    coefficients = root[:, None] * (inverse @ (root[:, None] * wanted))
    return left_out_scores(coefficients, np.diagonal(inverse), r, targets)


def system_residual(D: Array, found: Ridge, targets: RidgeTargets) -> float:
    """Return ‖(K + r diag(1/w)) α − Y‖/‖Y‖: how exactly the machine solves its system."""
    wanted = targets.values - targets.means
    fit = np.exp(D * (-1.0 / found.bandwidth)) @ found.coefficients
    error = fit + (found.ridge / targets.weight)[:, None] * found.coefficients - wanted
    return float(np.linalg.norm(error) / np.linalg.norm(wanted))
