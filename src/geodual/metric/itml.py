"""ITML: information-theoretic metric learning, solved exactly."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from geodual.arrays import Array, Indices

from .logdet_learner import LogDetLearner
from .pair_loss import OneSidedBurg, PairLoss


class ITML(LogDetLearner):
    r"""Information-theoretic metric learning (Davis et al. 2007) to a certified optimum.

    .. math:: \min_{W \succ 0,\ \xi > 0} D(W, W_0) + \gamma \sum_k D(\xi_k, b_k)
              \quad\text{s.t.}\quad d_k(W) \le \xi_k \text{ or } \ge \xi_k,

    where D is the LogDet divergence. Eliminating ξ leaves a one-sided Burg loss of each pair, so that this is
    RPDML's program with another loss; cyclic Bregman projections converge to the same W, slowly.

    The loss is infinite for two samples of different classes that are equal, whatever the metric. Such pairs,
    and those that stay nearer than l/10⁹ in squared distance, are given up: see `OneSidedBurg`.

    Parameters
    ----------
    gamma : float
        Weight of the violations of each pair.
    prior, pairs, percentiles, bounds, tol, max_iter, n_components, random_state, verbose
        As in `RPDML`.

    Attributes
    ----------
    components_, feature_importances_, bounds_, bounds_are_exact_, n_iter_, n_pairs_, history_
        As in `RPDML`.
    duality_gap_, objective_, dual_objective_ : float
        As in `RPDML`; the objectives are half of the formula above.
    """

    def __init__(
        self,
        gamma: float = 1.0,
        prior: Any = "identity",
        pairs: Any = "all",
        percentiles: tuple[float, float] = (5, 95),
        bounds: tuple[float, float] | None = None,
        tol: float = 1e-6,
        max_iter: int | None = None,
        n_components: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.gamma = gamma
        self.prior = prior
        self.pairs = pairs
        self.percentiles = percentiles
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.n_components = n_components
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not 0.0 < self.gamma < np.inf:
            raise ValueError(f"`gamma` must be positive, got {self.gamma}.")

    def _check_samples(self, X: Array, labels: Indices) -> None:
        _, place = np.unique(X, axis=0, return_inverse=True)
        kinds = np.unique(np.column_stack([place.ravel(), labels]), axis=0)
        clashes = np.bincount(kinds[:, 0]) > 1
        if clashes.any():
            warnings.warn(
                f"{clashes.sum()} sample(s) have a copy in another class; no metric tells them apart, and "
                "their pairs are given up.",
                UserWarning,
                stacklevel=3,
            )

    def _loss(self, u: float, l: float, total_weight: float) -> PairLoss:  # noqa: E741
        return OneSidedBurg(u, l, 0.5 * self.gamma)
