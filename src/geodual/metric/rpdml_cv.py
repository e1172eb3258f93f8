"""RPDML with its weight C and the kind of pairs chosen by cross-validation."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _check_sample_weight

from geodual.arrays import Array

from .base import MetricLearner, check_whole, warn_of_unknown
from .logdet.folds import Fold, LabelledSamples, choose_folds
from .logdet.path_plot import plot_scores
from .logdet.scores import check_scoring
from .pairs.local_pairs import LocalPairs
from .rpdml import RPDML

# Copied from the best estimator.
_LEARNT = (
    "W_",
    "components_",
    "feature_importances_",
    "objective_",
    "dual_objective_",
    "duality_gap_",
    "n_iter_",
    "n_pairs_",
    "bounds_",
    "bounds_are_exact_",
    "history_",
)


class RPDMLCV(MetricLearner):
    r"""`RPDML` with its weight C and its kind of pairs chosen by cross-validation.

    Choose it if you do not know a good C: it is faster than a grid search, because each fit on the path of
    rising C starts from the last one. For each choice it solves the program of `RPDML` over m pairs with
    squared distances :math:`d_k`, signs :math:`s_k` (+1 similar, −1 dissimilar) and bounds :math:`b_k` (u
    similar, l dissimilar),

    .. math:: \min_{W \succ 0,\ \xi \ge 0} \tfrac12 D(W, W_0) + \tfrac{C}{2m}\|\xi\|^2
              \quad\text{s.t.}\quad s_k (d_k(W) - b_k) \le b_k \xi_k,

    on every training fold, scores it on the test fold, and fits the best choice to all samples.

    Parameters
    ----------
    Cs : sequence of float
        The values of C to try.
    pairs : sequence of "all", "local", LocalPairs or int
        The kinds of pairs to try: all pairs; each sample with its 5 nearest neighbours in its class and its
        15 nearest in other classes; with other numbers of neighbours; or this number of random pairs, half of
        them similar.
    scoring : "knn", "auc", other str or callable
        "knn" is the accuracy of k nearest neighbours in the learnt metric. "auc" is the area under the ROC
        curve of its distances as a test of whether two samples have the same class. Also the name of any
        scikit-learn scorer, such as "balanced_accuracy", or a function ``scorer(classifier, X, y)`` of the
        k-nearest-neighbour classifier and the test samples; if there are weights, ``sample_weight`` is passed
        too.
    n_neighbors : int
        Number k of neighbours.
    cv : int, splitter or iterable
        Number of stratified folds, a scikit-learn splitter, or pairs of training and test rows. Samples that
        are alone in their class are never tested, but take part in every training.
    alpha : float
        C₂ ≥ 0, the weight of −½‖λ‖² in the regularised Lagrangian, eq. (2) of the paper. Positive values
        weaken the constraints; 0 gives the program above.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        W₀: the identity, the inverse covariance of the samples (regularised if singular), or a given positive
        definite matrix.
    percentiles : (float, float)
        u and l are these percentiles of the squared distances between all samples under the prior.
    bounds : (float, float), optional
        The bounds (u, l) on squared distances, 0 < u < l. By default they are derived from `percentiles`.
    tol : float
        Stop each fit when its relative duality gap is at most `tol`.
    max_iter : int, optional
        Maximal number of iterations per fit; 500 by default.
    n_components : int, optional
        Number of rows of `components_`: keep this number of leading eigenvectors of W. All are kept by
        default.
    random_state : int or RandomState, optional
        Seed for random pairs, and for the percentiles if there are more than 4 million pairs.
    n_jobs : int, optional
        Number of processes over folds and kinds of pairs, as in joblib; one by default.

    Attributes
    ----------
    C_ : float
        The best C; ties go to the smallest.
    pairs_ : "all", "local", LocalPairs or int
        The best kind of pairs; at the same C, ties go to the earlier kind in `pairs`.
    Cs_ : array of shape (n_Cs,)
        `Cs` in increasing order.
    scores_ : array of shape (n_kinds, n_Cs, n_folds)
        Scores for each kind of `pairs`, value of `Cs_` and fold.
    best_score_ : float
        Mean score of the best choice over the folds.
    best_estimator_ : RPDML
        The best choice, fitted to all samples.
    W_ : array of shape (n_features, n_features)
        The learnt matrix; like all attributes below, of `best_estimator_`.
    components_ : array of shape (n_components, n_features)
        The map L with LᵀL = W, or its best approximation of rank `n_components`.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    duality_gap_, objective_, dual_objective_ : float
        The relative duality gap, the objective at W, and its lower bound for any metric.
    bounds_ : (float, float)
        u and l.
    bounds_are_exact_ : bool
        False if u and l were estimated from a random sample of the pairs.
    n_iter_, n_pairs_ : int
        Number of iterations and of pairs.
    history_ : tuple
        One record for the start and one per iteration, with the fields `objective`, `primal`, `dual`, `gap`,
        `passes` and `seconds`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X is a table with column names.

    See Also
    --------
    RPDML : One fit with given C and pairs.

    References
    ----------
    S. Wang, B. Zhu, L. Ma, Y. Qi, "A Riemannian primal-dual algorithm based on proximal operator and its
    application in metric learning".

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from geodual.metric import RPDMLCV
    >>> X, y = load_wine(return_X_y=True)
    >>> search = RPDMLCV(Cs=(1.0, 100.0), cv=3).fit(StandardScaler().fit_transform(X), y)
    >>> search.C_, search.pairs_, round(search.best_score_, 2)
    (100.0, 'local', 0.97)
    >>> search.scores_.shape
    (2, 2, 3)
    """

    def __init__(
        self,
        Cs: Any = (1.0, 10.0, 100.0, 1000.0, 10000.0),
        pairs: Any = ("all", "local"),
        scoring: str = "knn",
        n_neighbors: int = 5,
        cv: Any = 5,
        alpha: float = 0.0,
        prior: Any = "identity",
        percentiles: tuple[float, float] = (5, 95),
        bounds: tuple[float, float] | None = None,
        tol: float = 1e-6,
        max_iter: int | None = None,
        n_components: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.Cs = Cs
        self.pairs = pairs
        self.scoring = scoring
        self.n_neighbors = n_neighbors
        self.cv = cv
        self.alpha = alpha
        self.prior = prior
        self.percentiles = percentiles
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> RPDMLCV:
        """Choose C and the pairs, then learn a metric from all samples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Class labels of any type. −1 means unknown if there are at least two other labels: such samples
            make no pairs and are never tested, but count for the covariance and the percentiles.
        sample_weight : array of shape (n_samples,), optional
            How often each sample counts, in fits and in scores; once by default.
        groups : array of shape (n_samples,), optional
            What a splitter such as `GroupKFold` keeps together.

        Returns
        -------
        self
        """
        X, labels = self._validate_all(X, y)
        Cs = self._check_choices()
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        warn_of_unknown(labels)
        folds = choose_folds(self.cv, LabelledSamples(X, labels, column_or_1d(y), weight), groups)
        rows = Parallel(n_jobs=self.n_jobs)(
            delayed(self._score_path)(fold, Cs, kind) for kind in self.pairs for fold in folds
        )
        scores = np.array(rows).reshape(len(self.pairs), len(folds), len(Cs))
        self.scores_ = scores.transpose(0, 2, 1)
        means = self.scores_.mean(axis=2)
        if not np.isfinite(means).all():
            raise ValueError("`scoring` gave NaN or infinite scores; choose another score or other folds.")
        # Equal up to rounding is a tie; the smaller C wins, because its metric is nearer to the prior.
        best = np.argwhere(means >= means.max() - 1e-12)
        kind, position = best[np.lexsort((best[:, 0], best[:, 1]))[0]]
        self.Cs_, self.C_, self.pairs_ = Cs, float(Cs[position]), self.pairs[kind]
        self.best_score_ = float(means[kind, position])
        self.best_estimator_ = self._learner(self.C_, self.pairs_).fit_from(None, X, labels, weight)
        for name in _LEARNT:
            setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def _check_choices(self) -> Array:
        """Return the values of C in increasing order; raise if the choices are invalid."""
        check_scoring(self.scoring)
        check_whole("n_neighbors", self.n_neighbors, 1)
        try:
            Cs = np.asarray(self.Cs, dtype=float)
        except (TypeError, ValueError):
            Cs = np.zeros(0)
        if Cs.ndim != 1 or not Cs.size:
            raise ValueError(f"`Cs` must be a sequence of numbers, got {self.Cs!r}.")
        # No arrays of pairs: their row numbers refer to all samples, not to those of a fold.
        kinds = (str, LocalPairs, numbers.Integral)
        if (
            isinstance(self.pairs, kinds)
            or not np.size(self.pairs)
            or not all(isinstance(kind, kinds) for kind in self.pairs)
        ):
            raise ValueError(
                f'`pairs` must be a sequence of "all", "local", LocalPairs or numbers, got {self.pairs!r}.'
            )
        return np.sort(Cs)

    def _learner(self, C: float, pairs: Any) -> RPDML:
        return RPDML(
            C=C,
            alpha=self.alpha,
            prior=self.prior,
            pairs=pairs,
            percentiles=self.percentiles,
            bounds=self.bounds,
            tol=self.tol,
            max_iter=self.max_iter,
            n_components=self.n_components,
            random_state=self.random_state,
        )

    def _score_path(self, fold: Fold, Cs: Array, pairs: Any) -> list[float]:
        """Fit to the training samples for rising C, each time from the last metric; score on the others."""
        scores, start = [], None
        for C in Cs:
            learner = fold.fit(self._learner(C, pairs), start)
            start = learner.W_
            scores.append(fold.score(learner, self.scoring, self.n_neighbors))
        return scores

    def plot_path(self, ax: Any = None) -> Any:
        """Plot the mean score against C for each kind of pairs, with standard errors over the folds.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
            The axes with the plot; a dashed line marks `C_`.
        """
        names = {"knn": "accuracy", "auc": "AUC of pairs"}
        what = names.get(self.scoring, self.scoring) if isinstance(self.scoring, str) else "score"
        return plot_scores(ax, self.Cs_, self.scores_, self.pairs, self.C_, what)
