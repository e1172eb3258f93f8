"""RPDML for similar and dissimilar pairs instead of labeled samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array

from ..base.checks import check_iteration, check_not_negative, check_positive, iteration_budget
from ..base.pair_classifier import PairClassifier
from ..losses import PairLoss, SquaredHinge
from ..program.incremental import partial_fit, step_certificates
from ..program.pair_fit import fit_to_pairs


class PairRPDML(PairClassifier):
    r"""`RPDML` for given pairs: a learned metric, and a classifier of pairs as similar or dissimilar.

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
        C₂ ≥ 0, the weight of −½‖λ‖² in the regularized Lagrangian, eq. (2) of the paper. Positive values
        weaken the constraints; 0 gives the program above.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        W₀: the identity, the inverse covariance of the samples in the pairs (regularized if singular), or a
        given positive definite matrix.
    percentiles : (float, float)
        Percentiles of the squared distances of the given pairs under the prior that give u and l.
    bounds : (float, float), optional
        The bounds (u, l) on squared distances, 0 < u < l. By default they are derived from `percentiles`.
    tol : float
        Stop when the relative duality gap is at most `tol`.
    max_iter : int, optional
        Maximum number of iterations; 500 by default.
    n_components : int, optional
        Number of rows of `components_`: keep this number of leading eigenvectors of W. All are kept by
        default.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up pairs given as indices: rows of an array, or a function from an array of indices to an
        array of samples. By default, pairs must be samples.

    Attributes
    ----------
    threshold_ : float
        Pairs with at most this distance are predicted as similar. `fit` maximizes the accuracy on its pairs.
    classes_ : array
        −1 and +1, for dissimilar and similar pairs.
    W_ : array of shape (n_features, n_features)
        The learned matrix. Like `components_`, it is a `LowRankPlusDiagonal`, which is exact but not formed
        in memory, for more than 5,000 features and fewer samples.
    components_ : array of shape (n_components, n_features)
        The map L with LᵀL = W, or its best approximation of rank `n_components`.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    duality_gap_, objective_, dual_objective_ : float
        The relative duality gap, the objective at W, and its lower bound over all metrics.
    bounds_ : (float, float)
        u and l.
    n_iter_, n_pairs_ : int
        Number of iterations and of pairs.
    history_ : tuple
        One record for the start and one per iteration, with the fields `objective`, `primal` and `dual` (best
        values so far), `gap`, `passes` (over the pairs) and `seconds`.
    certificates_ : tuple
        The certificate of each step, with the fields `objective`, `dual_objective`, `duality_gap`, `n_iter`
        and `n_pairs`: one after `fit`, and one more per call of `partial_fit`.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    PairITML : The same program with another loss.
    PairGMML : Closed form, no iteration.
    TripletRPDML, QuadrupletRPDML : Learn from comparisons of distances.
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

    def _check_parameters(self) -> None:
        check_positive("C", self.C)
        check_not_negative("alpha", self.alpha)
        check_iteration(self.tol, iteration_budget(self.max_iter))

    def _learn(self, X: Array, similar: NDArray[np.bool_], weight: Array) -> None:
        fit_to_pairs(self, X, similar, weight, self._pair_loss)

    def _pair_loss(self, u: float, l: float, total_weight: float) -> PairLoss:  # noqa: E741 - the paper's letter
        # Divide by the number of pairs, so that a good C does not depend on it.
        return SquaredHinge.weighted(u, l, C1=self.C / total_weight, C2=self.alpha)

    certificates_ = property(step_certificates)
    partial_fit = partial_fit
