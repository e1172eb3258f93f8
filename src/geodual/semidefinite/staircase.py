"""Solve with increasing ranks: minimize over factors, certify, leave saddles along eigenvectors of S."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from geodual.arrays import Array
from geodual.optimize import Constraint, Problem, Result, minimize

from .certificate import (
    SmallestEigenvalue,
    forming_error,
    lower_bound,
    smallest_eigenvalue,
    smallest_eigenvectors,
)
from .linear_map import LinearMap, Symmetric, frobenius_norm, row_sizes
from .result import Round, SemidefiniteResult
from .structure import Structure

_DIRECTIONS = 4  # eigenvectors to move along at once; a Lanczos method finds this many with little more work
_ACCURACY = 0.1  # of the smallest eigenvalue, as a fraction of the allowed gap
_ROUGH = 1e-2  # accuracy of eigenvectors to move along, relative to the eigenvalue
_HALVINGS = 40  # of a step along them; the shortest is below rounding error
_INNER = 1e-2  # tolerance of the first `minimize`, relative to that of the gap
_TIGHTER = 1e-1  # and of each later one, relative to the one before
_LEAST = 1e-11  # smaller values are often out of reach because of rounding errors in products with C
_ZERO = 1e-7  # singular values of Y that count as 0, relative to the largest; for X this is 1e-14


@dataclass(frozen=True)
class StandardProgram:
    """min ⟨C, X⟩ over X ⪰ 0 with a structural constraint, equalities first and then inequalities ≤.

    Attributes
    ----------
    C : Symmetric
        The cost.
    structure : Structure
        The structural constraint; it fixes the trace.
    constraints : LinearMap
        Further constraints.
    bounds : array of shape (m,)
        Their right-hand sides.
    units : array of shape (m,)
        The size of each constraint, by which it is divided.
    n_equalities : int
        Number of equalities.
    size : float
        Size of a typical cost; 0 if C is 0.
    has_slack : bool
        Whether the last row is the slack of a bound on the trace.
    """

    C: Symmetric
    structure: Structure
    constraints: LinearMap
    bounds: Array
    units: Array
    n_equalities: int
    size: float
    has_slack: bool

    def violations(self, Y: Array) -> Array:
        """Return ⟨A, YYᵀ⟩ − b, each divided by its unit."""
        return (self.constraints.pairing(Y, Y) - self.bounds) / self.units

    def infeasibility(self, Y: Array) -> float:
        """Return the largest violation of a constraint, in its unit."""
        v = self.violations(Y)
        v[self.n_equalities :] = np.maximum(v[self.n_equalities :], 0.0)
        return float(np.abs(v).max(initial=0.0))

    def problem(self, rank: int) -> Problem:
        """Return the problem over factors with `rank` columns, scaled to unit size."""
        lift, pull = self.structure.factor, self.structure.pulled
        scale = 1.0 / (self.size or 1.0)
        return Problem(
            self.structure.manifold(rank),
            lambda x: scale * float(np.vdot(lift(x), self.C @ lift(x))),
            lambda x: pull(2.0 * scale * (self.C @ lift(x))),
            lambda x, u: pull(2.0 * scale * (self.C @ lift(u))),
            equalities=self._block(slice(0, self.n_equalities)),
            inequalities=self._block(slice(self.n_equalities, None)),
        )

    def _block(self, part: slice) -> Constraint | None:
        lift, pull, m = self.structure.factor, self.structure.pulled, len(self.bounds)
        if not len(self.bounds[part]):
            return None

        def weighted(u: Array, w: Array) -> Array:
            weights = np.zeros(m)
            weights[part] = w
            return pull(2.0 * self.constraints.adjoint(weights / self.units, lift(u)))

        def directional(x: Array, u: Array) -> Array:
            return np.asarray(2.0 * self.constraints.pairing(lift(x), lift(u)) / self.units)[part]

        return Constraint(
            lambda x: self.violations(lift(x))[part],
            weighted,
            directional=directional,
            hessian_product=lambda x, w, u: weighted(u, w),
        )


@dataclass(frozen=True)
class Certificate:
    """Multipliers, S and its smallest eigenvalues at a factor, and what they prove."""

    Y: Array
    cost: float
    w: Array
    y: Array
    S: Symmetric
    norm: float
    eigenvalue: SmallestEigenvalue
    lower_bound: float
    relative_gap: float
    infeasibility: float


class Staircase:
    """Alternate `minimize` and certificate, with more columns in each round.

    Parameters
    ----------
    program : StandardProgram
        The program.
    tol : float
        Relative gap and infeasibility to reach.
    max_time : float
        Seconds after which no further step is taken.
    verbose : int
        0 prints nothing, 1 one line per round, 2 also the lines of `minimize`.
    """

    def __init__(self, program: StandardProgram, tol: float, max_time: float, verbose: int) -> None:
        self.program, self.tol, self.verbose = program, tol, verbose
        self.deadline = time.perf_counter() + max_time

    def first_factor(self, rank: int | None, seed: int) -> Array:
        """Draw a random factor with the given, or by default a suitable, number of columns."""
        structure = self.program.structure
        if rank is None:
            m = structure.size + len(self.program.bounds)
            # Barvinok and Pataki: some solution has rank at most r with r(r + 1)/2 ≤ m.
            r = (math.isqrt(8 * m + 1) - 1) // 2
            rank = structure.first_rank or min(r // 2 + 1, structure.n)
        columns = max(rank, structure.least_rank)
        return structure.factor(structure.manifold(columns).random_point(np.random.default_rng(seed)))

    def climb(self, Y: Array, max_rounds: int) -> SemidefiniteResult:
        """Add columns to a factor until the gap is certified, or nothing helps any more."""
        history: list[Round] = []
        inner = self.tol * _INNER
        while True:
            solved = self._minimize(Y, max(inner, _LEAST))
            found = self._certify(solved)
            history.append(self._round(found, solved))
            status, message = self._verdict(found, solved, len(history) == max_rounds)
            if status is None:
                higher = self._higher(found)
                if higher is not None:
                    Y, inner = higher, inner * _TIGHTER
                    continue
                status = "stalled"
                message = "No step along the eigenvectors of S decreases the cost; look at the gap."
            return self._result(found, status, message, tuple(history))

    def _minimize(self, Y: Array, tol: float) -> Result:
        structure = self.program.structure
        left = max(self.deadline - time.perf_counter(), 1e-3)  # `minimize` requires a positive number
        problem = self.program.problem(Y.shape[1])
        return minimize(problem, structure.point(Y), tol=tol, max_time=left, verbose=max(self.verbose - 1, 0))

    def _certify(self, solved: Result) -> Certificate:
        p = self.program
        Y = p.structure.factor(solved.x)
        # `minimize` adds multipliers times constraints to the cost; here they are subtracted.
        w = -np.concatenate([solved.equality_multipliers, solved.multipliers]) * (p.size or 1.0) / p.units
        M = p.constraints.subtracted(p.C, w)
        y = p.structure.multipliers(M @ Y, Y)
        B = p.structure.matrix(y)
        S = LinearMap([B], p.structure.n).subtracted(M, np.ones(1))
        sizes = row_sizes(p.C) + p.constraints.sizes(w) + row_sizes(B)
        norm = float(sizes.max()) or frobenius_norm(S) or 1.0  # operators have no sizes
        cost = float(np.vdot(Y, p.C @ Y))
        accuracy = _ACCURACY * self.tol * max(abs(cost), p.size) / p.structure.trace
        found = smallest_eigenvalue(S, norm, accuracy, forming_error(sizes, len(w) + 2))
        terms = np.concatenate([p.structure.terms(y), p.bounds * w])
        lower = lower_bound(terms, found.bound, p.structure.trace)
        size = max(abs(cost), abs(lower), p.size)
        gap = abs(cost - lower) / size if size else 0.0
        return Certificate(Y, cost, w, y, S, norm, found, lower, gap, p.infeasibility(Y))

    def _round(self, found: Certificate, solved: Result) -> Round:
        eigenvalue = found.eigenvalue.value
        entry = Round(found.Y.shape[1], found.cost, found.lower_bound, eigenvalue, solved.status)
        if self.verbose:
            print(  # noqa: T201
                f"rank {entry.rank:4d}  cost {entry.cost:.10g}  lower bound {entry.lower_bound:.10g}  "
                f"relative gap {found.relative_gap:.1e}  "
                f"infeasibility {found.infeasibility:.1e}  {entry.status}"
            )
        return entry

    def _verdict(self, found: Certificate, solved: Result, is_last: bool) -> tuple[str | None, str]:
        """Return the status, or None to continue, and what it means."""
        if max(found.relative_gap, found.infeasibility) <= self.tol:
            proof = "" if found.eigenvalue.proved else " The bound is an estimate, not a proof."
            return (
                "converged",
                f"The lower bound certifies the cost to a relative gap of {self.tol:g}.{proof}",
            )
        if solved.status in ("infeasible", "max_time"):
            return solved.status, f"`minimize` stopped: {solved.message}"
        if is_last:
            return "max_rounds", "The gap is still above the tolerance; raise `max_rounds`."
        return None, ""

    def _higher(self, found: Certificate) -> Array | None:
        """Return a factor with more columns and a lower Lagrangian, or None if there is none."""
        U, s, _ = np.linalg.svd(found.Y, full_matrices=False)
        kept = (U * s)[:, s > _ZERO * s[0]]
        accuracy = _ROUGH * abs(found.eigenvalue.value)
        values, V = smallest_eigenvectors(found.S, _DIRECTIONS, found.norm, accuracy)
        V = V[:, values < 0.0]
        p, structure = self.program, self.program.structure
        if not V.shape[1]:
            return None
        # Increase columns by half, so that the number of rounds is logarithmic in the rank.
        columns = max(kept.shape[1] + max(V.shape[1], kept.shape[1] // 2), structure.least_rank)
        more = np.zeros((structure.n, columns - kept.shape[1]))
        more[:, : V.shape[1]] = V
        start = np.hstack([kept, 0.0 * more])
        M = p.constraints.subtracted(p.C, found.w)
        before = float(np.vdot(start, M @ start))
        step = math.sqrt(structure.trace)
        for _ in range(_HALVINGS):
            trial = structure.factor(structure.point(start + np.hstack([0.0 * kept, step * more])))
            if float(np.vdot(trial, M @ trial)) < before:
                return trial
            step /= 2.0
        return None

    def _result(
        self, found: Certificate, status: str, message: str, history: tuple[Round, ...]
    ) -> SemidefiniteResult:
        n = self.program.structure.n - self.program.has_slack
        U, s, _ = np.linalg.svd(found.Y[:n], full_matrices=False)
        kept = max(int(np.sum(s > _ZERO * s[0])), 1)
        S = found.S
        return SemidefiniteResult(
            Y=(U * s)[:, :kept],
            cost=found.cost,
            lower_bound=found.lower_bound,
            relative_gap=found.relative_gap,
            infeasibility=found.infeasibility,
            multipliers=found.y,
            equality_multipliers=found.w[: self.program.n_equalities],
            inequality_multipliers=found.w[self.program.n_equalities :],
            dual_matrix=S[:n, :n] if self.program.has_slack and not hasattr(S, "matvec") else S,
            smallest_eigenvalue=found.eigenvalue.value,
            eigenvalue_bound=found.eigenvalue.bound,
            bound_is_proved=found.eigenvalue.proved,
            status=status,
            message=message,
            history=history,
        )
