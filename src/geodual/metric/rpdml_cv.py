"""RPDMLCV: a metric for nearest neighbours whose settings are chosen by cross-validation."""

from __future__ import annotations

import warnings
from itertools import groupby
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from geodual.arrays import Array

from .base import MetricLearner, fitted_attributes
from .labels import warn_of_unknown
from .logdet.folds import Fold, LabelledSamples, choose_folds, with_bounds
from .logdet.learner import LogDetLearner
from .logdet.path_plot import plot_scores
from .logdet.scores import check_scoring
from .neighbor_rpdml import NeighborRPDML
from .pairs.kinds import Kind, check_kinds, check_weights
from .parameter_checks import check_whole
from .rpdml import RPDML

_SCREENING = 0.1  # relative gap of the fits that are only compared with each other
_SHARE_TIE = 0.005  # shares of votes or of samples that differ by less may do so by chance
_WARM_UP = 0.3  # weight of the fit from which several kinds start, relative to the smallest C


class RPDMLCV(MetricLearner):
    r"""A metric for nearest neighbours, whose weight C, prior and pairs are chosen by cross-validation.

    Choose it if the metric is for classification and you do not want to tune anything. By default it fits
    `NeighborRPDML` with several shrinkages of its prior. It can also fit `RPDML` with several kinds of pairs.
    Each choice is fitted to every training fold, as accurately as a comparison needs, and scored on the test
    fold. At last the best choice is fitted to all samples, with the certificate of its learner.

    Parameters
    ----------
    Cs : sequence of float
        The values of C to try.
    pairs : sequence of "neighbors", "all", "local", LocalPairs or int
        What to learn from. "neighbors": the loss of `NeighborRPDML`, in which near samples compete. The
        others are the pairs of `RPDML`: all pairs; each sample with its 5 nearest neighbours in its class
        and its 15 nearest in other classes; with other numbers of neighbours; or this number of random
        pairs, half of them similar.
    shrinkages : sequence of float
        The shrinkages of the prior "within" to try with "neighbors", the likeliest first.
    scoring : "votes", "knn", "auc", other str or callable
        "votes" is the mean share of the right class among the k nearest neighbours of a sample. It depends
        less on chance than "knn", the accuracy of the k nearest neighbours. "auc" is the area under the ROC
        curve of the distances as a test of whether two samples have the same class. Also the name of any
        scikit-learn scorer, such as "balanced_accuracy", or a function ``scorer(classifier, X, y)`` of the
        k-nearest-neighbour classifier and the test samples, with ``sample_weight`` if there are weights.
    n_neighbors : int
        Number k of neighbours.
    cv : int, splitter or iterable
        Number of stratified folds of shuffled samples, a scikit-learn splitter, or pairs of training and test
        rows. Samples that are alone in their class are never tested, but take part in every training.
    alpha : float
        For pairs: C₂ ≥ 0, the weight of −½‖λ‖² in the regularised Lagrangian, eq. (2) of the paper.
    prior : "identity", "covariance" or array of shape (n_features, n_features), optional
        W₀ of all choices, instead of the shrunk covariance within the classes for "neighbors" and the
        identity for pairs.
    percentiles : (float, float)
        For pairs: u and l are these percentiles of the squared distances between all samples.
    bounds : (float, float), optional
        For pairs: the bounds (u, l) on squared distances, 0 < u < l. By default derived from `percentiles`.
    tol : float
        Stop the last fit at this relative duality gap, and the compared ones at 0.1 or `tol`, the larger.
    max_iter : int, optional
        Maximal number of iterations per fit; 500 by default.
    n_components : int, optional
        Number of rows of `components_`: keep this number of leading eigenvectors of W. All are kept by
        default.
    random_state : int or RandomState, optional
        Seed for random pairs, and for the percentiles of more than 100,000 samples.
    n_jobs : int, optional
        Number of processes over folds and kinds, as in joblib; one by default.

    Attributes
    ----------
    C_ : float
        The best C. Scores "votes", "knn" and "auc" that differ by at most 0.005 are ties. Ties go to the
        smallest C, because its metric is nearer to the prior, and at the same C to the earlier kind.
    pairs_ : "neighbors", "all", "local", LocalPairs or int
        The best kind of pairs.
    shrinkage_ : float or None
        The best shrinkage; None if the prior has none.
    kinds_, Cs_ : tuple and array
        What was tried, with the fields `pairs` and `shrinkage`, and with which C, in increasing order.
    scores_ : array of shape (n_kinds, n_Cs, n_folds)
        Scores for each of `kinds_`, value of `Cs_` and fold.
    best_index_ : (int, int)
        Place of the best choice in the first two axes of `scores_`.
    best_score_ : float
        Mean score of the best choice over the folds.
    best_estimator_ : NeighborRPDML or RPDML
        The best choice, fitted to all samples.
    W_ : array of shape (n_features, n_features)
        The learnt matrix; like all attributes below, of `best_estimator_`.
    components_ : array of shape (n_components, n_features)
        The map L with LᵀL = W, or its best approximation of rank `n_components`.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    duality_gap_, objective_, dual_objective_ : float
        The relative duality gap, the objective at W, and its lower bound for any metric.
    n_iter_, n_pairs_, history_ : int, int and tuple
        Number of iterations, number of pairs, and a record per iteration.
    bounds_, bounds_are_exact_, neighbours_are_exact_ : (float, float), bool and bool
        For pairs: u and l; False if random pairs stand for all; False if neighbours are approximate.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X is a table with column names.

    See Also
    --------
    NeighborRPDML : One fit of the default choice, with given C and shrinkage.
    RPDML : One fit with given C and pairs.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from geodual.metric import RPDMLCV
    >>> X, y = load_wine(return_X_y=True)
    >>> search = RPDMLCV().fit(StandardScaler().fit_transform(X), y)
    >>> search.C_, search.pairs_, search.duality_gap_ <= 1e-6
    (3000.0, 'neighbors', True)
    >>> search.scores_.shape
    (3, 1, 2)
    """

    best_estimator_: LogDetLearner

    def __init__(
        self,
        Cs: Any = (3000.0,),
        pairs: Any = ("neighbors",),
        shrinkages: Any = (0.5, 1.0, 0.2),
        scoring: Any = "votes",
        n_neighbors: int = 5,
        cv: Any = 2,
        alpha: float = 0.0,
        prior: Any = None,
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
        self.shrinkages = shrinkages
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
        """Choose C and the kind, then learn a metric from all samples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Class labels of any type. −1 means unknown if there are at least two other labels: such samples
            are never tested and make no pairs, but with pairs they count for covariance and percentiles.
        sample_weight : array of shape (n_samples,), optional
            How often each sample counts, in fits and in scores; once by default.
        groups : array of shape (n_samples,), optional
            What a splitter such as `GroupKFold` keeps together.

        Returns
        -------
        self
        """
        X, labels = self._validate_all(X, y)
        Cs, kinds = self._check_choices()
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        warn_of_unknown(labels)
        folds = choose_folds(self.cv, LabelledSamples(X, labels, column_or_1d(y), weight), groups)
        of_pairs = [kind for kind in kinds if not kind.is_neighbors]
        if of_pairs and self.bounds is None:
            folds = with_bounds(folds, self._learner(Cs[0], of_pairs[0], self.tol), self.n_jobs)
        # Kinds of the same pairs share a path.
        paths = [list(path) for _, path in groupby(kinds, key=lambda kind: kind.pairs)]
        tables = Parallel(n_jobs=self.n_jobs)(
            delayed(self._score_path)(fold, Cs, path) for fold in folds for path in paths
        )
        scores = np.vstack(tables).reshape(len(folds), len(kinds), len(Cs)).transpose(1, 2, 0)
        means = scores.mean(axis=2)
        if not np.isfinite(means).all():
            raise ValueError("`scoring` gave NaN or infinite scores; choose another score or other folds.")
        best = np.argwhere(means >= means.max() - self._tie)
        kind, position = best[np.lexsort((best[:, 0], best[:, 1]))[0]]
        self.Cs_, self.kinds_, self.scores_ = Cs, kinds, scores
        self.C_, self.pairs_, self.shrinkage_ = float(Cs[position]), kinds[kind].pairs, kinds[kind].shrinkage
        self.best_index_, self.best_score_ = (int(kind), int(position)), float(means[kind, position])
        learner = self._learner(self.C_, kinds[kind], self.tol)
        learner.fit_from(None, X, labels, weight)
        if hasattr(self, "best_estimator_"):
            for name in fitted_attributes(self.best_estimator_):  # of which the new one may have fewer
                self.__dict__.pop(name, None)
        self.best_estimator_ = learner
        self.__dict__.update(fitted_attributes(self.best_estimator_))
        return self

    def _check_choices(self) -> tuple[Array, tuple[Kind, ...]]:
        """Return the values of C in increasing order and the kinds; raise if the choices are invalid."""
        check_scoring(self.scoring)
        check_whole("n_neighbors", self.n_neighbors, 1)
        return check_weights(self.Cs), check_kinds(self.pairs, self.shrinkages, shrunk=self.prior is None)

    @property
    def _tie(self) -> float:
        """Difference of scores up to which they count as equal: more for shares, which vary by chance."""
        return _SHARE_TIE if self.scoring in ("votes", "knn", "auc") else 1e-12

    def _learner(self, C: float, kind: Kind, tol: float) -> LogDetLearner:
        shared: dict[str, Any] = {"C": C, "tol": tol}
        shared |= {"max_iter": self.max_iter, "n_components": self.n_components}
        if kind.is_neighbors:
            if kind.shrinkage is None:
                return NeighborRPDML(prior=self.prior, **shared)
            return NeighborRPDML(shrinkage=kind.shrinkage, **shared)
        return RPDML(
            alpha=self.alpha,
            prior="identity" if self.prior is None else self.prior,
            pairs=kind.pairs,
            percentiles=self.percentiles,
            bounds=self.bounds,
            random_state=self.random_state,
            **shared,
        )

    def _score_path(self, fold: Fold, Cs: Array, kinds: list[Kind]) -> Array:
        """Fit to the training samples for rising C and score on the others.

        All kinds start from the same metric, that of the first kind for the last C. So none of them gains
        from neighbours that were found more often.
        """
        tol, start = max(self.tol, _SCREENING), None
        scores = np.empty((len(kinds), len(Cs)))
        with warnings.catch_warnings():
            # Of these fits only the order matters; the last fit warns if it is not accurate.
            warnings.simplefilter("ignore", ConvergenceWarning)
            if len(kinds) > 1:
                start = fold.fit(self._learner(_WARM_UP * Cs[0], kinds[0], tol), None).W_
            for column, C in enumerate(Cs):
                learners = [fold.fit(self._learner(C, kind, tol), start) for kind in kinds]
                scores[:, column] = [
                    fold.score(learner, self.scoring, self.n_neighbors) for learner in learners
                ]
                start = learners[0].W_
        return scores

    def plot_path(self, ax: Any = None) -> Any:
        """Plot the mean scores with standard errors over the folds: against C, or against the kind.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
            The axes with the plot. A dashed line marks the choice.
        """
        check_is_fitted(self)
        names = {"knn": "accuracy", "auc": "AUC of pairs", "votes": "share of votes"}
        what = names.get(self.scoring, self.scoring) if isinstance(self.scoring, str) else "score"
        labels = [kind.label for kind in self.kinds_]
        return plot_scores(ax, self.Cs_, self.scores_, labels, self.best_index_, what)
