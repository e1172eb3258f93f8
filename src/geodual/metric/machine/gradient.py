"""Weights of features from the gradient of a fitted kernel machine."""

from __future__ import annotations

import numpy as np

from geodual.arrays import Array

from .geometry import Geometry, MappedSamples
from .kernel_ridge import KERNELS, RIDGES, median_distance, solve
from .targets import Targets

_BANDWIDTH = 2.0  # relative to the median distance
_RIDGE = RIDGES[2]  # relative to a hundredth of the total weight
_ENOUGH = 500  # largest number of samples in the fit of the machine; more are subsampled
_LEAST = 1e-6  # weight of a feature, relative to the mean, so that no two samples coincide


def gradient_weights(start: Geometry, A: Array, targets: Targets) -> Geometry:
    """Return the city-block geometry whose weights are the root mean squares of a machine's derivatives.

    The machine is kernel ridge with the Laplace kernel in the geometry `start`: one round of a recursive
    feature machine. Directions without effect on predictions get no weight, as in the average gradient outer
    product.

    Parameters
    ----------
    start : Geometry
        A city-block geometry.
    A : array of shape (n_samples, n_features)
        Samples in its view, before its map.
    targets : Targets
        The targets of the samples.

    References
    ----------
    A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin, "Mechanism for feature learning in neural networks
    and backpropagation-free machine learning models", Science 383, 2024.
    """
    if len(A) > _ENOUGH:
        drawn = np.sort(np.random.default_rng(0).permutation(len(A))[:_ENOUGH])
        A, targets = A[drawn], targets.part(drawn)
    samples = MappedSamples(A * start.map, "l1")
    D = samples.distances()
    h = _BANDWIDTH * median_distance(D)
    K = KERNELS["laplace"](D / h)
    coefficients, _ = solve(K, _RIDGE * float(targets.weight.sum()) / 100.0, targets)
    slopes = np.zeros(len(start.map))
    for f, x in enumerate(A.T):
        derivative = (np.sign(x[:, None] - x) * K) @ coefficients * (start.map[f] / h)
        slopes[f] = np.sqrt(targets.weight @ (derivative**2).sum(axis=1))
    weights = slopes / mean + _LEAST if (mean := float(slopes.mean())) > 0.0 else np.ones(len(slopes))
    return Geometry("gradient", start.view, weights, "l1", weights, None)
