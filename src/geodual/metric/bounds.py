"""The bounds u and l on the squared distances of similar and dissimilar pairs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from geodual.manifolds.base import Array

_EXACT_PAIRS = 4_000_000
_SAMPLED_PAIRS = 1_000_000


def check_bounds(bounds: Any) -> tuple[float, float]:
    """Return given bounds (u, l), or say what is wrong with them."""
    try:
        u, l = (float(bound) for bound in bounds)  # noqa: E741 - the paper's letter
    except (TypeError, ValueError):
        raise ValueError(f"`bounds` must be a pair (u, l) of numbers, got {bounds!r}.") from None
    if not 0.0 < u < l < np.inf:
        raise ValueError(f"`bounds` must satisfy 0 < u < l, got u = {u:g} and l = {l:g}.")
    return u, l


def percentile_bounds(
    distances: Array, percentiles: tuple[float, float], counts: Array | None = None, what: str = "samples"
) -> tuple[float, float]:
    """Return percentiles of squared distances as bounds that can be used.

    Distances may count more than once. A lower percentile of zero (many equal samples) is replaced by the
    smallest positive distance, with a warning.
    """
    low, high = percentiles
    if not 0.0 <= low < high <= 100.0:
        raise ValueError(f"`percentiles` must satisfy 0 ≤ low < high ≤ 100, got {percentiles}.")
    u, l = (counted_percentile(distances, counts, percentile) for percentile in (low, high))  # noqa: E741
    positive = distances[distances > 0.0]
    if not positive.size:
        raise ValueError(f"All {what} are equal: there is no distance to learn. Check the features.")
    if u <= 0.0:
        u = float(positive.min())
        warnings.warn(
            f"More than {low:g} % of the pairs have distance zero; the upper bound for similar pairs is the "
            f"smallest positive squared distance, {u:.3g}. Give `bounds` to choose another.",
            UserWarning,
            stacklevel=4,
        )
    if l <= u:
        u = 0.5 * l if l > 0.0 else u
        l = max(l, 2.0 * u)  # noqa: E741
        warnings.warn(
            f"The percentiles of the distances coincide; the bounds are u = {u:.3g} and l = {l:.3g}. "
            "Give `bounds` to choose others.",
            UserWarning,
            stacklevel=4,
        )
    return u, l


def counted_percentile(values: Array, counts: Array | None, percentile: float) -> float:
    """Return the percentile of values that count more than once, as if they were repeated."""
    if counts is None:
        return float(np.percentile(values, percentile))
    order = np.argsort(values)
    values, reached = values[order], np.cumsum(counts[order])
    position = percentile / 100.0 * (reached[-1] - 1.0)
    below, fraction = np.floor(position), position - np.floor(position)
    low, high = (
        values[min(int(np.searchsorted(reached, at, side="right")), len(values) - 1)]
        for at in (below, below + 1.0)
    )
    return float(low + fraction * (high - low))


def squared_distances(Z: Array, rng: np.random.RandomState) -> tuple[Array, bool]:
    """Return the squared distances of all pairs, or of a million drawn ones if they are more; say which."""
    n = len(Z)
    if n * (n - 1) // 2 <= _EXACT_PAIRS:
        return np.asarray(pdist(Z, "sqeuclidean")), True
    i = rng.randint(n, size=_SAMPLED_PAIRS)
    j = (i + rng.randint(1, n, size=_SAMPLED_PAIRS)) % n
    difference = np.empty(_SAMPLED_PAIRS)
    for start in range(0, _SAMPLED_PAIRS, 65_536):
        part = slice(start, start + 65_536)
        gap = Z[i[part]] - Z[j[part]]
        difference[part] = np.einsum("kf,kf->k", gap, gap)
    return difference, False
