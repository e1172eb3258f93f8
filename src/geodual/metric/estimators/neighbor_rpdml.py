"""NeighborRPDML: the certified program with a loss for nearest neighbors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from geodual.cluster import is_dask
from geodual.old_names import OldName
from geodual.threads import blas_threads_for, product_operations

from ..base.checks import (
    check_iteration,
    check_positive,
    check_sample_weight,
    check_share,
    iteration_budget,
    warn_of_unknown,
)
from ..base.maps import factor
from ..base.metric_learner import MetricLearner
from ..program.certificate import CertifiedMetric, iteration_printer, keep_solution, warn_unless_converged
from ..program.logdet_program import LogDetProgram
from ..program.space import Space, choose_space, dense_rows, stays_sparse, within_space
from ..selection.local_pairs import LocalPairs
from ..selection.samples import LabeledRows, Samples
from ..terms.neighbor_term import NeighborTerm, neighbor_widths

_EARLIER = (0.01, 0.03, 0.1, 0.3)  # weights, relative to C, of earlier fits that only serve to find neighbors
_ROUGH = 0.1  # relative gap of earlier fits


class NeighborRPDML(MetricLearner):
    r"""RPDML for nearest neighbors: the nearby samples of each class compete for each sample.

    Choose it if the metric is for classification by nearest neighbors. Sample i would take its class from
    its neighbor j with the probability :math:`p_{ij} \propto \exp(-d_{ij}/\tau_i)`,
    where :math:`d_{ij}` is the squared distance and :math:`\tau_i` a width. With fixed targets
    :math:`q_{ij}`, which are such probabilities among the neighbors of the right class, it solves

    .. math:: \min_{W \succ 0} \tfrac12 D(W, W_0) + \frac{C}{N} \sum_i \Bigl[\sum_j q_{ij}
              \frac{d_{ij}(W)}{\tau_i} + \log \sum_j \exp\Bigl(-\frac{d_{ij}(W)}{\tau_i}\Bigr)\Bigr],

    where D(W, W₀) = tr(WW₀⁻¹) − log det(WW₀⁻¹) − n is the LogDet divergence. The sum is an upper bound of the
    negative log-likelihood of the classes, and the program is convex. Neighbors and targets are found five
    times: under the prior, and under metrics learned with C/100, C/33, C/10 and C/3. The last fit stops when
    the duality gap proves that its objective is optimal to a relative error of `tol`. If there are more
    features than samples, the program is solved in the span of the samples.

    Unlike `RPDML`, it does not support dask arrays, links or weights of pairs.

    Neighborhood components analysis has almost the same loss, but no prior and no certificate: its program is
    not convex.

    Parameters
    ----------
    C : float
        Weight of the mean loss. Larger values follow the classes more closely, smaller ones the prior. Useful
        values are 100 to 10,000.
    prior : "within", "identity", "covariance" or array of shape (n_features, n_features)
        W₀: the inverse of a shrunk covariance within the classes; the identity; the inverse covariance of the
        samples (regularized if singular); or a given positive definite matrix.
    shrinkage : float
        For the prior "within", 0 < s ≤ 1: share of independent features of equal variance, mixed into the
        covariance within the classes. With 1, the prior is the Euclidean distance of standardized features.
    pairs : "local" or LocalPairs
        The neighbors of each sample. "local": the 5 nearest in its class and the 15 nearest in other classes;
        equal samples of a class are one neighbor. ``LocalPairs(3, 9)``: other numbers. With more than 100,000
        samples, a part represents all; see `LocalPairs`.
    tol : float
        Stop when the relative duality gap is at most `tol`.
    max_iter : int, optional
        Maximum number of iterations; 500 by default.
    n_components : int, optional
        Number of rows of `components_`: keep this number of leading eigenvectors of W. All are kept by
        default.
    verbose : int
        1 prints a line per iteration, 0 nothing.

    Attributes
    ----------
    W_ : array of shape (n_features, n_features)
        The learned matrix.
    components_ : array of shape (n_components, n_features)
        The map L with LᵀL = W, or its best approximation of rank `n_components`.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    duality_gap_ : float
        Relative duality gap, an upper bound on the relative error of the objective.
    objective_ : float
        The objective above at W, for the neighbors and targets of the last fit.
    dual_objective_ : float
        Lower bound on `objective_` over all metrics.
    neighbors_are_exact_ : bool
        False if neighbors were found with an approximate index.
    n_anchors_ : int
        Number of samples whose neighbors count. With up to 100,000 samples, these are all distinct samples;
        with more, a random part, whose mean loss represents that of all.
    n_iter_ : int
        Number of iterations of all fits.
    n_pairs_ : int
        Number of pairs of samples and neighbors in the last fit.
    neighbors_ : array of shape (n_pairs, 2)
        Row numbers of the samples i and their neighbors j in the last fit; the first of equal samples.
    targets_, widths_ : array of shape (n_pairs,)
        :math:`q_{ij}` and :math:`\tau_i`. With these and `counts_`, you can check the certificate
        independently, as the documentation shows.
    counts_ : array of shape (n_samples,)
        Weight of each sample in the fit: 1, or the total weight of all its copies; 0 if it is not used.
    prior_ : array of shape (n_features, n_features)
        W₀.
    history_ : tuple
        One record for the start and one per iteration of the last fit, with the fields `objective`, `primal`
        and `dual` (best values so far), `gap`, `passes` (over the neighbors) and `seconds`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X is a table with column names.

    See Also
    --------
    FeatureWeights : The same loss for weights of features.
    RPDML : Bounds the distances of pairs, the learner of the paper.
    LMNN : Another loss for nearest neighbors: margins.
    LocalPairs : Numbers of neighbors, and how they are found.

    References
    ----------
    J. Goldberger, S. Roweis, G. Hinton, R. Salakhutdinov, "Neighborhood components analysis", Advances in
    Neural Information Processing Systems 17, 2004.

    A. Globerson, S. Roweis, "Metric learning by collapsing classes", Advances in Neural Information
    Processing Systems 18, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from geodual.metric import NeighborRPDML
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), NeighborRPDML(), KNeighborsClassifier())
    >>> round(float(cross_val_score(model, X, y).mean()), 2)
    0.98
    >>> model.fit(X, y)[1].duality_gap_ <= 1e-6
    True
    """

    _takes_sparse = True

    neighbours_ = OldName("neighbors_")

    def __init__(
        self,
        C: float = 3000.0,
        prior: Any = "within",
        shrinkage: float = 0.5,
        pairs: Any = "local",
        tol: float = 1e-6,
        max_iter: int | None = None,
        n_components: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.prior = prior
        self.shrinkage = shrinkage
        self.pairs = pairs
        self.tol = tol
        self.max_iter = max_iter
        self.n_components = n_components
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn a metric from labeled samples.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Samples. Sparse samples save memory if there are fewer samples than features, more than 5,000
            features, and the prior is "within" or "identity"; otherwise they are converted to an array.
        y : array of shape (n_samples,)
            Class labels of any type. −1 means unknown if there are at least two other labels: such samples
            are not used.
        sample_weight : array of shape (n_samples,), optional
            Weight of each sample; 1 by default.

        Returns
        -------
        self
        """
        if is_dask(X):
            raise ValueError("NeighborRPDML does not accept dask arrays; pass `X.compute()`.")
        X, labels = self._validate_all(X, y)
        local = self._check_parameters()
        weight = None if sample_weight is None else check_sample_weight(sample_weight, X)
        if issparse(X) and not (stays_sparse(X) and self._prior_takes_sparse):
            X = dense_rows(X)
        samples = Samples.of_positive_weight(X, labels, weight)
        warn_of_unknown(samples.labels)
        used = samples.distinct_in_order()
        if not (np.bincount(used.labels) > 1).any():
            raise ValueError(
                "No class has two different samples, so there are no neighbors to learn from; check `y`."
            )
        n_used, n_features = len(used.rows), X.shape[1]
        with blas_threads_for(product_operations(n_used, n_features, min(n_used, n_features))):
            space = self._space(samples.X[used.rows], used)
            found, term, n_iter = self._solve(space, used, local)
        warn_unless_converged(self, found, n_iter)
        keep_solution(self, space, found, samples.X, samples.weight)
        self.neighbors_are_exact_, self.n_anchors_ = local.is_exact, len(local.anchor_rows(used.labels))
        self.n_iter_, self.n_pairs_ = max(n_iter + found.n_iter, 1), term.n_pairs
        self.prior_ = space.lift(space.prior)
        rows = used.rows if weight is None else np.flatnonzero(weight)[used.rows]
        near = term.near
        self.neighbors_, self.targets_, self.widths_ = rows[near.pairs], near.targets, near.widths
        self.counts_ = np.zeros(len(labels))
        self.counts_[rows] = 1.0 if used.weight is None else used.weight
        return self

    def _check_parameters(self) -> LocalPairs:
        """Return the numbers of neighbors; raise an error if a parameter is not valid."""
        check_iteration(self.tol, iteration_budget(self.max_iter))
        check_positive("C", self.C)
        check_positive("shrinkage", self.shrinkage)
        check_share("shrinkage", self.shrinkage)
        local = LocalPairs.given_as(self.pairs)
        if local is None:
            raise ValueError(f'`pairs` must be "local" or LocalPairs, got {self.pairs!r}.')
        if isinstance(self.prior, str) and self.prior not in ("within", "identity", "covariance"):
            raise ValueError(
                f'`prior` must be "within", "identity", "covariance" or a matrix, got {self.prior!r}.'
            )
        return local

    @property
    def _prior_takes_sparse(self) -> bool:
        return isinstance(self.prior, str) and self.prior in ("within", "identity")

    def _space(self, X: Any, used: LabeledRows) -> Space:
        if isinstance(self.prior, str) and self.prior == "within":
            return within_space(X, used.labels, used.weight, self.shrinkage)
        return choose_space(self.prior, X, used.weight)

    def _solve(
        self, space: Space, used: LabeledRows, local: LocalPairs
    ) -> tuple[CertifiedMetric, NeighborTerm, int]:
        """Return the last of several fits with its term, and the number of iterations of the earlier ones.

        Each fit finds neighbors and targets under the metric of the previous fit, whose weight is smaller.
        """
        budget = iteration_budget(self.max_iter)
        width = neighbor_widths(space.Z, local.n_similar, local.anchor_rows(used.labels))
        W, n_iter = space.prior, 0
        for share in (*_EARLIER, 1.0):
            Z, C = space.X @ factor(W), share * self.C
            term = NeighborTerm.find(Z, used.labels, local, width, used.weight, C)
            program = LogDetProgram(space.X, term, space.prior_inverse)
            tol = self.tol if share == 1.0 else max(self.tol, _ROUGH)
            found = program.solve(W, tol, budget - n_iter, iteration_printer(self, self.verbose))
            if share < 1.0:
                W, n_iter = found.W, n_iter + found.n_iter
        return found, term, n_iter
