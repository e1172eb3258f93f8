"""Metrics that need no labels: the Euclidean one, and Mahalanobis' with the inverse covariance."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from geodual.arrays import Array
from geodual.threads import blas_threads_for, product_operations

from .base import MetricLearner, check_n_components
from .scatter import centred, inverse_root, oriented


class _UnsupervisedMetric(MetricLearner):
    """A metric that follows from the samples alone."""

    n_components: int | None
    _min_samples = 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags

    def fit(self, X: Any, y: Any = None) -> _UnsupervisedMetric:
        """Set the metric.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : ignored
            Present for the sake of pipelines.

        Returns
        -------
        self
        """
        X = validate_data(self, X, dtype=float, ensure_min_samples=self._min_samples)
        check_n_components(self.n_components, X.shape[1])
        with blas_threads_for(product_operations(X.shape[1], *X.shape)):
            self._set_metric(self._components(X)[: self.n_components], X)
        return self

    @abstractmethod
    def _components(self, X: Array) -> Array:
        """Return L of all components, the most important first."""


class EuclideanMetric(_UnsupervisedMetric):
    """The Euclidean metric, W = I.

    Parameters
    ----------
    n_components : int, optional
        Keep so many principal components of the samples, which are those that keep the distances best;
        all features as they are by default.

    Attributes
    ----------
    components_, feature_importances_
        As in `MahalanobisMixin`.

    Examples
    --------
    >>> from geodual.metric import EuclideanMetric
    >>> EuclideanMetric().fit([[0.0, 0.0], [3.0, 4.0]]).pair_distance([[[0.0, 0.0], [3.0, 4.0]]])
    array([5.])
    """

    def __init__(self, n_components: int | None = None) -> None:
        self.n_components = n_components

    def _components(self, X: Array) -> Array:
        if self.n_components is None:
            return np.eye(X.shape[1])
        Z = X - X.mean(axis=0)
        return oriented(np.linalg.eigh(Z.T @ Z)[1].T[::-1])


class MahalanobisMetric(_UnsupervisedMetric):
    """Mahalanobis' metric, W = the inverse of the covariance of the samples.

    A covariance that is singular or nearly so is shrunk: with all features divided by their standard
    deviations, eigenvalues are raised to at least 1e-8 of the largest. So the metric exists for constant and
    collinear features, and for more features than samples; where the covariance is regular, the metric is
    exact and does not depend on the units of the features. A constant feature, whose variance is zero, counts
    as one with the largest standard deviation of all.

    Parameters
    ----------
    n_components : int, optional
        Keep so many principal components of the standardised samples; all by default.

    Attributes
    ----------
    components_, feature_importances_
        As in `MahalanobisMixin`.
    """

    _min_samples = 2

    def __init__(self, n_components: int | None = None) -> None:
        self.n_components = n_components

    def _components(self, X: Array) -> Array:
        Z = centred(X)
        return inverse_root(Z.T @ Z / (len(X) - 1))
