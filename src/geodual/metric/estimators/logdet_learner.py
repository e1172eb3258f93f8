"""Base of RPDML and ITML: from labeled samples to a certified metric."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from geodual.arrays import Array, Indices
from geodual.cluster import is_dask
from geodual.threads import blas_threads_for, one_thread, product_operations

from ..base.checks import UNKNOWN, check_iteration, check_sample_weight, iteration_budget, warn_of_unknown
from ..base.maps import factor
from ..base.metric_learner import MetricLearner
from ..geometry.all_pairs import AllPairs
from ..geometry.pair_list import PairList
from ..geometry.pair_set import JointPairs, Pairs
from ..losses import PairLoss
from ..program.certificate import CertifiedMetric, iteration_printer, keep_solution, warn_unless_converged
from ..program.cluster_fit import fit_on_cluster
from ..program.logdet_program import LogDetProgram
from ..program.space import Space, choose_space
from ..selection.bounds import check_bounds, sample_bounds
from ..selection.chosen_pairs import given_pairs, sampled_pairs
from ..selection.local_pairs import LocalPairs
from ..selection.samples import LabeledRows, Samples, check_links
from ..terms.term import PairTerm

_MANY = 20_000  # samples that are enough for the metric of the neighbor search


class LogDetLearner(MetricLearner):
    """Base of learners that minimize ½ D(W, W₀) + Σ φ(d(W)) over pairs of labeled samples.

    A subclass has the parameters below in its `__init__`, returns the loss φ (`_pair_loss`), and checks its
    own parameters (`_check_parameters`). It may solve the program differently (`_solve`). See
    `docs/add_a_pair_loss.md`.
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
    n_jobs: int | None = None
    _takes_sparse = True

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise an error if a parameter of the loss or of the solver is not valid."""

    @abstractmethod
    def _pair_loss(self, u: float, l: float, total_weight: float) -> PairLoss:  # noqa: E741 - the paper's letter
        """Return φ for the bounds u and l and the total weight of the pairs (by default their number)."""

    def _check_samples(self, X: Array, labels: Indices) -> None:
        """Warn if the loss cannot handle some samples."""

    @property
    def _budget(self) -> int:
        """Maximum number of iterations."""
        return iteration_budget(self.max_iter)

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        pair_weight: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> Self:
        """Learn a metric from labeled samples.

        Parameters
        ----------
        X : array, sparse array or dask array of shape (n_samples, n_features)
            Samples. Sparse samples save memory if there are fewer samples than features, more than 5,000
            features, and the prior is the identity. A dask array stays on the workers of Dask's active
            client, which do the work; it needs ``pairs="all"``.
        y : array of shape (n_samples,)
            Class labels of any type. −1 means unknown if there are at least two other labels: such samples
            form no pairs, but count for the covariance and the percentiles.
        sample_weight : array of shape (n_samples,), optional
            Weight of each sample; 1 by default. The weight of a pair is the product of its samples' weights.
            Weights too small to be counts, with Σw² < Σw, are relative: one copy has the weight Σw²/Σw. This
            matters for the percentiles, the covariance and the number of pairs.
        pair_weight : array of shape (n_pairs,), optional
            Weight of each pair, multiplied by the weights of its samples; only if `pairs` is an array. 1 by
            default.
        must_link, cannot_link : array of shape (n_links, 2), optional
            Further pairs of row numbers that are known to belong together, or apart, possibly of unlabeled
            samples. Each counts as one more similar or dissimilar pair.

        Returns
        -------
        self
        """
        if is_dask(X):
            others = {"pair_weight": pair_weight, "must_link": must_link, "cannot_link": cannot_link}
            self._check_parameters()
            fit_on_cluster(self, X, y, sample_weight, others, self._pair_loss)
            return self
        samples = self._check(X, y, sample_weight, pair_weight, must_link, cannot_link)
        warn_of_unknown(samples.labels)
        return self._learn(samples)

    def _check(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        pair_weight: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> Samples:
        """Return the samples to learn from; raise an error if they or the parameters are invalid."""
        X, labels = self._validate_all(X, y)
        check_iteration(self.tol, self._budget)
        self._check_parameters()
        weight = None if sample_weight is None else check_sample_weight(sample_weight, X)
        # Do this before samples without weight are dropped, because given pairs refer to all rows.
        given = self._check_pairs(labels, weight, pair_weight)
        links = check_links(must_link, cannot_link, len(labels), weight)
        samples = Samples.of_positive_weight(X, labels, weight, given, links)
        known = samples.labels != UNKNOWN
        self._check_samples(samples.X[known], samples.labels[known])
        return samples

    def _check_pairs(
        self, labels: Indices, weight: Array | None, pair_weight: Any
    ) -> tuple[Indices, Array] | None:
        """Return the given pairs with their weights; None if pairs must still be chosen."""
        if isinstance(self.pairs, str) and self.pairs not in ("all", "local"):
            raise ValueError(
                f'`pairs` must be "all", "local", LocalPairs, a number or an array, got {self.pairs!r}.'
            )
        if not isinstance(self.pairs, (str, LocalPairs, numbers.Integral)):
            return given_pairs(self.pairs, labels, weight, pair_weight)
        if pair_weight is not None:
            raise ValueError(f"`pair_weight` needs `pairs` to be an array, got {self.pairs!r}.")
        return None

    @property
    def _local(self) -> LocalPairs | None:
        return LocalPairs.given_as(self.pairs)

    @property
    def _may_reduce(self) -> bool:
        """Whether the solver can work in the span of the samples instead of the features."""
        return True

    def _learn(self, samples: Samples) -> Self:
        """Choose coordinates, bounds and pairs, solve the program, and store the metric with its certificate.

        Local pairs are found under a metric from a preliminary light fit.
        """
        X = samples.X
        n_samples, n_features = X.shape
        with blas_threads_for(product_operations(n_samples, n_features, min(X.shape))):
            space = choose_space(self.prior, X, samples.weight, reduce=self._may_reduce)
        with one_thread():
            rng = check_random_state(self.random_state)
            if self.bounds is None:
                self.bounds_, self.bounds_are_exact_ = sample_bounds(
                    space.Z, samples.weight, self.percentiles
                )
            else:
                self.bounds_, self.bounds_are_exact_ = check_bounds(self.bounds), True
            local, self.n_anchors_ = self._local, None
            self.neighbors_are_exact_ = local is None or local.is_exact
            used = samples.by_class() if local is None else samples.distinct_by_class()
            start, searched, n_iter = space.prior, space.Z, 0
            if local is not None:
                self.n_anchors_ = len(local.anchor_rows(used.labels))
                start, n_iter = self._fit_lightly(space, _some(used, local.n_similar), samples, rng)
                searched = space.X @ factor(start)
            pairs = self._choose_pairs(searched[used.rows], used, samples, rng)
            rows = used.with_links(space.X)
            found = self._solve(rows, pairs, space.prior_inverse, start, self._budget - n_iter)
            warn_unless_converged(self, found, n_iter)
            n_iter += found.n_iter
        keep_solution(self, space, found, X, samples.weight)
        self.n_iter_, self.n_pairs_ = max(n_iter, 1), pairs.n_pairs
        return self

    def _fit_lightly(
        self, space: Space, used: LabeledRows, samples: Samples, rng: np.random.RandomState
    ) -> tuple[Array, int]:
        """Return a metric for the neighbor search, and the number of iterations that it took."""
        pairs = self._choose_pairs(space.Z[used.rows], used, samples, rng)
        light = LogDetProgram(used.with_links(space.X), self._term(pairs), space.prior_inverse)
        return light.solve_lightly(space.prior, self._budget)

    def _term(self, pairs: Pairs) -> PairTerm:
        return PairTerm(pairs, self._pair_loss(*self.bounds_, pairs.total_weight))

    def _solve(
        self, X: Array, pairs: Pairs, prior_inverse: Array, start: Array, max_iter: int
    ) -> CertifiedMetric:
        program = LogDetProgram(X, self._term(pairs), prior_inverse)
        return program.solve(start, self.tol, max_iter, iteration_printer(self, self.verbose))

    def _choose_pairs(
        self, Z: Array, used: LabeledRows, samples: Samples, rng: np.random.RandomState
    ) -> Pairs:
        """Return the pairs of the samples `used`, which are Z in the metric of the neighbor search."""
        pairs = self._labeled_pairs(Z, used, samples, rng)
        if used.links is None:
            return pairs
        rows = np.arange(2 * len(used.links.indices)).reshape(-1, 2)  # links come after the other samples
        return JointPairs(pairs, len(used.rows), PairList(rows, used.links.similar, used.links.weight))

    def _labeled_pairs(
        self, Z: Array, used: LabeledRows, samples: Samples, rng: np.random.RandomState
    ) -> Pairs:
        """Return the pairs requested by the parameter `pairs`: all, given, random or local."""
        labels, weight = used.labels, used.weight
        if isinstance(self.pairs, str) and self.pairs == "all":
            return AllPairs(labels, weight, effective_n_jobs(self.n_jobs))
        pair_weight: Array | None
        if samples.given is not None:
            indices, pair_weight = samples.given
            places = np.empty(len(samples.labels), dtype=np.intp)
            places[used.rows] = np.arange(len(used.rows))
            indices = places[indices]
        else:
            local = self._local
            indices = sampled_pairs(labels, int(self.pairs), rng) if local is None else local.find(Z, labels)
            pair_weight = None if weight is None else weight[indices].prod(axis=1)
        return PairList(indices, labels[indices[:, 0]] == labels[indices[:, 1]], pair_weight)


def _some(used: LabeledRows, n_similar: int) -> LabeledRows:
    """Thin out the samples of each class evenly if there are many, so that only one search is long."""
    step = -(-len(used.rows) // _MANY)
    rank = np.arange(len(used.rows)) - np.searchsorted(used.labels, used.labels)
    chosen = (rank % step == 0) | (rank <= n_similar)  # keep small classes whole
    weight = None if used.weight is None else used.weight[chosen]
    return LabeledRows(used.rows[chosen], used.labels[chosen], weight, used.links)
