"""Kernel ridge for numbers in a learnt metric: the best of several metrics, and its intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from geodual.arrays import Array

from .intervals import jackknife_plus
from .kernel_ridge import (
    MachineCertificates,
    Ridge,
    bandwidths,
    best_ridge,
    scores_at,
    system_residual,
)
from .mapped_distance import MappedDistance
from .scoring import NumberTargets
from .views import VIEWS, View

_MIDDLE = 1e-2  # ridge for which view and metric are chosen, relative to a hundredth of the total weight
_ENTRIES = 4_000_000  # of a block of the kernel matrix of new samples: 32 MB

# From a view and the samples in it to a distance, the weights of the features, and the duality gap.
MakeMetric = Callable[[View, Array], tuple[MappedDistance, Array, float]]


class KernelRegression(NamedTuple):
    """A fitted machine.

    Attributes
    ----------
    view : str
        Name of the view.
    distance : MappedDistance
        The view and the metric.
    weights : array of shape (n_features,)
        Weights of the features in the metric.
    samples : array of shape (n_samples, n_components)
        The samples after view and metric.
    targets : NumberTargets
        Their targets and weights.
    machine : Ridge
        Bandwidth, ridge, coefficients, and predictions by leave-one-out.
    certificates : MachineCertificates
        What is proved.
    """

    view: str
    distance: MappedDistance
    weights: Array
    samples: Array
    targets: NumberTargets
    machine: Ridge
    certificates: MachineCertificates

    def _kernel(self, A: Array) -> Array:
        return np.asarray(np.exp(self.distance.between(A, self.samples) * (-1.0 / self.machine.bandwidth)))

    def predict(self, X: Array) -> Array:
        """Predict the targets of samples."""
        A, step = self.distance.apply(X), max(_ENTRIES // len(self.samples), 1)
        parts = [A[start : start + step] for start in range(0, len(A), step)]
        fits = [self._kernel(part) @ self.machine.coefficients[:, 0] for part in parts]
        return np.asarray(np.concatenate(fits) + self.targets.means[0])

    def intervals(self, X: Array, coverage: float) -> tuple[Array, Array]:
        """Return lower and upper ends of prediction intervals by the jackknife+."""
        mean, weight = self.targets.means[0], self.targets.weight
        new, penalty = self._kernel(self.distance.apply(X)), self.machine.ridge / weight
        lower, upper = jackknife_plus(
            self._kernel(self.samples), new, self.targets.y - mean, penalty, weight, coverage
        )
        return lower + mean, upper + mean


def best_regression(X: Array, targets: NumberTargets, metrics: Iterable[MakeMetric]) -> KernelRegression:
    """Return the best machine in all views and metrics by leave-one-out.

    View and metric are chosen for all bandwidths and one ridge, and then bandwidth and ridge for these.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Distinct samples.
    targets : NumberTargets
        Their targets and weights.
    metrics : iterable of callable
        The metrics to learn in each view.
    """
    candidates = []
    for name, kind in VIEWS.items():
        view = kind().fit(X, targets.weight)
        for make in metrics:
            distance, weights, gap = make(view, view.transform(X))
            A = distance.apply(X)
            candidates.append((_promise(distance.between(A, A), targets), name, distance, weights, gap, A))
    _, name, distance, weights, gap, A = max(candidates, key=lambda candidate: candidate[0])
    D = distance.between(A, A)
    machine = best_ridge(D, targets)
    certificates = MachineCertificates(gap, system_residual(D, machine, targets))
    return KernelRegression(name, distance, weights, A, targets, machine, certificates)


def _promise(D: Array, targets: NumberTargets) -> float:
    """Return how good the best of all bandwidths is at a middle ridge, without eigendecompositions."""
    r = _MIDDLE * float(targets.weight.sum()) / 100.0
    return max(targets.criterion(scores_at(D, h, r, targets)) for h in bandwidths(D))
