"""RPDML: the metric learner of Section IV of the paper, with a certificate of optimality."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import validate_data

from geodual.arrays import Array
from geodual.optimize.primal_dual import StepRule

from ..base.checks import check_not_negative, check_positive
from ..geometry.pair_set import Pairs
from ..losses import SquaredHinge
from ..program.certificate import CertifiedMetric, iteration_printer
from ..program.incremental import partial_fit, step_certificates
from ..program.paper_updates import ERRATA, solve_by_paper_updates
from .logdet_learner import LogDetLearner

_PAPER_MAX_ITER = 1000  # a first-order method: its iterations are cheaper, but it needs more of them


class RPDML(LogDetLearner):
    r"""Riemannian primal-dual metric learning: similar pairs closer than u, dissimilar ones farther than l.

    Choose it to learn a metric from class labels, for nearest neighbors (``pairs="local"``) or for all
    distances at once (``pairs="all"``, which needs little memory).

    With the squared distances :math:`d_k(W) = v_k^\top W v_k` of the pairs, signs :math:`s_k` (+1 similar, −1
    dissimilar) and bounds :math:`b_k` (u similar, l dissimilar), it solves eqs. (7)–(10) of the paper,

    .. math:: \min_{W \succ 0,\ \xi \ge 0} \tfrac12 D(W, W_0) + \tfrac{C_1}{2}\|\xi\|^2
              \quad\text{s.t.}\quad s_k (d_k(W) - b_k) \le b_k \xi_k,

    where D(W, W₀) = tr(WW₀⁻¹) − log det(WW₀⁻¹) − n is the LogDet divergence. The program is convex; the fit
    stops when the duality gap proves that the objective is optimal to a relative error of `tol`. If there are
    more features than samples, the program is solved in the span of the samples; outside it, W equals W₀.

    Parameters
    ----------
    C : float
        Weight of the violations: C₁ = C/m, where m is the number of pairs. Larger values follow the pairs
        more closely, smaller ones the prior. Useful values are 1 to 10,000.
    alpha : float
        C₂ ≥ 0, the weight of −½‖λ‖² in the regularized Lagrangian, eq. (2) of the paper. Positive values
        weaken the constraints; 0 gives the program above.
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
    solver : "certified" or "paper"
        Newton-CG on the program without ξ, or the updates (1)–(4) of Section IV of the paper, which are slow.
    step : "sqrt", float or callable
        Step size ηₜ of the paper's updates: 1/√(t+1), a constant, or a function of t.
    errata : "corrected" or "printed"
        The paper's updates with the corrections of docs/errata.md, or as printed.
    tol : float
        Stop when the relative duality gap is at most `tol`.
    max_iter : int, optional
        Maximum number of iterations; by default 500, or 1,000 for the paper's updates.
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
        The smallest objective above over ξ, at W; with a positive `alpha`, of the regularized program.
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
    certificates_ : tuple
        The certificate of each step, with the fields `objective`, `dual_objective`, `duality_gap`, `n_iter`
        and `n_pairs`: one after `fit`, and one more per call of `partial_fit`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X is a table with column names.

    See Also
    --------
    NeighborRPDML : For classification by nearest neighbors.
    LocalPairs : Numbers of neighbors for local pairs.
    PairRPDML : Learns from similar and dissimilar pairs, without class labels.
    TripletRPDML, QuadrupletRPDML : Learn from comparisons of distances.
    ITML : The same program with another loss.
    LMNN : Optimizes the margin around nearest neighbors.
    GMML : Closed form, no iteration.

    References
    ----------
    S. Wang, B. Zhu, L. Ma, Y. Qi, "A Riemannian primal-dual algorithm based on proximal operator and its
    application in metric learning".

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from geodual.metric import RPDML
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), RPDML(), KNeighborsClassifier())
    >>> round(float(cross_val_score(model, X, y).mean()), 2)
    0.98
    >>> model.fit(X, y)[1].duality_gap_ <= 1e-6
    True
    """

    def __init__(
        self,
        C: float = 100.0,
        alpha: float = 0.0,
        prior: Any = "identity",
        pairs: Any = "local",
        percentiles: tuple[float, float] = (5, 95),
        bounds: tuple[float, float] | None = None,
        solver: str = "certified",
        step: StepRule = "sqrt",
        errata: str = "corrected",
        tol: float = 1e-6,
        max_iter: int | None = None,
        n_components: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.alpha = alpha
        self.prior = prior
        self.pairs = pairs
        self.percentiles = percentiles
        self.bounds = bounds
        self.solver = solver
        self.step = step
        self.errata = errata
        self.tol = tol
        self.max_iter = max_iter
        self.n_components = n_components
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_positive("C", self.C)
        check_not_negative("alpha", self.alpha)
        if self.solver not in ("certified", "paper"):
            raise ValueError(f'`solver` must be "certified" or "paper", got {self.solver!r}.')
        if self.errata not in ERRATA:
            raise ValueError(f'`errata` must be "corrected" or "printed", got {self.errata!r}.')

    def _pair_loss(self, u: float, l: float, total_weight: float) -> SquaredHinge:  # noqa: E741
        # Divide by the number of pairs, so that a good C does not depend on it.
        return SquaredHinge.weighted(u, l, C1=self.C / total_weight, C2=self.alpha)

    @property
    def _budget(self) -> int:
        return _PAPER_MAX_ITER if self.solver == "paper" and self.max_iter is None else super()._budget

    @property
    def _may_reduce(self) -> bool:
        # The updates of the paper stay as printed.
        return self.solver == "certified"

    def _solve(
        self, X: Array, pairs: Pairs, prior_inverse: Array, start: Array, max_iter: int
    ) -> CertifiedMetric:
        """Solve by the certified solver or, if requested, by the updates of the paper."""
        if self.solver == "certified":
            return super()._solve(X, pairs, prior_inverse, start, max_iter)
        return solve_by_paper_updates(
            X,
            pairs,
            self._pair_loss(*self.bounds_, pairs.total_weight),
            prior_inverse,
            start,
            C1=self.C / pairs.total_weight,
            C2=self.alpha,
            step=self.step,
            errata=self.errata,
            tol=self.tol,
            max_iter=max_iter,
            report=iteration_printer(self, self.verbose),
        )

    certificates_ = property(step_certificates)
    partial_fit = partial_fit

    def _check_features(self, X: Any) -> None:
        validate_data(self, X, reset=False, skip_check_array=True)
