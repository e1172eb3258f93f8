"""The largest lower bound on the optimum of a LogDet program, by Newton's method on barrier problems.

The bound of `metric_program` is a concave function g of the slopes a of the losses. All slopes of a loss have
the same sign, and some losses have a steepest slope. So let b = |a| / unit lie between 0 and a limit. The
barrier problem for μ > 0 is to maximize g + μ Σ log b + μ Σ log(limit − b). As μ falls, its solutions lead
to the best slopes from inside, where the bound is finite (Boyd and Vandenberghe, *Convex Optimization*,
Chapter 11).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from .metric_losses import Term

_FALL = 0.1  # of μ from one barrier problem to the next
_STAGES, _STEPS, _HALVINGS = 12, 200, 40  # barrier problems, Newton steps for each, halvings of a step
_CENTERED = 1e-3  # a squared Newton decrement, in units of μ, after which μ falls
_ARMIJO = 0.1
_RIDGE = 1e-14  # added to a Hessian of unit diagonal, which may be singular up to rounding


class DualAscent:
    """The search for the best slopes.

    Parameters
    ----------
    prior_inverse : array of shape (n_features, n_features)
        W₀⁻¹.
    terms : sequence of Term
        The losses.
    """

    def __init__(self, prior_inverse: Any, terms: Sequence[Term]) -> None:
        self._prior_inverse, self._terms = prior_inverse, terms
        self._units = np.array([term.sign * term.unit for term in terms])
        self._limits = np.array([term.steepest / term.unit for term in terms])
        self._v = np.array([term.v for term in terms], dtype=float)
        self._w = np.array([term.w for term in terms], dtype=float)

    def best(self, slopes: Any, wanted: float) -> float:
        """Return the largest lower bound found, less ½ log det W₀; stop at one that is as large as wanted."""
        b = self._inside(np.abs(slopes / self._units))
        found = self._bound(b)
        mu = (wanted - found) / len(b)
        for _ in range(_STAGES):
            if found >= wanted or not np.isfinite(mu):
                break
            b = self._center(b, mu)
            found = max(found, self._bound(b))
            mu *= _FALL
        return found

    def _inside(self, b: Any) -> Any:
        """Return slopes between their limits with a finite bound, the best of those along a line to 0."""
        ceiling = np.where(np.isfinite(self._limits), 0.5 * self._limits, np.inf)
        b = np.minimum(np.maximum(b, max(1e-3 * float(b.max()), 1.0)), ceiling)
        return max((b * 0.5**k for k in range(200)), key=self._bound)

    def _bound(self, b: Any) -> float:
        """Return ½ log det M − Σ φ*(a) at a = b times the signed units; −∞ outside of the domain."""
        if not ((b > 0.0) & (b < self._limits)).all():
            return -np.inf
        try:
            root = np.linalg.cholesky(self._matrix(b))
        except np.linalg.LinAlgError:
            return -np.inf
        losses = sum(term.conjugate(a) for term, a in zip(self._terms, b * self._units, strict=True))
        value = float(np.log(np.diagonal(root)).sum() - losses)
        return value if np.isfinite(value) else -np.inf

    def _matrix(self, b: Any) -> Any:
        """Return M = W₀⁻¹ + 2 Σ aₖAₖ."""
        a = 2.0 * b * self._units
        return self._prior_inverse + (self._v.T * a) @ self._v - (self._w.T * a) @ self._w

    def _height(self, b: Any, mu: float) -> float:
        """Return the value of the barrier problem."""
        bound = self._bound(b)
        if not np.isfinite(bound):
            return -np.inf
        room = np.log(self._limits - b, where=np.isfinite(self._limits), out=np.zeros_like(b))
        return bound + mu * float((np.log(b) + room).sum())

    def _center(self, b: Any, mu: float) -> Any:
        """Solve a barrier problem by Newton's method with halved steps."""
        for _ in range(_STEPS):
            try:
                gradient, hessian = self._derivatives(b, mu)
                step = _newton_step(gradient, hessian)
            except ValueError:  # also if a factorization fails: the bound found so far is all that is proved
                break
            rise, height, length = float(gradient @ step), self._height(b, mu), 1.0
            if not rise > _CENTERED * mu:
                break
            for _ in range(_HALVINGS):
                if self._height(b + length * step, mu) >= height + _ARMIJO * length * rise:
                    break
                length *= 0.5
            else:
                break  # nothing but rounding is left
            b = b + length * step
        return b

    def _derivatives(self, b: Any, mu: float) -> tuple[Any, Any]:
        """Return the gradient of a barrier problem, and minus its Hessian."""
        root = np.linalg.cholesky(self._matrix(b))
        v, w = (solve_triangular(root, side.T, lower=True) for side in (self._v, self._w))
        pairs = list(zip(self._terms, b * self._units, strict=True))
        t = np.sum(v * v - w * w, axis=0) - np.array([term.conjugate_slope(a) for term, a in pairs])
        curvature = np.array([term.conjugate_curvature(a) for term, a in pairs]) * self._units**2
        room = self._limits - b
        gradient = self._units * t + mu / b - mu / room
        hessian = 2.0 * ((v.T @ v) ** 2 - (v.T @ w) ** 2 - (w.T @ v) ** 2 + (w.T @ w) ** 2)
        hessian = hessian * np.outer(self._units, self._units)
        return gradient, hessian + np.diag(curvature + mu / b**2 + mu / room**2)


def _newton_step(gradient: Any, hessian: Any) -> Any:
    size = np.sqrt(np.diagonal(hessian))
    scaled = hessian / np.outer(size, size) + _RIDGE * np.eye(len(size))
    return cho_solve(cho_factor(scaled), gradient / size) / size
