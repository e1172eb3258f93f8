"""A peer for regression: nearest neighbors in the metric of metric-learn's MLKR."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.neighbors import KNeighborsRegressor

Array = NDArray[np.float64]


class MLKRRegressor(RegressorMixin, BaseEstimator):
    """Nearest neighbors, weighted by distance, in the metric of MLKR.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbors.
    max_iter : int
        Number of iterations after which MLKR stops, because each is slow.
    """

    def __init__(self, n_neighbors: int = 10, max_iter: int = 100) -> None:
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter

    def fit(self, X: Array, y: Array) -> MLKRRegressor:
        """Learn the metric and store the samples."""
        from testing.metric_learn_shim import working_metric_learn  # metric-learn need not be installed

        with working_metric_learn() as metric_learn:
            learner = metric_learn.MLKR(max_iter=self.max_iter, random_state=0)
            # The gradient grows with the square of the target, so the target is standardized.
            self.components_ = learner.fit(X, (y - y.mean()) / y.std()).components_
        nearest = KNeighborsRegressor(self.n_neighbors, weights="distance")
        self.neighbors_ = nearest.fit(X @ self.components_.T, y)
        return self

    def predict(self, X: Array) -> Array:
        """Return the predicted targets of samples."""
        return np.asarray(self.neighbors_.predict(X @ self.components_.T))
