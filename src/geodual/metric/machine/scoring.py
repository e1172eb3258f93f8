"""Scores by leave-one-out: how good they are, and how those of classes become probabilities."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from geodual.arrays import Array, Indices

_SQUARED_ERROR = 0.1  # share of the squared error in the criterion: it decides among equal accuracies
_SHARPEST, _FLATTEST = 8.0, -5.0  # logarithms of the factors between which scores are sharpened


class RidgeTargets(Protocol):
    """What a kernel machine is fitted to, and how its choices are judged."""

    @property
    def weight(self) -> Array:
        """How often each sample counts."""

    @property
    def values(self) -> Array:
        """The values to fit, of shape (n_samples, n_outputs)."""

    @property
    def means(self) -> Array:
        """Their weighted means."""

    @property
    def left_out(self) -> Array:
        """The share of each sample that leave-one-out leaves out."""

    def criterion(self, scores: Array) -> float:
        """Return how good scores by leave-one-out are: the larger, the better."""


class NumberTargets(NamedTuple):
    """Distinct samples with numeric targets and weights.

    Attributes
    ----------
    y : array of shape (n_samples,)
        Targets.
    weight : array of shape (n_samples,)
        How often each sample counts.
    """

    y: Array
    weight: Array

    @property
    def values(self) -> Array:
        """The targets as a column."""
        return self.y[:, None]

    @property
    def means(self) -> Array:
        """The mean target."""
        return np.array([np.average(self.y, weights=self.weight)])

    @property
    def left_out(self) -> Array:
        """All of each sample."""
        return np.ones(len(self.y))

    def criterion(self, scores: Array) -> float:
        """Return minus the mean squared error."""
        return -float(np.average((scores[:, 0] - self.y) ** 2, weights=self.weight))


class Targets(NamedTuple):
    """Distinct samples with their classes and weights.

    Attributes
    ----------
    labels : array of shape (n_samples,)
        Classes 0, 1, …
    weight : array of shape (n_samples,)
        How often each sample counts.
    copy : float
        Weight of one copy, which leave-one-out leaves out.
    n_classes : int
        Number of classes.
    """

    labels: Indices
    weight: Array
    copy: float
    n_classes: int

    @property
    def values(self) -> Array:
        """One column per class: 1 for its samples, 0 for others."""
        return np.asarray(np.eye(self.n_classes)[self.labels])

    @property
    def means(self) -> Array:
        """The share of each class."""
        return np.asarray(np.bincount(self.labels, self.weight, self.n_classes) / self.weight.sum())

    @property
    def left_out(self) -> Array:
        """The share of each sample that is left out: all of it, or one of several copies."""
        return np.asarray(np.minimum(1.0, self.copy / self.weight))

    def part(self, rows: Indices) -> Targets:
        """Return some of the samples."""
        return self._replace(labels=self.labels[rows], weight=self.weight[rows])

    def accuracy(self, scores: Array) -> float:
        """Return the share of samples whose class has the largest score."""
        return float(np.average(scores.argmax(axis=1) == self.labels, weights=self.weight))

    def criterion(self, scores: Array) -> float:
        """Return the accuracy less a tenth of the squared error: the larger, the better."""
        own = np.take_along_axis(scores, self.labels[:, None], axis=1)[:, 0]
        errors = np.einsum("ic,ic->i", scores, scores) - 2.0 * own + 1.0
        return self.accuracy(scores) - _SQUARED_ERROR * float(np.average(errors, weights=self.weight))


def sharpness(scores: Array, targets: Targets) -> float:
    """Return the factor β for which softmax(β · scores) is the likeliest, given scores by leave-one-out.

    The classes count as if each had one more sample in every class (Platt 1999, for two classes), so that β
    stays finite if all samples are right. The loss is convex in β.
    """
    n_own = np.bincount(targets.labels, targets.weight / targets.copy, targets.n_classes)[targets.labels]
    wanted = (targets.values * n_own[:, None] + 1.0) / (n_own + targets.n_classes)[:, None]

    def loss(log_factor: float) -> float:
        fit = log_softmax(np.exp(log_factor) * scores, axis=1)
        return -float(targets.weight @ np.einsum("ic,ic->i", wanted, fit))

    found = minimize_scalar(loss, bounds=(_FLATTEST, _SHARPEST), method="bounded")
    return float(np.exp(found.x))


def probabilities(scores: Array, factor: float) -> Array:
    """Return softmax(β · scores)."""
    return np.asarray(softmax(factor * scores, axis=1))
