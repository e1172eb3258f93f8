"""min over W ≻ 0 of ½ D(W, W₀) + Σ φ(d(W)): the program behind RPDML and ITML, solved with a certificate."""

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

from .certificate import Certificate, CertifiedIteration, CertifiedMetric
from .pair_loss import PairLoss
from .pairs import LossPass, Pairs

_EPS = float(np.finfo(float).eps)
_GROWTH = 4.0  # of the weight of the loss from one stage to the next
_LOOSE = 0.1  # absolute gap, for each feature, at which a stage is left
_LEAST_RADIUS = 1.0  # of the trust region


class LogDetProgram:
    """The program for given samples, pairs, loss and prior.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Samples.
    pairs : Pairs
        Which pairs count, and which are similar.
    loss : PairLoss
        φ.
    prior_inverse : array of shape (n_features, n_features)
        W₀⁻¹.
    """

    def __init__(self, X: Array, pairs: Pairs, loss: PairLoss, prior_inverse: Array) -> None:
        self.X, self.pairs, self.loss = X, pairs, loss
        self.prior_inverse = prior_inverse
        self.log_det_prior = -float(np.linalg.slogdet(prior_inverse)[1])
        self.passes = 0

    def __call__(self, W: Array, weight: float = 1.0) -> LocalProgram:
        """Evaluate at W, with the loss weighted: one pass over the pairs."""
        return LocalProgram(self, StraightFrame(W), weight)

    @np.errstate(all="ignore")
    def solve(
        self,
        W: Array,
        tol: float,
        max_iter: int,
        report: Callable[[CertifiedIteration], object] = lambda row: None,
    ) -> CertifiedMetric:
        """Minimise from `W` until the relative duality gap is at most `tol`; report every iteration.

        The weight of the loss rises in stages, each started where the last one ended: Newton's method goes
        wrong far from the optimum of a strong loss, but is always near that of a slightly stronger one.
        Whatever the stage, the bounds reported are those of the full program.
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
                is_done=partial(self._is_done, certificate),
            )
            model, left = minimum.model, left - minimum.n_iter
            if weight == 1.0 or certificate.rows[-1].gap <= tol:
                return certificate.metric(minimum.status)
            weight = min(_GROWTH * weight, 1.0)

    def _is_done(self, certificate: Certificate, model: LocalProgram) -> bool:
        """Tell if the gap is reached or, in a stage before the last, near enough."""
        proved = certificate.add(model, self.passes)
        near = model.value - certificate.dual <= _LOOSE * len(model.W)
        return proved or (model.weight < 1.0 and near)


class StraightFrame(CholeskyFrame):
    """The coordinates S of V = L S Lᵀ at W = LLᵀ, with steps on a straight line: L (I + S) Lᵀ.

    Distances, and so the loss, are linear along it. Eigenvalues of S below −½ shrink W exponentially instead,
    so that it stays positive definite.
    """

    def move(self, c: Array) -> Array:
        shifted = c + 0.5 * np.eye(len(c))
        if not dpotrf(shifted)[1]:  # no eigenvalue below −½, and far cheaper to see than the eigenvalues
            return symmetrised(self.factor @ (shifted + 0.5 * np.eye(len(c))) @ self.factor.T)
        spectrum, basis = np.linalg.eigh(c)
        factors = np.where(spectrum >= -0.5, 1.0 + spectrum, 0.5 * np.exp(2.0 * spectrum + 1.0))
        half = (self.factor @ basis) * np.sqrt(factors)
        return np.asarray(half @ half.T)


class LocalProgram:
    """The program at W = LLᵀ, in the coordinates S of V = L S Lᵀ; Z = X L are the samples there.

    Parameters
    ----------
    program : LogDetProgram
        The program.
    frame : StraightFrame
        The frame at W.
    weight : float
        t ≤ 1: what is minimised is p(t) = ½ D(W, W₀) + t Σ φ.
    losses : LossPass, optional
        Sums over the pairs, if they are known.
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
        self._terms = (0.5 * (float(np.trace(self._prior)) - len(self._prior)), -0.5 * self._log_ratio)
        self.value = sum(self._terms) + weight * losses.value
        self.primal = sum(self._terms) + losses.value
        if losses.value < -self.noise:
            raise ValueError(f"A pair loss must not be negative, but its sum is {losses.value:.3g}.")

    def weighted(self, weight: float) -> LocalProgram:
        """Return the same with another weight; no pass is needed."""
        return LocalProgram(self.program, self.frame, weight, self._pass)

    def balancing_weight(self) -> float:
        """Return the weight t ≤ 1 of the loss for which W is as near to optimal as it can be.

        With a and b the gradients of ½ D and of the loss, ‖a + t b‖ is least at t = −⟨a, b⟩/‖b‖²; but ‖t b‖
        may be 1 in any case, as at the prior, where a = 0.
        """
        a = 0.5 * (self._prior - np.eye(len(self._prior)))
        b = symmetrised(self._pass.slope_sum)
        length = float(np.linalg.norm(b))
        if not 1.0 < length < math.inf:
            return 1.0
        return min(max(-float(np.vdot(a, b / length)) / length, 1.0 / length), 1.0)

    @property
    def W(self) -> Array:
        """The matrix."""
        return np.asarray(self.frame.point)

    @property
    def distance_noise(self) -> float:
        """What rounding the distances of pairs may add to the loss."""
        return self._pass.noise

    @property
    def noise(self) -> float:
        """The rounding error that the value may have."""
        size = sum(map(abs, self._terms)) + abs(self._pass.value) + len(self._prior)
        return 64.0 * _EPS * size + self.distance_noise

    @cached_property
    def gradient(self) -> Array:
        """½ (Lᵀ W₀⁻¹ L − I) + t Zᵀ Lap(φ′) Z."""
        slope = self.weight * symmetrised(self._pass.slope_sum)
        return 0.5 * (self._prior - np.eye(len(self._prior))) + slope

    @cached_property
    def dual(self) -> float:
        """A lower bound on the optimal p(t), hence on p(1) as φ ≥ 0: the dual at λ = t φ′, or at a shrunk λ.

        LᵀP(λ)L = I + 2 grad, so that it costs one Cholesky factorisation where that is positive definite.
        """
        try:
            factor = np.linalg.cholesky(np.eye(len(self._prior)) + 2.0 * self.gradient)
        except np.linalg.LinAlgError:
            return self._shrunk_dual()
        log_det = 2.0 * float(np.log(np.diagonal(factor)).sum())
        return 0.5 * (log_det - self._log_ratio) - self.weight * self._pass.conjugate

    def _shrunk_dual(self) -> float:
        """Return the best bound along s φ′, 0 < s < t, where P is positive definite.

        The conjugate is convex and at most 0 at 0, as φ ≥ 0, hence φ*(s a) ≤ s φ*(a): no pass is needed.
        """
        spectrum = eigh(2.0 * symmetrised(self._pass.slope_sum), self._prior, eigvals_only=True)
        log_det_prior = float(np.linalg.slogdet(self._prior)[1])

        def negative(s: float) -> float:
            log_det = log_det_prior + float(np.log1p(s * spectrum).sum())
            return s * self._pass.conjugate - 0.5 * (log_det - self._log_ratio)

        limit = min(self.weight, -(1.0 - 1e-9) / float(spectrum[0]))
        return -float(minimize_scalar(negative, bounds=(0.0, limit), method="bounded").fun)

    def hessian_product(self, S: Array) -> Array:
        """Return ½ S + t Zᵀ Lap(φ″ q(S)) Z: the second derivative along straight lines."""
        program = self.program
        program.passes += 1
        bend = program.pairs.curvature_product(self._Z, S, program.loss, self._pass.curvatures)
        return symmetrised(0.5 * S + self.weight * bend)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Eigenvalues, scaled by the total curvature, and eigenvectors of the second moment of the pairs."""
        spectrum, basis = np.linalg.eigh(self.program.pairs.second_moment(self._Z))
        return np.sqrt(self.weight * self._pass.curvature_total) * np.maximum(spectrum, 0.0), basis

    def precondition(self, S: Array) -> Array:
        """Solve ½ S + κ (2 Σ S Σ + tr(ΣS) Σ): the Hessian, were the differences of pairs Gaussian.

        For normal z with covariance Σ, E[(zᵀSz) zzᵀ] = 2 Σ S Σ + tr(ΣS) Σ; κ is the total curvature.
        """
        sigma, basis = self._moments
        rotated = basis.T @ S @ basis
        diagonal = 0.5 + 2.0 * np.outer(sigma, sigma)
        solved = rotated / diagonal
        # The trace term couples the diagonal only, with rank one: Sherman and Morrison.
        inverse = 1.0 / np.diagonal(diagonal)
        coupling = float(sigma @ np.diagonal(solved)) / (1.0 + float(sigma**2 @ inverse))
        solved.flat[:: len(sigma) + 1] -= coupling * sigma * inverse
        return symmetrised(basis @ solved @ basis.T)
