"""A run that is continued: its settings, whether a table has the same past, and which run a folder holds."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.bounded_reading import parse_nested
from geodual.errors import DataError

from ..config import StudyConfig
from ..decisions.observations import Observations
from ..evaluation.study_tables import StudyTables
from ..evaluation.tuning import take_chosen
from ..factors.factor import FactorSet, choose_factors
from ..forecasters.forecast import Forecaster
from ..forecasters.make import Workshop
from ..forecasters.registry import is_known
from ..panel import Panel
from ..run import SUMMARY
from ..sources.reading.fund_facts import FundFacts, no_facts
from .saved_study import read_study
from .study import Study

_ROUNDING = 1e-9  # relative difference of returns that were saved with all digits


@dataclass(frozen=True, eq=False)
class Plan:
    """A strategy: its settings and forecasters, and the study that it comes from.

    Attributes
    ----------
    config : StudyConfig
        The settings.
    factors : FactorSet
        The factors that describe the funds.
    forecasters : dict of str to Forecaster
        The forecasters; of a run, only the one that is used.
    study : StudyTables, optional
        The study that is continued.
    name : str, optional
        The forecaster that the user chose among those of the study.
    facts : FundFacts
        Facts about the funds: those given, otherwise those of the study.
    folder : str
        The folder of the study, if it is on disk.
    """

    config: StudyConfig
    factors: FactorSet
    forecasters: dict[str, Forecaster]
    facts: FundFacts
    study: StudyTables | None = None
    name: str | None = None
    folder: str = ""


def plan_of_run(
    run: StudyTables | str | Path, forecaster: Any, given: Mapping[str, Any], facts: FundFacts
) -> Plan:
    """Return the strategy of a run; raise if settings are given as well.

    Parameters
    ----------
    run : StudyTables or path
        A study, or its folder.
    forecaster : str or mapping, optional
        One of those that it compared; by default the one that it names. If it was given as an object, which
        a folder does not keep, a mapping from its name to the object.
    given : mapping
        Arguments that a run has settled already; they must be None or absent.
    facts : FundFacts
        Facts about the funds; if nothing is known, those of the run.
    """
    more = [name for name, value in given.items() if value is not None]
    if more:
        raise DataError(
            f"`{more[0]}` is a setting of the run already; leave it out, or run the study again with it."
        )
    study = run if isinstance(run, StudyTables) else read_study(run)
    own = forecaster if isinstance(forecaster, Mapping) and len(forecaster) == 1 else {}
    name = next(iter(own), forecaster)
    if name is not None and not (isinstance(name, str) and name in study.config.compared):
        raise DataError(
            f"`forecaster` must be one of those that the run compared, {', '.join(study.config.compared)}, "
            f"or a mapping from such a name to an object, got {reprlib.repr(forecaster)}."
        )
    config, used = replace(study.config, end=""), name or study.strategy
    made = _make_again(study, config, used, own)
    folder = "" if isinstance(run, StudyTables) else str(run)
    known = facts if facts.digest else facts_of_run(study)
    return Plan(config, choose_factors(config.factors), {used: made}, known, study, name, folder)


def _make_again(study: StudyTables, config: StudyConfig, name: str, own: Mapping[str, Any]) -> Forecaster:
    """Return a forecaster of a study: the object given, the one in memory, or one made from its name."""
    workshop = Workshop(config)
    if name in own:
        return workshop.wrap(name, own[name])
    if isinstance(study, Study) and study.forecasts is not None:
        return study.forecasts.forecasters[name]
    tables = config.forecasters if isinstance(config.forecasters, Mapping) else {}
    if not (tables.get(name) or is_known(name)):
        raise DataError(
            f"{name!r} was given to the run as an object, which its folder does not keep; give it again: "
            f"`forecaster={{{name!r}: …}}`."
        )
    made = workshop.metric(name) if name in config.metrics else workshop.make(name)
    return take_chosen(name, made, study.chosen[name], config) if name in study.chosen else made


def facts_of_run(study: StudyTables) -> FundFacts:
    """Return the facts that a run used; raise if its folder is of a version that did not keep them all."""
    if not study.facts_digest:
        return no_facts()
    columns = list(no_facts().table)
    if not set(columns) <= set(study.facts):
        raise DataError("The run used facts about the funds; give them again as `facts` (--meta).")
    return FundFacts(study.facts[columns].dropna(how="all").rename_axis("code"), "the run")


def check_past(study: StudyTables, observations: Observations) -> None:
    """Raise if a table does not continue a run: it ends before it, or its past differs.

    On each day of decision the same funds must have been there, and have earned the same until the next.

    Parameters
    ----------
    study : StudyTables
        The run.
    observations : Observations
        What was known at each rebalance day, from the table.
    """
    end, last = study.equity.index[-1], observations.panel.nav.index[-1]
    if last < end:
        raise DataError(
            f"The run has used the data up to {end.date()}, so picks for {last.date()} would look ahead. "
            "Choose a later `as_of`, or run a study with an earlier `end`."
        )
    row_of = {day: t for t, day in enumerate(observations.days)}
    past = study.predictions[study.predictions["forecaster"] == study.config.compared[0]]
    realized = past.set_index(["date", "fund"])["realized"]
    for day in study.ic.index:
        if day not in row_of:
            raise _differs(f"{day.date()} is no rebalance day")
        there, funds = realized[day], observations.sections[row_of[day]].funds
        changed = there.index.symmetric_difference(funds)
        if len(changed):
            where = "that of the run" if changed[0] in there.index else "this one"
            raise _differs(f"{changed[0]} can be chosen on {day.date()} in {where} only")
        if there.notna().any():
            _compare_returns(day, there, observations.returns(row_of[day] + 1).reindex(there.index))


def _compare_returns(day: pd.Timestamp, there: pd.Series[float], here: pd.Series[float]) -> None:
    wrong = ~np.isclose(there, here, rtol=_ROUNDING, atol=_ROUNDING, equal_nan=True)
    if wrong.any():
        fund = there.index[wrong][0]
        shown = f"{100.0 * here[fund]:.2f} % in place of {100.0 * there[fund]:.2f} %"
        raise _differs(f"{fund} earned {shown} in the holding interval after {day.date()}")


def _differs(what: str) -> DataError:
    return DataError(
        f"The past of this table is not that of the run: {what}. Give the table of the run or a later "
        "version of it; if its past was revised, run the study again."
    )


def keep_other_runs(folder: str | Path, panel: Panel, *, update: bool = False) -> None:
    """Raise if a folder holds a run of other data, which a new run would replace.

    Parameters
    ----------
    folder : path
        The folder to write to; it need not exist.
    panel : Panel
        The data of the new run.
    update : bool
        Whether the run in the folder may end earlier: its table is then the start of this one.
    """
    path = Path(folder, SUMMARY)
    try:
        summary = parse_nested(json.loads, path.read_text("utf-8"))
    except FileNotFoundError:
        return
    except (OSError, ValueError):
        summary = {}
    known = summary if isinstance(summary, dict) else {}
    if known.get("sha256") == panel.digest:
        return
    continues = _continues(panel, known)
    if update and continues:
        return
    source = known.get("source")
    found = f"a run of other data ({source})" if source else f"a {SUMMARY} of something else"
    remedy = "Choose another folder with --out, or replace it with --overwrite."
    if continues:
        found = "a run of the same table that ends earlier"
        remedy = (
            "Continue it with --update, replace it with --overwrite, or choose another folder with --out."
        )
    raise DataError(f"{folder}: there is {found}. {remedy}")


def _continues(panel: Panel, summary: dict[str, Any]) -> bool:
    """Return whether a table is that of a run, with later rows and perhaps funds that are new."""
    days = summary.get("days")
    last = pd.to_datetime(days[-1], errors="coerce") if isinstance(days, list) and days else pd.NaT
    if pd.isna(last):
        return False
    before = panel.until(last)
    known = Panel(before.nav.dropna(axis=1, how="all"))
    return summary.get("sha256") in (before.digest, known.digest)
