"""Run the published families with our solver and the peers: ``python -m benchmarks.family_runs --help``.

Every result is written to a CSV file at once, so that a run can be stopped and resumed.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from geodual.optimize import minimize
from geodual.optimize.problem import ConstraintVector
from testing.families import PublishedProblem
from testing.families.instances import Builder, family_instances
from testing.optimality import Residual, kkt_residual

from .family_tables import OURS, FamilyRun, family_report
from .pymanopt_lagrangian import PUBLISHED, TUNED, Settings, solve_with_pymanopt

OUT = Path("output/families.csv")
SHORT, REPEATS = 1.0, 3  # solves shorter than this many seconds are repeated; the fastest counts


@dataclass(frozen=True)
class Answer:
    """The result of a solver: point, multipliers, and the status in its own words."""

    x: Any
    multipliers: Any
    equality_multipliers: Any
    status: str


def solve_ours(case: PublishedProblem, x0: Any, limit: float) -> Answer:
    """Solve with the default method, within `limit` seconds.

    Our solver uses relative residuals if cost and constraints are very large. If it converges before the
    absolute residual is `case.tol`, it is restarted from there with a smaller tolerance.
    """
    deadline, tol = time.perf_counter() + limit, case.tol
    result = minimize(case.problem, x0, tol=tol, max_time=limit)
    while result.success and time.perf_counter() < deadline:
        residual = _residual(case, result).worst
        if residual <= case.tol or tol < 1e-15:
            break
        tol *= 0.5 * case.tol / residual
        remaining = deadline - time.perf_counter()
        result = minimize(case.problem, **result.warm_start(), tol=tol, max_time=remaining)
    return Answer(result.x, result.multipliers, result.equality_multipliers, result.status)


def solve_peer(case: PublishedProblem, x0: Any, limit: float, settings: Settings) -> Answer:
    """Solve with the augmented Lagrangian around pymanopt, within `limit` seconds."""
    result = solve_with_pymanopt(case, x0, settings, case.tol, max_seconds=limit)
    status = "converged" if result.kkt.worst <= case.tol else f"{result.n_iter} outer iterations"
    return Answer(result.x, result.multipliers, result.equality_multipliers, status)


Solver = Callable[[PublishedProblem, Any, float], Answer]
SOLVERS: dict[str, Solver] = {
    OURS: solve_ours,
    "published": partial(solve_peer, settings=PUBLISHED),
    "tuned": partial(solve_peer, settings=TUNED),
}


def measure(case: PublishedProblem, start: str, solver: str, limit: float) -> FamilyRun:
    """Solve from one start, and measure time, cost and the residual independently of the solver."""
    solve, x0 = SOLVERS[solver], case.starts[start]
    seconds = []
    for _ in range(REPEATS):
        started = time.process_time()  # of this process only, so that other processes do not count
        try:
            answer = solve(case, x0, limit)
        except Exception as error:  # a solver that breaks down has not solved it; continue with the others
            return _failed(case, start, solver, time.process_time() - started, error)
        seconds.append(time.process_time() - started)
        if sum(seconds) > SHORT:
            break
    residual = _residual(case, answer)
    return FamilyRun(
        case.family,
        case.name,
        start,
        solver,
        residual.worst <= case.tol,
        min(seconds),
        float(case.problem.cost(answer.x)),
        _corrected_cost(case, answer),
        residual.worst,
        residual.feasibility,
        answer.status,
    )


def _residual(case: PublishedProblem, answer: Any) -> Residual:
    return kkt_residual(case, answer.x, answer.multipliers, answer.equality_multipliers)


def _corrected_cost(case: PublishedProblem, answer: Answer) -> float:
    """Return the Lagrangian f + Σ λₖ hₖ + Σ yⱼ gⱼ, which is stationary: x within `tol` changes it by `tol`².

    So a solver gains nothing by stopping farther from feasibility than another one. For squares g = s², the
    term counts twice, because the multiplier of s = 0 is 2ys.
    """
    constraints = ConstraintVector(case.problem, answer.x)
    h, g = np.split(constraints.value(answer.x), [constraints.n_inequalities])
    factor = 2.0 if case.squared_equality else 1.0
    saved = answer.multipliers @ h + factor * (answer.equality_multipliers @ g)
    return float(case.problem.cost(answer.x) + saved)


def _failed(case: PublishedProblem, start: str, solver: str, seconds: float, error: Exception) -> FamilyRun:
    status = f"{type(error).__name__}: {error}"[:80]
    infinite = (np.inf,) * 4
    return FamilyRun(case.family, case.name, start, solver, False, seconds, *infinite, status)


def run_families(
    only: Iterable[str] = (),
    quick: bool = False,
    again: Iterable[str] = (),
    out: Path = OUT,
    limit: float = np.inf,
    report: Callable[[str], object] = print,
) -> list[FamilyRun]:
    """Run all solvers on all instances not yet in the CSV file, and return the rows of the file.

    Parameters
    ----------
    only : iterable of str
        Families to run, by the names in `family_instances`; all by default.
    quick : bool
        Whether to run only the smallest third of the instances of each family.
    again : iterable of str
        Solvers whose rows of the chosen families are discarded and measured again.
    out : Path
        The CSV file.
    limit : float
        Maximum number of seconds per solve, if less than the problem's own limit.
    report : callable
        Receives a line per solve.
    """
    chosen = {name: b for name, b in family_instances().items() if not only or name in set(only)}
    cases = [case for builders in chosen.values() for case in _cases(builders, quick, report)]
    wanted = {(case.family, case.name) for case in cases}
    rows = [r for r in read_rows(out) if not ((r.family, r.instance) in wanted and r.solver in set(again))]
    _write(out, rows)
    done = {row.key for row in rows}
    for case in cases:
        for start, solver in _solves(case):
            if (case.family, case.name, start, solver) not in done:
                row = measure(case, start, solver, min(limit, case.max_seconds))
                rows.append(row)
                _append(out, row)
                report(f"  {row}")
    return rows


def _solves(case: PublishedProblem) -> Iterator[tuple[str, str]]:
    """Yield the pairs of start and solver to run; some problems have more starts than the peers need."""
    for position, start in enumerate(case.starts):
        with_peers = case.peer_starts is None or position < case.peer_starts
        yield from ((start, solver) for solver in SOLVERS if with_peers or solver == OURS)


def _cases(
    builders: list[Builder], quick: bool, report: Callable[[str], object]
) -> Iterator[PublishedProblem]:
    for build in builders[: -(-len(builders) // 3)] if quick else builders:
        try:
            yield build()
        except FileNotFoundError as error:
            report(f"  skipped: {error}")


def read_rows(path: Path) -> list[FamilyRun]:
    """Return the rows of the CSV file; none if there is no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [FamilyRun.from_text(line) for line in csv.DictReader(file)]


def _write(path: Path, rows: list[FamilyRun]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(FamilyRun)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def _append(path: Path, row: FamilyRun) -> None:
    with path.open("a", encoding="utf-8", newline="") as file:
        csv.DictWriter(file, list(asdict(row))).writerow(asdict(row))


def families_table() -> str:
    """Run all families from scratch and return the report."""
    OUT.unlink(missing_ok=True)
    return family_report(run_families())


def main() -> None:
    """Run the chosen families, resuming the last run, and print the report as Markdown."""
    names = ", ".join(family_instances())
    parser = argparse.ArgumentParser(prog="python -m benchmarks.family_runs", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="family", help=f"any of {names}")
    parser.add_argument("--quick", action="store_true", help="run the smallest third of each family")
    parser.add_argument("--again", nargs="+", default=[], choices=SOLVERS, help="solvers to measure again")
    parser.add_argument("--limit", type=float, default=np.inf, help="seconds per solve, at most")
    parser.add_argument("--out", type=Path, default=OUT, help="the CSV file with the results")
    arguments = parser.parse_args()
    unknown = set(arguments.only) - set(family_instances())
    if unknown:
        parser.error(f"unknown family {', '.join(sorted(unknown))}; choose from {names}")
    with threadpool_limits(1):
        rows = run_families(**vars(arguments))
    print(family_report(rows))


if __name__ == "__main__":
    main()
