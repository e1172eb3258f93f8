"""Fit feature weights: neighbors are found again under successively better weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from geodual.arrays import Array, Indices

from ..geometry.feature_differences import FeatureDifferences
from ..selection.graded_neighbors import (
    MOST_ASKING,
    Neighbors,
    Similar,
    graded_neighbors,
    label_set_neighbors,
    neighbors,
)
from ..selection.local_pairs import LocalPairs, grouped_neighbors
from ..terms.neighborhoods import Neighborhoods
from .certificate import CertifiedIteration, CertifiedMetric
from .feature_priors import LogDetPrior, SparsePrior
from .feature_program import FeatureProgram

_EARLIER = (0.1, 0.3)  # weights, relative to C, of earlier fits that only serve to find neighbors
_ROUGH = 1e-2  # relative gap of earlier fits
_LEAST_WIDTH = 1e-3  # of a sample, relative to the mean


class WeightFit(NamedTuple):
    """Learned weights.

    Attributes
    ----------
    found : CertifiedMetric
        The weights, as `W`, with their certificate.
    near : Neighborhoods
        The neighbors and targets of the last fit.
    n_earlier : int
        Number of iterations of the earlier fits.
    penalty : float
        Weight of the sum of the weights in the last fit; 0 without `sparsity`.
    """

    found: CertifiedMetric
    near: Neighborhoods
    n_earlier: int
    penalty: float


# From samples to row numbers of samples and their neighbors, and which neighbors are similar.
Search = Callable[[Any], Neighbors]


def learn_weights(
    X: Any,
    find: Search,
    weight: Array | None,
    *,
    distance: str,
    C: float,
    tol: float,
    max_iter: int,
    sparsity: float = 0.0,
    report: Callable[[CertifiedIteration], object] = lambda row: None,
) -> WeightFit:
    """Learn weights of features from distinct samples.

    Parameters
    ----------
    X : array or sparse array by rows, of shape (n_samples, n_features)
        The samples.
    find : callable
        Finds the neighbors of samples, under an ordinary distance.
    weight : array of shape (n_samples,), optional
        Weight of each sample; 1 by default.
    distance : "l1" or "l2"
        Whether distances are sums of absolute or squared differences.
    C : float
        Weight of the mean loss.
    tol : float
        Relative duality gap of the last fit.
    max_iter : int
        Maximum number of iterations of each fit.
    sparsity : float, optional
        If positive, weights may be zero: the penalty on their sum, as a share of the smallest one that makes
        all of them zero.
    report : callable, optional
        Called with each iteration.
    """
    w: Array = np.ones(X.shape[1])
    n_earlier, width, last = 0, None, None
    for share in (*_EARLIER, 1.0):
        if last is None or not np.array_equal(w, last):  # otherwise neighbors and targets do not change
            i, j, similar = find(in_units(X, w, distance))
            V, last = FeatureDifferences(X, i, j, distance == "l2"), w
            d = V.distances(w)
        if width is None:
            width = neighbor_means(i, similar, d, X.shape[0])
        near = Neighborhoods(i, j, similar, d, width, weight, share * C)
        if share < 1.0:
            found = FeatureProgram(near, V).solve(w, max(tol, _ROUGH), max_iter, report)
            w, n_earlier = found.W, n_earlier + found.n_iter
    penalty = sparsity * _least_penalty_of_zeros(near, V) if sparsity else 0.0
    prior = SparsePrior(penalty) if sparsity else LogDetPrior()
    found = FeatureProgram(near, V, prior).solve(w, tol, max_iter, report)
    if not found.W.any():
        raise ValueError("All weights are zero, so there is no distance; lower `sparsity`.")
    return WeightFit(found, near, n_earlier, penalty)


def in_units(X: Any, w: Array, distance: str) -> Any:
    """Return samples in units in which the distance under weights w is an ordinary one."""
    units = (w if distance == "l1" else np.sqrt(w)).astype(X.dtype)
    return X.multiply(units).tocsr() if issparse(X) else X * units


def _least_penalty_of_zeros(near: Neighborhoods, V: FeatureDifferences) -> float:
    """Return the smallest μ of `SparsePrior` for which w = 0 is optimal; 0 if no penalty is needed."""
    slopes = V.sums(near.loss(np.zeros(near.n_pairs)).slope)
    return max(1.0 - float(slopes.min()), 0.0)


def class_search(labels: Indices, local: LocalPairs, distance: str) -> Search:
    """Return the search for neighbors in the same and other classes; raise an error if there are none."""
    if not (np.bincount(labels) > 1).any():
        raise ValueError(
            "No class has two different samples, so there are no neighbors to learn from; check `y`."
        )

    def find(Z: Any) -> Neighbors:
        if issparse(Z) or len(labels) > MOST_ASKING:
            same: Similar = lambda rows: labels[rows, None] == labels  # noqa: E731
            return neighbors(Z, same, local.n_similar, local.n_dissimilar, distance)
        i, j = grouped_neighbors(Z, labels, local.n_similar, local.n_dissimilar, distance)
        return i, j, labels[i] == labels[j]

    return find


def label_set_search(sets: Array, local: LocalPairs, distance: str) -> Search:
    """Return the search for neighbors with similar and other sets of labels.

    The sets are an array of zeros and ones of shape (n_samples, n_labels), not all equal.
    """
    return lambda Z: label_set_neighbors(Z, sets, local.n_similar, local.n_dissimilar, distance)


def target_search(ranks: Array, local: LocalPairs, distance: str) -> Search:
    """Return the search for neighbors with close and other targets; raise an error if there are none.

    The ranks are an array of shape (n_samples,), or (n_samples, n_outputs) for several outputs.
    """
    if len(ranks) < 2 or not np.ptp(ranks, axis=0).any():
        raise ValueError("`y` must have at least two different values at different samples; check `y`.")
    return lambda Z: graded_neighbors(Z, ranks, local.n_similar, local.n_dissimilar, distance)


def neighbor_means(i: Indices, similar: NDArray[np.bool_], d: Array, n_samples: int) -> Array:
    """Return the width τ of each sample: half of the mean distance of its neighbors in its class.

    It is at least 0.001 of the mean width, so that samples with close copies have one too.
    """
    own = i[similar]
    if not len(own):
        raise ValueError(
            "No two samples have similar targets, so there are none to learn from; add more samples."
        )
    number = np.bincount(own, minlength=n_samples)
    width = np.bincount(own, d[similar], minlength=n_samples) / np.maximum(number, 1)
    usual = float(width[number > 0].mean())
    if not 0.0 < usual < np.inf or not np.isfinite(d).all():
        raise ValueError(
            "Distances of samples are too small or too large to compute with; standardize the features."
        )
    return np.asarray(0.5 * np.maximum(width, _LEAST_WIDTH * usual))
