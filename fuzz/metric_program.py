"""The LogDet programs of the metric learners, written out once more with plain loops, to check certificates.

The program is min over W of ½ D(W, W₀) + Σ φ(tₖ), where tₖ = ⟨W, Aₖ⟩ is the squared distance of a pair,
Aₖ = vvᵀ, or the difference of two, Aₖ = vvᵀ − wwᵀ. For any slopes aₖ the number
½ log det(W₀ (W₀⁻¹ + 2 Σ aₖAₖ)) − Σ φ*(aₖ) is a lower bound on the optimum (E. g. Boyd and Vandenberghe,
*Convex Optimization*, Chapter 5). With the slopes at an optimal W it is the optimum itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .dual_ascent import DualAscent
from .metric_losses import Burg, Hinge, Term

SLACK = 10.0  # a gap may exceed its tolerance by this factor, as both sides are rounded
_EPS = 1e-15
_SINGULAR = 1e-13  # relative size of negative eigenvalues that rounding explains
ROUNDING = 1e-11  # relative error that is left to rounding, of each term before terms cancel


def pair_hinges(X: Any, pairs: Any, similar: Any, u: float, l: float, C: float) -> list[Term]:  # noqa: E741
    """Return the terms of RPDML with pairs of equal weight."""
    losses = []
    for (i, j), same in zip(pairs, similar, strict=True):
        sign, bound = (1.0, u) if same else (-1.0, l)
        v = np.asarray(X[i] - X[j], dtype=float)
        losses.append(Hinge(v, np.zeros_like(v), sign, bound, bound**2 * len(pairs) / C))
    return losses


def pair_burgs(X: Any, pairs: Any, similar: Any, u: float, l: float, gamma: float) -> list[Term]:  # noqa: E741
    """Return the terms of half the objective of ITML with pairs of equal weight."""
    losses = []
    for (i, j), same in zip(pairs, similar, strict=True):
        sign, bound = (1.0, u) if same else (-1.0, l)
        v = np.asarray(X[i] - X[j], dtype=float)
        losses.append(Burg(v, np.zeros_like(v), sign, bound, 0.5 * gamma))
    return losses


def comparison_hinges(tuples: Any, margin: float, C: float) -> list[Term]:
    """Return the terms of comparisons: of (a, b, c) with d(a, b) < d(a, c), or of (a, b, c, d)."""
    losses = []
    for rows in np.asarray(tuples, dtype=float):
        near, far = rows[0] - rows[1], rows[0] - rows[2] if len(rows) == 3 else rows[2] - rows[3]
        losses.append(Hinge(near, far, 1.0, -margin, margin**2 * len(tuples) / C))
    return losses


def wrong_with_certificate(learner: Any, W: Any, W0: Any, terms: Sequence[Term]) -> Iterator[str]:
    """Yield what is wrong with objective, lower bound and gap of a fitted learner.

    Parameters
    ----------
    learner : estimator
        It has `objective_`, `dual_objective_`, `duality_gap_` and `tol`.
    W, W0 : array of shape (n_features, n_features)
        The learned metric and the prior.
    terms : sequence of Term
        The losses of the program.
    """
    program = _Program(np.asarray(W0, dtype=float), terms)
    primal, slopes, noise = program.objective(np.asarray(W))
    claimed = float(learner.objective_)
    smallest, largest = np.linalg.eigvalsh(W)[0], np.linalg.norm(W, 2)
    if np.isnan(primal) and smallest > -_SINGULAR * largest:
        return  # W is singular up to rounding: what was solved, in other coordinates, cannot be stored
    if learner.duality_gap_ > learner.tol and smallest < _SINGULAR * largest:
        return  # the same, and nothing is claimed
    if float(learner.tol) == np.inf:
        return  # any metric would do
    if not abs(primal - claimed) <= 1e-6 * abs(primal) + noise:
        yield f"objective_ is {claimed:.12g}, but the program has {primal:.12g}"
    if not float(learner.dual_objective_) <= claimed * (1.0 + 1e-12) + noise:
        yield f"dual_objective_ {learner.dual_objective_:.12g} is above objective_ {claimed:.12g}"
    allowed = SLACK * learner.tol * abs(primal) + noise
    if learner.duality_gap_ > learner.tol or primal - program.lower_bound(slopes) <= allowed:
        return
    best = program.best_lower_bound(slopes, primal - allowed)  # the slopes at W are not exact enough
    if not primal - best <= allowed:
        yield f"a gap of {learner.duality_gap_:.2g} is claimed, but {(primal - best) / primal:.2g} is proved"


class _Program:
    """The program for some losses: its objective, and lower bounds on its optimum."""

    def __init__(self, W0: Any, terms: Sequence[Term]) -> None:
        self.terms, self.prior_inverse, self.log_prior = terms, np.linalg.inv(W0), _log_det(W0)

    def objective(self, W: Any) -> tuple[float, Any, float]:
        """Return the objective, the slopes of the losses, and an estimate of its rounding error."""
        trace, log_W, n = np.sum(W * self.prior_inverse), _log_det(W), len(W)
        loss, rounded, slopes = 0.0, 0.0, []
        for term in self.terms:
            t, error = term.measured(W), ROUNDING * (term.size(W) + abs(term.bound))
            loss += term.value(t)
            slopes.append(term.slope(t))
            rounded += term.value(t + term.sign * error) - term.value(t)
        factor = np.diagonal(_root(W))
        rounded += _EPS * n * float(factor.max() / factor.min()) ** 2  # of log det W
        noise = ROUNDING * (abs(trace) + abs(log_W) + abs(self.log_prior) + n + loss) + rounded
        return 0.5 * (trace - log_W + self.log_prior - n) + loss, np.array(slopes), noise

    def lower_bound(self, slopes: Any) -> float:
        """Return a lower bound on the optimum; −∞ where the slopes prove nothing."""
        log_M = _log_det(self._matrix(slopes))
        conjugates = [term.conjugate(a) for a, term in self._paired(slopes)]
        return 0.5 * (log_M + self.log_prior) - sum(conjugates) if np.isfinite(log_M) else -np.inf

    def best_lower_bound(self, slopes: Any, wanted: float) -> float:
        """Return the largest lower bound that an ascent from the slopes finds, or one as large as wanted."""
        ascent = DualAscent(self.prior_inverse, self.terms)
        found = 0.5 * self.log_prior + ascent.best(slopes, wanted - 0.5 * self.log_prior)
        return max(found, self.lower_bound(np.zeros(len(slopes))))

    def _matrix(self, slopes: Any) -> Any:
        """Return M = W₀⁻¹ + 2 Σ aₖAₖ."""
        M = self.prior_inverse.copy()
        for a, term in self._paired(slopes):
            M += 2.0 * a * (np.outer(term.v, term.v) - np.outer(term.w, term.w))
        return M

    def _paired(self, slopes: Any) -> Iterator[tuple[float, Term]]:
        return zip(slopes, self.terms, strict=True)


def _log_det(W: Any) -> float:
    """Return log det W; NaN unless W is positive definite."""
    return 2.0 * float(np.log(np.diagonal(_root(W))).sum())


def _root(W: Any) -> Any:
    """Return the Cholesky factor; NaN unless W is positive definite."""
    try:
        return np.linalg.cholesky(W)
    except np.linalg.LinAlgError:
        return np.full_like(W, np.nan)
