"""A method that metric-learn has renamed, and that programs still call."""

from __future__ import annotations

import warnings
from typing import Any

from geodual.arrays import Array


class OldNamesMixin:
    """Add `score_pairs`, which became `pair_distance` in metric-learn 0.7."""

    def score_pairs(self, pairs: Any) -> Array:
        """Return the learnt distance of each pair, like `pair_distance`.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        """
        warnings.warn(
            "`score_pairs` is an old name of `pair_distance`; use that, or `pair_score` for scores that rise "
            "with similarity.",
            FutureWarning,
            stacklevel=2,
        )
        return self.pair_distance(pairs)  # type: ignore[attr-defined,no-any-return]
