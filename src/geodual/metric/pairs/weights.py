"""The meaning of weights of samples and of pairs: how often each counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from geodual.arrays import Array

from ..pair_array import real_array

_SMALLEST, _LARGEST = 1e-120, 1e120  # of weights whose products, summed over all pairs, are numbers


def copy_weight(weight: Array) -> float:
    """Return the weight of one copy: 1, or Σw²/Σw if the weights are too small to count copies.

    So whole numbers count copies, of small weights only the ratios matter, and there is no jump in between.
    """
    largest = float(weight.max())
    shares = weight / largest  # the squares of tiny weights would vanish
    return min(1.0, largest * float(shares @ shares) / float(shares.sum()))


def check_sample_weight(sample_weight: Any, X: Any) -> Array:
    """Return the weights of samples; raise if they are invalid, or have products that are no numbers."""
    weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
    largest = float(weight.max(initial=0.0))
    if largest and not _SMALLEST < largest < _LARGEST:
        raise ValueError(
            f"`sample_weight` has values up to {largest:.3g}, too small or too large to compute with; divide "
            "all weights by their mean."
        )
    return np.asarray(weight)


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
