"""Run the parts of the benchmark, print their rows and save them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..timing import describe_machine, format_table
from .cluster_fits import cluster_rows
from .constants import measure_costs
from .fits import fit_rows
from .large import all_pairs_row, local_pairs_row, study_rows
from .passes import pass_rows
from .prediction import confirm_rows
from .rows import HEADER, Row, cores_in_use, save_part
from .samples_for_all import sample_rows
from .threads import busy_rows, thread_rows

RESULTS = Path(__file__).with_name("measured.json")

Measured = tuple[list[Row], dict[str, Any]]


def parts(old: Path | None) -> dict[str, Callable[[], Measured]]:
    """Return the parts of the benchmark by name; each measures, and returns rows and further values."""
    return {
        "passes": lambda: (pass_rows(), {}),
        "fits": lambda: (fit_rows(old), {}),
        "threads": lambda: (thread_rows(), {}),
        "busy": lambda: (busy_rows(old), {}),
        "samples": lambda: (sample_rows(), {}),
        "cluster": _cluster,
        "all-pairs": lambda: (all_pairs_row(), {}),
        "local-pairs": lambda: (local_pairs_row(), {}),
        "study": lambda: (study_rows(old), {}),
    }


LARGE = ("all-pairs", "local-pairs", "study")


def run_scale(
    names: Sequence[str] = (), old: Path | None = None, large: bool = False, out: Path = RESULTS
) -> bool:
    """Run parts of the benchmark; return whether all bars are reached.

    Parameters
    ----------
    names : sequence of str
        The parts; by default all but the large ones.
    old : Path, optional
        A checkout of older sources to compare with.
    large : bool
        Run the large parts, too.
    out : Path
        Where the rows are saved; parts that are not run stay as they are there.
    """
    known = parts(old)
    chosen = list(names) or [name for name in known if large or name not in LARGE]
    unknown = set(chosen) - set(known)
    if unknown:
        raise ValueError(f"Unknown part {', '.join(sorted(unknown))}; choose from {', '.join(known)}.")
    print(describe_machine())
    met = True
    for name in chosen:
        load = cores_in_use()
        print(f"\n{name}: running, {load:.0%} of the cores in use", flush=True)
        rows, extra = known[name]()
        print(format_table(HEADER, [row.cells() for row in rows]), flush=True)
        save_part(out, name, rows, {"load": round(load, 2), **extra})
        met = met and all(row.meets is not False for row in rows)
    print(f"\nSaved to {out}.")
    return met


def _cluster() -> Measured:
    costs = measure_costs()
    rows, fits = cluster_rows()
    confirmed, constants = confirm_rows(costs, rows, fits)
    return [*rows, *confirmed], constants
