"""The program of feature weights, solved with a certificate: minimize prior(w) + term(w).

With the default prior, it is the LogDet program for diagonal matrices. The term is a convex function φ of
distances d = V w, so each prior has a dual at the slopes λ of φ, and each iterate a duality gap.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from geodual.arrays import Array
from geodual.manifolds import PositiveOrthant
from geodual.manifolds.frame import Frame
from geodual.optimize.newton_cg import newton_cg

from ..geometry.feature_differences import FeatureDifferences
from ..terms.neighborhoods import Neighborhoods
from .certificate import Certificate, CertifiedIteration, CertifiedMetric
from .feature_priors import FeaturePrior, LocalPrior, LogDetPrior

_EPS = float(np.finfo(float).eps)
_DENSE = 200  # largest number of features for which Newton systems are formed and factorized


class FeatureProgram:
    """The program for neighborhoods; call it with w to evaluate it there.

    Parameters
    ----------
    near : Neighborhoods
        Samples with their neighbors, and the loss of their distances.
    differences : FeatureDifferences
        V, the differences of the pairs.
    prior : FeaturePrior, optional
        Prior that keeps weights near 1; ½ Σ (w − log w − 1) by default.
    """

    def __init__(
        self, near: Neighborhoods, differences: FeatureDifferences, prior: FeaturePrior | None = None
    ) -> None:
        self.near, self.V = near, differences
        self.prior = LogDetPrior() if prior is None else prior
        self.passes = 0

    def __call__(self, w: Array) -> LocalFeatureProgram:
        """Evaluate at w; this takes one pass over the pairs."""
        return LocalFeatureProgram(self, w)

    @np.errstate(all="ignore")
    def solve(
        self,
        w: Array,
        tol: float,
        max_iter: int,
        report: Callable[[CertifiedIteration], object] = lambda row: None,
    ) -> CertifiedMetric:
        """Minimize from `w` until the relative duality gap is at most `tol`.

        Parameters
        ----------
        w : array of shape (n_features,)
            Starting point.
        tol : float
            Relative duality gap to reach.
        max_iter : int
            Maximum number of iterations.
        report : callable, optional
            Called with each iteration.
        """
        model = self(w)
        certificate = Certificate(model, tol, report)
        minimum = newton_cg(
            self,
            model,
            tol=None,  # the gap decides, not the gradient
            max_iter=max_iter,
            step_limit=PositiveOrthant(len(w)).step_limit,
            least_radius=1.0,
            forcing=0.5,  # a Hessian product costs as much as an evaluation here
            stop=lambda model: certificate.proved and model.settled,
            prepare=LocalFeatureProgram.prepare,
            watch=lambda model: certificate.record(model, self.passes),
        )
        return certificate.metric(minimum.status)


class LocalFeatureProgram:
    """The program at w: value, bounds and derivatives in the coordinates c of a change of w.

    Parameters
    ----------
    program : FeatureProgram
        The program.
    w : array of shape (n_features,)
        The weights.
    """

    def __init__(self, program: FeatureProgram, w: Array) -> None:
        self.program, self.W = program, w
        self._distances = program.V.distances(w)
        self._losses = program.near.loss(self._distances)
        program.passes += 1
        self._parts = program.prior.parts(w)
        self.primal = self.value = sum(self._parts) + self._losses.value

    @property
    def distance_noise(self) -> float:
        """Upper estimate of the error of the loss from rounded distances."""
        rounded = _EPS * len(self.W) * float(np.abs(self._losses.slope) @ self._distances)
        return self._losses.noise + rounded

    @property
    def noise(self) -> float:
        """Upper estimate of the rounding error of the objective."""
        size = sum(map(abs, self._parts)) + abs(self._losses.value) + len(self.W)
        return 64.0 * _EPS * size + self.distance_noise

    @cached_property
    def _slope_sums(self) -> Array:
        self.program.passes += 1
        return self.program.V.sums(self._losses.slope)

    @cached_property
    def _local(self) -> LocalPrior:
        return self.program.prior.local(self.W, self._slope_sums)

    @property
    def frame(self) -> Frame:
        """The frame of the coordinates."""
        return self._local.frame

    @property
    def gradient(self) -> Array:
        """The gradient of prior and term."""
        return self._local.gradient

    @property
    def settled(self) -> bool:
        """Whether all weights that should be zero are."""
        return self._local.settled

    @cached_property
    def dual(self) -> float:
        """A lower bound on the optimum, from the slopes λ of the term."""
        return self.program.prior.dual(self._slope_sums, self._losses.conjugate)

    def prepare(self) -> None:
        """Form and factorize the Hessian if there are few features; otherwise find its diagonal."""
        V, losses = self.program.V, self._losses
        scale, curvature = self._local.scale, self._local.curvature
        matrix = None
        if len(scale) <= _DENSE:
            matrix = V.scatter(losses.curvature, losses.p, self.program.near.starts)
        self.program.passes += 1
        self._matrix = None if matrix is None else np.diag(curvature) + matrix * np.outer(scale, scale)
        if self._matrix is None:
            self._diagonal = curvature + scale**2 * V.squared_sums(losses.curvature * (1.0 - losses.p))
        elif np.isfinite(self._matrix).all():
            self._factor = cho_factor(self._matrix, check_finite=False)
        else:
            self._matrix, self._diagonal = None, np.ones(len(scale))  # curvatures that overflow are useless

    def hessian_product(self, c: Array) -> Array:
        """Return the second derivative along c: that of the prior plus Vᵀ φ″ V."""
        if self._matrix is not None:
            return np.asarray(self._matrix @ c)
        V, scale, curvature = self.program.V, self._local.scale, self._local.curvature
        self.program.passes += 2
        bend = self.program.near.bend(V.distances(scale * c), self._losses)
        return np.asarray(curvature * c + scale * V.sums(bend))

    def precondition(self, c: Array) -> Array:
        """Apply the inverse of the Hessian or of its diagonal, after `prepare`."""
        if self._matrix is not None:
            return np.asarray(cho_solve(self._factor, c, check_finite=False))
        return np.asarray(c / self._diagonal)
