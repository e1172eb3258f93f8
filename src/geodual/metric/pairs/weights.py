"""The meaning of weights of samples and of pairs: how often each counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array

from ..pair_array import real_array


def copy_weight(weight: Array) -> float:
    """Return the weight of one copy: 1, or Σw²/Σw if the weights are too small to count copies.

    So whole numbers count copies, of small weights only the ratios matter, and there is no jump in between.
    """
    largest = float(weight.max())
    shares = weight / largest  # the squares of tiny weights would vanish
    return min(1.0, largest * float(shares @ shares) / float(shares.sum()))


def check_pair_weight(weight: Any, n_pairs: int, name: str) -> Array:
    """Return the weights of pairs, all 1 by default; raise if they are invalid."""
    if weight is None:
        return np.ones(n_pairs)
    array = real_array(weight, name)
    if array.shape != (n_pairs,) or not (np.isfinite(array) & (array >= 0.0)).all() or not array.any():
        raise ValueError(
            f"`{name}` must hold a weight ≥ 0 for each of the {n_pairs} pairs, and a positive one for some."
        )
    return array
