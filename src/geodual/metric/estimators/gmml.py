"""GMML: geometric mean metric learning, in closed form over all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.cluster import is_dask
from geodual.threads import blas_threads_for, product_operations

from ..base.checks import UNKNOWN, check_sample_weight, warn_of_unknown
from ..base.metric_learner import MetricLearner
from ..base.scatter import pair_scatters
from ..geometric_mean import GeometricMean
from ..geometry.sample_blocks import SampleBlocks, load_samples
from ..program.cluster_fit import check_before_loading


class GMML(MetricLearner):
    r"""Geometric mean metric learning: a metric from labels in closed form, in milliseconds.

    Choose it for a fast first result: it does not iterate, and has hardly anything to tune. It treats all
    pairs alike; `RPDML` and `LMNN` can concentrate on the pairs that matter for nearest neighbors.

    Let S and D be the sums of (x − x′)(x − x′)ᵀ over all similar and all dissimilar pairs. The minimizer of
    tr(AS) + tr(A⁻¹D) solves A S A = D; it is the geometric mean of S⁻¹ and D. The weighted mean is

    .. math:: A = S^{-1} \,\#_t\, D = S^{-1/2} (S^{1/2} D S^{1/2})^t S^{-1/2}.

    The sums over all pairs are computed from the scatter matrices of the classes, without forming any pair.
    A (nearly) singular S or D is regularized: in units in which all features scatter equally, eigenvalues are
    raised to at least 1e-8 of the largest. With fewer samples than features, both are zero outside the span
    of the samples. The mean is then computed in the span, where eigenvalues are raised in the units of the
    features, and A is a multiple of the identity outside it.

    Parameters
    ----------
    t : float
        Position on the geodesic from S⁻¹ (t = 0, similar pairs only) to D (t = 1, dissimilar pairs only);
        0.5 is the geometric mean.
    reg : float
        λ ≥ 0 of the regularized sums S + λ A₀⁻¹ and D + λ A₀. The sums grow with the number of pairs, so λ
        must grow with it to have the same effect. 0 means no regularization toward A₀.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        A₀: the identity, the inverse covariance of the samples, or a given positive definite matrix. It has
        an effect only if `reg` is positive.
    n_components : int, optional
        Number of leading eigenvectors of A to keep; all by default.

    Attributes
    ----------
    W_ : array of shape (n_features, n_features)
        The learned matrix A. For more than 5,000 features and fewer samples, a `LowRankPlusDiagonal`, which
        is not formed in memory.
    components_ : array of shape (n_components, n_features)
        The map L with LᵀL = A, or its best approximation of rank `n_components`; of the same kind as `W_`.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X is a table with column names.

    See Also
    --------
    RPDML : Bounds the distances of pairs; with ``pairs="local"`` often better for nearest neighbors.
    PairGMML : Learns from similar and dissimilar pairs, without class labels.
    LMNN : Optimizes the margin around nearest neighbors.
    MahalanobisMetric : Needs no labels.

    References
    ----------
    P. H. Zadeh, R. Hosseini, S. Sra, "Geometric mean metric learning", International Conference on Machine
    Learning, 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from geodual.metric import GMML
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), GMML(), KNeighborsClassifier())
    >>> round(float(cross_val_score(model, X, y).mean()), 2)
    0.99
    """

    _takes_sparse = True

    def __init__(
        self, t: float = 0.5, reg: float = 0.0, prior: Any = "identity", n_components: int | None = None
    ) -> None:
        self.t = t
        self.reg = reg
        self.prior = prior
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> GMML:
        """Learn a metric from labeled samples.

        Parameters
        ----------
        X : array, sparse array or dask array of shape (n_samples, n_features)
            Samples. A dask array stays on the workers of Dask's active client.
        y : array of shape (n_samples,)
            Class labels of any type. −1 means unknown if there are at least two other labels: such samples
            form no pairs, but count for the covariance of `prior`.
        sample_weight : array of shape (n_samples,), optional
            Weight of each sample; 1 by default. The weight of a pair is the product of its samples' weights.

        Returns
        -------
        self
        """
        mean = GeometricMean(self.t, self.reg, self.prior, self.n_components)
        if is_dask(X):
            mean.check()
            check_before_loading(X, self.prior if self.reg > 0.0 else "identity", self.n_components)
            return self._fit_on_cluster(mean, load_samples(self, X, y, sample_weight))
        X, labels = self._validate_all(X, y)
        weight = check_sample_weight(sample_weight, X)
        mean.check()
        warn_of_unknown(labels[weight > 0.0])
        known = labels != UNKNOWN
        if len(np.unique(labels[known & (weight > 0.0)])) < 2:
            raise ValueError("`sample_weight` must be positive for samples of at least two classes.")
        n_samples, n_features = X.shape
        with blas_threads_for(product_operations(min(X.shape), n_samples, n_features)):
            self.W_, L = mean.solve(
                X, lambda Z: pair_scatters(Z[known], labels[known], weight[known]), weight
            )
            self._set_metric(L, X, weight)
        return self

    def _fit_on_cluster(self, mean: GeometricMean, blocks: SampleBlocks) -> GMML:
        # Prior and importances depend only on the covariance, so a few samples can represent all.
        few = blocks.standing_for_all()
        self.W_, L = mean.solve(few, lambda Z: blocks.labeled().pair_scatters(), np.ones(len(few)))
        self._set_metric(L, few)
        return self
