"""ITML for similar and dissimilar pairs instead of labeled samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array

from ..base.checks import check_iteration, check_positive, iteration_budget
from ..base.pair_classifier import PairClassifier
from ..losses import OneSidedBurg, PairLoss
from ..program.incremental import partial_fit, step_certificates
from ..program.pair_fit import fit_to_pairs


class PairITML(PairClassifier):
    r"""`ITML` for given pairs: a learned metric, and a classifier of pairs as similar or dissimilar.

    Choose it instead of `PairRPDML` if there are outliers or dissimilar pairs must not collapse: its loss
    grows only linearly with the squared distance of similar pairs, and tends to infinity as that of
    dissimilar pairs tends to zero. With the squared distance :math:`d_k(W)` of pair k and its bound
    :math:`b_k` (u for similar pairs, l for dissimilar ones), it solves

    .. math:: \min_{W \succ 0,\ \xi > 0} D(W, W_0) + \gamma \sum_k D(\xi_k, b_k)
              \quad\text{s.t.}\quad d_k(W) \le \xi_k \text{ (similar) or} \ge \xi_k \text{ (dissimilar)},

    where D(W, W₀) = tr(WW₀⁻¹) − log det(WW₀⁻¹) − n is the LogDet divergence, until the duality gap proves the
    optimum. It predicts a pair as similar if its distance is at most a threshold.

    Parameters
    ----------
    gamma : float
        γ > 0, the weight of the violations of each pair. Larger values follow the pairs more closely, smaller
        ones the prior. The loss is a sum over pairs, so use smaller values for more pairs.
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
        The relative duality gap, half of the objective at W, and its lower bound over all metrics.
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
    PairRPDML : The same program with squared violations.
    PairGMML : Closed form, no iteration.
    ITML : Learns from class labels.

    References
    ----------
    J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon, "Information-theoretic metric learning",
    International Conference on Machine Learning, 2007.

    Examples
    --------
    Learn from 300 pairs of wines, and predict 200 others:

    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from geodual.metric import PairITML
    >>> X, y = load_wine(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> pairs = np.random.default_rng(0).permutation(np.column_stack(np.triu_indices(len(X), 1)))[:500]
    >>> similar = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    >>> learner = PairITML(gamma=0.1, preprocessor=X).fit(pairs[:300], similar[:300])
    >>> learner.predict(pairs[300:305]).tolist()
    [-1, 1, 1, -1, -1]
    >>> round(learner.score(pairs[300:], similar[300:]), 2)  # area under the ROC curve
    0.95
    """

    def __init__(
        self,
        gamma: float = 1.0,
        prior: Any = "identity",
        percentiles: tuple[float, float] = (5, 95),
        bounds: tuple[float, float] | None = None,
        tol: float = 1e-6,
        max_iter: int | None = None,
        n_components: int | None = None,
        preprocessor: Any = None,
    ) -> None:
        self.gamma = gamma
        self.prior = prior
        self.percentiles = percentiles
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.n_components = n_components
        self.preprocessor = preprocessor

    def _check_parameters(self) -> None:
        check_positive("gamma", self.gamma)
        check_iteration(self.tol, iteration_budget(self.max_iter))

    def _learn(self, X: Array, similar: NDArray[np.bool_], weight: Array) -> None:
        fit_to_pairs(self, X, similar, weight, self._pair_loss)

    def _pair_loss(self, u: float, l: float, total_weight: float) -> PairLoss:  # noqa: E741 - the paper's letter
        # Half of γ, because the solver minimizes half of the objective.
        return OneSidedBurg(u, l, 0.5 * self.gamma)

    certificates_ = property(step_certificates)
    partial_fit = partial_fit
