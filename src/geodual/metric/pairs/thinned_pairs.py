"""The pairs of some samples, standing for all pairs: nearly the same sums for far less work."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array, Indices

from .pair_loss import PairLoss
from .pair_set import LossPass, Pairs, PairTable

_SHARE = 0.3  # of the samples; a pass then takes an eleventh of the time
_PER_FEATURE = 15  # with fewer samples per feature, the optimum of some samples is far from that of all
_MOST = 0.35  # of the samples: with more, too little is saved
_FEW = 2_000_000  # pairs below which a pass takes no time worth saving


class ThinnedPairs(Pairs):
    """Pairs of some samples; their sums are scaled to the total weight of all pairs.

    Parameters
    ----------
    pairs : Pairs
        The pairs of these samples.
    rows : array of shape (n_chosen,), or slice
        Row numbers of these samples among those that it is called with.
    total_weight : float
        Sum of the weights of all pairs.
    """

    def __init__(self, pairs: Pairs, rows: Indices | slice, total_weight: float) -> None:
        self._pairs, self._rows = pairs, rows
        self._scale = total_weight / pairs.total_weight
        self.n_pairs, self.total_weight = pairs.n_pairs, total_weight

    def evaluate(self, Z: Array, loss: PairLoss) -> LossPass:
        found, scale = self._pairs.evaluate(Z[self._rows], loss), self._scale
        return LossPass(
            scale * found.value,
            scale * found.conjugate,
            scale * found.slope_sum,
            scale * found.curvature_total,
            found.curvatures,
            scale * found.noise,
        )

    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: Any) -> Array:
        return self._scale * self._pairs.curvature_product(Z[self._rows], S, loss, curvatures)

    def curvature_moment(self, Z: Array, loss: PairLoss, losses: LossPass) -> Array:
        own = losses._replace(curvature_total=losses.curvature_total / self._scale)
        return self._scale * self._pairs.curvature_moment(Z[self._rows], loss, own)

    def index_list(self, limit: int) -> PairTable:
        return self._pairs.index_list(limit)


def thinned_rows(labels: Indices, n_features: int) -> Indices | None:
    """Return row numbers of random samples of every class that may stand for all; None if too few would.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Classes in increasing order.
    n_features : int
        Number of features.
    """
    n = len(labels)
    wanted = max(_SHARE * n, _PER_FEATURE * n_features)
    if wanted > _MOST * n or n * (n - 1) // 2 < _FEW:
        return None
    # Sorted by class and shuffled within each, so that evenly spaced samples hold every class by its share.
    order = np.lexsort((np.random.default_rng(0).random(n), labels))
    return np.sort(order[np.linspace(0, n - 1, int(wanted)).astype(np.intp)])
