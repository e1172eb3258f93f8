"""What all learners of the LogDet program share: checks, bounds, the solution and its certificate."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from geodual.arrays import Array

from .base import MahalanobisMixin, check_iteration, leading_components
from .bounds import check_bounds, percentile_bounds
from .certificate import CertifiedIteration, CertifiedMetric, Convergence
from .logdet_program import LogDetProgram
from .pair_loss import PairLoss
from .pairs import Pairs

_ADVICE = {
    "max_iterations": "raise `max_iter` or `tol`",
    "diverged": "the updates left the positive definite matrices, so give a smaller `step`",
    "stalled": "rounding errors allow no better, so standardise the features or raise `tol`",
}


class CertifiedLearner(MahalanobisMixin):
    """A learner that minimises ½ D(W, W₀) + Σ φ(d(W)) over pairs. Subclasses give the loss φ.

    The parameters `prior`, `percentiles`, `bounds`, `tol`, `max_iter`, `n_components` and `verbose` mean the
    same in all.
    """

    prior: Any
    percentiles: tuple[float, float]
    bounds: tuple[float, float] | None
    tol: float
    max_iter: int | None
    n_components: int | None
    verbose: int = 0
    _default_max_iter = 500

    @abstractmethod
    def _loss(self, u: float, l: float, total_weight: float) -> PairLoss:  # noqa: E741
        """Return φ for given bounds and number of pairs."""

    @property
    def _budget(self) -> int:
        return self._default_max_iter if self.max_iter is None else self.max_iter

    def _check_parameters(self) -> None:
        check_iteration(self.tol, self._budget)

    def _set_bounds(self, distances: Array | None, counts: Array | None, what: str) -> None:
        """Keep the given bounds, or percentiles of the distances."""
        if distances is None:
            self.bounds_ = check_bounds(self.bounds)
        else:
            self.bounds_ = percentile_bounds(distances, self.percentiles, counts, what)

    def _solve(
        self, X: Array, pairs: Pairs, prior_inverse: Array, start: Array, max_iter: int
    ) -> CertifiedMetric:
        loss = self._loss(*self.bounds_, pairs.total_weight)
        program = LogDetProgram(X, pairs, loss, prior_inverse)
        return program.solve(start, self.tol, max_iter, self._report)

    def _report(self, row: CertifiedIteration) -> None:
        if self.verbose:
            print(  # noqa: T201 - what `verbose` asks for
                f"{type(self).__name__}: primal {row.primal:.8e}, dual {row.dual:.8e}, gap {row.gap:.1e}, "
                f"{row.passes} passes, {row.seconds:.3f} s"
            )

    def _keep(self, found: CertifiedMetric, n_iter: int, pairs: Pairs, X: Array) -> None:
        self._set_metric(leading_components(found.W, self.n_components), X)
        self.W_ = found.W
        self.objective_, self.dual_objective_ = found.primal, found.dual
        self.duality_gap_ = found.gap
        self.history_ = Convergence(found.history)
        self.n_iter_ = max(n_iter, 1)
        self.n_pairs_ = pairs.n_pairs

    def _warn_unless_converged(self, found: CertifiedMetric) -> None:
        if not found.converged:
            advice = _ADVICE.get(found.status, _ADVICE["stalled"])
            warnings.warn(
                f"{type(self).__name__} stopped at a relative duality gap of {found.gap:.2g} after "
                f"{found.n_iter} iterations; {advice}.",
                ConvergenceWarning,
                stacklevel=4,
            )
