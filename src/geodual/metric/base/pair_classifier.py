"""Base of learners fitted to pairs, which predict whether two samples are similar."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from geodual.arrays import Array

from .checks import check_not_negative, check_pair_weight, check_share
from .maps import mapped, precision_of
from .metric_learner import MetricLearner, n_axes
from .tuples import check_pair_array, look_up

STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")


class PairClassifier(ClassifierMixin, MetricLearner):
    """A classifier of pairs by their learned distance; names are those of metric-learn.

    A subclass has a parameter `preprocessor`, checks its parameters (`_check_parameters`) and learns
    (`_learn`). Then `fit` chooses the threshold.

    Attributes
    ----------
    threshold_ : float
        Pairs with at most this distance are predicted as similar.
    classes_ : array
        −1 and +1, for dissimilar and similar pairs.
    """

    preprocessor: Any
    threshold_: float
    classes_: NDArray[np.int_]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.preprocessor is not None
        tags.input_tags.three_d_array = True
        tags.classifier_tags.multi_class = False
        return tags

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise an error if a parameter is not valid."""

    @abstractmethod
    def _learn(self, X: Array, similar: NDArray[np.bool_], weight: Array) -> None:
        """Learn from pairs of positive weight; rows 2k and 2k + 1 of X are the samples of pair k."""

    def _check_features(self, X: Any) -> None:
        """Raise an error unless pairs have the features of the last step of an incremental fit."""
        check_pair_array(self._samples(X), self.n_features_in_)

    def fit(
        self, pairs: Any, y: Any = None, sample_weight: Any = None, calibration_params: Any = None
    ) -> Self:
        """Learn a metric from pairs, and the best threshold on them.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        y : array of shape (n_pairs,)
            +1 for similar pairs, −1 for dissimilar ones.
        sample_weight : array of shape (n_pairs,), optional
            Weight of each pair; 1 by default.
        calibration_params : dict, optional
            The arguments `strategy`, `min_rate` and `beta` of `calibrate_threshold`, the criterion for the
            best threshold. The default is the best accuracy.

        Returns
        -------
        self
        """
        pairs, similar = self._check_pairs(pairs, y)
        calibration = check_calibration_params(calibration_params)
        self._check_parameters()
        weight = check_pair_weight(sample_weight, len(pairs), "sample_weight")
        # Pairs without weight must not affect the percentiles or the threshold.
        pairs, similar, weight = pairs[weight > 0.0], similar[weight > 0.0], weight[weight > 0.0]
        X = pairs.reshape(-1, pairs.shape[2])
        self.n_features_in_ = X.shape[1]
        self._learn(X, similar, weight)
        self._set_threshold(pairs, similar, weight, calibration)
        return self

    def _check_pairs(self, pairs: Any, y: Any) -> tuple[Array, NDArray[np.bool_]]:
        """Return pairs of samples and which of them are similar; raise an error if they are invalid."""
        samples = self._samples(pairs)
        return samples, _check_signs(y, len(samples))

    def _set_threshold(
        self, pairs: Array, similar: NDArray[np.bool_], weight: Array, calibration: Mapping[str, Any]
    ) -> None:
        """Choose the threshold on the pairs of the fit."""
        self.classes_ = np.array([-1, 1])
        self.threshold_ = best_threshold(self.pair_distance(pairs), similar, weight=weight, **calibration)

    def _samples(self, pairs: Any) -> Array:
        """Return pairs of samples; look them up if indices are given."""
        if n_axes(pairs) == 2:
            pairs = look_up(self.preprocessor, pairs)
        return check_pair_array(pairs)

    def transform(self, X: Any) -> Array:
        """Map samples or pairs to the space in which the learned metric is the Euclidean distance.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), (n_pairs, 2, n_features), or (n_samples,)
            Samples, pairs of samples, or indices of samples for the preprocessor.

        Returns
        -------
        array of shape (n_samples, n_components) or (n_pairs, 2, n_components)
            X Lᵀ.
        """
        check_is_fitted(self)
        if n_axes(X) == 3:
            pairs = check_pair_array(X, self.n_features_in_)
            Z = mapped(pairs.reshape(-1, pairs.shape[2]), self.components_).reshape(*pairs.shape[:2], -1)
            return Z.astype(precision_of(X), copy=False)
        if n_axes(X) == 1 and self.preprocessor is not None:
            X = look_up(self.preprocessor, X)
        return super().transform(X)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Learn a metric from pairs, and map the pairs to the space in which it is Euclidean.

        Parameters
        ----------
        X : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        y : array of shape (n_pairs,)
            +1 for similar pairs, −1 for dissimilar ones.
        **fit_params
            Further arguments of `fit`.

        Returns
        -------
        array of shape (n_pairs, 2, n_components)
            The pairs, transformed.
        """
        self.fit(X, y, **fit_params)
        return self.transform(look_up(self.preprocessor, X) if n_axes(X) == 2 else X)

    def pair_distance(self, pairs: Any) -> Array:
        """Return the learned distance of each pair (not squared).

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        """
        check_is_fitted(self)
        return super().pair_distance(self._samples(pairs))

    def decision_function(self, pairs: Any) -> Array:
        """Return minus the learned distance of each pair, so that larger means more similar.

        Pairs with at least minus `threshold_` are predicted as similar.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        """
        return self.pair_score(pairs)

    def predict(self, pairs: Any) -> Array:
        """Return +1 for pairs at most `threshold_` apart and −1 for the others.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        """
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the area under the ROC curve of the distances: 1 is perfect, 0.5 is guessing.

        Parameters
        ----------
        X : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        y : array of shape (n_pairs,)
            +1 for similar pairs, −1 for dissimilar ones.
        sample_weight : array of shape (n_pairs,), optional
            Weight of each pair; 1 by default.
        """
        scores = self.decision_function(X)
        return float(roc_auc_score(_check_signs(y, len(scores)), scores, sample_weight=sample_weight))

    def set_threshold(self, threshold: float) -> Self:
        """Set the threshold manually.

        Parameters
        ----------
        threshold : float
            Largest distance of pairs that are predicted as similar.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        check_not_negative("threshold", threshold)
        self.threshold_ = float(threshold)
        return self

    def calibrate_threshold(
        self, pairs: Any, y: Any, strategy: str = "accuracy", min_rate: float | None = None, beta: float = 1.0
    ) -> Self:
        """Choose the threshold that is best on validation pairs.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        y : array of shape (n_pairs,)
            +1 for similar pairs, −1 for dissimilar ones.
        strategy : "accuracy", "f_beta", "max_tpr" or "max_tnr"
            What to maximize: the accuracy; the F-score; the true positive rate, with a true negative rate of
            at least `min_rate`; or the true negative rate, with a true positive rate of at least `min_rate`.
        min_rate : float, optional
            Required for "max_tpr" and "max_tnr", between 0 and 1.
        beta : float
            Weight of the recall in "f_beta"; with 0, only the precision counts.

        Returns
        -------
        self
        """
        distance = self.pair_distance(pairs)
        self.threshold_ = best_threshold(distance, _check_signs(y, len(distance)), strategy, min_rate, beta)
        return self


def check_calibration_params(params: Any) -> dict[str, Any]:
    """Return arguments for `best_threshold`; raise an error if they are not valid."""
    params = {} if params is None else params
    known = ("strategy", "min_rate", "beta")
    if not isinstance(params, Mapping) or not set(params) <= set(known):
        raise ValueError(f"`calibration_params` must be a dict with keys among {known}, got {params!r}.")
    check_calibration(**params)
    return dict(params)


def _check_signs(y: Any, n_pairs: int) -> NDArray[np.bool_]:
    y = np.asarray(y)
    if y.shape != (n_pairs,) or not np.isin(y, (-1, 1)).all():
        raise ValueError(f"`y` must hold +1 or −1 for each of the {n_pairs} pairs; +1 means similar.")
    return np.asarray(y > 0)


def check_calibration(strategy: Any = "accuracy", min_rate: Any = None, beta: Any = 1.0) -> None:
    """Raise an error unless these are valid parameters of `best_threshold`."""
    if strategy not in STRATEGIES:
        raise ValueError(f"`strategy` must be one of {', '.join(map(repr, STRATEGIES))}, got {strategy!r}.")
    if strategy.startswith("max_") and min_rate is None:
        raise ValueError(f"`min_rate` must lie in [0, 1] for {strategy!r}, got None.")
    if min_rate is not None:
        check_share("min_rate", min_rate)
    check_not_negative("beta", beta)


def best_threshold(
    distance: Array,
    similar: NDArray[np.bool_],
    strategy: str = "accuracy",
    min_rate: float | None = None,
    beta: float = 1.0,
    weight: Array | None = None,
) -> float:
    """Return the best threshold for the distances of given pairs.

    Parameters
    ----------
    distance : array of shape (n_pairs,)
        Distances of the pairs.
    similar : array of bool of shape (n_pairs,)
        Which pairs are similar. Pairs up to the threshold are predicted as similar.
    strategy : "accuracy", "f_beta", "max_tpr" or "max_tnr"
        What to maximize: the accuracy; the F-score; the true positive rate, with a true negative rate of at
        least `min_rate`; or the true negative rate, with a true positive rate of at least `min_rate`.
    min_rate : float, optional
        Required for "max_tpr" and "max_tnr".
    beta : float
        Weight of the recall in "f_beta"; with 0, only the precision counts.
    weight : array of shape (n_pairs,), optional
        Weight of each pair; 1 by default.

    Returns
    -------
    float
        Halfway between two neighboring distances.
    """
    check_calibration(strategy, min_rate, beta)
    least = 0.0 if min_rate is None else float(min_rate)
    order = np.argsort(distance, kind="stable")
    sorted_distance = distance[order]
    # Entry k of each array: the k nearest pairs are called similar. Equal distances are never separated.
    counts = (np.ones(len(order)) if weight is None else weight)[order]
    hits = np.concatenate([[0.0], np.cumsum(counts * similar[order])])
    calls = np.concatenate([[0.0], np.cumsum(counts)])
    cuts = np.concatenate([[True], np.diff(sorted_distance) > 0.0, [True]])
    n_similar, n_dissimilar = hits[-1], calls[-1] - hits[-1]
    tpr = hits / (n_similar or 1.0)  # without similar pairs, the rate is 0, not undefined
    tnr = 1.0 - (calls - hits) / (n_dissimilar or 1.0)
    if strategy == "accuracy":
        score = hits + n_dissimilar - (calls - hits)
    elif strategy == "f_beta":
        # If no pair is called similar, precision and recall are zero.
        score = (1.0 + beta**2) * hits / np.where(calls > 0.0, beta**2 * n_similar + calls, 1.0)
    elif strategy == "max_tpr":
        score = np.where(tnr >= least, tpr, -1.0)
    else:
        score = np.where(tpr >= least, tnr, -1.0)
    score = np.where(cuts, score, -np.inf)
    # Of equally good cuts, take the one with the better other rate: more pairs similar, or fewer.
    prefer_more = strategy in ("f_beta", "max_tnr")
    k = len(score) - 1 - int(np.argmax(score[::-1])) if prefer_more else int(np.argmax(score))
    # The ends of the range have only one neighboring distance; 1 replaces the gap to the other.
    below = sorted_distance[k - 1] if k else sorted_distance[0] - 1.0
    above = sorted_distance[k] if k < len(order) else sorted_distance[-1] + 1.0
    return float(0.5 * (below + above)) if k else float(below)
