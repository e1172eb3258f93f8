"""A preconditioner from the whole Hessian, where conjugate gradients take longer than forming it.

In d dimensions d products give the whole Hessian H, and in exact arithmetic conjugate gradients need no more
than d steps. If they take more, H is ill-conditioned: a penalty is stiff, or variables have very different
sizes. Then H is formed, and H⁻¹ is the preconditioner from here on, until the steps with it have taken more
than d products together. To use at later points what is known of H follows J. L. Morales, J. Nocedal,
"Automatic preconditioning by limited memory quasi-Newton updating", SIAM Journal on Optimization 10(4), 2000.

Where H is indefinite, there is no preconditioner: steps end at the trust region, and |H|⁻¹ would spend them
on flat directions (with it, 30 balanced cuts took 250,000 products, without it 46,000). H is then formed
again only after several times as many steps, because it may be indefinite for good.
"""

from __future__ import annotations

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import Frame, Manifold
from geodual.manifolds.frame import Coordinates

from .lagrangian import LocalLagrangian

_MOST = 500  # dimensions: an eigendecomposition of this size takes 0.1 s
_SPARE = 5  # random vectors beyond the number of dimensions that they must span
_PATIENCE = 4  # times as many steps before H is formed again, each time it is indefinite
_SAME = 1e-10  # part of a random tangent vector across a basis of the same tangent space: rounding errors
_EPS = float(np.finfo(float).eps)


class DenseHessian:
    """Sees how long conjugate gradients take, and helps them: its `prepare` is that of `newton_cg`.

    Parameters
    ----------
    manifold : Manifold
        The manifold.

    Attributes
    ----------
    n_products : int
        Number of Hessian products that it took.
    """

    def __init__(self, manifold: Manifold) -> None:
        self.n_products = 0
        self._manifold = manifold
        self._basis: Array | None = None  # eigenvectors as rows; None until H was formed
        self._across, self._factors = 0.0, np.zeros(0)  # H⁻¹ across the basis, and what it adds along it
        self._tangent: Array | None = None  # the last basis of a tangent space that is not the whole space
        self._patience = 1  # steps per dimension after which H is formed
        self.steps = 0  # of conjugate gradients since H was formed; before, in the last system only

    def prepare(self, model: LocalLagrangian) -> None:
        """Form the Hessian if that is worth while, and precondition the model's next system."""
        d = self._manifold.dim
        if self.steps > self._patience * d and d <= _MOST and model.frame.orthonormal:
            self._form(model)
        if self._basis is None and self._patience == 1:
            self.steps = 0
        model.preconditioner = self._apply

    def _form(self, model: LocalLagrangian) -> None:
        frame, basis = model.frame, self._tangent_basis(model.frame)
        products = [np.ravel(model.hessian_product(row.reshape(frame.shape))) for row in basis]
        self.n_products += len(basis)
        self.steps = 0
        H = np.array(products) @ basis.T
        if np.isfinite(H).all() and H.any():
            values, vectors = np.linalg.eigh(0.5 * (H + H.T))
            # What is not symmetric in H is error of the products, by rounding or by differences.
            noise = max(len(basis) * _EPS * np.abs(values).max(), float(np.linalg.norm(H - H.T)))
            is_convex = bool(values[0] >= -noise)
            self._patience *= 1 if is_convex else _PATIENCE
            inverse = 1.0 / np.maximum(values, noise)
            # The tangent space may turn: across the basis, the median stands for H⁻¹.
            self._across = float(np.median(inverse)) if len(basis) < frame.dim else 0.0
            self._factors = inverse - self._across
            self._basis = vectors.T @ basis if is_convex else None

    def _tangent_basis(self, frame: Frame) -> Array:
        """Return the basis of the last tangent space if this one has not turned, or a new one."""
        v = np.ravel(frame.random(np.random.default_rng(0)))
        if self._tangent is None or np.linalg.norm(v - (self._tangent @ v) @ self._tangent) > _SAME:
            self._tangent = tangent_basis(frame, self._manifold.dim)
        return self._tangent  # on positive definite matrices: symmetric ones at every point

    def _apply(self, model: LocalLagrangian, c: Coordinates) -> Coordinates:
        """Return H⁻¹ c; `c` itself before H was formed."""
        self.steps += 1  # conjugate gradients call this once per step
        if self._basis is None:
            return c
        frame, flat = model.frame, np.ravel(c)
        result = ((self._factors * (self._basis @ flat)) @ self._basis).reshape(frame.shape)
        if not self._across:
            return result
        result = result + self._across * c
        return frame.coordinates(self._manifold.project(frame.point, frame.tangent(result)))


def tangent_basis(frame: Frame, d: int) -> Array:
    """Return an orthonormal basis of the d-dimensional tangent space, as rows in coordinates of the frame."""
    if d == frame.dim:
        return np.eye(d)
    rng = np.random.default_rng(0)
    # A few more than d: a draw that made the point itself, with the same seed, has no tangent part.
    draws = np.reshape([frame.random(rng) for _ in range(d + _SPARE)], (d + _SPARE, frame.dim))
    return np.asarray(np.linalg.svd(draws, full_matrices=False)[2][:d])
