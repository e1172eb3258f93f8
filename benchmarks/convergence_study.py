"""Compare the convergence of Algorithm 1 and the default method: ``python -m benchmarks.convergence_study``.

The three problems are on Hadamard manifolds, where the theory of the paper holds. Their optima are known
exactly, so the cost of every iterate can be compared with f* and with the bound of Theorem 1.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from geodual.optimize import Result, minimize, theorem1_bound
from testing.problems import (
    BenchmarkProblem,
    determinant_under_trace,
    hyperbolic_mean_in_ball,
    karcher_mean_under_trace,
)

from .timing import format_table

OUTPUT = Path("output")
TOL = 1e-8
MAX_ITER = 1000


@dataclass(frozen=True)
class Method:
    """A solver with its options, and its label and color in the figure."""

    label: str
    name: str
    options: dict[str, Any]
    color: str


# Colors of Okabe and Ito, which color-blind readers can distinguish.
ALGORITHM_1 = Method(
    "Algorithm 1, α = 0", "primal-dual", {"alpha": 0.0, "step": "sqrt", "max_iter": MAX_ITER}, "#0072B2"
)
ALGORITHM_1_REGULARizED = Method(
    "Algorithm 1, α = 0.1", "primal-dual", {"alpha": 0.1, "step": "sqrt", "max_iter": MAX_ITER}, "#D55E00"
)
DEFAULT = Method("default method", "proximal-lagrangian", {}, "#009E73")
METHODS = (ALGORITHM_1, ALGORITHM_1_REGULARizED, DEFAULT)


@dataclass(frozen=True)
class Trace:
    """A solve, with the data for the figure.

    Attributes
    ----------
    method : Method
        The solver.
    result : Result
        Its result.
    seconds : float
        Its time.
    constraint_bound : float
        G of Theorem 1: the largest |h| over the iterates.
    """

    method: Method
    result: Result
    seconds: float
    constraint_bound: float

    def column(self, field: str) -> np.ndarray:
        """Return one column of the history, including the start."""
        return np.array([getattr(row, field) for row in self.result.history])

    @property
    def residuals(self) -> np.ndarray:
        """The largest part of the KKT residual after each iteration."""
        return np.max([self.column(p) for p in ("stationarity", "feasibility", "complementarity")], axis=0)


def run(case: BenchmarkProblem, method: Method) -> Trace:
    """Solve a problem from its feasible start and return the data for the figure."""
    largest = [float(np.abs(case.inequalities[0](case.feasible_start)).max())]

    def watch(iterate: Any) -> None:
        largest.append(float(np.abs(case.inequalities[0](iterate.x)).max()))

    started = time.perf_counter()
    result = minimize(
        case.problem, case.feasible_start, method=method.name, tol=TOL, callback=watch, **method.options
    )
    return Trace(method, result, time.perf_counter() - started, max(largest))


def table(case: BenchmarkProblem, traces: list[Trace]) -> str:
    """Return a table with one row per method: work, time, KKT residual by parts, and error of the cost."""
    header = (
        "",
        "status",
        "iterations",
        "products",
        "seconds",
        "stationarity",
        "feasibility",
        "complement.",
        "f − f*",
    )
    rows = [
        (
            trace.method.label,
            trace.result.status,
            str(trace.result.n_iter),
            str(int(trace.column("hessian_products").sum())),
            f"{trace.seconds:.3f}",
            *(f"{part:.1e}" for part in (kkt.stationarity, kkt.feasibility, kkt.complementarity)),
            f"{trace.result.cost - case.cost:+.1e}",
        )
        for trace in traces
        for kkt in [trace.result.kkt]
    ]
    return format_table(header, rows)


def draw(studies: list[tuple[BenchmarkProblem, list[Trace]]]) -> Figure:
    """Draw one column per problem: KKT residuals above, cost against the bound of Theorem 1 below."""
    style = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 11}
    with plt.rc_context(style):
        figure, axes = plt.subplots(
            2,
            len(studies),
            figsize=(4.2 * len(studies), 7.6),
            layout="constrained",
            sharey="row",
            squeeze=False,
        )
        for (above, below), (case, traces) in zip(axes.T, studies, strict=True):
            above.set_title(f"{case.name}\non {case.manifold}", fontweight="bold")
            _draw_residuals(above, traces)
            _draw_gaps(below, case, traces)
        axes[0, 0].set_ylabel("KKT residual, worst part")
        axes[1, 0].set_ylabel("f(x) − f*   (thick: best so far, thin: current)")
        note = {"textcoords": "offset points", "color": "0.4", "fontsize": 9}
        axes[0, 0].annotate("tolerance", (1.0, TOL), (2, 3), **note)
        axes[1, -1].annotate("below 0: cheaper, but infeasible", (1.0, 0.0), (2, -12), **note)
        handles = [*axes[0, 0].get_lines()[: len(METHODS)], axes[1, 0].lines[-2]]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    return figure


def _draw_residuals(ax: Axes, traces: list[Trace]) -> None:
    for trace in traces:
        # The start has no products; 1 keeps it on the logarithmic axis.
        work = np.maximum(np.cumsum(trace.column("hessian_products")), 1)
        marker = "o" if trace.method is DEFAULT else None
        ax.loglog(work, trace.residuals, color=trace.method.color, label=trace.method.label, marker=marker)
    ax.axhline(TOL, color="0.6", linestyle=":", linewidth=1)
    ax.set_xlabel("Hessian products so far")
    ax.grid(alpha=0.25)


def _draw_gaps(ax: Axes, case: BenchmarkProblem, traces: list[Trace]) -> None:
    algorithm = [trace for trace in traces if trace.method is not DEFAULT]
    # The first line is wide, so that it is visible behind the second one.
    for trace, width in zip(algorithm, (3.0, 1.4), strict=True):
        gaps = trace.column("cost")[1:] - case.cost
        steps = np.arange(1, len(gaps) + 1)
        ax.plot(steps, gaps, color=trace.method.color, linewidth=0.8, alpha=0.6)
        ax.plot(steps, np.minimum.accumulate(gaps), color=trace.method.color, linewidth=width)
    longest = max(algorithm, key=lambda trace: trace.result.n_iter)
    bound = theorem1_bound(
        longest.column("step_size")[1:],
        case.manifold.dist(case.x, case.feasible_start),
        1,
        max(trace.constraint_bound for trace in algorithm),
    )
    ax.plot(np.arange(1, len(bound) + 1), bound, "--", color="0.2", linewidth=1.5, label="bound of Theorem 1")
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=0.1)
    ax.set_xlabel("iterations T of Algorithm 1")
    ax.grid(alpha=0.25)


def main() -> None:
    """Run the study, print its tables, and save the figure as PNG and SVG."""
    studies = []
    with threadpool_limits(1):
        for case in (determinant_under_trace(), karcher_mean_under_trace(), hyperbolic_mean_in_ball()):
            print(f"{case.name} on {case.manifold}", flush=True)
            traces = []
            for method in METHODS:
                print(f"  {method.label} …", flush=True)
                traces.append(run(case, method))
            print(table(case, traces), end="\n\n", flush=True)
            studies.append((case, traces))
    OUTPUT.mkdir(exist_ok=True)
    figure = draw(studies)
    for suffix in ("png", "svg"):
        path = OUTPUT / f"convergence.{suffix}"
        figure.savefig(path, dpi=150)
        print(f"Saved {path}")


if __name__ == "__main__":
    main()
