"""Prediction intervals by leave-one-out: the jackknife+ of kernel machines, and the jackknife of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from geodual.arrays import Array

from .geometry import MappedSamples
from .kernel_ridge import Ridge
from .machine import Machine

_BLOCK = 4_000_000  # entries of arrays with one row per new sample and one column per sample: 32 MB


def intervals(machine: Machine, X: Array, coverage: float) -> tuple[Array, Array]:
    """Return the lower and upper ends of prediction intervals, of shape (n_samples, n_outputs).

    Kernel machines on all samples use the jackknife+: the predictions without each sample, and the residual
    there. Others use the jackknife: the prediction minus and plus a residual.

    Parameters
    ----------
    machine : Machine
        A fitted machine.
    X : array of shape (n_samples, n_features)
        Samples without missing values.
    coverage : float
        Desired share of new targets in their intervals.
    """
    targets = machine.scored_targets
    residuals = np.abs(targets.values - machine.scores)
    exact = machine.places is None and all(isinstance(part.predictor, Ridge) for part in machine.parts)
    without = _without_each(machine) if exact else None
    step, ends = max(_BLOCK // len(residuals), 1), []
    for start in range(0, len(X), step):
        block = X[start : start + step]
        centers = machine.predict(block)[:, None] if without is None else without(block)
        columns = []
        for center, residual in zip(np.moveaxis(centers, 2 if without else -1, 0), residuals.T, strict=True):
            lower = -_order_statistic(residual - center, targets.weight, coverage)
            columns.append([lower, _order_statistic(center + residual, targets.weight, coverage)])
        ends.append(np.array(columns))
    both = np.concatenate(ends, axis=2)  # of shape (n_outputs, 2, n_samples)
    return both[:, 0].T, both[:, 1].T


def _without_each(machine: Machine) -> Callable[[Array], Array]:
    """Return the predictions without each sample of the fit, of shape (n_new, n_samples, n_columns).

    Without sample i, the coefficients of a kernel machine are α − G_i α_i/G_ii for G = (K + diag(penalty))⁻¹,
    so no machine is fitted again.
    """
    solved = [_solved(part.predictor, among, machine.targets) for part, among in machine.compared]

    def predict(X: Array) -> Array:
        total: Any = machine.targets.means
        for (part, among), without in zip(machine.compared, solved, strict=True):
            total = total + part.share * without(among.distances(part.geometry.apply(X).A))
        return np.asarray(total)

    return predict


def _solved(predictor: Any, among: MappedSamples, targets: Any) -> Callable[[Array], Array]:
    """Return the predictions without each sample for one kernel machine, from distances, minus the means."""
    K = predictor.of(among.distances())
    factor = cho_factor(K + np.diag(predictor.ridge / targets.weight), check_finite=False)
    diagonal = np.diagonal(cho_solve(factor, np.eye(len(K)), check_finite=False))
    alpha = predictor.coefficients
    steps = alpha / diagonal[:, None]

    def predict(D: Array) -> Array:
        k = predictor.of(D)
        change = cho_solve(factor, k.T, check_finite=False).T
        return np.asarray((k @ alpha)[:, None] - change[:, :, None] * steps)

    return predict


def _order_statistic(values: Array, weight: Array, share: float) -> Array:
    """Return the ⌈share · (n + 1)⌉-th smallest value of each row of n; infinity if there are too few.

    Samples of weight w count as w values.
    """
    order = np.argsort(values, axis=1)
    reached = np.cumsum(weight[order], axis=1)
    needed = np.ceil(share * (weight.sum() + 1.0) - 1e-9)  # up to rounding
    place = (reached < needed - 1e-9).sum(axis=1)
    last = np.take_along_axis(values, order[:, -1:], axis=1)
    padded = np.hstack([np.take_along_axis(values, order, axis=1), np.full_like(last, np.inf)])
    return np.asarray(padded[np.arange(len(values)), place])
