"""What was measured: rows with a number each, and the bar that it has to reach."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import psutil

QUIET = 0.25  # share of the cores in use up to which times of the day can be trusted


class Row(NamedTuple):
    """One number.

    Attributes
    ----------
    name : str
        What was measured.
    size : str
        For which samples.
    value : float
        The number.
    unit : str
        Its unit: s, MB, or nothing for a ratio.
    at_most, at_least : float, optional
        The bar, if there is one.
    note : str
        What the reader should know.
    """

    name: str
    size: str
    value: float
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def meets(self) -> bool | None:
        """Whether the bar is reached; None if there is none."""
        if self.at_most is not None:
            return self.value <= self.at_most
        return None if self.at_least is None else self.value >= self.at_least

    def cells(self) -> list[str]:
        """Return name, size, number, bar and note as texts."""
        bar = f"≤ {self.at_most:.3g}" if self.at_most is not None else ""
        bar = f"≥ {self.at_least:.3g}" if self.at_least is not None else bar
        if self.meets is False:
            bar += ", missed"
        return [self.name, self.size, f"{format_number(self.value)} {self.unit}".strip(), bar, self.note]


HEADER = ("measured", "samples", "result", "bar", "note")


def format_number(value: float) -> str:
    """Return a number with three digits, and without exponent if it is large."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def cores_in_use() -> float:
    """Return the share of the cores that others use now, in a second."""
    # The load average of a minute would still hold what was measured before.
    return float(psutil.cpu_percent(interval=1.0)) / 100.0


def trust(shares: Iterable[float]) -> str:
    """Return a note if others used the machine, so that times of the day are not to be trusted."""
    highest = max(shares)
    return "" if highest <= QUIET else f"busy machine ({highest:.0%} of the cores): not to be trusted"


def save_part(path: Path, part: str, rows: Sequence[Row], load: float) -> None:
    """Write the rows of one part of the benchmark to a JSON file; the other parts in it stay.

    Parameters
    ----------
    path : Path
        The file.
    part : str
        Name of the part.
    rows : sequence of Row
        What was measured.
    load : float
        The share of the cores that was in use before.
    """
    saved = read_parts(path)
    when = datetime.now().astimezone().isoformat(timespec="minutes")
    saved[part] = {"when": when, "rows": [row._asdict() for row in rows], "load": round(load, 2)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_parts(path: Path) -> dict[str, dict[str, Any]]:
    """Return what is saved in a file, by part; nothing if there is no file."""
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def rows_of(part: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a saved part."""
    return [Row(**row) for row in part["rows"]]
