"""Whole fits to all pairs: against older sources, growth with the number of samples, and memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ..timing import fitted_exponent
from .data import classes
from .one_fit import fit_elsewhere
from .rows import Row

SIZES = (1_000, 2_000, 5_000, 8_000, 10_000, 20_000)
CS = (100.0, 1000.0)
GAP = 1e-6
_TURNS = 3  # of short fits; the shortest time counts
_LONG = 1.0  # processor seconds from which a fit is timed once
_LARGEST, _GROWTH = 20_000, 8_000  # samples of the main bars, and of the bar of memory
_SHARES = {100.0: 0.25, 1000.0: 1.0 / 3.0}  # of the older time that a fit to the most samples may take
_NOT_SLOWER = 1.0
_MEGABYTES = 818.0 / 5.0
_EXPONENT = 2.0


def fit_rows(
    old: Path | None,
    sizes: Sequence[int] = SIZES,
    Cs: Sequence[float] = CS,
    n_features: int = 70,
    report: Callable[[str], object] = print,
) -> list[Row]:
    """Fit RPDML to all pairs of growing numbers of samples, on one thread.

    Parameters
    ----------
    old : Path, optional
        A checkout with older sources. The same fits are done with them.
    sizes : sequence of int
        Numbers of samples.
    Cs : sequence of float
        Weights of the violations.
    n_features : int
        Number of features.
    report : callable
        Receives a line for each fit.
    """
    rows: list[Row] = []
    solves: dict[float, list[tuple[int, float]]] = {C: [] for C in Cs}
    for n in sizes:
        for C in Cs:
            new, before = _in_turn(n, n_features, C, old)
            solves[C].append((n, new["solve"]))
            rows += _rows_of_fit(n, n_features, C, new, before)
            report("  " + "; ".join(" ".join(row.cells()[:3]) for row in rows[-3:]))
    for C, points in solves.items():
        large = [(n, seconds) for n, seconds in points if n >= 5_000]
        if len(large) > 1:
            exponent = fitted_exponent(*zip(*large, strict=True))
            size = f"{large[0][0]:,} to {large[-1][0]:,} × {n_features}"
            rows.append(Row(f"exponent of the solve, C = {C:g}", size, exponent, at_most=_EXPONENT))
    return rows


def write_samples(folder: str, n_samples: int, n_features: int, make: Callable[..., Any] = classes) -> Path:
    """Write samples to a file that `one_fit` reads."""
    path = Path(folder) / f"{n_samples}.npz"
    X, y = make(n_samples, n_features)
    np.savez(path, X=X, y=y)
    return path


def _in_turn(
    n: int, n_features: int, C: float, old: Path | None
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Fit with the sources here and with older ones, in turn; return the shortest of each."""
    learner = {"C": C, "pairs": "all", "tol": GAP}
    sources = [None] if old is None else [None, old]
    with TemporaryDirectory() as folder:
        path = write_samples(folder, n, n_features)
        turns = [[fit_elsewhere(path, learner, source) for source in sources]]
        while len(turns) < _TURNS and turns[0][0]["processor"] < _LONG:
            turns.append([fit_elsewhere(path, learner, source) for source in sources])
    best = [min(found, key=lambda fit: fit["processor"]) for found in zip(*turns, strict=True)]
    return best[0], (None if old is None else best[1])


def _rows_of_fit(
    n: int, n_features: int, C: float, new: dict[str, Any], before: dict[str, Any] | None
) -> list[Row]:
    size, name = f"{n:,} × {n_features}", f"C = {C:g}"
    note = f"{new['passes']} passes over all pairs, gap {new['gap']:.0e}"
    limit = _MEGABYTES if n == _GROWTH else None
    rows = [
        Row(f"fit, {name}", size, new["processor"], "s", note=note),
        Row(f"peak above the data, {name}", size, new["megabytes"], "MB", at_most=limit),
    ]
    if before is None:
        return rows
    bar = _SHARES.get(C, _NOT_SLOWER) if n == _LARGEST else _NOT_SLOWER
    difference = abs(new["objective"] - before["objective"]) / abs(before["objective"])
    note = f"{before['processor']:.3g} s and {before['megabytes']:.0f} MB before; "
    note += f"objectives differ by {difference:.0e}"
    return [
        *rows,
        Row(f"fit ÷ before, {name}", size, new["processor"] / before["processor"], at_most=bar, note=note),
    ]
