"""Trade a study again: which settings can change, and the forecasts of a study that was saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from geodual.errors import DataError

from ..config import AFTER_FORECASTS, StudyConfig, check_names
from ..decisions.walk_forward import walk_forward
from ..evaluation.market import make_fee_rules
from ..evaluation.risk_free import take_risk_free
from ..evaluation.study_tables import StudyTables
from ..factors.factor import choose_factors
from ..forecasters.forecast import Forecast, Forecaster, Today, Training
from ..panel import Panel
from ..sources.reading.fund_facts import FundFacts, take_facts
from ..sources.reading.nav_file import read_indices, read_nav
from .books import rows_to_decide
from .forecasts import Forecasts, gather_forecasts
from .inputs import Inputs, digest_levels, find_in_index
from .trading import collect_notes, find_benchmark


def trading_settings(config: StudyConfig, changes: Mapping[str, Any]) -> StudyConfig:
    """Return settings with changes; raise if forecasts depend on one of them.

    Parameters
    ----------
    config : StudyConfig
        The settings of a study.
    changes : mapping of str to object
        Other values, by name.
    """
    changes = check_names(changes, "retrade")
    learned = [name for name in changes if name not in AFTER_FORECASTS]
    if learned:
        raise DataError(
            f"retrade: forecasts depend on `{learned[0]}`, so they must be made again; use `backtest` or "
            f"`sweep`. What can be changed is {', '.join(AFTER_FORECASTS)}."
        )
    return replace(config, **changes)


def take_forecasts(
    study: StudyTables, forecasts: Forecasts | None, panel: Any, index: Any, facts: Any
) -> Forecasts:
    """Return the forecasts of a study, in memory or saved; raise if the data given are not its own.

    Parameters
    ----------
    study : StudyTables
        The study.
    forecasts : Forecasts, optional
        Its forecasts in memory.
    panel, index, facts : optional
        Its data, in any form that `backtest` takes. They are needed if no forecasts are in memory.
    """
    table = read_nav(panel) if panel is not None and not isinstance(panel, Panel) else panel
    levels, known = None if index is None else read_indices(index), take_facts(facts)
    _check_own("panel", study.digest, None if table is None else table.digest, forecasts)
    _check_own("index", study.index_digest, None if levels is None else digest_levels(levels), forecasts)
    _check_own("facts", study.facts_digest, None if facts is None else known.digest, forecasts)
    return forecasts if forecasts is not None else _restore(study, table, levels, known)


def _check_own(name: str, own: str, found: str | None, forecasts: Forecasts | None) -> None:
    """Raise if data are not those of the study, or are missing."""
    if found is None and own and forecasts is None:
        raise DataError(
            f"retrade: the study was read from a folder, which does not keep the data; give `{name}` as to "
            "`backtest`."
        )
    if found is not None and found != own:
        raise DataError(
            f"retrade: `{name}` is not that of the study: its SHA-256 begins with {found[:12]}, that of the "
            f"study with {own[:12] or 'nothing, as it had none'}. Give that of the study, or run `backtest`."
        )


@dataclass(frozen=True, eq=False)
class _SavedForecaster:
    """Gives the forecasts of a study that was saved.

    Attributes
    ----------
    values : Series
        Forecast by (date, fund).
    unit : str
        What they are.
    labels : mapping of Timestamp to str
        How classes were made, by day.
    """

    values: pd.Series[float]
    unit: str
    labels: Mapping[Any, str]
    window: int = 1  # the fewest intervals: nothing is learned

    def forecast(self, training: Training, today: Today) -> Forecast:
        """Return the forecasts of the day; raise if the study had other funds."""
        known = pd.Series(self.values.loc[today.day])
        if set(known.index) != set(today.funds):
            raise ValueError("the study had other funds to choose from on this day; run it again")
        return Forecast(known.reindex(today.funds).to_numpy(float), self.unit, self.labels[today.day])


def _restore(
    study: StudyTables, panel: Any, levels: pd.Series[float] | pd.DataFrame | None, facts: FundFacts
) -> Forecasts:
    """Return the forecasts that a study saved, and what was known when they were made."""
    config, labels = study.config, dict(zip(study.universe["date"], study.universe["label"], strict=True))
    forecasters: dict[str, Forecaster] = {
        str(name): _SavedForecaster(
            own.set_index(["date", "fund"])["forecast"], study.units[str(name)], labels
        )
        for name, own in study.predictions.groupby("forecaster", sort=False)
    }
    given = Inputs(
        panel,
        levels,
        config,
        choose_factors(config.factors),
        facts,
        make_fee_rules(config, facts),
        forecasters,
        take_risk_free(config.risk_free),
        find_in_index(levels, panel),
    )
    observations = given.observe()
    rows = rows_to_decide(observations, config, given.fees)
    decisions = walk_forward(observations, forecasters, rows)
    made = gather_forecasts(given, observations, rows, forecasters, decisions, study.chosen)
    saved = {"neighbors": study.neighbors, "reasons": study.reasons}
    return replace(made, notes=_notes_of_decisions(study, replace(made, notes=())), saved=saved)


def _notes_of_decisions(study: StudyTables, made: Forecasts) -> tuple[str, ...]:
    """Return what a study noted on its decisions: all that does not follow from other things."""
    filled = find_benchmark(made.given, made.observations, made.rows)[1][1]
    books = {"trades": study.trades, "holdings": study.holdings}
    others = collect_notes(made, books, filled)
    return tuple(note for note in study.notes if note not in others)
