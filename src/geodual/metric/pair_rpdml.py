"""RPDML for pairs that are known to be similar or not, instead of labelled samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from geodual.arrays import Array
from geodual.threads import blas_threads_for

from .base import (
    MahalanobisMixin,
    check_iteration,
    check_not_negative,
    check_pair_array,
    check_positive,
    leading_components,
)
from .logdet.bounds import choose_bounds
from .logdet.prior import prior_matrices
from .logdet.program import MAX_ITER, LogDetProgram
from .logdet.solution import keep_solution, warn_unless_converged
from .pairs.pair_list import PairList, chunk_operations
from .pairs.pair_loss import SquaredHinge
from .pairs.selection import check_index_pairs
from .pairs.threshold import best_threshold
from .pairs.weights import check_pair_weight, copy_weight


class PairRPDML(MahalanobisMixin, BaseEstimator):
    r"""`RPDML` for given pairs: learns a metric and predicts whether two samples are similar.

    Choose it if you know which pairs of samples belong together, but have no class labels (record linkage,
    face verification). It solves the program of `RPDML` over the given pairs with signs :math:`s_k` (+1
    similar, −1 dissimilar) and bounds :math:`b_k` (u similar, l dissimilar) on their squared distances
    :math:`d_k(W)`,

    .. math:: \min_{W \succ 0,\ \xi \ge 0} \tfrac12 D(W, W_0) + \tfrac{C}{2m}\|\xi\|^2
              \quad\text{s.t.}\quad s_k (d_k(W) - b_k) \le b_k \xi_k,

    and predicts a pair as similar if its distance is at most a threshold.

    Parameters
    ----------
    C : float
        Weight of the violations, divided by the number m of pairs. Larger values follow the pairs more
        closely, smaller ones the prior. Useful values are 1 to 10,000.
    alpha : float
        C₂ ≥ 0, the weight of −½‖λ‖² in the regularised Lagrangian, eq. (2) of the paper. Positive values
        weaken the constraints; 0 gives the program above.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        W₀: the identity, the inverse covariance of the samples in the pairs (regularised if singular), or a
        given positive definite matrix.
    percentiles : (float, float)
        u and l are these percentiles of the squared distances of the given pairs under the prior.
    bounds : (float, float), optional
        The bounds (u, l) on squared distances, 0 < u < l. By default they are derived from `percentiles`.
    tol : float
        Stop when the relative duality gap is at most `tol`.
    max_iter : int, optional
        Maximal number of iterations; 500 by default.
    n_components : int, optional
        Number of rows of `components_`: keep this number of leading eigenvectors of W. All are kept by
        default.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up pairs given as indices: rows of an array, or a function from an array of indices to an
        array of samples. By default pairs must be given as samples.

    Attributes
    ----------
    threshold_ : float
        Pairs at most this far apart are predicted as similar. `fit` chooses the best accuracy on its pairs.
    W_ : array of shape (n_features, n_features)
        The learnt matrix.
    components_ : array of shape (n_components, n_features)
        The map L with LᵀL = W, or its best approximation of rank `n_components`.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    duality_gap_, objective_, dual_objective_ : float
        The relative duality gap, the objective at W, and its lower bound for any metric.
    bounds_ : (float, float)
        u and l.
    n_iter_, n_pairs_ : int
        Number of iterations and of pairs.
    history_ : tuple
        One record for the start and one per iteration, with the fields `objective`, `primal` and `dual` (best
        values so far), `gap`, `passes` (over the pairs) and `seconds`.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    RPDML : Learns from class labels.

    References
    ----------
    S. Wang, B. Zhu, L. Ma, Y. Qi, "A Riemannian primal-dual algorithm based on proximal operator and its
    application in metric learning".

    Examples
    --------
    Learn from 300 pairs of wines, and predict 200 others:

    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from geodual.metric import PairRPDML
    >>> X, y = load_wine(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> pairs = np.random.default_rng(0).permutation(np.column_stack(np.triu_indices(len(X), 1)))[:500]
    >>> similar = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    >>> learner = PairRPDML(preprocessor=X).fit(pairs[:300], similar[:300])
    >>> learner.predict(pairs[300:305]).tolist()
    [-1, 1, 1, -1, -1]
    >>> round(float((learner.predict(pairs[300:]) == similar[300:]).mean()), 2)
    0.9
    >>> round(learner.score(pairs[300:], similar[300:]), 2)  # area under the ROC curve
    0.96
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
        """Learn a metric from pairs, and the threshold of the best accuracy on them.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        y : array of shape (n_pairs,)
            +1 for similar pairs, −1 for dissimilar ones.
        sample_weight : array of shape (n_pairs,), optional
            How often each pair counts; once by default.

        Returns
        -------
        self
        """
        pairs, similar = self._samples(pairs), _check_signs(y, len(pairs))
        check_positive("C", self.C)
        check_not_negative("alpha", self.alpha)
        check_iteration(self.tol, self._budget)
        weight = check_pair_weight(sample_weight, len(pairs), "sample_weight")
        # A pair without weight must not move the percentiles or the threshold.
        pairs, similar, weight = pairs[weight > 0.0], similar[weight > 0.0], weight[weight > 0.0]
        X = pairs.reshape(-1, pairs.shape[2])
        self.n_features_in_ = X.shape[1]
        with blas_threads_for(chunk_operations(X.shape[1])):
            self._fit(X, similar, weight)
        self.threshold_ = best_threshold(self.pair_distance(pairs), similar, weight=weight)
        return self

    @property
    def _budget(self) -> int:
        return MAX_ITER if self.max_iter is None else self.max_iter

    def _fit(self, X: Array, similar: Any, weight: Array) -> None:
        X = X - X.mean(axis=0)  # distances stay the same, but products of samples lose fewer digits
        W0, prior_inverse = prior_matrices(self.prior, X, np.repeat(weight, 2))
        # Rows 2k and 2k + 1 are the samples of pair k.
        Z = X @ np.linalg.cholesky(W0)
        distances = np.sum((Z[::2] - Z[1::2]) ** 2, axis=1) if self.bounds is None else None
        counts = weight / copy_weight(weight)
        self.bounds_ = choose_bounds(self.bounds, self.percentiles, distances, counts, "pairs")
        pairs = PairList(np.arange(len(X)).reshape(-1, 2), similar, weight)
        loss = SquaredHinge.weighted(*self.bounds_, C1=self.C / pairs.total_weight, C2=self.alpha)
        found = LogDetProgram(X, pairs, loss, prior_inverse).solve(W0, self.tol, self._budget)
        warn_unless_converged(self, found)
        self._set_metric(leading_components(found.W, self.n_components), X)
        keep_solution(self, found, found.n_iter, pairs.n_pairs)

    def _samples(self, pairs: Any) -> Array:
        """Return pairs of samples; look them up if indices are given."""
        array = np.asarray(pairs)
        if array.ndim == 2 and self.preprocessor is None:
            raise ValueError("Pairs of indices need `preprocessor`; give it the samples or a function.")
        if array.ndim == 2 and callable(self.preprocessor):
            array = np.stack([self.preprocessor(array[:, 0]), self.preprocessor(array[:, 1])], axis=1)
        elif array.ndim == 2:
            samples = np.asarray(self.preprocessor)
            array = samples[check_index_pairs(array, len(samples))]
        return check_pair_array(array)

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

    def score(self, pairs: Any, y: Any) -> float:
        """Return the area under the ROC curve of the distances: 1 is perfect, 0.5 is guessing.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        y : array of shape (n_pairs,)
            +1 for similar pairs, −1 for dissimilar ones.
        """
        return float(roc_auc_score(y, self.decision_function(pairs)))

    def set_threshold(self, threshold: float) -> PairRPDML:
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
        self.threshold_ = float(threshold)
        return self

    def calibrate_threshold(
        self, pairs: Any, y: Any, strategy: str = "accuracy", min_rate: float | None = None, beta: float = 1.0
    ) -> PairRPDML:
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
            Weight of the recall in "f_beta".

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
        raise ValueError(f"`y` must hold +1 or −1 for each of the {n_pairs} pairs; +1 means similar.")
    return y > 0
