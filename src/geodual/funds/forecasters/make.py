"""Make forecasters from names, tables of settings, or the user's own objects."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from sklearn.base import clone

from geodual.errors import DataError
from geodual.metric.registry import find_metric
from geodual.places import is_place, load_place, run_own

from ..config import StudyConfig
from .ensemble import EnsembleForecaster
from .estimators import set_parameters
from .factor_rank import FactorForecaster
from .forecast import Forecaster
from .neighbours import NeighbourForecaster
from .registry import find_forecaster
from .regression import RegressorForecaster

_LESSON = ("parameters", "target", "window", "half_life")
# The settings of each kind; the first one names the kind.
KINDS = {
    "metric": ("metric", *_LESSON, "k", "weights", "label", "neighbours"),
    "factor": ("factor", "sign"),
    "estimator": ("estimator", *_LESSON),
    "members": ("members",),
    "like": ("like",),  # and the settings of the forecaster that is changed
}
_BESIDES = ("grid",)  # settings that are not about making a forecaster


class Workshop:
    """Makes the forecasters of one study.

    Parameters
    ----------
    config : StudyConfig
        Its settings `k`, `label`, `neighbours` and `train_quarters` hold for metrics that say nothing else,
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

    def wrap_metric(self, name: str, given: Any) -> NeighbourForecaster:
        """Return the paper's forecaster with a user's own metric, a transformer."""
        if not (hasattr(given, "fit") and hasattr(given, "transform")):
            raise DataError(
                f"{name!r} must be a forecaster, a scikit-learn transformer or regressor, or a name, "
                f"got {given!r}; give an object with the methods `fit` and `transform`, `fit` and `predict`, "
                "or `forecast`."
            )
        return self._neighbours(clone(given))  # the study never changes the user's object

    def metric(self, name: str) -> NeighbourForecaster:
        """Return the paper's forecaster with the metric of this name."""
        return self._neighbours(find_metric(name).make(self._config.random_state))

    def _neighbours(self, metric: Any) -> NeighbourForecaster:
        config = self._config
        return NeighbourForecaster(
            metric,
            k=config.k,
            window=config.train_quarters,
            label=config.label,
            neighbours=config.neighbours,
        )

    def _named(self, name: str) -> Forecaster:
        target = find_forecaster(name).target
        if isinstance(target, str):
            target = load_place(target, "forecaster")
        return self.wrap(name, target)

    def _from_table(self, name: str, table: Mapping[str, Any]) -> Forecaster:
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
                'write such as "ridge".'
            )
        base = self.make(like) if like else self._named(name)
        return with_settings(name, base, changes)

    def _estimator(self, name: str, table: Mapping[str, Any]) -> Any:
        given = table["estimator"]
        if isinstance(given, str):
            if not is_place(given):
                raise DataError(
                    f"`forecasters`: the estimator of {name!r} must be a place such as "
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
                f"`forecasters`: {target!r} needs a value for {needed[0]!r}; give an object that it made, or "
                "defaults to its parameters."
            )
        seed = {"random_state": self._config.random_state} if "random_state" in parameters else {}
        return run_own(lambda: target(**seed), problem, remedy)


def with_settings(name: str, forecaster: Forecaster, changes: Mapping[str, Any]) -> Forecaster:
    """Return a copy of a forecaster with other settings; `parameters` are of its metric or estimator."""
    if not changes:
        return forecaster
    own = tuple(each.name for each in fields(forecaster)) if is_dataclass(forecaster) else ()
    if isinstance(forecaster, NeighbourForecaster | RegressorForecaster):
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
            f"`forecasters`: {name!r} has both `{kinds[0]}` and `{kinds[1]}`; a forecaster is of one kind."
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
