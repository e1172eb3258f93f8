"""The kinds of fits among which a cross-validation chooses."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from geodual.arrays import Array

from ..parameter_checks import check_positive, check_share
from .local_pairs import LocalPairs

NEIGHBORS = "neighbors"  # the value of `pairs` for the loss in which neighbours compete


class Kind(NamedTuple):
    """What a fit learns from: pairs, or neighbours that compete, with a shrinkage of its prior.

    Attributes
    ----------
    pairs : "neighbors", "all", "local", LocalPairs or int
        The pairs.
    shrinkage : float or None
        The shrinkage; None if the prior has none.
    """

    pairs: Any
    shrinkage: float | None

    @property
    def is_neighbors(self) -> bool:
        """Whether neighbours compete."""
        return isinstance(self.pairs, str) and self.pairs == NEIGHBORS

    @property
    def label(self) -> str:
        """What a plot calls the kind."""
        return str(self.pairs) if self.shrinkage is None else f"{self.pairs}, shrinkage {self.shrinkage:g}"


def check_weights(Cs: Any) -> Array:
    """Return the values of C in increasing order; raise if they are no numbers."""
    try:
        values = np.asarray(Cs, dtype=float)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"`Cs` must be a sequence of numbers, got {Cs!r}.")
    return np.sort(values)


def check_kinds(pairs: Any, shrinkages: Any, *, shrunk: bool) -> tuple[Kind, ...]:
    """Return the kinds to try; raise if there are none, or if they are invalid.

    Parameters
    ----------
    pairs : sequence
        Kinds of pairs.
    shrinkages : sequence of float
        Shrinkages of the prior to try with "neighbors".
    shrunk : bool
        Whether the prior is shrunk.
    """
    # No arrays of pairs: their row numbers refer to all samples, not to those of a fold.
    allowed = (str, LocalPairs, numbers.Integral)
    listed = list(pairs) if isinstance(pairs, Iterable) and not isinstance(pairs, allowed) else []
    if not listed or not all(isinstance(pair, allowed) for pair in listed):
        raise ValueError(
            '`pairs` must be a sequence of "neighbors", "all", "local", LocalPairs or numbers, got '
            f"{pairs!r}."
        )
    kinds: list[Kind] = []
    for value in listed:
        kind = Kind(value, None)
        kinds += [Kind(value, s) for s in _checked(shrinkages)] if shrunk and kind.is_neighbors else [kind]
    return tuple(kinds)


def _checked(shrinkages: Any) -> list[float]:
    if np.ndim(shrinkages) != 1 or not np.size(shrinkages):
        raise ValueError(f"`shrinkages` must be a sequence of numbers, got {shrinkages!r}.")
    for value in shrinkages:
        check_positive("shrinkages", value)
        check_share("shrinkages", value)
    return [float(value) for value in shrinkages]
