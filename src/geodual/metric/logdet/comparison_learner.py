"""The shared base of TripletRPDML and QuadrupletRPDML: from comparisons to a certified metric."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from geodual.arrays import Array, Indices
from geodual.threads import blas_threads_for, product_operations

from ..pairs.comparison_classifier import ComparisonClassifier
from ..pairs.comparisons import Comparisons
from ..pairs.pair_list import chunk_operations
from ..pairs.pair_loss import SquaredHinge
from ..pairs.weights import check_pair_weight
from ..parameter_checks import check_iteration, check_not_negative, check_number, check_positive
from .incremental import IncrementalMixin
from .program import MAX_ITER, LogDetProgram
from .solution import keep_solution, warn_unless_converged
from .space import choose_space

_SMALLEST, _LARGEST = 1e-140, 1e140  # squares of margins between these neither under- nor overflow


class ComparisonLearner(IncrementalMixin, ComparisonClassifier):
    """Base of the learners that minimise ½ D(W, W₀) + Σ φ(d(a, b) − d(c, d)) over comparisons.

    A subclass says what is compared (`_places`, `_what`).
    """

    _kept: ClassVar[dict[str, str]] = {"prior": "W_", "margin": "margin_"}

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
            +1 for comparisons that hold, −1 for those that hold the other way round. All hold by default.
        sample_weight : array of shape (n_tuples,), optional
            How often each comparison counts; once by default.

        Returns
        -------
        self
        """
        samples = self._samples(tuples)
        signs = self._signs(y, len(samples))
        self._check_parameters()
        weight = check_pair_weight(sample_weight, len(samples), "sample_weight")
        # A comparison without weight must not move the covariance or the margin.
        samples, signs, weight = samples[weight > 0.0], signs[weight > 0.0], weight[weight > 0.0]
        n_tuples, size, n_features = samples.shape
        rows = np.arange(n_tuples * size).reshape(n_tuples, size)[:, self._places]
        # A comparison that holds the other way round: its pairs change places.
        indices = np.where(signs[:, None] > 0.0, rows, rows[:, [2, 3, 0, 1]])
        self.n_features_in_ = n_features
        self._fit(samples.reshape(-1, n_features), np.repeat(weight, size), indices, weight)
        return self

    def _check_features(self, X: Any) -> None:
        n_features = self._samples(X).shape[2]
        if n_features != self.n_features_in_:
            raise ValueError(
                f"`{self._what}` has {n_features} features, but the metric was learnt on "
                f"{self.n_features_in_}; give the features of the last step."
            )

    @property
    def _budget(self) -> int:
        return MAX_ITER if self.max_iter is None else self.max_iter

    def _check_parameters(self) -> None:
        check_positive("C", self.C)
        check_not_negative("alpha", self.alpha)
        check_iteration(self.tol, self._budget)
        if self.margin is not None:
            check_number("margin", self.margin)
            if not _SMALLEST < self.margin < _LARGEST:
                raise ValueError(
                    f"`margin` must be positive and neither tiny nor huge, got {self.margin}; leave it out "
                    "for the mean squared distance of the pairs."
                )

    def _fit(self, X: Array, sample_weight: Array, indices: Indices, weight: Array) -> None:
        n_features = X.shape[1]
        with blas_threads_for(product_operations(len(X), n_features, min(X.shape))):
            space = choose_space(self.prior, X, sample_weight)
        with blas_threads_for(chunk_operations(space.X.shape[1])):
            comparisons = Comparisons(indices, weight)
            mean = _mean_squared_distance(space.Z, indices, weight)
            self.margin_ = mean if self.margin is None else float(self.margin)
            # [t + μ]₊²/2ρ: as if all comparisons were similar pairs of distance t with the bound −μ.
            loss = SquaredHinge.weighted(
                -self.margin_, -self.margin_, self.C / float(weight.sum()), self.alpha
            )
            program = LogDetProgram(space.X, comparisons, loss, space.prior_inverse)
            found = program.solve(space.prior, self.tol, self._budget)
        warn_unless_converged(self, found)
        keep_solution(self, space, found, X, sample_weight)
        self.n_pairs_ = comparisons.n_pairs


def _mean_squared_distance(Z: Array, indices: Indices, weight: Array) -> float:
    """Return the weighted mean over both pairs of all comparisons; raise if there is no distance to learn."""
    near, far = Z[indices[:, 0]] - Z[indices[:, 1]], Z[indices[:, 2]] - Z[indices[:, 3]]
    squares = np.einsum("kf,kf->k", near, near) + np.einsum("kf,kf->k", far, far)
    mean = 0.5 * float(np.average(squares, weights=weight))
    if mean == 0.0:
        raise ValueError("All samples to compare are equal, so there is no distance to learn; check them.")
    if not _SMALLEST < mean < _LARGEST:
        raise ValueError("The samples are too near or too far apart to square distances; scale the features.")
    return mean
