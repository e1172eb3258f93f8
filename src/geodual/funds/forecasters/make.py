"""Make forecasters from names, tables of settings, or the user's own objects."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sized
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from sklearn.base import clone

from geodual.errors import DataError
from geodual.metric.registry import find_metric
from geodual.places import is_place, load_place, run_own

from ..config import StudyConfig
from .forecast import Forecaster
from .learning import set_parameters
from .neighbors import NeighborForecaster
from .ranks import EnsembleForecaster, FactorForecaster
from .registry import UNIVERSE, find_forecaster
from .regression import RegressorForecaster

_LESSON = ("parameters", "target", "window", "half_life")
# The settings of each kind; the first one names the kind.
KINDS = {
    "metric": ("metric", *_LESSON, "k", "weights", "label", "neighbors"),
    "factor": ("factor", "sign"),
    "estimator": ("estimator", *_LESSON),
    "members": ("members",),
    "like": ("like",),  # and the settings of the forecaster that is changed
}
_BESIDES = ("grid",)  # settings that are not about making a forecaster


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
    """Return whether a user gave forecasters; the configuration of an earlier study may have none."""
    return forecasters is not None and not (isinstance(forecasters, Sized) and len(forecasters) == 0)


def _recorded(name: str, given: Any) -> dict[str, Any]:
    """Return the table of settings that stands for a forecaster; an empty one if there is none."""
    if isinstance(given, FactorForecaster):
        return {"factor": given.factor, "sign": given.sign}
    if isinstance(given, str) and given != name:
        return {"like": given}
    return dict(given) if _is_plain_table(given) else {}


def _is_plain_table(value: Any) -> bool:
    """Return whether a value is a table that a TOML file can hold: a table with an estimator in it is not."""
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


class Workshop:
    """Makes the forecasters of one study.

    Parameters
    ----------
    config : StudyConfig
        Its settings `k`, `label`, `neighbors` and `train_quarters` hold for metrics that say nothing else,
        `random_state` is the seed of all, and `forecasters` may describe some by tables.
    """

    def __init__(self, config: StudyConfig) -> None:
        self._config = config
        tables = config.forecasters if isinstance(config.forecasters, Mapping) else {}
        self._tables = {name: table for name, table in tables.items() if table}
        self._making: list[str] = []  # members of members, to notice a circle

    def make(self, name: str) -> Forecaster:
        """Return the forecaster of a name: of a table of the configuration, or a registered one."""
        if name in self._making:
            raise DataError(f"`forecasters`: {name!r} is a member of itself; remove it from `members`.")
        self._making.append(name)
        try:
            made = self._from_table(name, self._tables[name]) if name in self._tables else self._named(name)
        finally:
            self._making.pop()
        return made

    def wrap(self, name: str, given: Any) -> Forecaster:
        """Return a user's own object as a forecaster: transformers and regressors are wrapped in one."""
        if isinstance(given, str):
            return self.make(given)
        if isinstance(given, Mapping):
            return self._from_table(name, given) if given else self.make(name)
        if hasattr(given, "forecast") and not isinstance(given, type):
            return given  # type: ignore[no-any-return]
        if callable(given):
            return self.wrap(name, self._call(name, given))
        if hasattr(given, "fit") and hasattr(given, "predict"):
            return RegressorForecaster(clone(given))
        return self.wrap_metric(name, given)

    def wrap_metric(self, name: str, given: Any) -> NeighborForecaster:
        """Return the paper's forecaster with a user's own metric, a transformer."""
        if not (hasattr(given, "fit") and hasattr(given, "transform")):
            raise DataError(
                f"{name!r} must be a forecaster, a scikit-learn transformer or regressor, or a name, "
                f"got {given!r}; give an object with the methods `fit` and `transform`, `fit` and `predict`, "
                "or `forecast`."
            )
        return self._neighbors(clone(given))  # the study never changes the user's object

    def metric(self, name: str) -> NeighborForecaster:
        """Return the paper's forecaster with the metric of this name."""
        return self._neighbors(find_metric(name).make(self._config.random_state))

    def _neighbors(self, metric: Any) -> NeighborForecaster:
        config = self._config
        return NeighborForecaster(
            metric,
            k=config.k,
            window=config.train_quarters,
            label=config.label,
            neighbors=config.neighbors,
        )

    def _named(self, name: str) -> Forecaster:
        target = find_forecaster(name).target
        if isinstance(target, str):
            target = load_place(target, "forecaster")
        return self.wrap(name, target)

    def _from_table(self, name: str, table: Mapping[str, Any]) -> Forecaster:
        """Make a forecaster from its table of settings; the key of the table says of which kind it is."""
        kind = _kind_of(name, table)
        if kind == "factor":
            return FactorForecaster(table["factor"], table.get("sign", 1))
        if kind == "members":
            return EnsembleForecaster({str(member): self.make(member) for member in _listed(name, table)})
        changes = {key: value for key, value in table.items() if key not in (*KINDS, *_BESIDES)}
        if kind == "metric":
            return self.metric(table["metric"]).with_settings(**changes)
        if kind == "estimator":
            estimator = set_parameters(
                "the estimator", self._estimator(name, table), changes.pop("parameters", {})
            )
            return RegressorForecaster(estimator, **changes)
        # A table without a kind changes the registered forecaster of its own name.
        like = table.get("like")
        if not isinstance(like, str | None):
            raise DataError(
                f"`forecasters`: `like` of {name!r} must be the name of a forecaster, got {like!r}; "
                'write for example "ridge".'
            )
        base = self.make(like) if like else self._named(name)
        return with_settings(name, base, changes)

    def _estimator(self, name: str, table: Mapping[str, Any]) -> Any:
        given = table["estimator"]
        if isinstance(given, str):
            if not is_place(given):
                raise DataError(
                    f"`forecasters`: the estimator of {name!r} must be an import path such as "
                    f"sklearn.linear_model:Ridge, got {given!r}; to change a registered one write `like`."
                )
            given = load_place(given, "estimator")
        return self._call(name, given) if isinstance(given, type) else given

    def _call(self, name: str, target: Any) -> Any:
        """Return what a class or function makes; it gets the seed if it has a parameter `random_state`."""
        problem = f"`forecasters`: {name!r} cannot be made"
        remedy = "give a forecaster, or a class or function that makes one"
        parameters = run_own(lambda: inspect.signature(target).parameters, problem, remedy)
        needed = [
            name
            for name, one in parameters.items()
            if one.default is one.empty
            and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
            and name != "random_state"
        ]
        if needed:
            raise DataError(
                f"`forecasters`: {target!r} needs a value for {needed[0]!r}; pass an instance, or give its "
                "parameters default values."
            )
        seed = {"random_state": self._config.random_state} if "random_state" in parameters else {}
        return run_own(lambda: target(**seed), problem, remedy)


def with_settings(name: str, forecaster: Forecaster, changes: Mapping[str, Any]) -> Forecaster:
    """Return a copy of a forecaster with other settings; `parameters` are of its metric or estimator."""
    if not changes:
        return forecaster
    own = tuple(each.name for each in fields(forecaster)) if is_dataclass(forecaster) else ()
    if isinstance(forecaster, NeighborForecaster | RegressorForecaster):
        _check_keys(name, changes, (*own[1:], "parameters"))
        return forecaster.with_settings(**changes)
    _check_keys(name, changes, own)
    # A list of a TOML file is a tuple in a frozen dataclass.
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in changes.items()}
    return cast(Forecaster, replace(cast(Any, forecaster), **plain))


def _kind_of(name: str, table: Mapping[str, Any]) -> str:
    """Return the kind of a table, "like" if it says none; raise if a setting does not belong to it."""
    grid = table.get("grid", [])
    if not isinstance(grid, list | tuple) or not all(isinstance(changes, Mapping) for changes in grid):
        raise DataError(
            f"`forecasters`: the grid of {name!r} must be a list of changes of settings, got {grid!r}; write "
            "a list such as [{}, {window = 8}]."
        )
    kinds = [kind for kind in KINDS if kind in table]
    if len(kinds) > 1:
        raise DataError(
            f"`forecasters`: {name!r} has both `{kinds[0]}` and `{kinds[1]}`; a forecaster has one kind."
        )
    kind = kinds[0] if kinds else "like"
    if kind != "like":
        _check_keys(name, table, (*KINDS[kind], *_BESIDES))
    return kind


def _check_keys(name: str, table: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    unknown = [key for key in table if key not in allowed]
    if unknown:
        raise DataError(
            f"`forecasters`: {name!r} has no setting `{unknown[0]}`; known are {', '.join(allowed)}. Write "
            "parameters of a metric or an estimator as parameters = {name = value}."
        )


def _listed(name: str, table: Mapping[str, Any]) -> list[str]:
    """Return the members of an ensemble; raise if they are not a list of names."""
    members = table["members"]
    is_list = isinstance(members, list | tuple) and len(members) > 0
    if not is_list or not all(isinstance(member, str) for member in members):
        raise DataError(
            f"`forecasters`: the members of {name!r} must be a list of names, got {members!r}; write a list "
            'such as ["momentum", "ridge"].'
        )
    twice = [member for at, member in enumerate(members) if member in members[:at]]
    if twice:
        raise DataError(
            f"`forecasters`: {name!r} names its member {twice[0]!r} twice; each counts the same, so name it "
            "once."
        )
    return list(members)
