"""The form of settings, made from `StudyConfig`: every setting with its meaning, in groups."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from geodual.errors import DataError
from geodual.funds.config import CHOICES, GROUPS, StudyConfig
from geodual.funds.forecasters.registry import forecaster_names
from geodual.funds.settings import Setting, list_settings
from geodual.metric.registry import metric_label, metric_names

JOBS = "jobs"  # the field of the number of processes, which is no setting of the study
_LABELS = {
    "metrics": "Metrics to compare",
    "forecasters": "Other forecasters to compare",
    "top": "Funds to hold",
    "frequency": "Rebalance",
    "test_start": "Test period from",
    "start": "First decision",
    "end": "Last day",
    "types": "Types of funds",
    "include": "Only these funds",
    "exclude": "Without these funds",
    "share_classes": "Share classes",
    "cost": "Cost per trade",
    "redemption_fees": "Redemption fees",
    "execution_lag": "Days until orders are filled",
    "settlement_lag": "Further days, by type",
    "weights": "Weights",
    "max_weight": "Most in one fund",
    "max_type": "Most in one type",
    "max_company": "Most in one company",
    "keep_rank": "Keep funds ranked above",
    "min_holding": "Days to hold at least",
    "k": "Neighbors",
    "neighbors": "Look for neighbors in",
    "label": "Classes to learn",
    "relative_to": "Returns relative to",
    "train_quarters": "Intervals to learn from",
    "factors": "Factors",
    "baselines": "Baselines",
    "tune": "Tune",
    "random_state": "Random seed",
}
_DAYS = ("start", "end", "test_start")


@dataclass(frozen=True)
class Field:
    """A field of the form.

    Attributes
    ----------
    name : str
        Name of the setting.
    label, text : str
        What it is called, and what it means.
    widget : str
        "choice", "boxes", "switch", "number", "date" or "text".
    value : str or tuple of str
        What it shows first.
    options : tuple of (str, str)
        Values to choose from, and their labels.
    reason : str
        Why the value is not the default.
    """

    name: str
    label: str
    text: str
    widget: str
    value: str | tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    reason: str = ""


def make_form(suggestions: Sequence[Sequence[str]]) -> dict[str, list[Field]]:
    """Return the fields by group.

    Parameters
    ----------
    suggestions : sequence of (str, str, str)
        Values that take the place of defaults: name, value and reason.
    """
    suggested = {name: (value, reason) for name, value, reason in suggestions}
    form: dict[str, list[Field]] = {group: [] for group in GROUPS}
    for setting in list_settings():
        own = suggested.get(setting.name, ("", ""))
        form[setting.group].append(_field(setting, label_of(setting.name), *own))
    text = "Worker processes that decide at the same time; −1 for one per core."
    form["Machine"].append(Field(JOBS, "Processes", text, "number", "-1"))
    return form


def refill(form: dict[str, list[Field]], given: Mapping[str, Sequence[str]]) -> dict[str, list[Field]]:
    """Return the form with what was sent of it before; as it is if nothing was.

    Parameters
    ----------
    form : dict
        Fields by group.
    given : mapping of str to sequence of str
        As `read_form` takes it.
    """
    if not given:
        return form
    return {group: [_refilled(field, given.get(field.name, ())) for field in form[group]] for group in form}


def _refilled(field: Field, texts: Sequence[str]) -> Field:
    value = tuple(texts) if field.widget == "boxes" else ",".join(texts)
    return field if value == field.value else replace(field, value=value, reason="")


def label_of(name: str) -> str:
    """Return what a setting is called in the app."""
    return _LABELS.get(name, name.replace("_", " ").capitalize())


def _field(setting: Setting, label: str, value: str, reason: str) -> Field:
    name, default, text = setting.name, setting.default, setting.text.replace("`", "")
    if name == "metrics":
        boxes = tuple((metric, metric_label(metric)) for metric in metric_names())
        return Field(name, label, "Nearest neighbors in these metrics forecast.", "boxes", default, boxes)
    if name == "forecasters":
        known = [each for each in forecaster_names() if each not in metric_names()]
        text = f"Names such as {', '.join(known)}, or factor:sharpe_90 to rank by one factor."
    widget = "text"
    if isinstance(default, tuple):
        text += " Separate several by commas."
    if name in CHOICES:
        widget = "choice"
    elif isinstance(default, bool):
        widget = "switch"
    elif isinstance(default, int | float):
        widget = "number"
    elif name in _DAYS:
        widget = "date"
    options = tuple((choice, choice) for choice in CHOICES.get(name, ()))
    return Field(name, label, text, widget, value or show_value(default), options, reason)


def show_value(value: Any) -> str:
    """Return a setting as the form shows it; empty for false."""
    if isinstance(value, Mapping | tuple | list):
        return ", ".join(value)
    return "" if value is False else str(value)


def read_form(given: Mapping[str, Sequence[str]]) -> tuple[dict[str, Any], int]:
    """Return the settings that are not at their defaults, and the number of processes.

    Parameters
    ----------
    given : mapping of str to sequence of str
        Texts by name of the field; several for boxes, none for a switch that is off.

    Raises
    ------
    DataError
        If a value is none that the setting may have.
    """
    settings = {
        each.name: _value(given.get(each.name, ()), each.default)
        for each in list_settings()
        if each.name in given or each.name == "metrics" or isinstance(each.default, bool)
    }
    if not settings["metrics"] and not settings.get("forecasters"):
        raise DataError("There is nothing to compare. Tick a metric, or name another forecaster.")
    try:
        checked = StudyConfig(**settings)
    except DataError as error:  # settings are called as in the form
        told = re.sub(r"`(\w+)`", lambda name: f"“{label_of(name[1])}”", str(error))
        raise DataError(told) from error
    # The metrics are always told: other forecasters without them would take their place.
    changed = {
        each.name: getattr(checked, each.name)
        for each in list_settings()
        if each.name == "metrics" or getattr(checked, each.name) != each.default
    }
    if not checked.metrics:
        del changed["metrics"]
    return changed, _read_jobs("".join(given.get(JOBS, ())))


def _read_jobs(text: str) -> int:
    jobs = _number(text or "-1", int)
    if not isinstance(jobs, int) or jobs == 0:
        raise DataError(
            f"“Processes” must be a whole number other than 0, got {text!r}; write -1 for one per core."
        )
    return jobs


def _value(texts: Sequence[str], default: Any) -> Any:
    """Return what the texts of a field stand for; a text that is no number is refused later."""
    text = ",".join(texts).strip()
    if isinstance(default, bool):
        return bool(text)
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if isinstance(default, int | float):
        return _number(text, type(default)) if text else default
    return text or default


def _number(text: str, kind: type) -> Any:
    try:
        return kind(text)
    except ValueError:
        return text
