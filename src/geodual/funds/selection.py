"""`select`: the funds to hold next, from the last row of the data, with the reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .config import StudyConfig, check_names
from .decisions.cross_section import MIN_HISTORY
from .decisions.decision import Decision
from .decisions.named_metrics import resolve_metrics
from .decisions.observations import Observations
from .decisions.rebalance import MONTHS, rebalance_days
from .decisions.walk_forward import Progress, decision_rows, walk_forward
from .panel import DataError, Panel
from .reading.nav_file import read_nav
from .records import neighbours_table, portfolio_weights, predictions_table, reasons_table
from .report import write_selection

_FEWEST_PAST = 8  # decisions from which an interval of past returns is told
_INTERVAL = (0.1, 0.9)


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
        One row a pick, best first: rank, fund, weight, forecast, past_low, past_high (80 % of what picks of
        that rank earned in the past lies between; NaN with fewer than 8 decisions), n_past, neighbours (their
        names), factors (the main ones).
    neighbours, reasons : DataFrame
        Each pick's neighbours with distance and return, and the shares of factors, as in `Study`.
    left_out : DataFrame
        Funds that could not be chosen: fund, why.
    remarks : tuple of str
        What the reader should know.
    """

    as_of: pd.Timestamp
    metric: str
    picks: pd.DataFrame
    neighbours: pd.DataFrame = field(repr=False)
    reasons: pd.DataFrame = field(repr=False)
    left_out: pd.DataFrame = field(repr=False)
    remarks: tuple[str, ...] = ()

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
    panel = panel.until(_last_day(panel, as_of))
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
    past = _past_returns(panel, rebalances, estimators, config, n_jobs, progress)
    return _assemble(now, decision, past, rebalances, config)


def _last_day(panel: Panel, as_of: Any) -> pd.Timestamp:
    try:
        day = panel.nav.index[-1] if as_of is None else pd.Timestamp(as_of)
    except (ValueError, TypeError):
        raise DataError(f"`as_of` must be a date such as 2016-12-30, got {as_of!r}.") from None
    if pd.isna(day) or day < panel.nav.index[0]:
        raise DataError(f"`as_of` is {as_of}, before the first row, {panel.nav.index[0].date()}.")
    return pd.Timestamp(panel.nav.loc[:day].index[-1])


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
    panel: Panel,
    rebalances: pd.DatetimeIndex,
    estimators: dict[str, Any],
    config: StudyConfig,
    n_jobs: int | None,
    progress: Progress,
) -> pd.DataFrame:
    """Return what picks earned in the past, decision × rank; empty if there were no decisions."""
    observations = Observations(panel, rebalances)
    try:
        rows = decision_rows(observations, config)
    except DataError:
        return pd.DataFrame()
    decisions = walk_forward(observations, estimators, config, rows, n_jobs=n_jobs, progress=progress)
    realised = predictions_table(decisions, observations).set_index(["date", "fund"])["realised"]
    earned = [pd.Series(realised[d.day].reindex(d.funds[d.picks]).to_numpy()) for d in decisions]
    return pd.DataFrame(earned).dropna(how="all")


def _assemble(
    now: Observations,
    decision: Decision,
    past: pd.DataFrame,
    rebalances: pd.DatetimeIndex,
    config: StudyConfig,
) -> Selection:
    neighbours = neighbours_table([decision])
    reasons = reasons_table([decision], now.factor_names)
    funds, forecast = decision.funds[decision.picks], decision.forecast[decision.picks]
    near = reasons[reasons["view"] == "near"].groupby("fund", sort=False)["factor"].agg(", ".join)
    enough = len(past) >= _FEWEST_PAST
    bounds = [past.quantile(q).reindex(range(len(funds))) if enough else np.nan for q in _INTERVAL]
    picks = pd.DataFrame(
        {
            "rank": np.arange(1, len(funds) + 1),
            "fund": funds,
            "weight": portfolio_weights(forecast, config.weights),
            "forecast": forecast,
            "past_low": bounds[0],
            "past_high": bounds[1],
            "n_past": len(past),
            "neighbours": [", ".join(row) for row in decision.neighbours],
            "factors": near.reindex(funds).to_numpy(),
        }
    )
    remarks = list(decision.remarks)
    if not len(rebalances) or rebalances[-1] != decision.day:
        remarks.insert(
            0, f"{decision.day.date()} is not a {config.frequency} rebalance day: the last period ends on it."
        )
    if decision.label != config.label:
        remarks.append("Nearly all funds rose, or fell, in the last period: the median was used as label.")
    left_out = _left_out(now.panel.nav, decision)
    return Selection(decision.day, decision.metric, picks, neighbours, reasons, left_out, tuple(remarks))


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
