"""The samples of a fit: those that form pairs, their order and weights, and links between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array, Indices

from ..base.checks import UNKNOWN, check_row_numbers
from ..base.scatter import distinct_rows


class LabeledRows(NamedTuple):
    """Samples that form pairs, sorted by class.

    Attributes
    ----------
    rows : array of shape (n_labeled,)
        Their row numbers among all samples.
    labels : array of shape (n_labeled,)
        Their classes 0, 1, … in increasing order.
    weight : array of shape (n_labeled,), or None
        Weight of each sample; None means 1.
    links : Links, optional
        Pairs of row numbers that count in addition to those of the labels.
    """

    rows: Indices
    labels: Indices
    weight: Array | None
    links: Links | None = None

    def with_links(self, X: Array) -> Array:
        """Select these from all samples X, followed by the two samples of each link."""
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
        Classes 0, 1, …, and −1 for unlabeled samples. These form no pairs, but count where no labels are
        needed: for the covariance and the percentiles.
    weight : array of shape (n_samples,), or None
        Weight of each sample; None means 1.
    given : tuple of two arrays, or None
        Pairs of row numbers and their weights, if the user gave pairs.
    links : Links, optional
        Pairs that count in addition to those of the labels.
    """

    X: Array
    labels: Indices
    weight: Array | None
    given: tuple[Indices, Array] | None
    links: Links | None = None

    @classmethod
    def of_positive_weight(
        cls,
        X: Array,
        labels: Indices,
        weight: Array | None,
        given: tuple[Indices, Array] | None = None,
        links: Links | None = None,
    ) -> Samples:
        """Drop the samples of weight zero; raise an error unless two classes are left."""
        if weight is not None:
            X, labels, weight = X[weight > 0.0], labels[weight > 0.0], weight[weight > 0.0]
            if len(np.unique(labels[labels != UNKNOWN])) < 2:
                raise ValueError("`sample_weight` must be positive for samples of at least two classes.")
        return cls(X, labels, weight, given, links)

    def by_class(self) -> LabeledRows:
        """Return the labeled samples, sorted by class."""
        return self._sorted(np.flatnonzero(self.labels != UNKNOWN), self.weight)

    def distinct_by_class(self) -> LabeledRows:
        """Return the distinct labeled samples, sorted by class, with copies merged to their total weight.

        So copies are not each other's neighbors, and whole weights are equivalent to repeated rows.
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

    def distinct_in_order(self) -> LabeledRows:
        """Return the distinct labeled samples by class, in an order independent of the order of rows.

        So repeated rows, weights and permuted samples lead to the same steps of a solver.
        """
        used = self.distinct_by_class()
        order = np.lexsort((distinct_rows(self.X[used.rows])[1], used.labels))
        weight = None if used.weight is None else used.weight[order]
        return LabeledRows(used.rows[order], used.labels[order], weight, used.links)

    def _sorted(self, rows: Indices, weight: Array | None) -> LabeledRows:
        rows = rows[np.argsort(self.labels[rows], kind="stable")]
        return LabeledRows(rows, self.labels[rows], None if weight is None else weight[rows], self.links)


@dataclass(frozen=True, eq=False)
class Links:
    """Pairs of samples that must be close (must-links) or far apart (cannot-links).

    Attributes
    ----------
    indices : array of shape (n_links, 2)
        Row numbers.
    similar : array of bool of shape (n_links,)
        Which links are must-links.
    weight : array of shape (n_links,)
        Weight of each link.
    """

    indices: Indices
    similar: NDArray[np.bool_]
    weight: Array


def check_links(must_link: Any, cannot_link: Any, n_samples: int, weight: Array | None) -> Links | None:
    """Return links between samples of positive weight, as rows among these; None if there are none.

    Parameters
    ----------
    must_link, cannot_link : array of shape (n_links, 2), or None
        Pairs of row numbers.
    n_samples : int
        Number of samples.
    weight : array of shape (n_samples,), or None
        Weight of each sample; the weight of a link is the product of its samples' weights.
    """
    must = _link_array("must_link", must_link, n_samples)
    cannot = _link_array("cannot_link", cannot_link, n_samples)
    indices, similar = np.vstack([must, cannot]), np.arange(len(must) + len(cannot)) < len(must)
    both = {tuple(sorted(pair)) for pair in must.tolist()} & {tuple(sorted(pair)) for pair in cannot.tolist()}
    if both:
        i, j = min(both)
        raise ValueError(f"Samples {i} and {j} are both in `must_link` and in `cannot_link`; remove one.")
    if weight is None:
        return Links(indices, similar, np.ones(len(indices))) if len(indices) else None
    counts = weight[indices].prod(axis=1)
    # Samples of weight zero are dropped later; these are the resulting row numbers of the others.
    indices, kept = (np.cumsum(weight > 0.0) - 1)[indices], counts > 0.0
    return Links(indices[kept], similar[kept], counts[kept]) if kept.any() else None


def _link_array(name: str, links: Any, n_samples: int) -> Indices:
    array = np.empty((0, 2), dtype=np.intp) if links is None else np.asarray(links)
    if not array.size:
        return np.empty((0, 2), dtype=np.intp)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"`{name}` must have shape (n_links, 2), got {array.shape}.")
    array = check_row_numbers(f"`{name}`", array, n_samples)
    own = np.flatnonzero(array[:, 0] == array[:, 1])
    if own.size:
        raise ValueError(f"`{name}` joins sample {array[own[0], 0]} with itself; remove link {own[0]}.")
    return array
