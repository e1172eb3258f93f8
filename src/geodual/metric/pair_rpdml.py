"""RPDML for pairs that are said to be similar or not, instead of labelled samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from geodual.arrays import Array
from geodual.threads import blas_threads_for

from .base import check_pair_array
from .pair_list import PairList
from .pair_selection import check_index_pairs
from .pairs import tile_operations
from .prior import prior_matrices
from .rpdml import HingeLearner
from .threshold import best_threshold
from .weights import check_pair_weight, copy_weight


class PairRPDML(HingeLearner, BaseEstimator):
    """RPDML fitted to given pairs, and a classifier of pairs by a threshold on their distance.

    Parameters
    ----------
    C, alpha, prior, tol, max_iter, n_components
        As in `RPDML`.
    percentiles, bounds
        As in `RPDML`; the percentiles are those of the squared distances of the given pairs.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        Where pairs of indices find their samples: rows of an array, or a function of an array of indices.

    Attributes
    ----------
    threshold_ : float
        Pairs that are farther apart are predicted as dissimilar; `fit` sets it for the best accuracy.
    W_, components_, feature_importances_, bounds_, n_pairs_
        As in `RPDML`.
    duality_gap_, objective_, dual_objective_, n_iter_, history_
        As in `RPDML`.
    """

    def __init__(
        self,
        C: float = 100.0,
        alpha: float = 0.0,
        prior: Any = "identity",
        percentiles: tuple[float, float] = (5, 95),
        bounds: tuple[float, float] | None = None,
        tol: float = 1e-6,
        max_iter: int | None = None,
        n_components: int | None = None,
        preprocessor: Any = None,
    ) -> None:
        self.C = C
        self.alpha = alpha
        self.prior = prior
        self.percentiles = percentiles
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.n_components = n_components
        self.preprocessor = preprocessor

    def fit(self, pairs: Any, y: Any, sample_weight: Any = None) -> PairRPDML:
        """Learn a metric from pairs.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples, or of their indices.
        y : array of shape (n_pairs,)
            +1 for similar pairs, −1 for dissimilar ones.
        sample_weight : array of shape (n_pairs,), optional
            How often each pair counts.

        Returns
        -------
        self
        """
        pairs, similar = self._samples(pairs), _check_signs(y, len(pairs))
        self._check_parameters()
        weight = check_pair_weight(sample_weight, len(pairs), "sample_weight")
        pairs, similar, weight = pairs[weight > 0.0], similar[weight > 0.0], weight[weight > 0.0]
        X = pairs.reshape(-1, pairs.shape[2])
        self.n_features_in_ = X.shape[1]
        with blas_threads_for(tile_operations(*X.shape)):
            self._fit(X, similar, weight)
        self.threshold_ = best_threshold(self.pair_distance(pairs), similar, weight=weight)
        return self

    def _fit(self, X: Array, similar: Any, weight: Array) -> None:
        X = X - X.mean(axis=0)
        W0, prior_inverse = prior_matrices(self.prior, X, np.repeat(weight, 2))
        Z = X @ np.linalg.cholesky(W0)
        distances = np.sum((Z[::2] - Z[1::2]) ** 2, axis=1) if self.bounds is None else None
        self._set_bounds(distances, weight / copy_weight(weight), "pairs")
        pairs = PairList(np.arange(len(X)).reshape(-1, 2), similar, weight)
        found = self._solve(X, pairs, prior_inverse, W0, self._budget)
        self._warn_unless_converged(found)
        self._keep(found, found.n_iter, pairs, X)

    def _samples(self, pairs: Any) -> Array:
        """Return pairs of samples, looked up where indices are given."""
        array = np.asarray(pairs)
        if array.ndim == 2 and self.preprocessor is None:
            raise ValueError("Pairs of indices need `preprocessor`, where their samples are found.")
        if array.ndim == 2 and callable(self.preprocessor):
            array = np.stack([self.preprocessor(array[:, 0]), self.preprocessor(array[:, 1])], axis=1)
        elif array.ndim == 2:
            samples = np.asarray(self.preprocessor)
            array = samples[check_index_pairs(array, len(samples))]
        return check_pair_array(array)

    def pair_distance(self, pairs: Any) -> Array:
        """Return the learnt distance of each pair of samples or of indices."""
        check_is_fitted(self)
        return super().pair_distance(self._samples(pairs))

    def decision_function(self, pairs: Any) -> Array:
        """Return minus the distance of each pair: the larger, the more similar."""
        return self.pair_score(pairs)

    def predict(self, pairs: Any) -> Array:
        """Return +1 for pairs at most `threshold_` apart and −1 for the others."""
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)

    def score(self, pairs: Any, y: Any) -> float:
        """Return the area under the ROC curve of the distances."""
        return float(roc_auc_score(y, self.decision_function(pairs)))

    def set_threshold(self, threshold: float) -> PairRPDML:
        """Set the distance up to which pairs are predicted as similar."""
        check_is_fitted(self)
        self.threshold_ = float(threshold)
        return self

    def calibrate_threshold(
        self, pairs: Any, y: Any, strategy: str = "accuracy", min_rate: float | None = None, beta: float = 1.0
    ) -> PairRPDML:
        """Set the threshold that serves a strategy best on validation pairs.

        Parameters
        ----------
        pairs, y
            As for `fit`.
        strategy : "accuracy", "f_beta", "max_tpr" or "max_tnr"
            What to maximise: the accuracy, the F-score, or the rate of true positives (negatives) under a
            true negative (positive) rate of at least `min_rate`.
        min_rate : float, optional
            For "max_tpr" and "max_tnr".
        beta : float
            For "f_beta".

        Returns
        -------
        self
        """
        distance = self.pair_distance(pairs)
        self.threshold_ = best_threshold(distance, _check_signs(y, len(distance)), strategy, min_rate, beta)
        return self


def _check_signs(y: Any, n_pairs: int) -> Any:
    y = np.asarray(y)
    if y.shape != (n_pairs,) or not np.isin(y, (-1, 1)).all():
        raise ValueError(f"`y` must hold +1 or −1 for each of the {n_pairs} pairs.")
    return y > 0
