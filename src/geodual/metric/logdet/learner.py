"""The shared base of RPDML and ITML: from labelled samples to a certified metric."""

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

from ..base import MetricLearner
from ..labels import UNKNOWN, warn_of_unknown
from ..pairs.all_pairs import AllPairs
from ..pairs.links import check_links
from ..pairs.local_pairs import LocalPairs
from ..pairs.pair_list import PairList
from ..pairs.pair_loss import PairLoss
from ..pairs.pair_set import Pairs
from ..pairs.selection import given_pairs, sampled_pairs
from ..pairs.weights import check_sample_weight
from ..parameter_checks import check_iteration
from .bounds import check_bounds, sample_bounds
from .certificate import CertifiedMetric
from .cluster_fit import fit_on_cluster
from .components import factor
from .program import MAX_ITER, LogDetProgram
from .samples import LabelledRows, Samples
from .solution import iteration_printer, keep_solution, warn_unless_converged
from .space import Space, choose_space

_MANY = 20_000  # of more samples, this number is enough to find the metric that decides who is near


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
    n_jobs: int | None = None
    _takes_sparse = True

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

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        pair_weight: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> Self:
        """Learn a metric from labelled samples.

        Parameters
        ----------
        X : array, sparse array or dask array of shape (n_samples, n_features)
            Samples. Sparse ones save memory if there are fewer samples than features, more than 5,000
            features, and the prior is the identity. Those of a dask array stay on the workers of the active
            client of Dask, which do the work; this needs ``pairs="all"``.
        y : array of shape (n_samples,)
            Class labels of any type. −1 means unknown if there are at least two other labels: such samples
            make no pairs, but count for the covariance and the percentiles.
        sample_weight : array of shape (n_samples,), optional
            How often each sample counts; once by default. A pair gets the product of the weights of its
            samples. Weights too small to be counts, with Σw² < Σw, are relative: one copy has the weight
            Σw²/Σw. This matters for the percentiles, the covariance and the number of pairs.
        pair_weight : array of shape (n_pairs,), optional
            How often each pair counts, multiplied by the weights of its samples; only if `pairs` is an array.
            Once by default.
        must_link, cannot_link : array of shape (n_links, 2), optional
            Further pairs of row numbers that are known to belong together, or apart, also of samples without
            label. Each counts as one more similar or dissimilar pair.

        Returns
        -------
        self
        """
        if is_dask(X):
            others = {"pair_weight": pair_weight, "must_link": must_link, "cannot_link": cannot_link}
            fit_on_cluster(self, X, y, sample_weight, others)
            return self
        samples = self._check(X, y, sample_weight, pair_weight, must_link, cannot_link)
        warn_of_unknown(samples.labels)
        return self._learn(samples)

    def fit_from(self, start: Array | None, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn a metric like `fit`, but start the iteration from another metric: same result, often faster.

        Parameters
        ----------
        start : array of shape (n_features, n_features), optional
            Where to start, for example `W_` of a similar fit; the prior by default.
        X : array of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Class labels of any type; −1 as in `fit`, but without a warning.
        sample_weight : array of shape (n_samples,), optional
            How often each sample counts; once by default.

        Returns
        -------
        self
        """
        if is_dask(X):
            fit_on_cluster(self, X, y, sample_weight, start=start)
            return self
        return self._learn(self._check(X, y, sample_weight), start)

    def _check(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        pair_weight: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> Samples:
        """Return the samples to learn from; raise if they or the parameters are invalid."""
        X, labels = self._validate_all(X, y)
        check_iteration(self.tol, self._budget)
        self._check_parameters()
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, X)
        # Before samples without weight are dropped, because given pairs are numbers of all rows.
        given = self._check_pairs(labels, weight, pair_weight)
        links = check_links(must_link, cannot_link, len(labels), weight)
        if weight is not None:
            X, labels, weight = X[weight > 0.0], labels[weight > 0.0], weight[weight > 0.0]
            if len(np.unique(labels[labels != UNKNOWN])) < 2:
                raise ValueError("`sample_weight` must be positive for samples of at least two classes.")
        self._check_samples(X[labels != UNKNOWN], labels[labels != UNKNOWN])
        return Samples(X, labels, weight, given, links)

    def _check_pairs(
        self, labels: Indices, weight: Array | None, pair_weight: Any
    ) -> tuple[Indices, Array] | None:
        """Return the given pairs with their weights; None if the pairs are still to be chosen."""
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
        """Which neighbours make pairs; None if other pairs count."""
        if isinstance(self.pairs, LocalPairs):
            return self.pairs
        return LocalPairs() if isinstance(self.pairs, str) and self.pairs == "local" else None

    @property
    def _may_reduce(self) -> bool:
        """Whether the solver may work in the span of the samples instead of the features."""
        return True

    def _learn(self, samples: Samples, start: Array | None = None) -> Self:
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
            self.neighbours_are_exact_ = self._local is None or self._local.is_exact
            used = samples.by_class() if self._local is None else samples.distinct_by_class()
            Y, first, n_iter, near = used.with_links(space.X), space.prior, 0, space.Z
            if self._local is not None:
                first, n_iter = self._fit_lightly(space, _some(used, self._local.n_similar), samples, rng)
                near = space.X @ factor(first)
            pairs = self._choose_pairs(near[used.rows], used, samples, rng)
            first = first if start is None else space.lower(start)
            found = self._solve(Y, pairs, space.prior_inverse, first, self._budget - n_iter, self.tol)
            warn_unless_converged(self, found, n_iter)
            n_iter += found.n_iter
        keep_solution(self, space, found, X, samples.weight)
        self.n_iter_, self.n_pairs_ = max(n_iter, 1), pairs.n_pairs
        return self

    def _fit_lightly(
        self, space: Space, used: LabelledRows, samples: Samples, rng: np.random.RandomState
    ) -> tuple[Array, int]:
        """Return a metric to find the neighbours under, and the number of iterations it took.

        It starts from the prior in any case, so that the pairs do not depend on `start`.
        """
        pairs = self._choose_pairs(space.Z[used.rows], used, samples, rng)
        loss = self._pair_loss(*self.bounds_, pairs.total_weight)
        light = LogDetProgram(used.with_links(space.X), pairs, loss, space.prior_inverse)
        return light.solve_lightly(space.prior, self._budget)

    def _solve(
        self, X: Array, pairs: Pairs, prior_inverse: Array, start: Array, max_iter: int, tol: float
    ) -> CertifiedMetric:
        loss = self._pair_loss(*self.bounds_, pairs.total_weight)
        program = LogDetProgram(X, pairs, loss, prior_inverse)
        return program.solve(start, tol, max_iter, iteration_printer(self, self.verbose))

    def _choose_pairs(
        self, Z: Array, used: LabelledRows, samples: Samples, rng: np.random.RandomState
    ) -> Pairs:
        """Return the pairs of the samples `used`, which are Z in the metric that decides who is near."""
        pairs = self._labelled_pairs(Z, used, samples, rng)
        return pairs if used.links is None else used.links.beside(pairs, len(used.rows))

    def _labelled_pairs(
        self, Z: Array, used: LabelledRows, samples: Samples, rng: np.random.RandomState
    ) -> Pairs:
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


def _some(used: LabelledRows, n_similar: int) -> LabelledRows:
    """Return an even choice of samples of each class if there are many, so that only one search is long."""
    step = -(-len(used.rows) // _MANY)
    rank = np.arange(len(used.rows)) - np.searchsorted(used.labels, used.labels)
    chosen = (rank % step == 0) | (rank <= n_similar)  # small classes stay whole
    weight = None if used.weight is None else used.weight[chosen]
    return LabelledRows(used.rows[chosen], used.labels[chosen], weight, used.links)
