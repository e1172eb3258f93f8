"""Fair timing of libraries against each other (the best of several alternating runs), and tables."""

from __future__ import annotations

import os
import platform
import time
import tracemalloc
from collections.abc import Callable, Sequence
from importlib.metadata import version

import numpy as np
from threadpoolctl import threadpool_info


def best_seconds(
    functions: Sequence[Callable[[], object]],
    rounds: int = 7,
    budget: float = 0.02,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Return the shortest time per call of each function.

    The functions alternate, so that all see the same load of the machine.

    Parameters
    ----------
    functions : sequence of callables
        The functions to time; they are called without arguments.
    rounds : int
        Number of turns of each function.
    budget : float
        Length of a turn in seconds; short functions are called repeatedly.
    clock : callable
        Returns a time in seconds: wall-clock time, or processor time, which other processes disturb less.
    """
    counts = [max(1, round(budget / max(_seconds(f, 1, clock), 1e-7))) for f in functions]
    turns = [
        [_seconds(f, n, clock) / n for f, n in zip(functions, counts, strict=True)] for _ in range(rounds)
    ]
    return [min(times) for times in zip(*turns, strict=True)]


def describe_machine() -> str:
    """Return a line with the versions of the libraries and the machine."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("geodual", "numpy", "scipy", "pymanopt"))
    blas = {
        f"{lib['internal_api']} {lib['version']}" for lib in threadpool_info() if lib["user_api"] == "blas"
    }
    return (
        f"{packages}, Python {platform.python_version()}; {platform.machine()}, {os.cpu_count()} CPUs, "
        f"{' and '.join(sorted(blas))} on one thread"
    )


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text, with the first column aligned left and the others right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in (header, ["-" * w for w in widths], *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def format_seconds(seconds: float) -> str:
    """Return a time as text in s, ms or µs."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def peak_megabytes(function: Callable[[], object]) -> float:
    """Return Python's peak memory during a call, above the memory before."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def fitted_exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return p of seconds ≈ c · sizeᵖ, fitted by least squares on logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _seconds(function: Callable[[], object], count: int, clock: Callable[[], float]) -> float:
    started = clock()
    for _ in range(count):
        function()
    return clock() - started
