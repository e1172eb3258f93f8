"""A preconditioner from the full Hessian, if conjugate gradients take longer than forming it.

In d dimensions, d products give the full Hessian H, and in exact arithmetic conjugate gradients need no more
than d steps. If they take more, H is ill-conditioned: a penalty is stiff, or variables have very different
sizes. Then H is formed, and H⁻¹ is the preconditioner until the steps with it have taken more than d products
in total. The idea to reuse H at later points is from J. L. Morales, J. Nocedal, "Automatic preconditioning by
limited memory quasi-Newton updating", SIAM Journal on Optimization 10(4), 2000.

Once H is indefinite, it is no longer used: steps end at the trust region, and a preconditioner would spend
them on flat directions. With |H|⁻¹, 30 balanced cuts took 250,000 products; without it, 46,000.
"""

from __future__ import annotations

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import Frame, Manifold
from geodual.manifolds.frame import Coordinates

from .lagrangian import LocalLagrangian

_MOST = 500  # dimensions: an eigendecomposition of this size takes 0.1 s
_SPARE = 5  # random vectors beyond the number of dimensions to span
_SAME = 1e-10  # share of a random tangent vector outside its basis that is rounding error
_EPS = float(np.finfo(float).eps)


class DenseHessian:
    """Watch how long conjugate gradients take, and precondition them; `prepare` is for `newton_cg`.

    Parameters
    ----------
    manifold : Manifold
        The manifold.

    Attributes
    ----------
    n_products : int
        Number of Hessian products spent.
    """

    def __init__(self, manifold: Manifold) -> None:
        self.n_products = 0
        self._manifold = manifold
        self._basis: Array | None = None  # eigenvectors as rows; None until H is formed
        self._across, self._factors = 0.0, np.zeros(0)  # H⁻¹ across the basis, and its increase along it
        self._tangent: Array | None = None  # last basis of a tangent space that is not the full space
        self._helps = True  # until H is indefinite
        self.steps = 0  # of conjugate gradients since H was formed; before, in the last system only

    def prepare(self, model: LocalLagrangian) -> None:
        """Form the Hessian if that pays off, and precondition the model's next system."""
        if self._helps and self.steps > self._manifold.dim <= _MOST and model.frame.orthonormal:
            self._form(model)
        if self._basis is None:
            self.steps = 0
        if self._helps:
            model.preconditioner = self._apply

    def _form(self, model: LocalLagrangian) -> None:
        frame, basis = model.frame, self._tangent_basis(model.frame)
        products = [np.ravel(model.hessian_product(row.reshape(frame.shape))) for row in basis]
        self.n_products += len(basis)
        self.steps = 0
        H = np.array(products) @ basis.T
        if np.isfinite(H).all() and H.any():
            values, vectors = np.linalg.eigh(0.5 * (H + H.T))
            # Any asymmetry of H is an error of the products, from rounding or finite differences.
            noise = max(len(basis) * _EPS * np.abs(values).max(), float(np.linalg.norm(H - H.T)))
            self._helps = bool(values[0] >= -noise)
            inverse = 1.0 / np.maximum(values, noise)
            # The tangent space may rotate: orthogonal to the basis, the median replaces H⁻¹.
            self._across = float(np.median(inverse)) if len(basis) < frame.dim else 0.0
            self._factors = inverse - self._across
            self._basis = vectors.T @ basis if self._helps else None

    def _tangent_basis(self, frame: Frame) -> Array:
        """Return the basis of the last tangent space if it has not rotated, or a new one."""
        v = np.ravel(frame.random(np.random.default_rng(0)))
        if self._tangent is None or np.linalg.norm(v - (self._tangent @ v) @ self._tangent) > _SAME:
            self._tangent = tangent_basis(frame, self._manifold.dim)
        return self._tangent  # for positive definite matrices: the symmetric ones, at every point

    def _apply(self, model: LocalLagrangian, c: Coordinates) -> Coordinates:
        """Return H⁻¹ c, or `c` itself before H is formed."""
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
    # A few more than d: a draw with the seed that made the point itself has no tangent part.
    draws = np.reshape([frame.random(rng) for _ in range(d + _SPARE)], (d + _SPARE, frame.dim))
    return np.asarray(np.linalg.svd(draws, full_matrices=False)[2][:d])
