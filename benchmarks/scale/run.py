"""Run the parts of the benchmark, print their rows and save them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ..timing import describe_machine, format_table
from .cluster_fits import cluster_rows
from .fits import (
    all_pairs_row,
    anchor_rows,
    busy_rows,
    fit_rows,
    local_pairs_row,
    neighbor_rows,
    sample_rows,
    thread_rows,
)
from .machine_fits import class_rows, machine_rows
from .page import RESULTS, write_page
from .passes import pass_rows
from .rows import HEADER, Row, cores_in_use, save_part
from .studies import study_rows

PARTS: dict[str, Callable[[], list[Row]]] = {
    "passes": pass_rows,
    "fits": fit_rows,
    "threads": thread_rows,
    "busy": busy_rows,
    "samples": sample_rows,
    "cluster": cluster_rows,
    "all-pairs": all_pairs_row,
    "local-pairs": local_pairs_row,
    "neighbors": neighbor_rows,
    "anchors": anchor_rows,
    "machines": machine_rows,
    "machine-classes": class_rows,
    "study": study_rows,
}
LARGE = ("all-pairs", "local-pairs", "neighbors", "anchors", "machines", "machine-classes", "study")


def run_scale(names: Sequence[str] = (), large: bool = False, out: Path | None = None) -> bool:
    """Run parts of the benchmark; return whether all bars are met.

    Parameters
    ----------
    names : sequence of str
        The parts; by default all except the large ones.
    large : bool
        Whether to run the large parts too.
    out : Path, optional
        File for the rows; parts that are not run are kept. The default is the file of docs/scaling.md, and
        the page is rewritten.
    """
    chosen = list(names) or [name for name in PARTS if large or name not in LARGE]
    unknown = set(chosen) - set(PARTS)
    if unknown:
        raise ValueError(f"Unknown part {', '.join(sorted(unknown))}; choose from {', '.join(PARTS)}.")
    print(describe_machine())
    met, results = True, out or RESULTS
    for name in chosen:
        load = cores_in_use()
        print(f"\n{name}: running, {load:.0%} of the cores in use", flush=True)
        rows = PARTS[name]()
        print(format_table(HEADER, [row.cells() for row in rows]), flush=True)
        save_part(results, name, rows, load)
        met = met and all(row.meets is not False for row in rows)
    print(f"\nSaved to {results}.")
    if out is None:
        write_page()
    return met
