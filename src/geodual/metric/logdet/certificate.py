"""The certificate of a metric: how far its objective can be from the optimum, for each iteration."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from typing import NamedTuple, Protocol

from geodual.arrays import Array

NOT_FINITE = "The objective or its rounding error is not finite at the start; standardise the features."
_NEGLIGIBLE = 1e-6  # rounding error of an objective of 0; the unit is that of ½ D(W, W₀), which has none


@dataclass(frozen=True)
class CertifiedIteration:
    """One iteration of a certified fit.

    Attributes
    ----------
    objective : float
        Objective of the iterate.
    primal, dual : float
        Smallest objective and largest lower bound so far.
    gap : float
        Their relative gap.
    passes : int
        Number of passes over the pairs so far.
    seconds : float
        Time since the start.
    """

    objective: float
    primal: float
    dual: float
    gap: float
    passes: int
    seconds: float


class Convergence(tuple[CertifiedIteration, ...]):
    """All iterations of a fit, including the start; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        names = [field.name for field in fields(CertifiedIteration)]
        rows = [[f"<td>{value:.6g}</td>" for value in astuple(row)] for row in self]
        body = "".join(f"<tr><th>{i}</th>{''.join(cells)}</tr>" for i, cells in enumerate(rows))
        head = "".join(f"<th>{name}</th>" for name in names)
        return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class CertifiedMetric:
    """A metric with its certificate of optimality.

    Attributes
    ----------
    W : array of shape (n, n)
        The matrix of the metric.
    primal, dual : float
        Its objective, and a lower bound on the objective of any matrix.
    gap : float
        The relative duality gap.
    history : tuple of CertifiedIteration
        The start and all iterations.
    status : str
        "converged" if the gap is within the tolerance. Otherwise the reason why the iteration ended:
        "max_iterations", "stalled" (rounding errors allow no better result) or "diverged" (the paper's
        updates left the positive definite matrices).
    """

    W: Array
    primal: float
    dual: float
    gap: float
    history: tuple[CertifiedIteration, ...]
    status: str

    @property
    def converged(self) -> bool:
        """Whether the relative gap is within the tolerance."""
        return self.status == "converged"

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.history) - 1


class Bounded(Protocol):
    """What the certificate needs to know of a program at a point W."""

    @property
    def W(self) -> Array:
        """The point W."""

    @property
    def primal(self) -> float:
        """The objective at W."""

    @property
    def dual(self) -> float:
        """A lower bound on the optimal objective."""

    @property
    def noise(self) -> float:
        """Upper estimate of the rounding error of the objective."""

    @property
    def distance_noise(self) -> float:
        """The part of the noise that comes from rounded distances of pairs; it affects both bounds alike."""


class _Best(NamedTuple):
    W: Array
    primal: float
    noise: float
    distance_noise: float

    def relative_gap(self, dual: float) -> float:
        """Return (p − q + e)/p, an upper bound on the relative error of p; 0 if p is a negligible noise.

        Here p is the objective, q ≤ p the dual, and e the part of the rounding error that p and q share,
        which their difference does not show. An objective below its noise says nothing unless the noise
        itself is negligible: then the gap is at least 1.
        """
        if self.primal <= self.noise <= _NEGLIGIBLE:
            return 0.0
        if self.primal <= self.noise:
            return (self.primal - dual + self.noise) / self.noise
        return (self.primal - dual + self.distance_noise) / self.primal


class Certificate:
    """Collect the best bounds on the optimum that the iterates of a program prove.

    Parameters
    ----------
    start : Bounded
        The program at the start of the iteration.
    tol : float
        Relative gap to reach.
    report : callable
        Is called with each `CertifiedIteration`.
    """

    def __init__(self, start: Bounded, tol: float, report: Callable[[CertifiedIteration], object]) -> None:
        if not math.isfinite(start.primal + start.noise):
            raise ValueError(NOT_FINITE)
        self._tol, self._report = tol, report
        self._started = time.perf_counter()
        self._best = _Best(start.W, start.primal, start.noise, start.distance_noise)
        self.dual = 0.0  # the dual at λ = 0: neither the divergence nor the loss is negative
        self._recorded: Array | None = None  # the last iterate
        self.rows: list[CertifiedIteration] = []

    @property
    def proved(self) -> bool:
        """Whether the bounds so far prove that the tolerance is reached."""
        return bool(self.rows) and self.rows[-1].gap <= self._tol

    def record(self, model: Bounded, passes: int) -> None:
        """Take the bounds of an iterate, and report it unless it was reported before."""
        if model.primal < self._best.primal and math.isfinite(model.noise):
            self._best = _Best(model.W, model.primal, model.noise, model.distance_noise)
        best = self._best
        if math.isfinite(model.dual):  # one that overflowed proves nothing
            self.dual = max(self.dual, model.dual)
        # Within rounding errors, a dual above the primal means that they are equal. Otherwise it is wrong.
        if self.dual > best.primal:
            self.dual = best.primal if self.dual <= best.primal + best.noise else 0.0
        gap = best.relative_gap(self.dual)
        seconds = time.perf_counter() - self._started
        row = CertifiedIteration(model.primal, best.primal, self.dual, gap, passes, seconds)
        # A new stage starts at the same iterate.
        if self.rows and model.W is self._recorded:
            self.rows[-1] = row
        else:
            self.rows.append(row)
            self._report(row)
        self._recorded = model.W

    def metric(self, status: str) -> CertifiedMetric:
        """Return the best W with its certificate, given the reason why the iteration ended."""
        row = self.rows[-1]
        status = "converged" if self.proved else status
        return CertifiedMetric(self._best.W, row.primal, row.dual, row.gap, tuple(self.rows), status)
