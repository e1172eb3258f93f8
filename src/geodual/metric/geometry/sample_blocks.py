"""Samples in blocks on the workers of a cluster, sorted by class and centered.

Only labels, weights and, while samples are loaded, row numbers are on the user's machine, with 8 bytes each
per sample. Blocks are created on the workers and stay there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from geodual.arrays import Array, Indices
from geodual.cluster import NOT_FINITE, check_dask_array, gathered, is_dask, on_worker, persisted, summed

from ..base.checks import UNKNOWN, check_sample_weight, copy_weight, encoded_labels, warn_of_unknown
from ..base.scatter import between_sum, class_means, class_sums, scatter_sums, standing_for, varying

# The number of rows of a block grows with the root of the number of samples, and so does the number of
# blocks: a pass has 15 tasks for 20,000 samples and 600 for a million. It must not depend on the workers:
# sums over the same blocks in the same order have the same bits on any cluster.
_LEAST_ROWS = 2_000
_ROWS = 30.0  # times the root of the number of samples


class SampleBlock(NamedTuple):
    """A block of samples on a worker: rows, classes in increasing order, and weights (None means 1)."""

    X: Array
    labels: Indices
    weight: Array | None

    @property
    def counts(self) -> Array:
        """Weight of each sample."""
        return np.ones(len(self.X)) if self.weight is None else self.weight


class SampleBlocks:
    """All samples, in blocks on the workers.

    Parameters
    ----------
    parts : sequence
        Dask tasks whose results are the blocks, each a `SampleBlock`.
    edges : array of shape (n_blocks + 1,)
        Number of the first sample of each block, and the number of samples.
    labels : array of shape (n_samples,)
        Classes 0, 1, … in increasing order, after −1 for unlabeled samples. No block mixes labeled and
        unlabeled samples.
    weight : array of shape (n_samples,), or None
        Weight of each sample; None means 1.

    Attributes
    ----------
    parts, edges, labels, weight
        As above.
    """

    def __init__(self, parts: Sequence[Any], edges: Indices, labels: Indices, weight: Array | None) -> None:
        self.parts, self.edges, self.labels, self.weight = list(parts), edges, labels, weight

    @classmethod
    def of(cls, X: Any, labels: Indices, weight: Array | None) -> SampleBlocks:
        """Sort the samples of a dask array by class, center them, and keep them on the workers.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features)
            The samples.
        labels : array of shape (n_samples,)
            Classes 0, 1, …, and −1 for unlabeled samples.
        weight : array of shape (n_samples,), or None
            Weight of each sample. Samples of weight zero are not used.
        """
        X = X.astype(float).rechunk({1: -1})
        rows = np.flatnonzero(np.ones(len(labels)) if weight is None else weight)
        rows = rows[np.argsort(labels[rows], kind="stable")]
        labels, weight = labels[rows], None if weight is None else weight[rows]
        chunks, starts, edges = X.to_delayed().ravel(), np.cumsum([0, *X.chunks[0]]), _block_edges(labels)
        raw = persisted(_taken(chunks, starts, edges, rows, labels, weight))
        center, varies = _center(raw)
        parts = persisted([on_worker(_centered, part, center, varies) for part in raw])
        return cls(parts, edges, labels, weight)

    def taken(self, rows: Indices) -> SampleBlocks:
        """Return some of the samples, given their row numbers in increasing order."""
        labels, weight = self.labels[rows], None if self.weight is None else self.weight[rows]
        chunks, edges = [part.X for part in self.parts], _block_edges(labels)
        parts = persisted(_taken(chunks, self.edges, edges, rows, labels, weight))
        return SampleBlocks(parts, edges, labels, weight)

    def here(self) -> Array:
        """Gather the samples."""
        return np.concatenate([part.X for part in gathered(self.parts)])

    def labeled(self) -> SampleBlocks:
        """Return the labeled samples."""
        first = int(np.searchsorted(self.labels, UNKNOWN, side="right"))
        block = int(np.searchsorted(self.edges, first))
        weight = None if self.weight is None else self.weight[first:]
        return SampleBlocks(self.parts[block:], self.edges[block:] - first, self.labels[first:], weight)

    def couples(self) -> list[tuple[Any, Any]]:
        """Return all pairs of blocks, and each block with None, for the pairs of samples within it."""
        # The latter are smaller, so they come last: then all workers finish at about the same time.
        between = [(part, other) for k, part in enumerate(self.parts) for other in self.parts[k + 1 :]]
        return between + [(part, None) for part in self.parts]

    @property
    def counts(self) -> Array:
        """Weight of each sample."""
        return np.ones(len(self.labels)) if self.weight is None else self.weight

    @cached_property
    def scatter(self) -> Array:
        """Σ w (x − m)(x − m)ᵀ with the weighted mean m."""
        with np.errstate(all="ignore"):
            total, squares = summed([on_worker(_moments, part) for part in self.parts])
            return _finite(squares - np.outer(total, total) / float(self.counts.sum()))

    def standing_for_all(self) -> Array:
        """Return a few samples with the covariance of all, for the solver's machine."""
        mass = float(self.counts.sum())
        return standing_for(self.scatter / (mass - copy_weight(self.counts)))

    def pair_scatters(self) -> tuple[Array, Array]:
        """Return the sums of (x − x′)(x − x′)ᵀ within and between classes, as `scatter.pair_scatters`."""
        n_classes = int(self.labels[-1]) + 1
        totals, sums = summed([on_worker(_class_sums, part, n_classes) for part in self.parts])
        means = class_means(totals, sums)
        S, D = summed([on_worker(_scatter_sums, part, totals, means) for part in self.parts])
        return S, D + between_sum(totals, means)


def joined_samples(a: SampleBlock, b: SampleBlock | None) -> Array:
    """Return the samples of a couple of blocks, or of one."""
    return a.X if b is None else np.concatenate([a.X, b.X])


def joined_weights(a: SampleBlock, b: SampleBlock | None) -> Array | None:
    """Return the weights of the samples of a couple of blocks, or of one; None means 1."""
    if a.weight is None or b is None:
        return a.weight
    return np.concatenate([a.weight, b.counts])


def _block_edges(labels: Indices) -> Indices:
    """Cut sorted samples into blocks of nearly equal size; unlabeled samples have separate blocks."""
    n, first = len(labels), int(np.searchsorted(labels, UNKNOWN, side="right"))
    size = max(_LEAST_ROWS, _ROWS * np.sqrt(n))
    edges = [np.linspace(0, first, int(np.ceil(first / size)) + 1)[:-1]]
    edges.append(np.linspace(first, n, int(np.ceil((n - first) / size)) + 1))
    return np.concatenate(edges).astype(np.intp)


def _taken(
    chunks: Sequence[Any],
    starts: Indices,
    edges: Indices,
    rows: Indices,
    labels: Indices,
    weight: Array | None,
) -> list[Any]:
    """Return tasks that build blocks, beginning at `edges`, from rows of chunks, beginning at `starts`."""
    tasks = []
    for cut in map(slice, edges[:-1].tolist(), edges[1:].tolist()):
        chunk_of = np.searchsorted(starts, rows[cut], side="right") - 1
        order = np.argsort(chunk_of, kind="stable")
        pieces = [
            on_worker(_rows_of, chunks[k], rows[cut][chunk_of == k] - starts[k])
            for k in np.unique(chunk_of).tolist()
        ]
        counts = None if weight is None else weight[cut]
        tasks.append(on_worker(_assembled, pieces, order, labels[cut], counts))
    return tasks


def _rows_of(X: Any, rows: Indices) -> Array:
    return np.asarray(X, dtype=float)[rows]


def _assembled(pieces: list[Array], order: Indices, labels: Indices, weight: Array | None) -> SampleBlock:
    X = np.empty((len(order), pieces[0].shape[1]))
    X[order] = np.concatenate(pieces)
    return SampleBlock(X, labels, weight)


def _center(parts: Sequence[Any]) -> tuple[Array, NDArray[np.bool_]]:
    """Return the weighted mean of all samples, and which features are not constant."""
    mass, total, low, high = zip(*gathered([on_worker(_extent, part) for part in parts]), strict=True)
    lowest, highest = np.min(low, axis=0), np.max(high, axis=0)
    # A minimum with NaN is NaN.
    if not np.isfinite(lowest).all() or not np.isfinite(highest).all():
        raise ValueError(NOT_FINITE)
    with np.errstate(over="ignore"):
        center = np.clip(sum(total) / sum(mass), lowest, highest)
        varies = varying(np.maximum(highest - center, center - lowest), np.maximum(-lowest, highest))
    return center, varies


def _extent(part: SampleBlock) -> tuple[float, Array, Array, Array]:
    with np.errstate(all="ignore"):
        return float(part.counts.sum()), part.counts @ part.X, part.X.min(axis=0), part.X.max(axis=0)


def _centered(part: SampleBlock, center: Array, varies: NDArray[np.bool_]) -> SampleBlock:
    return part._replace(X=np.where(varies, part.X - center, 0.0))


def _moments(part: SampleBlock) -> tuple[Array, Array]:
    with np.errstate(all="ignore"):
        weighted = part.X * part.counts[:, None]
        return weighted.sum(axis=0), weighted.T @ part.X


def _finite(scatter: Array) -> Array:
    """Return a sum of squares; raise an error if it overflowed."""
    if not np.isfinite(scatter).all():
        raise ValueError("`X` and `sample_weight` are too large for sums of squares; scale both.")
    return scatter


def _class_sums(part: SampleBlock, n_classes: int) -> tuple[Array, Array]:
    return class_sums(part.X, part.labels, part.counts, n_classes)


def _scatter_sums(part: SampleBlock, totals: Array, means: Array) -> tuple[Array, Array]:
    return scatter_sums(part.X, part.labels, part.counts, totals, means)


def load_samples(learner: Any, X: Any, y: Any, sample_weight: Any, stacklevel: int = 4) -> SampleBlocks:
    """Check samples given as a dask array, and load them into blocks on the workers.

    Labels and weights are gathered, 16 bytes per sample; samples are not.

    Parameters
    ----------
    learner : estimator
        The learner; its attribute `n_features_in_` is set.
    X : dask array of shape (n_samples, n_features)
        Samples.
    y : array or dask array of shape (n_samples,)
        Class labels.
    sample_weight : array or dask array of shape (n_samples,), optional
        Weight of each sample; 1 by default.
    stacklevel : int
        Stack level of warnings, so that they point to the caller of `fit`.
    """
    check_dask_array(X)
    _check_shape(X)
    if y is None:
        raise ValueError(f"{type(learner).__name__} needs labels; pass `y`.")
    y, sample_weight = (gathered([values])[0] if is_dask(values) else values for values in (y, sample_weight))
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    check_classification_targets(y)
    labels, weight = encoded_labels(y, type(learner).__name__), None
    if sample_weight is not None:
        weight = check_sample_weight(sample_weight, labels)
        if len(np.unique(labels[(labels != UNKNOWN) & (weight > 0.0)])) < 2:
            raise ValueError("`sample_weight` must be positive for samples of at least two classes.")
    validate_data(learner, X, skip_check_array=True)
    warn_of_unknown(labels if weight is None else labels[weight > 0.0], stacklevel)
    return SampleBlocks.of(X, labels, weight)


def _check_shape(X: Any) -> None:
    n_samples, n_features = X.shape
    if n_samples < max(n_features, 2):
        raise ValueError(
            f"`X` has {n_samples} samples of {n_features} features. A dask array needs at least as many "
            "samples as features; pass `X.compute()`."
        )
