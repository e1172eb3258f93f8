"""`select`: choose the funds to hold next, and give the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.errors import DataError

from ..calendar import MONTHS, half_gap, rebalance_days
from ..config import StudyConfig, check_names
from ..decisions.decision import Decision
from ..decisions.observations import Observations, decision_rows, observe, prepare_panel
from ..decisions.picking import Picks, pick_funds
from ..decisions.walk_forward import walk_forward
from ..evaluation.case import PickCase, correlate_picks, measure_picks, mix_picks
from ..evaluation.market import FeeRules, make_fee_rules
from ..evaluation.orders import Orders, Position, plan_orders, value_holdings
from ..evaluation.result_tables import neighbors_table, reasons_table
from ..evaluation.risk_free import take_risk_free
from ..evaluation.study_tables import StudyTables
from ..evaluation.track_record import SelectionTables
from ..evaluation.weights import make_caps, portfolio_weights
from ..factors.compute import compute_factors
from ..factors.factor import take_factors
from ..forecasters.forecast import Forecaster, factors_asked, window_of
from ..forecasters.make import compared_settings, resolve_baselines, resolve_compared
from ..language import ENGLISH, in_language, phrase
from ..panel import Panel
from ..report.picks_page import write_selection
from ..report.wording import TERMS
from ..run import ProgressCallback, ignore_progress
from ..settings import takes_settings
from ..sources.reading.fund_facts import FundFacts, take_facts
from ..sources.reading.holdings_file import Holdings, no_holdings, take_holdings
from ..sources.reading.nav_file import read_indices, read_nav
from .continued_run import Plan, check_past, plan_of_run
from .index_mix import index_by_fund, name_indices
from .look_back import LookBack, look_back
from .notes import note_concentration, note_decision, note_held, note_last_row, note_study, note_trading
from .past_ranges import measure_volatility, past_ranges
from .workbook import write_selection_workbook


@dataclass(frozen=True, eq=False)
class Selection(SelectionTables):
    """The result of `select`: the funds to hold next, and the reasons for them.

    Attributes
    ----------
    as_of : Timestamp
        The day of the decision, a row of the data.
    forecaster : str
        Name of the forecaster.
    picks : DataFrame
        One row per pick, best first: rank, fund, name, type, weight, forecast, past_low and past_high (80 %
        of funds of similar volatility earned between these two after past decisions, before costs: the third
        of its peer group that is nearest in volatility; NaN with fewer than 8 past decisions), n_past (number
        of past decisions), known (share of its factors that are known), finding (what was found in its data,
        if that matters), neighbors (their codes; empty for forecasters without), factors (those that did most
        to make the neighbors near, or that add most to the forecast).
    neighbors : DataFrame
        One row per pick and neighbor: date, forecaster, fund, neighbor, distance, earned.
    reasons : DataFrame
        The factors that matter most for each pick: date, forecaster, fund, view, factor, share. The view is
        "near" (what made its neighbors near), "apart" (what sets it apart from the universe) or "adds" (what
        adds most to its forecast).
    left_out : DataFrame
        Funds that could not be chosen: fund, why.
    factor_labels : mapping
        Label of each factor in reports, by name.
    record : TrackRecord
        What past decisions with the same settings achieved: n, ic, excess over the average fund after costs
        and beat_median, with intervals.
    record_text : str
        The same in words.
    notes : tuple of str
        Sentences that the reader of the result should know.
    source : str
        Where the data came from.
    first_day : Timestamp
        First row of the data; the last row used is `as_of`.
    candidates : DataFrame
        The forecasters that were compared to choose this one, best first: ic_mean, t, p (of a mean IC of
        zero, corrected for the number compared), n (past decisions). Empty if one was named.
    unit : str
        What the forecasts are: a "return", an "excess" return over the mean fund, or a "rank" from −½ to ½.
    within_types : bool
        Whether the forecasts are relative to the fund's type: returns are then less the mean of the type.
    run : str
        The folder of the study that the selection continues; "" without one. The page links to its report.
    case : PickCase
        What the page also shows: what the strategy earned, net of costs, compared with universe, momentum and
        index; the risks of the picks, how far they move together, and their fees.
    panel, facts : Panel, FundFacts
        The data up to the day, and the facts about the funds, for the fact sheets of the picks.
    levels : mapping of str to Series
        Levels of the index of each pick, for its fact sheet; empty without an index.
    orders : Orders, optional
        The orders that lead from the holdings to the picks; None without holdings.

    See Also
    --------
    select : Make a selection.
    Study : The result of a whole study of the past.

    Examples
    --------
    >>> from geodual.funds import select, synthetic_universe
    >>> selection = select(synthetic_universe(20, "2014-01-02", "2014-12-31").panel, metric="gmml", top=3)
    >>> selection.picks["rank"].tolist(), str(selection.as_of.date())
    ([1, 2, 3], '2014-12-31')
    """

    def report(
        self, path: str | Path, *, sheets: bool = False, title: str = "", language: str = ENGLISH
    ) -> Path:
        """Write the page that a committee decides on: one HTML file, which needs no other files.

        Parameters
        ----------
        path : path
            File to create or replace.
        sheets : bool
            Whether to write the fact sheet of each pick, too, into the folder `funds` beside the page, which
            links to them.
        title : str
            Title of the page; by default the forecaster and the day.
        language : str
            "en" or "zh".

        Returns
        -------
        Path
            The file.
        """
        with in_language(language):
            return write_selection(self, path, sheets=sheets, title=title)

    def to_excel(self, path: str | Path, *, language: str = ENGLISH) -> Path:
        """Write the picks, the reasons for them and the funds left out as one Excel workbook.

        Parameters
        ----------
        path : path
            File to create or replace, named .xlsx.
        language : str
            "en" or "zh".

        Returns
        -------
        Path
            The file.
        """
        with in_language(language):
            return write_selection_workbook(self, path)


@takes_settings(without=("metrics", "baselines"))
def select(
    panel: Panel | pd.DataFrame | str | Path,
    as_of: Any = None,
    metric: Any = None,
    top: int | None = None,
    *,
    forecaster: Any = None,
    forecasters: Any = None,
    index: pd.Series[float] | str | Path | Mapping[str, pd.Series[float] | str | Path] | None = None,
    facts: FundFacts | pd.DataFrame | str | Path | None = None,
    run: StudyTables | str | Path | None = None,
    holdings: Holdings | pd.DataFrame | str | Path | None = None,
    cash: float = 0.0,
    n_jobs: int | None = None,
    progress: ProgressCallback = ignore_progress,
    **settings: Any,
) -> Selection:
    """Choose the funds to hold next, from the data up to a day.

    The strategy is that of `backtest`. With `run`, the settings and past decisions of a study are used, and
    only the decisions due since then are made. Otherwise the past decisions are made now, with the settings
    given: the same as in a study with these settings. Among several forecasters, the one that the study names
    is used (the one with the highest mean IC over the decisions that count), unless `forecaster` names
    another. The track record is corrected for this choice, and net of the costs and lags of the settings.

    Parameters
    ----------
    panel : Panel, DataFrame or path
        Net asset values, day × fund.
    as_of : date, optional
        Day of the decision. If the data have no such row, the last row before it is used. By default the last
        row of the data.
    metric : str or transformer, optional
        A registered name (`geodual.metric.metric_names` lists them), an import path such as
        ``package.module:Class``, or any scikit-learn transformer.
    top : int, optional
        Number of funds to choose, by default 10.
    forecaster : str, mapping or object, optional
        A forecaster to use in place of a metric: a registered name (`forecaster_names` lists them), a table
        of settings, or any forecaster or scikit-learn regressor. With `run`, one of those that it compared;
        of a saved run, ``{name: object}`` if it was given as an object.
    forecasters : str, sequence of str, or mapping, optional
        Forecasters to choose from if none is named, as in `backtest`; by default the metrics of the paper.
    index : Series, path, or mapping of str to Series or path, optional
        Index levels that the track record is compared with, or levels by type of fund; by default those of
        the run, if it has any.
    facts : FundFacts, DataFrame or path, optional
        Facts about the funds, in any form that `read_facts` reads; by default those of the run.
    run : Study or path, optional
        A study, or the folder of one, whose strategy is to be continued. `panel` is its table or a longer one
        with the same past. All other settings are those of the study, and cannot be given as well.
    holdings : Holdings, DataFrame or path, optional
        What is held, in any form that `read_holdings` reads. The rules `keep_rank` and `min_holding` then
        apply to it in place of the last picks, and the selection has `orders`.
    cash : float
        Money to invest, with or without holdings.
    n_jobs : int, optional
        Number of worker processes, -1 for one per core. Results do not depend on it.
    progress : callable
        Called after each past decision with the number done, the total number, and a text on the last one.
    **settings
        All other settings of `StudyConfig`.

    Returns
    -------
    Selection
        The picks, the reasons for them, and the funds left out.

    See Also
    --------
    backtest : Study how such picks did in the past.

    Examples
    --------
    >>> from geodual.funds import select, synthetic_universe
    >>> universe = synthetic_universe(20, "2014-01-02", "2014-12-31")
    >>> picks = select(universe.panel, metric="gmml", top=3).picks
    >>> picks["forecast"].is_monotonic_decreasing
    True

    A study, and its picks:

    >>> from geodual.funds import backtest
    >>> universe = synthetic_universe(20, "2014-01-02", "2015-06-30")
    >>> study = backtest(universe.panel, metrics=["euclidean", "gmml"], top=3)
    >>> select(universe.panel, run=study).forecaster == study.strategy
    True
    """
    panel = panel if isinstance(panel, Panel) else read_nav(panel)
    levels = None if index is None else read_indices(index)
    plan = _plan(run, (metric, forecaster, forecasters), take_facts(facts), {"top": top, **settings})
    mine, cash = _take_money(holdings, cash)
    asked = _day_asked(panel, as_of)
    config, made, known = plan.config, plan.forecasters, plan.facts
    until = prepare_panel(panel.until(asked), config, known, None if levels is None else levels.index)
    rebalances = rebalance_days(pd.DatetimeIndex(until.nav.index), config.frequency)
    now, past = observe_now(until, plan, rebalances)
    fees = make_fee_rules(config, known)
    # The past comes first: it may choose hyper-parameters, and knows what is held.
    if plan.study is not None:
        check_past(plan.study, past)
        levels = _levels_of(plan.study, plan.name) if levels is None else levels
    looked = look_back(
        past, made, config, fees, levels, plan.study, plan.name, n_jobs=n_jobs, progress=progress
    )
    decision = walk_forward(now, {looked.name: made[looked.name]}, [len(now.days) - 1])[0]
    table = panel.nav.loc[until.nav.index]  # also of funds that the strategy may not choose
    position = None if mine is None else value_holdings(mine, table, fees, config.min_holding)
    held = looked.held if position is None else position.held_since()
    picks = pick_funds(now, [decision], made, config, held)[0]
    notes = (
        *([] if plan.study is None else note_study(plan.study)),
        *note_last_row(until.nav, asked),
        *note_decision(decision, config, decision.day in rebalances, looked),
        *note_concentration(picks.funds.tolist(), picks.day, now),
        *([] if position is None else note_held(position, known)),
        *note_trading(config, fees),
    )
    found = _assemble(now, decision, picks, looked, config, notes, plan.folder)
    weights = found.picks.set_index("fund")["weight"]
    return replace(
        found,
        case=_make_case(now, weights, looked, config, fees, levels),
        panel=panel.until(asked),
        facts=known,
        levels=_levels_by_pick(levels, plan.study if index is None else None, known, weights.index),
        orders=None if position is None else _plan_orders(position, weights, decision, fees, cash),
    )


def _make_case(
    now: Observations,
    weights: pd.Series[float],
    looked: LookBack,
    config: StudyConfig,
    fees: FeeRules,
    levels: pd.Series[float] | pd.DataFrame | None,
) -> PickCase:
    """Return what speaks for and against the picks, besides forecasts and reasons."""
    nav = now.panel.nav
    return PickCase(
        config=config,
        record=looked.strategy,
        risk=measure_picks(nav, weights.index, fees),
        correlations=correlate_picks(nav, weights.index),
        mixed=mix_picks(nav, weights),
        n_funds=len(now.sections[-1].funds),
        index_name="" if levels is None else name_indices(levels),
        risk_free=take_risk_free(config.risk_free),
    )


def _levels_by_pick(
    levels: pd.Series[float] | pd.DataFrame | None,
    study: StudyTables | None,
    facts: FundFacts,
    picks: pd.Index[str],
) -> dict[str, pd.Series[float]]:
    """Return the levels that each pick alone is compared with; what a study mixed for a portfolio is none."""
    if levels is None or (study is not None and len(study.benchmarks)):
        return {}
    return index_by_fund(levels, facts.types, picks)


def _plan_orders(
    position: Position, weights: pd.Series[float], decision: Decision, fees: FeeRules, cash: float
) -> Orders:
    """Return the orders that lead from what is held to the picks."""
    return plan_orders(position, weights, decision.ranks, fees, cash)


def _levels_of(study: StudyTables, name: str | None) -> pd.Series[float] | None:
    """Return the levels that a study compares the portfolio of a forecaster with; None without an index."""
    return study.benchmark(name or study.strategy).rename(study.index_name) if study.index_digest else None


def _take_money(
    holdings: Holdings | pd.DataFrame | str | Path | None, cash: float
) -> tuple[Holdings | None, float]:
    """Return what is held, if orders are wanted, and the money besides."""
    if not (isinstance(cash, Real) and 0.0 <= cash < np.inf):
        raise DataError(f"`cash` must be a nonnegative number, got {cash!r}.")
    if holdings is None:
        return no_holdings() if cash else None, float(cash)
    return take_holdings(holdings), float(cash)


def _plan(
    run: StudyTables | str | Path | None, named: tuple[Any, Any, Any], facts: FundFacts, given: dict[str, Any]
) -> Plan:
    """Return the strategy: that of a study, or the one that the arguments describe."""
    metric, forecaster, forecasters = named
    if run is not None:
        return plan_of_run(run, forecaster, {"metric": metric, "forecasters": forecasters, **given}, facts)
    factors, settings = take_factors({k: v for k, v in given.items() if k != "top" or v is not None})
    compared = _compared(*named)
    config = StudyConfig(**compared_settings(*compared), **check_names(settings, "select"))
    return Plan(config, factors, resolve_compared(*compared, config), facts)


def observe_now(until: Panel, plan: Plan, rebalances: pd.DatetimeIndex) -> tuple[Observations, Observations]:
    """Return what is known on the last day, and what was known on the rebalance days of the past.

    Off the calendar, the past is still judged on the usual rebalance days.

    Parameters
    ----------
    until : Panel
        The trading days up to the day of the decision, as `prepare_panel` returns them.
    plan : Plan
        The strategy.
    rebalances : DatetimeIndex
        The usual rebalance days.
    """
    config, days = plan.config, pd.DatetimeIndex(until.nav.index)
    asked = factors_asked((*plan.forecasters.values(), *resolve_baselines(config).values()))
    used = _days_until(days, rebalances, config, plan.forecasters)
    factors = plan.factors.on(days)
    computed = compute_factors(until, used.union(rebalances), factors)
    now = observe(until, config, factors, plan.facts, used, asked, computed)
    rows = decision_rows(now, replace(config, start=""), include_last=True)
    if rows[-1] != len(now.days) - 1:
        raise DataError(
            f"{until.source}: too few funds have a value on {days[-1].date()}. Choose another `as_of`."
        )
    if now.days.equals(rebalances):
        return now, now
    return now, observe(until, config, factors, plan.facts, rebalances, asked, computed)


def _compared(metric: Any, forecaster: Any, forecasters: Any) -> tuple[Any, Any]:
    """Return the metrics and the forecasters to choose from: one if it is named, otherwise as in a study."""
    if metric is not None and forecaster is not None:
        raise DataError("`metric` and `forecaster` cannot be combined; give one of them, or neither.")
    if metric is not None:
        return {_name_of(metric): metric}, None
    if forecaster is not None:
        tables = forecasters if isinstance(forecasters, Mapping) else {}
        name = _name_of(forecaster)
        return None, {name: tables.get(name, forecaster)}
    # The configuration of an earlier study may have an empty list.
    is_empty = isinstance(forecasters, Sized) and len(forecasters) == 0
    return None, None if is_empty else forecasters


def _name_of(given: Any) -> str:
    return given if isinstance(given, str) else type(given).__name__.lower()


def _day_asked(panel: Panel, as_of: Any) -> pd.Timestamp:
    try:
        day = panel.nav.index[-1] if as_of is None else pd.Timestamp(as_of).tz_localize(None)
    except (ValueError, TypeError):
        raise DataError(f"`as_of` must be a date such as 2016-12-30, got {as_of!r}.") from None
    if pd.isna(day) or day < panel.nav.index[0]:
        raise DataError(
            f"`as_of` must not be before the first row, {panel.nav.index[0].date()}, got {as_of}. Choose a "
            "later day."
        )
    return pd.Timestamp(day)


def _days_until(
    days: pd.DatetimeIndex,
    rebalances: pd.DatetimeIndex,
    config: StudyConfig,
    forecasters: dict[str, Forecaster],
) -> pd.DatetimeIndex:
    """Return the rebalance days if the last day is one, otherwise the ends of intervals of that length."""
    if len(rebalances) and rebalances[-1] == days[-1]:
        return rebalances
    # Learn from whole intervals that end on the last day, not from the start of an unfinished one.
    windows = [window_of(forecaster) for forecaster in forecasters.values()]
    most = len(rebalances) if "all" in windows else max(map(int, windows))
    months = [pd.DateOffset(months=MONTHS[config.frequency] * i) for i in range(most, 0, -1)]
    starts = [days[days <= days[-1] - offset + half_gap(days)] for offset in months]
    return pd.DatetimeIndex([found[-1] for found in starts if len(found)] + [days[-1]])


def _assemble(
    now: Observations,
    decision: Decision,
    picked: Picks,
    looked: LookBack,
    config: StudyConfig,
    notes: tuple[str, ...],
    folder: str,
) -> Selection:
    """Put the picks, their reasons and the record of the forecaster together."""
    reasons, left_out = reasons_table([picked], now.factors.columns), now.sections[-1].left_out
    return Selection(
        as_of=decision.day,
        forecaster=decision.forecaster,
        picks=_table_of_picks(now, decision, picked, looked, config, reasons),
        neighbors=neighbors_table([picked]),
        reasons=reasons,
        left_out=pd.DataFrame({"fund": left_out.index, "why": left_out.to_numpy()}),
        factor_labels=now.factors.labels,
        record=looked.record,
        record_text=looked.record.tell(TERMS[config.frequency]),
        notes=notes,
        source=now.panel.source,
        first_day=pd.Timestamp(now.panel.nav.index[0]),
        candidates=looked.candidates,
        unit=decision.unit,
        within_types=len(decision.groups) > 0,
        run=folder,
    )


def _table_of_picks(
    now: Observations,
    decision: Decision,
    picked: Picks,
    looked: LookBack,
    config: StudyConfig,
    reasons: pd.DataFrame,
) -> pd.DataFrame:
    """Return one row per fund to hold: its forecast, facts, main factors and range of past outcomes."""
    facts = now.facts.of_funds(picked.funds)
    main = reasons[reasons["view"].isin(["near", "adds"])]
    main_factors = main.groupby("fund", sort=False)["factor"].agg(", ".join)
    today = measure_volatility(now.panel.nav, picked.day, now.sections[-1].funds, now.types)
    ranges = past_ranges(looked.past, today, picked.funds)
    forecast = pd.Series(picked.forecast, picked.funds)
    return pd.DataFrame(
        {
            "rank": decision.ranks[picked.funds].to_numpy(),
            "fund": picked.funds,
            "name": facts["name"].fillna("").to_numpy(),
            "type": facts["type"].fillna("").to_numpy(),
            "weight": portfolio_weights(
                config.weights, forecast, now.panel.nav, make_caps(config, now.facts)
            ),
            "forecast": picked.forecast,
            **{column: ranges[column].to_numpy() for column in ranges},
            "known": picked.known,
            "finding": _findings_of(picked.funds, now.panel),
            "neighbors": [", ".join(dict.fromkeys(row)) for row in picked.neighbors],
            "factors": main_factors.reindex(picked.funds).to_numpy(),
        }
    )


def _findings_of(funds: pd.Index[str], panel: Panel) -> list[str]:
    """Return what was found in the data of each fund up to the last day, if it can change a result."""
    last = str(panel.nav.index[-1].date())
    told = {
        finding.fund: phrase(
            "{kind} on {date}: {finding}", kind=finding.kind, date=finding.date, finding=finding.message
        )
        for finding in panel.findings
        if finding.matters and finding.date <= last
    }
    return [told.get(fund, "") for fund in funds]
