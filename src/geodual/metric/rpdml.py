"""RPDML: the metric learner of the paper, Section IV, with a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.optimize.primal_dual import StepRule

from .certificate import CertifiedMetric
from .certified_learner import CertifiedLearner
from .logdet_learner import LogDetLearner
from .pair_loss import SquaredHinge
from .pairs import Pairs
from .paper_updates import ERRATA, solve_by_paper_updates

_PAPER_MAX_ITER = 1000


class HingeLearner(CertifiedLearner):
    """A learner with the loss of the paper, weighted by `C` and `alpha`."""

    C: float
    alpha: float

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not 0.0 < self.C < np.inf:
            raise ValueError(f"`C` must be positive, got {self.C}.")
        if not 0.0 <= self.alpha < np.inf:
            raise ValueError(f"`alpha` must not be negative, got {self.alpha}.")

    def _loss(self, u: float, l: float, total_weight: float) -> SquaredHinge:  # noqa: E741
        C1 = self.C / total_weight
        return SquaredHinge(u, l, self.alpha + u**2 / C1, self.alpha + l**2 / C1)


class RPDML(HingeLearner, LogDetLearner):
    r"""Riemannian primal-dual metric learning.

    The program of eqs. (7)–(10): with the squared distances :math:`d_k(W) = v_k^\top W v_k` of pairs, signs
    :math:`s_k` (+1 similar, −1 dissimilar) and bounds :math:`b_k` (u or l),

    .. math:: \min_{W \succ 0,\ \xi \ge 0} \tfrac12 D(W, W_0) + \tfrac{C_1}{2}\|\xi\|^2
              \quad\text{s.t.}\quad s_k (d_k(W) - b_k) \le b_k \xi_k,

    where D is the LogDet divergence. Its saddle point is unique; the fit stops when the duality gap proves
    that the objective is optimal to a relative error of `tol`.

    Parameters
    ----------
    C : float
        Weight of the violations, per pair on average: C₁ = C/m. Useful values are 1 to 10,000.
    alpha : float
        C₂ of the regularised Lagrangian; 0 gives the program above.
    prior : "identity", "covariance" or array
        W₀: I, the inverse covariance (shrunk if singular), or a given matrix.
    pairs : "all", "local", int or array of shape (n_pairs, 2)
        All pairs of samples; the nearest neighbours of the same and of other classes (found again once under
        the learnt metric), which serves k-NN best; so many sampled pairs, half of each kind; or given ones.
    percentiles : (float, float)
        u and l are these percentiles of the squared distances of all samples under the prior.
    bounds : (float, float), optional
        u and l themselves.
    solver : "certified" or "paper"
        Newton-CG on the reduced program, or the updates (1)–(4) of Section IV.
    step : "sqrt", float or callable
        ηₜ of the updates: 1/√(t+1), a constant, or a function of t.
    errata : "corrected" or "printed"
        Whether the updates are as in docs/errata.md or as in print.
    tol : float
        Relative duality gap to reach.
    max_iter : int, optional
        Bound on all iterations: 500 by default, 1,000 for the paper's updates.
    n_components : int, optional
        Rank of the transformation; all by default.
    random_state : int or RandomState, optional
        For sampled pairs, and for the bounds of very many samples.
    verbose : int
        1 prints a line an iteration.

    Attributes
    ----------
    W_ : array of shape (n_features, n_features)
        W.
    components_ : array of shape (n_components, n_features)
        L with W = LᵀL, or of lower rank.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed training data; they sum to one.
    duality_gap_, objective_, dual_objective_ : float
        The relative gap, the objective of W, and the lower bound that certifies it.
    bounds_ : (float, float)
        u and l.
    bounds_are_exact_ : bool
        Whether they come from all pairs rather than a sample.
    n_iter_, n_pairs_ : int
        Iterations, with local pairs those of both fits, and pairs.
    history_ : tuple of CertifiedIteration
        Objective, the best primal and dual so far, gap, passes over the pairs and seconds, for the start and
        each iteration; with local pairs for the second fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from geodual.metric import RPDML
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = RPDML(C=10.0).fit(X, y)
    >>> learner.duality_gap_ <= 1e-6, learner.transform(X).shape
    (True, (150, 4))
    """

    def __init__(
        self,
        C: float = 100.0,
        alpha: float = 0.0,
        prior: Any = "identity",
        pairs: Any = "all",
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

    def _check_parameters(self) -> None:
        if self.solver not in ("certified", "paper"):
            raise ValueError(f'`solver` must be "certified" or "paper", got {self.solver!r}.')
        if self.errata not in ERRATA:
            raise ValueError(f'`errata` must be "corrected" or "printed", got {self.errata!r}.')
        super()._check_parameters()

    @property
    def _budget(self) -> int:
        return _PAPER_MAX_ITER if self.solver == "paper" and self.max_iter is None else super()._budget

    def _solve(
        self, X: Array, pairs: Pairs, prior_inverse: Array, start: Array, max_iter: int
    ) -> CertifiedMetric:
        if self.solver == "certified":
            return super()._solve(X, pairs, prior_inverse, start, max_iter)
        return solve_by_paper_updates(
            X,
            pairs,
            self._loss(*self.bounds_, pairs.total_weight),
            prior_inverse,
            start,
            C1=self.C / pairs.total_weight,
            C2=self.alpha,
            step=self.step,
            errata=self.errata,
            tol=self.tol,
            max_iter=max_iter,
            report=self._report,
        )
