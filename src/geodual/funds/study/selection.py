"""`select`: the funds to hold next, from the last row of the data, with the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.arrays import Array
from geodual.errors import DataError
from geodual.metric.registry import FEATURED

from ..calendar import MONTHS, rebalance_days
from ..config import StudyConfig, check_names
from ..decisions.chosen_metrics import resolve_metrics
from ..decisions.decision import Decision
from ..decisions.decision_days import decision_rows
from ..decisions.observations import Observations
from ..decisions.walk_forward import walk_forward
from ..evaluation.result_tables import neighbours_table, portfolio_weights, predictions_table, reasons_table
from ..evaluation.selection_tables import SelectionTables
from ..factors.registry import take_factors
from ..panel import Panel
from ..progress import ProgressCallback, ignore_progress
from ..report import write_selection
from ..settings import takes_settings
from ..sources.reading.nav_file import read_nav
from .notes import FEWEST_PAST, FEWEST_PER_RANK, note_decision, note_last_row

_INTERVAL = [0.1, 0.9]


@dataclass(frozen=True, eq=False)
class Selection(SelectionTables):
    """The result of `select`: the funds to hold next, and the reasons.

    Attributes
    ----------
    as_of : Timestamp
        The day of the decision, a row of the data.
    metric : str
        Name of the metric.
    picks : DataFrame
        One row per pick, best first: rank, fund, weight, forecast, past_low, past_high (80 % of past picks
        earned between the two, those of that rank or, if `pooled`, of all; NaN with fewer than 8 decisions),
        n_past (decisions), neighbours (their names), factors (the main ones that made them near).
    neighbours : DataFrame
        One row per pick and neighbour: date, metric, fund, neighbour, distance, earned.
    reasons : DataFrame
        The factors that matter most for each pick: date, metric, fund, view, factor, share.
    left_out : DataFrame
        Funds that could not be chosen: fund, why.
    factor_labels : mapping
        What reports call each factor, by name.
    notes : tuple of str
        What the reader should know.
    source : str
        Where the data came from.
    first_day : Timestamp
        Their first row; the last one that counts is `as_of`.
    pooled : bool
        Whether past_low and past_high are of the picks of all ranks: there are fewer than 30 past decisions.

    See Also
    --------
    select : Make a selection.

    Examples
    --------
    >>> from geodual.funds import select, synthetic_universe
    >>> selection = select(synthetic_universe(20, "2014-01-02", "2014-12-31").panel, metric="gmml", top=3)
    >>> selection.picks["rank"].tolist(), str(selection.as_of.date())
    ([1, 2, 3], '2014-12-31')
    """

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

    The decisions of the past are made again, to tell what such picks earned.

    Parameters
    ----------
    panel : Panel, DataFrame or path
        Net asset values, day × fund.
    as_of : date, optional
        The day of the decision: the last row up to it counts; the last row of all by default.
    metric : str or transformer
        A registered name, a place such as ``package.module:Class``, or any scikit-learn transformer.
    top : int
        Number of funds.
    n_jobs : int, optional
        Number of worker processes; the results do not depend on it.
    progress : callable
        Called with the number of decisions done, the number of all decisions, and a word on the last one.
    **settings
        All other settings of `StudyConfig`.

    Returns
    -------
    Selection

    See Also
    --------
    backtest : The whole study of the past.

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
    panel = panel.until(asked)
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
            f"{panel.source}: too few funds have a value on {days[-1].date()}; choose another `as_of`."
        )
    decision = walk_forward(now, estimators, config, rows[-1:])[0]
    past = pd.DataFrame()
    if len(rebalances):
        observed = now if now.days.equals(rebalances) else Observations(panel, rebalances, factors)
        past = _past_returns(observed, estimators, config, n_jobs, progress)
    notes = [
        *note_last_row(panel.nav, asked),
        *note_decision(decision, config, decision.day in rebalances, len(past)),
    ]
    return _assemble(now, decision, past, config, tuple(notes))


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
    progress: ProgressCallback,
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


def _assemble(
    now: Observations, decision: Decision, past: pd.DataFrame, config: StudyConfig, notes: tuple[str, ...]
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
        notes=notes,
        source=now.panel.source,
        first_day=pd.Timestamp(now.panel.nav.index[0]),
        pooled=len(past) < FEWEST_PER_RANK,
    )


def _past_bounds(past: pd.DataFrame, n_picks: int) -> Array:
    """Return the quantiles of what past picks earned, low and high × rank; all ranks alike if pooled."""
    if len(past) < FEWEST_PAST:
        return np.full((2, n_picks), np.nan)
    if len(past) < FEWEST_PER_RANK:
        return np.repeat(np.nanquantile(past, _INTERVAL)[:, None], n_picks, axis=1)
    return past.quantile(_INTERVAL).reindex(columns=range(n_picks)).to_numpy(float)


def _left_out(now: Observations, decision: Decision) -> pd.DataFrame:
    """Return the funds that are not in the universe, and why."""
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
