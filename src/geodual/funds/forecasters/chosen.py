"""The forecasters that a study compares: metrics and forecasters, by name, table or object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from dataclasses import replace
from typing import Any

from geodual.errors import DataError

from ..config import StudyConfig
from .factor_rank import FactorForecaster
from .forecast import Forecaster
from .make import Workshop
from .registry import UNIVERSE


def chosen_names(given: Any, setting: str = "metrics") -> tuple[str, ...]:
    """Return the names that a user gave: one name, several names, or a mapping from names."""
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable):
        kind = "transformers" if setting == "metrics" else "forecasters"
        raise DataError(
            f"`{setting}` must be names or a mapping to {kind}, got {given!r}; write a list of names or a "
            'mapping such as {"mine": Mine()}.'
        )
    return tuple(given)


def compared_settings(metrics: Any, forecasters: Any) -> dict[str, Any]:
    """Return the settings `metrics` and `forecasters` of `StudyConfig`, from what a user gave.

    Neither means the metrics of the paper; forecasters alone mean no metrics. Tables of settings are kept,
    and so are names and single factors, as tables; other objects are recorded by their names only.
    """
    if metrics is None and not _are_given(forecasters):
        return {}
    settings: dict[str, Any] = {"metrics": () if metrics is None else chosen_names(metrics)}
    if isinstance(forecasters, Mapping):
        tables = {name: _recorded(name, each) for name, each in forecasters.items()}
        settings["forecasters"] = tables if any(tables.values()) else tuple(tables)
    elif forecasters is not None:
        settings["forecasters"] = chosen_names(forecasters, "forecasters")
    return settings


def _are_given(forecasters: Any) -> bool:
    """Tell whether a user gave forecasters; the configuration of an earlier study may have an empty list."""
    return forecasters is not None and not (isinstance(forecasters, Sized) and len(forecasters) == 0)


def _recorded(name: str, given: Any) -> dict[str, Any]:
    """Return the table of settings that stands for a forecaster; an empty one if there is none."""
    if isinstance(given, FactorForecaster):
        return {"factor": given.factor, "sign": given.sign}
    if isinstance(given, str) and given != name:
        return {"like": given}
    return dict(given) if _is_plain_table(given) else {}


def _is_plain_table(value: Any) -> bool:
    """Tell whether a value is a table that a TOML file can hold: a table with an estimator in it is not."""
    return isinstance(value, Mapping) and all(_is_plain(each) for each in value.values())


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float) or _is_plain_table(value)


def resolve_metrics(metrics: Any, config: StudyConfig) -> dict[str, Forecaster]:
    """Return the paper's forecaster with each metric: from names, or a mapping to transformers or names."""
    workshop = Workshop(config)
    given = metrics if isinstance(metrics, Mapping) else {name: name for name in chosen_names(metrics)}
    return {
        name: workshop.metric(each) if isinstance(each, str) else workshop.wrap_metric(name, each)
        for name, each in given.items()
    }


def resolve_forecasters(forecasters: Any, config: StudyConfig) -> dict[str, Forecaster]:
    """Return forecasters by name: from names, or a mapping to names, tables of settings or objects."""
    workshop = Workshop(config)
    given = forecasters
    if not isinstance(forecasters, Mapping):
        given = {name: name for name in chosen_names(forecasters, "forecasters")}
    return {name: workshop.wrap(name, each) for name, each in given.items()}


def resolve_compared(metrics: Any, forecasters: Any, config: StudyConfig) -> dict[str, Forecaster]:
    """Return all that a study compares: metrics first, then forecasters."""
    if metrics is None:
        metrics = config.metrics
    made = resolve_metrics(metrics, config)
    return made | resolve_forecasters(() if forecasters is None else forecasters, config)


def resolve_baselines(config: StudyConfig) -> dict[str, Forecaster]:
    """Return the baselines that make forecasts, as they are registered: no table of a study changes them."""
    plain = replace(config, metrics=StudyConfig.metrics, forecasters=())
    return resolve_forecasters(tuple(name for name in config.baselines if name != UNIVERSE), plain)
