"""Time the default method, the pymanopt peer and Algorithm 1 of the paper to a KKT residual of 1e-6."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.manifolds import SPD
from geodual.optimize import minimize
from testing.optimality import kkt_residual
from testing.problems import BenchmarkProblem, benchmark_problems, determinant_under_trace

from .pymanopt_lagrangian import PUBLISHED, TUNED, Settings, has_peer, solve_with_pymanopt
from .timing import fitted_exponent, format_seconds, format_table

TOL = 1e-6
SIZES = (10, 20, 40, 80, 160)
ROUNDS = 3
HELD_OUT_SEEDS = (101, 102, 103, 104, 105)  # not used to choose any setting of ours or of the peer


@dataclass(frozen=True)
class Run:
    """One solve: its time, its KKT residual by `kkt_residual`, and its outer iterations."""

    seconds: float
    residual: float
    n_iter: int

    @property
    def reached(self) -> bool:
        """Whether the residual is within the tolerance."""
        return self.residual <= TOL

    def __str__(self) -> str:
        return format_seconds(self.seconds) if self.reached else f"— ({self.residual:.0e})"


def solver_table(
    cases: list[BenchmarkProblem] | None = None, budget: float = 1.0, report: Callable[[str], object] = print
) -> str:
    """Solve every problem from each of its starts with each solver and return the table.

    Parameters
    ----------
    cases : list of BenchmarkProblem, optional
        The problems; all benchmark problems by default.
    budget : float
        Time limit of Algorithm 1 for each start, in seconds.
    report : callable
        Receives a progress line for each problem.
    """
    rows, ratios = [], []
    for case in benchmark_problems() if cases is None else cases:
        report(f"  {case.name} …")
        for start, x0 in case.starts.items():
            default, *peers = _side_by_side(case, x0)
            both = [ratio(peer, default) for peer in peers] or [np.nan, np.nan]
            ratios.append((isinstance(case.manifold, SPD), *both))
            columns = [f"{peer} {_in_brackets(r)}" for peer, r in zip(peers, both, strict=False)]
            printed = str(run_algorithm_1(case, x0, budget))
            rows.append((case.name, start, str(default), *(columns or ["no hyperboloid", ""]), printed))
    header = ("problem", "start", "geodual", "pymanopt, published", "pymanopt, tuned", "Algorithm 1")
    return (
        f"Time to a KKT residual of {TOL:g}; — (final residual) if not reached; (time divided by ours)\n"
        f"{format_table(header, rows)}\n"
        f"{_summary(np.array(ratios))}\n"
        f"Algorithm 1: α = 0, η = 1/√(t+1), within {budget:g} s"
    )


def held_out_table(seeds: tuple[int, ...] = HELD_OUT_SEEDS) -> str:
    """Compare with the peer on SPD problems from held-out seeds, not used to choose settings."""
    rows, ratios = [], []
    for seed in seeds:
        cases = [case for case in benchmark_problems(seed) if isinstance(case.manifold, SPD)]
        runs = [_side_by_side(case, x0) for case in cases for x0 in case.starts.values()]
        found = np.array([[ratio(peer, default) for peer in peers] for default, *peers in runs])
        reached = [f"{sum(run.reached for run in column)}/{len(runs)}" for column in zip(*runs, strict=True)]
        means = np.exp(np.nanmean(np.log(found), axis=0))
        rows.append((str(seed), *(f"{mean:.1f}" for mean in means), *reached))
        ratios.extend((1.0, *pair) for pair in found)
    header = ("seed", "× published", "× tuned", "ours reached", "published reached", "tuned reached")
    return (
        f"Time of pymanopt divided by ours on SPD problems of held-out seeds, to a KKT residual of {TOL:g}\n"
        f"{format_table(header, rows)}\n"
        f"{_summary(np.array(ratios), ('SPD',))}"
    )


def ratio(peer: Run, default: Run) -> float:
    """Return the peer's time divided by ours; NaN unless both reached the tolerance."""
    return peer.seconds / default.seconds if peer.reached and default.reached else np.nan


def _in_brackets(value: float) -> str:
    return f"(×{value:.1f})" if np.isfinite(value) else ""


def _summary(ratios: NDArray[np.floating[Any]], labels: tuple[str, ...] = ("SPD", "all")) -> str:
    """Return the geometric means and extremes of the ratios, on SPD and on all problems."""
    lines = []
    for label in labels:
        chosen = (ratios[:, 0] > 0) | (label == "all")
        for column, settings in ((1, "published"), (2, "tuned")):
            values = ratios[chosen, column]
            values = values[np.isfinite(values)]
            mean = float(np.exp(np.log(values).mean()))
            lines.append(
                f"pymanopt, {settings} settings, divided by ours on {label} problems: "
                f"geometric mean {mean:.1f}, from {values.min():.1f} to {values.max():.1f}"
            )
    return "\n".join(lines)


def scaling_table(sizes: tuple[int, ...] = SIZES, rounds: int = ROUNDS) -> str:
    """Time the default method per Hessian product, with all overheads, for matrices of increasing size."""
    rows, seconds = [], []
    for n in sizes:
        case = determinant_under_trace(n)
        runs = [
            _timed(lambda case=case: minimize(case.problem, case.infeasible_start, tol=TOL))
            for _ in range(rounds)
        ]
        total, result = min(runs, key=lambda run: run[0])
        products = sum(row.hessian_products for row in result.history)
        seconds.append(total / products)
        rows.append((str(n), format_seconds(total), str(products), format_seconds(seconds[-1])))
    large = len(sizes) // 2
    return (
        "Cost of the default method on SPD(n), logdet under trace\n"
        f"{format_table(('n', 'solve', 'products', 'per product'), rows)}\n"
        f"fitted exponent {fitted_exponent(sizes, seconds):.2f}, from n = {sizes[large]} on "
        f"{fitted_exponent(sizes[large:], seconds[large:]):.2f}"
    )


def run_default(case: BenchmarkProblem, x0: Any) -> Run:
    """Solve with the default method."""
    seconds, result = _timed(lambda: minimize(case.problem, x0, tol=TOL))
    return _measured(case, result, seconds, result.n_iter)


def run_peer(case: BenchmarkProblem, x0: Any, settings: Settings) -> Run:
    """Solve with the augmented Lagrangian around pymanopt."""
    result = solve_with_pymanopt(case, x0, settings, TOL)
    return _measured(case, result, result.seconds, result.n_iter)


def run_algorithm_1(case: BenchmarkProblem, x0: Any, budget: float) -> Run:
    """Solve with Algorithm 1 as printed, with α = 0, for at most `budget` seconds."""
    deadline = time.perf_counter() + budget
    seconds, result = _timed(
        lambda: minimize(
            case.problem,
            x0,
            method="primal-dual",
            tol=TOL,
            max_iter=10_000,
            callback=lambda _: time.perf_counter() > deadline,
        )
    )
    return _measured(case, result, seconds, result.n_iter)


def _side_by_side(case: BenchmarkProblem, x0: Any) -> list[Run]:
    """Solve with the default method and the peers in turn; return the fastest run of each."""
    solvers: list[Callable[[BenchmarkProblem, Any], Run]] = [run_default]
    if has_peer(case):
        solvers += [partial(run_peer, settings=settings) for settings in (PUBLISHED, TUNED)]
    rounds = [[solve(case, x0) for solve in solvers] for _ in range(ROUNDS)]
    return [min(runs, key=lambda run: run.seconds) for runs in zip(*rounds, strict=True)]


def _measured(case: BenchmarkProblem, result: Any, seconds: float, n_iter: int) -> Run:
    residual = kkt_residual(case, result.x, result.multipliers, result.equality_multipliers).worst
    return Run(seconds, residual, n_iter)


def _timed(function: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = function()
    return time.perf_counter() - started, result
