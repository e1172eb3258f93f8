"""Solve semidefinite programs of max-cut and synchronization, and compare with cvxpy and published values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from geodual.semidefinite import SemidefiniteProgram, SemidefiniteResult, max_cut, synchronization
from testing.problems.semidefinite import measured_rotations, random_graph, torus

from .timing import format_seconds, format_table

# Optimal values of the relaxation of max-cut, listed in the repository pcbach/SCAM, read on 2026-11-18.
PUBLISHED = {"G1": 12083.2, "G14": 3191.57, "G22": 14135.94558, "G43": 7032.22, "G48": 6000.0, "G50": 5988.17}
_CVXPY_ROWS = 300  # a general solver takes minutes for more


@dataclass(frozen=True)
class Case:
    """A program, and its published optimal cost, if any."""

    name: str
    program: SemidefiniteProgram
    published: float | None = None


def cases() -> Iterator[Case]:
    """Yield the programs; G48 and G50 are the graphs of the G-set, others are drawn in the same way."""
    yield Case("max-cut, random graph", max_cut(random_graph(100, 0.1, 0)))
    yield Case("max-cut, drawn as G1", max_cut(random_graph(800, 0.06, 0)))
    yield Case("max-cut, drawn as G6", max_cut(random_graph(800, 0.06, 0, signed=True)))
    yield Case("max-cut, drawn as G22", max_cut(random_graph(2000, 0.01, 0)))
    yield Case("max-cut, G48", max_cut(torus(50, 60)), -PUBLISHED["G48"])
    yield Case("max-cut, G50", max_cut(torus(25, 120)), -PUBLISHED["G50"])
    for n in (33, 1000):
        case = measured_rotations(n, 3 * n, 0.1, 0)
        yield Case("synchronization", synchronization(case.pairs, case.measured))


def files(folder: Path) -> Iterator[Case]:
    """Yield the G-set graphs in a folder: files g1.txt, …, with one line "i j" or "i j weight" per edge.

    A first line with the numbers of nodes and edges is skipped. Edges may be listed in both directions.
    """
    for path in sorted(folder.glob("[gG]*.txt")):
        rows = [line.split() for line in path.read_text("utf-8").splitlines() if line.strip()]
        rows = rows[1:] if len(rows[0]) < len(rows[-1]) or int(rows[0][1]) >= len(rows) - 1 else rows
        i, j = np.array([row[:2] for row in rows], dtype=int).T - 1
        w = np.array([float(row[2]) if len(row) > 2 else 1.0 for row in rows])
        n = int(max(i.max(), j.max())) + 1
        W = np.zeros((n, n))
        W[i, j] = W[j, i] = w
        name = path.stem.upper()
        value = PUBLISHED.get(name)
        yield Case(f"max-cut, {name}", max_cut(sp.csr_array(W)), None if value is None else -value)


def semidefinite_table(gset: Path | None = None, report: Callable[[str], object] = print) -> str:
    """Solve all programs and return the table.

    Parameters
    ----------
    gset : Path, optional
        Folder with further graphs of the G-set.
    report : callable
        Called with the name of each program before its solve.
    """
    rows = []
    for case in [*cases(), *(files(gset) if gset else ())]:
        report(f"  {case.name}, n = {case.program.n}")
        started = time.process_time()
        result = case.program.solve()
        rows.append(_row(case, result, time.process_time() - started))
    head = ("program", "n", "status", "rank", "cost", "lower bound", "proved", "relative gap", "CPU time")
    return "Semidefinite programs\n" + format_table([*head, "cost by others", "their CPU time"], rows)


def _row(case: Case, result: SemidefiniteResult, seconds: float) -> tuple[str, ...]:
    other, theirs = ("", "") if case.published is None else (f"{case.published:.8g} (published)", "")
    if case.program.n <= _CVXPY_ROWS:
        cost, theirs_seconds = _by_cvxpy(case.program.C, 1 if "max-cut" in case.name else 3)
        other, theirs = f"{cost:.8g} (cvxpy)", format_seconds(theirs_seconds)
    return (
        case.name,
        str(case.program.n),
        result.status,
        str(result.rank),
        f"{result.cost:.10g}",
        f"{result.lower_bound:.10g}",
        "yes" if result.bound_is_proved else "no",
        f"{result.relative_gap:.0e}",
        format_seconds(seconds),
        other,
        theirs,
    )


def _by_cvxpy(C: Any, d: int) -> tuple[float, float]:
    """Return the cost and the seconds of cvxpy with Clarabel, with identities as d × d diagonal blocks."""
    n = C.shape[0]
    X = cp.Variable((n, n), PSD=True)
    constraints = (
        [X[i : i + d, i : i + d] == np.eye(d) for i in range(0, n, d)] if d > 1 else [cp.diag(X) == 1]
    )
    problem = cp.Problem(cp.Minimize(cp.trace(C @ X)), constraints)
    started = time.process_time()
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value), time.process_time() - started
