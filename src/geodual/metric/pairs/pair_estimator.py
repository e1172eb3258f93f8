"""The fit that learners from pairs share: check the pairs, learn a metric, and choose the threshold."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array

from .pair_classifier import PairClassifier, check_calibration_params
from .weights import check_pair_weight


class PairEstimator(PairClassifier):
    """A classifier of pairs that learns its metric from pairs itself.

    A subclass checks its parameters (`_check_parameters`) and learns (`_fit`).
    """

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise if a parameter is wrong."""

    @abstractmethod
    def _fit(self, X: Array, similar: NDArray[np.bool_], weight: Array) -> None:
        """Learn from pairs of positive weight; rows 2k and 2k + 1 of X are the samples of pair k."""

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
            How often each pair counts; once by default.
        calibration_params : dict, optional
            The arguments `strategy`, `min_rate` and `beta` of `calibrate_threshold`, which say what the best
            threshold is. By default it has the best accuracy.

        Returns
        -------
        self
        """
        pairs, similar = self._check_pairs(pairs, y)
        calibration = check_calibration_params(calibration_params)
        self._check_parameters()
        weight = check_pair_weight(sample_weight, len(pairs), "sample_weight")
        # A pair without weight must not move the percentiles or the threshold.
        pairs, similar, weight = pairs[weight > 0.0], similar[weight > 0.0], weight[weight > 0.0]
        X = pairs.reshape(-1, pairs.shape[2])
        self.n_features_in_ = X.shape[1]
        self._fit(X, similar, weight)
        self._set_threshold(pairs, similar, weight, calibration)
        return self
