"""The samples of a fit: which of them make pairs, in which order, and how often each counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from geodual.arrays import Array, Indices

from ..labels import UNKNOWN
from ..pairs.links import Links
from ..scatter import distinct_rows


class LabelledRows(NamedTuple):
    """Samples that make pairs, sorted by class.

    Attributes
    ----------
    rows : array of shape (n_labelled,)
        Their row numbers among all samples.
    labels : array of shape (n_labelled,)
        Their classes 0, 1, … in increasing order.
    weight : array of shape (n_labelled,), or None
        How often each counts; None means once.
    links : Links, optional
        Pairs of row numbers that count beside those of the labels.
    """

    rows: Indices
    labels: Indices
    weight: Array | None
    links: Links | None = None

    def with_links(self, X: Array) -> Array:
        """Return these of all samples X, followed by the two samples of each link."""
        rows = self.rows if self.links is None else np.concatenate([self.rows, self.links.indices.ravel()])
        return np.asarray(X[rows])


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of positive weight with their classes, their weights, and given pairs.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        The samples.
    labels : array of shape (n_samples,)
        Classes 0, 1, …, and −1 for samples without label. These make no pairs, but count for everything that
        needs no labels: the covariance and the percentiles.
    weight : array of shape (n_samples,), or None
        How often each sample counts; None means once.
    given : tuple of two arrays, or None
        Pairs of row numbers and their weights, if the user gave pairs.
    links : Links, optional
        Pairs that count beside those of the labels.
    """

    X: Array
    labels: Indices
    weight: Array | None
    given: tuple[Indices, Array] | None
    links: Links | None = None

    def by_class(self) -> LabelledRows:
        """Return the labelled samples, sorted by class."""
        return self._sorted(np.flatnonzero(self.labels != UNKNOWN), self.weight)

    def distinct_by_class(self) -> LabelledRows:
        """Return the distinct labelled samples, sorted by class; copies are one sample of their total weight.

        So copies are not each other's neighbours, and whole weights are the same as repeated rows.
        """
        known = np.flatnonzero(self.labels != UNKNOWN)
        _, place = distinct_rows(self.X[known])
        key = place * (int(self.labels.max()) + 1) + self.labels[known]
        _, first, group = np.unique(key, return_index=True, return_inverse=True)
        if len(first) == len(known):
            return self.by_class()
        weight = np.zeros(len(self.labels))
        weight[known[first]] = np.bincount(group, None if self.weight is None else self.weight[known])
        return self._sorted(np.sort(known[first]), weight)

    def _sorted(self, rows: Indices, weight: Array | None) -> LabelledRows:
        rows = rows[np.argsort(self.labels[rows], kind="stable")]
        return LabelledRows(rows, self.labels[rows], None if weight is None else weight[rows], self.links)
