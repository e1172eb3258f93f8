"""Two threads against one, and a fit beside processes that keep every core busy."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .fits import GAP, write_samples
from .one_fit import fit_elsewhere
from .rows import Row, cores_in_use, trust

_TURNS = 2
_SPIN = "while True: pass"


def thread_rows(
    n_samples: int = 20_000, n_features: int = 70, report: Callable[[str], object] = print
) -> list[Row]:
    """Fit with one and with two threads, in turn; needs a quiet machine."""
    size, loads = f"{n_samples:,} × {n_features}", [cores_in_use()]
    with TemporaryDirectory() as folder:
        path = write_samples(folder, n_samples, n_features)
        turns = []
        for _ in range(_TURNS):
            turns.append([_seconds(path, n_jobs=jobs) for jobs in (1, 2)])
            report(f"  {size}: one thread {turns[-1][0]:.3g} s, two {turns[-1][1]:.3g} s")
    one, two = (min(times) for times in zip(*turns, strict=True))
    # The fits themselves are part of the load now, so only the load before them tells.
    return [Row("one thread ÷ two threads", size, one / two, at_least=1.6, note=trust(loads))]


def busy_rows(
    old: Path | None = None,
    n_samples: int = 5_000,
    n_features: int = 70,
    report: Callable[[str], object] = print,
) -> list[Row]:
    """Fit with default settings and with one thread, beside one busy process per core."""
    size, note = f"{n_samples:,} × {n_features}", trust([cores_in_use()])
    sources = [None] if old is None else [None, old]
    rows = []
    with TemporaryDirectory() as folder, busy_cores():
        path = write_samples(folder, n_samples, n_features)
        for source in sources:
            turns = [
                [_seconds(path, source, one_thread=limited) for limited in (False, True)]
                for _ in range(_TURNS)
            ]
            default, one = (min(times) for times in zip(*turns, strict=True))
            before = "" if source is None else ", before"
            bar = 1.5 if source is None else None
            rows.append(
                Row(
                    f"beside busy cores: default ÷ one thread{before}",
                    size,
                    default / one,
                    at_most=bar,
                    note=note,
                )
            )
            report("  " + " ".join(rows[-1].cells()))
    return rows


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keep every core busy with a process that only counts time."""
    processes = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def _seconds(path: Path, source: Path | None = None, one_thread: bool = True, **learner: Any) -> float:
    found = fit_elsewhere(path, {"C": 100.0, "pairs": "all", "tol": GAP, **learner}, source, one_thread)
    return float(found["seconds"])
