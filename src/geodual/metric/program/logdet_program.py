"""The program behind RPDML and ITML, solved with a certificate: min over W ≻ 0 of ½ D(W, W₀) + Σ φ(d(W)).

D is the LogDet divergence, and φ a convex loss of the squared distance d of each pair. The dual at
multipliers λ, one per pair with difference v, is ½ log det(W₀ P(λ)) − Σ φ*(λ) with P(λ) = W₀⁻¹ + 2 Σ λ v vᵀ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from functools import cached_property, partial

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf

from geodual.arrays import Array
from geodual.manifolds import SPD
from geodual.manifolds.spd import CholeskyFrame, symmetrized
from geodual.optimize.newton_cg import Minimum, newton_cg

from ..terms.term import Term
from .certificate import NOT_FINITE, Certificate, CertifiedIteration, CertifiedMetric

_EPS = float(np.finfo(float).eps)
_GROWTH = 4.0  # growth of the weight of the loss from stage to stage
_LOOSE = 0.1  # absolute gap per feature at which a stage ends
_LEAST_RADIUS = 1.0  # of the trust region
_ROUGH = 1e-3  # relative gap of the optimum for a part of the pairs, where the iteration starts
_FAR = 0.3  # relative gap there above which the part is no longer used
_LEAST_PROGRESS = 0.05  # of the gap in two steps; with less, Hessian products use all pairs
_LIGHT = 0.1  # relative gap at which a light solve ends
_SHRINKAGES = 1.0 - np.geomspace(1.0, 1e-3, 24)[1:]  # of multipliers, almost up to the largest feasible


class LogDetProgram:
    """The program for samples, a term and a prior; call it with W to evaluate it there.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Samples.
    term : Term
        The term to learn from.
    prior_inverse : array of shape (n_features, n_features)
        W₀⁻¹.
    """

    def __init__(self, X: Array, term: Term, prior_inverse: Array) -> None:
        self.X, self.term = X, term
        self.prior_inverse = prior_inverse
        self.log_det_prior = -float(np.linalg.slogdet(prior_inverse)[1])
        self.passes = 0
        self._thin: Term | None = None

    @property
    def hessian_term(self) -> Term:
        """The term for Hessian products: a smaller term that represents this one, or itself."""
        return self.term if self._thin is None else self._thin

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
        """Minimize from `W` until the relative duality gap is at most `tol`.

        The weight of the loss increases in stages, and each stage starts where the last one ended. Far from
        the optimum of a strong loss, Newton's method may take very many steps; with stages, it is always near
        the optimum of its stage. The reported bounds are those of the full program in every stage.

        Parameters
        ----------
        W : array of shape (n_features, n_features)
            Starting point, for example W₀.
        tol : float
            Relative duality gap to reach.
        max_iter : int
            Maximum number of iterations in all stages; those of a rough start are not counted.
        report : callable, optional
            Called with each iteration.
        """
        model, left = self._first_model(W, tol, max_iter), max_iter
        certificate = Certificate(model, tol, report)
        # Near the optimum for a part of the pairs, use the full loss from the beginning.
        weight = model.balancing_weight() if self._thin is None else 1.0
        while True:
            minimum = self._newton(
                model,
                weight,
                left,
                stop=partial(self._ends_stage, certificate),
                watch=partial(self._record, certificate),
            )
            model, left = minimum.model, left - minimum.n_iter
            if weight == 1.0 or certificate.proved:
                return certificate.metric(minimum.status)
            weight = min(_GROWTH * weight, 1.0)

    @np.errstate(all="ignore")
    def solve_lightly(self, W: Array, max_iter: int) -> tuple[Array, int]:
        """Return a matrix near the optimum for a weak loss, and the number of iterations.

        The loss is scaled down to at most n at `W`, for n features, because the divergence is of this order.
        With more features than samples, n is the dimension that samples can span. The matrix is good enough
        to find neighbors; a stronger loss would follow the first neighbors too closely.

        Parameters
        ----------
        W : array of shape (n_features, n_features)
            Starting point: W₀.
        max_iter : int
            Maximum number of iterations.
        """
        model = self(W)
        if not math.isfinite(model.primal):
            raise ValueError(NOT_FINITE)
        minimum = self._newton(model, model.light_weight(), max_iter, stop=_is_near)
        return minimum.model.W, minimum.n_iter

    def _newton(
        self,
        model: LocalProgram,
        weight: float,
        max_iter: int,
        *,
        stop: Callable[[LocalProgram], bool],
        watch: Callable[[LocalProgram], object] | None = None,
    ) -> Minimum[LocalProgram]:
        """Minimize for one weight of the loss, from an evaluated model."""
        return newton_cg(
            partial(self, weight=weight),
            model.weighted(weight),
            tol=None,  # the gap decides, not the gradient
            max_iter=max_iter,
            step_limit=SPD(len(model.W)).step_limit,
            least_radius=_LEAST_RADIUS,
            forcing=0.5,  # a Hessian product costs as much as an evaluation here
            stop=stop,
            prepare=LocalProgram.turn,
            watch=watch,
        )

    def _first_model(self, W: Array, tol: float, max_iter: int) -> LocalProgram:
        """Evaluate the start of the iteration: the optimum for a part of the pairs, if there is one."""
        self._thin = self.term.thinned(len(W))
        if self._thin is None:
            return self(W)
        rough = LogDetProgram(self.X, self._thin, self.prior_inverse)
        model = self(rough.solve(W, max(tol, _ROUGH), max_iter).W)
        if model.primal - model.dual <= _FAR * model.primal:
            return model
        self._thin = None  # its optimum is far from that of all pairs, so it does not represent them
        return self(W)

    def _record(self, certificate: Certificate, model: LocalProgram) -> None:
        """Record an iterate, and check whether the thinned term is still accurate enough."""
        certificate.record(model, self.passes)
        if not _is_accurate([row.gap for row in certificate.rows]):
            self._thin = None

    def _ends_stage(self, certificate: Certificate, model: LocalProgram) -> bool:
        """Return whether the stage ends; all stages except the last end early."""
        near = model.value - certificate.dual <= _LOOSE * len(model.W)
        return certificate.proved or (model.weight < 1.0 and near)


def _is_accurate(gaps: list[float]) -> bool:
    """Return whether the last two steps reduced the gap as fast as with accurate Hessian products."""
    return len(gaps) < 3 or gaps[-1] <= _LEAST_PROGRESS * gaps[-3]


def _is_near(model: LocalProgram) -> bool:
    """Return whether a light solve ends."""
    return model.value - model.dual <= _LIGHT * model.value


class LocalProgram:
    """The program at W = LLᵀ: value, bounds and derivatives in the coordinates S of V = L S Lᵀ.

    The samples in these coordinates are Z = X L. At first L is a Cholesky factor; `turn` turns it.

    Parameters
    ----------
    program : LogDetProgram
        The program.
    frame : StraightFrame
        The frame at W.
    weight : float
        t ≤ 1 of the objective p(t) = ½ D(W, W₀) + t Σ φ.
    """

    def __init__(self, program: LogDetProgram, frame: StraightFrame, weight: float) -> None:
        self.program, self.frame = program, frame
        self._Z = dtrmm(1.0, frame.factor.T, program.X.T).T  # X L in half the time, because L is triangular
        self._unturned = (frame, self._Z)  # before turning
        self._pass = losses = program.term.evaluate(self._Z)
        self._hessian_source = program.term, losses  # the source of Hessian products
        program.passes += 1
        self._prior = symmetrized(frame.factor.T @ program.prior_inverse @ frame.factor)
        log_det = 2.0 * float(np.log(np.diagonal(frame.factor)).sum())
        self._log_ratio = log_det - program.log_det_prior
        # ½ D in two parts, because rounding errors grow with each part, not with the sum.
        linear = 0.5 * (float(np.trace(self._prior)) - len(self._prior))
        self._divergence_parts = (linear, -0.5 * self._log_ratio)
        self.primal = sum(self._divergence_parts) + losses.value
        self._set_weight(weight)
        if losses.value < -self.noise:
            raise ValueError(
                f"A pair loss must not be negative, but its sum is {losses.value:.3g}; add a constant to it."
            )

    def weighted(self, weight: float) -> LocalProgram:
        """Return the same program with another weight, without a pass over the pairs."""
        other = copy(self)
        other.frame, other._Z = self._unturned
        for name in ("gradient", "dual"):
            vars(other).pop(name, None)
        other._set_weight(weight)
        return other

    def _set_weight(self, weight: float) -> None:
        self.weight = weight
        self.value = sum(self._divergence_parts) + weight * self._pass.value

    def balancing_weight(self) -> float:
        """Return the weight t ≤ 1 of the loss for which W is closest to optimal: the first stage.

        With the gradients a of ½ D and b of the loss, ‖a + t b‖ is smallest at t = −⟨a, b⟩/‖b‖². A gradient
        with ‖t b‖ = 1 is always small enough; this matters at the prior, where a = 0.
        """
        a = 0.5 * (self._prior - np.eye(len(self._prior)))
        b = symmetrized(self._pass.slope_sum)
        length = float(np.linalg.norm(b))
        if not 1.0 < length < math.inf:
            return 1.0
        return min(max(-float(np.vdot(a, b / length)) / length, 1.0 / length), 1.0)

    def light_weight(self) -> float:
        """Return the weight t ≤ 1 for which the loss at W is at most n, the dimension that samples span."""
        n = max(min(len(self._prior), len(self.program.X) - 1), 1)
        return min(1.0, n / max(self._pass.value, 1e-300))

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
        size = sum(map(abs, self._divergence_parts)) + abs(self._pass.value) + len(self._prior)
        # Include n, because tr(Lᵀ W₀⁻¹ L) − n cancels near the prior.
        return 64.0 * _EPS * size + self.distance_noise

    @cached_property
    def gradient(self) -> Array:
        """The gradient ½ (Lᵀ W₀⁻¹ L − I) + t Zᵀ Lap(φ′) Z."""
        slope = self.weight * symmetrized(self._pass.slope_sum)
        return 0.5 * (self._prior - np.eye(len(self._prior))) + slope

    @cached_property
    def dual(self) -> float:
        """A lower bound on the optimum of p(t), and also on that of p(1) ≥ p(t), because φ ≥ 0."""
        slope = symmetrized(self._pass.slope_sum)
        return lower_bound(self._prior, slope, self._pass.conjugate, self.weight, self._log_ratio)

    def hessian_product(self, S: Array) -> Array:
        """Return ½ S + t Zᵀ Lap(φ″ q(S)) Z, where q(S) = zᵀ S z for the difference z of each pair."""
        term, losses = self._hessian_source
        if term is self.program.term:
            self.program.passes += 1  # a pass over all pairs, not over those of a thinned term
        bend = term.curvature_product(self._Z, S, losses)
        return symmetrized(0.5 * S + self.weight * bend)

    def turn(self) -> None:
        """Rotate the coordinates so that `precondition` needs no matrix products; values do not change.

        This replaces the frame, the samples in it and the gradient; `weighted` returns to the original ones.
        """
        term = self.program.hessian_term
        losses = self._pass if term is self.program.term else term.evaluate(self._Z)
        self._hessian_source = term, losses
        moment = term.curvature_moment(self._Z, losses)
        # Curvatures that overflow cannot be used.
        finite = bool(np.isfinite(moment).all())
        spectrum, basis = np.linalg.eigh(moment if finite else np.zeros_like(moment))
        scale = np.sqrt(self.weight / max(losses.curvature_total, 1e-300))
        self._preconditioner = GaussianPreconditioner(scale * np.maximum(spectrum, 0.0))
        self.gradient = symmetrized(basis.T @ self.gradient @ basis)
        self.frame, self._Z = self.frame.turned(basis), term.turned(self._Z, basis, losses)

    def precondition(self, S: Array) -> Array:
        """Apply an approximate inverse of the Hessian, after `turn`."""
        return self._preconditioner(S)


class StraightFrame(CholeskyFrame):
    """The coordinates S of V = L S Lᵀ at W = LLᵀ, with steps along straight lines L (I + S) Lᵀ.

    Distances are linear along them, so the loss stays convex. For eigenvalues of S below −½, a hyperbola
    takes over, so that W stays positive definite. It shrinks W less than an exponential would, after which
    Newton's method could only double an eigenvalue per step.
    """

    def turned(self, basis: Array) -> StraightFrame:
        """Return the frame with the factor L Q, for an orthogonal Q."""
        other = copy(self)
        other.factor = self.factor @ basis
        return other

    def move(self, c: Array) -> Array:
        shifted = c + 0.5 * np.eye(len(c))
        # A Cholesky factorization succeeds if no eigenvalue is below −½, and is much cheaper than
        # eigenvalues.
        if not dpotrf(shifted)[1]:
            return symmetrized(self.factor @ (shifted + 0.5 * np.eye(len(c))) @ self.factor.T)
        if not np.isfinite(c).all():  # overflow, for which `eigh` would fail
            return np.full_like(c, np.nan)
        spectrum, basis = np.linalg.eigh(c)
        # The hyperbola −1/(4 s) meets the straight line at s = −½ with the same value and slope.
        factors = np.where(spectrum >= -0.5, 1.0 + spectrum, -0.25 / np.minimum(spectrum, -0.5))
        half = (self.factor @ basis) * np.sqrt(factors)
        return np.asarray(half @ half.T)


class GaussianPreconditioner:
    """The inverse of S ↦ ½ S + κ (2 Σ S Σ + tr(ΣS) Σ), which approximates the Hessian, for diagonal Σ.

    It would be exact for normal differences z of pairs with covariance Σ, because E[(zᵀSz) zzᵀ] = 2 Σ S Σ +
    tr(ΣS) Σ. κ is the total curvature, and Σ the mean of zzᵀ weighted by curvature.

    Parameters
    ----------
    sigma : array of shape (n_features,)
        The diagonal of √κ Σ.
    """

    def __init__(self, sigma: Array) -> None:
        self._sigma = sigma
        self._inverse = 1.0 / (0.5 + 2.0 * np.outer(sigma, sigma))
        # The trace term couples only diagonal entries, with rank one: use the Sherman-Morrison formula.
        diagonal = np.diagonal(self._inverse)
        self._coupled = sigma * diagonal / (1.0 + float(sigma**2 @ diagonal))

    def __call__(self, S: Array) -> Array:
        solved = S * self._inverse
        solved.flat[:: len(S) + 1] -= float(self._sigma @ np.diagonal(solved)) * self._coupled
        return solved


def lower_bound(prior: Array, slope_sum: Array, conjugate: float, weight: float, log_ratio: float) -> float:
    """Return the dual at λ = t φ′, or at a smaller λ if P(λ) is not positive definite.

    In the coordinates at W = LLᵀ, its matrix is LᵀP(λ)L = Lᵀ W₀⁻¹ L + 2 t Σ φ′ z zᵀ, so the dual costs
    one Cholesky factorization.

    Parameters
    ----------
    prior : array of shape (n_features, n_features)
        Lᵀ W₀⁻¹ L.
    slope_sum : array of shape (n_features, n_features)
        Σ φ′ z zᵀ over the differences z of the pairs, in the same coordinates.
    conjugate : float
        Σ φ*(φ′).
    weight : float
        t ≤ 1, the weight of the loss.
    log_ratio : float
        log det W − log det W₀.
    """
    try:
        factor = np.linalg.cholesky(prior + 2.0 * weight * slope_sum)
    except np.linalg.LinAlgError:
        return _shrunk_bound(prior, slope_sum, conjugate, weight, log_ratio)
    log_det = 2.0 * float(np.log(np.diagonal(factor)).sum())
    return 0.5 * (log_det - log_ratio) - weight * conjugate


def _shrunk_bound(prior: Array, slope_sum: Array, conjugate: float, weight: float, log_ratio: float) -> float:
    """Return the best bound at λ = s φ′ over some 0 < s < t for which P(λ) is positive definite.

    No pass over the pairs is needed: φ* is convex, and φ*(0) ≤ 0 because φ ≥ 0, so φ*(s a) ≤ s φ*(a).
    """
    try:
        spectrum = eigh(2.0 * slope_sum, prior, eigvals_only=True, check_finite=False)
    except np.linalg.LinAlgError:
        return -np.inf  # rounding errors or overflow prove nothing
    log_det_prior = float(np.linalg.slogdet(prior)[1])
    # 1 + s σ > 0 for the smallest generalized eigenvalue σ, with a margin for rounding errors. These may also
    # make σ ≥ 0; then every s is valid.
    limit = min(weight, (1.0 - 1e-9) / -float(spectrum[0])) if spectrum[0] < 0.0 else weight
    s = limit * _SHRINKAGES
    log_det = log_det_prior + np.log1p(s[:, None] * spectrum).sum(axis=1)
    return float((0.5 * (log_det - log_ratio) - s * conjugate).max())
