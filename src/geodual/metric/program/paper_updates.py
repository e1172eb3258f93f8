"""The updates (1)–(4) of Section IV of the paper: a gradient step in W, a closed form in ξ, dual ascent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import SPD, Euclidean, NotOnManifoldError, Product
from geodual.manifolds.product import ProductFrame
from geodual.manifolds.spd import symmetrized
from geodual.optimize import Constraint, Problem
from geodual.optimize.primal_dual import PrimalOutcome, PrimalStep, StepRule, iterate_primal_dual
from geodual.optimize.problem import ConstraintVector, EvaluatedPoint
from geodual.optimize.updates import Stop

from ..geometry.pair_set import Pairs, PairTable
from ..losses import SquaredHinge
from ..terms.term import PairTerm
from .certificate import Certificate, CertifiedIteration, CertifiedMetric
from .logdet_program import LogDetProgram

ERRATA = ("corrected", "printed")
_MAX_PAIRS = 2_000_000  # each has a slack and two multipliers in memory


def solve_by_paper_updates(
    X: Array,
    pairs: Pairs,
    loss: SquaredHinge,
    prior_inverse: Array,
    start: Array,
    *,
    C1: float,
    C2: float,
    step: StepRule,
    errata: str,
    tol: float,
    max_iter: int,
    report: Callable[[CertifiedIteration], object],
) -> CertifiedMetric:
    """Iterate the updates, and certify every W by the program without ξ.

    The iteration ends when the relative gap is at most `tol`, after `max_iter` iterations, or when W is no
    longer positive definite, which happens with the printed updates. The best W is returned.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Samples.
    pairs : Pairs
        At most 2 million pairs.
    loss : SquaredHinge
        The loss after ξ is eliminated, for the certificate.
    prior_inverse : array of shape (n_features, n_features)
        W₀⁻¹.
    start : array of shape (n_features, n_features)
        The first W.
    C1, C2 : float
        Weights of the slacks, and of −½‖λ‖² in the Lagrangian.
    step : "sqrt", float or callable
        Step sizes ηₜ.
    errata : "corrected" or "printed"
        Whether to correct the updates.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Maximum number of iterations.
    report : callable
        Called with each iteration.
    """
    slack = SlackProgram(X, pairs.index_list(_MAX_PAIRS), loss, prior_inverse, C1)
    reduced = LogDetProgram(X, PairTerm(pairs, loss), prior_inverse)
    constraints = ConstraintVector(slack.problem, (start, np.zeros(slack.size)))
    point = constraints.evaluate((start, np.zeros(slack.size)))
    updates = iterate_primal_dual(constraints, point, C2, step, slack.primal_step(constraints, errata))
    model = reduced(start)
    certificate = Certificate(model, tol, report)
    certificate.record(model, reduced.passes)
    with np.errstate(all="ignore"):
        for _ in range(max_iter):
            if certificate.proved:
                break
            try:
                update = next(updates)
                assert not isinstance(update, Stop)  # our `take` below never stops
                model = reduced(update.point.x[0])
            except (np.linalg.LinAlgError, NotOnManifoldError):
                return certificate.metric("diverged")
            if not np.isfinite(model.primal):
                return certificate.metric("diverged")
            certificate.record(model, reduced.passes)
    return certificate.metric("max_iterations")


class SlackProgram:
    """Eq. (10) in W and ξ: min ½ D(W, W₀) + (C₁/2)‖ξ‖² subject to s (d(W) − b) − b ξ ≤ 0 and −ξ ≤ 0.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Samples.
    pairs : PairTable
        The pairs. A pair of weight 2 represents two equal pairs, with equal ξ, λ and γ.
    loss : SquaredHinge
        Source of the bounds b.
    prior_inverse : array of shape (n_features, n_features)
        W₀⁻¹.
    C1 : float
        C₁, the weight of the slacks.
    """

    def __init__(
        self,
        X: Array,
        pairs: PairTable,
        loss: SquaredHinge,
        prior_inverse: Array,
        C1: float,
    ) -> None:
        self.size, self.C1, self.weight = len(pairs.i), C1, pairs.weight
        self.V = X[pairs.i] - X[pairs.j]
        self.s = np.where(pairs.similar, 1.0, -1.0)
        self.b = np.where(pairs.similar, loss.upper, loss.lower)
        self.prior_inverse = prior_inverse
        n = X.shape[1]
        self.problem = Problem(
            Product(SPD(n), Euclidean(self.size)),
            cost=self._cost,
            gradient=lambda x: (self._divergence_gradient(x[0]), C1 * x[1]),
            inequalities=[
                Constraint(self.h, lambda x, w: (self.weighted_outer(w), -self.b * w)),
                Constraint(lambda x: -x[1], lambda x, w: (np.zeros((n, n)), -w)),
            ],
        )

    def h(self, x: tuple[Array, Array]) -> Array:
        """Return s (d(W) − b) − b ξ."""
        W, xi = x
        d = np.einsum("kf,kf->k", self.V @ W, self.V)
        return np.asarray(self.s * (d - self.b) - self.b * xi)

    def weighted_outer(self, w: Array) -> Array:
        """Return ⟨w, ∂h/∂W⟩ = Σ w s v vᵀ."""
        return np.asarray((self.V.T * (self.weight * w * self.s)) @ self.V)

    def _cost(self, x: tuple[Array, Array]) -> float:
        W, xi = x
        divergence = np.vdot(self.prior_inverse, W) - np.linalg.slogdet(W)[1]
        return 0.5 * float(divergence) + 0.5 * self.C1 * float(self.weight @ xi**2)

    def _divergence_gradient(self, W: Array) -> Array:
        return np.asarray(0.5 * (self.prior_inverse - np.linalg.inv(W)))

    def primal_step(self, constraints: ConstraintVector, errata: str) -> PrimalStep:
        """Return updates (1) and (2) as the primal step of Algorithm 1."""

        def take(point: EvaluatedPoint, multipliers: Array, eta: float) -> PrimalOutcome:
            lam, gamma = multipliers[: self.size], multipliers[self.size :]
            W = self.update_W(point, lam, eta, errata)
            xi = self.update_xi(point.x[1], lam, gamma, eta, errata)
            return constraints.evaluate((W, xi)), multipliers, 0

        return take

    def update_W(self, point: EvaluatedPoint, lam: Array, eta: float, errata: str) -> Array:
        """Return W after update (1): one Riemannian gradient step and a retraction."""
        W = point.x[0]
        gradient = self._divergence_gradient(W) + self.weighted_outer(lam)
        if errata == "printed":
            # Appendix C: the Euclidean gradient; negative eigenvalues are kept.
            return symmetrized(W - eta * gradient)
        assert isinstance(point.frame, ProductFrame)
        frame = point.frame.frames[0]
        return np.asarray(frame.retract(-eta * frame.gradient(gradient)))  # Errata E8 and E9

    def update_xi(self, xi: Array, lam: Array, gamma: Array, eta: float, errata: str) -> Array:
        """Return ξ after update (2): the closed-form solution of the proximal problem in ξ."""
        weight = eta if errata == "printed" else 1.0 / eta  # Erratum E10
        return np.maximum((weight * xi + gamma + lam * self.b) / (self.C1 + weight), 0.0)
