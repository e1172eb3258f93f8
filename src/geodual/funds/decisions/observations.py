"""What a study may know on each rebalance day: the factors of the day, and intervals that are over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.tseries.offsets import BDay

from geodual.arrays import Array
from geodual.errors import DataError

from ..calendar import DAYS_PER_YEAR, keep_trading_days, rebalance_days, rows_per_year
from ..config import FREQUENCIES, StudyConfig
from ..factors.compute import compute_columns, compute_factors
from ..factors.factor import FactorSet
from ..forecasters.forecast import Today, Training
from ..forecasters.peers import Groups, rows_of_groups, types_compared
from ..language import phrase
from ..panel import Panel
from ..sources.reading.fund_facts import FundFacts, no_facts
from .universe import FundHistory, filter_funds, take_cross_section

_FEWEST = 10  # a study needs this many funds at least


class Observations:
    """Cross-sections and returns at the rebalance days of a panel, each from rows up to its day only.

    Parameters
    ----------
    panel : Panel
        Net asset values.
    days : DatetimeIndex
        Rebalance days; they must be rows of the panel.
    factors : FactorSet
        The factors that describe the funds.
    facts : FundFacts, optional
        Facts about the funds.
    one_class : bool
        Whether only one share class per group belongs to the universe.
    types : mapping of str to str, optional
        The types within which funds are compared, from `types_compared`; by default all are compared with
        each other.
    asked : iterable of str
        Factors whose raw values forecasters want to see, such as "sharpe_90"; no other result depends on it.
    computed : DataFrame, optional
        What `compute_factors` returns for these days and perhaps others; by default it is called here.
    """

    def __init__(
        self,
        panel: Panel,
        days: pd.DatetimeIndex,
        factors: FactorSet,
        facts: FundFacts | None = None,
        *,
        one_class: bool = False,
        types: Mapping[str, str] | None = None,
        asked: Iterable[str] = (),
        computed: pd.DataFrame | None = None,
    ) -> None:
        self.panel, self.days, self.factors = panel, days, factors
        self.facts, self.types = facts or no_facts(), dict(types or {})
        self._history = FundHistory(panel.nav, days, factors.rows_per_year)
        table = compute_factors(panel, days, factors) if computed is None else computed.loc[days]
        grouped = self.facts if one_class and self.facts.groups else None
        needed = factors.values_needed
        by_day = table.to_numpy().reshape(len(days), panel.nav.shape[1], table.shape[1])
        self.sections = [
            take_cross_section(panel.nav.columns, day, self._history, row, raw, needed, grouped, types)
            for row, (raw, day) in enumerate(zip(by_day, days, strict=True))
        ]
        self._asked = compute_columns(panel, days, asked, factors)
        self._intervals: dict[int, Interval] = {}

    @property
    def asked(self) -> tuple[str, ...]:
        """The factors whose raw values forecasters can see."""
        return tuple(self._asked)

    @property
    def funds(self) -> pd.Index[str]:
        """All funds of the panel."""
        return self.panel.nav.columns

    def returns(self, t: int) -> pd.Series[float]:
        """Return R_t, the returns over (q_{t−1}, q_t] of the funds in the universe at q_{t−1}.

        A fund that closes within the interval counts with its last value, as its holders are paid that.
        """
        funds = self.sections[t - 1].funds
        at = self.funds.get_indexer(funds)
        start, end = (self._history.last_value[row, at] for row in (t - 1, t))
        return pd.Series(end / start - 1.0, index=funds)

    def intervals(self, t: int, window: int | str = 1) -> list[Interval]:
        """Return the last holding intervals that are over on day t, the oldest first; or "all" of them."""
        first = 1 if window == "all" else max(t - int(window), 0) + 1
        for s in range(first, t + 1):
            if s not in self._intervals:  # neighboring days and other forecasters share it
                self._intervals[s] = self._interval(s)
        return [self._intervals[s] for s in range(first, t + 1)]

    def training(self, t: int, window: int | str = 1) -> Training:
        """Return what can be learned from on day t: the last holding intervals that are over, or "all"."""
        return join_intervals(self.intervals(t, window))

    def today(self, t: int) -> Today:
        """Return the funds of day t, with the raw factors that were asked for."""
        section = self.sections[t]
        at = self.funds.get_indexer(section.funds)
        asked = {name: values[t, at] for name, values in self._asked.items()}
        columns = self.factors.columns
        return Today(
            section.day, section.funds, section.features, section.known, columns, asked, section.groups
        )

    def seen(self, t: int) -> pd.Series[bool]:
        """Return which funds of the universe at q_{t−1} have a value in (q_{t−1}, q_t].

        The others have no return in that interval, so nothing can be learned from them.
        """
        funds = self.sections[t - 1].funds
        at = self.funds.get_indexer(funds)
        before, after = (self._history.n_values[row, at] for row in (t - 1, t))
        return pd.Series(after > before, index=funds)

    def _interval(self, s: int) -> Interval:
        section, seen = self.sections[s - 1], np.asarray(self.seen(s), dtype=bool)
        earned = self.returns(s)[seen].to_numpy(float)
        groups = section.groups[seen] if len(section.groups) else section.groups
        if len(groups):
            earned = _excess(earned, groups)
        return Interval(section.features, seen, earned, section.funds[seen], groups)


def _excess(returns: Array, groups: Groups) -> Array:
    """Return returns less the mean of the funds of the same peer group."""
    excess = np.empty(len(returns))
    for rows in rows_of_groups(groups, len(returns)):
        excess[rows] = returns[rows] - returns[rows].mean()
    return excess


def prepare_panel(
    panel: Panel, config: StudyConfig, facts: FundFacts, index_days: pd.Index | None = None
) -> Panel:
    """Return the trading days up to the end of a study, with the funds that it may choose from.

    Parameters
    ----------
    panel : Panel
        Net asset values.
    config : StudyConfig
        The settings `end`, `types`, `include` and `exclude`.
    facts : FundFacts
        Facts about the funds.
    index_days : Index, optional
        Days on which an index has a level.
    """
    if panel.nav.empty:
        raise DataError(f"{panel.source}: the table has no rows or no funds. Fill in the NAVs.")
    values = panel.nav.to_numpy(float)
    if (values <= 0.0).any() or np.isinf(values).any():
        raise DataError(f"{panel.source}: NAVs must be positive and finite. Use NaN where there is no value.")
    if config.end:
        if pd.Timestamp(config.end) < panel.nav.index[0]:
            raise DataError(
                f"{panel.source}: `end`, {config.end}, lies before the first row, "
                f"{panel.nav.index[0].date()}. Choose a later day."
            )
        panel = panel.until(pd.Timestamp(config.end))
    # All funds decide which days are trading days, also those that the study may not choose.
    return filter_funds(keep_trading_days(panel, index_days), config, facts)


def observe(
    panel: Panel,
    config: StudyConfig,
    factors: FactorSet,
    facts: FundFacts,
    days: pd.DatetimeIndex | None = None,
    asked: Iterable[str] = (),
    computed: pd.DataFrame | None = None,
) -> Observations:
    """Return what is known on each rebalance day, or on other days.

    Parameters
    ----------
    panel : Panel
        Trading days, as `prepare_panel` returns them.
    config : StudyConfig
        The settings `frequency`, `share_classes` and `relative_to`.
    factors : FactorSet
        The factors that describe the funds, as `FactorSet.on` returns them for these rows.
    facts : FundFacts
        Facts about the funds.
    days : DatetimeIndex, optional
        By default the rebalance days.
    asked : iterable of str
        Factors whose raw values forecasters want to see.
    computed : DataFrame, optional
        What `compute_factors` returns for these days and perhaps others.
    """
    if days is None:
        days = rebalance_days(pd.DatetimeIndex(panel.nav.index), config.frequency)
    return Observations(
        panel,
        days,
        factors,
        facts,
        one_class=config.share_classes == "one",
        types=types_compared(config, facts.types, panel.nav.columns),
        asked=asked,
        computed=computed,
    )


@dataclass(frozen=True, eq=False)
class Interval:
    """What can be learned from one holding interval.

    Training sets of neighboring days and of all forecasters consist of the same intervals. So workers are
    given intervals and join them: each is sent once, and no process holds training sets of many days.

    Attributes
    ----------
    features : array of shape (n_funds, n_factors)
        Standardized factors at the start of the interval, of all funds of that day.
    seen : array of bool, of shape (n_funds,)
        Which of these funds have a return in the interval.
    returns : array of shape (n_seen,)
        The returns of the funds seen; less the mean of their peer groups if there are any.
    funds : Index of shape (n_seen,)
        The funds seen.
    groups : array of shape (n_seen,)
        Peer group of each; empty without groups.
    """

    features: Array
    seen: NDArray[np.bool_]
    returns: Array
    funds: pd.Index[str]
    groups: NDArray[Any]

    def __sizeof__(self) -> int:
        """Return the size with the features, so that Dask knows how much memory its workers use."""
        return object.__sizeof__(self) + self.features.nbytes


def join_intervals(intervals: Sequence[Interval]) -> Training:
    """Return a training set.

    Parameters
    ----------
    intervals : sequence of Interval
        At least one, the oldest first.
    """
    sizes = [len(interval.funds) for interval in intervals]
    funds = [interval.funds for interval in intervals]
    return Training(
        np.vstack([interval.features[interval.seen] for interval in intervals]),
        np.concatenate([interval.returns for interval in intervals]),
        np.repeat(np.arange(len(intervals))[::-1], sizes),
        funds[0].append(funds[1:]),
        np.concatenate([interval.groups for interval in intervals]),
    )


def decision_rows(
    observations: Observations, config: StudyConfig, *, include_last: bool = False
) -> list[int]:
    """Return the positions of the rebalance days on which a decision can be made; raise if there are none.

    A decision needs enough funds to choose from, and enough funds with values in the interval before to learn
    from. The last row of the data counts only with `include_last`: no return can be earned after it.
    """
    rows = possible_rows(observations, config, include_last=include_last)
    if not rows:
        raise DataError(f"{observations.panel.source}: {_explain_none(observations, config, include_last)}")
    return rows


def possible_rows(
    observations: Observations, config: StudyConfig, *, include_last: bool = False
) -> list[int]:
    """Return the same positions, or none."""
    last_row = observations.panel.nav.index[-1]
    enough, start = _enough(config), pd.Timestamp(config.start or observations.panel.nav.index[0])
    return [
        t
        for t in range(1, len(observations.days))  # from 1: learning needs the interval that ends on this day
        if observations.days[t] >= start
        and (include_last or observations.days[t] < last_row)
        and len(observations.sections[t].funds) >= enough
        and observations.seen(t).sum() >= enough
    ]


def skipped_days(observations: Observations, config: StudyConfig, rows: list[int]) -> dict[pd.Timestamp, str]:
    """Return the reason for each rebalance day without a decision, although enough history is there."""
    days, index, skipped = observations.days, observations.panel.nav.index, {}
    needed, start = observations.factors.values_needed, pd.Timestamp(config.start or index[0])
    for t in range(1, len(days)):
        if t not in rows and start <= days[t] and index[needed - 1] <= days[t - 1] and days[t] < index[-1]:
            known, teaching = len(observations.sections[t].funds), int(observations.seen(t).sum())
            n, text = teaching, phrase("{n} funds to learn from, {n_needed} needed")
            if known < _enough(config):
                n, text = known, phrase("{n} funds to choose from, {n_needed} needed")
            skipped[days[t]] = phrase(text, n=n, n_needed=_enough(config))
    return skipped


def _enough(config: StudyConfig) -> int:
    """Return the smallest number of funds for a decision: a fund and its k neighbors, and at least ten."""
    return max(_FEWEST, config.k + 1)


def _explain_none(observations: Observations, config: StudyConfig, include_last: bool) -> str:
    """Return the reason why no decision can be made at all, and what to do."""
    needed, last = observations.factors.values_needed, observations.panel.nav.index[-1]
    usable = observations.days if include_last else observations.days[observations.days < last]
    if config.start and len(usable) and pd.Timestamp(config.start) > usable[-1]:
        return (
            f"`start`, {config.start}, lies after the last rebalance day that other rows follow, "
            f"{usable[-1].date()}. Choose an earlier day."
        )
    end = _first_possible_end(observations.panel.nav.index, needed, config.frequency, include_last)
    if last < end:
        missing = np.busday_count(last.date(), end.date())
        per_year = observations.factors.rows_per_year
        more = f", {missing} more trading days" if per_year == DAYS_PER_YEAR else ""
        return (
            f"the table ends on {last.date()}, too early for a decision. A fund needs {needed} values, "
            f"and then one whole {config.frequency} interval to learn from: give data to about {end.date()}"
            f"{more}."
        )
    enough = _enough(config)
    most = max((len(section.funds) for section in observations.sections), default=0)
    if most >= enough:
        return (
            f"on no rebalance day do {enough} funds have values both on that day and in the interval before. "
            "Fill the gaps, or choose another `frequency`."
        )
    found = f"at most {most} funds have {needed} values on a rebalance day"
    if most <= _FEWEST:
        return f"{found}, and a study needs {enough}. Give more funds or more history."
    return (
        f"{found}, and `k` = {config.k} neighbors need {enough}. Lower `k` to {most - 1} or give more funds."
    )


def _first_possible_end(index: pd.Index, needed: int, frequency: str, include_last: bool) -> pd.Timestamp:
    """Return the day, roughly, up to which data are needed for a first decision."""
    short = needed - len(index)
    days = round(short * DAYS_PER_YEAR / rows_per_year(index))
    known = index[-1] + days * BDay() if short > 0 else index[needed - 1]
    learned = (known.to_period(FREQUENCIES[frequency]) + 1).end_time.normalize()
    last_weekday = learned + BDay() - BDay()  # forward and back: a weekend goes back to its Friday
    return pd.Timestamp(last_weekday if include_last else last_weekday + BDay())
