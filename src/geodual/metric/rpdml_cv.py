"""RPDML with its weight C, and the kind of pairs, chosen by cross-validation."""

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

_AUC_PAIRS = 200_000
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
    """RPDML along a path of C, each fit started from the last, the best chosen by cross-validation.

    Parameters
    ----------
    Cs : sequence of float
        The values of C.
    pairs : sequence
        Which pairs to try, as in `RPDML`.
    scoring : "knn" or "auc"
        Accuracy of k-NN in the learnt metric, or how well its distances tell similar from dissimilar pairs.
    n_neighbors : int
        k of "knn".
    cv : int or splitter
        Folds, stratified by default.
    alpha, prior, percentiles, bounds, tol, max_iter, n_components, random_state
        As in `RPDML`.
    n_jobs : int, optional
        Processes for folds and kinds of pairs, as in joblib.

    Attributes
    ----------
    C_, pairs_ : float, object
        The best; ties go to the smaller C and to the earlier kind of pairs.
    scores_ : array of shape (n_pairs_kinds, n_Cs, n_folds)
        All scores.
    best_score_ : float
        Mean score of the best.
    best_estimator_ : RPDML
        Fitted to all samples with the best choice.
    W_, components_, feature_importances_, bounds_, n_pairs_
        Those of `best_estimator_`.
    duality_gap_, objective_, dual_objective_, n_iter_, history_
        Those of `best_estimator_`.
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
            Class labels.

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
        best = np.argwhere(means >= means.max() - 1e-12)
        kind, position = best[np.lexsort((best[:, 0], best[:, 1]))[0]]
        self.Cs_, self.C_, self.pairs_ = Cs, float(Cs[position]), self.pairs[kind]
        self.best_score_ = float(means[kind, position])
        self.best_estimator_ = self._learner(self.C_, self.pairs_).fit(X, labels)
        for name in _LEARNT:
            setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def _check_choices(self) -> Array:
        """Return the values of C in increasing order, or say what is wrong with the choices."""
        if self.scoring not in ("knn", "auc"):
            raise ValueError(f'`scoring` must be "knn" or "auc", got {self.scoring!r}.')
        Cs = np.asarray(self.Cs, dtype=float)
        if Cs.ndim != 1 or not Cs.size:
            raise ValueError(f"`Cs` must be a sequence of numbers, got {self.Cs!r}.")
        # Rows of all samples mean nothing within a fold, hence no arrays.
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
        """Fit along rising C on one fold, each from the metric before it, and score on the rest."""
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
        chosen = slice(None, None, max(len(i) // _AUC_PAIRS, 1))
        i, j = i[chosen], j[chosen]
        distance = np.sum((Z_test[i] - Z_test[j]) ** 2, axis=1)
        same = y_test[i] == y_test[j]
        return float(roc_auc_score(same, -distance)) if 0 < same.sum() < len(same) else 0.5

    def plot_path(self, ax: Any = None) -> Any:
        """Plot the mean score over C for each kind of pairs, with standard errors over the folds.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
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
