"""RPDML for pairs that are known to be similar or not, instead of labelled samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.threads import blas_threads_for, product_operations

from .base import check_iteration, check_not_negative, check_positive
from .logdet.bounds import choose_bounds
from .logdet.program import MAX_ITER, LogDetProgram
from .logdet.solution import keep_solution, warn_unless_converged
from .logdet.space import choose_space
from .pairs.pair_classifier import PairClassifier, check_calibration_params
from .pairs.pair_list import PairList, chunk_operations
from .pairs.pair_loss import SquaredHinge
from .pairs.weights import check_pair_weight, copy_weight


class PairRPDML(PairClassifier):
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
    classes_ : array
        −1 and +1, for dissimilar and similar pairs.
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

    def fit(
        self, pairs: Any, y: Any = None, sample_weight: Any = None, calibration_params: Any = None
    ) -> PairRPDML:
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
        check_positive("C", self.C)
        check_not_negative("alpha", self.alpha)
        check_iteration(self.tol, self._budget)
        weight = check_pair_weight(sample_weight, len(pairs), "sample_weight")
        # A pair without weight must not move the percentiles or the threshold.
        pairs, similar, weight = pairs[weight > 0.0], similar[weight > 0.0], weight[weight > 0.0]
        X = pairs.reshape(-1, pairs.shape[2])
        self.n_features_in_ = X.shape[1]
        self._fit(X, similar, weight)
        self._set_threshold(pairs, similar, weight, calibration)
        return self

    @property
    def _budget(self) -> int:
        return MAX_ITER if self.max_iter is None else self.max_iter

    def _fit(self, X: Array, similar: NDArray[np.bool_], weight: Array) -> None:
        # Rows 2k and 2k + 1 are the samples of pair k.
        sample_weight, n_features = np.repeat(weight, 2), X.shape[1]
        with blas_threads_for(product_operations(len(X), n_features, min(X.shape))):
            space = choose_space(self.prior, X, sample_weight)
        with blas_threads_for(chunk_operations(space.X.shape[1])):
            V = space.Z[::2] - space.Z[1::2]
            distances = np.einsum("kf,kf->k", V, V) if self.bounds is None else None
            counts = weight / copy_weight(weight)
            self.bounds_ = choose_bounds(self.bounds, self.percentiles, distances, counts, "pairs")
            pairs = PairList(np.arange(len(X)).reshape(-1, 2), similar, weight)
            loss = SquaredHinge.weighted(*self.bounds_, C1=self.C / pairs.total_weight, C2=self.alpha)
            program = LogDetProgram(space.X, pairs, loss, space.prior_inverse)
            found = program.solve(space.prior, self.tol, self._budget)
        warn_unless_converged(self, found)
        with blas_threads_for(product_operations(n_features, min(X.shape), n_features)):
            W = space.lift(found.W)
            self._set_metric(space.components(found.W, W, self.n_components), X, sample_weight)
        keep_solution(self, replace(found, W=W), found.n_iter, pairs.n_pairs)
