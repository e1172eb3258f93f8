"""The program of feature weights, solved with a certificate: min over w > 0 of ½ Σ (w − log w − 1) + term(w).

It is the LogDet program of diagonal matrices with the prior I. The term is a convex function φ of
distances d = V w, so the dual at the slopes λ of φ is ½ Σ log(1 + 2 Vᵀλ) − φ*(λ).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from geodual.arrays import Array
from geodual.manifolds import PositiveOrthant
from geodual.manifolds.positive_orthant import PositiveFrame
from geodual.optimize.newton_cg import newton_cg

from ..geometry.feature_differences import FeatureDifferences
from ..terms.neighbourhoods import Neighbourhoods
from .certificate import Certificate, CertifiedIteration, CertifiedMetric

_EPS = float(np.finfo(float).eps)
_DENSE = 200  # features up to which Newton systems are formed and factorised
_SHRINKAGES = 1.0 - np.geomspace(1.0, 1e-3, 24)[1:]  # of multipliers, nearly up to the largest allowed


class FeatureProgram:
    """The program for neighbourhoods; call it with w to evaluate it there.

    Parameters
    ----------
    near : Neighbourhoods
        Samples with their neighbours, and the loss of their distances.
    differences : FeatureDifferences
        V, the differences of these pairs.
    """

    def __init__(self, near: Neighbourhoods, differences: FeatureDifferences) -> None:
        self.near, self.V = near, differences
        self.passes = 0

    def __call__(self, w: Array) -> LocalFeatureProgram:
        """Evaluate at w; this takes one pass over the pairs."""
        return LocalFeatureProgram(self, StraightPositiveFrame(w))

    @np.errstate(all="ignore")
    def solve(
        self,
        w: Array,
        tol: float,
        max_iter: int,
        report: Callable[[CertifiedIteration], object] = lambda row: None,
    ) -> CertifiedMetric:
        """Minimise from `w` until the relative duality gap is at most `tol`.

        Parameters
        ----------
        w : array of shape (n_features,)
            Where to start.
        tol : float
            Relative duality gap to reach.
        max_iter : int
            Maximal number of iterations.
        report : callable, optional
            Is called with each iteration.
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
            stop=lambda model: certificate.proved,
            prepare=LocalFeatureProgram.prepare,
            watch=lambda model: certificate.record(model, self.passes),
        )
        return certificate.metric(minimum.status)


class LocalFeatureProgram:
    """The program at w: value, bounds and derivatives in the coordinates c of the change w c.

    Parameters
    ----------
    program : FeatureProgram
        The program.
    frame : StraightPositiveFrame
        The frame at w.
    """

    def __init__(self, program: FeatureProgram, frame: StraightPositiveFrame) -> None:
        self.program, self.frame = program, frame
        self._distances = program.V.distances(self.W)
        self._losses = program.near.loss(self._distances)
        program.passes += 1
        # In two parts, because rounding errors grow with each part and not with their sum.
        self._parts = (0.5 * float((self.W - 1.0).sum()), -0.5 * float(np.log(self.W).sum()))
        self.primal = self.value = sum(self._parts) + self._losses.value

    @property
    def W(self) -> Array:
        """The weights w."""
        return np.asarray(self.frame.point)

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
    def gradient(self) -> Array:
        """The gradient ½ (w − 1) + w Vᵀλ."""
        return np.asarray(0.5 * (self.W - 1.0) + self.W * self._slope_sums)

    @cached_property
    def dual(self) -> float:
        """A lower bound on the optimum: the dual at λ, or at a smaller one that is feasible."""
        sums, conjugate = 2.0 * self._slope_sums, self._losses.conjugate
        least = float(sums.min())
        if least > -1.0:
            return 0.5 * float(np.log1p(sums).sum()) - conjugate
        # φ* is convex, and φ*(0) ≤ 0 because φ ≥ 0, so φ*(s λ) ≤ s φ*(λ).
        s = (1.0 - 1e-9) / -least * _SHRINKAGES
        return float((0.5 * np.log1p(s[:, None] * sums).sum(axis=1) - s * conjugate).max())

    def prepare(self) -> None:
        """Form and factorise the Hessian if there are few features; otherwise find its diagonal."""
        w, V, losses = self.W, self.program.V, self._losses
        matrix = None
        if len(w) <= _DENSE:
            matrix = V.scatter(losses.curvature, losses.p, self.program.near.starts)
        self.program.passes += 1
        self._matrix = None if matrix is None else 0.5 * np.eye(len(w)) + matrix * np.outer(w, w)
        if self._matrix is None:
            self._diagonal = 0.5 + w**2 * V.squared_sums(losses.curvature * (1.0 - losses.p))
        elif np.isfinite(self._matrix).all():
            self._factor = cho_factor(self._matrix, check_finite=False)
        else:
            self._matrix, self._diagonal = None, np.ones(len(w))  # curvatures that overflow help nobody

    def hessian_product(self, c: Array) -> Array:
        """Return ½ c + w Vᵀ φ″ V (w c)."""
        if self._matrix is not None:
            return np.asarray(self._matrix @ c)
        V = self.program.V
        self.program.passes += 2
        bend = self.program.near.bend(V.distances(self.W * c), self._losses)
        return np.asarray(0.5 * c + self.W * V.sums(bend))

    def precondition(self, c: Array) -> Array:
        """Apply the inverse of the Hessian or of its diagonal, after `prepare`."""
        if self._matrix is not None:
            return np.asarray(cho_solve(self._factor, c, check_finite=False))
        return np.asarray(c / self._diagonal)


class StraightPositiveFrame(PositiveFrame):
    """The coordinates c of w (1 + c), with steps along straight lines, on which distances are linear.

    Below −½ a hyperbola takes over, so that weights stay positive: −1/(4 c) has the same value and
    slope there.
    """

    def move(self, c: Array) -> Array:
        return np.asarray(self.point * np.where(c >= -0.5, 1.0 + c, -0.25 / np.minimum(c, -0.5)))
