"""How near to optimal a metric is, iteration by iteration."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from typing import NamedTuple, Protocol

from geodual.arrays import Array


@dataclass(frozen=True)
class CertifiedIteration:
    """One iteration: its objective, the best bounds so far on the optimum, and what it took to get there."""

    objective: float
    primal: float
    dual: float
    gap: float
    passes: int
    seconds: float


class Convergence(tuple[CertifiedIteration, ...]):
    """All iterations of a fit, the start included; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        names = [field.name for field in fields(CertifiedIteration)]
        rows = [[f"<td>{value:.6g}</td>" for value in astuple(row)] for row in self]
        body = "".join(f"<tr><th>{i}</th>{''.join(cells)}</tr>" for i, cells in enumerate(rows))
        head = "".join(f"<th>{name}</th>" for name in names)
        return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class CertifiedMetric:
    """A metric with its certificate.

    Attributes
    ----------
    W : array of shape (n, n)
        The matrix.
    primal, dual : float
        Its objective, and a lower bound on the objective of any matrix.
    gap : float
        The relative duality gap.
    history : tuple of CertifiedIteration
        The start and all iterations.
    status : str
        "converged" if the gap is within the tolerance, else why the iteration ended: "max_iterations" or,
        where rounding errors allow no better, "stalled".
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
        """How many iterations there were."""
        return len(self.history) - 1


class Bounded(Protocol):
    """The program at a point."""

    @property
    def W(self) -> Array:
        """The point."""

    @property
    def primal(self) -> float:
        """The objective there."""

    @property
    def dual(self) -> float:
        """A lower bound on the optimal objective."""

    @property
    def noise(self) -> float:
        """The rounding error that the objective may have."""

    @property
    def distance_noise(self) -> float:
        """The part of it that rounding the distances of pairs contributes, which both bounds share."""


class _Best(NamedTuple):
    W: Array
    primal: float
    noise: float
    distance_noise: float

    def relative_gap(self, dual: float) -> float:
        """Return (|p − q| + e)/p, which bounds the relative error of p; 0 where p is no more than noise.

        e is what rounded distances may contribute to p and q alike. A lower bound above p by more than
        rounding errors proves nothing, hence the absolute value.
        """
        if self.primal <= self.noise:
            return 0.0
        return (abs(self.primal - dual) + self.distance_noise) / self.primal


class Certificate:
    """The best bounds that the iterates of a program have proved.

    Parameters
    ----------
    start : Bounded
        The program where the iteration starts.
    tol : float
        Relative gap to reach.
    report : callable
        Receives every iteration.
    """

    def __init__(self, start: Bounded, tol: float, report: Callable[[CertifiedIteration], object]) -> None:
        if not math.isfinite(start.primal):
            raise ValueError("The objective is not finite at the start; standardise the features.")
        self._tol, self._report = tol, report
        self._started = time.perf_counter()
        self._best = _Best(start.W, start.primal, start.noise, start.distance_noise)
        self.dual = 0.0  # what λ = 0 proves
        self.rows: list[CertifiedIteration] = []

    def add(self, model: Bounded, passes: int) -> bool:
        """Take the bounds of an iterate and tell if they suffice; one seen before is not reported again."""
        if model.primal < self._best.primal:
            self._best = _Best(model.W, model.primal, model.noise, model.distance_noise)
        best = self._best
        self.dual = max(self.dual, model.dual)
        if best.primal < self.dual <= best.primal + best.noise:
            self.dual = best.primal
        gap = best.relative_gap(self.dual)
        seconds = time.perf_counter() - self._started
        row = CertifiedIteration(model.primal, best.primal, self.dual, gap, passes, seconds)
        if self.rows and self.rows[-1].passes == passes:
            self.rows[-1] = row
        else:
            self.rows.append(row)
            self._report(row)
        return gap <= self._tol

    def metric(self, status: str) -> CertifiedMetric:
        """Return the best W, given how the iteration ended."""
        row = self.rows[-1]
        status = "converged" if row.gap <= self._tol else status
        return CertifiedMetric(self._best.W, row.primal, row.dual, row.gap, tuple(self.rows), status)
