"""Pick the funds with the best forecasts, within limits and without needless trades, and say why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.threads import one_thread

from ..config import StudyConfig
from ..forecasters.forecast import Forecaster, Rows, Today, Training
from ..forecasters.neighbors import NeighborForecaster
from ..sources.reading.fund_facts import FundFacts
from .decision import Decision
from .observations import Observations

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
    pickers: dict[str, Picker] = {}
    picked = []
    with one_thread():  # the same bits whatever the number of threads
        for decision in decisions:
            if decision.forecaster not in pickers:
                pickers[decision.forecaster] = Picker(config, observations.facts, held)
            t, rows = row_of[decision.day], pickers[decision.forecaster].pick(decision)
            known = observations.training(t, _window(forecasters[decision.forecaster])), observations.today(t)
            picked.append(explain(decision, rows, forecasters[decision.forecaster], *known))
    return picked


def _window(forecaster: Forecaster) -> int | str:
    """Return from how many intervals reasons are taken: neighbors may lie in any that were learned from."""
    return forecaster.window if isinstance(forecaster, NeighborForecaster) else 1


def group_limits(config: StudyConfig, facts: FundFacts) -> tuple[tuple[Mapping[str, str], float], ...]:
    """Return the limits by type and by company: the kind of each fund, and the largest share of one kind."""
    limits = ((facts.types, config.max_type), (facts.companies, config.max_company))
    return tuple((of_fund, share) for of_fund, share in limits if share < 1.0)


def most_funds(share: float, top: int) -> int:
    """Return how many of `top` funds with equal weights a share of the portfolio holds: at least one."""
    return max(int(share * top + _ROUNDING), 1)


class Picker:
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
        """Return whether the limits allow one more fund of this type and company, and count it if so."""
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


def held_since(picked: Iterable[tuple[pd.Timestamp, Iterable[str]]]) -> dict[str, pd.Timestamp]:
    """Return the funds that one forecaster picked last, and since when each has been held without a break.

    Parameters
    ----------
    picked : iterable of (Timestamp, iterable of str)
        The funds picked, by day in order of time.
    """
    held: dict[str, pd.Timestamp] = {}
    for day, funds in picked:
        held = {fund: held.get(fund, day) for fund in funds}
    return held


@dataclass(frozen=True, eq=False)
class Picks:
    """The funds picked by one decision, best forecast first, and the reasons.

    Attributes
    ----------
    day, forecaster : Timestamp and str
        Day of the decision, and name of the forecaster.
    funds : Index of shape (n_picks,)
        The funds picked.
    forecast, known : array of shape (n_picks,)
        Their forecasts, and the share of their factors that are known.
    neighbors : array of shape (n_picks, k)
        The funds whose returns the forecast of a pick averages, nearest first: at most 50. Empty for
        forecasters without neighbors.
    distances, returns : array of shape (n_picks, k)
        Distances of these neighbors, and their returns in the interval that is over.
    near : array of shape (n_picks, n_factors)
        Share of each factor in what makes a pick's neighbors near: the mean squared distance to all
        candidates minus that to the neighbors. Negative where neighbors differ more than candidates do;
        NaN if the metric is not linear.
    apart : array of shape (n_picks, n_factors)
        Share of each factor in the squared distance of a pick from the center of the universe. Negative where
        correlated factors reduce it; NaN if the metric is not linear. The absolute values of the shares of a
        pick sum to 1.
    parts : array of shape (n_picks, at most 5)
        The parts that add most to the forecast of a pick, as shares; empty for forecasters that are not sums.
    part_names : array of str, of the same shape
        What these parts come from: factors, or members of an ensemble.
    """

    day: pd.Timestamp
    forecaster: str
    funds: pd.Index[str]
    forecast: Array
    known: Array
    neighbors: NDArray[np.str_]
    distances: Array
    returns: Array
    near: Array
    apart: Array
    parts: Array
    part_names: NDArray[np.str_]


def explain(
    decision: Decision, rows: Rows, forecaster: Forecaster, training: Training, today: Today
) -> Picks:
    """Return the picks of a decision with the reasons.

    Parameters
    ----------
    decision : Decision
        The forecasts.
    rows : array of shape (n_picks,)
        Positions of the funds picked.
    forecaster : Forecaster
        What made the forecasts.
    training, today : Training and Today
        What the decision was made from; for forecasters without neighbors, any training set will do.
    """
    reasons: dict[str, Any] = _no_neighbors(len(rows), today.features.shape[1])
    if isinstance(forecaster, NeighborForecaster):
        candidates, nearest = forecaster.find_candidates(training, today), decision.nearest[rows]
        near, apart = _shares(decision.linear_map, candidates.features, nearest, today.features[rows])
        reasons = {
            "neighbors": candidates.funds.to_numpy(str)[nearest],
            "distances": decision.distances[rows],
            "returns": candidates.returns[nearest],
            "near": near,
            "apart": apart,
        }
    return Picks(
        day=decision.day,
        forecaster=decision.forecaster,
        funds=decision.funds[rows],
        forecast=decision.forecast[rows],
        known=today.known[rows],
        **reasons,
        parts=decision.parts[rows] if decision.parts.size else decision.parts,
        part_names=decision.part_names[rows] if decision.parts.size else decision.part_names,
    )


def _no_neighbors(n_picks: int, n_factors: int) -> dict[str, Any]:
    nothing, unknown = np.empty((n_picks, 0)), np.full((n_picks, n_factors), np.nan)
    empty = {"neighbors": nothing.astype(str), "distances": nothing, "returns": nothing}
    return {**empty, "near": unknown, "apart": unknown}


def _shares(A: Array, candidates: Array, neighbors: Rows, picks: Array) -> tuple[Array, Array]:
    """Return `near` and `apart`: what makes neighbors near, and what sets picks apart."""
    if not A.size:
        unknown = np.full(picks.shape, np.nan)
        return unknown, unknown
    W = A @ A.T
    # For a pick x and candidates c with mean m, the mean split of c − x is the mean split of c − m plus the
    # split of m − x: the cross terms average out. So no array of picks × candidates × factors is needed.
    middle = candidates.mean(axis=0)
    to_all = _split(candidates - middle, W).mean(axis=0) + _split(middle - picks, W)
    to_neighbors = _split(candidates[neighbors] - picks[:, None, :], W).mean(axis=1)
    apart = _split(picks, W)
    return _normalized(to_all - to_neighbors, to_all), _normalized(apart, apart)


def _split(v: Array, W: Array) -> Array:
    """Split squared distances v′Wv among the factors, as vⱼ(Wv)ⱼ."""
    return np.asarray(v * (v @ W))


def _normalized(parts: Array, whole: Array) -> Array:
    """Return parts over the sum of their absolute values; 0 where they are only rounding errors."""
    total, size = (np.abs(terms).sum(axis=1, keepdims=True) for terms in (parts, whole))
    return np.asarray(parts / np.where(total > 1e-12 * size, total, np.inf))
