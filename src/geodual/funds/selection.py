"""`select`: the funds to hold next, from the last row of the data, with the reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.arrays import Array
from geodual.errors import DataError

from .config import StudyConfig, check_names
from .decisions.cross_section import MIN_HISTORY
from .decisions.decision import Decision
from .decisions.named_metrics import resolve_metrics
from .decisions.observations import Observations
from .decisions.rebalance import MONTHS, rebalance_days
from .decisions.walk_forward import Progress, decision_rows, walk_forward
from .panel import Panel
from .reading.nav_file import read_nav
from .records import neighbours_table, portfolio_weights, predictions_table, reasons_table
from .report import write_selection

_FEWEST_PAST = 8  # decisions from which an interval of past returns is told
_FEWEST_A_RANK = 30  # decisions from which each rank has its own
_WEEK = 5  # rows
_MISSING = 0.1  # share of the funds of the last week without a value from which a row is suspicious
_INTERVAL = [0.1, 0.9]


@dataclass(frozen=True, eq=False)
class Selection:
    """The result of `select`.

    Attributes
    ----------
    as_of : Timestamp
        The day of the decision, a row of the data.
    metric : str
        Name of the metric.
    picks : DataFrame
        One row a pick, best first: rank, fund, weight, forecast, past_low, past_high (80 % of what past picks
        earned lies between, those of that rank or, if `pooled`, of all; NaN with fewer than 8 decisions),
        n_past (decisions), neighbours (their names), factors (the main ones that made them near).
    neighbours, reasons : DataFrame
        Each pick's neighbours with distance and return, and the shares of factors, as in `Study`.
    left_out : DataFrame
        Funds that could not be chosen: fund, why.
    remarks : tuple of str
        What the reader should know.
    source : str
        Where the data came from.
    first_day : Timestamp
        Their first row; the last one that counts is `as_of`.
    pooled : bool
        Whether past_low and past_high are of the picks of all ranks: there are fewer than 30 past decisions.
    """

    as_of: pd.Timestamp
    metric: str
    picks: pd.DataFrame
    neighbours: pd.DataFrame = field(repr=False)
    reasons: pd.DataFrame = field(repr=False)
    left_out: pd.DataFrame = field(repr=False)
    remarks: tuple[str, ...]
    source: str
    first_day: pd.Timestamp
    pooled: bool

    def report(self, path: str | Path) -> Path:
        """Write the picks and their reasons as one HTML file.

        Parameters
        ----------
        path : path
            File to write.

        Returns
        -------
        Path
            The file.
        """
        return write_selection(self, path)


def select(
    panel: Panel | pd.DataFrame | str | Path,
    as_of: Any = None,
    metric: Any = "rpdml",
    top: int = 10,
    *,
    n_jobs: int | None = None,
    progress: Progress = lambda done, total, last: None,
    **settings: Any,
) -> Selection:
    """Choose the funds to hold next, from the data up to a day.

    Parameters
    ----------
    panel : Panel, DataFrame or path
        Net asset values, day × fund.
    as_of : date, optional
        The day of the decision: the last row up to it counts; the last row of all by default.
    metric : str or transformer
        A name as for `backtest`, or any scikit-learn transformer.
    top : int
        How many funds.
    n_jobs, progress
        As for `backtest`; the decisions of the past are made again to tell how good picks of each rank were.
    **settings
        Of `StudyConfig`.

    Returns
    -------
    Selection
    """
    panel = panel if isinstance(panel, Panel) else read_nav(panel)
    asked = _day_asked(panel, as_of)
    panel = panel.until(asked)
    name = metric if isinstance(metric, str) else type(metric).__name__.lower()
    config = StudyConfig(metrics=(name,), top=top, **check_names(settings, "select"))
    estimators = resolve_metrics(metric if isinstance(metric, str) else {name: metric}, config.random_state)
    days = pd.DatetimeIndex(panel.nav.index)
    rebalances = rebalance_days(days, config.frequency)
    now = Observations(panel, _days_until(days, rebalances, config))
    rows = decision_rows(now, config, include_last=True)
    if rows[-1] != len(now.days) - 1:
        raise DataError(
            f"{panel.source}: too few funds have a value on {days[-1].date()}; choose another day."
        )
    decision = walk_forward(now, estimators, config, rows[-1:])[0]
    past = pd.DataFrame()
    if len(rebalances):
        observed = now if now.days.equals(rebalances) else Observations(panel, rebalances)
        past = _past_returns(observed, estimators, config, n_jobs, progress)
    remarks = [
        *_remarks_on_data(panel.nav, asked),
        *_remarks_on_decision(decision, config, decision.day in rebalances, len(past)),
    ]
    return _assemble(now, decision, past, config, tuple(remarks))


def _day_asked(panel: Panel, as_of: Any) -> pd.Timestamp:
    try:
        day = panel.nav.index[-1] if as_of is None else pd.Timestamp(as_of).tz_localize(None)
    except (ValueError, TypeError):
        raise DataError(f"`as_of` must be a date such as 2016-12-30, got {as_of!r}.") from None
    if pd.isna(day) or day < panel.nav.index[0]:
        raise DataError(f"`as_of` is {as_of}, before the first row, {panel.nav.index[0].date()}.")
    return pd.Timestamp(day)


def _days_until(
    days: pd.DatetimeIndex, rebalances: pd.DatetimeIndex, config: StudyConfig
) -> pd.DatetimeIndex:
    """Return the last day and the ends of the periods before it, which all have its length."""
    if len(rebalances) and rebalances[-1] == days[-1]:
        return rebalances
    months = [pd.DateOffset(months=MONTHS[config.frequency] * i) for i in range(config.train_quarters, 0, -1)]
    starts = [days[days <= days[-1] - offset] for offset in months]
    return pd.DatetimeIndex([found[-1] for found in starts if len(found)] + [days[-1]])


def _past_returns(
    observations: Observations,
    estimators: dict[str, Any],
    config: StudyConfig,
    n_jobs: int | None,
    progress: Progress,
) -> pd.DataFrame:
    """Return what picks earned in the past, decision × rank; empty if there were no decisions."""
    try:
        rows = decision_rows(observations, config)
    except DataError:
        return pd.DataFrame()
    decisions = walk_forward(observations, estimators, config, rows, n_jobs=n_jobs, progress=progress)
    realised = predictions_table(decisions, observations).set_index(["date", "fund"])["realised"]
    earned = [pd.Series(realised[d.day].reindex(d.funds[d.picks]).to_numpy()) for d in decisions]
    return pd.DataFrame(earned).dropna(how="all")


def _remarks_on_data(nav: pd.DataFrame, asked: pd.Timestamp) -> list[str]:
    """Return what is odd about the last row: its day is not the one asked for, or many values are missing."""
    remarks, last = [], nav.index[-1]
    if last < asked.normalize():
        remarks.append(f"The data have no row on {asked.date()}: the last before it, {last.date()}, is used.")
    recent = nav.iloc[-1 - _WEEK : -1].notna().any()
    missing = int((recent & nav.iloc[-1].isna()).sum())
    if missing > _MISSING * recent.sum():
        remarks.append(
            f"{missing} of the {recent.sum()} funds with a value in the {_WEEK} rows before have none on "
            f"{last.date()} and cannot be chosen: if the row is incomplete, choose the day before."
        )
    return remarks


def _remarks_on_decision(
    decision: Decision, config: StudyConfig, is_rebalance: bool, n_past: int
) -> list[str]:
    remarks = []
    if not is_rebalance:
        remarks.append(
            f"{decision.day.date()} is not a {config.frequency} rebalance day: the last period ends on it."
        )
    if decision.label != config.label:
        remarks.append("Nearly all funds rose, or fell, in the last period: the median was used as label.")
    if n_past < _FEWEST_PAST:
        remarks.append(f"There are {n_past} past decisions, too few to tell what such picks earned.")
    elif n_past < _FEWEST_A_RANK:
        remarks.append(
            f"What past picks earned is told for all ranks together: {n_past} past decisions are too few to "
            "tell it for each."
        )
    return remarks + list(decision.remarks)


def _assemble(
    now: Observations, decision: Decision, past: pd.DataFrame, config: StudyConfig, remarks: tuple[str, ...]
) -> Selection:
    reasons = reasons_table([decision], now.factor_names)
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
        left_out=_left_out(now.panel.nav, decision),
        remarks=remarks,
        source=now.panel.source,
        first_day=pd.Timestamp(now.panel.nav.index[0]),
        pooled=len(past) < _FEWEST_A_RANK,
    )


def _past_bounds(past: pd.DataFrame, n_picks: int) -> Array:
    """Return the quantiles of what past picks earned, low and high × rank; all ranks alike if pooled."""
    if len(past) < _FEWEST_PAST:
        return np.full((2, n_picks), np.nan)
    if len(past) < _FEWEST_A_RANK:
        return np.repeat(np.nanquantile(past, _INTERVAL)[:, None], n_picks, axis=1)
    return past.quantile(_INTERVAL).reindex(columns=range(n_picks)).to_numpy(float)


def _left_out(nav: pd.DataFrame, decision: Decision) -> pd.DataFrame:
    """Return the funds that are not in the universe, and why."""
    others = nav.loc[:, ~nav.columns.isin(decision.funds)]
    known = others.notna()
    count, today = known.sum(), known.iloc[-1]
    why = np.where(
        ~today,
        f"no value on {decision.day.date()}",
        [f"{n} values, {MIN_HISTORY} are needed" for n in count],
    )
    return pd.DataFrame({"fund": others.columns, "why": why})
