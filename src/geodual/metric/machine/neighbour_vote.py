"""Votes of nearest neighbours: their number and their weights are chosen by leave-one-out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geodual.arrays import Array, Indices

from .scoring import Targets

NUMBERS = (1, 3, 5, 7, 11, 15, 21, 31)  # of neighbours to try
WEIGHTS = ("uniform", "distance")


class Vote(NamedTuple):
    """How neighbours vote.

    Attributes
    ----------
    criterion : float
        How good it is by leave-one-out; the larger, the better.
    n_neighbors : int
        Number of neighbours.
    weights : "uniform" or "distance"
        Whether all neighbours count alike, or by the inverse of their distance.
    scores : array of shape (n_samples, n_classes)
        Shares of the classes by leave-one-out.
    """

    criterion: float
    n_neighbors: int
    weights: str
    scores: Array


def best_vote(D: Array, targets: Targets) -> Vote:
    """Return the best vote for distances D of all samples; copies of a sample are its neighbours."""
    D, counts = D.copy(), np.broadcast_to(targets.weight, D.shape).copy()
    left = targets.weight * (1.0 - targets.left_out)
    np.fill_diagonal(counts, left)
    D[np.diag_indices(len(D))] = np.where(left > 0.0, 0.0, np.inf)
    most = min(max(NUMBERS), len(D) - 1)
    near = np.argsort(D, axis=1, kind="stable")[:, :most]
    d, counts = np.take_along_axis(D, near, axis=1), np.take_along_axis(counts, near, axis=1)
    best: Vote | None = None
    for k in sorted({min(number, most) for number in NUMBERS}):
        for weights in WEIGHTS:
            scores = shares(d[:, :k], counts[:, :k], targets.labels[near[:, :k]], targets.n_classes, weights)
            criterion = targets.criterion(scores)
            if best is None or criterion > best.criterion:
                best = Vote(criterion, k, weights, scores)
    assert best is not None  # there are several numbers and weights
    return best


def shares(d: Array, counts: Array, labels: Indices, n_classes: int, weights: str) -> Array:
    """Return the share of each class among neighbours, given by distances, counts and classes."""
    voices = counts * _closeness(d) if weights == "distance" else counts
    result = np.zeros((len(d), n_classes))
    np.add.at(result, (np.arange(len(d))[:, None], labels), voices)
    return np.asarray(result / np.maximum(result.sum(axis=1, keepdims=True), 1e-300))


def _closeness(d: Array) -> Array:
    """Return the distance of the nearest over that of each neighbour; those at distance zero decide alone."""
    return np.asarray(np.divide(d[:, :1], d, out=np.ones_like(d), where=d > 0.0))
