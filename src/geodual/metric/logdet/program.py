"""The program behind RPDML and ITML, solved with a certificate: min over W ≻ 0 of ½ D(W, W₀) + Σ φ(d(W)).

D is the LogDet divergence, and φ a convex loss of the squared distance d of each pair. The dual at
multipliers λ, one per pair with difference v, is ½ log det(W₀ P(λ)) − Σ φ*(λ) with P(λ) = W₀⁻¹ + 2 Σ λ v vᵀ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf
from scipy.optimize import minimize_scalar

from geodual.arrays import Array
from geodual.manifolds import SPD
from geodual.manifolds.spd import CholeskyFrame, symmetrised
from geodual.optimize.newton_cg import newton_cg

from ..pairs.pair_loss import PairLoss
from ..pairs.pair_set import LossPass, Pairs
from .certificate import Certificate, CertifiedIteration, CertifiedMetric

MAX_ITER = 500

_EPS = float(np.finfo(float).eps)
_GROWTH = 4.0  # factor of the weight of the loss from one stage to the next
_LOOSE = 0.1  # absolute gap per feature at which a stage ends
_LEAST_RADIUS = 1.0  # of the trust region


class LogDetProgram:
    """The program for given samples, pairs, loss and prior; call it with W to evaluate it there.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Samples.
    pairs : Pairs
        The pairs that count, and which of them are similar.
    loss : PairLoss
        The loss φ.
    prior_inverse : array of shape (n_features, n_features)
        W₀⁻¹.
    """

    def __init__(self, X: Array, pairs: Pairs, loss: PairLoss, prior_inverse: Array) -> None:
        self.X, self.pairs, self.loss = X, pairs, loss
        self.prior_inverse = prior_inverse
        self.log_det_prior = -float(np.linalg.slogdet(prior_inverse)[1])
        self.passes = 0

    def __call__(self, W: Array, weight: float = 1.0) -> LocalProgram:
        """Evaluate at W, with the loss multiplied by `weight`; this takes one pass over the pairs."""
        return LocalProgram(self, StraightFrame(W), weight)

    @np.errstate(all="ignore")
    def solve(
        self,
        W: Array,
        tol: float,
        max_iter: int,
        report: Callable[[CertifiedIteration], object] = lambda row: None,
    ) -> CertifiedMetric:
        """Minimise from `W` until the relative duality gap is at most `tol`.

        The weight of the loss rises in stages, and each stage starts where the last one ended. Far from the
        optimum of a strong loss Newton's method may take very many steps; in this way it is always near the
        optimum of its stage. The reported bounds are those of the full program in every stage.

        Parameters
        ----------
        W : array of shape (n_features, n_features)
            Where to start, for example W₀.
        tol : float
            Relative duality gap to reach.
        max_iter : int
            Maximal number of iterations in all stages.
        report : callable, optional
            Is called with each iteration.
        """
        model, left = self(W), max_iter
        certificate = Certificate(model, tol, report)
        weight = model.balancing_weight()
        while True:
            minimum = newton_cg(
                partial(self, weight=weight),
                model.weighted(weight),
                tol=-1.0,  # the gap decides, not the gradient
                max_iter=left,
                step_limit=SPD(len(W)).step_limit,
                least_radius=_LEAST_RADIUS,
                forcing=0.5,  # a Hessian product costs as much as an evaluation here
                watch=partial(self._watch, certificate),
            )
            model, left = minimum.model, left - minimum.n_iter
            if weight == 1.0 or certificate.proved:
                return certificate.metric(minimum.status)
            weight = min(_GROWTH * weight, 1.0)

    def _watch(self, certificate: Certificate, model: LocalProgram) -> bool:
        """Record an iterate, and return whether the stage ends: sooner in all stages but the last."""
        certificate.record(model, self.passes)
        near = model.value - certificate.dual <= _LOOSE * len(model.W)
        return certificate.proved or (model.weight < 1.0 and near)


class StraightFrame(CholeskyFrame):
    """The coordinates S of V = L S Lᵀ at W = LLᵀ, with steps along straight lines L (I + S) Lᵀ.

    Distances are linear along them, so the loss stays convex. Eigenvalues of S below −½ shrink W
    exponentially instead, so that W stays positive definite.
    """

    def move(self, c: Array) -> Array:
        shifted = c + 0.5 * np.eye(len(c))
        # A Cholesky factorisation succeeds if no eigenvalue is below −½, and is far cheaper than eigenvalues.
        if not dpotrf(shifted)[1]:
            return symmetrised(self.factor @ (shifted + 0.5 * np.eye(len(c))) @ self.factor.T)
        spectrum, basis = np.linalg.eigh(c)
        # The exponential joins the straight line at −½ with the same value and slope.
        factors = np.where(spectrum >= -0.5, 1.0 + spectrum, 0.5 * np.exp(2.0 * spectrum + 1.0))
        half = (self.factor @ basis) * np.sqrt(factors)
        return np.asarray(half @ half.T)


class LocalProgram:
    """The program at W = LLᵀ: value, bounds and derivatives in the coordinates S of V = L S Lᵀ.

    The samples in these coordinates are Z = X L.

    Parameters
    ----------
    program : LogDetProgram
        The program.
    frame : StraightFrame
        The frame at W.
    weight : float
        t ≤ 1 of the objective p(t) = ½ D(W, W₀) + t Σ φ.
    losses : LossPass, optional
        Sums over the pairs, if they are already known.
    """

    def __init__(
        self, program: LogDetProgram, frame: StraightFrame, weight: float, losses: LossPass | None = None
    ) -> None:
        self.program, self.frame, self.weight = program, frame, weight
        self._Z = program.X @ frame.factor
        if losses is None:
            losses = program.pairs.evaluate(self._Z, program.loss)
            program.passes += 1
        self._pass = losses
        self._prior = symmetrised(frame.factor.T @ program.prior_inverse @ frame.factor)
        log_det = 2.0 * float(np.log(np.diagonal(frame.factor)).sum())
        self._log_ratio = log_det - program.log_det_prior
        # ½ D in two terms, because rounding errors grow with each term and not with their sum.
        self._terms = (0.5 * (float(np.trace(self._prior)) - len(self._prior)), -0.5 * self._log_ratio)
        self.value = sum(self._terms) + weight * losses.value
        self.primal = sum(self._terms) + losses.value
        if losses.value < -self.noise:
            raise ValueError(
                f"A pair loss must not be negative, but its sum is {losses.value:.3g}; add a constant to it."
            )

    def weighted(self, weight: float) -> LocalProgram:
        """Return the same program with another weight, without a pass over the pairs."""
        return LocalProgram(self.program, self.frame, weight, self._pass)

    def balancing_weight(self) -> float:
        """Return the weight t ≤ 1 of the loss for which W is nearest to optimal: the first stage.

        With the gradients a of ½ D and b of the loss, ‖a + t b‖ is least at t = −⟨a, b⟩/‖b‖². A gradient of
        ‖t b‖ = 1 is small enough in any case; this matters at the prior, where a = 0.
        """
        a = 0.5 * (self._prior - np.eye(len(self._prior)))
        b = symmetrised(self._pass.slope_sum)
        length = float(np.linalg.norm(b))
        if not 1.0 < length < math.inf:
            return 1.0
        return min(max(-float(np.vdot(a, b / length)) / length, 1.0 / length), 1.0)

    @property
    def W(self) -> Array:
        """The matrix W."""
        return np.asarray(self.frame.point)

    @property
    def distance_noise(self) -> float:
        """Upper estimate of the error of the loss from rounded distances."""
        return self._pass.noise

    @property
    def noise(self) -> float:
        """Upper estimate of the rounding error of the objective."""
        size = sum(map(abs, self._terms)) + abs(self._pass.value) + len(self._prior)
        # n is included because tr(Lᵀ W₀⁻¹ L) − n cancels near the prior.
        return 64.0 * _EPS * size + self.distance_noise

    @cached_property
    def gradient(self) -> Array:
        """The gradient ½ (Lᵀ W₀⁻¹ L − I) + t Zᵀ Lap(φ′) Z."""
        slope = self.weight * symmetrised(self._pass.slope_sum)
        return 0.5 * (self._prior - np.eye(len(self._prior))) + slope

    @cached_property
    def dual(self) -> float:
        """A lower bound on the optimum: the dual at λ = t φ′, or at a smaller λ if P(λ) is not definite.

        It bounds the optimum of p(t), and also that of p(1) ≥ p(t), because φ ≥ 0. As LᵀP(λ)L = I + 2 grad,
        it costs one Cholesky factorisation.
        """
        try:
            factor = np.linalg.cholesky(np.eye(len(self._prior)) + 2.0 * self.gradient)
        except np.linalg.LinAlgError:
            return self._shrunk_dual()
        log_det = 2.0 * float(np.log(np.diagonal(factor)).sum())
        return 0.5 * (log_det - self._log_ratio) - self.weight * self._pass.conjugate

    def _shrunk_dual(self) -> float:
        """Return the best bound at λ = s φ′ over those 0 < s < t for which P(λ) is positive definite.

        No pass over the pairs is needed: φ* is convex, and φ*(0) ≤ 0 because φ ≥ 0, so φ*(s a) ≤ s φ*(a).
        """
        spectrum = eigh(2.0 * symmetrised(self._pass.slope_sum), self._prior, eigvals_only=True)
        log_det_prior = float(np.linalg.slogdet(self._prior)[1])

        def negative(s: float) -> float:
            log_det = log_det_prior + float(np.log1p(s * spectrum).sum())
            return s * self._pass.conjugate - 0.5 * (log_det - self._log_ratio)

        # 1 + s σ > 0 for the smallest generalised eigenvalue σ < 0, with a margin for rounding errors.
        limit = min(self.weight, -(1.0 - 1e-9) / float(spectrum[0]))
        return -float(minimize_scalar(negative, bounds=(0.0, limit), method="bounded").fun)

    def hessian_product(self, S: Array) -> Array:
        """Return ½ S + t Zᵀ Lap(φ″ q(S)) Z, where q(S) = zᵀ S z for the difference z of each pair."""
        program = self.program
        program.passes += 1
        bend = program.pairs.curvature_product(self._Z, S, program.loss, self._pass.curvatures)
        return symmetrised(0.5 * S + self.weight * bend)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Eigenvalues, scaled by the root of the total curvature, and eigenvectors of the second moment."""
        spectrum, basis = np.linalg.eigh(self.program.pairs.second_moment(self._Z))
        return np.sqrt(self.weight * self._pass.curvature_total) * np.maximum(spectrum, 0.0), basis

    def precondition(self, S: Array) -> Array:
        """Apply the inverse of S ↦ ½ S + κ (2 Σ S Σ + tr(ΣS) Σ), an approximation of the Hessian.

        It would be exact for normal differences z of pairs with covariance Σ, as E[(zᵀSz) zzᵀ] = 2 Σ S Σ +
        tr(ΣS) Σ. κ is the total curvature.
        """
        sigma, basis = self._moments
        rotated = basis.T @ S @ basis
        diagonal = 0.5 + 2.0 * np.outer(sigma, sigma)
        solved = rotated / diagonal
        # The trace term only couples diagonal entries, with rank one: the Sherman-Morrison formula.
        inverse = 1.0 / np.diagonal(diagonal)
        coupling = float(sigma @ np.diagonal(solved)) / (1.0 + float(sigma**2 @ inverse))
        solved.flat[:: len(sigma) + 1] -= coupling * sigma * inverse
        return symmetrised(basis @ solved @ basis.T)
