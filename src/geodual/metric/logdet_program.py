"""min over W ≻ 0 of ½ D(W, W₀) + Σ φ(d(W)): the program behind RPDML and ITML, solved with a certificate."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar

from geodual.manifolds import SPD
from geodual.manifolds.base import Array
from geodual.manifolds.spd import CholeskyFrame, symmetrised
from geodual.optimize.newton_cg import newton_cg

from .pair_loss import PairLoss
from .pairs import Pairs

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class CertifiedIteration:
    """One Newton iteration: the bounds it proves on the optimal value, and what it took to get there."""

    primal: float
    dual: float
    gap: float
    passes: int
    seconds: float


@dataclass(frozen=True)
class CertifiedMetric:
    """A metric with its certificate.

    Attributes
    ----------
    W : array of shape (n, n)
        The matrix.
    primal, dual : float
        Its objective, and a lower bound on the objective of any matrix.
    history : tuple of CertifiedIteration
        All iterations.
    converged : bool
        Whether the relative gap is within the tolerance.
    """

    W: Array
    primal: float
    dual: float
    history: tuple[CertifiedIteration, ...]
    converged: bool

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        return relative_gap(self.primal, self.dual)


def relative_gap(primal: float, dual: float) -> float:
    """Return (p − q)/p, which bounds the relative error of p; 0 where p is 0."""
    return max(primal - dual, 0.0) / primal if primal > 0.0 else 0.0


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

    def __call__(self, W: Array) -> LocalProgram:
        """Evaluate at W: one pass over the pairs."""
        return LocalProgram(self, CholeskyFrame(W))

    def solve(
        self,
        W: Array,
        tol: float,
        max_iter: int,
        report: Callable[[CertifiedIteration], object] = lambda row: None,
    ) -> CertifiedMetric:
        """Minimise from `W` until the relative duality gap is at most `tol`; report every iteration."""
        started = time.perf_counter()
        rows: list[CertifiedIteration] = []
        best_dual = 0.0  # what λ = 0 proves

        def is_done(model: LocalProgram) -> bool:
            nonlocal best_dual
            best_dual = max(best_dual, min(model.dual, model.value))
            gap = relative_gap(model.value, best_dual)
            rows.append(
                CertifiedIteration(model.value, best_dual, gap, self.passes, time.perf_counter() - started)
            )
            report(rows[-1])
            return gap <= tol

        minimum = newton_cg(
            self,
            self(W),
            tol=-1.0,  # the gap decides, not the gradient
            max_iter=max_iter,
            step_limit=SPD(len(W)).step_limit,
            forcing=0.5,  # a Hessian product costs as much as an evaluation here
            is_done=is_done,
        )
        model = minimum.model
        return CertifiedMetric(model.frame.point, model.value, best_dual, tuple(rows), rows[-1].gap <= tol)


class LocalProgram:
    """The program at W = LLᵀ, in the coordinates S of V = L S Lᵀ; Z = X L are the samples there."""

    def __init__(self, program: LogDetProgram, frame: CholeskyFrame) -> None:
        self.program = program
        self.frame = frame
        self._Z = program.X @ frame.factor
        self._pass = program.pairs.evaluate(self._Z, program.loss)
        program.passes += 1
        self._prior = symmetrised(frame.factor.T @ program.prior_inverse @ frame.factor)
        log_det = 2.0 * float(np.log(np.diagonal(frame.factor)).sum())
        self._log_ratio = log_det - program.log_det_prior
        self._terms = (0.5 * (float(np.trace(self._prior)) - len(self._prior)), -0.5 * self._log_ratio)
        self.value = sum(self._terms) + self._pass.value

    @property
    def noise(self) -> float:
        """The rounding error that the value may have."""
        return 64.0 * _EPS * (sum(map(abs, self._terms)) + self._pass.value + len(self._prior))

    @cached_property
    def gradient(self) -> Array:
        """½ (Lᵀ W₀⁻¹ L − I) + Zᵀ Lap(φ′) Z."""
        return 0.5 * (self._prior - np.eye(len(self._prior))) + symmetrised(self._pass.slope_sum)

    @cached_property
    def dual(self) -> float:
        """A lower bound on the optimal value: the dual function at λ = φ′, or at a shrunk λ.

        LᵀP(λ)L = I + 2 grad, so that it costs one Cholesky factorisation where that is positive definite.
        """
        try:
            factor = np.linalg.cholesky(np.eye(len(self._prior)) + 2.0 * self.gradient)
        except np.linalg.LinAlgError:
            return self._shrunk_dual()
        log_det = 2.0 * float(np.log(np.diagonal(factor)).sum())
        return 0.5 * (log_det - self._log_ratio) - self._pass.conjugate

    def _shrunk_dual(self) -> float:
        """Return the best bound along t λ, 0 < t < 1, where P(tλ) is positive definite.

        The conjugate is convex and 0 at 0, hence φ*(t a) ≤ t φ*(a): no further pass is needed.
        """
        spectrum = eigh(2.0 * symmetrised(self._pass.slope_sum), self._prior, eigvals_only=True)
        log_det_prior = float(np.linalg.slogdet(self._prior)[1])

        def negative(t: float) -> float:
            log_det = log_det_prior + float(np.log1p(t * spectrum).sum())
            return t * self._pass.conjugate - 0.5 * (log_det - self._log_ratio)

        limit = min(1.0, -(1.0 - 1e-9) / float(spectrum[0]))
        return -float(minimize_scalar(negative, bounds=(0.0, limit), method="bounded").fun)

    def hessian_product(self, S: Array) -> Array:
        """Return ½ S + Zᵀ Lap(φ″ q(S)) Z + the symmetric part of grad·S."""
        program = self.program
        program.passes += 1
        bend = program.pairs.curvature_product(self._Z, S, program.loss, self._pass.curvatures)
        return symmetrised(0.5 * S + bend + self.gradient @ S)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Eigenvalues, scaled by the total curvature, and eigenvectors of the second moment of the pairs."""
        spectrum, basis = np.linalg.eigh(self.program.pairs.second_moment(self._Z))
        return np.sqrt(self._pass.curvature_total) * np.maximum(spectrum, 0.0), basis

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
