"""The shared base of RPDML and ITML: from labelled samples to a certified metric."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from geodual.arrays import Array, Indices
from geodual.threads import blas_threads_for

from ..base import MetricLearner, check_iteration, leading_components
from ..pairs.all_pairs import AllPairs, tile_operations
from ..pairs.pair_list import PairList
from ..pairs.pair_loss import PairLoss
from ..pairs.pair_set import Pairs
from ..pairs.selection import given_pairs, local_pairs, sampled_pairs
from .bounds import choose_bounds, squared_distances
from .certificate import CertifiedMetric
from .prior import prior_matrices
from .program import MAX_ITER, LogDetProgram
from .solution import iteration_printer, keep_solution, warn_unless_converged


@dataclass(frozen=True, eq=False)
class _Samples:
    """Samples of positive weight with their labels, their weights, and the given pairs."""

    X: Array
    labels: Indices
    weight: Array | None
    given: tuple[Indices, Array] | None


class LogDetLearner(MetricLearner):
    """Base of the learners that minimise ½ D(W, W₀) + Σ φ(d(W)) over pairs of labelled samples.

    A subclass has the parameters below in its `__init__`, returns the loss φ (`_pair_loss`), and checks its
    own parameters (`_check_parameters`). It may solve the program in another way (`_solve`).
    `docs/add_a_pair_loss.md` shows how to write one.
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
    def _check_parameters(self) -> None:
        """Raise if a parameter of the loss or of the solver is wrong."""

    @abstractmethod
    def _pair_loss(self, u: float, l: float, total_weight: float) -> PairLoss:  # noqa: E741 - the paper's letter
        """Return φ for the bounds u and l and the total weight of the pairs (their number by default)."""

    def _check_samples(self, X: Array, labels: Indices) -> None:
        """Warn if the loss cannot handle some samples."""

    @property
    def _budget(self) -> int:
        """Maximal number of iterations."""
        return MAX_ITER if self.max_iter is None else self.max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None, pair_weight: Any = None) -> Self:
        """Learn a metric from labelled samples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Class labels of any type.
        sample_weight : array of shape (n_samples,), optional
            How often each sample counts; once by default. A pair gets the product of the weights of its
            samples. Weights too small to be counts, with Σw² < Σw, are relative: one copy has the weight
            Σw²/Σw. This matters for the percentiles, the covariance and the number of pairs.
        pair_weight : array of shape (n_pairs,), optional
            How often each pair counts, multiplied by the weights of its samples; only if `pairs` is an array.
            Once by default.

        Returns
        -------
        self
        """
        samples = self._check(X, y, sample_weight, pair_weight)
        with blas_threads_for(tile_operations(*samples.X.shape)):
            return self._learn(samples)

    def fit_from(self, start: Array | None, X: Any, y: Any) -> Self:
        """Learn a metric like `fit`, but start the iteration from another metric: same result, often faster.

        Parameters
        ----------
        start : array of shape (n_features, n_features), optional
            Where to start, for example `W_` of a similar fit; the prior by default.
        X : array of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Class labels of any type.

        Returns
        -------
        self
        """
        samples = self._check(X, y, None, None)
        with blas_threads_for(tile_operations(*samples.X.shape)):
            return self._learn(samples, start)

    def _check(self, X: Any, y: Any, sample_weight: Any, pair_weight: Any) -> _Samples:
        """Return the samples to learn from; raise if they or the parameters are invalid."""
        X, labels = self._validate(X, y)
        check_iteration(self.tol, self._budget)
        self._check_parameters()
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        # Before samples without weight are dropped, because given pairs are numbers of all rows.
        given = self._check_pairs(len(X), weight, pair_weight)
        if weight is not None:
            X, labels, weight = X[weight > 0.0], labels[weight > 0.0], weight[weight > 0.0]
            if len(np.unique(labels)) < 2:
                raise ValueError("`sample_weight` must be positive for samples of at least two classes.")
        self._check_samples(X, labels)
        return _Samples(X, labels, weight, given)

    def _check_pairs(
        self, n_samples: int, weight: Array | None, pair_weight: Any
    ) -> tuple[Indices, Array] | None:
        """Return the given pairs with their weights; None if the pairs are still to be chosen."""
        if isinstance(self.pairs, str) and self.pairs not in ("all", "local"):
            raise ValueError(f'`pairs` must be "all", "local", a number or an array, got {self.pairs!r}.')
        if not isinstance(self.pairs, (str, numbers.Integral)):
            return given_pairs(self.pairs, n_samples, weight, pair_weight)
        if pair_weight is not None:
            raise ValueError(f"`pair_weight` needs `pairs` to be an array, got {self.pairs!r}.")
        return None

    def _learn(self, samples: _Samples, start: Array | None = None) -> Self:
        # Distances are computed from products of samples, and a large mean would cost digits.
        X = samples.X - samples.X.mean(axis=0)
        W0, prior_inverse = prior_matrices(self.prior, X, samples.weight)
        rng = check_random_state(self.random_state)
        Z = X @ np.linalg.cholesky(W0)
        distances, counts, self.bounds_are_exact_ = (
            squared_distances(Z, samples.weight, rng) if self.bounds is None else (None, None, True)
        )
        self.bounds_ = choose_bounds(self.bounds, self.percentiles, distances, counts)
        order = np.argsort(samples.labels, kind="stable")  # `AllPairs` needs samples sorted by class
        pairs = self._choose_pairs(Z, samples, order, rng)
        found = self._solve(X[order], pairs, prior_inverse, W0 if start is None else start, self._budget)
        warn_unless_converged(self, found)
        n_iter = found.n_iter
        if isinstance(self.pairs, str) and self.pairs == "local":
            # A second fit, to the neighbours under the learnt metric.
            pairs = self._choose_pairs(X @ np.linalg.cholesky(found.W), samples, order, rng)
            found = self._solve(X[order], pairs, prior_inverse, found.W, self._budget - n_iter)
            warn_unless_converged(self, found)
            n_iter += found.n_iter
        self._set_metric(leading_components(found.W, self.n_components), X)
        keep_solution(self, found, n_iter, pairs.n_pairs)
        return self

    def _solve(
        self, X: Array, pairs: Pairs, prior_inverse: Array, start: Array, max_iter: int
    ) -> CertifiedMetric:
        loss = self._pair_loss(*self.bounds_, pairs.total_weight)
        program = LogDetProgram(X, pairs, loss, prior_inverse)
        return program.solve(start, self.tol, max_iter, iteration_printer(self, self.verbose))

    def _choose_pairs(self, Z: Array, samples: _Samples, order: Indices, rng: np.random.RandomState) -> Pairs:
        """Return the pairs of the samples in the given order, which sorts them by class."""
        labels, weight = samples.labels, samples.weight
        if isinstance(self.pairs, str) and self.pairs == "all":
            return AllPairs(labels[order], None if weight is None else weight[order])
        pair_weight: Array | None
        if samples.given is not None:
            indices, pair_weight = samples.given
        else:
            is_number = isinstance(self.pairs, numbers.Integral)
            indices = sampled_pairs(labels, int(self.pairs), rng) if is_number else local_pairs(Z, labels)
            pair_weight = None if weight is None else weight[indices].prod(axis=1)
        similar = labels[indices[:, 0]] == labels[indices[:, 1]]
        # `argsort(order)` is the inverse permutation: from row numbers to positions in the order.
        return PairList(np.argsort(order)[indices], similar, pair_weight)
