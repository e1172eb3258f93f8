"""Solve many random problems and count the outcomes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from joblib import Parallel, delayed

from geodual.optimize import minimize
from testing.independent_check import Verdict, check_result
from testing.random_problems import random_problem

from .timing import format_table

WITH_TERMS = 100_000  # first seed from which every third problem has nonsmooth terms or cones
_SECONDS = 60.0  # limit per problem


@dataclass(frozen=True)
class Outcome:
    """The outcome of a problem.

    Attributes
    ----------
    seed, kind, label : int, str, str
        The problem.
    status, second_order, residual : str, str, float
        The solver's report.
    verdict : Verdict or None
        The result of the independent check; None for a solve without claims.
    seconds : float
        Time of the solve.
    """

    seed: int
    kind: str
    label: str
    status: str
    second_order: str
    residual: float
    verdict: Verdict | None
    seconds: float

    @property
    def certified(self) -> bool:
        """Whether the solver claims that the KKT conditions hold."""
        return self.status == "converged"

    @property
    def falsely_certified(self) -> bool:
        """Whether the solver claims more than the independent check confirms."""
        if self.verdict is None:
            return False
        return not (self.verdict.is_kkt_point and (self.second_order != "holds" or self.verdict.is_minimum))

    @property
    def falsely_doubted(self) -> bool:
        """Whether the solver reports a saddle point although no better neighbor is found."""
        return self.verdict is not None and self.second_order == "fails" and self.verdict.is_minimum

    def __str__(self) -> str:
        words = f"{self.status}, residual {self.residual:.1e}, second order {self.second_order}"
        return f"seed {self.seed}: {self.label}: {words}, {self.seconds:.2f} s"


def solve_seed(seed: int, method: str = "proximal-lagrangian", tol: float = 1e-8) -> Outcome:
    """Solve the problem with the given seed, and check the solution."""
    drawn = random_problem(seed, with_terms=seed >= WITH_TERMS and seed % 3 == 0)
    started = time.perf_counter()
    result = minimize(drawn.problem, drawn.start, method, tol, max_time=_SECONDS)
    seconds = time.perf_counter() - started
    said = (result.status, result.second_order, result.kkt.worst)
    verdict = check_result(drawn.problem, drawn.start, result) if result.success else None
    return Outcome(seed, drawn.kind, drawn.label, *said, verdict, seconds)


def random_table(
    n: int = 1000, tol: float = 1e-8, method: str = "proximal-lagrangian", n_jobs: int = 2, first: int = 0
) -> str:
    """Solve the problems with n consecutive seeds and return a table of outcomes by kind of manifold.

    Parameters
    ----------
    n : int
        Number of problems.
    tol : float
        Tolerance of the solver.
    method : str
        Method of `minimize`.
    n_jobs : int
        Number of processes.
    first : int
        The first seed; from `WITH_TERMS` on, every third problem has nonsmooth terms or cones.
    """
    solve = delayed(solve_seed)
    outcomes = Parallel(n_jobs=n_jobs)(solve(seed, method, tol) for seed in range(first, first + n))
    kinds = list(dict.fromkeys(outcome.kind for outcome in outcomes))
    rows = [_row(kind, [outcome for outcome in outcomes if outcome.kind == kind]) for kind in kinds]
    header = ("manifold", "problems", "certified", "infeasible", "other", "false", "doubted", "seconds")
    failed = [o for o in outcomes if not o.certified or o.falsely_certified or o.falsely_doubted]
    return (
        f"{n} random problems with a solution, by {method}, to a KKT residual of {tol:g}\n"
        f"{format_table(header, [*rows, _row('all', outcomes)])}\n"
        "infeasible and other: how many ended so; false: certified, but refuted by finite differences;\n"
        "doubted: said to be no minimum, but no better neighbor is found\n"
        f"{_share(outcomes)}\n" + "\n".join(map(str, failed))
    ).rstrip()


def _row(kind: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    statuses = Counter(outcome.status for outcome in outcomes)
    counts = (
        len(outcomes),
        statuses["converged"],
        statuses["infeasible"],
        len(outcomes) - statuses["converged"] - statuses["infeasible"],
        sum(outcome.falsely_certified for outcome in outcomes),
        sum(outcome.falsely_doubted for outcome in outcomes),
    )
    return (kind, *map(str, counts), f"{sum(outcome.seconds for outcome in outcomes):.1f}")


def _share(outcomes: Sequence[Outcome]) -> str:
    certified = sum(outcome.certified for outcome in outcomes) / max(len(outcomes), 1)
    slowest = max((outcome.seconds for outcome in outcomes), default=0.0)
    return f"certified: {certified:.1%}; slowest solve: {slowest:.1f} s"
