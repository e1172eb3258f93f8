"""RPDMLClassifier: predict classes in learned metrics, with certificates; all choices by leave-one-out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from geodual.arrays import Array, Indices
from geodual.cluster import is_dask
from geodual.threads import blas_threads_for, product_operations

from ..base.checks import check_positive, check_sample_weight, check_whole, copy_weight
from ..machine.calibration import probabilities, sharpness
from ..machine.geometry import Geometry, equal_weights
from ..machine.inputs import completed, read_chunks, read_samples
from ..machine.landmarks import ManySamples
from ..machine.machine import Learner, Machine, check_machine, fit_machine, landmark_places
from ..machine.many_samples import SamplesOnWorkers, by_chunks
from ..machine.targets import ClassTargets
from ..machine.views import VIEWS, View, medians
from ..program.feature_fit import class_search, label_set_search, learn_weights
from ..selection.local_pairs import LocalPairs
from ..selection.samples import Samples
from .neighbor_rpdml import NeighborRPDML

_POWER = 2  # of the weights in the kernel
_TOL, _MAX_ITER = 1e-6, 500  # relative duality gap of the metric, and iterations to reach it


class RPDMLClassifier(ClassifierMixin, BaseEstimator):
    r"""Classify in learned metrics by kernel machines, nearest neighbors or local fits, with nothing to tune.

    Choose it for tables with numeric features of any scale. What other classifiers tune by repeated fits is
    chosen by leave-one-out in closed form.

    Features have two views: standardized, and as Gaussian scores of their ranks, clipped at ±3. In each view
    it learns weights w of the features like `FeatureWeights`, with a duality gap. The kernel machines are
    ridge regressions of the classes: in each view, one with the Laplace kernel of the learned metric and one
    with the Gaussian kernel of equal weights,

    .. math:: k(x, z) = \exp\Bigl(-\frac1h \sum_f w_f^2 |x_f - z_f|\Bigr), \qquad
              k(x, z) = \exp\Bigl(-\frac1{h^2} \sum_f (x_f - z_f)^2\Bigr).

    The bandwidth and ridge of each minimize the squared leave-one-out error on up to 1,000 samples. The
    scores are a mixture of the four machines, whose convex weights minimize the same error; a duality gap
    proves that no others are better. Weights of features and views are not learned again for each left-out
    sample.

    Probabilities are the softmax of the scores times a factor that maximizes the likelihood of the
    leave-one-out scores.

    With more than `max_exact` distinct samples, all of this is chosen on `n_landmarks` random samples; the
    best of the four machines is then fitted to all samples with these as landmarks (Nyström). Views, ridge
    and probabilities are then those of up to 20,000 random samples. The samples may be a dask array: only the
    drawn samples are gathered, and the workers compute the sums over all samples.

    Missing values (NaN) are replaced by the median of the feature in `fit`, and by 0 if all are missing.

    Parameters
    ----------
    predictor : "kernel", "neighbors" or "local"
        The predictor in each view and metric: a kernel machine; the mean over nearest neighbors, with their
        number and weights (equal, or inverse distances) chosen by leave-one-out; or linear functions fitted
        to the neighbors of each sample, with their number and ridge chosen likewise.
    metric : "l1", "full" or None
        "l1": weights of features and the city-block distance. "full": the matrix of `NeighborRPDML` and its
        distance. None: the city-block distance with equal weights, to save time.
    C : float
        Weight of the mean loss in learning the metric, as in `FeatureWeights`.
    views : tuple of "standard" and "rank"
        The views to mix.
    max_exact : int
        Largest number of distinct samples for a full kernel matrix.
    n_landmarks : int
        Number of landmarks if there are more samples.
    random_state : int or RandomState, optional
        Seed of the landmarks.

    Attributes
    ----------
    classes_ : array of shape (n_classes,), or list of these
        The classes. For several outputs, a list with the classes of each; for a column of zeros and ones per
        label, the column numbers, as in scikit-learn's multilayer perceptron.
    loo_score_ : float
        Leave-one-out accuracy: the share of samples with all outputs correct. As the best of several, it is
        slightly optimistic.
    mixture_ : tuple of Part
        The machines with their shares, the largest first; ``print(*model.mixture_, sep="\\n")`` shows them.
    certificates_ : MachineCertificates
        `metric_gap`, the largest duality gap of a metric; `mixture_gap`, that of the shares; and
        `ridge_residual`, the largest relative residual of a kernel machine.
    feature_weights_ : array of shape (n_features,)
        The learned weights w, or the diagonal of W for "full", in the view whose metric has the largest
        share; all 1 without a metric.
    landmarks_ : array of int
        Row numbers of the samples at which the kernel is evaluated; the first of equal samples.
    medians_ : array of shape (n_features,)
        Replacements for missing values.
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
    L. Breiman, "Stacked regressions", Machine Learning 24, 1996.

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
    >>> gaps = model.certificates_
    >>> gaps.metric_gap <= 1e-6, gaps.mixture_gap <= 1e-6, gaps.ridge_residual <= 1e-10
    (True, True, True)
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
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the metrics, and choose and fit the machines.

        Parameters
        ----------
        X : array, table, sparse array or dask array of shape (n_samples, n_features)
            Samples; NaN is a missing value. Sparse samples are made dense. A dask array needs
            ``predictor="kernel"``; its medians are those of the drawn samples, and copies of a sample are not
            merged.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Class labels of any type. Several columns mean several outputs, such as a column of zeros and ones
            per label.
        sample_weight : array of shape (n_samples,), optional
            Weight of each sample; 1 by default. Whole weights are equivalent to repeated rows.

        Returns
        -------
        self
        """
        self._check_parameters()
        if is_dask(X):
            X, y, sample_weight = read_chunks(self, X, y, sample_weight)
            if is_dask(X):
                return self._fit_on_workers(X, y, sample_weight)
        X, y = read_samples(self, X, y, multi_output=True)
        check_classification_targets(y)
        y = y.toarray() if issparse(y) else y
        weight = np.ones(len(X)) if sample_weight is None else check_sample_weight(sample_weight, X)
        used = np.flatnonzero(weight)
        X, weight = X[used], weight[used]
        labels = self._encoded(y[used])
        self.medians_ = medians(X, weight)
        X = completed(X, self.medians_)
        sets, place = np.unique(labels, axis=0, return_inverse=True)
        rows = Samples(X, place.ravel(), weight, None).distinct_in_order()
        assert rows.weight is not None  # because there are weights
        targets = self._targets(sets[rows.labels], rows.weight, copy_weight(weight))
        machine = self._fit_machine(X[rows.rows], targets, self._places(len(rows.rows)))
        self._keep(machine, used[rows.rows])
        return self

    def _fit_on_workers(self, X: Any, y: Array, sample_weight: Any) -> Self:
        check_classification_targets(y)
        weight = np.ones(len(y)) if sample_weight is None else check_sample_weight(sample_weight, y)
        used = np.flatnonzero(weight)
        targets = self._targets(self._encoded(y[used]), weight[used], copy_weight(weight[used]))
        X, places = X if len(used) == len(X) else X[used], self._places(len(used))
        samples = SamplesOnWorkers(X, targets.weight, places)
        self.medians_ = samples.medians
        self._keep(self._fit_machine(samples, targets, places), used[samples.kept])
        return self

    def _targets(self, labels: Indices, weight: Array, copy: float) -> ClassTargets:
        return ClassTargets(labels, weight, copy, tuple(len(classes) for classes in self._class_lists))

    def _places(self, n: int) -> Indices | None:
        """Return the landmarks of n samples."""
        return landmark_places(n, self.max_exact, self.n_landmarks, check_random_state(self.random_state))

    def _fit_machine(self, X: Array | ManySamples, targets: ClassTargets, places: Indices | None) -> Machine:
        n = len(targets.weight)
        size = n if places is None else len(places)
        with blas_threads_for(product_operations(n, size, self.n_features_in_)):
            return fit_machine(
                X,
                targets,
                predictor=self.predictor,
                views=self.views,
                learners=(self._learn, _equal),
                places=places,
            )

    def _check_parameters(self) -> None:
        check_machine(self)
        if self.metric not in ("l1", "full", None):
            raise ValueError(f'`metric` must be "l1", "full" or None, got {self.metric!r}.')
        check_positive("C", self.C)
        if not isinstance(self.views, tuple | list) or not self.views or not set(self.views) <= set(VIEWS):
            raise ValueError(f'`views` must hold "standard", "rank" or both, got {self.views!r}.')

    def _encoded(self, y: Array) -> Indices:
        """Store the classes, and return labels 0, 1, … with a column per output."""
        self._is_flat, self._marks_labels = y.ndim == 1, type_of_target(y) == "multilabel-indicator"
        columns = [y] if self._is_flat else list(y.T)
        if self._marks_labels:
            encoded = [(np.arange(2, dtype=y.dtype), column.astype(np.intp)) for column in columns]
        else:
            encoded = [np.unique(column, return_inverse=True) for column in columns]
        self._class_lists = [classes for classes, _ in encoded]
        self.classes_: Any = self._class_lists[0] if self._is_flat else self._class_lists
        if self._marks_labels:
            self.classes_ = np.arange(len(columns))
        if not any(np.ptp(labels) for _, labels in encoded):
            raise ValueError(
                "RPDMLClassifier needs samples of at least two classes, got 1 class; check `y` and "
                "`sample_weight`."
            )
        return np.column_stack([labels for _, labels in encoded])

    def _learn(self, view: View, A: Array, few: ClassTargets) -> Sequence[Geometry]:
        """Return the geometry of the metric in a view, or of equal weights if there is nothing to learn."""
        n_features = A.shape[1]
        sets, group = np.unique(few.labels, axis=0, return_inverse=True)
        group = group.ravel()
        varies = any(np.ptp(A[group == c], axis=0).any() for c in range(len(sets)))
        if self.metric is None or not varies or len(sets) < 2:
            return [equal_weights(view, n_features, "l1")]
        if self.metric == "full":
            learner = NeighborRPDML(C=self.C, tol=_TOL).fit(A, group, sample_weight=few.weight)
            L, weights = np.asarray(learner.components_), np.diag(learner.W_).copy()
            return [Geometry("full", view, L, "l2", weights, learner.duality_gap_)]
        find = (
            class_search(group, LocalPairs(), "l1")
            if few.labels.shape[1] == 1
            else label_set_search(few.values, LocalPairs(), "l1")
        )
        options: Any = {"distance": "l1", "C": self.C, "tol": _TOL, "max_iter": _MAX_ITER}
        found = learn_weights(A, find, few.weight, **options).found
        return [Geometry("l1", view, found.W**_POWER, "l1", found.W, found.gap)]

    def _keep(self, machine: Machine, rows: Indices) -> None:
        """Set the fitted attributes; `rows` are the row numbers of the samples of the machine."""
        self._machine_, targets = machine, machine.scored_targets
        self.mixture_, self.certificates_ = machine.parts, machine.certificates
        self.feature_weights_ = machine.learned.weights
        self.landmarks_ = rows if machine.places is None else rows[machine.places]
        self._rows_ = rows
        self.loo_score_ = targets.accuracy(machine.scores)
        self._sharpness_ = [
            sharpness(machine.scores[:, columns], labels, targets.weight, targets.copy)
            for columns, labels in zip(targets.columns, targets.labels.T, strict=True)
        ]

    def metric_gain(self) -> float:
        """Return the gain in leave-one-out accuracy from the metric.

        This fits the machine once more, with equal weights instead of the metric. With landmarks, both are
        fitted only to the landmarks.

        Returns
        -------
        float
            Leave-one-out accuracy with the metric minus that without it; 0 if ``metric=None``.
        """
        check_is_fitted(self)
        machine = self._machine_
        X, targets = machine.chosen_on

        def plain(view: View, A: Array, few: ClassTargets) -> Sequence[Geometry]:
            return [equal_weights(view, A.shape[1], "l1")]

        def accuracy(learn: Learner) -> float:
            learners = (learn, _equal)
            fit = fit_machine(X, targets, predictor=self.predictor, views=self.views, learners=learners)
            return float(targets.accuracy(fit.scores))

        with_metric = self.loo_score_ if machine.places is None else accuracy(self._learn)
        return with_metric - accuracy(plain)

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        X = read_samples(self, X, reset=False)
        return self._machine_.predict(completed(X, self.medians_)).astype(X.dtype, copy=False)

    def _by_output(self, scores: Array) -> list[Array]:
        return [scores[:, columns] for columns in self._machine_.targets.columns]

    def decision_function(self, X: Any) -> Any:
        """Return the scores of the classes: about 1 for a certain class, and 0 for others.

        Parameters
        ----------
        X : array or dask array of shape (n_samples, n_features)
            Samples, with the features of `fit`. For a dask array, predictions are a dask array, too.

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores; for two classes, the score of the second minus that of the first. For several outputs with
            two classes each, one column per output; if some have more classes, a list of arrays.
        """
        if is_dask(X):
            return by_chunks(self, "decision_function", X)
        scores = self._by_output(self._scores(X))
        margins = [one if one.shape[1] != 2 else one[:, 1] - one[:, 0] for one in scores]
        if self._is_flat:
            return margins[0]
        return np.column_stack(margins) if all(one.ndim == 1 for one in margins) else margins

    def predict(self, X: Any) -> Any:
        """Predict the classes of samples: those with the largest score.

        Parameters
        ----------
        X : array or dask array of shape (n_samples, n_features)
            Samples, with the features of `fit`. For a dask array, predictions are a dask array, too.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
            Classes.
        """
        if is_dask(X):
            return by_chunks(self, "predict", X)
        scores = self._by_output(self._scores(X))
        found = [classes[one.argmax(axis=1)] for classes, one in zip(self._class_lists, scores, strict=True)]
        return found[0] if self._is_flat else np.column_stack(found)

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities of the classes, calibrated by leave-one-out.

        Parameters
        ----------
        X : array or dask array of shape (n_samples, n_features)
            Samples, with the features of `fit`. For a dask array, predictions are a dask array, too.

        Returns
        -------
        array of shape (n_samples, n_classes), or list of these
            Probabilities, in the order of `classes_`. For several outputs, one array per output; for a column
            of zeros and ones per label, the probabilities of the labels.
        """
        if is_dask(X):
            return by_chunks(self, "predict_proba", X)
        scores = self._by_output(self._scores(X))
        found = [probabilities(one, beta) for one, beta in zip(scores, self._sharpness_, strict=True)]
        if self._marks_labels:
            return np.column_stack([one[:, 1] for one in found])
        return found[0] if self._is_flat else found

    def nearest(self, X: Any, k: int = 5) -> tuple[Array, Indices]:
        """Return the training samples nearest to others in a learned metric, to explain predictions.

        The metric is that with the largest share in the mixture. After a fit to a large dask array, only the
        landmarks and the other drawn samples are searched.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples, with the features of `fit`.
        k : int
            Number of neighbors; all samples if there are fewer.

        Returns
        -------
        distances : array of shape (n_samples, k)
            Learned distances, in increasing order.
        rows : array of shape (n_samples, k)
            Row numbers in `fit`; the first of equal samples of a class.
        """
        check_is_fitted(self)
        check_whole("k", k, 1)
        X = completed(read_samples(self, X, reset=False), self.medians_)
        distances, places = self._machine_.nearest(X, k)
        return distances, self._rows_[places]


def _equal(view: View, A: Array, few: ClassTargets) -> Sequence[Geometry]:
    return [equal_weights(view, A.shape[1], "l2")]
