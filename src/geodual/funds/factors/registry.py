"""The factors of the paper, and the choice of factors by name, by place, or as objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from geodual.errors import DataError
from geodual.places import is_place, load_place

from ..config import PAPER_FACTORS
from . import recursive, windowed
from .factor import Factor, FactorSet, RecursiveFactor, WindowedFactor, window_only

# The order is that of the columns of every factor table.
FACTORS: dict[str, Factor] = {
    factor.name: factor
    for factor in (
        WindowedFactor("roc", windowed.roc, "rate of change"),
        RecursiveFactor("ema", recursive.ema, "moving average against NAV", window_only),
        WindowedFactor("mdd", windowed.mdd, "maximum drawdown"),
        WindowedFactor("stddev", windowed.stddev, "volatility"),
        WindowedFactor("sharpe", windowed.sharpe, "Sharpe ratio"),
        WindowedFactor("sortino", windowed.sortino, "Sortino ratio"),
        WindowedFactor("calmar", windowed.calmar, "Calmar ratio"),
        RecursiveFactor("rsi", recursive.rsi, "relative strength index"),
        RecursiveFactor("macd", recursive.macd, "MACD", recursive.macd_values_needed),
        WindowedFactor("stability", windowed.stability, "stability of trend", window_only),
    )
}


def choose_factors(factors: Any = PAPER_FACTORS) -> FactorSet:
    """Return the factors that a user asks for.

    Parameters
    ----------
    factors : str, Factor or iterable of them
        "paper" for all factors of the paper, names of single ones such as "sharpe", places such as
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
