"""What a factor is: a measure of a fund's NAVs over some windows, with the words to show it by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from geodual.arrays import Array

from .recursive import GaplessHistory
from .windowed import Trail

WINDOWS = (10, 14, 21, 28, 42, 63, 90)


def window_and_base(w: int) -> int:
    """Return w + 1, the number of values that w returns take."""
    return w + 1


def window_only(w: int) -> int:
    """Return w, the number of values that a formula over w values takes."""
    return w


@dataclass(frozen=True)
class WindowedFactor:
    """A factor of the last w + 1 NAVs, for each of some windows w.

    Parameters
    ----------
    name : str
        Its columns are called name_w.
    measure : callable
        ``measure(trail, w)`` gives one value per fund, NaN where it is not defined. ``trail.nav[i]`` holds
        the NAVs i rows before the day, ``trail.returns[i]`` the returns of that row.
    label : str
        What reports call it.
    values_needed : callable
        Number of values, for a window w, that a fund must have before the factor is defined.
    windows : tuple of int
        The windows.

    See Also
    --------
    RecursiveFactor : A factor of all NAVs so far.
    compute_factors : Compute factors for all funds.

    Examples
    --------
    >>> from geodual.funds import WindowedFactor, compute_factors, synthetic_universe
    >>> def below_high(trail, w):
    ...     return trail.nav[0] / trail.nav[: w + 1].max(axis=0) - 1.0
    >>> factor = WindowedFactor("below_high", below_high, "distance below its high")
    >>> universe = synthetic_universe(5, "2014-01-02", "2014-12-31")
    >>> compute_factors(universe.panel, factors=["paper", factor]).shape
    (20, 77)
    """

    name: str
    measure: Callable[[Trail, int], Array]
    label: str
    values_needed: Callable[[int], int] = window_and_base
    windows: tuple[int, ...] = WINDOWS


@dataclass(frozen=True)
class RecursiveFactor:
    """A factor of all NAVs so far, such as an exponential average, for each of some windows w.

    Parameters
    ----------
    name : str
        Its columns are called name_w.
    measure : callable
        ``measure(history, w)`` gives decision day × fund, NaN where it is not defined. ``history.nav`` holds
        the values of each fund without gaps, and ``history.at_decisions(x)`` picks the decision days.
    label : str
        What reports call it.
    values_needed : callable
        Number of values, for a window w, that a fund must have before the factor is defined.
    windows : tuple of int
        The windows.

    See Also
    --------
    WindowedFactor : A factor of the last NAVs only.
    compute_factors : Compute factors for all funds.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.funds import RecursiveFactor, compute_factors, synthetic_universe
    >>> def below_peak(history, w):
    ...     return history.at_decisions(history.nav / np.maximum.accumulate(history.nav) - 1.0)
    >>> factor = RecursiveFactor("below_peak", below_peak, "below its peak", lambda w: 1, windows=(1,))
    >>> universe = synthetic_universe(5, "2014-01-02", "2014-12-31")
    >>> list(compute_factors(universe.panel, factors=[factor]))
    ['below_peak_1']
    """

    name: str
    measure: Callable[[GaplessHistory, int], Array]
    label: str
    values_needed: Callable[[int], int] = window_and_base
    windows: tuple[int, ...] = WINDOWS


Factor = WindowedFactor | RecursiveFactor


@dataclass(frozen=True)
class FactorSet:
    """The factors that describe the funds of a study.

    Attributes
    ----------
    factors : tuple of Factor
        The factors, in the order of their columns.
    """

    factors: tuple[Factor, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, such as ``roc_10``."""
        return tuple(f"{factor.name}_{w}" for factor in self.factors for w in factor.windows)

    @property
    def values_needed(self) -> int:
        """The number of values that a fund must have before every factor is defined."""
        return max(factor.values_needed(w) for factor in self.factors for w in factor.windows)

    @property
    def labels(self) -> dict[str, str]:
        """What reports call each factor, by name."""
        return {factor.name: factor.label for factor in self.factors}
