"""`select`: choose the funds to hold next, and give the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.arrays import Array
from geodual.errors import DataError
from geodual.metric.registry import FEATURED

from ..calendar import MONTHS, keep_trading_days, rebalance_days
from ..config import StudyConfig, check_names
from ..decisions.chosen_metrics import resolve_metrics
from ..decisions.decision import Decision
from ..decisions.decision_days import decision_rows
from ..decisions.observations import Observations
from ..decisions.walk_forward import walk_forward
from ..evaluation.result_tables import (
    holdings_table,
    neighbours_table,
    portfolio_weights,
    predictions_table,
    reasons_table,
)
from ..evaluation.selection_tables import SelectionTables
from ..evaluation.track_record import TrackRecord, measure_record
from ..factors.registry import take_factors
from ..panel import Panel
from ..progress import ProgressCallback, ignore_progress
from ..report import write_selection
from ..report.wording import TERMS
from ..settings import takes_settings
from ..sources.reading.nav_file import read_nav
from .notes import FEWEST_PAST, FEWEST_PER_RANK, note_decision, note_last_row

_NO_PREDICTIONS = pd.DataFrame(columns=["date", "metric", "fund", "forecast", "realised"])
_INTERVAL = [0.1, 0.9]  # quantiles between which 80 % of past picks lie


@dataclass(frozen=True, eq=False)
class Selection(SelectionTables):
    """The result of `select`: the funds to hold next, and the reasons for them.

    Attributes
    ----------
    as_of : Timestamp
        The day of the decision, a row of the data.
    metric : str
        Name of the metric.
    picks : DataFrame
        One row per pick, best first: rank, fund, weight, forecast, past_low and past_high (80 % of past picks
        earned between these two: past picks of the same rank or, if `pooled`, of all ranks; NaN with fewer
        than 8 past decisions), n_past (number of past decisions), neighbours (their names), factors (those
        that did most to make the neighbours near).
    neighbours : DataFrame
        One row per pick and neighbour: date, metric, fund, neighbour, distance, earned.
    reasons : DataFrame
        The factors that matter most for each pick: date, metric, fund, view, factor, share. The view is
        "near" (what made its neighbours near) or "apart" (what sets it apart from the universe).
    left_out : DataFrame
        Funds that could not be chosen: fund, why.
    factor_labels : mapping
        Label of each factor in reports, by name.
    record : TrackRecord
        What past decisions with the same settings were worth: n, ic, excess over the average fund and
        beat_median, with intervals.
    record_text : str
        The same in words.
    notes : tuple of str
        Sentences that the reader of the result should know.
    source : str
        Where the data came from.
    first_day : Timestamp
        First row of the data; the last row used is `as_of`.
    pooled : bool
        Whether past_low and past_high cover the picks of all ranks, because there are fewer than 30 past
        decisions.

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

    def report(self, path: str | Path) -> Path:
        """Write the picks and the reasons for them as one HTML file, which needs no other files.

        Parameters
        ----------
        path : path
            File to create or replace.

        Returns
        -------
        Path
            The file.
        """
        return write_selection(self, path)


@takes_settings(without=("metrics",))
def select(
    panel: Panel | pd.DataFrame | str | Path,
    as_of: Any = None,
    metric: Any = FEATURED,
    top: int = StudyConfig.top,
    *,
    n_jobs: int | None = None,
    progress: ProgressCallback = ignore_progress,
    **settings: Any,
) -> Selection:
    """Choose the funds to hold next, from the data up to a day.

    The decisions of the past are repeated, to show what such picks earned.

    Parameters
    ----------
    panel : Panel, DataFrame or path
        Net asset values, day × fund.
    as_of : date, optional
        Day of the decision. If the data have no such row, the last row before it is used. By default the last
        row of the data.
    metric : str or transformer
        A registered name (`geodual.metric.metric_names` lists them), a place such as
        ``package.module:Class``, or any scikit-learn transformer.
    top : int
        Number of funds to choose.
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
    """
    panel = panel if isinstance(panel, Panel) else read_nav(panel)
    asked = _day_asked(panel, as_of)
    panel = keep_trading_days(panel.until(asked))
    name = metric if isinstance(metric, str) else type(metric).__name__.lower()
    factors, settings = take_factors(settings)
    config = StudyConfig(metrics=(name,), top=top, **check_names(settings, "select"))
    estimators = resolve_metrics(metric if isinstance(metric, str) else {name: metric}, config.random_state)
    days = pd.DatetimeIndex(panel.nav.index)
    rebalances = rebalance_days(days, config.frequency)
    now = Observations(panel, _days_until(days, rebalances, config), factors)
    rows = decision_rows(now, config, include_last=True)
    if rows[-1] != len(now.days) - 1:
        raise DataError(
            f"{panel.source}: too few funds have a value on {days[-1].date()}. Choose another `as_of`."
        )
    # The decision itself comes from the last row; past decisions only show what such picks earned.
    decision = walk_forward(now, estimators, config, rows[-1:])[0]
    past, record = pd.DataFrame(), measure_record(_NO_PREDICTIONS, _NO_PREDICTIONS)
    if len(rebalances):
        # Off the calendar, the past is still judged on the usual rebalance days.
        observed = now if now.days.equals(rebalances) else Observations(panel, rebalances, factors)
        past, record = _look_back(observed, estimators, config, n_jobs, progress)
    notes = [
        *note_last_row(panel.nav, asked),
        *note_decision(decision, config, decision.day in rebalances, len(past)),
    ]
    return _assemble(now, decision, past, record, config, tuple(notes))


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
    days: pd.DatetimeIndex, rebalances: pd.DatetimeIndex, config: StudyConfig
) -> pd.DatetimeIndex:
    """Return the rebalance days if the last day is one, otherwise the ends of intervals of that length."""
    if len(rebalances) and rebalances[-1] == days[-1]:
        return rebalances
    # Learn from whole intervals that end on the last day, not from the start of an unfinished one.
    months = [pd.DateOffset(months=MONTHS[config.frequency] * i) for i in range(config.train_quarters, 0, -1)]
    starts = [days[days <= days[-1] - offset] for offset in months]
    return pd.DatetimeIndex([found[-1] for found in starts if len(found)] + [days[-1]])


def _look_back(
    observations: Observations,
    estimators: dict[str, Any],
    config: StudyConfig,
    n_jobs: int | None,
    progress: ProgressCallback,
) -> tuple[pd.DataFrame, TrackRecord]:
    """Return what past picks earned, decision × rank, and the track record; empty without past decisions."""
    try:
        rows = decision_rows(observations, config)
    except DataError:  # the history is too short for a past decision
        return pd.DataFrame(), measure_record(_NO_PREDICTIONS, _NO_PREDICTIONS)
    decisions = walk_forward(observations, estimators, config, rows, n_jobs=n_jobs, progress=progress)
    predictions = predictions_table(decisions, observations)
    realised = predictions.set_index(["date", "fund"])["realised"]
    earned = [pd.Series(realised[d.day].reindex(d.funds[d.picks]).to_numpy()) for d in decisions]
    record = measure_record(predictions, holdings_table(decisions, predictions, config))
    return pd.DataFrame(earned).dropna(how="all"), record


def _assemble(
    now: Observations,
    decision: Decision,
    past: pd.DataFrame,
    record: TrackRecord,
    config: StudyConfig,
    notes: tuple[str, ...],
) -> Selection:
    reasons = reasons_table([decision], now.factors.columns)
    funds, forecast = decision.funds[decision.picks], decision.forecast[decision.picks]
    near = reasons[reasons["view"] == "near"].groupby("fund", sort=False)["factor"].agg(", ".join)
    low, high = _past_bounds(past, len(funds))
    picks = pd.DataFrame(
        {
            "rank": np.arange(1, len(funds) + 1),
            "fund": funds,
            "weight": portfolio_weights(forecast, config.weights),
            "forecast": forecast,
            "past_low": low,
            "past_high": high,
            "n_past": len(past),
            "neighbours": [", ".join(row) for row in decision.neighbours],
            "factors": near.reindex(funds).to_numpy(),
        }
    )
    return Selection(
        as_of=decision.day,
        metric=decision.metric,
        picks=picks,
        neighbours=neighbours_table([decision]),
        reasons=reasons,
        left_out=_left_out(now, decision),
        factor_labels=now.factors.labels,
        record=record,
        record_text=record.tell(TERMS[config.frequency]),
        notes=notes,
        source=now.panel.source,
        first_day=pd.Timestamp(now.panel.nav.index[0]),
        pooled=len(past) < FEWEST_PER_RANK,
    )


def _past_bounds(past: pd.DataFrame, n_picks: int) -> Array:
    """Return the low and high quantile of what past picks earned, by rank; the same for all if pooled."""
    if len(past) < FEWEST_PAST:
        return np.full((2, n_picks), np.nan)
    if len(past) < FEWEST_PER_RANK:
        return np.repeat(np.nanquantile(past, _INTERVAL)[:, None], n_picks, axis=1)
    return past.quantile(_INTERVAL).reindex(columns=range(n_picks)).to_numpy(float)


def _left_out(now: Observations, decision: Decision) -> pd.DataFrame:
    """Return the funds that could not be chosen, and why."""
    nav, needed = now.panel.nav, now.factors.values_needed
    others = nav.loc[:, ~nav.columns.isin(decision.funds)]
    known = others.notna()
    count, today = known.sum(), known.iloc[-1]
    why = np.where(
        ~today,
        f"no value on {decision.day.date()}",
        [f"{n} values, {needed} are needed" for n in count],
    )
    return pd.DataFrame({"fund": others.columns, "why": why})
