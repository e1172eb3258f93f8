"""The shared base of PairRPDML and PairITML: from pairs to a certified metric."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.threads import blas_threads_for, product_operations

from ..pair_array import check_pair_array
from ..pairs.pair_estimator import PairEstimator
from ..pairs.pair_list import PairList, chunk_operations
from ..pairs.pair_loss import PairLoss
from ..pairs.weights import copy_weight
from ..parameter_checks import check_iteration
from .bounds import choose_bounds
from .incremental import IncrementalMixin
from .program import MAX_ITER, LogDetProgram
from .solution import keep_solution, warn_unless_converged
from .space import choose_space


class PairLearner(IncrementalMixin, PairEstimator):
    """Base of the learners that minimise ½ D(W, W₀) + Σ φ(d(W)) over given pairs.

    A subclass has the parameters below in its `__init__`, returns the loss φ (`_pair_loss`), and checks its
    own parameters (`_check_loss`).
    """

    prior: Any
    percentiles: tuple[float, float]
    bounds: tuple[float, float] | None
    tol: float
    max_iter: int | None
    n_components: int | None

    @abstractmethod
    def _check_loss(self) -> None:
        """Raise if a parameter of the loss is wrong."""

    @abstractmethod
    def _pair_loss(self, u: float, l: float, total_weight: float) -> PairLoss:  # noqa: E741 - the paper's letter
        """Return φ for the bounds u and l and the total weight of the pairs (their number by default)."""

    def _check_parameters(self) -> None:
        self._check_loss()
        check_iteration(self.tol, self._budget)

    def _check_features(self, X: Any) -> None:
        check_pair_array(self._samples(X), self.n_features_in_)

    @property
    def _budget(self) -> int:
        return MAX_ITER if self.max_iter is None else self.max_iter

    def _fit(self, X: Array, similar: NDArray[np.bool_], weight: Array) -> None:
        # Rows 2k and 2k + 1 are the samples of pair k.
        sample_weight, n_features = np.repeat(weight, 2), X.shape[1]
        with blas_threads_for(product_operations(len(X), n_features, min(X.shape))):
            space = choose_space(self.prior, X, sample_weight)
        with blas_threads_for(chunk_operations(space.X.shape[1])):
            V = space.Z[::2] - space.Z[1::2]
            distances = np.einsum("kf,kf->k", V, V) if self.bounds is None else None
            counts = weight / copy_weight(weight)
            self.bounds_ = choose_bounds(self.bounds, self.percentiles, distances, counts, "pairs")
            pairs = PairList(np.arange(len(X)).reshape(-1, 2), similar, weight)
            loss = self._pair_loss(*self.bounds_, pairs.total_weight)
            program = LogDetProgram(space.X, pairs, loss, space.prior_inverse)
            found = program.solve(space.prior, self.tol, self._budget)
        warn_unless_converged(self, found)
        keep_solution(self, space, found, X, sample_weight)
        self.n_pairs_ = pairs.n_pairs
