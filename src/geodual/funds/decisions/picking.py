"""Pick the funds with the best forecasts, within limits by type and company, without needless trades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from geodual.threads import one_thread

from ..config import StudyConfig
from ..forecasters.forecast import Forecaster, Rows
from ..forecasters.neighbours import NeighbourForecaster
from ..sources.reading.fund_facts import FundFacts
from .decision import Decision
from .observations import Observations
from .picks import Picks, explain

_ROUNDING = 1e-9


def pick_funds(
    observations: Observations,
    decisions: Sequence[Decision],
    forecasters: Mapping[str, Forecaster],
    config: StudyConfig,
    held: Mapping[str, pd.Timestamp] | None = None,
) -> list[Picks]:
    """Pick the funds of each decision and give the reasons; what is held depends on earlier decisions.

    Parameters
    ----------
    observations : Observations
        What was known at each rebalance day.
    decisions : sequence of Decision
        Of one or more forecasters, each in order of time.
    forecasters : mapping of str to Forecaster
        The forecasters by name.
    config : StudyConfig
        Number of picks, limits, and rules against needless trades.
    held : mapping of str to Timestamp, optional
        Funds that are held before the first decision, and since when.

    Returns
    -------
    list of Picks
        One per decision, in the same order.
    """
    row_of = {day: t for t, day in enumerate(observations.days)}
    pickers: dict[str, _Picker] = {}
    picked = []
    with one_thread():  # the same bits whatever the number of threads
        for decision in decisions:
            if decision.forecaster not in pickers:
                pickers[decision.forecaster] = _Picker(config, observations.facts, held)
            t, rows = row_of[decision.day], pickers[decision.forecaster].pick(decision)
            known = observations.training(t, _window(forecasters[decision.forecaster])), observations.today(t)
            picked.append(explain(decision, rows, forecasters[decision.forecaster], *known))
    return picked


def _window(forecaster: Forecaster) -> int | str:
    """Return from how many intervals reasons are taken: neighbours may lie in any that were learnt from."""
    return forecaster.window if isinstance(forecaster, NeighbourForecaster) else 1


def group_limits(config: StudyConfig, facts: FundFacts) -> tuple[tuple[Mapping[str, str], float], ...]:
    """Return the limits by type and by company: the kind of each fund, and the largest share of one kind."""
    limits = ((facts.types, config.max_type), (facts.companies, config.max_company))
    return tuple((of_fund, share) for of_fund, share in limits if share < 1.0)


def most_funds(share: float, top: int) -> int:
    """Return how many of `top` funds with equal weights a share of the portfolio holds: at least one."""
    return max(int(share * top + _ROUNDING), 1)


class _Picker:
    """Picks the funds of one forecaster, decision by decision."""

    def __init__(
        self, config: StudyConfig, facts: FundFacts, held: Mapping[str, pd.Timestamp] | None
    ) -> None:
        self._config = config
        limits = group_limits(config, facts)
        self._limits = [(of_fund, most_funds(share, config.top)) for of_fund, share in limits]
        self._bought = dict(held or {})  # day of purchase of each fund held

    def pick(self, decision: Decision) -> Rows:
        """Return the positions of the funds to hold, best forecast first."""
        ranking = decision.ranking
        by_rank: list[str] = decision.funds[ranking].tolist()
        counts: list[Counter[str]] = [Counter() for _ in self._limits]
        ranks: list[int] = []
        for rank in self._order(by_rank, decision.day):
            if len(ranks) == self._config.top:
                break
            if self._has_room(by_rank[rank], counts):
                ranks.append(rank)
        ranks.sort()
        self._bought = {by_rank[at]: self._bought.get(by_rank[at], decision.day) for at in ranks}
        return np.asarray(ranking[ranks])

    def _order(self, by_rank: list[str], day: pd.Timestamp) -> list[int]:
        """Return ranks in the order in which places are given: funds that must stay, that may, the best."""
        place = {fund: rank for rank, fund in enumerate(by_rank)}
        held = [(fund, place[fund]) for fund in self._bought if fund in place]
        must = sorted(
            rank for fund, rank in held if (day - self._bought[fund]).days < self._config.min_holding
        )
        may = sorted(rank for _, rank in held if rank < self._config.keep_rank)
        return list(dict.fromkeys([*must, *may, *range(len(by_rank))]))

    def _has_room(self, fund: str, counts: list[Counter[str]]) -> bool:
        """Tell whether the limits allow one more fund of this type and company, and count it if so."""
        own = [of_fund.get(fund) for of_fund, _ in self._limits]
        full = (
            kind is not None and count[kind] >= most
            for kind, count, (_, most) in zip(own, counts, self._limits, strict=True)
        )
        if any(full):
            return False
        for kind, count in zip(own, counts, strict=True):
            if kind is not None:
                count[kind] += 1
        return True


def held_since(picked: Sequence[Picks]) -> dict[str, pd.Timestamp]:
    """Return the funds that one forecaster picked last, and since when each has been held without a break."""
    held: dict[str, pd.Timestamp] = {}
    for picks in picked:
        held = {fund: held.get(fund, picks.day) for fund in picks.funds}
    return held
