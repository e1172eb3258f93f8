"""Where portfolios trade: prices of funds and when they are known, what trades cost, how long orders take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array, Indices
from geodual.errors import DataError

from ..calendar import rows_in, rows_per_year
from ..config import StudyConfig
from ..sources.reading.fund_facts import FundFacts

_MAX_RATE = 0.1

Steps = tuple[tuple[int, float], ...]
_Rows = NDArray[np.int32]  # half the memory of other integers, which counts for thousands of funds
"""Redemption fees by holding time: (days, rate), for increasing numbers of days."""


@dataclass(frozen=True)
class FeeRules:
    """The fees of all funds.

    Attributes
    ----------
    cost : float
        Share of the value that every purchase and every sale costs, for funds without a rule of their own.
    purchase : mapping of str to float
        Purchase fee by fund, in place of `cost`.
    redemption : tuple of (int, float)
        Redemption fee by holding time, in place of `cost`: a lot held for fewer days than the first number
        pays the first rate, and so on; a lot held longer pays nothing.
    own_redemption : mapping of str to tuple
        The same by fund, for funds with rules of their own.
    delay : mapping of str to int
        Trading days by fund that an order takes longer than those of other funds, as for funds that invest
        abroad.
    """

    cost: float = 0.0
    purchase: Mapping[str, float] = field(default_factory=dict)
    redemption: Steps = ()
    own_redemption: Mapping[str, Steps] = field(default_factory=dict)
    delay: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tables = (self.redemption, *self.own_redemption.values())
        rates = [self.cost, *self.purchase.values(), *(rate for steps in tables for _, rate in steps)]
        for rate in rates:
            if not 0.0 <= rate < _MAX_RATE:
                raise DataError(
                    f"A fee must be at least 0 and below {_MAX_RATE} (0.0015 means 0.15 %), got {rate}."
                )
        for days in ([day for day, _ in steps] for steps in tables):
            if days != sorted(set(days)) or any(day < 1 for day in days):
                raise DataError(
                    f"Redemption fees must be given for increasing numbers of days, got {days}; write for "
                    "example 7:0.015,365:0.005."
                )
        if any(rows < 0 for rows in self.delay.values()):
            raise DataError("The delay of an order must not be negative; give the number of trading days.")

    @property
    def are_free(self) -> bool:
        """Whether no trade costs anything."""
        return self.sales_are_free and not any(self.purchase.values())

    @cached_property
    def sales_are_free(self) -> bool:
        """Whether no sale costs anything, whatever the holding time."""
        tables = (self.redemption, *self.own_redemption.values())
        return not any((self.cost, *(rate for steps in tables for _, rate in steps)))

    def purchase_rate(self, fund: str) -> float:
        """Return the share of a purchase that it costs."""
        return self.purchase.get(fund, self.cost)

    def redemption_rate(self, fund: str, days_held: int) -> float:
        """Return the share of a sale that it costs, given the calendar days that the lot was held."""
        steps = self.own_redemption.get(fund, self.redemption)
        if not steps:
            return self.cost
        return next((rate for days, rate in steps if days_held < days), 0.0)


def make_fee_rules(config: StudyConfig, facts: FundFacts) -> FeeRules:
    """Return the fees that the settings and the facts about funds give.

    Rules of a fund's own, from the facts, come before those of its type, and these before those of all funds.
    """
    general, by_type = parse_redemption(config.redemption_fees)
    delays = _parse_delays(config.settlement_lag)
    _check_types(("redemption_fees", by_type), ("settlement_lag", delays), facts=facts)
    types = {fund: kind.casefold() for fund, kind in facts.types.items()}
    own = {fund: by_type[kind] for fund, kind in types.items() if kind in by_type}
    own |= {fund: _own_steps(fund, text, facts) for fund, text in facts.redemption_fees.items()}
    return FeeRules(
        cost=config.cost,
        purchase=facts.purchase_fees,
        redemption=general,
        own_redemption=own,
        delay={fund: delays[kind] for fund, kind in types.items() if kind in delays},
    )


def parse_redemption(
    texts: tuple[str, ...], where: str = "`redemption_fees`"
) -> tuple[Steps, dict[str, Steps]]:
    """Read rules such as 7:0.015 (1.5 % below 7 days) and bond:7:0.01, for one type of funds.

    Parameters
    ----------
    texts : tuple of str
        The rules.
    where : str
        Where they stand; errors begin with it.

    Returns
    -------
    steps : tuple of (int, float)
        The rules of all funds: days held and rate.
    by_type : dict of str to tuple
        The rules of single types, in lower case: capitals do not matter.
    """
    general: list[tuple[int, float]] = []
    by_type: dict[str, list[tuple[int, float]]] = {}
    for text in texts:
        rest, _, rate = text.rpartition(":")
        kind, typed, days = rest.rpartition(":")
        rules = by_type.setdefault(kind.casefold(), []) if typed else general
        try:
            rules.append((int(days), float(rate)))
        except ValueError:
            raise DataError(
                f"{where}: redemption fees must be days:rate or type:days:rate, such as 7:0.015 for 1.5 % "
                f"below 7 days, got {text!r}."
            ) from None
    return tuple(general), {kind: tuple(rules) for kind, rules in by_type.items()}


def _own_steps(fund: str, text: str, facts: FundFacts) -> Steps:
    """Read the rules of one fund from its facts."""
    steps, by_type = parse_redemption(tuple(text.replace(";", " ").split()), f"{facts.source}, fund {fund!r}")
    if by_type:
        raise DataError(
            f"{facts.source}, fund {fund!r}: the rules of a single fund must not name a type, got {text!r}. "
            "Write for example 7:0.015;365:0.005."
        )
    return steps


def _parse_delays(texts: tuple[str, ...]) -> dict[str, int]:
    """Read delays such as QDII:2; capitals do not matter."""
    delays: dict[str, int] = {}
    for text in texts:
        kind, _, rows = text.rpartition(":")
        if not kind or not rows.isdecimal():
            raise DataError(f"`settlement_lag` must be type:days, such as QDII:2, got {text!r}.")
        if kind.casefold() in delays:
            raise DataError(f"`settlement_lag` has the type {kind!r} twice; give each type once.")
        delays[kind.casefold()] = int(rows)
    return delays


def _check_types(*settings: tuple[str, Mapping[str, object]], facts: FundFacts) -> None:
    """Raise if a setting is about a type that no fund has."""
    known = {kind.casefold(): kind for kind in facts.types.values()}
    for name, by_type in settings:
        for kind in by_type:
            if kind not in known:
                types = ", ".join(sorted(known.values())) or "none, give fund facts (--meta)"
                raise DataError(f"`{name}`: no fund has the type {kind!r}; known are {types}.")


class Market:
    """A NAV table prepared for trading; any number of portfolios can share it.

    Parameters
    ----------
    nav : DataFrame
        Day × fund; NaN where there is no value.
    fees : FeeRules
        What trades cost and how long they take.

    Attributes
    ----------
    days : DatetimeIndex
        Rows of the table.
    day_numbers : list of int
        The same as calendar days since 1970.
    funds : list of str
        Columns of the table.
    filled : array of shape (n_days, n_funds)
        Last known NAVs; 0 before the first.
    following, last : array of shape (n_days, n_funds)
        The first row from a row on, and the last row up to it, on which a fund has a value.
    purchase_rates : array of shape (n_funds,)
        Share of a purchase that it costs.
    delay : array of shape (n_funds,)
        Rows that orders of a fund take longer than others.
    """

    def __init__(self, nav: pd.DataFrame, fees: FeeRules) -> None:
        self.fees = fees
        self.days, self.funds = pd.DatetimeIndex(nav.index), list(nav.columns)
        self.day_numbers: list[int] = self.days.to_numpy("datetime64[D]").astype(int).tolist()
        values = nav.to_numpy(float)
        self.following, self.last = _neighboring_values(~np.isnan(values))
        self.filled = _last_known(values, self.last)
        self.purchase_rates: Array = np.array([fees.purchase_rate(fund) for fund in self.funds])
        per_year = rows_per_year(self.days)
        delays = [rows_in(fees.delay.get(fund, 0), per_year) for fund in self.funds]
        self.delay: Indices = np.array(delays, dtype=np.intp)

    def redemption_rate(self, fund: int, bought: int, sold: int) -> float:
        """Return the share of a sale that it costs, given the rows of purchase and sale."""
        held = self.day_numbers[sold] - self.day_numbers[bought]
        return self.fees.redemption_rate(self.funds[fund], held)


def _neighboring_values(known: NDArray[np.bool_]) -> tuple[_Rows, _Rows]:
    """Return for each row and fund the first row from it on, and the last row up to it, that has a value."""
    n = len(known)
    rows = np.arange(n, dtype=np.int32)[:, None]
    last = np.where(known, rows, np.int32(-n))
    np.maximum.accumulate(last, out=last)
    following = np.where(known, rows, np.int32(n))
    np.minimum.accumulate(following[::-1], out=following[::-1])
    return following, last


def _last_known(values: Array, last: _Rows) -> Array:
    """Return the last known value up to each row; 0 before the first, when a fund is not held yet."""
    found = np.take_along_axis(values, np.maximum(last, 0), axis=0)
    found[last < 0] = 0.0
    return found
