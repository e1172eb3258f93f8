"""Too many samples for a full kernel matrix: an array, in threads, or a dask array, on workers."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from geodual.arrays import Array, Indices
from geodual.cluster import check_dask_array, gathered, on_worker, summed
from geodual.threads import in_threads

from .inputs import completed, finite_or_missing
from .landmarks import Equations, KernelFeatures
from .views import medians

_DRAWN = 20_000  # samples for choosing views, ridge and probabilities
_PARTS = 8  # sums of an array, one thread each; a fixed number, so that bits do not depend on threads
_GROUP = 4  # sums that a worker adds at a time; with 2,000 landmarks, each takes 32 MB


def drawn_places(n: int) -> Indices:
    """Return the samples for choosing views, ridge and probabilities: all if there are few."""
    if n <= _DRAWN:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, _DRAWN, replace=False, shuffle=False))


class SamplesHere:
    """Samples in memory, without missing values.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The samples.

    Attributes
    ----------
    drawn, kept, X
        As in `ManySamples`.
    """

    def __init__(self, X: Array) -> None:
        self.X, self.drawn, self.kept = X, drawn_places(len(X)), np.arange(len(X))

    def at(self, places: Indices) -> Indices:
        """Return the positions unchanged, because all samples are kept."""
        return places

    def equations(self, features: KernelFeatures, targets: Any) -> Equations:
        """Return the normal equations of all samples, formed in as many threads as BLAS has."""
        edges = np.linspace(0, len(self.X), _PARTS + 1).astype(np.intp).tolist()
        parts, means = list(map(slice, edges[:-1], edges[1:])), targets.means

        def of_part(rows: slice) -> Equations:
            return features.equations(self.X[rows], targets.part(rows), means)

        return reduce(_added_to, in_threads(of_part, parts))


def _added_to(total: Equations, other: Equations) -> Equations:
    for ours, theirs in zip(total, other, strict=True):
        ours += theirs
    return total


class SamplesOnWorkers:
    """Samples in the blocks of a dask array; only requested samples are gathered.

    Parameters
    ----------
    X : dask array of shape (n_samples, n_features)
        The samples; NaN is a missing value.
    weight : array of shape (n_samples,)
        Weight of each sample, all positive.
    places : array of int, or None
        Landmarks; None means all samples.

    Attributes
    ----------
    drawn, kept, X
        As in `ManySamples`.
    medians : array of shape (n_features,)
        Replacements for missing values, from the drawn samples.
    """

    def __init__(self, X: Any, weight: Array, places: Indices | None) -> None:
        self._all, self.drawn = X.rechunk({1: -1}), drawn_places(len(X))
        self.kept = np.arange(len(X)) if places is None else np.union1d(self.drawn, places)
        found, drawn = gathered_rows(self._all, self.kept), self.at(self.drawn)
        self.medians = medians(found[drawn], weight[self.drawn])
        self.X = completed(found, self.medians)

    def at(self, places: Indices) -> Indices:
        """Return the positions of samples among the kept ones."""
        return np.searchsorted(self.kept, places)

    def equations(self, features: KernelFeatures, targets: Any) -> Equations:
        """Return the normal equations of all samples, formed and summed by the workers."""
        starts = np.cumsum([0, *self._all.chunks[0]]).tolist()
        # Sent once, then passed between workers.
        shared = on_worker(_both, features, self.medians)
        tasks = [
            on_worker(_equations, chunk, shared, targets.part(slice(start, end)), targets.means)
            for chunk, start, end in zip(self._all.to_delayed().ravel(), starts[:-1], starts[1:], strict=True)
        ]
        G, b = summed(tasks, _GROUP)
        return G, b


def gathered_rows(X: Any, places: Indices) -> Array:
    """Gather some rows of a dask array, given in increasing order; NaN is a missing value."""
    return finite_or_missing(gathered([X[places]])[0])


def _both(features: KernelFeatures, center: Array) -> tuple[KernelFeatures, Array]:
    return features, center


def _equations(X: Array, shared: tuple[KernelFeatures, Array], targets: Any, means: Array) -> Equations:
    features, center = shared
    return features.equations(completed(finite_or_missing(X), center), targets, means)


def by_chunks(estimator: Any, method: str, X: Any) -> Any:
    """Return a fitted estimator's predictions for a dask array, as a dask array computed block by block.

    Parameters
    ----------
    estimator : estimator
        Has the attribute `medians_`: a sample that determines the type of predictions.
    method : str
        Name of the prediction method.
    X : dask array of shape (n_samples, n_features)
        Samples.
    """
    check_is_fitted(estimator)
    check_dask_array(X)
    X = validate_data(estimator, X, reset=False, skip_check_array=True).rechunk({1: -1})
    predict = getattr(estimator, method)
    found = predict(estimator.medians_[None].astype(X.dtype if X.dtype.kind == "f" else float))
    if not isinstance(found, np.ndarray):
        raise ValueError(f"`{method}` of several outputs is a list of arrays; pass `X.compute()`.")
    if found.ndim == 1:
        return X.map_blocks(predict, dtype=found.dtype, drop_axis=1)
    return X.map_blocks(predict, dtype=found.dtype, chunks=(X.chunks[0], (found.shape[1],)))
