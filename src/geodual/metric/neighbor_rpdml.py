"""NeighborRPDML: the certified program with a loss made for nearest neighbours."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from geodual.arrays import Array
from geodual.threads import blas_threads_for, product_operations

from .logdet.certificate import CertifiedMetric
from .logdet.components import factor
from .logdet.learner import LogDetLearner
from .logdet.program import LogDetProgram
from .logdet.samples import LabelledRows, Samples
from .logdet.solution import iteration_printer, keep_solution, warn_unless_converged
from .logdet.space import Space, choose_space
from .logdet.within_prior import within_space
from .pairs.local_pairs import LocalPairs
from .pairs.neighbourhoods import Neighbourhoods, neighbour_widths
from .pairs.pair_loss import NoPairLoss, PairLoss
from .parameter_checks import check_positive, check_share
from .scatter import distinct_rows

_EARLIER = (0.01, 0.03, 0.1, 0.3)  # weights, relative to C, of earlier fits that only find the neighbours
_ROUGH = 0.1  # relative gap of earlier fits


class NeighborRPDML(LogDetLearner):
    r"""RPDML for nearest neighbours: the near samples of each class compete for each sample.

    Choose it if the metric is for classification by nearest neighbours. Sample i would
    take its class from its neighbour j with the probability :math:`p_{ij} \propto \exp(-d_{ij}/\tau_i)`,
    where :math:`d_{ij}` is the squared distance and :math:`\tau_i` a width. With fixed targets
    :math:`q_{ij}`, which are such probabilities among the neighbours of the right class, it solves

    .. math:: \min_{W \succ 0} \tfrac12 D(W, W_0) + \frac{C}{N} \sum_i \Bigl[\sum_j q_{ij}
              \frac{d_{ij}(W)}{\tau_i} + \log \sum_j \exp\Bigl(-\frac{d_{ij}(W)}{\tau_i}\Bigr)\Bigr],

    where D(W, W₀) = tr(WW₀⁻¹) − log det(WW₀⁻¹) − n is the LogDet divergence. The sum bounds the negative log
    likelihood of the classes from above, and the program is convex. Neighbours and targets are found five
    times: under the prior, and under metrics learnt with C/100, C/33, C/10 and C/3. The last fit stops when
    the duality gap proves that its objective is optimal to a relative error of `tol`. If there are more
    features than samples, the program is solved in the span of the samples.

    Unlike `RPDML`, it takes dense arrays only, and neither links nor weights of pairs.

    Neighbourhood components analysis has nearly the same loss, but no prior and no certificate: its program
    is not convex.

    Parameters
    ----------
    C : float
        Weight of the mean loss. Larger values follow the classes more closely, smaller ones the prior. Useful
        values are 100 to 10,000.
    prior : "within", "identity", "covariance" or array of shape (n_features, n_features)
        W₀: the inverse of a shrunk covariance within the classes; the identity; the inverse covariance of the
        samples (regularised if singular); or a given positive definite matrix.
    shrinkage : float
        Of the prior "within", 0 < s ≤ 1: share of independent features of equal variance, mixed into the
        covariance within the classes. With 1 the prior is the Euclidean distance of standardised features.
    pairs : "local" or LocalPairs
        The neighbours of each sample. "local": its 5 nearest in its class and its 15 nearest in other
        classes; equal samples of a class are one neighbour. ``LocalPairs(3, 9)``: other numbers.
    tol : float
        Stop when the relative duality gap is at most `tol`.
    max_iter : int, optional
        Maximal number of iterations; 500 by default.
    n_components : int, optional
        Number of rows of `components_`: keep this number of leading eigenvectors of W. All are kept by
        default.
    verbose : int
        1 prints a line per iteration, 0 nothing.

    Attributes
    ----------
    W_ : array of shape (n_features, n_features)
        The learnt matrix.
    components_ : array of shape (n_components, n_features)
        The map L with LᵀL = W, or its best approximation of rank `n_components`.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    duality_gap_ : float
        Relative duality gap, an upper bound on the relative error of the objective.
    objective_ : float
        The objective above at W, for the neighbours and targets of the last fit.
    dual_objective_ : float
        Lower bound on `objective_` for any metric.
    n_iter_ : int
        Number of iterations of all fits.
    n_pairs_ : int
        Number of samples and neighbours of the last fit.
    history_ : tuple
        One record for the start and one per iteration of the last fit, with the fields `objective`, `primal`
        and `dual` (best values so far), `gap`, `passes` (over the neighbours) and `seconds`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X is a table with column names.

    See Also
    --------
    RPDML : Bounds on the distances of pairs, the learner of the paper.
    LMNN : Another loss for nearest neighbours: margins.
    LocalPairs : Numbers of neighbours.

    References
    ----------
    J. Goldberger, S. Roweis, G. Hinton, R. Salakhutdinov, "Neighbourhood components analysis", Advances in
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

    _takes_sparse = False

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

    def _check_parameters(self) -> None:
        check_positive("C", self.C)
        check_positive("shrinkage", self.shrinkage)
        check_share("shrinkage", self.shrinkage)
        if self._local is None:
            raise ValueError(f'`pairs` must be "local" or LocalPairs, got {self.pairs!r}.')
        if not self._local.is_exact:
            raise ValueError(f'`pairs` must have the index "exact" here, got {self.pairs!r}.')
        if isinstance(self.prior, str) and self.prior not in ("within", "identity", "covariance"):
            raise ValueError(
                f'`prior` must be "within", "identity", "covariance" or a matrix, got {self.prior!r}.'
            )

    def _pair_loss(self, u: float, l: float, total_weight: float) -> PairLoss:  # noqa: E741 - the paper's letter
        return NoPairLoss()

    def _learn(self, samples: Samples, start: Array | None = None) -> Self:
        if samples.links is not None:
            raise ValueError(
                "`must_link` and `cannot_link` have no effect on NeighborRPDML, which makes no pairs; use "
                "RPDML."
            )
        used = _sorted(samples)
        X = samples.X[used.rows]
        if not (np.bincount(used.labels) > 1).any():
            raise ValueError(
                "No class has two different samples, so there are no neighbours to learn from; check `y`."
            )
        with blas_threads_for(product_operations(X.shape[0], X.shape[1], min(X.shape))):
            space: Space
            if isinstance(self.prior, str) and self.prior == "within":
                space = within_space(X, used.labels, used.weight, self.shrinkage)
            else:
                space = choose_space(self.prior, X, used.weight)
            width = neighbour_widths(space.Z, self._counts[0])
            W, n_iter = space.prior if start is None else space.lower(start), 0
            for share in _EARLIER if start is None else ():
                left = self._budget - n_iter
                found = self._fit_once(space, used, width, W, share * self.C, max(self.tol, _ROUGH), left)[0]
                W, n_iter = found.W, n_iter + found.n_iter
            found, n_pairs = self._fit_once(space, used, width, W, self.C, self.tol, self._budget - n_iter)
        warn_unless_converged(self, found, n_iter)
        keep_solution(self, space, found, samples.X, samples.weight)
        self.n_iter_, self.n_pairs_ = max(n_iter + found.n_iter, 1), n_pairs
        return self

    @property
    def _counts(self) -> tuple[int, int]:
        """Numbers of similar and of dissimilar neighbours."""
        local = self._local or LocalPairs()
        return local.n_similar, local.n_dissimilar

    def _fit_once(
        self, space: Space, used: LabelledRows, width: Array, W: Array, C: float, tol: float, max_iter: int
    ) -> tuple[CertifiedMetric, int]:
        """Return the best metric for the neighbours and targets under W, and the number of neighbours."""
        near = Neighbourhoods.find(space.X @ factor(W), used.labels, self._counts, width, used.weight, C)
        program = LogDetProgram(space.X, near, NoPairLoss(), space.prior_inverse)
        return program.solve(W, tol, max_iter, iteration_printer(self, self.verbose)), near.n_pairs


def _sorted(samples: Samples) -> LabelledRows:
    """Return the distinct labelled samples by class, in an order that does not depend on the order of rows.

    So repeated rows, weights and other orders of the samples lead to the same steps of the solver.
    """
    used = samples.distinct_by_class()
    order = np.lexsort((distinct_rows(samples.X[used.rows])[1], used.labels))
    weight = None if used.weight is None else used.weight[order]
    return LabelledRows(used.rows[order], used.labels[order], weight)
