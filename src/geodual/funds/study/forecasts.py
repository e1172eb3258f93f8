"""All forecasts of a study, which every way to trade them starts from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from ..config import StudyConfig
from ..decisions.decision import Decision
from ..decisions.observations import Observations
from ..decisions.walk_forward import walk_forward
from ..evaluation.forecast_diagnostics import ic_decay
from ..evaluation.result_tables import ic_table, predictions_table, universe_table
from ..evaluation.skill import factor_ics
from ..evaluation.tuning import tune_forecasters
from ..forecasters.forecast import Forecaster
from ..forecasters.make import resolve_baselines
from .inputs import Inputs
from .notes import note_decisions


@dataclass(frozen=True, eq=False)
class Baselines:
    """The forecasts of the baselines.

    Attributes
    ----------
    forecasters : dict of str to Forecaster
        The baselines that make forecasts.
    decisions : list of Decision
        By day, then by baseline.
    predictions : DataFrame
        The same as a table.
    """

    forecasters: dict[str, Forecaster]
    decisions: list[Decision]
    predictions: pd.DataFrame


@dataclass(frozen=True, eq=False)
class Forecasts:
    """The forecasts of a study, which settings of trading do not change.

    Attributes
    ----------
    given : Inputs
        What the user gave.
    observations : Observations
        What was known at each rebalance day.
    rows : list of int
        Positions of the rebalance days on which decisions were made.
    forecasters : dict of str to Forecaster
        The forecasters, with the settings that tuning chose.
    decisions : list of Decision
        By day, then by forecaster.
    chosen : dict
        Settings that tuning chose, by forecaster.
    tables : dict of str to DataFrame
        What follows from the forecasts alone: predictions, ic, ic_decay, factor_ic and universe.
    notes : tuple of str
        What the reader should know of the decisions.
    baselines : Baselines
        The forecasts of the baselines.
    saved : dict of str to DataFrame
        The neighbors and reasons of a study that was read from a folder; empty if decisions have them.
    """

    given: Inputs
    observations: Observations
    rows: list[int]
    forecasters: dict[str, Forecaster]
    decisions: list[Decision]
    chosen: dict[str, dict[str, Any]]
    tables: dict[str, pd.DataFrame]
    notes: tuple[str, ...]
    baselines: Baselines
    saved: dict[str, pd.DataFrame] = field(default_factory=dict)

    def with_trading(self, config: StudyConfig) -> Forecasts:
        """Return the same forecasts with other settings that they do not depend on."""
        return self.with_inputs(self.given.with_trading(config))

    def with_inputs(self, given: Inputs) -> Forecasts:
        """Return the same forecasts with other inputs that they do not depend on."""
        if given.config.baselines == self.given.config.baselines:
            return replace(self, given=given)
        observations = self.observations
        if not set(given.asked) <= set(observations.asked):  # other baselines, which see other factors
            observations = given.observe()
        made = _forecast_baselines(given.config, observations, self.rows)
        return replace(self, given=given, observations=observations, baselines=made)


def _forecast_baselines(config: StudyConfig, observations: Observations, rows: list[int]) -> Baselines:
    """Let the baselines decide on all days."""
    forecasters = resolve_baselines(config)
    decisions = walk_forward(observations, forecasters, rows)
    nothing = pd.DataFrame()
    predictions = predictions_table(decisions, observations) if decisions else nothing
    return Baselines(forecasters, decisions, predictions)


def make_forecasts(given: Inputs, observations: Observations, rows: list[int], **effort: Any) -> Forecasts:
    """Let all forecasters decide on all days.

    Parameters
    ----------
    given : Inputs
        What the user gave.
    observations : Observations
        What was known at each rebalance day.
    rows : list of int
        Positions of the rebalance days.
    **effort
        Passed on to `walk_forward`: n_jobs, checkpoints, progress.
    """
    config, forecasters = given.config, dict(given.forecasters)
    chosen = tune_forecasters(observations, forecasters, config, rows, **effort) if config.tune else {}
    decisions = walk_forward(observations, forecasters, rows, **effort)
    return gather_forecasts(given, observations, rows, forecasters, decisions, chosen)


def gather_forecasts(
    given: Inputs,
    observations: Observations,
    rows: list[int],
    forecasters: dict[str, Forecaster],
    decisions: list[Decision],
    chosen: dict[str, dict[str, Any]],
    like: Forecasts | None = None,
) -> Forecasts:
    """Return decisions with the tables that follow from them alone.

    Parameters
    ----------
    given, observations, rows, forecasters, decisions, chosen : object
        As in `Forecasts`.
    like : Forecasts, optional
        Others from the same observations and rows: what does not depend on forecasters is taken from them.
    """
    predictions = predictions_table(decisions, observations)
    nav, types = observations.panel.nav, observations.types
    tables = {
        "predictions": predictions,
        "ic": ic_table(predictions, types),
        "ic_decay": ic_decay(predictions, nav, types=types),
        "factor_ic": factor_ics(observations, rows) if like is None else like.tables["factor_ic"],
        "universe": universe_table(decisions, observations),
    }
    notes = tuple(note_decisions(decisions, given.config))
    if like is not None and like.given.config.baselines == given.config.baselines:
        baselines = like.baselines
    else:
        baselines = _forecast_baselines(given.config, observations, rows)
    return Forecasts(given, observations, rows, forecasters, decisions, chosen, tables, notes, baselines)
