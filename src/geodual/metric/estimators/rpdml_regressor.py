"""RPDMLRegressor: a metric for numeric targets, learnt with a certificate, and nearest neighbours in it."""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from geodual.arrays import Array, Indices
from geodual.threads import blas_threads_for, product_operations

from ..base.checks import check_iteration, check_positive, check_share, check_whole
from ..base.maps import check_map, factor, mapped
from ..base.metric_learner import MetricLearner, check_size
from ..machine.kernel_regression import best_regression
from ..machine.mapped_distance import MappedDistance
from ..machine.scoring import NumberTargets
from ..machine.views import View
from ..program.certificate import CertifiedMetric, keep_solution, warn_unless_converged
from ..program.feature_fit import learn_weights, target_search
from ..program.logdet_program import LogDetProgram
from ..program.space import Space, choose_space
from ..selection.local_pairs import LocalPairs
from ..selection.targets import TargetSamples, nearest_pairs, pair_distances, random_pairs
from ..terms.graded_term import GradedTerm

_NEAR = 15  # number of neighbours of each sample that make local pairs
_EARLIER_FITS = 2  # fits to local pairs that only serve to find nearer neighbours …
_EARLIER_TOL = 1e-3  # … and need not be exact
_MOST_IN_KERNEL = 5_000  # samples whose kernel matrix is decomposed in seconds
_C_OF_WEIGHTS = 3000.0  # the default of `FeatureWeights`
_SMALLEST, _LARGEST = 1e-140, 1e140  # squares of distances between these neither under- nor overflow


class RPDMLRegressor(RegressorMixin, MetricLearner):
    r"""Metric learning for regression: samples are as far apart as their targets differ.

    Choose it to predict a number from nearest neighbours if not all features matter alike. `predict` averages
    over the neighbours in the learnt metric; `transform` serves other methods that need distances.

    Each pair of samples has a bound of its own, from the difference of the ranks r of their targets,
    :math:`b_k = c\,(r_i - r_j)^2`. Pairs that are farther apart are drawn together, and nearer ones are
    pushed apart. The factor c is such that the mean bound :math:`\bar b` of all pairs is equal to their mean
    squared distance under the prior. With the squared distances :math:`d_k(W) = v_k^\top W v_k` of the m
    pairs it solves

    .. math:: \min_{W \succ 0,\ \xi} \tfrac12 D(W, W_0) + \tfrac{C}{2m}\|\xi\|^2
              \quad\text{s.t.}\quad d_k(W) - b_k = \bar b\,\xi_k,

    where D is the LogDet divergence of `RPDML`. All slacks ξ have the same unit, so pairs with a large bound
    weigh more than in `RPDML`, where the unit is the bound itself. The program is convex; the fit stops when
    the duality gap proves that the objective is optimal to a relative error of `tol`. Because only ranks of
    targets count, outliers do no harm, and any increasing function of the target gives the same metric.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours that `predict` averages over. If there are fewer distinct samples, all of them.
    weights : "distance" or "uniform"
        How `predict` weighs the neighbours: by the inverse of their distance, or all alike.
    C : float
        Weight of the deviations from the bounds. Larger values follow the targets more closely, smaller ones
        the prior. Useful values are 1 to 1,000: small ones for noisy targets or many features.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        W₀: the identity, the inverse covariance of the samples (regularised if singular), or a given positive
        definite matrix, for example `W_` of an earlier fit.
    pairs : "local" or int
        The pairs that count. "local": each sample with its 15 nearest neighbours, which are found twice again
        under the learnt metric. A number: this number of random pairs, which suit targets that depend on the
        features almost linearly and noisily, and are faster. Ten times the number of samples is enough.
    tol : float
        Stop when the relative duality gap is at most `tol`.
    max_iter : int
        Maximal number of iterations; with local pairs, of each of the three fits.
    n_components : int, optional
        Number of rows of `components_`: keep this number of leading eigenvectors of W. All are kept by
        default.
    random_state : int or RandomState, optional
        Seed for random pairs.
    predictor : "neighbors" or "kernel"
        What `predict` does. "neighbors": the mean over nearest neighbours in the metric above. "kernel":
        kernel ridge with a Laplace kernel, mostly more accurate. It learns more metrics, on standardised
        features and on Gaussian scores of their ranks: squared weights of `FeatureWeights` with the
        city-block distance, and a matrix as above with its distance. The best of these four, and then its
        bandwidth and ridge, are chosen by leave-one-out in closed form. It takes up to 5,000 distinct
        samples.

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
        The smallest objective above over ξ, at W; with local pairs, of the last fit.
    dual_objective_ : float
        Lower bound on `objective_` for any metric.
    n_iter_ : int
        Number of iterations; with local pairs, of all three fits.
    n_pairs_ : int
        Number of pairs.
    history_ : tuple
        One record for the start and one per iteration, with the fields `objective`, `primal` and `dual` (best
        values so far), `gap`, `passes` (over the pairs) and `seconds`; with local pairs, of the last fit.
    view_, distance_ : str
        Of the kernel predictor: "standard" or "rank", and "l1" or "l2".
    feature_weights_ : array of shape (n_features,)
        Of the kernel predictor: weights of the features in the chosen view, or the diagonal of its matrix.
    bandwidth_, ridge_, loo_error_ : float
        Of the kernel predictor: the settings, and the root of the mean squared error by leave-one-out. As the
        least of several it is slightly optimistic.
    certificates_ : MachineCertificates
        Of the kernel predictor: `metric_gap`, the duality gap of its metric, and `ridge_residual`, that of
        its linear system.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X is a table with column names.

    See Also
    --------
    RPDML : Learns from class labels.
    PairRPDML : Learns from pairs that are known to be similar or not.

    Examples
    --------
    Only five of the ten features of this set matter. `GridSearchCV` can choose `C` and `n_neighbors`.

    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from geodual.metric import RPDMLRegressor
    >>> X, y = make_friedman1(400, random_state=0)
    >>> plain = KNeighborsRegressor(10, weights="distance")
    >>> round(float(cross_val_score(plain, X, y).mean()), 2)  # R²
    0.66
    >>> round(float(cross_val_score(RPDMLRegressor(), X, y).mean()), 2)
    0.86
    >>> model = RPDMLRegressor().fit(X, y)
    >>> model.duality_gap_ <= 1e-6
    True
    >>> bool(model.feature_importances_[5:].max() < model.feature_importances_[:5].min())
    True
    >>> kernel = RPDMLRegressor(predictor="kernel")
    >>> round(float(cross_val_score(kernel, X, y).mean()), 2)
    0.99
    >>> lower, upper = kernel.fit(X[:300], y[:300]).predict_interval(X[300:], coverage=0.9)
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
        predictor: str = "neighbors",
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn a metric from samples and their targets.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Their targets: numbers.
        sample_weight : array of shape (n_samples,), optional
            How often each sample counts; once by default. Equal samples are one neighbour of their total
            weight, whose target is their mean, so whole weights are the same as repeated rows.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=float, order="C", y_numeric=True, ensure_min_samples=2)
        check_size(X)
        if y.dtype.kind in "SU":
            raise ValueError(f"`y` must hold numbers, got texts such as {y[0]!r}; use RPDML for classes.")
        self._check_parameters()
        weight = np.ones(len(X))
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        used = weight > 0.0
        y = np.asarray(y[used], dtype=float)
        if not used.any() or y.min() == y.max():
            raise ValueError(
                "`y` must have at least two different values among the samples of positive weight, so that "
                "there are differences to learn from; check `y`."
            )
        samples = TargetSamples.merged(X[used], y, weight[used])
        n_samples, n_features = samples.X.shape
        with blas_threads_for(product_operations(n_samples, n_features, min(n_samples, n_features))):
            self._learn(samples)
            if self.predictor == "kernel":
                self._fit_kernel(samples)
        # Kept for `predict`.
        self._search_ = NearestNeighbors().fit(mapped(samples.X, self.components_))
        self._targets_, self._counts_ = samples.y, samples.weight / samples.weight.max()
        return self

    def _check_parameters(self) -> None:
        check_whole("n_neighbors", self.n_neighbors, 1)
        if self.weights not in ("distance", "uniform"):
            raise ValueError(f'`weights` must be "distance" or "uniform", got {self.weights!r}.')
        if self.predictor not in ("neighbors", "kernel"):
            raise ValueError(f'`predictor` must be "neighbors" or "kernel", got {self.predictor!r}.')
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
        """Return the best metric for pairs that are near under W, and their number; start from W."""
        if len(space.X) < 2:
            raise ValueError("All samples are equal, so there is no distance to learn; check the features.")
        indices = (
            nearest_pairs(space.X @ factor(W), _NEAR)
            if self._is_local
            else random_pairs(len(space.X), int(self.pairs), rng)
        )
        # Products of weights relative to the largest product, by logarithms: they could vanish or overflow.
        size = np.log(samples.weight)[indices].sum(axis=1)
        weight = np.exp(size - size.max())
        bounds, unit = _graded_bounds(space.Z, samples.ranks, indices, weight)
        # Divided by the number of pairs, so that a good C does not depend on it.
        term = GradedTerm(indices, bounds, weight, unit**2 * float(weight.sum()) / self.C)
        program = LogDetProgram(space.X, term, space.prior_inverse)
        return program.solve(W, tol, self.max_iter), term.n_pairs

    def _fit_kernel(self, samples: TargetSamples) -> None:
        """Choose and fit the kernel machine."""
        if len(samples.X) > _MOST_IN_KERNEL:
            raise ValueError(
                f'`predictor="kernel"` takes up to {_MOST_IN_KERNEL:,} distinct samples, got '
                f'{len(samples.X):,}; give fewer, or take "neighbors".'
            )

        def weights(view: View, A: Array) -> tuple[MappedDistance, Array, float]:
            find = target_search(samples.ranks, LocalPairs(), "l1")
            found = learn_weights(
                A, find, samples.weight, distance="l1", C=_C_OF_WEIGHTS, tol=self.tol, max_iter=self.max_iter
            ).found
            return MappedDistance(view, found.W**2, "l1"), found.W, found.gap

        def matrix(view: View, A: Array) -> tuple[MappedDistance, Array, float]:
            learner = RPDMLRegressor(C=self.C, tol=self.tol, max_iter=self.max_iter)
            learner.fit(A, samples.y, sample_weight=samples.weight)
            L = np.asarray(learner.components_)
            return MappedDistance(view, L, "l2"), np.diag(learner.W_).copy(), learner.duality_gap_

        best = best_regression(samples.X, NumberTargets(samples.y, samples.weight), (weights, matrix))
        self._kernel_, self.view_, self.distance_ = best, best.view, best.distance.kind
        self.feature_weights_, self.certificates_ = best.weights, best.certificates
        self.bandwidth_, self.ridge_ = best.machine.bandwidth, best.machine.ridge
        self.loo_error_ = float(np.sqrt(-best.machine.criterion))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Predict intervals in which targets lie, by the jackknife+; it needs ``predictor="kernel"``.

        An interval is made of the predictions of all machines that leave one sample out, each widened by its
        error at that sample. For settings that do not depend on the targets, at least 2 · coverage − 1 of new
        targets lie in their intervals, whatever their distribution, and mostly about `coverage` of them. Here
        metric and settings are chosen on all samples, so this is not proved.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples, with the features of `fit`.
        coverage : float
            Share of targets that should lie in their intervals, between 0 and 1.

        Returns
        -------
        lower, upper : array of shape (n_samples,)
            The ends of the intervals; infinite if there are too few samples for such a coverage.

        References
        ----------
        R. F. Barber, E. J. Candès, A. Ramdas, R. J. Tibshirani, "Predictive inference with the jackknife+",
        Annals of Statistics 49(1), 2021.
        """
        check_is_fitted(self)
        if self.predictor != "kernel":
            raise ValueError('`predict_interval` needs `predictor="kernel"`; fit with it.')
        check_positive("coverage", coverage)
        check_share("coverage", coverage)
        X = validate_data(self, X, reset=False, dtype=float)
        check_size(X)
        return self._kernel_.intervals(X, coverage)

    def predict(self, X: Any) -> Array:
        """Predict targets by nearest samples of `fit` in the learnt metric, or by kernel ridge.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples, with the features of `fit`.

        Returns
        -------
        array of shape (n_samples,)
            Predicted targets.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=float)
        check_size(X)
        if self.predictor == "kernel":
            return self._kernel_.predict(X)
        check_map(X, self.components_)
        n_neighbors = min(self.n_neighbors, len(self._targets_))
        distance, places = self._search_.kneighbors(mapped(X, self.components_), n_neighbors)
        share = self._counts_[places]
        if self.weights == "distance":
            # Relative to the nearest; if that is at distance zero, it decides alone.
            share *= np.divide(distance[:, :1], distance, out=np.ones_like(distance), where=distance > 0.0)
        share /= share.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("ij,ij->i", share, self._targets_[places]))


def _graded_bounds(Z: Array, ranks: Array, indices: Indices, weight: Array) -> tuple[Array, float]:
    """Return a bound per pair, proportional to the squared difference of ranks, and the mean distance.

    If all pairs have equal ranks, all bounds are zero. Otherwise their mean is the mean squared distance.
    """
    mean = float(np.average(pair_distances(Z, indices), weights=weight))
    if not _SMALLEST < mean < _LARGEST:
        raise ValueError("The samples are too near or too far apart to square distances; scale the features.")
    grades = (ranks[indices[:, 0]] - ranks[indices[:, 1]]) ** 2
    mean_grade = float(np.average(grades, weights=weight))
    return grades * (mean / mean_grade if mean_grade > 0.0 else 0.0), mean
