"""The shared base of learners that are fitted to pairs: they predict whether two samples are similar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from geodual.arrays import Array

from ..base import MahalanobisMixin, n_axes
from ..low_rank import mapped
from ..pair_array import check_pair_array
from ..parameter_checks import check_not_negative
from .preprocessor import look_up
from .threshold import best_threshold, check_calibration


class PairClassifier(ClassifierMixin, MahalanobisMixin, BaseEstimator):
    """A classifier of pairs by their distance under a learnt metric; the names are those of metric-learn.

    A subclass has a parameter `preprocessor`. Its `fit` calls `_check_pairs`, `_set_metric` and at last
    `_set_threshold`.

    Attributes
    ----------
    threshold_ : float
        Pairs at most this far apart are predicted as similar.
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

    def _check_pairs(self, pairs: Any, y: Any) -> tuple[Array, NDArray[np.bool_]]:
        """Return pairs of samples and which of them are similar; raise if they are invalid."""
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
        """Map samples or pairs to the space in which the learnt metric is the Euclidean distance.

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
            X = check_pair_array(X, self.n_features_in_)
            return mapped(X.reshape(-1, X.shape[2]), self.components_).reshape(*X.shape[:2], -1)
        if n_axes(X) == 1 and self.preprocessor is not None:
            X = look_up(self.preprocessor, X)
        return super().transform(X)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Learn a metric from pairs, and return the pairs in the space in which it is Euclidean.

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
        return np.asarray(self.fit(X, y, **fit_params).transform(self._samples(X)))

    def pair_distance(self, pairs: Any) -> Array:
        """Return the learnt distance of each pair (not squared).

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        """
        check_is_fitted(self)
        return super().pair_distance(self._samples(pairs))

    def decision_function(self, pairs: Any) -> Array:
        """Return minus the learnt distance of each pair, so that larger means more similar.

        Pairs of at least minus `threshold_` are predicted as similar.

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
            How often each pair counts; once by default.
        """
        scores = self.decision_function(X)
        return float(roc_auc_score(_check_signs(y, len(scores)), scores, sample_weight=sample_weight))

    def set_threshold(self, threshold: float) -> Self:
        """Set the threshold yourself.

        Parameters
        ----------
        threshold : float
            Distance up to which pairs are predicted as similar.

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
            What to maximise: the accuracy; the F-score; the true positive rate if the true negative rate must
            be at least `min_rate`; or the true negative rate if the true positive rate must be.
        min_rate : float, optional
            Required for "max_tpr" and "max_tnr", between 0 and 1.
        beta : float
            Weight of the recall in "f_beta"; 0 leaves the precision alone.

        Returns
        -------
        self
        """
        distance = self.pair_distance(pairs)
        self.threshold_ = best_threshold(distance, _check_signs(y, len(distance)), strategy, min_rate, beta)
        return self


def check_calibration_params(params: Any) -> dict[str, Any]:
    """Return arguments for `best_threshold`; raise if they are not valid."""
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
