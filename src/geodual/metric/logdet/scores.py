"""How well a metric serves on test samples: the scores among which a cross-validation chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.neighbors import NearestNeighbors

from geodual.arrays import Array, Indices

from ..pairs.weights import copy_weight

_AUC_PAIRS = 200_000  # about as many pairs per fold are scored; more would not change the AUC much


def check_scoring(scoring: Any) -> Callable[..., float] | None:
    """Return the scorer of the neighbours' votes, or None for "auc", which scores distances of pairs."""
    if callable(scoring):
        return scoring  # type: ignore[no-any-return]
    if isinstance(scoring, str) and scoring == "auc":
        return None
    if isinstance(scoring, str) and scoring == "votes":
        return vote_score
    try:
        scorer: Callable[..., float] = get_scorer("accuracy" if scoring == "knn" else scoring)
    except (TypeError, ValueError):
        raise ValueError(
            '`scoring` must be "votes", "knn", "auc", a scorer of scikit-learn or a function, got '
            f"{scoring!r}."
        ) from None
    return scorer


class MetricNeighbors(ClassifierMixin, BaseEstimator):
    """Classify by k nearest neighbours under a fitted metric, in which samples count as often as they weigh.

    Without weights it is scikit-learn's `KNeighborsClassifier` after the metric.

    Parameters
    ----------
    metric : transformer
        A fitted metric.
    n_neighbors : int
        Number k of neighbours; a sample of weight 2 makes two of them.
    """

    def __init__(self, metric: Any, n_neighbors: int = 5) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors

    def fit(self, X: Array, y: Any, sample_weight: Array | None = None) -> Self:
        """Keep the training samples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Class labels.
        sample_weight : array of shape (n_samples,), optional
            How often each sample counts; once by default.
        """
        self.classes_, self._labels = np.unique(y, return_inverse=True)
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        self._copies = weight / copy_weight(weight)
        # With the smallest counts, this number of neighbours makes k copies.
        reached = np.cumsum(np.sort(self._copies))
        needed = int(np.searchsorted(reached, self.n_neighbors * (1.0 - 1e-9))) + 1
        self._search = NearestNeighbors(n_neighbors=min(needed, len(X))).fit(self.metric.transform(X))
        return self

    def predict_proba(self, X: Array) -> Array:
        """Return the share of each class among the k nearest copies of training samples."""
        near = self._search.kneighbors(self.metric.transform(X), return_distance=False)
        copies = self._copies[near]
        before = np.cumsum(copies, axis=1) - copies
        taken = np.clip(self.n_neighbors - before, 0.0, copies)
        votes = np.zeros((len(near), len(self.classes_)))
        np.add.at(votes, (np.arange(len(near))[:, None], self._labels[near]), taken)
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    def predict(self, X: Array) -> NDArray[Any]:
        """Return the class with most votes; the first of equal ones."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def vote_score(neighbours: MetricNeighbors, X: Array, y: Any, sample_weight: Array | None = None) -> float:
    """Return the mean share of the votes for the right class.

    Unlike accuracy, it also tells how clear a vote is, so that it depends less on chance.

    Parameters
    ----------
    neighbours : MetricNeighbors
        The classifier, fitted.
    X : array of shape (n_samples, n_features)
        Test samples.
    y : array of shape (n_samples,)
        Their classes. A class that the classifier does not know has no votes.
    sample_weight : array of shape (n_samples,), optional
        How often each sample counts; once by default.
    """
    is_right = neighbours.classes_ == np.asarray(y)[:, None]
    share = (neighbours.predict_proba(X) * is_right).sum(axis=1)
    return float(np.average(share, weights=sample_weight))


def pair_auc(Z: Array, labels: Indices, weight: Array | None = None) -> float:
    """Return the area under the ROC curve of distances as a test of whether two samples share a class.

    Parameters
    ----------
    Z : array of shape (n_samples, n_components)
        Samples in the space in which the metric is Euclidean.
    labels : array of shape (n_samples,)
        Their classes.
    weight : array of shape (n_samples,), optional
        How often each sample counts; once by default. Copies of a sample also make pairs.
    """
    i, j = _spaced_pairs(len(Z), 1 if weight is None else 0)
    pair_weight = np.ones(len(i))
    if weight is not None:
        own = 0.5 * weight * np.maximum(weight - copy_weight(weight), 0.0)
        pair_weight = np.where(i == j, own[i], weight[i] * weight[j])
    distance = np.sum((Z[i] - Z[j]) ** 2, axis=1)
    same = labels[i] == labels[j]
    # Without both kinds of pairs the AUC is not defined; 0.5 is the score of guessing.
    if not (pair_weight[same].any() and pair_weight[~same].any()):
        return 0.5
    return float(roc_auc_score(same, -distance, sample_weight=pair_weight))


def _spaced_pairs(n_samples: int, offset: int) -> tuple[Indices, Indices]:
    """Return evenly spaced pairs of all with i + offset ≤ j, so that no chance enters the score."""
    lengths = np.arange(n_samples - offset, -1, -1)[:n_samples]
    starts = np.concatenate([[0], np.cumsum(lengths)])  # number of the first pair of each row
    numbers = np.arange(0, starts[-1], max(int(starts[-1]) // _AUC_PAIRS, 1))
    i = np.searchsorted(starts, numbers, side="right") - 1
    return i, numbers - starts[i] + i + offset
