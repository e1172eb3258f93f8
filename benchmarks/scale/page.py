"""Write the measured tables and pictures into docs/scaling.md: ``python -m benchmarks.scale.page``."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .one_fit import ROOT
from .pictures import draw_passes, draw_workers
from .prediction import N_FEATURES, predictions, saved_cluster
from .rows import HEADER, read_parts, rows_of
from .run import RESULTS
from .simulation import block_rows, simulate_pass

PAGE = ROOT / "docs" / "scaling.md"
IMAGES = ROOT / "docs" / "images"
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0


def main(results: Path = RESULTS) -> None:
    """Fill in the tables of the page, and draw its pictures."""
    parts = read_parts(results)
    PAGE.write_text(filled(PAGE.read_text("utf-8"), tables(parts)), encoding="utf-8")
    if {"passes", "cluster"} <= set(parts):
        draw_passes(parts, IMAGES / "scaling_passes.png")
        draw_workers(parts, IMAGES / "scaling_workers.png")


def tables(parts: Mapping[str, Any]) -> dict[str, str]:
    """Return the tables by name: one per part that was measured, and one of predictions."""
    found = {name: _part_table(part) for name, part in parts.items()}
    if "cluster" in parts:
        found["prediction"] = prediction_table(parts["cluster"])
    return found


def filled(text: str, by_name: Mapping[str, str]) -> str:
    """Replace what is between ``<!-- table: NAME -->`` and ``<!-- end -->`` by the table of this name."""

    def table(match: re.Match[str]) -> str:
        name = match["name"]
        content = by_name.get(name, "Not measured yet.")
        return f"<!-- table: {name} -->\n{content}\n<!-- end -->"

    return re.sub(r"<!-- table: (?P<name>[\w-]+) -->\n.*?<!-- end -->", table, text, flags=re.DOTALL)


def prediction_table(part: Mapping[str, Any]) -> str:
    """Return simulated fits to millions of samples on many workers, as a table."""
    cluster, _ = saved_cluster(part)
    rows = []
    for (n, workers), fit in predictions(part).items():
        one = simulate_pass(n, N_FEATURES, workers, cluster.costs["evaluation"], cluster)
        tasks = len(block_rows(n)) * (len(block_rows(n)) + 1) // 2
        busy = f"{100 * fit.busy(workers):.0f} %"
        moved = f"{fit.moved / 1e9:,.0f} GB"
        rows.append(
            [f"{n:,}", f"{workers:,}", f"{tasks:,}", span(one.seconds), span(fit.seconds), moved, busy]
        )
    header = ("samples", "workers", "tasks per pass", "a pass", "a fit", "moved", "workers compute")
    return _markdown(header, rows)


def span(seconds: float) -> str:
    """Return a time in seconds, minutes, hours or days."""
    for unit, size in (("days", _DAY), ("hours", _HOUR), ("minutes", _MINUTE)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 100 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.2g} s"


def _part_table(part: Mapping[str, Any]) -> str:
    rows = [row.cells() for row in rows_of(part)]
    kept = [k for k in range(len(HEADER)) if any(cells[k] for cells in rows)]
    table = _markdown([HEADER[k] for k in kept], [[cells[k] for k in kept] for cells in rows])
    return f"{table}\n\nMeasured {part['when'][:10]}."


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
