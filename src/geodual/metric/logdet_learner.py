"""What RPDML and ITML share: labelled samples in; a certified metric out."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from geodual.arrays import Array, Indices
from geodual.threads import blas_threads_for

from .base import MetricLearner
from .bounds import squared_distances
from .certified_learner import CertifiedLearner
from .pair_list import PairList
from .pair_selection import given_pairs, local_pairs, sampled_pairs
from .pairs import AllPairs, Pairs, tile_operations
from .prior import prior_matrices

GivenPairs = tuple[Indices, Array]


class LogDetLearner(CertifiedLearner, MetricLearner):
    """A learner of the LogDet program from labelled samples.

    Their parameters `pairs` and `random_state`, and those of `CertifiedLearner`, mean the same in all.
    """

    pairs: Any
    random_state: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None, pair_weight: Any = None) -> LogDetLearner:
        """Learn a metric.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Class labels of any type.
        sample_weight : array of shape (n_samples,), optional
            How often each sample counts; a pair weighs the product of the weights of its samples. Where
            samples and pairs are counted (for the percentiles, the covariance and the number of pairs behind
            `C`), weights too small to be counts, with Σw² < Σw, are relative: one copy weighs Σw²/Σw.
        pair_weight : array of shape (n_pairs,), optional
            How often each pair counts besides, if `pairs` is an array.

        Returns
        -------
        self
        """
        X, labels = self._validate(X, y)
        self._check_parameters()
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        given = self._given_pairs(len(X), weight, pair_weight)
        if weight is not None:
            X, labels, weight = X[weight > 0.0], labels[weight > 0.0], weight[weight > 0.0]
            if len(np.unique(labels)) < 2:
                raise ValueError("`sample_weight` must be positive for samples of at least two classes.")
        self._check_samples(X, labels)
        with blas_threads_for(tile_operations(*X.shape)):
            self._fit(X, labels, weight, given)
        return self

    def fit_from(self, start: Array | None, X: Any, y: Any) -> LogDetLearner:
        """Learn a metric as `fit` does, but start the iteration from another one's `W_`."""
        self._warm_start = start
        try:
            return self.fit(X, y)
        finally:
            del self._warm_start

    def _check_samples(self, X: Array, labels: Indices) -> None:
        """Warn of samples that the loss cannot deal with."""

    def _given_pairs(self, n_samples: int, weight: Array | None, pair_weight: Any) -> GivenPairs | None:
        if isinstance(self.pairs, str) and self.pairs not in ("all", "local"):
            raise ValueError(f'`pairs` must be "all", "local", a number or an array, got {self.pairs!r}.')
        if not isinstance(self.pairs, (str, numbers.Integral)):
            return given_pairs(self.pairs, n_samples, weight, pair_weight)
        if pair_weight is not None:
            raise ValueError(f"`pair_weight` needs `pairs` to be an array, got {self.pairs!r}.")
        return None

    def _fit(self, X: Array, labels: Indices, weight: Array | None, given: GivenPairs | None) -> None:
        X = X - X.mean(axis=0)  # distances come from products, which a large mean would rob of digits
        W0, prior_inverse = prior_matrices(self.prior, X, weight)
        rng = check_random_state(self.random_state)
        Z = X @ np.linalg.cholesky(W0)
        distances, counts, self.bounds_are_exact_ = (
            squared_distances(Z, weight, rng) if self.bounds is None else (None, None, True)
        )
        self._set_bounds(distances, counts, "samples")
        order = np.argsort(labels, kind="stable")
        pairs = self._select_pairs(Z, labels, order, weight, given, rng)
        start = getattr(self, "_warm_start", None)
        found = self._solve(X[order], pairs, prior_inverse, W0 if start is None else start, self._budget)
        self._warn_unless_converged(found)
        n_iter = found.n_iter
        if isinstance(self.pairs, str) and self.pairs == "local":
            # Once more among the neighbours under the metric just learnt.
            Z = X @ np.linalg.cholesky(found.W)
            pairs = self._select_pairs(Z, labels, order, weight, given, rng)
            found = self._solve(X[order], pairs, prior_inverse, found.W, self._budget - n_iter)
            self._warn_unless_converged(found)
            n_iter += found.n_iter
        self._keep(found, n_iter, pairs, X)

    def _select_pairs(
        self,
        Z: Array,
        labels: Indices,
        order: Indices,
        weight: Array | None,
        given: GivenPairs | None,
        rng: np.random.RandomState,
    ) -> Pairs:
        """Return the pairs as sets over the samples in the given order, which sorts them by class."""
        if isinstance(self.pairs, str) and self.pairs == "all":
            return AllPairs(labels[order], None if weight is None else weight[order])
        pair_weight: Array | None
        if given is not None:
            indices, pair_weight = given
        else:
            is_number = isinstance(self.pairs, numbers.Integral)
            indices = sampled_pairs(labels, int(self.pairs), rng) if is_number else local_pairs(Z, labels)
            pair_weight = None if weight is None else weight[indices].prod(axis=1)
        similar = labels[indices[:, 0]] == labels[indices[:, 1]]
        return PairList(np.argsort(order)[indices], similar, pair_weight)
