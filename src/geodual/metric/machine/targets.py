"""The targets of a machine: classes or numbers, with weights, and shares that leave-one-out leaves out."""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import numpy as np

from geodual.arrays import Array, Indices

_LEAST_WEIGHT = 1e-12  # relative to the largest, because the system of a machine is divided by weights


class Targets(Protocol):
    """Targets of distinct samples as numbers: one column per class, or per number to predict."""

    @property
    def weight(self) -> Array:
        """Weight of each sample."""

    @property
    def values(self) -> Array:
        """The numbers to fit, of shape (n_samples, n_columns)."""

    @property
    def means(self) -> Array:
        """Weighted means of the values."""

    @property
    def left_out(self) -> Array:
        """The share of each sample that leave-one-out leaves out."""

    def part(self, rows: Indices | slice) -> Self:
        """Return some of the samples."""


class NumberTargets(NamedTuple):
    """Numbers, in units in which all outputs have the same weight.

    Attributes
    ----------
    y : array of shape (n_samples, n_outputs)
        Targets of distinct samples, averaged over copies.
    weight : array of shape (n_samples,)
        Weight of each sample.
    unit : array of shape (n_outputs,)
        Standard deviation of each output, or 1 if it is constant.
    """

    y: Array
    weight: Array
    unit: Array

    @classmethod
    def of(cls, y: Array, weight: Array) -> NumberTargets:
        """Return targets with their units; weights are raised to at least a trillionth of the largest."""
        weight = np.maximum(weight, _LEAST_WEIGHT * weight.max())
        share = weight / weight.sum()
        spread = np.sqrt(share @ (y - share @ y) ** 2)
        return cls(y, weight, np.where(spread > 0.0, spread, 1.0))

    @property
    def values(self) -> Array:
        """The targets in these units."""
        return np.asarray(self.y / self.unit)

    @property
    def means(self) -> Array:
        """Weighted means of the values."""
        return np.asarray(self.weight @ self.values / self.weight.sum())

    @property
    def left_out(self) -> Array:
        """One for each sample: all of it is left out."""
        return np.ones(len(self.y))

    def part(self, rows: Indices | slice) -> NumberTargets:
        """Return some of the samples."""
        return self._replace(y=self.y[rows], weight=self.weight[rows])


class ClassTargets(NamedTuple):
    """Classes, for one output or several.

    Attributes
    ----------
    labels : array of shape (n_samples, n_outputs)
        Classes 0, 1, … of distinct samples.
    weight : array of shape (n_samples,)
        Weight of each sample.
    copy : float
        Weight of one copy, the part that leave-one-out leaves out.
    n_classes : tuple of int
        Number of classes of each output.
    """

    labels: Indices
    weight: Array
    copy: float
    n_classes: tuple[int, ...]

    @property
    def columns(self) -> list[slice]:
        """The columns of each output."""
        ends = np.cumsum(self.n_classes).tolist()
        return [slice(end - size, end) for end, size in zip(ends, self.n_classes, strict=True)]

    @property
    def values(self) -> Array:
        """One column per class of each output: 1 for its samples, 0 for others."""
        return np.hstack(
            [np.eye(size)[label] for size, label in zip(self.n_classes, self.labels.T, strict=True)]
        )

    @property
    def means(self) -> Array:
        """The share of each class."""
        counts = [
            np.bincount(label, self.weight, size)
            for size, label in zip(self.n_classes, self.labels.T, strict=True)
        ]
        return np.asarray(np.concatenate(counts) / self.weight.sum())

    @property
    def left_out(self) -> Array:
        """The share of each sample that is left out: all of it, or one of several copies."""
        return np.asarray(np.minimum(1.0, self.copy / self.weight))

    def part(self, rows: Indices | slice) -> ClassTargets:
        """Return some of the samples."""
        return self._replace(labels=self.labels[rows], weight=self.weight[rows])

    def chosen(self, scores: Array) -> Indices:
        """Return the class with the largest score for each output, of shape (n_samples, n_outputs)."""
        return np.column_stack([scores[:, part].argmax(axis=1) for part in self.columns])

    def accuracy(self, scores: Array) -> float:
        """Return the share of samples whose classes have the largest scores in all outputs."""
        right = (self.chosen(scores) == self.labels).all(axis=1)
        return float(np.average(right, weights=self.weight))


def squared_error(scores: Array, targets: Targets) -> float:
    """Return the mean squared error of predictions, summed over the columns."""
    errors = ((scores - targets.values) ** 2).sum(axis=1)
    return float(np.average(errors, weights=targets.weight))
