"""The LogDet programs of the metric learners, written out once more with plain loops, to check certificates.

The program is min over W of ½ D(W, W₀) + Σ φ(tₖ), where tₖ = ⟨W, Aₖ⟩ is the squared distance of a pair,
Aₖ = vvᵀ, or the difference of two, Aₖ = vvᵀ − wwᵀ. For any slopes aₖ the number
½ log det(W₀ (W₀⁻¹ + 2 Σ aₖAₖ)) − Σ φ*(aₖ) is a lower bound on the optimum (E. g. Boyd and Vandenberghe,
*Convex Optimization*, Chapter 5). With the slopes at an optimal W it is the optimum itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

SLACK = 10.0  # a gap may exceed its tolerance by this factor, as both sides are rounded
_TO_THE_END = {"ftol": 0.0, "gtol": 0.0, "maxiter": 2000}
ROUNDING = 1e-11  # relative error that is left to rounding, of each term before terms cancel


@dataclass(frozen=True)
class Hinge:
    """The loss ½ [sign (t − bound)]₊² / scale of one term, with t = vᵀWv − wᵀWw.

    Attributes
    ----------
    v, w : array of shape (n_features,)
        The differences of the two pairs; w is 0 if there is only one.
    sign, bound, scale : float
        The numbers above.
    """

    v: Any
    w: Any
    sign: float
    bound: float
    scale: float

    def measured(self, W: Any) -> float:
        """Return t = vᵀWv − wᵀWw."""
        return float(self.v @ W @ self.v - self.w @ W @ self.w)

    def size(self, W: Any) -> float:
        """Return the size of the terms of t, before they cancel."""
        v, w, W = np.abs(self.v), np.abs(self.w), np.abs(W)
        return float(v @ W @ v + w @ W @ w)

    def excess(self, t: float) -> float:
        """Return [sign (t − bound)]₊."""
        return max(self.sign * (t - self.bound), 0.0)


def pair_hinges(X: Any, pairs: Any, similar: Any, u: float, l: float, C: float) -> list[Hinge]:  # noqa: E741
    """Return the terms of RPDML with pairs of equal weight."""
    hinges = []
    for (i, j), same in zip(pairs, similar, strict=True):
        sign, bound = (1.0, u) if same else (-1.0, l)
        v = np.asarray(X[i] - X[j], dtype=float)
        hinges.append(Hinge(v, np.zeros_like(v), sign, bound, bound**2 * len(pairs) / C))
    return hinges


def comparison_hinges(tuples: Any, margin: float, C: float) -> list[Hinge]:
    """Return the terms of comparisons: of (a, b, c) with d(a, b) < d(a, c), or of (a, b, c, d)."""
    hinges = []
    for rows in np.asarray(tuples, dtype=float):
        near, far = rows[0] - rows[1], rows[0] - rows[2] if len(rows) == 3 else rows[2] - rows[3]
        hinges.append(Hinge(near, far, 1.0, -margin, margin**2 * len(tuples) / C))
    return hinges


def wrong_with_certificate(learner: Any, W: Any, W0: Any, hinges: Sequence[Hinge]) -> Iterator[str]:
    """Yield what is wrong with objective, lower bound and gap of a fitted learner.

    Parameters
    ----------
    learner : estimator
        It has `objective_`, `dual_objective_`, `duality_gap_` and `tol`.
    W, W0 : array of shape (n_features, n_features)
        The learnt metric and the prior.
    hinges : sequence of Hinge
        The losses of the program.
    """
    program = _Program(np.asarray(W0, dtype=float), hinges)
    primal, slopes, noise = program.objective(np.asarray(W))
    claimed = float(learner.objective_)
    if not abs(primal - claimed) <= 1e-6 * abs(primal) + noise:
        yield f"objective_ is {claimed:.12g}, but the program has {primal:.12g}"
    if not float(learner.dual_objective_) <= claimed * (1.0 + 1e-12) + noise:
        yield f"dual_objective_ {learner.dual_objective_:.12g} is above objective_ {claimed:.12g}"
    allowed = SLACK * learner.tol * abs(primal) + noise
    if learner.duality_gap_ > learner.tol or primal - program.lower_bound(slopes) <= allowed:
        return
    best = program.best_lower_bound(slopes)  # the slopes at W are not exact enough
    if not primal - best <= allowed:
        yield f"a gap of {learner.duality_gap_:.2g} is claimed, but {(primal - best) / primal:.2g} is proved"


class _Program:
    """The program for some losses: its objective, and lower bounds on its optimum."""

    def __init__(self, W0: Any, hinges: Sequence[Hinge]) -> None:
        self.hinges, self.prior_inverse, self.log_prior = hinges, np.linalg.inv(W0), _log_det(W0)

    def objective(self, W: Any) -> tuple[float, Any, float]:
        """Return the objective, the slopes of the losses, and an estimate of its rounding error."""
        trace, log_W, n = np.sum(W * self.prior_inverse), _log_det(W), len(W)
        loss, rounded, slopes = 0.0, 0.0, []
        for hinge in self.hinges:
            excess = hinge.excess(hinge.measured(W))
            loss += 0.5 * excess**2 / hinge.scale
            slopes.append(hinge.sign * excess / hinge.scale)
            error = ROUNDING * (hinge.size(W) + abs(hinge.bound))
            rounded += (excess + error) * error / hinge.scale
        noise = ROUNDING * (abs(trace) + abs(log_W) + abs(self.log_prior) + n + loss) + rounded
        return 0.5 * (trace - log_W + self.log_prior - n) + loss, np.array(slopes), noise

    def lower_bound(self, slopes: Any) -> float:
        """Return a lower bound on the optimum; −∞ where the slopes prove nothing."""
        log_M = _log_det(self._matrix(slopes))
        conjugates = [a * hinge.bound + 0.5 * hinge.scale * a**2 for a, hinge in self._paired(slopes)]
        return 0.5 * (log_M + self.log_prior) - sum(conjugates) if np.isfinite(log_M) else -np.inf

    def best_lower_bound(self, slopes: Any) -> float:
        """Return the largest lower bound that an ascent from the slopes finds; it is concave in them."""
        signs = np.array([hinge.sign for hinge in self.hinges])
        units = 1.0 / np.sqrt([hinge.scale for hinge in self.hinges])  # of equal curvature

        def falling(b: Any) -> tuple[float, Any]:
            a = signs * units * b
            value = self.lower_bound(a)
            if not np.isfinite(value):
                return 1e300, np.zeros_like(b)
            W = np.linalg.inv(self._matrix(a))
            slopes = [h.measured(W) - h.bound - h.scale * each for each, h in self._paired(a)]
            return -value, -signs * units * np.array(slopes)

        start, limits = np.abs(slopes) / units, [(0.0, None)] * len(units)
        found = minimize(falling, start, jac=True, method="L-BFGS-B", bounds=limits, options=_TO_THE_END)
        return -float(found.fun)

    def _matrix(self, slopes: Any) -> Any:
        """Return M = W₀⁻¹ + 2 Σ aₖAₖ."""
        M = self.prior_inverse.copy()
        for a, hinge in self._paired(slopes):
            M += 2.0 * a * (np.outer(hinge.v, hinge.v) - np.outer(hinge.w, hinge.w))
        return M

    def _paired(self, slopes: Any) -> Iterator[tuple[float, Hinge]]:
        return zip(slopes, self.hinges, strict=True)


def _log_det(W: Any) -> float:
    """Return log det W; NaN unless W is positive definite."""
    spectrum = np.linalg.eigvalsh(W)
    return float(np.linalg.slogdet(W)[1]) if spectrum[0] > 0.0 else np.nan
