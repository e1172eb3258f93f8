"""Probabilities of classes from scores, calibrated by leave-one-out."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from geodual.arrays import Array, Indices

_SHARPEST, _FLATTEST = 8.0, -5.0  # range of the logarithm of the factor of scores


def sharpness(scores: Array, labels: Indices, weight: Array, copy: float) -> float:
    """Return the factor β that maximizes the likelihood of softmax(β · scores), given leave-one-out scores.

    Classes are smoothed as if each had one more sample in every class (Platt 1999, for two classes), so that
    β stays finite if all samples are correct. The loss is convex in β.

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes)
        Leave-one-out scores.
    labels : array of shape (n_samples,)
        Classes 0, 1, ….
    weight : array of shape (n_samples,)
        Weight of each sample.
    copy : float
        Weight of one copy.
    """
    n_classes = scores.shape[1]
    n_own = np.bincount(labels, weight / copy, n_classes)[labels]
    wanted = np.repeat((1.0 / (n_own + n_classes))[:, None], n_classes, axis=1)
    wanted[np.arange(len(labels)), labels] *= n_own + 1.0

    def loss(log_factor: float) -> float:
        fit = log_softmax(np.exp(log_factor) * scores, axis=1)
        return -float(weight @ np.einsum("ic,ic->i", wanted, fit))

    found = minimize_scalar(loss, bounds=(_FLATTEST, _SHARPEST), method="bounded")
    return float(np.exp(found.x))


def probabilities(scores: Array, factor: float) -> Array:
    """Return softmax(β · scores)."""
    return np.asarray(softmax(factor * scores, axis=1))
