"""Run folders inside the folder of the user: their names, what is known of them, and how they differ."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from geodual.bounded_reading import parse_nested
from geodual.errors import DataError
from geodual.funds.config import StudyConfig, read_config
from geodual.funds.forecasters.registry import forecaster_label
from geodual.funds.run import CHECKPOINTS, CONFIG, SUMMARY
from geodual.places import is_place

from .form import label_of, show_value

PICKED = "picks"  # the files of a selection in a run folder are named so
ORDERS = f"{PICKED}-orders.csv"  # as `geodual select` names them
SHOWN_PICKS = f"{PICKED}.json"  # what the app shows of a selection
_LONGEST = 60  # characters of a folder's name; file systems allow 255 bytes
_PERCENT = "annual_return", "volatility", "max_drawdown", "turnover"
_FIGURES = {
    "ic_mean": "IC",
    "annual_return": "Return",
    "volatility": "Volatility",
    "sharpe": "Sharpe",
    "max_drawdown": "Drawdown",
    "turnover": "Turnover",
}
_MISSING = "–"


@dataclass(frozen=True)
class Run:
    """A finished run, as the list of runs shows it.

    Attributes
    ----------
    name : str
        Name of its folder.
    source, index, digest : str
        The table and the index, and the SHA-256 of the table.
    days : tuple of (str, str)
        First and last day of its portfolios.
    settings : dict
        Its settings.
    period : str
        The period of the figures: "test" if there is one, otherwise "both".
    figures : dict
        Measures by forecaster; "index" stands for the index.
    has_facts : bool
        Whether it used facts about the funds.
    """

    name: str
    source: str
    index: str
    digest: str
    days: tuple[str, str]
    settings: dict[str, Any]
    period: str
    figures: dict[str, dict[str, float | None]]
    has_facts: bool

    @property
    def changed(self) -> str:
        """The settings that are not at their defaults, in words."""
        default = asdict(StudyConfig())
        names = [name for name, value in self.settings.items() if value != default[name]]
        return " · ".join(f"{label_of(name)}: {show_value(self.settings[name]) or 'none'}" for name in names)

    @property
    def period_told(self) -> str:
        """The period of the figures, in words."""
        return "Whole study" if self.period == "both" else f"{self.period.capitalize()} period"

    @property
    def period_days(self) -> tuple[str, str]:
        """First and last day of the period of the figures."""
        (first, last), test = self.days, str(self.settings["test_start"])
        return (max(first, test), last) if self.period == "test" else (first, last)

    def span(self, measure: str) -> str:
        """Return the least and the largest value of a measure over all forecasters, as text."""
        known = [row.get(measure) for name, row in self.figures.items() if name != "index"]
        values = sorted(value for value in known if value is not None)
        if not values:
            return _MISSING
        low, high = (_show(measure, values[at]) for at in (0, -1))
        return low if low == high else f"{low} to {high}"

    def of_index(self, measure: str) -> str:
        """Return a measure of the index, as text."""
        return _show(measure, self.figures.get("index", {}).get(measure))


def _show(measure: str, value: Any) -> str:
    if not isinstance(value, int | float):
        return _MISSING
    text = f"{100.0 * value:.1f}\u202f%" if measure in _PERCENT else f"{value:.2f}"
    return text.replace("-", "−")


def folder_name(wanted: str, folder: Path, taken: set[str]) -> str:
    """Return a name for a new folder that is like the name wanted, safe on all systems, and free.

    Parameters
    ----------
    wanted : str
        Any text.
    folder : Path
        Where the folder will be.
    taken : set of str
        Names that will be folders soon.
    """
    # No point at the start or the end, and `run-` before names that Windows keeps for devices.
    stem = re.sub(r"[^\w-]+", "-", wanted)[:_LONGEST].strip("-_") or "run"
    stem = f"run-{stem}" if re.fullmatch(r"(?i)con|prn|aux|nul|com\d|lpt\d", stem) else stem
    known = {name.casefold() for name in taken}
    names = (stem if i == 1 else f"{stem}-{i}" for i in range(1, 10**6))
    return next(name for name in names if name.casefold() not in known and not (folder / name).exists())


def list_runs(folder: Path) -> tuple[list[Run], list[str]]:
    """Return the finished runs, newest first, and the names of folders of unfinished or damaged ones."""
    if not folder.is_dir():
        return [], []
    inside = [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
    runs, others = [], []
    for path in sorted(inside, key=lambda path: path.stat().st_mtime, reverse=True):
        if (path / SUMMARY).is_file():
            try:
                runs.append(read_run(path))
            except DataError:
                others.append(path.name)
        elif (path / CHECKPOINTS).exists() or (path / CONFIG).exists():
            others.append(path.name)
    return runs, others


def read_run(path: Path) -> Run:
    """Return what the list shows of a run folder, from its settings and its summary."""
    try:
        summary = parse_nested(json.loads, (path / SUMMARY).read_text(encoding="utf-8"))
        table = summary["table1"]
        period = "test" if _is_known(table.get("test", {})) else "both"
        return Run(
            name=path.name,
            source=Path(str(summary["source"])).name,
            index=str(summary["index"]),
            digest=str(summary["sha256"]),
            days=(str(summary["days"][0]), str(summary["days"][1])),
            settings=asdict(StudyConfig(**read_config(path / CONFIG))),
            period=period,
            figures={str(name): dict(row) for name, row in table[period].items()},
            has_facts=bool(summary["facts_sha256"]),
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(f"{path.name}: the run cannot be read ({error!r}). Run the study again.") from None


def _is_known(figures: dict[str, dict[str, Any]]) -> bool:
    return any(row.get("ic_mean") is not None for row in figures.values())


def differing_settings(runs: list[Run]) -> list[tuple[str, list[str]]]:
    """Return the settings that differ between runs: what each is called, and its value in every run."""
    rows = [("Table", [run.source for run in runs]), ("Index", [run.index for run in runs])]
    names = runs[0].settings if runs else {}
    rows += [(label_of(name), [show_value(run.settings[name]) or "none" for run in runs]) for name in names]
    return [(label, values) for label, values in rows if len(set(values)) > 1]


def compared_figures(runs: list[Run]) -> list[list[str]]:
    """Return one row per run and forecaster: run, forecaster, and the measures as texts."""
    return [
        [run.name, run.index if name == "index" else _label(name)]
        + [_show(measure, row.get(measure)) for measure in _FIGURES]
        for run in runs
        for name, row in run.figures.items()
    ]


def _label(name: str) -> str:
    # The label of a place would be imported with its module: a list of runs must not execute anything.
    return name if is_place(name) else forecaster_label(name)


def figure_titles() -> list[str]:
    """Return the headings of `compared_figures`."""
    return ["Run", "Forecaster", *_FIGURES.values()]
