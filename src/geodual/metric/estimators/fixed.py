"""Metrics without labels: the Euclidean and the Mahalanobis distance."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from geodual.arrays import Array
from geodual.threads import blas_threads_for, product_operations

from ..base.checks import check_n_components
from ..base.maps import MANY_FEATURES, LowRankPlusDiagonal
from ..base.metric_learner import MetricLearner, check_size, of_unit_size
from ..base.scatter import centered, inverse_root, inverse_root_in_span, low_rank_inverse_root, oriented


class _UnsupervisedMetric(MetricLearner):
    """Base of metrics that are computed from the samples alone."""

    n_components: int | None
    _needs_target = False
    _min_samples = 1

    def fit(self, X: Any, y: Any = None) -> _UnsupervisedMetric:
        """Compute the metric from the samples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : ignored
            Accepted for compatibility with pipelines.

        Returns
        -------
        self
        """
        X = validate_data(self, X, dtype=float, ensure_min_samples=self._min_samples)
        check_size(X)
        check_n_components(self.n_components, X.shape[1])
        with blas_threads_for(product_operations(X.shape[1], *X.shape)):
            self._set_metric(self._components(X), X)
        return self

    @abstractmethod
    def _components(self, X: Array) -> Array | LowRankPlusDiagonal:
        """Return L, with the most important rows first."""


class EuclideanMetric(_UnsupervisedMetric):
    """The Euclidean metric d(x, x′) = ‖x − x′‖: a baseline for learned metrics.

    Choose it as the reference of a comparison, or with `n_components` to reduce the dimension by principal
    component analysis. It has the same methods as the learners and ignores labels.

    Parameters
    ----------
    n_components : int, optional
        Number of principal components to project onto; they preserve the distances best. By default, the
        features are kept unchanged.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L: the identity, or the leading principal axes.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X is a table with column names.

    See Also
    --------
    MahalanobisMetric : Also takes the scale and the correlation of the features into account.
    RPDML : Learns from labels.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from geodual.metric import EuclideanMetric
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), EuclideanMetric(), KNeighborsClassifier())
    >>> round(float(cross_val_score(model, X, y).mean()), 2)
    0.95
    """

    def __init__(self, n_components: int | None = None) -> None:
        self.n_components = n_components

    def _components(self, X: Array) -> Array:
        if self.n_components is None:
            return np.eye(X.shape[1])
        Z = of_unit_size(X - X.mean(axis=0))
        if self.n_components <= len(X) < X.shape[1]:
            return oriented(np.linalg.svd(Z, full_matrices=False)[2][: self.n_components])
        # `eigh` sorts eigenvalues in increasing order.
        return oriented(np.linalg.eigh(Z.T @ Z)[1].T[::-1][: self.n_components])


class MahalanobisMetric(_UnsupervisedMetric):
    r"""The Mahalanobis metric: W is the inverse covariance of the samples.

    .. math:: d^2(x, x') = (x - x')^\top \operatorname{Cov}(X)^{-1} (x - x')

    Choose it if there are no labels and features are correlated or in different units. The transformed
    samples have covariance I.

    A (nearly) singular covariance is regularized: in units in which all features have standard deviation 1,
    eigenvalues are raised to at least 1e-8 of the largest. So the metric also exists for constant or
    collinear features, and for more features than samples. A nonsingular covariance is inverted exactly, and
    the metric does not depend on the units of the features. A constant feature gets the largest standard
    deviation of all features. With fewer samples than features, directions in which the samples do not vary
    have the raised eigenvalue, so differences along them weigh most.

    Parameters
    ----------
    n_components : int, optional
        Number of leading principal components of the standardized samples to keep; all by default.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L with LᵀL = W; rows are sorted by decreasing variance of the principal component. For more
        than 5,000 features, fewer samples and all components, a `LowRankPlusDiagonal`, which is not formed in
        memory.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X is a table with column names.

    See Also
    --------
    EuclideanMetric : Keeps the features unchanged.
    GMML : Learns from labels, also in closed form.

    References
    ----------
    P. C. Mahalanobis, "On the generalized distance in statistics", Proceedings of the National Institute of
    Sciences of India 2(1), 1936.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from geodual.metric import MahalanobisMetric
    >>> X, _ = load_iris(return_X_y=True)
    >>> Z = MahalanobisMetric().fit_transform(X)
    >>> bool(np.allclose(np.cov(Z.T), np.eye(4)))
    True
    """

    _min_samples = 2

    def __init__(self, n_components: int | None = None) -> None:
        self.n_components = n_components

    def _components(self, X: Array) -> Array | LowRankPlusDiagonal:
        Z, n_features = centered(X) / np.sqrt(len(X) - 1), X.shape[1]
        if len(X) >= n_features:
            return inverse_root(Z.T @ Z)[: self.n_components]
        if self.n_components is None and n_features > MANY_FEATURES:
            return low_rank_inverse_root(Z)
        return inverse_root_in_span(Z, self.n_components or n_features)
