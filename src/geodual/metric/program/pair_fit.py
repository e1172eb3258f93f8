"""Fit PairRPDML and PairITML: from given pairs to a certified metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.threads import blas_threads_for, product_operations

from ..base.checks import copy_weight, iteration_budget
from ..geometry.pair_list import PairList, chunk_operations
from ..losses import PairLoss
from ..selection.bounds import choose_bounds
from ..terms.term import PairTerm
from .certificate import keep_solution, warn_unless_converged
from .logdet_program import LogDetProgram
from .space import choose_space


def fit_to_pairs(
    learner: Any,
    X: Array,
    similar: NDArray[np.bool_],
    weight: Array,
    make_loss: Callable[[float, float, float], PairLoss],
) -> None:
    """Minimize ½ D(W, W₀) + Σ φ(d(W)) over given pairs, and store the metric with its certificate.

    Parameters
    ----------
    learner : estimator
        Has the parameters `prior`, `percentiles`, `bounds`, `tol`, `max_iter` and `n_components`.
    X : array of shape (2 n_pairs, n_features)
        Samples; rows 2k and 2k + 1 are those of pair k.
    similar, weight : array of shape (n_pairs,)
        Which pairs are similar, and the weights of the pairs.
    make_loss : callable
        Returns φ for the bounds u and l and the total weight of the pairs.
    """
    sample_weight = np.repeat(weight, 2)
    with blas_threads_for(product_operations(len(X), X.shape[1], min(X.shape))):
        space = choose_space(learner.prior, X, sample_weight)
    with blas_threads_for(chunk_operations(space.X.shape[1])):
        V = space.Z[::2] - space.Z[1::2]
        distances = np.einsum("kf,kf->k", V, V) if learner.bounds is None else None
        counts = weight / copy_weight(weight)
        u, l = choose_bounds(learner.bounds, learner.percentiles, distances, counts, "pairs")  # noqa: E741
        pairs = PairList(np.arange(len(X)).reshape(-1, 2), similar, weight)
        term = PairTerm(pairs, make_loss(u, l, pairs.total_weight))
        program = LogDetProgram(space.X, term, space.prior_inverse)
        found = program.solve(space.prior, learner.tol, iteration_budget(learner.max_iter))
    warn_unless_converged(learner, found)
    keep_solution(learner, space, found, X, sample_weight)
    learner.bounds_, learner.n_pairs_ = (u, l), pairs.n_pairs
