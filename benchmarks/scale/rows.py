"""Measured rows, each with a number and possibly the bar that it must meet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import psutil

QUIET = 0.25  # share of the cores in use up to which wall-clock times are reliable


class Row(NamedTuple):
    """One number.

    Attributes
    ----------
    name : str
        What was measured.
    size : str
        The size of the samples.
    value : float
        The number.
    unit : str
        Its unit: s, MB, or nothing for a ratio.
    at_most, at_least : float, optional
        The bar, if there is one.
    note : str
        A note for the reader.
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
        """Whether the bar is met; None if there is none."""
        if self.at_most is not None:
            return self.value <= self.at_most
        return None if self.at_least is None else self.value >= self.at_least

    def cells(self) -> list[str]:
        """Return name, size, number, bar and note as text."""
        bar = f"≤ {self.at_most:.3g}" if self.at_most is not None else ""
        bar = f"≥ {self.at_least:.3g}" if self.at_least is not None else bar
        if self.meets is False:
            bar += ", missed"
        return [self.name, self.size, f"{format_number(self.value)} {self.unit}".strip(), bar, self.note]


HEADER = ("measured", "samples", "result", "bar", "note")


def format_number(value: float) -> str:
    """Format a number with three digits, and without an exponent if it is large."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def cores_in_use() -> float:
    """Return the share of the cores that other processes use, measured for a second."""
    # The one-minute load average would still contain earlier measurements.
    return float(psutil.cpu_percent(interval=1.0)) / 100.0


def trust(shares: Iterable[float]) -> str:
    """Return a note if other processes make wall-clock times unreliable."""
    highest = max(shares)
    return "" if highest <= QUIET else f"busy machine ({highest:.0%} of the cores): not to be trusted"


def save_part(path: Path, part: str, rows: Sequence[Row], load: float) -> None:
    """Write the rows of one part of the benchmark to a JSON file, keeping the other parts.

    Parameters
    ----------
    path : Path
        The file.
    part : str
        Name of the part.
    rows : sequence of Row
        What was measured.
    load : float
        The share of the cores in use before.
    """
    saved = read_parts(path)
    when = datetime.now().astimezone().isoformat(timespec="minutes")
    saved[part] = {"when": when, "rows": [row._asdict() for row in rows], "load": round(load, 2)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_parts(path: Path) -> dict[str, dict[str, Any]]:
    """Read a file, by part; return an empty dictionary if there is no file."""
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def rows_of(part: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a saved part."""
    return [Row(**row) for row in part["rows"]]
