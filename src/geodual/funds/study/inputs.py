"""What a study is given: the table, settings, forecasters, facts and fees, read and checked."""

from __future__ import annotations

import hashlib
import inspect
import io
import pickle
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any
from uuid import uuid4

import joblib
import pandas as pd

import geodual

from ..config import StudyConfig, check_names
from ..decisions.observations import Observations, observe, prepare_panel
from ..decisions.universe import check_known
from ..evaluation.market import FeeRules, make_fee_rules
from ..evaluation.risk_free import RiskFree, take_risk_free
from ..factors.factor import FactorSet, take_factors
from ..forecasters.forecast import Forecaster, factors_asked
from ..forecasters.make import compared_settings, resolve_baselines, resolve_compared
from ..panel import Finding, Panel
from ..sources.reading.fund_facts import FundFacts, take_facts
from ..sources.reading.nav_file import read_indices, read_nav
from ..sources.reading.quality import inspect_index
from .index_mix import each_index

# Packages whose code does not change between two runs; the version of geodual is checked besides.
_INSTALLED = ("geodual", "sklearn", "numpy", "pandas", "scipy", "builtins")


@dataclass(frozen=True, eq=False)
class Data:
    """The data that the user gave, read; any number of studies can share them."""

    panel: Panel
    levels: pd.Series[float] | pd.DataFrame | None
    facts: FundFacts
    index_findings: tuple[Finding, ...]


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the user gave, read and checked."""

    panel: Panel
    levels: pd.Series[float] | pd.DataFrame | None
    config: StudyConfig
    factors: FactorSet
    facts: FundFacts
    fees: FeeRules
    forecasters: dict[str, Forecaster]
    risk_free: RiskFree
    index_findings: tuple[Finding, ...]

    @property
    def asked(self) -> tuple[str, ...]:
        """The factors whose raw values forecasters and baselines want to see."""
        return factors_asked((*self.forecasters.values(), *resolve_baselines(self.config).values()))

    @property
    def prepared(self) -> Panel:
        """The trading days and the funds of the study."""
        index_days = None if self.levels is None else self.levels.index
        return prepare_panel(self.panel, self.config, self.facts, index_days)

    def observe(self, asked: Iterable[str] | None = None) -> Observations:
        """Return what is known on each rebalance day, with the factors that were asked for."""
        prepared, asked = self.prepared, self.asked if asked is None else asked
        factors = self.factors.on(prepared.nav.index)
        return observe(prepared, self.config, factors, self.facts, asked=asked)

    def keys(self, factors: FactorSet) -> list[str]:
        """Return what a decision depends on besides its past: settings, forecasters, factors, version.

        The factors are those for the rows of the table, from `observe`.
        """
        settings = self.config.for_forecasts().to_toml()
        parts = fingerprint((self.forecasters, factors))
        # What tuning chooses depends on the whole table.
        data = [self.panel.digest if self.config.tune else "", self.facts.digest]
        return [*data, settings, parts, geodual.__version__]

    def with_trading(self, config: StudyConfig) -> Inputs:
        """Return the inputs with other settings that no forecast depends on."""
        check_known(config, self.facts, list(self.panel.nav.columns))
        fees, risk_free = make_fee_rules(config, self.facts), take_risk_free(config.risk_free)
        return replace(self, config=config, fees=fees, risk_free=risk_free)


def take_inputs(
    panel: Any, index: Any, compared: tuple[Any, Any], facts: Any, settings: dict[str, Any]
) -> Inputs:
    """Return what the user gave, read and checked.

    Parameters
    ----------
    panel, index, facts : object
        As in `backtest`.
    compared : tuple of object
        Its arguments `metrics` and `forecasters`.
    settings : dict
        Its other settings.
    """
    return make_inputs(read_data(panel, index, facts), compared, settings)


def read_data(panel: Any, index: Any, facts: Any) -> Data:
    """Return the data in any form in which `backtest` takes them, read and checked."""
    read = panel if isinstance(panel, Panel) else read_nav(panel)
    levels = None if index is None else read_indices(index)
    return Data(read, levels, take_facts(facts), find_in_index(levels, read))


def make_inputs(data: Data, compared: tuple[Any, Any], settings: dict[str, Any]) -> Inputs:
    """Return the inputs of a study of some data.

    Parameters
    ----------
    data : Data
        The data.
    compared : tuple of object
        The arguments `metrics` and `forecasters` of `backtest`.
    settings : dict
        Its other settings.
    """
    factors, settings = take_factors(settings)
    config = StudyConfig(**compared_settings(*compared), **check_names(settings, "backtest"))
    return Inputs(
        panel=data.panel,
        levels=data.levels,
        config=config,
        factors=factors,
        facts=data.facts,
        fees=make_fee_rules(config, data.facts),
        forecasters=resolve_compared(*compared, config),
        risk_free=take_risk_free(config.risk_free),
        index_findings=data.index_findings,
    )


def find_in_index(levels: pd.Series[float] | pd.DataFrame | None, panel: Panel) -> tuple[Finding, ...]:
    """Return what was found in the levels of an index, or of several, beside the table."""
    every = () if levels is None else each_index(levels)
    return tuple(found for own in every for found in inspect_index(own, panel.nav))


def fingerprint(parts: object) -> str:
    """Return a text that identifies forecasters and factors; a unique one if they cannot be hashed.

    A pickle names classes and functions, but does not hold their code. So the source of the modules that
    define them is hashed too: after a change of it, no earlier decision is reused.

    Parameters
    ----------
    parts : object
        Forecasters and factors.
    """
    try:
        code = _CodeFinder()
        code.dump(parts)
        return str(joblib.hash((parts, sorted(code.found.items()))))
    except (TypeError, AttributeError, pickle.PicklingError):
        return uuid4().hex  # matches no checkpoint, so that nothing wrong is reused


class _CodeFinder(pickle.Pickler):
    """Finds the classes and functions that a pickle refers to, and their source."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO())
        self.found: dict[str, str] = {}

    def reducer_override(self, thing: Any) -> Any:
        """Note the source of a class or function; it is pickled as usual."""
        if isinstance(thing, type | FunctionType) and thing.__module__.split(".")[0] not in _INSTALLED:
            self.found[f"{thing.__module__}.{thing.__qualname__}"] = _source(thing)
        return NotImplemented


def _source(thing: Any) -> str:
    """Return the source of the module that defines a class or function, or at least its own."""
    with suppress(OSError, TypeError):  # a notebook has no file
        return inspect.getsource(sys.modules[thing.__module__])
    try:
        return inspect.getsource(thing)
    except TypeError:  # compiled code
        return ""
    except OSError:  # typed at a prompt: nobody can tell whether it has changed
        return uuid4().hex


def digest_levels(levels: pd.Series[float] | pd.DataFrame | None) -> str:
    """Return the SHA-256 of an index, days and levels; nothing without one."""
    if levels is None:
        return ""
    hasher = hashlib.sha256(levels.index.to_numpy("datetime64[ns]").tobytes())
    hasher.update(levels.to_numpy(float).tobytes())
    if isinstance(levels, pd.DataFrame):
        hasher.update("\n".join(levels.columns).encode())
    return hasher.hexdigest()
