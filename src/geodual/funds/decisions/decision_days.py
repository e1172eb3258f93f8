"""The rebalance days on which a decision can be made, and the reasons why the others are skipped."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.tseries.offsets import BDay

from geodual.errors import DataError

from ..config import FREQUENCIES, StudyConfig
from .observations import Observations

_FEWEST = 10  # a study needs this many funds at least


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
            few = (known, "choose") if known < _enough(config) else (teaching, "learn")
            skipped[days[t]] = f"{few[0]} funds to {few[1]} from, {_enough(config)} needed"
    return skipped


def _enough(config: StudyConfig) -> int:
    """Return the smallest number of funds for a decision: a fund and its k neighbours, and at least ten."""
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
        return (
            f"the table ends on {last.date()}, too early for a decision. A fund needs {needed} values, "
            f"and then one whole {config.frequency} interval to learn from: give data to about {end.date()}, "
            f"{missing} more trading days."
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
        f"{found}, and `k` = {config.k} neighbours need {enough}. Lower `k` to {most - 1} or give more funds."
    )


def _first_possible_end(index: pd.Index, needed: int, frequency: str, include_last: bool) -> pd.Timestamp:
    """Return the day, roughly, up to which data are needed for a first decision."""
    short = needed - len(index)
    known = index[-1] + short * BDay() if short > 0 else index[needed - 1]
    learnt = (known.to_period(FREQUENCIES[frequency]) + 1).end_time.normalize()
    last_weekday = learnt + BDay() - BDay()  # forward and back: a weekend goes back to its Friday
    return pd.Timestamp(last_weekday if include_last else last_weekday + BDay())
