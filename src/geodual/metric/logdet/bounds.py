"""The bounds u and l on the squared distances of similar and dissimilar pairs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from geodual.arrays import Array

from ..pairs.weights import copy_weight

_EXACT_PAIRS = 4_000_000  # with more pairs, percentiles are estimated from a sample
_SAMPLED_PAIRS = 1_000_000
_DISTINCT = 1e-6  # bounds that differ by less, relatively, count as equal
_SMALLEST, _LARGEST = 1e-140, 1e140  # squares of bounds between these neither under- nor overflow


def choose_bounds(
    bounds: Any, percentiles: Any, distances: Array | None, counts: Array | None = None, what: str = "samples"
) -> tuple[float, float]:
    """Return the bounds (u, l): percentiles of the squared distances, or `bounds` if there are none."""
    if distances is None:
        return check_bounds(bounds)
    return percentile_bounds(distances, percentiles, counts, what)


def check_bounds(bounds: Any) -> tuple[float, float]:
    """Return the given bounds (u, l); raise if they are invalid."""
    u, l = _check_pair("bounds", "(u, l)", bounds)  # noqa: E741 - the paper's letter
    if not 0.0 < u < l < np.inf:
        raise ValueError(f"`bounds` must satisfy 0 < u < l, got u = {u:g} and l = {l:g}.")
    return _check_range(u, l)


def percentile_bounds(
    distances: Array, percentiles: Any, counts: Array | None = None, what: str = "samples"
) -> tuple[float, float]:
    """Return percentiles of squared distances as valid bounds (u, l).

    Parameters
    ----------
    distances : array of shape (n_pairs,)
        Squared distances.
    percentiles : (float, float)
        The percentiles for u and l. A percentile of zero (many equal samples) is replaced by the smallest
        positive distance, and equal percentiles are moved apart; both give a warning.
    counts : array of shape (n_pairs,), optional
        How often each distance counts; once by default.
    what : str
        What the error messages call the samples.
    """
    low, high = _check_pair("percentiles", "(low, high)", percentiles)
    if not 0.0 <= low < high <= 100.0:
        raise ValueError(f"`percentiles` must satisfy 0 ≤ low < high ≤ 100, got {percentiles}.")
    farthest = float(distances.max())
    if farthest == 0.0:
        raise ValueError(f"All {what} are equal, so there is no distance to learn; check the features.")
    if not np.isfinite(farthest):
        raise ValueError(f"The {what} are too far apart to square their distances; scale the features.")
    u, l = counted_percentiles(distances, counts, (low, high)).tolist()  # noqa: E741
    if u <= 0.0:
        u = float(distances[distances > 0.0].min())
        warnings.warn(
            f"More than {low:g} % of the pairs have distance zero, so the upper bound for similar pairs is "
            f"the smallest positive squared distance, {u:.3g}. Give `bounds` to choose another.",
            UserWarning,
            stacklevel=5,  # the caller of `fit`
        )
    if not l > u * (1.0 + _DISTINCT):
        u = 0.5 * l if l > 0.0 else u
        l = max(l, 2.0 * u)  # noqa: E741
        warnings.warn(
            f"The percentiles of the distances coincide, so the bounds are u = {u:.3g} and l = {l:.3g}. "
            "Give `bounds` to choose others.",
            UserWarning,
            stacklevel=5,
        )
    return _check_range(u, l)


def _check_pair(name: str, form: str, values: Any) -> tuple[float, float]:
    try:
        first, second = (float(value) for value in values)
    except (TypeError, ValueError):
        raise ValueError(f"`{name}` must be a pair {form} of numbers, got {values!r}.") from None
    return first, second


def _check_range(u: float, l: float) -> tuple[float, float]:  # noqa: E741
    if not _SMALLEST < u < l < _LARGEST:
        raise ValueError(
            f"The bounds u = {u:.3g} and l = {l:.3g} on squared distances are too small or too large to "
            "compute with; scale the features."
        )
    return u, l


def counted_percentiles(values: Array, counts: Array | None, percentiles: Sequence[float]) -> Array:
    """Return percentiles of values as if each were repeated as often as it counts."""
    if counts is None:
        return np.asarray(np.percentile(values, percentiles))
    order = np.argsort(values)
    order = order[counts[order] > 0.0]
    ends = np.cumsum(counts[order])
    starts = ends - counts[order]
    # Positions of the first and of the last copy of each value in the sorted, repeated list; between them
    # `np.percentile` interpolates linearly.
    places = np.column_stack([starts, np.maximum(ends - 1.0, starts)]).ravel()
    wanted = np.asarray(percentiles) / 100.0 * (ends[-1] - 1.0)
    return np.asarray(np.interp(wanted, places, np.repeat(values[order], 2)))


def squared_distances(
    Z: Array, weight: Array | None, rng: np.random.RandomState
) -> tuple[Array, Array | None, bool]:
    """Return squared distances of pairs of samples, for the percentiles.

    With more than 4 million pairs, a million random pairs are used. Copies of the same sample count as pairs
    at distance zero.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples.
    weight : array of shape (n_samples,), optional
        How often each sample counts; once by default.
    rng : RandomState
        Source of random pairs.

    Returns
    -------
    distances : array of shape (n_distances,)
        Squared distances.
    counts : array of shape (n_distances,) or None
        How often each counts; None means once.
    exact : bool
        Whether these are all pairs.
    """
    n = len(Z)
    copies = None if weight is None else weight / copy_weight(weight)
    if n * (n - 1) // 2 > _EXACT_PAIRS:
        return _drawn_distances(Z, np.ones(n) if copies is None else copies, rng), None, False
    distances = np.asarray(pdist(Z, "sqeuclidean"))
    if copies is None:
        return distances, None, True
    i, j = np.triu_indices(n, 1)
    # A sample of c copies makes c (c − 1)/2 pairs of distance zero with itself.
    counts = np.append(copies[i] * copies[j], max(0.5 * float(copies @ (copies - 1.0)), 0.0))
    return np.append(distances, 0.0), counts, True


def _drawn_distances(Z: Array, copies: Array, rng: np.random.RandomState) -> Array:
    """Draw a million pairs of different copies of samples, and return their squared distances."""
    odds = copies / copies.sum()
    i, j = rng.choice(len(Z), (2, _SAMPLED_PAIRS), p=odds)
    same = np.flatnonzero(i == j)
    # Two draws of a sample with c copies hit the same copy with probability 1/c; these are drawn again.
    while (same := same[rng.uniform(size=len(same)) * copies[i[same]] < 1.0]).size:
        j[same] = rng.choice(len(Z), len(same), p=odds)
        same = same[i[same] == j[same]]
    distances = np.empty(_SAMPLED_PAIRS)
    # In parts, so that the differences of all pairs are never in memory at once.
    for start in range(0, _SAMPLED_PAIRS, 65_536):
        part = slice(start, start + 65_536)
        gap = Z[i[part]] - Z[j[part]]
        distances[part] = np.einsum("kf,kf->k", gap, gap)
    return distances
