"""Write the measured tables and the figure to docs/scaling.md: ``python -m benchmarks.scale.page``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from .one_fit import ROOT
from .rows import HEADER, Row, read_parts, rows_of

RESULTS = Path(__file__).with_name("measured.json")
PAGE = ROOT / "docs" / "scaling.md"
PICTURE = ROOT / "docs" / "images" / "scaling_passes.png"
_COLORS = ("#1B6CA8", "#C8553D")


def write_page() -> None:
    """Fill in the tables of the page, and draw its figure."""
    parts = read_parts(RESULTS)
    tables = {name: part_table(part) for name, part in parts.items()}
    PAGE.write_text(filled(PAGE.read_text("utf-8"), tables), encoding="utf-8")
    draw_passes(rows_of(parts["passes"]), PICTURE)


def filled(text: str, tables: Mapping[str, str]) -> str:
    """Replace the text between ``<!-- table: NAME -->`` and ``<!-- end -->`` by the table of this name."""

    def table(match: re.Match[str]) -> str:
        name = match["name"]
        content = tables.get(name, "Not measured yet.")
        return f"<!-- table: {name} -->\n{content}\n<!-- end -->"

    return re.sub(r"<!-- table: (?P<name>[\w-]+) -->\n.*?<!-- end -->", table, text, flags=re.DOTALL)


def part_table(part: Mapping[str, Any]) -> str:
    """Return the rows of a saved part as a table, without empty columns."""
    rows = [row.cells() for row in rows_of(part)]
    kept = [k for k in range(len(HEADER)) if any(cells[k] for cells in rows)]
    lines = [HEADER, ["---"] * len(HEADER), *rows]
    table = "\n".join(f"| {' | '.join(line[k] for k in kept)} |" for line in lines)
    return f"{table}\n\nMeasured {part['when'][:10]}."


def draw_passes(rows: Sequence[Row], path: Path) -> None:
    """Draw seconds per pass against samples."""
    figure = Figure(figsize=(5.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for name, color in zip(("evaluation", "Hessian product"), _COLORS, strict=True):
        points = [(_samples(row), row.value) for row in rows if row.name == name]
        axes.loglog(*zip(*points, strict=True), "o-", color=color, label=name)
    sizes = sorted({_samples(row) for row in rows})
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes], minor=False)
    axes.set_xticks([], minor=True)
    axes.set(
        xlabel="samples, 70 features", ylabel="processor seconds per pass", title="A pass over all pairs"
    )
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Software": None}, dpi=110)


def _samples(row: Row) -> int:
    return int(row.size.split(" ×")[0].replace(",", ""))


if __name__ == "__main__":
    write_page()
