"""RPDML for triplets and quadruplets: from comparisons of distances to a certified metric."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from geodual.arrays import Array, Indices
from geodual.threads import blas_threads_for, product_operations

from ..base.checks import (
    check_iteration,
    check_not_negative,
    check_number,
    check_pair_weight,
    check_positive,
    iteration_budget,
    real_array,
)
from ..base.maps import precision_of
from ..base.metric_learner import MetricLearner, n_axes
from ..base.tuples import check_reach, look_up
from ..geometry.pair_list import chunk_operations
from ..losses import SquaredHinge
from ..program.certificate import keep_solution, warn_unless_converged
from ..program.incremental import partial_fit, step_certificates
from ..program.logdet_program import LogDetProgram
from ..program.space import choose_space
from ..terms.comparison_term import ComparisonTerm

_SMALLEST, _LARGEST = 1e-140, 1e140  # squares of margins in this range neither underflow nor overflow


class ComparisonLearner(MetricLearner):
    """Base of learners that minimize ½ D(W, W₀) + Σ φ(d(a, b) − d(c, d)) over comparisons.

    A comparison is a tuple of samples: a triplet (a, p, n) means that a is closer to p than to n; a
    quadruplet (a, b, c, d) means that a is closer to b than c is to d. Names are those of metric-learn. A
    subclass has the attributes below.

    Attributes
    ----------
    _places : tuple of int
        The positions in a tuple of the two samples of the near pair, then of the far pair.
    _what : str
        Name of the tuples in error messages.
    """

    _needs_target = False
    _places: ClassVar[tuple[int, int, int, int]]
    _what: ClassVar[str]

    def __init__(
        self,
        C: float = 100.0,
        alpha: float = 0.0,
        prior: Any = "identity",
        margin: float | None = None,
        tol: float = 1e-6,
        max_iter: int | None = None,
        n_components: int | None = None,
        preprocessor: Any = None,
    ) -> None:
        self.C = C
        self.alpha = alpha
        self.prior = prior
        self.margin = margin
        self.tol = tol
        self.max_iter = max_iter
        self.n_components = n_components
        self.preprocessor = preprocessor

    def fit(self, tuples: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn a metric from comparisons.

        Parameters
        ----------
        tuples : array of shape (n_tuples, 3 or 4, n_features), or (n_tuples, 3 or 4) with a preprocessor
            Triplets or quadruplets of samples or of indices.
        y : array of shape (n_tuples,), optional
            +1 for comparisons that hold, −1 for reversed ones. By default, all hold.
        sample_weight : array of shape (n_tuples,), optional
            Weight of each comparison; 1 by default.

        Returns
        -------
        self
        """
        samples = self._samples(tuples)
        signs = self._signs(y, len(samples))
        self._check_parameters()
        weight = check_pair_weight(sample_weight, len(samples), "sample_weight")
        # Comparisons without weight must not affect the covariance or the margin.
        samples, signs, weight = samples[weight > 0.0], signs[weight > 0.0], weight[weight > 0.0]
        n_tuples, size, n_features = samples.shape
        rows = np.arange(n_tuples * size).reshape(n_tuples, size)[:, self._places]
        # In a reversed comparison, the pairs change places.
        indices = np.where(signs[:, None] > 0.0, rows, rows[:, [2, 3, 0, 1]])
        self.n_features_in_ = n_features
        self._fit(samples.reshape(-1, n_features), np.repeat(weight, size), indices, weight)
        return self

    certificates_ = property(step_certificates)
    partial_fit = partial_fit

    def _check_features(self, X: Any) -> None:
        n_features = self._samples(X).shape[2]
        if n_features != self.n_features_in_:
            raise ValueError(
                f"`{self._what}` has {n_features} features, but the metric was learned on "
                f"{self.n_features_in_}; give the features of the last step."
            )

    def _check_parameters(self) -> None:
        check_positive("C", self.C)
        check_not_negative("alpha", self.alpha)
        check_iteration(self.tol, iteration_budget(self.max_iter))
        if self.margin is not None:
            check_number("margin", self.margin)
            if not _SMALLEST < self.margin < _LARGEST:
                raise ValueError(
                    f"`margin` must be positive and neither tiny nor huge, got {self.margin}; leave it out "
                    "for the mean squared distance of the pairs."
                )

    def _fit(self, X: Array, sample_weight: Array, indices: Indices, weight: Array) -> None:
        """Solve the program for the comparisons, and store the metric with its certificate."""
        n_features = X.shape[1]
        with blas_threads_for(product_operations(len(X), n_features, min(X.shape))):
            space = choose_space(self.prior, X, sample_weight)
        with blas_threads_for(chunk_operations(space.X.shape[1])):
            mean = _mean_squared_distance(space.Z, indices, weight)
            self.margin_ = mean if self.margin is None else float(self.margin)
            # [t + μ]₊²/2ρ, as if all comparisons were similar pairs with distance t and bound −μ.
            loss = SquaredHinge.weighted(
                -self.margin_, -self.margin_, self.C / float(weight.sum()), self.alpha
            )
            term = ComparisonTerm(indices, weight, loss)
            program = LogDetProgram(space.X, term, space.prior_inverse)
            found = program.solve(space.prior, self.tol, iteration_budget(self.max_iter))
        warn_unless_converged(self, found)
        keep_solution(self, space, found, X, sample_weight)
        self.n_pairs_ = term.n_pairs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.preprocessor is not None
        tags.input_tags.three_d_array = True
        return tags

    def _samples(self, tuples: Any) -> Array:
        """Return tuples of samples as an array; look them up if indices are given."""
        if n_axes(tuples) == 2:
            tuples = look_up(self.preprocessor, tuples)
        array = real_array(tuples, self._what)
        size = max(self._places) + 1
        if array.ndim != 3 or array.shape[1] != size or not array.size:
            raise ValueError(
                f"`{self._what}` must have shape (n_{self._what}, {size}, n_features), got {array.shape}."
            )
        if not np.isfinite(array).all():
            raise ValueError(f"`{self._what}` must be finite, got NaN or infinite entries; drop these.")
        check_reach(array, self._what)
        return array

    def _signs(self, y: Any, n_tuples: int) -> Array:
        """Return +1 for comparisons that hold and −1 for reversed ones."""
        if y is None:
            return np.ones(n_tuples)
        y = np.asarray(y)
        if y.shape != (n_tuples,) or not np.isin(y, (-1, 1)).all():
            raise ValueError(
                f"`y` must hold +1 or −1 for each of the {n_tuples} {self._what}; leave it out if all hold."
            )
        return np.asarray(y, dtype=float)

    def transform(self, X: Any) -> Array:
        """Map samples or tuples of samples to the space whose Euclidean distance is the learned metric.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), (n_tuples, n, n_features), or (n_samples,)
            Samples, tuples of samples, or indices of samples for the preprocessor.

        Returns
        -------
        array of shape (n_samples, n_components) or (n_tuples, n, n_components)
            X Lᵀ.
        """
        check_is_fitted(self)
        if n_axes(X) == 3:
            X = np.asarray(X, dtype=precision_of(X))
            return np.asarray(super().transform(X.reshape(-1, X.shape[2])).reshape(*X.shape[:2], -1))
        if n_axes(X) == 1 and self.preprocessor is not None:
            X = look_up(self.preprocessor, X)
        return super().transform(X)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Learn a metric from comparisons, and map them to the space in which it is Euclidean.

        Parameters
        ----------
        X : array of shape (n_tuples, n, n_features), or (n_tuples, n) with a preprocessor
            Tuples of samples or of indices.
        y : array of shape (n_tuples,), optional
            +1 for comparisons that hold, −1 for reversed ones. By default, all hold.
        **fit_params
            Further arguments of `fit`.

        Returns
        -------
        array of shape (n_tuples, n, n_components)
            The tuples, transformed.
        """
        if y is not None:
            fit_params["y"] = y
        self.fit(X, **fit_params)
        return self.transform(look_up(self.preprocessor, X) if n_axes(X) == 2 else X)

    def pair_distance(self, pairs: Any) -> Array:
        """Return the learned distance of each pair (not squared).

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        """
        check_is_fitted(self)
        return super().pair_distance(look_up(self.preprocessor, pairs) if n_axes(pairs) == 2 else pairs)

    def decision_function(self, X: Any) -> Array:
        """Return the distance of the far pair minus that of the near pair.

        Parameters
        ----------
        X : array of shape (n_tuples, n, n_features), or (n_tuples, n) with a preprocessor
            Tuples of samples or of indices.
        """
        check_is_fitted(self)
        ends = self._samples(X)[:, self._places]
        return self.pair_distance(ends[:, 2:]) - self.pair_distance(ends[:, :2])

    def predict(self, X: Any) -> Array:
        """Return +1 if the near pair is closer than the far pair, and −1 otherwise.

        Parameters
        ----------
        X : array of shape (n_tuples, n, n_features), or (n_tuples, n) with a preprocessor
            Tuples of samples or of indices.
        """
        return np.where(self.decision_function(X) > 0.0, 1, -1)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of comparisons that are predicted correctly.

        Parameters
        ----------
        X : array of shape (n_tuples, n, n_features), or (n_tuples, n) with a preprocessor
            Tuples of samples or of indices.
        y : array of shape (n_tuples,), optional
            +1 for comparisons that hold, −1 for reversed ones. By default, all hold.
        sample_weight : array of shape (n_tuples,), optional
            Weight of each comparison; 1 by default.
        """
        predicted = self.predict(X)
        weight = check_pair_weight(sample_weight, len(predicted), "sample_weight")
        return float(np.average(predicted == self._signs(y, len(predicted)), weights=weight))


def _mean_squared_distance(Z: Array, indices: Indices, weight: Array) -> float:
    """Return the weighted mean over both pairs of all comparisons; raise an error if all are equal."""
    near, far = Z[indices[:, 0]] - Z[indices[:, 1]], Z[indices[:, 2]] - Z[indices[:, 3]]
    squares = np.einsum("kf,kf->k", near, near) + np.einsum("kf,kf->k", far, far)
    mean = 0.5 * float(np.average(squares, weights=weight))
    if mean == 0.0:
        raise ValueError("All samples to compare are equal, so there is no distance to learn; check them.")
    if not _SMALLEST < mean < _LARGEST:
        raise ValueError("Samples are too close or too far apart to square distances; scale the features.")
    return mean


class TripletRPDML(ComparisonLearner):
    r"""`RPDML` for triplets: a sample is closer to a second sample than to a third.

    Choose it if you have comparisons instead of classes ("this song is more like that one than like the
    other"). With a margin :math:`\mu` and squared distances :math:`d_W`, it solves

    .. math:: \min_{W \succ 0,\ \xi \ge 0} \tfrac12 D(W, W_0) + \tfrac{C}{2m}\|\xi\|^2
              \quad\text{s.t.}\quad d_W(a_k, p_k) + \mu \le d_W(a_k, n_k) + \mu \xi_k

    over m triplets (a, p, n), where D(W, W₀) = tr(WW₀⁻¹) − log det(WW₀⁻¹) − n is the LogDet divergence. The
    program is convex. The fit stops when the duality gap proves that the objective is optimal to a relative
    error of `tol`. If there are more features than samples, the program is solved in the span of the samples.

    Parameters
    ----------
    C : float
        Weight of the violations, divided by the number m of triplets. Larger values follow the triplets more
        closely, smaller ones the prior. Useful values are 1 to 10,000.
    alpha : float
        C₂ ≥ 0, the weight of −½‖λ‖² in the regularized Lagrangian, eq. (2) of the paper. Positive values
        weaken the constraints; 0 gives the program above.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        W₀: the identity, the inverse covariance of the samples in the triplets (regularized if singular), or
        a given positive definite matrix.
    margin : float, optional
        μ > 0, the smallest desired difference of the squared distances. By default, the mean squared distance
        of the compared pairs under the prior.
    tol : float
        Stop when the relative duality gap is at most `tol`.
    max_iter : int, optional
        Maximum number of iterations; 500 by default.
    n_components : int, optional
        Number of rows of `components_`: keep this number of leading eigenvectors of W. All are kept by
        default.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up triplets given as indices: rows of an array, or a function from an array of indices to
        an array of samples. By default, triplets must be samples.

    Attributes
    ----------
    W_ : array of shape (n_features, n_features)
        The learned matrix.
    components_ : array of shape (n_components, n_features)
        The map L with LᵀL = W, or its best approximation of rank `n_components`.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    margin_ : float
        μ.
    duality_gap_, objective_, dual_objective_ : float
        The relative duality gap, the objective at W, and its lower bound over all metrics.
    n_iter_ : int
        Number of iterations.
    n_pairs_ : int
        Number of compared pairs: two per triplet.
    history_ : tuple
        One record for the start and one per iteration, with the fields `objective`, `primal` and `dual` (best
        values so far), `gap`, `passes` (over the triplets) and `seconds`.
    certificates_ : tuple
        The certificate of each step, with the fields `objective`, `dual_objective`, `duality_gap`, `n_iter`
        and `n_pairs`: one after `fit`, and one more per call of `partial_fit`.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    QuadrupletRPDML : Compares the distances of any two pairs, without a common sample.
    PairRPDML : Learns from similar and dissimilar pairs.
    RPDML : Learns from class labels.

    Examples
    --------
    Learn from 300 triplets of wines, the first two of the same kind, and predict 200 others:

    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from geodual.metric import TripletRPDML
    >>> X, y = load_wine(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> drawn = np.random.default_rng(0).integers(len(X), size=(4000, 3))
    >>> a, p, n = drawn.T
    >>> triplets = drawn[(y[a] == y[p]) & (y[a] != y[n]) & (a != p)][:500]
    >>> learner = TripletRPDML(preprocessor=X).fit(triplets[:300])
    >>> learner.predict(triplets[300:305]).tolist()
    [1, 1, 1, 1, 1]
    >>> round(learner.score(triplets[300:]), 2)
    0.99
    >>> learner.duality_gap_ <= 1e-6
    True
    """

    _places = (0, 1, 0, 2)
    _what = "triplets"


class QuadrupletRPDML(ComparisonLearner):
    r"""`RPDML` for quadruplets: two samples are closer to each other than two others.

    Choose it if you know which of two pairs is more similar, but not how similar a pair is.
    With a margin :math:`\mu` and squared distances :math:`d_W`, it solves

    .. math:: \min_{W \succ 0,\ \xi \ge 0} \tfrac12 D(W, W_0) + \tfrac{C}{2m}\|\xi\|^2
              \quad\text{s.t.}\quad d_W(a_k, b_k) + \mu \le d_W(c_k, d_k) + \mu \xi_k

    over m quadruplets (a, b, c, d), where D(W, W₀) = tr(WW₀⁻¹) − log det(WW₀⁻¹) − n is the LogDet divergence.
    The program is convex. The fit stops when the duality gap proves that the objective is optimal to a
    relative error of `tol`. If there are more features than samples, the program is solved in the span of the
    samples.

    Parameters
    ----------
    C : float
        Weight of the violations, divided by the number m of quadruplets. Larger values follow the quadruplets
        more closely, smaller ones the prior. Useful values are 1 to 10,000.
    alpha : float
        C₂ ≥ 0, the weight of −½‖λ‖² in the regularized Lagrangian, eq. (2) of the paper. Positive values
        weaken the constraints; 0 gives the program above.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        W₀: the identity, the inverse covariance of the samples in the quadruplets (regularized if singular),
        or a given positive definite matrix.
    margin : float, optional
        μ > 0, the smallest desired difference of the squared distances. By default, the mean squared distance
        of the compared pairs under the prior.
    tol : float
        Stop when the relative duality gap is at most `tol`.
    max_iter : int, optional
        Maximum number of iterations; 500 by default.
    n_components : int, optional
        Number of rows of `components_`: keep this number of leading eigenvectors of W. All are kept by
        default.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up quadruplets given as indices: rows of an array, or a function from an array of indices
        to an array of samples. By default, quadruplets must be samples.

    Attributes
    ----------
    W_ : array of shape (n_features, n_features)
        The learned matrix.
    components_ : array of shape (n_components, n_features)
        The map L with LᵀL = W, or its best approximation of rank `n_components`.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    margin_ : float
        μ.
    duality_gap_, objective_, dual_objective_ : float
        The relative duality gap, the objective at W, and its lower bound over all metrics.
    n_iter_ : int
        Number of iterations.
    n_pairs_ : int
        Number of compared pairs: two per quadruplet.
    history_ : tuple
        One record for the start and one per iteration, with the fields `objective`, `primal` and `dual` (best
        values so far), `gap`, `passes` (over the quadruplets) and `seconds`.
    certificates_ : tuple
        The certificate of each step, with the fields `objective`, `dual_objective`, `duality_gap`, `n_iter`
        and `n_pairs`: one after `fit`, and one more per call of `partial_fit`.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    TripletRPDML : Compares the distances of a sample to two others.
    PairRPDML : Learns from similar and dissimilar pairs.
    RPDML : Learns from class labels.

    Examples
    --------
    Learn from 300 quadruplets of wines, each with a pair of the same kind and a pair of different kinds, and
    predict 200 others:

    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from geodual.metric import QuadrupletRPDML
    >>> X, y = load_wine(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> drawn = np.random.default_rng(0).integers(len(X), size=(4000, 4))
    >>> a, b, c, d = drawn.T
    >>> quadruplets = drawn[(y[a] == y[b]) & (y[c] != y[d]) & (a != b)][:500]
    >>> learner = QuadrupletRPDML(preprocessor=X).fit(quadruplets[:300])
    >>> learner.predict(quadruplets[300:305]).tolist()
    [1, 1, 1, 1, 1]
    >>> round(learner.score(quadruplets[300:]), 2)
    0.97
    >>> learner.duality_gap_ <= 1e-6
    True
    """

    _places = (0, 1, 2, 3)
    _what = "quadruplets"
