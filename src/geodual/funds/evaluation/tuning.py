"""Choose settings of forecasters, on the validation period only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from geodual.errors import DataError

from ..config import StudyConfig
from ..decisions.observations import Observations
from ..decisions.walk_forward import walk_forward
from ..forecasters.forecast import Forecaster
from ..forecasters.make import Workshop, with_settings
from ..forecasters.neighbors import NeighborForecaster
from ..forecasters.registry import find_forecaster, is_known
from ..forecasters.regression import RegressorForecaster
from .periods import first_test_day
from .result_tables import ic_table, predictions_table

Changes = dict[str, Any]


def tune_forecasters(
    observations: Observations,
    forecasters: dict[str, Forecaster],
    config: StudyConfig,
    rows: Iterable[int],
    **effort: Any,
) -> dict[str, Changes]:
    """Choose the settings of each forecaster that has candidates, by mean IC in the validation period.

    Each decision of a candidate is made with what was known on its day. Decisions whose holding interval ends
    in the test period are not used.

    Parameters
    ----------
    observations : Observations
        What is known at each rebalance day.
    forecasters : dict of str to Forecaster
        The forecasters by name; those with candidates are replaced by the best one.
    config : StudyConfig
        Settings of the study.
    rows : iterable of int
        Positions of the rebalance days on which decisions can be made.
    **effort
        Passed on to `walk_forward`: n_jobs, checkpoints, progress.

    Returns
    -------
    dict of str to dict
        Chosen settings by forecaster; the earlier candidate wins a tie. Empty if there is no validation
        period.
    """
    days = observations.days
    start = first_test_day(observations.panel.nav.index, config.test_start)
    validation = [t for t in rows if t + 1 < len(days) and days[t + 1] < start]
    grids = {name: _grid(name, forecaster, config) for name, forecaster in forecasters.items()}
    # All candidates of all forecasters are decided in one parallel walk, under names that tell them apart.
    candidates = {
        _name(name, changes): with_settings(name, forecasters[name], changes)
        for name, grid in grids.items()
        for changes in grid
    }
    if not validation or not candidates:
        return {}
    decisions = walk_forward(observations, candidates, validation, **effort)
    mean_ic = ic_table(predictions_table(decisions, observations), observations.types).mean()
    chosen = {name: _best_candidate(name, grid, mean_ic) for name, grid in grids.items() if grid}
    for name, changes in chosen.items():
        forecasters[name] = candidates[_name(name, changes)]
    return {name: _flat(changes) for name, changes in chosen.items()}


def take_chosen(name: str, forecaster: Forecaster, chosen: Changes, config: StudyConfig) -> Forecaster:
    """Return a forecaster with the settings that tuning chose in an earlier study.

    Parameters
    ----------
    name : str
        Name of the forecaster.
    forecaster : Forecaster
        The forecaster before tuning.
    chosen : dict
        The settings, as `tune_forecasters` returned them, or as they were read from a file.
    config : StudyConfig
        Settings of the study.
    """
    for changes in _declared(name, config):
        if json.loads(json.dumps(_flat(changes))) == json.loads(json.dumps(chosen)):  # a file has no tuples
            return with_settings(name, forecaster, changes)
    raise DataError(
        f"{name}: the settings that the study chose, {chosen}, are no longer among the candidates. Run the "
        "study again."
    )


def count_candidates(name: str, config: StudyConfig | None = None) -> int:
    """Return how many settings tuning tries; at least one if the forecaster is not known in this process."""
    return len(_declared(name, config)) if _has_table(name, config) or is_known(name) else 1


def count_choices(n_forecasters: int, tuned: Iterable[str] = (), config: StudyConfig | None = None) -> int:
    """Return the number of forecasters and settings that the best was chosen from.

    Parameters
    ----------
    n_forecasters : int
        Number of forecasters compared.
    tuned : iterable of str
        Those whose settings were chosen on the period in question. Each adds its candidates, or one if it is
        not known in this process.
    config : StudyConfig, optional
        Settings of the study, which may declare candidates.

    Returns
    -------
    int
    """
    return n_forecasters + sum(count_candidates(name, config) for name in tuned)


def _declared(name: str, config: StudyConfig | None) -> list[Changes]:
    """Return the candidates that a table of the configuration or the registry declares for a name."""
    if config is not None and _has_table(name, config):
        table = dict(config.forecasters)[name]  # type: ignore[arg-type]
        if "grid" in table:
            return [dict(changes) for changes in table["grid"]]
    return [dict(changes) for changes in find_forecaster(name).grid] if is_known(name) else []


def _has_table(name: str, config: StudyConfig | None) -> bool:
    tables = config.forecasters if config is not None else ()
    return isinstance(tables, Mapping) and bool(tables.get(name))


def _grid(name: str, forecaster: Forecaster, config: StudyConfig) -> list[Changes]:
    """Return the candidates of a forecaster; none if it is not of the class that its name stands for."""
    declared = _declared(name, config)
    if not declared or (
        is_known(name) and not _has_table(name, config) and not _is_alike(name, forecaster, config)
    ):
        return []
    return declared


def _is_alike(name: str, forecaster: Forecaster, config: StudyConfig) -> bool:
    """Return whether a forecaster has the same kind of metric or estimator as the one of its name."""
    usual = Workshop(config).make(name)
    return type(forecaster) is type(usual) and type(_core(forecaster)) is type(_core(usual))


def _core(forecaster: Forecaster) -> Any:
    if isinstance(forecaster, NeighborForecaster):
        return forecaster.metric
    return forecaster.estimator if isinstance(forecaster, RegressorForecaster) else None


def _name(name: str, changes: Changes) -> str:
    return f"{name} {changes}"


def _flat(changes: Changes) -> Changes:
    """Return changes with the parameters of the metric or estimator among them."""
    return {
        **{key: value for key, value in changes.items() if key != "parameters"},
        **changes.get("parameters", {}),
    }


def _best_candidate(name: str, grid: list[Changes], mean_ic: pd.Series[float]) -> Changes:
    known = mean_ic.fillna(-np.inf)  # a candidate whose forecasts are all equal has no IC
    return max(grid, key=lambda changes: known[_name(name, changes)])
