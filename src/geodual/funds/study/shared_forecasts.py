"""The forecasts of the studies of a sweep: factors are computed once, and what is equal is learned once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..config import AFTER_FORECASTS
from ..decisions.observations import Observations
from ..decisions.walk_forward import walk_forward
from ..evaluation.tuning import tune_forecasters
from ..forecasters.forecast import Forecaster
from ..forecasters.learning import digest_of
from ..run import ProgressCallback
from .books import rows_to_decide
from .forecasts import Forecasts, gather_forecasts
from .inputs import Inputs
from .sweep_grid import describe
from .trading import find_benchmark


@dataclass(frozen=True, eq=False)
class Trial:
    """One combination of settings.

    Attributes
    ----------
    combination : dict
        The settings tried.
    given : Inputs
        All inputs of the study.
    observations : Observations
        What was known at each rebalance day; trials share it if they can.
    rows : list of int
        Positions of the rebalance days to decide on.
    """

    combination: Mapping[str, Any]
    given: Inputs
    observations: Observations
    rows: list[int]

    def has_days_of(self, other: Trial) -> bool:
        """Return whether two trials decide on the same days with the same knowledge."""
        return self.observations is other.observations and self.rows == other.rows

    def has_forecasts_of(self, other: Trial) -> bool:
        """Return whether the forecasts of two trials are the same."""
        own, others = self.given.config.for_forecasts(), other.given.config.for_forecasts()
        return self.has_days_of(other) and own == others

    @property
    def learned(self) -> str:
        """The settings tried that forecasts depend on, in words."""
        return describe({key: value for key, value in self.combination.items() if key not in AFTER_FORECASTS})


def observe_once(combinations: Sequence[Mapping[str, Any]], inputs: Sequence[Inputs]) -> list[Trial]:
    """Return the trials of a sweep; factors are computed once for all settings that do not change them.

    Parameters
    ----------
    combinations : sequence of mapping
        The settings tried.
    inputs : sequence of Inputs
        The inputs of each study.
    """
    keys = [(given.config.for_observations(), given.factors) for given in inputs]
    made: dict[int, Observations] = {}
    trials: list[Trial] = []
    for combination, given, key in zip(combinations, inputs, keys, strict=True):
        first = keys.index(key)
        if first not in made:
            alike = [each for each, other in zip(inputs, keys, strict=True) if other == key]
            made[first] = given.observe(dict.fromkeys(name for each in alike for name in each.asked))
        trials.append(_checked(combination, given, made[first], trials))
    return trials


def _checked(
    combination: Mapping[str, Any], given: Inputs, observations: Observations, before: Sequence[Trial]
) -> Trial:
    """Return a trial; raise, before anything is learned, if it cannot be decided or has no index."""
    trial = Trial(combination, given, observations, rows_to_decide(observations, given.config, given.fees))
    lag = given.config.execution_lag
    if not any(each.has_days_of(trial) and each.given.config.execution_lag == lag for each in before):
        find_benchmark(given, observations, trial.rows)
    return trial


@dataclass(frozen=True, eq=False)
class Lesson:
    """The forecasters of one or more trials with the same forecasts.

    Attributes
    ----------
    trial : Trial
        The first of these trials.
    forecasters : dict of str to Forecaster
        The forecasters, with the settings that tuning chose.
    chosen : dict
        These settings, by forecaster.
    """

    trial: Trial
    forecasters: dict[str, Forecaster]
    chosen: dict[str, dict[str, Any]]


def plan_lessons(trials: Sequence[Trial], **effort: Any) -> list[Lesson]:
    """Return what is learned in a sweep, each once; tunes forecasters if the settings say so.

    Parameters
    ----------
    trials : sequence of Trial
        The trials.
    **effort
        Passed on to `tune_forecasters`: n_jobs, progress.
    """
    lessons: list[Lesson] = []
    for trial in trials:
        if not any(trial.has_forecasts_of(lesson.trial) for lesson in lessons):
            config, forecasters = trial.given.config, dict(trial.given.forecasters)
            known = trial.observations, forecasters, config, trial.rows
            chosen = tune_forecasters(*known, **effort) if config.tune else {}
            lessons.append(Lesson(trial, forecasters, chosen))
    return lessons


class Walk:
    """The decisions of all lessons on the same days, made in one walk: equal forecasters decide once.

    Parameters
    ----------
    lessons : sequence of Lesson
        One or more, on the same days.
    """

    def __init__(self, lessons: Sequence[Lesson]) -> None:
        self._lessons, self._days = lessons, lessons[0].trial
        self._forecasters: dict[str, Forecaster] = {}
        self._names: list[dict[str, str]] = []  # by lesson: the name in the walk of each forecaster
        known: dict[tuple[str, object], str] = {}
        for lesson in lessons:
            keys = {name: (name, digest_of(each) or id(each)) for name, each in lesson.forecasters.items()}
            names = {name: known.setdefault(key, self._new_name(name, lesson)) for name, key in keys.items()}
            self._forecasters |= {names[name]: each for name, each in lesson.forecasters.items()}
            self._names.append(names)

    def _new_name(self, name: str, lesson: Lesson) -> str:
        """Return the name of a forecaster in the walk, which says with which settings it is."""
        told = f"{name} ({lesson.trial.learned})" if lesson.trial.learned else name
        return told if told not in self._forecasters else f"{told} {len(self._names)}"

    @property
    def n_decisions(self) -> int:
        """Number of decisions to make."""
        return len(self._days.rows) * len(self._forecasters)

    def run(self, n_jobs: int | None, progress: ProgressCallback) -> list[tuple[Trial, Forecasts]]:
        """Make all decisions, and return the forecasts of each lesson with its first trial.

        Parameters
        ----------
        n_jobs : int, optional
            Number of worker processes.
        progress : callable
            Called after each decision.
        """
        observations, rows = self._days.observations, self._days.rows
        decisions = walk_forward(observations, self._forecasters, rows, n_jobs=n_jobs, progress=progress)
        made = {(each.day, each.forecaster): each for each in decisions}
        forecasts: list[tuple[Trial, Forecasts]] = []
        for lesson, names in zip(self._lessons, self._names, strict=True):
            own = [
                replace(made[day, told], forecaster=name)
                for day in observations.days[rows]
                for name, told in names.items()
            ]
            like = forecasts[0][1] if forecasts else None
            given = lesson.trial.given
            found = gather_forecasts(given, observations, rows, lesson.forecasters, own, lesson.chosen, like)
            forecasts.append((lesson.trial, found))
        return forecasts


def plan_walks(lessons: Sequence[Lesson]) -> list[Walk]:
    """Return one walk for all lessons on the same days."""
    groups: list[list[Lesson]] = []
    for lesson in lessons:
        alike = [group for group in groups if group[0].trial.has_days_of(lesson.trial)]
        if alike:
            alike[0].append(lesson)
        else:
            groups.append([lesson])
    return [Walk(group) for group in groups]
