"""What a factor is, the factors of the paper, and their choice by name, by import path, or as objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import pandas as pd

from geodual.arrays import Array
from geodual.errors import DataError
from geodual.places import is_place, load_place

from ..calendar import DAYS_PER_YEAR, row_name, rows_in, rows_per_year
from ..config import PAPER_FACTORS
from ..language import phrase
from . import formulas
from .formulas import GaplessHistory, Trail

WINDOWS = (10, 14, 21, 28, 42, 63, 90)  # trading days: from two weeks to four months
_LONGEST = 10_000  # about 40 years; much longer ones would only fill the memory
_SAMPLE = min(WINDOWS)  # fewest returns in a statistic, also on weekly and monthly tables


def window_and_base(w: int) -> int:
    """Return w + 1, the number of values that w returns need."""
    return w + 1


def window_only(w: int) -> int:
    """Return w, the number of values that a formula over w values needs."""
    return w


def _check_windows(name: str, windows: Any) -> None:
    """Raise unless the windows of a factor are different whole numbers that a table can reach back."""
    is_list = isinstance(windows, tuple | list) and len(set(windows)) == len(windows) > 0
    if is_list and all(isinstance(w, Integral) and 1 <= int(w) <= _LONGEST for w in windows):
        return
    raise DataError(
        f"`windows` of the factor {name!r} must be different numbers of trading days from 1 to {_LONGEST}, "
        f"got {windows!r}; write for example (10, 63)."
    )


@dataclass(frozen=True)
class WindowedFactor:
    """Define a factor of the last w + 1 NAVs, for each window w.

    Parameters
    ----------
    name : str
        Name of the factor; its columns are called name_w.
    measure : callable
        ``measure(trail, w)`` returns an array of shape (n_funds,), NaN where the factor is not defined; w
        is a number of rows. ``trail.nav[i]`` holds the NAVs of the funds i rows before the day, for
        i = 0 … w, and ``trail.returns[i]`` their returns on that row, for i < w; ``trail.rows_per_year``
        annualizes. Funds come in blocks, so the value of a fund must not depend on other funds.
    label : str
        Name of the factor in reports, in words.
    values_needed : callable
        ``values_needed(w)`` returns the number of values that a fund must have before the factor is defined;
        w + 1 by default.
    windows : tuple of int
        The windows in trading days: by default 10, 14, 21, 28, 42, 63 and 90. On a weekly or monthly table,
        they are as many rows as cover the same time.
    least_rows : int
        Fewest rows of a window on such a table.

    See Also
    --------
    RecursiveFactor : A factor of all NAVs so far.
    compute_factors : Compute factors for all funds.
    StudyConfig : Use factors in a study, by the setting `factors`.

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
    least_rows: int = 1

    def __post_init__(self) -> None:
        _check_windows(self.name, self.windows)


@dataclass(frozen=True)
class RecursiveFactor:
    """Define a factor of all NAVs so far, such as an exponential average, for each window w.

    Parameters
    ----------
    name : str
        Name of the factor; its columns are called name_w.
    measure : callable
        ``measure(history, w)`` returns an array of shape (n_decisions, n_funds), NaN where the factor is not
        defined. ``history.nav`` of shape (n_days, n_funds) holds the values of each fund without gaps, and
        ``history.at_decisions(x)`` picks the rows of the decision days. Funds come in blocks, so the
        value of a fund must not depend on other funds. Here w is a number of rows.
    label : str
        Name of the factor in reports, in words.
    values_needed : callable
        ``values_needed(w)`` returns the number of values that a fund must have before the factor is defined;
        w + 1 by default.
    windows : tuple of int
        The windows in trading days: by default 10, 14, 21, 28, 42, 63 and 90. On a weekly or monthly table,
        they are as many rows as cover the same time.
    least_rows : int
        Fewest rows of a window on such a table.

    See Also
    --------
    WindowedFactor : A factor of the last NAVs only.
    compute_factors : Compute factors for all funds.
    StudyConfig : Use factors in a study, by the setting `factors`.

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
    least_rows: int = 1

    def __post_init__(self) -> None:
        _check_windows(self.name, self.windows)


Factor = WindowedFactor | RecursiveFactor


@dataclass(frozen=True)
class FactorSet:
    """The factors that describe the funds of a study.

    Attributes
    ----------
    factors : tuple of Factor
        The factors, in the order of their columns.
    rows_per_year : int
        Rows per year of the table that they are for; 252 for a daily one.
    """

    factors: tuple[Factor, ...]
    rows_per_year: int = DAYS_PER_YEAR

    def on(self, days: pd.Index) -> FactorSet:
        """Return the factors for a table with these rows; on a daily one the same.

        Of the windows that are the same number of rows, one remains.
        """
        per_year = rows_per_year(days)
        if per_year == self.rows_per_year:
            return self
        fitted = (replace(each, windows=_different_windows(each, per_year)) for each in self.factors)
        return FactorSet(tuple(fitted), per_year)

    def rows(self, factor: Factor, window: int) -> int:
        """Return the number of rows of a window."""
        return rows_in(window, self.rows_per_year, factor.least_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns, such as ``roc_10``: the windows in them are trading days."""
        return tuple(f"{factor.name}_{w}" for factor in self.factors for w in factor.windows)

    @property
    def values_needed(self) -> int:
        """Number of values that a fund must have before every factor is defined."""
        return max(factor.values_needed(self.rows(factor, w)) for factor, w in self._windows)

    @property
    def _windows(self) -> list[tuple[Factor, int]]:
        return [(factor, w) for factor in self.factors for w in factor.windows]

    def describe(self) -> str:
        """Return the windows in rows, such as "roc over 1, 2, 3 and 4 months; sharpe over 10"."""
        kinds: dict[tuple[int, ...], list[str]] = {}
        for factor in self.factors:
            rows = tuple(self.rows(factor, w) for w in factor.windows)
            kinds.setdefault(rows, []).append(factor.name)
        told = [f"{', '.join(names)} over {_join(rows)}" for rows, names in kinds.items()]
        return f"{'; '.join(told)} {row_name(self.rows_per_year)}s"

    @property
    def labels(self) -> dict[str, str]:
        """Label of each factor in reports, by name."""
        return {factor.name: factor.label for factor in self.factors}


def _different_windows(factor: Factor, per_year: int) -> tuple[int, ...]:
    """Return the windows of a factor on a table, in trading days: one for each number of rows.

    Of several, the one remains that is nearest to the time these rows cover. If there are more rows than the
    windows cover, because a factor needs as many, it is that time itself.
    """
    found: dict[int, int] = {}
    for window in factor.windows:
        rows = rows_in(window, per_year, factor.least_rows)
        covered = round(rows * DAYS_PER_YEAR / per_year)
        name = window if rows_in(window, per_year) == rows else covered
        if rows not in found or abs(name - covered) < abs(found[rows] - covered):
            found[rows] = name
    return tuple(found.values())


def _join(rows: tuple[int, ...]) -> str:
    *first, last = map(str, rows)
    return f"{', '.join(first)} and {last}" if first else last


# The order is that of the columns of every factor table.
FACTORS: dict[str, Factor] = {
    factor.name: factor
    for factor in (
        WindowedFactor("roc", formulas.roc, phrase("rate of change")),
        RecursiveFactor("ema", formulas.ema, phrase("moving average against NAV"), window_only, least_rows=2),
        WindowedFactor("mdd", formulas.mdd, phrase("maximum drawdown"), least_rows=2),
        WindowedFactor("stddev", formulas.stddev, phrase("volatility"), least_rows=_SAMPLE),
        WindowedFactor("sharpe", formulas.sharpe, phrase("Sharpe ratio"), least_rows=_SAMPLE),
        WindowedFactor("sortino", formulas.sortino, phrase("Sortino ratio"), least_rows=_SAMPLE),
        WindowedFactor("calmar", formulas.calmar, phrase("Calmar ratio"), least_rows=_SAMPLE),
        RecursiveFactor("rsi", formulas.rsi, phrase("relative strength index"), least_rows=2),
        # Below five rows the signal of a MACD is an average of one row, and the histogram 0.
        RecursiveFactor("macd", formulas.macd, phrase("MACD"), formulas.macd_values_needed, least_rows=5),
        WindowedFactor(
            "stability", formulas.stability, phrase("stability of trend"), window_only, least_rows=_SAMPLE
        ),
    )
}


def choose_factors(factors: Any = PAPER_FACTORS) -> FactorSet:
    """Return the factors that a user asks for.

    Parameters
    ----------
    factors : str, Factor or iterable of them
        "paper" for all factors of the paper, names of single ones such as "sharpe", import paths such as
        ``package.module:factor``, and factors themselves.

    Returns
    -------
    FactorSet
        In the order asked for.
    """
    chosen: list[Factor] = []
    for item in _items(factors):
        chosen += FACTORS.values() if item == PAPER_FACTORS else [_find_factor(item)]
    names = [factor.name for factor in chosen]
    twice = [name for name in names if names.count(name) > 1]
    if not names or twice:
        wrong = f"{twice[0]!r} twice" if twice else "none"
        raise DataError(
            f"`factors` must be different factors, at least one, got {wrong}; name each once, or "
            f'"{PAPER_FACTORS}" for all of the paper.'
        )
    return FactorSet(tuple(chosen))


def take_factors(settings: Mapping[str, Any]) -> tuple[FactorSet, dict[str, Any]]:
    """Return the factors that settings ask for, and the settings with factors replaced by their names.

    The names are recorded with the study, as TOML cannot hold a function.
    """
    factors = settings.get("factors", PAPER_FACTORS)
    names = [item if isinstance(item, str) else _find_factor(item).name for item in _items(factors)]
    return choose_factors(factors), {**settings, "factors": tuple(names)}


def _items(factors: Any) -> list[Any]:
    if isinstance(factors, str | Factor):
        return [factors]
    if not isinstance(factors, Iterable):
        raise DataError(f'`factors` must be names or factors, got {factors!r}; write ["roc", "sharpe"].')
    return list(factors)


def _find_factor(item: Any) -> Factor:
    if isinstance(item, str) and item in FACTORS:
        return FACTORS[item]
    found = load_place(item, "factor") if is_place(item) else item
    if isinstance(found, Factor):
        return found
    raise DataError(
        f"`factors`: {item!r} is not a factor; known are {PAPER_FACTORS}, {', '.join(FACTORS)}. Give one of "
        "your own as package.module:name, a WindowedFactor or a RecursiveFactor."
    )
