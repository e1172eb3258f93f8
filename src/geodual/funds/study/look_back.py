"""The decisions of the past, repeated with today's settings: what such picks earned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from geodual.arrays import Array
from geodual.errors import DataError

from ..config import StudyConfig
from ..decisions.observations import Observations, decision_rows
from ..decisions.picking import held_since, pick_funds
from ..decisions.walk_forward import walk_forward
from ..evaluation.result_tables import holdings_table, ic_table, predictions_table
from ..evaluation.statistics import corrected_p, newey_west_t
from ..evaluation.track_record import TrackRecord, measure_record, no_record
from ..evaluation.tuning import count_candidates, tune_forecasters
from ..forecasters.forecast import Forecaster

FEWEST_PAST = 8  # fewest past decisions for an interval of past returns
FEWEST_PER_RANK = 30  # fewest past decisions for an interval per rank
_INTERVAL = [0.1, 0.9]  # quantiles between which 80 % of past picks lie
_LATE = pd.Timedelta(days=7)  # by which an index may end before an interval does


@dataclass(frozen=True, eq=False)
class LookBack:
    """What the past shows.

    Attributes
    ----------
    earned : DataFrame
        What past picks earned, decision × rank; empty without past decisions.
    record : TrackRecord
        How good past forecasts and picks were.
    held : dict of str to Timestamp
        The funds that the last past decision holds, and since when.
    chosen : dict
        Settings that tuning chose, by forecaster.
    name : str
        The forecaster with the highest mean IC, or the first one if there are too few past decisions.
    candidates : DataFrame
        The forecasters compared, best first: ic_mean, t, p, n. Those with too few past decisions come last.
        Empty if there was only one.
    """

    earned: pd.DataFrame
    record: TrackRecord
    held: dict[str, pd.Timestamp]
    chosen: dict[str, dict[str, Any]]
    name: str
    candidates: pd.DataFrame

    @property
    def pooled(self) -> bool:
        """Whether there are too few past decisions to show what the picks of each rank earned."""
        return len(self.earned) < FEWEST_PER_RANK

    def bounds(self, n_picks: int) -> Array:
        """Return between which values 80 % of past picks earned, by rank; the same for all if pooled."""
        if len(self.earned) < FEWEST_PAST:
            return np.full((2, n_picks), np.nan)
        if self.pooled:
            return np.repeat(np.nanquantile(self.earned, _INTERVAL)[:, None], n_picks, axis=1)
        return self.earned.quantile(_INTERVAL).reindex(columns=range(n_picks)).to_numpy(float)


def look_back(
    observations: Observations,
    forecasters: dict[str, Forecaster],
    config: StudyConfig,
    levels: pd.Series[float] | None,
    **effort: Any,
) -> LookBack:
    """Repeat the decisions of the past, and choose the best of several forecasters by them.

    With `tune`, the settings of each are chosen first.

    Parameters
    ----------
    observations : Observations
        What was known at each rebalance day.
    forecasters : dict of str to Forecaster
        The forecasters by name; tuning replaces each by its best candidate.
    config : StudyConfig
        The settings.
    levels : Series, optional
        Index levels to compare with.
    **effort
        Passed on to `walk_forward`: n_jobs, progress.
    """
    try:
        rows = decision_rows(observations, config) if len(observations.days) else []
    except DataError:  # the history is too short for a past decision
        rows = []
    if not rows:
        return LookBack(pd.DataFrame(), no_record(), {}, {}, next(iter(forecasters)), pd.DataFrame())
    chosen = tune_forecasters(observations, forecasters, config, rows, **effort) if config.tune else {}
    decisions = walk_forward(observations, forecasters, rows, **effort)
    # Each forecaster and each setting that was tried had a chance to be the best.
    n_choices = len(forecasters) + sum(count_candidates(name, config) - 1 for name in chosen)
    every = predictions_table(decisions, observations)
    candidates = compare_candidates(ic_table(every), n_choices)
    name = str(candidates.index[0]) if can_choose(candidates) else next(iter(forecasters))
    picked = pick_funds(observations, [d for d in decisions if d.forecaster == name], forecasters, config)
    predictions = every[every["forecaster"] == name]
    realised = predictions.set_index(["date", "fund"])["realised"]
    earned = [pd.Series(realised[picks.day].reindex(picks.funds).to_numpy()) for picks in picked]
    record = measure_record(
        predictions,
        holdings_table(picked, predictions, observations, config),
        index_returns=_index_returns(levels, observations.days),
        n_choices=n_choices,
    )
    own = {name: chosen[name]} if name in chosen else {}
    shown = candidates if len(forecasters) > 1 else pd.DataFrame()
    return LookBack(pd.DataFrame(earned).dropna(how="all"), record, held_since(picked), own, name, shown)


def compare_candidates(ic: pd.DataFrame, n_choices: int) -> pd.DataFrame:
    """Return the mean ICs of forecasters, best first, with p-values corrected for the choice.

    A forecaster with an IC on few days may be best by chance. It comes after those that can be judged.
    """
    rows = {
        name: (ic[name].mean(), newey_west_t(ic[name]), corrected_p(ic[name], n_choices), ic[name].count())
        for name in ic
    }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["ic_mean", "t", "p", "n"])
    order = table.assign(judged=table["n"] >= FEWEST_PAST).sort_values(
        ["judged", "ic_mean"], ascending=False, kind="stable"
    )
    return order[list(table)].rename_axis("forecaster")


def can_choose(candidates: pd.DataFrame) -> bool:
    """Return whether there are enough past decisions with an outcome to choose the best by them."""
    return bool(candidates["n"].iloc[0] >= FEWEST_PAST)


def _index_returns(levels: pd.Series[float] | None, days: pd.DatetimeIndex) -> pd.Series[float] | None:
    """Return what the index earned from each rebalance day to the next, by the first of the two.

    Intervals that the levels do not cover are left out. Levels that end a week before an interval does are
    enough, as for the index of a study.
    """
    if levels is None:
        return None
    at = levels.reindex(levels.index.union(days)).ffill().reindex(days[days <= levels.index[-1] + _LATE])
    return (at.shift(-1) / at - 1.0).dropna()
