"""What RPDML and ITML share: prior, pairs and bounds in; a certified metric out."""

from __future__ import annotations

import numbers
import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from geodual.manifolds.base import Array
from geodual.optimize.threads import blas_threads_for

from .base import MetricLearner, leading_components
from .bounds import check_bounds, percentile_bounds, squared_distances
from .logdet_program import CertifiedIteration, CertifiedMetric, LogDetProgram
from .pair_list import PairList
from .pair_loss import PairLoss
from .pair_selection import Indices, check_index_pairs, local_pairs, sampled_pairs
from .pairs import AllPairs, Pairs, product_operations
from .prior import prior_matrices

_MAX_ITER = 500


class LogDetLearner(MetricLearner):
    """A learner that minimises ½ D(W, W₀) + Σ φ(d(W)) over pairs of samples.

    Subclasses give the loss φ. Their parameters `prior`, `pairs`, `percentiles`, `bounds`, `tol`, `max_iter`,
    `n_components`, `random_state` and `verbose` mean the same in all.
    """

    prior: Any
    pairs: Any
    percentiles: tuple[float, float]
    bounds: tuple[float, float] | None
    tol: float
    max_iter: int | None
    n_components: int | None
    random_state: Any
    verbose: int

    @abstractmethod
    def _loss(self, u: float, l: float, total_weight: float) -> PairLoss:  # noqa: E741
        """Return φ for given bounds and number of pairs."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LogDetLearner:
        """Learn a metric.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Class labels of any type.
        sample_weight : array of shape (n_samples,), optional
            How often each sample counts; a pair weighs the product of the weights of its samples.

        Returns
        -------
        self
        """
        X, labels = self._validate(X, y)
        self._check_parameters()
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
            X, labels, weight = X[weight > 0.0], labels[weight > 0.0], weight[weight > 0.0]
        with blas_threads_for(product_operations(*X.shape)):
            self._fit(X, labels, weight)
        return self

    def fit_from(self, start: Array | None, X: Any, y: Any) -> LogDetLearner:
        """Learn a metric as `fit` does, but start the iteration from another one's `W_`."""
        self._warm_start = start
        try:
            return self.fit(X, y)
        finally:
            del self._warm_start

    def _check_parameters(self) -> None:
        if not self.tol > 0.0:
            raise ValueError(f"`tol` must be positive, got {self.tol}.")
        if self.max_iter is not None and not self.max_iter >= 1:
            raise ValueError(f"`max_iter` must be at least 1, got {self.max_iter}.")

    def _fit(self, X: Array, labels: Indices, weight: Array | None) -> None:
        X = X - X.mean(axis=0)  # distances come from products, which a large mean would rob of digits
        W0, prior_inverse = prior_matrices(self.prior, X, weight)
        rng = check_random_state(self.random_state)
        factor = np.linalg.cholesky(W0)
        self.bounds_, self.bounds_are_exact_ = self._find_bounds(X @ factor, weight, rng)
        order = np.argsort(labels, kind="stable")
        pairs = self._select_pairs(X @ factor, labels, order, weight, rng)
        start = getattr(self, "_warm_start", None)
        found = self._solve(X[order], pairs, prior_inverse, W0 if start is None else start)
        if isinstance(self.pairs, str) and self.pairs == "local":
            # Once more among the neighbours under the metric just learnt.
            Z = X @ np.linalg.cholesky(found.W)
            pairs = self._select_pairs(Z, labels, order, weight, rng)
            found = self._solve(X[order], pairs, prior_inverse, found.W)
        self._keep(found, pairs, X)

    def _find_bounds(
        self, Z: Array, weight: Array | None, rng: np.random.RandomState
    ) -> tuple[tuple[float, float], bool]:
        if self.bounds is not None:
            return check_bounds(self.bounds), True
        distances, exact = squared_distances(Z, rng)
        counts = None
        if weight is not None and exact:
            # Copies of a sample are at distance zero of each other.
            i, j = np.triu_indices(len(Z), 1)
            distances = np.append(distances, 0.0)
            counts = np.append(weight[i] * weight[j], 0.5 * float(weight @ (weight - 1.0)))
        return percentile_bounds(distances, self.percentiles, counts), exact

    def _select_pairs(
        self, Z: Array, labels: Indices, order: Indices, weight: Array | None, rng: np.random.RandomState
    ) -> Pairs:
        """Return the pairs as sets over the samples in the given order, which sorts them by class."""
        if isinstance(self.pairs, str) and self.pairs == "all":
            return AllPairs(labels[order], None if weight is None else weight[order])
        if isinstance(self.pairs, str) and self.pairs == "local":
            indices = local_pairs(Z, labels)
        elif isinstance(self.pairs, str):
            raise ValueError(f'`pairs` must be "all", "local", a number or an array, got {self.pairs!r}.')
        elif isinstance(self.pairs, numbers.Integral):
            indices = sampled_pairs(labels, int(self.pairs), rng)
        else:
            indices = check_index_pairs(self.pairs, len(labels))
        similar = labels[indices[:, 0]] == labels[indices[:, 1]]
        pair_weight = None if weight is None else weight[indices[:, 0]] * weight[indices[:, 1]]
        return PairList(np.argsort(order)[indices], similar, pair_weight)

    def _solve(self, X: Array, pairs: Pairs, prior_inverse: Array, start: Array) -> CertifiedMetric:
        loss = self._loss(*self.bounds_, pairs.total_weight)
        program = LogDetProgram(X, pairs, loss, prior_inverse)
        return program.solve(start, self.tol, self.max_iter or _MAX_ITER, self._report)

    def _report(self, row: CertifiedIteration) -> None:
        if self.verbose:
            print(  # noqa: T201 - what `verbose` asks for
                f"{type(self).__name__}: primal {row.primal:.8e}, dual {row.dual:.8e}, gap {row.gap:.1e}, "
                f"{row.passes} passes, {row.seconds:.3f} s"
            )

    def _keep(self, found: CertifiedMetric, pairs: Pairs, X: Array) -> None:
        self._set_metric(leading_components(found.W, self.n_components), X)
        self.W_ = found.W
        self.objective_, self.dual_objective_ = found.primal, found.dual
        self.duality_gap_ = found.gap
        self.history_ = found.history
        self.n_iter_ = max(len(found.history) - 1, 1)
        self.n_pairs_ = pairs.n_pairs
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} stopped at a relative duality gap of {found.gap:.2g} after "
                f"{self.n_iter_} iterations; raise `max_iter` or `tol`.",
                ConvergenceWarning,
                stacklevel=4,
            )
