"""RPDML with its weight C and the kind of pairs chosen by cross-validation."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import check_cv
from sklearn.neighbors import KNeighborsClassifier

from geodual.arrays import Array

from .base import MetricLearner
from .rpdml import RPDML

_AUC_PAIRS = 200_000  # about as many pairs per fold are scored; more would not change the AUC much
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
    pairs : sequence of "all", "local" or int
        The kinds of pairs to try: all pairs; each sample with its 5 nearest neighbours in its class and its
        15 nearest in other classes; or this number of random pairs, half of them similar.
    scoring : "knn" or "auc"
        Accuracy of k nearest neighbours in the learnt metric, or area under the ROC curve of its distances as
        a test of whether two samples have the same class.
    n_neighbors : int
        Number k of neighbours of "knn".
    cv : int or splitter
        Number of stratified folds, or a scikit-learn splitter.
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
    pairs_ : "all", "local" or int
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

    def fit(self, X: Any, y: Any) -> RPDMLCV:
        """Choose C and the pairs, then learn a metric from all samples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Class labels of any type.

        Returns
        -------
        self
        """
        X, labels = self._validate(X, y)
        Cs = self._check_choices()
        folds = list(check_cv(self.cv, labels, classifier=True).split(X, labels))
        tasks = [(kind, train, test) for kind in range(len(self.pairs)) for train, test in folds]
        rows = Parallel(n_jobs=self.n_jobs)(
            delayed(self._score_path)(X, labels, Cs, self.pairs[kind], train, test)
            for kind, train, test in tasks
        )
        scores = np.array(rows).reshape(len(self.pairs), len(folds), len(Cs))
        self.scores_ = scores.transpose(0, 2, 1)
        means = self.scores_.mean(axis=2)
        # Equal up to rounding is a tie; the smaller C wins, because its metric is nearer to the prior.
        best = np.argwhere(means >= means.max() - 1e-12)
        kind, position = best[np.lexsort((best[:, 0], best[:, 1]))[0]]
        self.Cs_, self.C_, self.pairs_ = Cs, float(Cs[position]), self.pairs[kind]
        self.best_score_ = float(means[kind, position])
        self.best_estimator_ = self._learner(self.C_, self.pairs_).fit(X, labels)
        for name in _LEARNT:
            setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def _check_choices(self) -> Array:
        """Return the values of C in increasing order; raise if the choices are invalid."""
        if self.scoring not in ("knn", "auc"):
            raise ValueError(f'`scoring` must be "knn" or "auc", got {self.scoring!r}.')
        Cs = np.asarray(self.Cs, dtype=float)
        if Cs.ndim != 1 or not Cs.size:
            raise ValueError(f"`Cs` must be a sequence of numbers, got {self.Cs!r}.")
        # No arrays of pairs: their row numbers refer to all samples, not to those of a fold.
        if (
            isinstance(self.pairs, (str, numbers.Integral))
            or not np.size(self.pairs)
            or not all(isinstance(kind, (str, numbers.Integral)) for kind in self.pairs)
        ):
            raise ValueError(f'`pairs` must be a sequence of "all", "local" or numbers, got {self.pairs!r}.')
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

    def _score_path(self, X: Array, labels: Any, Cs: Array, pairs: Any, train: Any, test: Any) -> list[float]:
        """Fit to one training fold for rising C, each time from the last metric; score on the test fold."""
        scores, start = [], None
        for C in Cs:
            learner = self._learner(C, pairs).fit_from(start, X[train], labels[train])
            start = learner.W_
            Z_train, Z_test = learner.transform(X[train]), learner.transform(X[test])
            scores.append(self._score(Z_train, labels[train], Z_test, labels[test]))
        return scores

    def _score(self, Z_train: Array, y_train: Any, Z_test: Array, y_test: Any) -> float:
        if self.scoring == "knn":
            k = min(self.n_neighbors, len(Z_train))
            return float(KNeighborsClassifier(k).fit(Z_train, y_train).score(Z_test, y_test))
        i, j = np.triu_indices(len(Z_test), 1)
        # Evenly spaced, so that no randomness enters the score.
        chosen = slice(None, None, max(len(i) // _AUC_PAIRS, 1))
        i, j = i[chosen], j[chosen]
        distance = np.sum((Z_test[i] - Z_test[j]) ** 2, axis=1)
        same = y_test[i] == y_test[j]
        # Without both kinds of pairs the AUC is not defined; 0.5 is the score of guessing.
        return float(roc_auc_score(same, -distance)) if 0 < same.sum() < len(same) else 0.5

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
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")[1]
        colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
        for position, (kind, scores) in enumerate(zip(self.pairs, self.scores_, strict=True)):
            error = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
            label = kind if isinstance(kind, str) else f"pairs[{position}]"
            ax.errorbar(
                self.Cs_,
                scores.mean(axis=1),
                error,
                fmt="o-",
                capsize=3,
                label=label,
                color=colours[position % 5],
            )
        ax.axvline(self.C_, color="0.5", linestyle="--", linewidth=1)
        ax.set(xscale="log", xlabel="C", ylabel="accuracy" if self.scoring == "knn" else "AUC of pairs")
        ax.legend(frameon=False, title="pairs")
        ax.grid(alpha=0.3)
        return ax
