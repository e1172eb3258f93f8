"""The bounds u and l on squared distances of similar and dissimilar pairs: given, or percentiles."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from geodual.arrays import Array, Indices

from ..base.checks import copy_weight
from ..base.scatter import distinct_rows
from ..geometry.distances import PairDifferences

_LISTED_PAIRS = 500_000  # largest number of pairs whose distances are all listed; more would take too long
_DISTINCT = 1e-6  # bounds with a smaller relative difference count as equal
_SMALLEST, _LARGEST = 1e-140, 1e140  # squares of bounds in this range neither underflow nor overflow
_DRAWN = 200_000  # random pairs that represent all: the standard error of a share of 5 % is 0.05 points


def choose_bounds(
    bounds: Any, percentiles: Any, distances: Array | None, counts: Array | None = None, what: str = "samples"
) -> tuple[float, float]:
    """Return percentiles of squared distances as valid bounds (u, l), or `bounds` without distances.

    Parameters
    ----------
    bounds : (float, float), optional
        The user's bounds.
    percentiles : (float, float)
        The percentiles for u and l. A percentile of zero (many equal samples) is replaced by the smallest
        positive distance, and equal percentiles are moved apart; both with a warning.
    distances : array of shape (n_pairs,), optional
        Squared distances.
    counts : array of shape (n_pairs,), optional
        Weight of each distance; 1 by default.
    what : str
        Name of the samples in error messages.
    """
    if distances is None:
        return check_bounds(bounds)
    shares = check_percentiles(percentiles)
    _check_farthest(float(distances.max()), what)
    u, l = counted_percentiles(distances, counts, shares).tolist()  # noqa: E741 - the paper's letter
    return valid_bounds(u, l, shares[0], lambda: float(distances[distances > 0.0].min()))


def sample_bounds(Z: Array, weight: Array | None, percentiles: Any) -> tuple[tuple[float, float], bool]:
    """Return percentiles of the squared distances of all pairs of samples as valid bounds (u, l).

    They are exact for up to half a million pairs (1,000 samples). With more, 200,000 random pairs represent
    all: the share of distances below a 5th percentile is then 5 % with a standard error of 0.05 points.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples; at least two.
    weight : array of shape (n_samples,), optional
        Weight of each sample; 1 by default. Copies of the same sample are pairs at distance zero.
    percentiles : (float, float)
        The percentiles for u and l, as in `choose_bounds`.

    Returns
    -------
    bounds : (float, float)
        u and l.
    exact : bool
        Whether all pairs were used.
    """
    shares = check_percentiles(percentiles)
    far = _row_squares(Z - Z[0])
    _check_farthest(float(far.max()), "samples")
    samples = CountedSamples(Z, None if weight is None else weight / copy_weight(weight))
    exact = are_listed(len(samples.Z))
    if exact:
        values, counts = samples.all_distances()
    else:
        i, j = drawn_pairs(len(samples.Z), samples.copies)
        values, counts = PairDifferences(i, j).distances(samples.Z), None
    u, l = counted_percentiles(values, counts, shares).tolist()  # noqa: E741 - the paper's letter
    positive = values if values.any() else far
    return valid_bounds(u, l, shares[0], lambda: float(positive[positive > 0.0].min())), exact


def are_listed(n_samples: int) -> bool:
    """Return whether there are few enough pairs of samples to list all distances."""
    return n_samples * (n_samples - 1) // 2 <= _LISTED_PAIRS


def check_bounds(bounds: Any) -> tuple[float, float]:
    """Return the given bounds (u, l); raise an error if they are invalid."""
    u, l = _check_pair("bounds", "(u, l)", bounds)  # noqa: E741 - the paper's letter
    if not 0.0 < u < l < np.inf:
        raise ValueError(f"`bounds` must satisfy 0 < u < l, got u = {u:g} and l = {l:g}.")
    return _check_range(u, l)


def check_percentiles(percentiles: Any) -> tuple[float, float]:
    """Return the percentiles (low, high); raise an error if they are invalid."""
    low, high = _check_pair("percentiles", "(low, high)", percentiles)
    if not 0.0 <= low < high <= 100.0:
        raise ValueError(f"`percentiles` must satisfy 0 ≤ low < high ≤ 100, got {percentiles}.")
    return low, high


def _check_farthest(farthest: float, what: str) -> None:
    """Raise an error if the largest squared distance, or a number of its size, is zero or infinite."""
    if farthest == 0.0:
        raise ValueError(f"All {what} are equal, so there is no distance to learn; check the features.")
    if not np.isfinite(farthest):
        raise ValueError(f"The {what} are too far apart to square their distances; scale the features.")


def valid_bounds(
    u: float,
    l: float,  # noqa: E741 - the paper's letter
    low: float,
    smallest: Callable[[], float],
) -> tuple[float, float]:
    """Return percentiles of squared distances as bounds with 0 < u < l; warn if they are changed.

    Parameters
    ----------
    u, l : float
        The percentiles.
    low : float
        The percentile of u.
    smallest : callable
        Returns the smallest positive distance; called only if needed.
    """
    if u <= 0.0:
        u = smallest()
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


def _row_squares(V: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", V, V))


def counted_percentiles(values: Array, counts: Array | None, percentiles: Sequence[float]) -> Array:
    """Return percentiles of distances as if each were repeated by its count; None means 1."""
    if counts is None:
        return np.asarray(np.percentile(values, percentiles))
    order = np.argsort(values)
    order = order[counts[order] > 0.0]
    first = np.flatnonzero(np.diff(values[order], prepend=-1.0))  # count equal distances together
    ends = np.cumsum(np.add.reduceat(counts[order], first))
    starts = np.concatenate([[0.0], ends[:-1]])
    # Positions of the first and the last copy of each; `np.percentile` interpolates between them.
    places = np.column_stack([starts, np.maximum(ends - 1.0, starts)]).ravel()
    wanted = np.asarray(percentiles) / 100.0 * (ends[-1] - 1.0)
    return np.asarray(np.interp(wanted, places, np.repeat(values[order[first]], 2)))


class CountedSamples:
    """Distinct samples, with the number of copies of each.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples.
    copies : array of shape (n_samples,), optional
        Weight of each sample; 1 by default.

    Attributes
    ----------
    Z : array of shape (n_distinct, n_features)
        The distinct samples.
    copies : array of shape (n_distinct,), or None
        Count of each; None means 1.
    zeros : float
        Number of pairs of copies of the same sample.
    n_pairs : float
        Number of all pairs.
    """

    def __init__(self, Z: Array, copies: Array | None) -> None:
        first, place = distinct_rows(Z)
        self.Z, self.copies = Z, copies
        if len(first) < len(Z):
            self.Z, self.copies = Z[first], np.bincount(place, copies).astype(float)
        count = np.ones(len(self.Z)) if self.copies is None else self.copies
        # A sample with c copies forms c (c − 1)/2 pairs of distance zero with itself.
        self.zeros = max(0.5 * float(count @ (count - 1.0)), 0.0)
        self.n_pairs = 0.5 * (float(count.sum()) ** 2 - float(count @ count)) + self.zeros

    def all_distances(self) -> tuple[Array, Array | None]:
        """Return the squared distances of all pairs, and their counts; None means 1."""
        values = np.asarray(pdist(self.Z, "sqeuclidean"))
        if self.copies is None:
            return values, None
        i, j = np.triu_indices(len(self.Z), 1)
        counts = self.copies[i] * self.copies[j]
        return np.append(values, 0.0), np.append(counts, self.zeros)


def drawn_pairs(n_samples: int, copies: Array | None) -> tuple[Indices, Indices]:
    """Draw pairs of different copies of samples, with a fixed seed, and return their row numbers."""
    rng = np.random.RandomState(0)
    if copies is None:
        i, j = rng.randint(n_samples, size=_DRAWN), rng.randint(n_samples - 1, size=_DRAWN)
        return i, j + (j >= i)
    odds = copies / copies.sum()
    i, j = rng.choice(n_samples, (2, _DRAWN), p=odds)
    same = np.flatnonzero(i == j)
    # Two draws of a sample with c copies hit the same copy with probability 1/c; redraw these.
    while (same := same[rng.uniform(size=len(same)) * copies[i[same]] < 1.0]).size:
        j[same] = rng.choice(n_samples, len(same), p=odds)
        same = same[i[same] == j[same]]
    return i, j
