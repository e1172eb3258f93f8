"""Fit RPDML and ITML to a dask array: the solver runs here, the samples stay on the workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from geodual.cluster import check_dask_array
from geodual.threads import one_thread

from ..base.checks import check_iteration, check_n_components, copy_weight, iteration_budget
from ..geometry.cluster_pairs import ClusterPairs
from ..geometry.distances import PairDifferences
from ..geometry.sample_blocks import SampleBlocks, load_samples
from ..losses import PairLoss
from ..selection.bounds import (
    are_listed,
    check_bounds,
    check_percentiles,
    choose_bounds,
    drawn_pairs,
    sample_bounds,
)
from ..terms.term import PairTerm
from .certificate import iteration_printer, keep_solution, warn_unless_converged
from .logdet_program import LogDetProgram
from .space import FeatureSpace, prior_matrices


def fit_on_cluster(
    learner: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    others: Mapping[str, Any],
    make_loss: Callable[[float, float, float], PairLoss],
) -> None:
    """Fit a learner to all pairs of samples on a cluster; the parameters of its loss are checked already.

    Parameters
    ----------
    learner : LogDetLearner
        The learner.
    X : dask array of shape (n_samples, n_features)
        Samples.
    y, sample_weight : array or dask array of shape (n_samples,)
        Class labels, and weights of the samples (None means 1).
    others : mapping
        Other arguments of `fit`, which must be None here.
    make_loss : callable
        Returns the loss φ for the bounds u and l and the total weight of the pairs.
    """
    check_dask_array(X)
    _check_learner(learner, others)
    check_before_loading(X, learner.prior, learner.n_components)
    blocks = load_samples(learner, X, y, sample_weight, stacklevel=5)
    with one_thread():
        # Prior and importances depend only on the covariance, so a few samples can represent all.
        few = blocks.standing_for_all()
        space = FeatureSpace(few, *prior_matrices(learner.prior, few))
        (u, l), learner.bounds_are_exact_ = _bounds(learner, blocks, space)  # noqa: E741 - the paper's letter
        pairs, here = ClusterPairs(blocks.labeled()), np.eye(few.shape[1])
        term = PairTerm(pairs, make_loss(u, l, pairs.total_weight))
        program, budget = LogDetProgram(here, term, space.prior_inverse), iteration_budget(learner.max_iter)
        found = program.solve(space.prior, learner.tol, budget, iteration_printer(learner, learner.verbose))
        warn_unless_converged(learner, found)
    learner.bounds_, learner.neighbors_are_exact_, learner.n_anchors_ = (u, l), True, None
    keep_solution(learner, space, found, few, None)
    learner.n_pairs_ = pairs.n_pairs


def check_before_loading(X: Any, prior: Any, n_components: Any) -> None:
    """Raise an error before loading if a dask array, or a parameter for its shape, is not valid."""
    check_dask_array(X)
    n_features = X.shape[1]
    check_n_components(n_components, n_features)
    if not (isinstance(prior, str) and prior == "covariance"):
        prior_matrices(prior, np.eye(n_features))


def _check_learner(learner: Any, others: Mapping[str, Any]) -> None:
    """Raise an error unless the parameters suit samples on a cluster."""
    check_iteration(learner.tol, iteration_budget(learner.max_iter))
    if not (isinstance(learner.pairs, str) and learner.pairs == "all"):
        raise ValueError(
            f'A dask array needs `pairs="all"`, got {learner.pairs!r}. Set it, or pass `X.compute()`.'
        )
    if getattr(learner, "solver", "certified") != "certified":
        raise ValueError(f'A dask array needs `solver="certified"`, got {learner.solver!r}.')
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"`{name}` cannot be combined with a dask array; pass `X.compute()`.")
    if learner.bounds is not None:
        check_bounds(learner.bounds)
    else:
        check_percentiles(learner.percentiles)


def _bounds(learner: Any, blocks: SampleBlocks, space: FeatureSpace) -> tuple[tuple[float, float], bool]:
    """Return the bounds (u, l), given or percentiles under the prior, and whether they are exact."""
    if learner.bounds is not None:
        return check_bounds(learner.bounds), True
    L, n = np.linalg.cholesky(space.prior), len(blocks.labels)
    if are_listed(n):
        return sample_bounds(blocks.here() @ L, blocks.weight, learner.percentiles)
    i, j = drawn_pairs(n, None if blocks.weight is None else blocks.weight / copy_weight(blocks.weight))
    rows, place = np.unique(np.stack([i, j]), return_inverse=True)
    distances = PairDifferences(*place.reshape(2, -1)).distances(blocks.taken(rows).here() @ L)
    return choose_bounds(None, learner.percentiles, distances), False
