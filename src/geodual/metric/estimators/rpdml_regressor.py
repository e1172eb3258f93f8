"""RPDMLRegressor: predict numbers in learned metrics, with certificates; all choices by leave-one-out."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from geodual.arrays import Array, Indices
from geodual.cluster import is_dask
from geodual.threads import blas_threads_for, one_thread, product_operations

from ..base.checks import check_iteration, check_positive, check_share, check_whole
from ..base.maps import check_map, factor, mapped
from ..base.metric_learner import MetricLearner
from ..machine.geometry import Geometry, equal_weights
from ..machine.gradient import gradient_weights
from ..machine.inputs import completed, read_chunks, read_samples
from ..machine.intervals import intervals
from ..machine.landmarks import ManySamples
from ..machine.machine import check_machine, fit_machine, landmark_places
from ..machine.many_samples import SamplesOnWorkers, by_chunks, drawn_places
from ..machine.neighbor_means import means
from ..machine.targets import NumberTargets
from ..machine.views import VIEWS, View, medians
from ..program.certificate import CertifiedMetric, keep_solution, warn_unless_converged
from ..program.feature_fit import learn_weights, target_search
from ..program.logdet_program import LogDetProgram
from ..program.space import Space, choose_space
from ..selection.local_pairs import LocalPairs
from ..selection.targets import TargetSamples, counted_ranks, nearest_pairs, pair_distances, random_pairs
from ..terms.graded_term import GradedTerm

_NEAR = 15  # number of neighbors per sample in local pairs
_EARLIER_FITS = 2  # fits to local pairs that only serve to find closer neighbors …
_EARLIER_TOL = 1e-3  # … and need not be exact
_C_OF_WEIGHTS = 3000.0  # the default of `FeatureWeights`
_SMALLEST, _LARGEST = 1e-140, 1e140  # squares of distances in this range neither underflow nor overflow


class RPDMLRegressor(RegressorMixin, MetricLearner):
    r"""Predict numbers in learned metrics by kernel machines, local fits or neighbors, with nothing to tune.

    Choose it for tables with numeric features of any scale that differ in importance. `predict_interval`
    returns intervals. The learned matrix W is a metric for other methods that need distances; see
    `transform`.

    **Prediction.** Features have two views: standardized, and as Gaussian scores of their ranks, clipped at
    ±3. In each view, three metrics are learned: squared weights of `FeatureWeights` with the city-block
    distance; the root mean squares of the derivatives of a machine with these weights, with the same distance
    (one round of a recursive feature machine; it has no duality gap); and a matrix as below with its
    distance. In each of the six, the bandwidth and ridge of kernel ridge regression with the Laplace kernel
    minimize the squared leave-one-out error on up to 1,000 samples. The prediction is a mixture of the six,
    whose convex weights minimize the same error; a duality gap proves that no others are better. With more
    than `max_exact` distinct samples, all of this is chosen on `n_landmarks` random samples; the best of the
    six machines is then fitted to all samples with these as landmarks (Nyström). Views, ridge and intervals
    are then those of up to 20,000 random samples. The samples may be a dask array: only the drawn samples are
    gathered, and the workers compute the sums over all samples.

    Missing values (NaN) are replaced by the median of the feature in `fit`, and by 0 if all are missing.

    **Metric.** Each pair of samples has its own bound, from the difference of the ranks r of their targets,
    :math:`b_k = c\,(r_i - r_j)^2`, summed over the outputs. Pairs that are farther apart are drawn together,
    and closer ones are pushed apart. The factor c makes the mean bound :math:`\bar b` of all pairs equal to
    their mean squared distance under the prior. With the squared distances :math:`d_k(W) = v_k^\top W v_k` of
    the m pairs, it solves

    .. math:: \min_{W \succ 0,\ \xi} \tfrac12 D(W, W_0) + \tfrac{C}{2m}\|\xi\|^2
              \quad\text{s.t.}\quad d_k(W) - b_k = \bar b\,\xi_k,

    where D is the LogDet divergence of `RPDML`. All slacks ξ have the same unit, so pairs with a large bound
    weigh more than in `RPDML`, where the unit is the bound itself. The program is convex; the fit stops when
    the duality gap proves that the objective is optimal to a relative error of `tol`. Because only ranks of
    targets count, outliers do no harm, and any increasing function of the target gives the same metric. With
    more than 20,000 samples, the metric is learned from a random 20,000.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbors to average with ``predictor="neighbors"``; all distinct samples if there are
        fewer.
    weights : "distance" or "uniform"
        Weights of these neighbors: inverse distances, or equal weights.
    C : float
        Weight of the deviations from the bounds. Larger values follow the targets more closely, smaller ones
        the prior. Useful values are 1 to 1,000: small ones for noisy targets or many features.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        W₀: the identity, the inverse covariance of the samples (regularized if singular), or a given positive
        definite matrix, for example `W_` of an earlier fit.
    pairs : "local" or int
        The pairs to learn from. "local": each sample with its 15 nearest neighbors, which are found twice
        more under the learned metric. A number: this number of random pairs, which are faster and suit noisy
        targets that depend almost linearly on the features. Ten times the number of samples is enough.
    tol : float
        Stop when the relative duality gap is at most `tol`.
    max_iter : int
        Maximum number of iterations; with local pairs, of each of the three fits.
    n_components : int, optional
        Number of rows of `components_`: keep this number of leading eigenvectors of W. All are kept by
        default.
    random_state : int or RandomState, optional
        Seed for random pairs and landmarks.
    predictor : "kernel", "local" or "neighbors"
        Method of `predict`. "kernel": the mixture of kernel machines. "local": a mixture of linear functions
        fitted to the neighbors of each sample, in the same metrics. "neighbors": the mean over nearest
        neighbors in the metric W of the original features.
    max_exact : int
        Largest number of distinct samples for a full kernel matrix.
    n_landmarks : int
        Number of landmarks if there are more samples.

    Attributes
    ----------
    W_ : array of shape (n_features, n_features)
        The learned matrix.
    components_ : array of shape (n_components, n_features)
        The map L with LᵀL = W, or its best approximation of rank `n_components`.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    mixture_ : tuple of Part
        The machines with their shares, the largest first; ``print(*model.mixture_, sep="\\n")`` shows them.
        This attribute and the next three do not exist for "neighbors".
    loo_error_ : float, or array of shape (n_outputs,)
        Root mean squared leave-one-out error. As the smallest of several, it is slightly optimistic.
    feature_weights_ : array of shape (n_features,)
        The learned weights of the features, or the diagonal of the matrix, in the certified metric with the
        largest share.
    certificates_ : MachineCertificates
        `metric_gap`, the largest duality gap of a metric in the mixture; `mixture_gap`, that of the shares;
        and `ridge_residual`, the largest relative residual of a kernel machine.
    medians_ : array of shape (n_features,)
        Replacements for missing values.
    duality_gap_ : float
        Relative duality gap, an upper bound on the relative error of the objective.
    objective_ : float
        The smallest objective above over ξ, at W; with local pairs, of the last fit.
    dual_objective_ : float
        Lower bound on `objective_` over all metrics.
    n_iter_ : int
        Number of iterations; with local pairs, of all three fits.
    n_pairs_ : int
        Number of pairs.
    history_ : tuple
        One record for the start and one per iteration, with the fields `objective`, `primal` and `dual` (best
        values so far), `gap`, `passes` (over the pairs) and `seconds`; with local pairs, of the last fit.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X is a table with column names.

    See Also
    --------
    RPDML : Learns from class labels.
    RPDMLClassifier : Predicts classes.
    FeatureWeights : Weights of features alone.
    PairRPDML : Learns from similar and dissimilar pairs.

    Examples
    --------
    Only five of the ten features of this set matter.

    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from geodual.metric import RPDMLRegressor
    >>> X, y = make_friedman1(400, random_state=0)
    >>> def score(model):
    ...     return round(float(cross_val_score(model, X, y).mean()), 2)  # R²
    >>> score(KNeighborsRegressor(10, weights="distance"))
    0.66
    >>> score(RPDMLRegressor(predictor="neighbors"))
    0.86
    >>> score(RPDMLRegressor())
    0.99
    >>> model = RPDMLRegressor().fit(X[:300], y[:300])
    >>> model.duality_gap_ <= 1e-6
    True
    >>> bool(model.feature_importances_[5:].max() < model.feature_importances_[:5].min())
    True
    >>> lower, upper = model.predict_interval(X[300:], coverage=0.9)
    >>> bool(((lower <= y[300:]) & (y[300:] <= upper)).mean() > 0.8)
    True
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        weights: str = "distance",
        C: float = 100.0,
        prior: Any = "identity",
        pairs: Any = "local",
        tol: float = 1e-6,
        max_iter: int = 500,
        n_components: int | None = None,
        random_state: Any = None,
        predictor: str = "kernel",
        max_exact: int = 5000,
        n_landmarks: int = 2000,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.C = C
        self.prior = prior
        self.pairs = pairs
        self.tol = tol
        self.max_iter = max_iter
        self.n_components = n_components
        self.random_state = random_state
        self.predictor = predictor
        self.max_exact = max_exact
        self.n_landmarks = n_landmarks

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
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
            Target values.
        sample_weight : array of shape (n_samples,), optional
            Weight of each sample; 1 by default. Equal samples are merged into one with their total weight and
            mean target, so whole weights are equivalent to repeated rows.

        Returns
        -------
        self
        """
        self._check_parameters()
        if is_dask(X):
            X, y, sample_weight = read_chunks(self, X, y, sample_weight)
            if is_dask(X):
                return self._fit_on_workers(X, y, sample_weight)
        X, y = read_samples(self, X, y, y_numeric=True, multi_output=True, ensure_min_samples=2)
        y, weight, used = self._checked_targets(y, sample_weight)
        self.medians_ = medians(X[used], weight)
        X = completed(X[used], self.medians_)
        samples = TargetSamples.merged(X, y, weight)
        drawn, n_features = drawn_places(len(X)), X.shape[1]
        few = samples if len(drawn) == len(X) else TargetSamples.merged(X[drawn], y[drawn], weight[drawn])
        with blas_threads_for(product_operations(len(drawn), n_features, min(len(drawn), n_features))):
            self._learn(few)
        if self.predictor == "neighbors":
            # Kept for `predict`.
            self._search_ = NearestNeighbors().fit(mapped(samples.X, self.components_))
            self._targets_, self._counts_ = samples.y, samples.weight / samples.weight.max()
        else:
            targets = NumberTargets.of(samples.y, samples.weight)
            self._fit_machine(samples.X, targets, self._places(len(samples.X)))
        return self

    def _fit_on_workers(self, X: Any, y: Array, sample_weight: Any) -> Self:
        y, weight, used = self._checked_targets(y, sample_weight)
        places = self._places(len(y))
        samples = SamplesOnWorkers(X if used.all() else X[np.flatnonzero(used)], weight, places)
        self.medians_, drawn = samples.medians, samples.drawn
        with one_thread():
            self._learn(TargetSamples.merged(samples.X[samples.at(drawn)], y[drawn], weight[drawn]))
        self._fit_machine(samples, NumberTargets.of(y, weight), places)
        return self

    def _checked_targets(self, y: Array, sample_weight: Any) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return targets with a column per output, their weights, and the numbers of their samples."""
        if y.dtype.kind in "SU":
            raise ValueError(
                f"`y` must hold numbers, got texts such as {y.flat[0]!r}; use RPDMLClassifier for classes."
            )
        weight = np.ones(len(y))
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, y, dtype=float, ensure_non_negative=True)
        used = weight > 0.0
        y = np.asarray(y[used], dtype=float)
        if not used.any() or not np.ptp(y, axis=0).any():
            raise ValueError(
                "`y` must have at least two different values among the samples of positive weight, so that "
                "there are differences to learn from; check `y`."
            )
        self._is_flat = y.ndim == 1
        return y.reshape(len(y), -1), weight[used], used

    def _check_parameters(self) -> None:
        check_machine(self)
        check_whole("n_neighbors", self.n_neighbors, 1)
        if self.weights not in ("distance", "uniform"):
            raise ValueError(f'`weights` must be "distance" or "uniform", got {self.weights!r}.')
        check_positive("C", self.C)
        check_iteration(self.tol, self.max_iter)
        if isinstance(self.pairs, numbers.Integral):
            check_whole("pairs", self.pairs, 1)
        elif not self._is_local:
            raise ValueError(f'`pairs` must be "local" or a number of pairs, got {self.pairs!r}.')

    @property
    def _is_local(self) -> bool:
        return isinstance(self.pairs, str) and self.pairs == "local"

    def _learn(self, samples: TargetSamples) -> None:
        space = choose_space(self.prior, samples.X, samples.weight)
        rng, n_iter, W = check_random_state(self.random_state), 0, space.prior
        for _ in range(_EARLIER_FITS if self._is_local else 0):
            found, _ = self._solve(space, samples, W, max(self.tol, _EARLIER_TOL), rng)
            n_iter, W = n_iter + found.n_iter, found.W
        found, self.n_pairs_ = self._solve(space, samples, W, self.tol, rng)
        warn_unless_converged(self, found)
        keep_solution(self, space, found, samples.X, samples.weight)
        self.n_iter_ = max(n_iter + found.n_iter, 1)

    def _solve(
        self, space: Space, samples: TargetSamples, W: Array, tol: float, rng: np.random.RandomState
    ) -> tuple[CertifiedMetric, int]:
        """Return the best metric for pairs that are close under W, and their number; start from W."""
        if len(space.X) < 2:
            raise ValueError("All samples are equal, so there is no distance to learn; check the features.")
        indices = (
            nearest_pairs(space.X @ factor(W), _NEAR)
            if self._is_local
            else random_pairs(len(space.X), int(self.pairs), rng)
        )
        # Products of weights relative to the largest, by logarithms, because they could underflow or
        # overflow.
        size = np.log(samples.weight)[indices].sum(axis=1)
        weight = np.exp(size - size.max())
        bounds, unit = _graded_bounds(space.Z, samples.ranks, indices, weight)
        # Divide by the number of pairs, so that a good C does not depend on it.
        term = GradedTerm(indices, bounds, weight, unit**2 * float(weight.sum()) / self.C)
        program = LogDetProgram(space.X, term, space.prior_inverse)
        return program.solve(W, tol, self.max_iter), term.n_pairs

    def _places(self, n: int) -> Indices | None:
        """Return the landmarks of n samples."""
        return landmark_places(n, self.max_exact, self.n_landmarks, check_random_state(self.random_state))

    def _fit_machine(self, X: Array | ManySamples, targets: NumberTargets, places: Indices | None) -> None:
        """Choose and fit the machines."""
        n = len(targets.weight)
        size = n if places is None else len(places)
        with blas_threads_for(product_operations(n, size, self.n_features_in_)):
            machine = fit_machine(
                X,
                targets,
                predictor=self.predictor,
                views=VIEWS,
                learners=(self._learn_weights, self._learn_matrix),
                places=places,
            )
        self._machine_, targets = machine, machine.scored_targets
        self.mixture_, self.certificates_ = machine.parts, machine.certificates
        self.feature_weights_ = machine.learned.weights
        errors = (machine.scores - targets.values) ** 2 * targets.unit**2
        error = np.sqrt(np.average(errors, axis=0, weights=targets.weight))
        self.loo_error_ = float(error[0]) if self._is_flat else error

    def _learn_weights(self, view: View, A: Array, few: NumberTargets) -> Sequence[Geometry]:
        """Return the geometries of certified feature weights, and of weights from a machine's derivatives."""
        ranks = np.apply_along_axis(counted_ranks, 0, few.y, few.weight)
        if not np.ptp(ranks, axis=0).any() or not np.ptp(A, axis=0).any():
            return [equal_weights(view, A.shape[1], "l1")]
        find = target_search(ranks, LocalPairs(), "l1")
        options: Any = {"distance": "l1", "C": _C_OF_WEIGHTS, "tol": self.tol, "max_iter": self.max_iter}
        found = learn_weights(A, find, few.weight, **options).found
        learned = Geometry("l1", view, found.W**2, "l1", found.W, found.gap)
        return [learned, gradient_weights(learned, A, few)]

    def _learn_matrix(self, view: View, A: Array, few: NumberTargets) -> Sequence[Geometry]:
        """Return the geometry of a matrix learned in a view; none if there is nothing to learn."""
        if not np.ptp(A, axis=0).any() or not np.ptp(few.y, axis=0).any():
            return []
        learner = RPDMLRegressor(C=self.C, tol=self.tol, max_iter=self.max_iter, predictor="neighbors")
        learner.fit(A, few.y, sample_weight=few.weight)
        L, weights = np.asarray(learner.components_), np.diag(learner.W_).copy()
        return [Geometry("full", view, L, "l2", weights, learner.duality_gap_)]

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Predict intervals for the targets by leave-one-out: the jackknife+.

        An interval is built from the predictions of all machines that leave one sample out, each widened by
        its error at that sample. For settings that do not depend on the targets, at least a share 2 ·
        coverage − 1 of new targets lies in the intervals, for any distribution, and usually about `coverage`.
        Here, metrics and settings are chosen on all samples, so this is not proved. With landmarks, and for
        ``predictor="local"``, it is the jackknife: the prediction minus and plus a leave-one-out error. The
        predictor "neighbors" has no intervals.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples, with the features of `fit`.
        coverage : float
            Desired share of targets in their intervals, between 0 and 1.

        Returns
        -------
        lower, upper : array of shape (n_samples,) or (n_samples, n_outputs)
            The ends of the intervals; infinite if there are too few samples for this coverage.

        References
        ----------
        R. F. Barber, E. J. Candès, A. Ramdas, R. J. Tibshirani, "Predictive inference with the jackknife+",
        Annals of Statistics 49(1), 2021.
        """
        check_is_fitted(self)
        if self.predictor == "neighbors":
            raise ValueError(
                '`predict_interval` needs `predictor="kernel"` or "local"; fit with one of them.'
            )
        check_positive("coverage", coverage)
        check_share("coverage", coverage)
        X = completed(read_samples(self, X, reset=False), self.medians_)
        unit = self._machine_.targets.unit
        lower, upper = (self._in_shape(end * unit) for end in intervals(self._machine_, X, coverage))
        return lower, upper

    def predict(self, X: Any) -> Any:
        """Predict the targets of samples.

        Parameters
        ----------
        X : array or dask array of shape (n_samples, n_features)
            Samples, with the features of `fit`. For a dask array, predictions are a dask array, too.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
            Predicted targets.
        """
        if is_dask(X):
            return by_chunks(self, "predict", X)
        check_is_fitted(self)
        X = read_samples(self, X, reset=False)
        precision, X = X.dtype, completed(X, self.medians_)
        if self.predictor == "neighbors":
            found = self._neighbor_means(X)
        else:
            found = self._machine_.predict(X) * self._machine_.targets.unit
        return self._in_shape(found).astype(precision, copy=False)

    def _in_shape(self, values: Array) -> Array:
        """Return values of shape (n_samples, n_outputs) in the shape of the targets of `fit`."""
        return values[:, 0] if self._is_flat else values

    def transform(self, X: Any) -> Array:
        """Map samples to the space in which the learned metric W is the Euclidean distance.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples, with the features of `fit`.

        Returns
        -------
        array of shape (n_samples, n_components)
            X Lᵀ, with missing values replaced by medians.
        """
        check_is_fitted(self)
        X = read_samples(self, X, reset=False)
        return mapped(completed(X, self.medians_), self.components_).astype(X.dtype, copy=False)

    def _neighbor_means(self, X: Array) -> Array:
        check_map(X, self.components_)
        n_neighbors = min(self.n_neighbors, len(self._targets_))
        distance, places = self._search_.kneighbors(mapped(X, self.components_), n_neighbors)
        return means(distance, self._counts_[places], self._targets_[places], self.weights)


def _graded_bounds(Z: Array, ranks: Array, indices: Indices, weight: Array) -> tuple[Array, float]:
    """Return one bound per pair, proportional to the squared difference of ranks, and the mean distance.

    If all pairs have equal ranks, all bounds are zero. Otherwise their mean is the mean squared distance.
    """
    mean = float(np.average(pair_distances(Z, indices), weights=weight))
    if not _SMALLEST < mean < _LARGEST:
        raise ValueError("Samples are too close or too far apart to square distances; scale the features.")
    grades = ((ranks[indices[:, 0]] - ranks[indices[:, 1]]) ** 2).sum(axis=1)
    mean_grade = float(np.average(grades, weights=weight))
    return grades * (mean / mean_grade if mean_grade > 0.0 else 0.0), mean
