"""The certificate of a metric: its distance from the optimum, and how learners store and report it."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from typing import Any, NamedTuple, Protocol

from sklearn.exceptions import ConvergenceWarning

from geodual.arrays import Array
from geodual.threads import blas_threads_for, product_operations

from .space import Space

NOT_FINITE = "The objective or its rounding error is not finite at the start; standardize the features."
_NEGLIGIBLE = 1e-6  # rounding error of an objective of 0, in the unit of ½ D(W, W₀), which has none
_ADVICE = {
    "max_iterations": "raise `max_iter` or `tol`",
    "diverged": "the updates left the positive definite matrices, so choose a smaller `step`",
    "stalled": "rounding errors allow no better result, so standardize the features or raise `tol`",
}


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
    """All iterations of a fit, including the start; notebooks show them as a table."""

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
        The objective at W, and a lower bound on the objective of every matrix.
    gap : float
        The relative duality gap.
    history : tuple of CertifiedIteration
        The start and all iterations.
    status : str
        "converged" if the gap is within the tolerance. Otherwise, the reason why the iteration ended:
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
    """The quantities of a program at a point W that the certificate needs."""

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
        """The part of the noise from rounded distances of pairs; it affects both bounds alike."""


class _Best(NamedTuple):
    W: Array
    primal: float
    noise: float
    distance_noise: float

    def relative_gap(self, dual: float) -> float:
        """Return (p − q + e)/p, an upper bound on the relative error of p; 0 if p is negligible noise.

        Here p is the objective, q ≤ p the dual, and e the part of the rounding error that p and q share,
        which their difference does not show. An objective below its noise proves nothing unless the noise
        itself is negligible: then the gap is at least 1.
        """
        if self.primal <= self.noise <= _NEGLIGIBLE:
            return 0.0
        if self.primal <= self.noise:
            return (self.primal - dual + self.noise) / self.noise
        return (self.primal - dual + self.distance_noise) / self.primal


class Certificate:
    """Collect the best bounds on the optimum proved by the iterates of a program.

    Parameters
    ----------
    start : Bounded
        The program at the start of the iteration.
    tol : float
        Relative gap to reach.
    report : callable
        Called with each `CertifiedIteration`.
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
        """Whether the bounds so far prove the tolerance."""
        return bool(self.rows) and self.rows[-1].gap <= self._tol

    def record(self, model: Bounded, passes: int) -> None:
        """Add the bounds of an iterate, and report it unless already reported."""
        if model.primal < self._best.primal and math.isfinite(model.noise):
            self._best = _Best(model.W, model.primal, model.noise, model.distance_noise)
        best = self._best
        if math.isfinite(model.dual):  # a dual that overflowed proves nothing
            self.dual = max(self.dual, model.dual)
        # A dual above the primal by rounding errors means that they are equal; otherwise it is wrong.
        if self.dual > best.primal:
            self.dual = best.primal if self.dual <= best.primal + best.noise else 0.0
        gap = best.relative_gap(self.dual)
        seconds = time.perf_counter() - self._started
        row = CertifiedIteration(model.primal, best.primal, self.dual, gap, passes, seconds)
        # A new stage starts at the iterate of the last one.
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


def keep_solution(learner: Any, space: Space, found: CertifiedMetric, X: Any, weight: Array | None) -> None:
    """Set the fitted attributes of a learner for the matrix and its certificate.

    Parameters
    ----------
    learner : estimator
        The learner, with `n_components` and `_set_metric`.
    space : Space
        The space in which the program was solved.
    found : CertifiedMetric
        The solution in that space.
    X : array or sparse array of shape (n_samples, n_features)
        The samples, for the importances of features.
    weight : array of shape (n_samples,), optional
        Weights of the samples.
    """
    n_features = X.shape[1]
    with blas_threads_for(product_operations(n_features, min(X.shape), n_features)):
        learner.W_ = space.lift(found.W)
        learner._set_metric(space.components(found.W, learner.n_components), X, weight)
    learner.objective_, learner.dual_objective_ = found.primal, found.dual
    learner.duality_gap_ = found.gap
    learner.history_ = Convergence(found.history)
    learner.n_iter_ = max(found.n_iter, 1)  # scikit-learn requires at least 1


def iteration_printer(learner: Any, verbose: int) -> Callable[[CertifiedIteration], None]:
    """Return a function that prints an iteration if `verbose` is positive, otherwise does nothing."""
    name = type(learner).__name__

    def report(row: CertifiedIteration) -> None:
        if verbose:
            print(  # noqa: T201 - what `verbose` asks for
                f"{name}: primal {row.primal:.8e}, dual {row.dual:.8e}, gap {row.gap:.1e}, "
                f"{row.passes} passes, {row.seconds:.3f} s"
            )

    return report


def warn_unless_converged(learner: Any, found: CertifiedMetric, n_earlier: int = 0) -> None:
    """Warn with advice if the gap is above the tolerance; earlier iterations are counted too."""
    if not found.converged:
        advice = _ADVICE.get(found.status, _ADVICE["stalled"])
        warnings.warn(
            f"{type(learner).__name__} stopped at a relative duality gap of {found.gap:.2g} after "
            f"{n_earlier + found.n_iter} iterations; {advice}.",
            ConvergenceWarning,
            stacklevel=4,  # the caller of `fit`
        )
