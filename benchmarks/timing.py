"""Timing that libraries can be compared by: the best of several runs, taken in turn; and its tables."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version

import numpy as np
from threadpoolctl import threadpool_info


def best_seconds(
    functions: Sequence[Callable[[], object]], rounds: int = 7, budget: float = 0.02
) -> list[float]:
    """Return the best time of a call for each function.

    The functions take turns, so that all see the same machine.

    Parameters
    ----------
    functions : sequence of callables
        What to time, each called without arguments.
    rounds : int
        Number of turns of each.
    budget : float
        Seconds of repeated calls in each turn.
    """
    counts = [max(1, round(budget / max(_seconds(f, 1), 1e-7))) for f in functions]
    turns = [[_seconds(f, n) / n for f, n in zip(functions, counts, strict=True)] for _ in range(rounds)]
    return [min(times) for times in zip(*turns, strict=True)]


def describe_machine() -> str:
    """Return one line with the versions and the machine behind a table."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("geodual", "numpy", "scipy", "pymanopt"))
    blas = {
        f"{lib['internal_api']} {lib['version']}" for lib in threadpool_info() if lib["user_api"] == "blas"
    }
    return (
        f"{packages}, Python {platform.python_version()}; {platform.machine()}, {os.cpu_count()} CPUs, "
        f"{' and '.join(sorted(blas))} on one thread"
    )


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with aligned columns, the first to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in (header, ["-" * w for w in widths], *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def format_seconds(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def fitted_exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return p of the fit seconds ≈ c · sizeᵖ by least squares in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _seconds(function: Callable[[], object], count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        function()
    return time.perf_counter() - started
