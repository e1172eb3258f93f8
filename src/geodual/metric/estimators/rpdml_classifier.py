"""RPDMLClassifier: classes predicted in a learnt metric, with certificates, all choices by leave-one-out."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from geodual.arrays import Array, Indices
from geodual.threads import blas_threads_for, product_operations

from ..base.checks import check_positive, check_sample_weight, check_whole, copy_weight
from ..base.metric_learner import check_size
from ..machine.kernel_ridge import (
    MachineCertificates,
    Ridge,
    bandwidths,
    best_ridge,
    scores_at,
    system_residual,
)
from ..machine.landmarks import fit_on_landmarks
from ..machine.mapped_distance import MappedDistance, plain_distances
from ..machine.neighbour_vote import Vote, best_vote, shares
from ..machine.scoring import Targets, probabilities, sharpness
from ..machine.views import VIEWS, View, medians
from ..program.feature_fit import class_search, learn_weights
from ..selection.local_pairs import LocalPairs
from ..selection.samples import Samples
from .neighbor_rpdml import NeighborRPDML

_POWER = 2  # of the weights in the kernel
_TOL, _MAX_ITER = 1e-6, 500  # relative duality gap of the metric, and iterations to reach it
_ENTRIES = 4_000_000  # of a block of the kernel matrix of new samples: 32 MB


class _Candidate(NamedTuple):
    """A view with its metric, the distances of all samples in it, and the best machine for these."""

    name: str
    distance: MappedDistance
    weights: Array
    gap: float | None
    D: Array
    machine: Ridge | Vote


class RPDMLClassifier(ClassifierMixin, BaseEstimator):
    r"""Classify in a learnt metric: a kernel machine or nearest neighbours, with nothing left to tune.

    Choose it for tables of up to some thousands of samples with numeric features of any scale. All that other
    classifiers tune by repeated fits is chosen by leave-one-out in closed form.

    Features are seen in two views: standardised, and as Gaussian scores of their ranks, cut at ±3. In each
    view it learns weights w of the features as `FeatureWeights` does, with a duality gap. The kernel machine
    is ridge regression of the classes with the Laplace kernel

    .. math:: k(x, z) = \exp\Bigl(-\frac1h \sum_f w_f^2 |x_f - z_f|\Bigr).

    The view, the bandwidth h (0.5, 1, 2 or 4 times the median distance) and the ridge (10⁻⁴ to 1 times a
    hundredth of the number of samples) are those of the largest accuracy by leave-one-out, less a tenth of
    the squared error. One eigendecomposition per view and bandwidth gives all of these. The weights, and the
    view, are not learnt again for each sample that is left out.

    Probabilities are the softmax of the scores times a factor, which makes the scores by leave-one-out the
    likeliest.

    With more than `max_exact` distinct samples, view, metric and bandwidth are chosen on `n_landmarks`
    samples drawn at random; these are the landmarks of a machine (Nyström) that is fitted to all samples.

    Missing values (NaN) are replaced by the median of the feature in `fit`, and by 0 if all are missing.

    Parameters
    ----------
    predictor : "kernel" or "neighbors"
        The kernel machine, or a vote of nearest neighbours, whose number and weights (alike, or by the
        inverse distance) are chosen by leave-one-out.
    metric : "l1", "full" or None
        "l1": weights of features and the city-block distance. "full": the matrix of `NeighborRPDML` and its
        distance. None: the city-block distance with equal weights, which saves time.
    C : float
        Weight of the mean loss when the metric is learnt, as for `FeatureWeights`.
    views : tuple of "standard" and "rank"
        The views to choose from.
    max_exact : int
        Largest number of distinct samples with a kernel matrix of all of them.
    n_landmarks : int
        Number of landmarks if there are more samples.
    random_state : int or RandomState, optional
        Seed of the landmarks.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
    loo_score_ : float
        Accuracy by leave-one-out of the chosen machine. As the best of several it is slightly optimistic.
    loo_score_without_metric_ : float or None
        The same in the chosen view with equal weights, for the best bandwidth (and the chosen ridge) or the
        best number of neighbours: the difference is what the metric added. With landmarks, both are compared
        on the landmarks in `metric_gain_`. None without a metric.
    metric_gain_ : float or None
        What the metric added to the accuracy by leave-one-out. None without a metric.
    certificates_ : MachineCertificates
        `metric_gap`, the duality gap of the metric, and `ridge_residual`, that of the machine.
    feature_weights_ : array of shape (n_features,)
        The learnt weights w in the chosen view; the diagonal of W for "full"; ones without a metric.
    view_ : str
        The chosen view.
    bandwidth_, ridge_ : float
        Of the kernel machine: h, and the ridge.
    n_neighbors_, weights_ : int, str
        Of nearest neighbours: their number, and how they count.
    landmarks_ : array of int
        Row numbers of the samples that the kernel is evaluated at; of equal samples, the first.
    medians_ : array of shape (n_features,)
        What missing values are replaced by.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X is a table with column names.

    See Also
    --------
    FeatureWeights : The weights alone.
    NeighborRPDML : A metric for other classifiers.
    RPDMLRegressor : Predicts numbers.

    References
    ----------
    J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood
    methods", Advances in Large Margin Classifiers, 1999.

    C. Williams, M. Seeger, "Using the Nyström method to speed up kernel machines", Advances in Neural
    Information Processing Systems 13, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from geodual.metric import RPDMLClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> round(float(cross_val_score(RPDMLClassifier(), X, y).mean()), 2)
    0.98
    >>> model = RPDMLClassifier().fit(X, y)
    >>> model.certificates_.metric_gap <= 1e-6, model.certificates_.ridge_residual <= 1e-10
    (True, True)
    >>> model.predict_proba(X[:1]).round(1).tolist()
    [[1.0, 0.0, 0.0]]
    >>> distances, rows = model.nearest(X[:1], 3)
    >>> y[rows].tolist()
    [[0, 0, 0]]
    """

    def __init__(
        self,
        predictor: str = "kernel",
        metric: str | None = "l1",
        C: float = 3000.0,
        views: Any = ("standard", "rank"),
        max_exact: int = 5000,
        n_landmarks: int = 2000,
        random_state: Any = None,
    ) -> None:
        self.predictor = predictor
        self.metric = metric
        self.C = C
        self.views = views
        self.max_exact = max_exact
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the metric, and choose and fit the machine.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples; NaN is a missing value.
        y : array of shape (n_samples,)
            Class labels of any type.
        sample_weight : array of shape (n_samples,), optional
            How often each sample counts; once by default. Whole weights are the same as repeated rows.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=float, order="C", ensure_all_finite="allow-nan")
        check_classification_targets(y)
        self._check_parameters()
        weight = np.ones(len(X)) if sample_weight is None else check_sample_weight(sample_weight, X)
        used = np.flatnonzero(weight)
        X, weight = X[used], weight[used]
        self.classes_, labels = np.unique(y[used], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"RPDMLClassifier needs samples of at least two classes, got {len(self.classes_)} class; "
                "check `y` and `sample_weight`."
            )
        self.medians_ = medians(X, weight)
        X = self._completed(X)
        rows = Samples(X, labels, weight, None).distinct_in_order()
        assert rows.weight is not None  # as there are weights
        targets = Targets(rows.labels, rows.weight, copy_weight(weight), len(self.classes_))
        self._rows_ = used[rows.rows]
        with blas_threads_for(product_operations(len(rows.rows), len(rows.rows), X.shape[1])):
            self._learn(X[rows.rows], targets)
        return self

    def _check_parameters(self) -> None:
        if self.predictor not in ("kernel", "neighbors"):
            raise ValueError(f'`predictor` must be "kernel" or "neighbors", got {self.predictor!r}.')
        if self.metric not in ("l1", "full", None):
            raise ValueError(f'`metric` must be "l1", "full" or None, got {self.metric!r}.')
        check_positive("C", self.C)
        check_whole("max_exact", self.max_exact, 2)
        check_whole("n_landmarks", self.n_landmarks, 2)
        if not isinstance(self.views, tuple | list) or not self.views or not set(self.views) <= set(VIEWS):
            raise ValueError(f'`views` must hold "standard", "rank" or both, got {self.views!r}.')

    def _completed(self, X: Array) -> Array:
        """Return samples without missing values."""
        X = np.where(np.isnan(X), self.medians_, X)
        check_size(X)
        return X

    def _learn(self, X: Array, targets: Targets) -> None:
        """Choose and fit the machine on distinct samples."""
        part = self._landmark_places(len(X))
        few = targets if part is None else targets.part(part)
        near = X if part is None else X[part]
        candidates = (self._candidate(name, X, near, targets, few) for name in self.views)
        best = max(candidates, key=lambda candidate: candidate.machine.criterion)
        self._distance_, self.view_, self.feature_weights_ = best.distance, best.name, best.weights
        # Kept for `predict` and `nearest`.
        self._samples_, self._targets_ = best.distance.apply(X), targets
        self.landmarks_ = self._rows_ if part is None else self._rows_[part]
        self.loo_score_, scored, residual = few.accuracy(best.machine.scores), few, None
        gain, scores = self._gain(best, near, few), best.machine.scores
        if isinstance(best.machine, Vote):
            self.n_neighbors_, self.weights_ = best.machine.n_neighbors, best.machine.weights
            self._search_ = self._index()
        else:
            machine, residual = best.machine, system_residual(best.D, best.machine, few)
            if part is not None:
                A, kernel = self._samples_, best.distance.between
                found = fit_on_landmarks(
                    lambda rows: kernel(A[rows], A[part]), best.D, machine.bandwidth, targets
                )
                machine, self.loo_score_, residual = found.machine, found.accuracy, found.residual
                scores, scored = machine.scores, targets.part(found.scored)
            self.bandwidth_, self.ridge_ = machine.bandwidth, machine.ridge
            self._coefficients_ = machine.coefficients
            self._bases_ = self._samples_ if part is None else self._samples_[part]
        self.metric_gain_ = gain
        self.loo_score_without_metric_ = None if gain is None else self.loo_score_ - gain
        self.certificates_ = MachineCertificates(best.gap, residual)
        self._sharpness_ = sharpness(scores, scored)

    def _landmark_places(self, n_samples: int) -> Indices | None:
        """Return the places of the landmarks, in increasing order; None if all samples are."""
        if n_samples <= self.max_exact or n_samples <= self.n_landmarks:
            return None
        rng = check_random_state(self.random_state)
        return np.sort(rng.permutation(n_samples)[: self.n_landmarks])

    def _candidate(self, name: str, X: Array, near: Array, targets: Targets, few: Targets) -> _Candidate:
        """Return the best machine in a view that all samples X make, on the samples `near` of these."""
        view: View = VIEWS[name]().fit(X, targets.weight)
        distance, weights, gap = self._metric(view, view.transform(near), few)
        A = distance.apply(near)
        D = distance.between(A, A)
        machine = best_ridge(D, few) if self.predictor == "kernel" else best_vote(D, few)
        return _Candidate(name, distance, weights, gap, D, machine)

    def _metric(self, view: View, A: Array, few: Targets) -> tuple[MappedDistance, Array, float | None]:
        """Return the distance in a view, the weights of the features, and the duality gap of the metric."""
        ones = np.ones(A.shape[1])
        classes, labels = np.unique(few.labels, return_inverse=True)
        varies = any(np.ptp(A[labels == c], axis=0).any() for c in range(len(classes)))
        if self.metric is None or not varies or len(classes) < 2:
            return MappedDistance(view, ones, "l1"), ones, None
        if self.metric == "full":
            learner = NeighborRPDML(C=self.C, tol=_TOL).fit(A, labels, sample_weight=few.weight)
            L = np.asarray(learner.components_)
            return MappedDistance(view, L, "l2"), np.diag(learner.W_).copy(), learner.duality_gap_
        find = class_search(labels, LocalPairs(), "l1")
        found = learn_weights(
            A, find, few.weight, distance="l1", C=self.C, tol=_TOL, max_iter=_MAX_ITER
        ).found
        return MappedDistance(view, found.W**_POWER, "l1"), found.W, found.gap

    def _gain(self, best: _Candidate, near: Array, few: Targets) -> float | None:
        """Return what the metric adds to the accuracy by leave-one-out, beside equal weights."""
        if best.gap is None:
            return None
        A = best.distance.view.transform(near)
        D = plain_distances(A, A, "l1")
        if isinstance(best.machine, Vote):
            without = few.accuracy(best_vote(D, few).scores)
        else:
            tried = [scores_at(D, h, best.machine.ridge, few) for h in bandwidths(D)]
            without = few.accuracy(max(tried, key=few.criterion))
        return few.accuracy(best.machine.scores) - without

    def _index(self) -> NearestNeighbors:
        kind = {"l1": "manhattan", "l2": "minkowski"}[self._distance_.kind]
        return NearestNeighbors(metric=kind).fit(self._samples_)

    def _checked(self, X: Any) -> Array:
        """Return new samples after the view and the map."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=float, ensure_all_finite="allow-nan")
        return self._distance_.apply(self._completed(X))

    def _scores(self, X: Any) -> Array:
        A = self._checked(X)
        if self.predictor == "neighbors":
            d, places = self._search_.kneighbors(A, self.n_neighbors_)
            labels, counts = self._targets_.labels[places], self._targets_.weight[places]
            return shares(d, counts, labels, len(self.classes_), self.weights_)
        step = max(_ENTRIES // len(self._bases_), 1)
        parts = []
        for start in range(0, len(A), step):
            D = self._distance_.between(A[start : start + step], self._bases_)
            parts.append(np.exp(D * (-1.0 / self.bandwidth_)) @ self._coefficients_)
        return np.asarray(np.vstack(parts) + self._targets_.means)

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the classes, about 1 for a sure class and 0 for others.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples, with the features of `fit`.

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores; for two classes, the score of the second less that of the first.
        """
        scores = self._scores(X)
        return scores if len(self.classes_) > 2 else scores[:, 1] - scores[:, 0]

    def predict(self, X: Any) -> Any:
        """Predict the classes of samples: those with the largest score.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples, with the features of `fit`.

        Returns
        -------
        array of shape (n_samples,)
            Classes.
        """
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Array:
        """Predict probabilities of the classes, calibrated by leave-one-out.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples, with the features of `fit`.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        return probabilities(self._scores(X), self._sharpness_)

    def nearest(self, X: Any, k: int = 5) -> tuple[Array, Indices]:
        """Return the samples of `fit` that are nearest to others in the learnt metric: why a class is likely.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples, with the features of `fit`.
        k : int
            Number of neighbours; all samples if there are fewer.

        Returns
        -------
        distances : array of shape (n_samples, k)
            Learnt distances, the smallest first.
        rows : array of shape (n_samples, k)
            Row numbers in `fit`; of equal samples of a class, the first.
        """
        check_whole("k", k, 1)
        A = self._checked(X)
        distances, places = self._index().kneighbors(A, min(k, len(self._samples_)))
        return distances, self._rows_[places]
