"""What metric-learn's learners share and ours lack: a preprocessor for samples, and other parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.datasets import make_spd_matrix

from geodual.arrays import Array, Indices
from geodual.metric.base.checks import check_whole
from geodual.metric.base.metric_learner import MetricLearner, fitted_attributes, n_axes
from geodual.metric.base.tuples import check_pair_array, look_up


class PreprocessedLearner(MetricLearner):
    """Base of learners that take samples, or indices of samples if there is a preprocessor."""

    preprocessor: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = self.preprocessor is not None
        return tags

    def _looked_up(self, X: Any) -> Any:
        return look_up(self.preprocessor, X) if self.preprocessor is not None and n_axes(X) == 1 else X

    def _validate_all(self, X: Any, y: Any) -> tuple[Array, Indices]:
        return super()._validate_all(self._looked_up(X), y)

    def transform(self, X: Any) -> Array:
        """Map samples to the space in which the learned metric is the Euclidean distance.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples,) with a preprocessor
            Samples or indices of samples.

        Returns
        -------
        array of shape (n_samples, n_components)
            X Lᵀ.
        """
        return super().transform(self._looked_up(X))

    def pair_distance(self, pairs: Any) -> Array:
        """Return the learned distance of each pair (not squared).

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        """
        if self.preprocessor is not None and n_axes(pairs) == 2:
            pairs = check_pair_array(look_up(self.preprocessor, pairs))
        return super().pair_distance(pairs)


def take_over(learner: BaseEstimator, fitted: BaseEstimator) -> None:
    """Copy the fitted attributes of the learner that did the work."""
    vars(learner).update(fitted_attributes(fitted))


def random_or_given(prior: Any, n_features: int, random_state: Any) -> Any:
    """Return a prior that our learners accept: "random" becomes a random positive definite matrix."""
    if isinstance(prior, str) and prior == "random":
        return make_spd_matrix(n_features, random_state=random_state)
    return prior


def n_per_kind(n_constraints: Any, labels: Indices) -> int:
    """Return the number of similar and of dissimilar pairs: 20 times the squared number of classes."""
    if n_constraints is None:
        return 20 * len(np.unique(labels)) ** 2
    check_whole("n_constraints", n_constraints, 1)
    return int(n_constraints)
