"""The decisions of the past, made now or read from a run: what they earned, and which forecaster is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..config import StudyConfig
from ..decisions.observations import Observations, possible_rows
from ..decisions.picking import held_since, pick_funds
from ..decisions.walk_forward import walk_forward
from ..evaluation.case import INDEX, PICKS, StrategyRecord
from ..evaluation.market import FeeRules
from ..evaluation.performance import compare
from ..evaluation.periods import PERIODS, decisions_in, judged_period
from ..evaluation.result_tables import holdings_table, ic_table, predictions_table
from ..evaluation.skill import MOMENTUM
from ..evaluation.statistics import corrected_p, newey_west_t, rank_by_ic
from ..evaluation.study_tables import StudyTables
from ..evaluation.track_record import TrackRecord, measure_record, no_record
from ..evaluation.tuning import count_choices, tune_forecasters
from ..forecasters.forecast import Forecaster
from ..forecasters.make import resolve_baselines
from ..forecasters.registry import UNIVERSE
from .books import equal_weight_curve, rows_to_decide, run_ledgers, target_weights
from .index_mix import mix_indices
from .past_ranges import Volatilities, measure_volatility

_LATE = pd.Timedelta(days=7)  # by which an index may end before an interval does


@dataclass(frozen=True, eq=False)
class LookBack:
    """What the past shows.

    Attributes
    ----------
    past : tuple of (Volatilities, Series)
        The universe of each past decision, and what its funds earned before costs, from the execution of the
        decision to that of the next one.
    record : TrackRecord
        How good past forecasts and the portfolio were.
    held : dict of str to Timestamp
        The funds that the last past decision holds, and since when.
    chosen : dict
        Settings that tuning chose, by forecaster.
    name : str
        The forecaster that is used: the first of `rank_by_ic`, or the first one without any IC.
    candidates : DataFrame
        The forecasters compared, best first: ic_mean, t, p, n. Those with too few past decisions come last.
        Empty if there was only one.
    strategy : StrategyRecord
        What the portfolio earned, net of costs, beside the universe, momentum and the index.
    """

    past: tuple[tuple[Volatilities, pd.Series[float]], ...]
    record: TrackRecord
    held: dict[str, pd.Timestamp]
    chosen: dict[str, dict[str, Any]]
    name: str
    candidates: pd.DataFrame
    strategy: StrategyRecord = field(default_factory=StrategyRecord)


@dataclass(frozen=True, eq=False)
class _Decided:
    """Past decisions: forecasts and holdings of one forecaster or more, and how they came about."""

    predictions: pd.DataFrame
    holdings: pd.DataFrame
    name: str
    candidates: pd.DataFrame
    chosen: dict[str, dict[str, Any]]
    n_choices: int
    judged: pd.Index  # the days of the decisions that are evidence


def look_back(
    observations: Observations,
    forecasters: dict[str, Forecaster],
    config: StudyConfig,
    fees: FeeRules,
    levels: pd.Series[float] | pd.DataFrame | None,
    study: StudyTables | None = None,
    name: str | None = None,
    **effort: Any,
) -> LookBack:
    """Return what past decisions earned: those of a study and its forecaster's since, or all made now.

    Made now, they are those of `backtest` with the same settings.

    Parameters
    ----------
    observations : Observations
        What was known at each rebalance day.
    forecasters : dict of str to Forecaster
        The forecasters by name; tuning replaces each by its best candidate. Of a study, the one that is used.
    config : StudyConfig
        The settings.
    fees : FeeRules
        What trades cost.
    levels : Series or DataFrame, optional
        Index levels to compare with; as a DataFrame, by type of funds.
    study : StudyTables, optional
        The study that is continued. Its data must agree with the observations.
    name : str, optional
        The forecaster of the study, if it is not to be the one that it names.
    **effort
        Passed on to `walk_forward`: n_jobs, progress.
    """
    if not _can_look_back(observations, config):
        return LookBack((), no_record(), {}, {}, next(iter(forecasters)), pd.DataFrame())
    rows = rows_to_decide(observations, config, fees)
    if study is None:
        decided = _decide(observations, forecasters, config, rows, effort)
    else:
        decided = _continue(study, name, observations, forecasters, config, rows, effort)
    return _judge(observations, decided, config, fees, levels)


def _can_look_back(observations: Observations, config: StudyConfig) -> bool:
    """Return whether there is a past decision whose orders have been filled."""
    rows = possible_rows(observations, config)
    days = observations.panel.nav.index
    return bool(rows) and days.get_indexer(observations.days[rows[:1]])[0] + config.execution_lag < len(days)


def _decide(
    observations: Observations,
    forecasters: dict[str, Forecaster],
    config: StudyConfig,
    rows: list[int],
    effort: dict[str, Any],
) -> _Decided:
    """Make all past decisions, and choose the forecaster as a study does."""
    chosen = tune_forecasters(observations, forecasters, config, rows, **effort) if config.tune else {}
    decisions = walk_forward(observations, forecasters, rows, **effort)
    predictions = predictions_table(decisions, observations)
    ic, days = ic_table(predictions, observations.types), pd.DatetimeIndex(observations.panel.nav.index)
    parts = {period: decisions_in(period, ic.index, days, config.test_start) for period in PERIODS}
    known = [period for period, own in parts.items() if ic.loc[own].notna().any(axis=None)]
    period = judged_period(known, tuned=bool(chosen))
    n_choices = count_choices(len(forecasters), chosen if period != "test" else (), config)
    candidates = compare_candidates(ic.loc[parts[period]], n_choices)
    name = next(iter([*candidates.index, *forecasters]))
    picked = pick_funds(observations, [d for d in decisions if d.forecaster == name], forecasters, config)
    return _Decided(
        predictions[predictions["forecaster"] == name],
        holdings_table(picked, predictions, observations, config),
        name,
        candidates if len(forecasters) > 1 else pd.DataFrame(),
        {name: chosen[name]} if name in chosen else {},
        n_choices,
        parts[period],
    )


def _continue(
    study: StudyTables,
    name: str | None,
    observations: Observations,
    forecasters: dict[str, Forecaster],
    config: StudyConfig,
    rows: list[int],
    effort: dict[str, Any],
) -> _Decided:
    """Take the decisions of a study, and make those of its forecaster that were due since."""
    used, period = name or study.strategy, study.judged_period
    new = [t for t in rows if observations.days[t] > study.ic.index[-1]]
    holdings = study.holdings[study.holdings["forecaster"] == used]
    predictions = study.predictions[study.predictions["forecaster"] == used]
    decisions = walk_forward(observations, {used: forecasters[used]}, new, **effort)
    if decisions:
        made = predictions_table(decisions, observations)
        picked = pick_funds(observations, decisions, forecasters, config, held_since(_picks(holdings)))
        predictions = pd.concat([predictions, made], ignore_index=True)
        holdings = pd.concat(
            [holdings, holdings_table(picked, made, observations, config)], ignore_index=True
        )
    n_choices = study.n_choices(period)
    table = compare_candidates(study.ic.loc[study.decided(period), list(study.config.compared)], n_choices)
    return _Decided(
        predictions,
        holdings,
        used,
        table if name is None and len(table) > 1 else pd.DataFrame(),
        {used: study.chosen[used]} if used in study.chosen else {},
        n_choices,
        study.decided(period).union(observations.days[new]),
    )


def _picks(holdings: pd.DataFrame) -> list[tuple[pd.Timestamp, list[str]]]:
    """Return the funds picked by day, in order of time."""
    return [(pd.Timestamp(str(day)), group["fund"].tolist()) for day, group in holdings.groupby("date")]


def _judge(
    observations: Observations,
    decided: _Decided,
    config: StudyConfig,
    fees: FeeRules,
    levels: pd.Series[float] | pd.DataFrame | None,
) -> LookBack:
    """Measure what past decisions earned: the portfolio after costs, and its picks before them."""
    nav, name = observations.panel.nav, decided.name
    rows = observations.days.get_indexer(pd.DatetimeIndex(decided.predictions["date"].unique()))
    spans = _holding_intervals(observations, rows, config.execution_lag)
    outcomes = _outcomes(nav, decided.predictions, spans)
    picks = [(day, funds) for day, funds in _picks(decided.holdings) if day in outcomes]
    earned = {day: outcomes[day][funds].reset_index(drop=True) for day, funds in picks}
    held = held_since(_picks(decided.holdings))
    known, record, strategy = [day for day in decided.judged if day in earned], no_record(), StrategyRecord()
    if known:
        books = run_ledgers(nav, decided.holdings, (name,), config, fees)
        curves = {
            PICKS: books["equity"][name],
            UNIVERSE: equal_weight_curve(observations, rows.tolist(), config),
            **_momentum(observations, rows.tolist(), name, config, fees),
            **_index(levels, observations, int(rows[0]), target_weights(decided.holdings, name), config),
        }
        returns = pd.DataFrame({each: _returns(curve, spans.loc[known]) for each, curve in curves.items()})
        predictions = _with_outcome(decided.predictions, observations)
        record = measure_record(
            ic_table(predictions, observations.types)[name].reindex(known),
            returns,
            pd.concat([earned[day].dropna() > outcomes[day].median() for day in known]),
            decided.n_choices,
            _beta(curves, spans.loc[known]),
        )
        days = pd.DatetimeIndex(nav.index[nav.index >= spans.loc[known, "start"].min()])
        strategy = StrategyRecord(_on_days(curves, days), returns, books["trades"])
    past = tuple(
        (measure_volatility(nav, day, own.index, observations.types), own) for day, own in outcomes.items()
    )
    return LookBack(past, record, held, decided.chosen, name, decided.candidates, strategy)


def _index(
    levels: pd.Series[float] | pd.DataFrame | None,
    observations: Observations,
    first: int,
    targets: dict[pd.Timestamp, pd.Series[float]],
    config: StudyConfig,
) -> dict[str, pd.Series[float]]:
    """Return the levels that a portfolio is compared with, if any: of the index, or its mix of indices."""
    if levels is None:
        return {}
    if isinstance(levels, pd.Series):
        return {INDEX: levels}
    return {INDEX: mix_indices(levels, observations, first).follow(targets, config.execution_lag)}


def _momentum(
    observations: Observations, rows: list[int], name: str, config: StudyConfig, fees: FeeRules
) -> dict[str, pd.Series[float]]:
    """Return what the portfolio picked by momentum was worth under the same rules, if it is a baseline."""
    baselines = resolve_baselines(config)
    if MOMENTUM not in baselines or name == MOMENTUM:
        return {}
    chosen = {MOMENTUM: baselines[MOMENTUM]}
    decisions = walk_forward(observations, chosen, rows)
    picked = pick_funds(observations, decisions, chosen, config)
    holdings = holdings_table(picked, predictions_table(decisions, observations), observations, config)
    return {
        MOMENTUM: run_ledgers(observations.panel.nav, holdings, (MOMENTUM,), config, fees)["equity"][MOMENTUM]
    }


def _on_days(curves: dict[str, pd.Series[float]], days: pd.DatetimeIndex) -> pd.DataFrame:
    """Return curves on some days, filled forward for a week at most, each from 1 on the first day it has."""
    table = {}
    for name, curve in curves.items():
        near = (
            curve.reindex(curve.index.union(days))
            .ffill()
            .reindex(days)
            .where(days <= curve.index[-1] + _LATE)
        )
        known = near.dropna()
        table[name] = near / known.iloc[0] if len(known) else near
    return pd.DataFrame(table).rename_axis("date")


def _beta(curves: dict[str, pd.Series[float]], spans: pd.DataFrame) -> float:
    """Return the beta of the portfolio to the index, from day to day; NaN without an index."""
    if INDEX not in curves:
        return np.nan
    both = pd.DataFrame({name: curves[name] for name in (PICKS, INDEX)})
    both = both.loc[spans["start"].min() : spans["end"].max()].dropna()
    return float(compare(both[PICKS], both[INDEX])["beta"]) if len(both) > 1 else np.nan


def _holding_intervals(observations: Observations, rows: NDArray[np.intp], lag: int) -> pd.DataFrame:
    """Return when the portfolio of each decision is bought and sold, if that is known; by decision day.

    The last one may be sold with the last row, before the orders of the next decision are filled.
    """
    nav, days = observations.panel.nav, observations.days
    ended = rows[rows + 1 < len(days)]
    start, end = (nav.index.get_indexer(days[at]) + lag for at in (ended, ended + 1))
    filled = start < len(nav) - 1
    end = np.minimum(end, len(nav) - 1)[filled]
    return pd.DataFrame({"start": nav.index[start[filled]], "end": nav.index[end]}, index=days[ended[filled]])


def _outcomes(
    nav: pd.DataFrame, predictions: pd.DataFrame, spans: pd.DataFrame
) -> dict[pd.Timestamp, pd.Series[float]]:
    """Return what each fund of a decision earned in its holding interval, by day and fund.

    A fund that closes within the interval counts with its last value.
    """
    filled = nav.ffill()
    start, end = (filled.loc[spans[side]].set_axis(spans.index) for side in ("start", "end"))
    earned = end / start - 1.0
    return {day: earned.loc[day, predictions.loc[predictions["date"] == day, "fund"]] for day in spans.index}


def _with_outcome(predictions: pd.DataFrame, observations: Observations) -> pd.DataFrame:
    """Return predictions with the returns that were not known yet when they were saved."""
    waiting = predictions["realized"].isna()
    if not waiting.any():
        return predictions
    filled = predictions["realized"].copy()
    for t, day in enumerate(observations.days[:-1]):
        funds = predictions.loc[waiting & (predictions["date"] == day), "fund"]
        if len(funds):
            filled[funds.index] = observations.returns(t + 1).reindex(funds).to_numpy(float)
    return predictions.assign(realized=filled)


def _returns(curve: pd.Series[float], spans: pd.DataFrame) -> pd.Series[float]:
    """Return what a curve earned in some intervals; NaN where it begins later or ends a week earlier."""
    days = pd.DatetimeIndex([*spans["start"], *spans["end"]]).unique()
    value = curve.reindex(curve.index.union(days)).ffill()
    earned = value[spans["end"]].to_numpy() / value[spans["start"]].to_numpy() - 1.0
    return pd.Series(earned, spans.index).where(spans["end"] <= curve.index[-1] + _LATE)


def compare_candidates(ic: pd.DataFrame, n_choices: int) -> pd.DataFrame:
    """Return the mean ICs of forecasters, as `rank_by_ic` orders them, with p corrected for the choice."""
    rows = {
        name: (ic[name].mean(), newey_west_t(ic[name]), corrected_p(ic[name], n_choices), ic[name].count())
        for name in rank_by_ic(ic)
    }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["ic_mean", "t", "p", "n"])
    return table.rename_axis("forecaster")
