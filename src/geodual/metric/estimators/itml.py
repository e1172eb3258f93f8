"""ITML: information-theoretic metric learning, solved to a certified optimum."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from geodual.arrays import Array, Indices

from ..base.checks import check_positive
from ..base.scatter import distinct_rows
from ..losses import OneSidedBurg, PairLoss
from .logdet_learner import LogDetLearner


class ITML(LogDetLearner):
    r"""Information-theoretic metric learning: stay near a prior metric while bounding pair distances.

    Choose it instead of `RPDML` if there are outliers or dissimilar pairs must not collapse: its loss grows
    only linearly with the squared distance of similar pairs, and tends to infinity as that of dissimilar
    pairs tends to zero. With the squared distance :math:`d_k(W)` of pair k and its bound :math:`b_k` (u for
    similar pairs, l for dissimilar ones), it solves

    .. math:: \min_{W \succ 0,\ \xi > 0} D(W, W_0) + \gamma \sum_k D(\xi_k, b_k)
              \quad\text{s.t.}\quad d_k(W) \le \xi_k \text{ (similar) or} \ge \xi_k \text{ (dissimilar)},

    where D(W, W₀) = tr(WW₀⁻¹) − log det(WW₀⁻¹) − n is the LogDet divergence. Eliminating ξ leaves a convex
    loss per pair, and the fit stops when the duality gap proves the optimum. The cyclic Bregman projections
    of the original paper converge to the same W, but slowly. If there are more features than samples, the
    program is solved in the span of the samples; outside it, W equals W₀.

    Equal samples of different classes would have an infinite loss under any metric. Below a squared distance
    of l/10⁹, the loss of a dissimilar pair therefore continues linearly, so equal samples do not affect the
    metric.

    Parameters
    ----------
    gamma : float
        γ > 0, the weight of the violations of each pair. Larger values follow the pairs more closely, smaller
        ones the prior. The loss is a sum over pairs, so use small values (0.0001 to 0.01) for many pairs.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        W₀: the identity, the inverse covariance of the samples (regularized if singular), or a given positive
        definite matrix.
    pairs : "local", "all", LocalPairs, int or array of shape (n_pairs, 2)
        The pairs to learn from. "local": each sample with its 5 nearest neighbors in its class and its 15
        nearest in other classes, which are found again under the learned metric; equal samples of a class are
        one neighbor, and with more than 100,000 samples, a part represents all (see `LocalPairs`).
        ``LocalPairs(3, 9)``: other numbers of neighbors. "all": all pairs. A number: this many random pairs,
        half of them similar. An array: pairs of row numbers.
    percentiles : (float, float)
        Percentiles of the squared distances between all samples under the prior that give u and l.
    bounds : (float, float), optional
        The bounds (u, l) on squared distances, 0 < u < l. By default they are derived from `percentiles`.
    tol : float
        Stop when the relative duality gap is at most `tol`.
    max_iter : int, optional
        Maximum number of iterations; 500 by default.
    n_components : int, optional
        Number of rows of `components_`: keep this number of leading eigenvectors of W. All are kept by
        default.
    random_state : int or RandomState, optional
        Seed for random pairs.
    verbose : int
        1 prints a line per iteration, 0 nothing.
    n_jobs : int, optional
        Number of threads that share the work on all pairs, as in joblib; one by default. The metric does not
        depend on it.

    Attributes
    ----------
    W_ : array of shape (n_features, n_features)
        The learned matrix. Like `components_`, it takes 200 MB for 5,000 features. For more features and
        fewer samples, both are a `LowRankPlusDiagonal`, which is exact but not formed in memory.
    components_ : array of shape (n_components, n_features)
        The map L with LᵀL = W, or its best approximation of rank `n_components`.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    duality_gap_ : float
        Relative duality gap, an upper bound on the relative error of the objective.
    objective_ : float
        Half of the smallest objective above over ξ, at W.
    dual_objective_ : float
        Lower bound on `objective_` over all metrics.
    bounds_ : (float, float)
        u and l.
    bounds_are_exact_ : bool
        False if u and l were estimated from a random sample of the pairs.
    neighbors_are_exact_ : bool
        False if local pairs were found with an approximate index.
    n_anchors_ : int, or None
        Number of samples whose neighbors form the local pairs; None for other pairs. With up to 100,000
        samples, these are all distinct samples.
    n_iter_ : int
        Number of iterations; with local pairs, of both fits.
    n_pairs_ : int
        Number of pairs.
    history_ : tuple
        One record for the start and one per iteration, with the fields `objective`, `primal` and `dual` (best
        values so far), `gap`, `passes` (over the pairs) and `seconds`; with local pairs, of the second fit.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X is a table with column names.

    See Also
    --------
    RPDML : The same program with squared violations, which is faster.
    LocalPairs : Numbers of neighbors for local pairs.
    PairITML : Learns from similar and dissimilar pairs, without class labels.
    LMNN : Optimizes the margin around nearest neighbors.
    GMML : Closed form, no iteration.

    References
    ----------
    J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon, "Information-theoretic metric learning",
    International Conference on Machine Learning, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from geodual.metric import ITML
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ITML(gamma=0.001, pairs="all").fit(X, y)
    >>> learner.n_pairs_, learner.duality_gap_ <= 1e-6
    (11175, True)
    >>> similar, dissimilar = learner.pair_distance([[X[0], X[1]], [X[0], X[100]]]).tolist()
    >>> similar < dissimilar
    True
    """

    def __init__(
        self,
        gamma: float = 1.0,
        prior: Any = "identity",
        pairs: Any = "local",
        percentiles: tuple[float, float] = (5, 95),
        bounds: tuple[float, float] | None = None,
        tol: float = 1e-6,
        max_iter: int | None = None,
        n_components: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.prior = prior
        self.pairs = pairs
        self.percentiles = percentiles
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.n_components = n_components
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_positive("gamma", self.gamma)

    def _check_samples(self, X: Array, labels: Indices) -> None:
        # Count the classes of each distinct sample; more than one is a clash.
        kinds = np.unique(np.column_stack([distinct_rows(X)[1], labels]), axis=0)
        clashes = np.bincount(kinds[:, 0]) > 1
        if clashes.any():
            warnings.warn(
                f"{clashes.sum()} sample(s) have a copy in another class. No metric can separate them, so "
                "their pairs do not affect the result; check `y`.",
                UserWarning,
                stacklevel=4,  # the caller of `fit`
            )

    def _pair_loss(self, u: float, l: float, total_weight: float) -> PairLoss:  # noqa: E741
        # Half of γ, because the solver minimizes half of the objective.
        return OneSidedBurg(u, l, 0.5 * self.gamma)
