"""A preconditioner for sequences, such as trajectories, in which only close neighbors interact.

On a sequence of N points, such as ``Power(Rotations(3), N)``, the cost often couples each point only with the
next one or two, as in odometry, splines and smoothing. Conjugate gradients then need about N steps, because
information travels one point per step. But the Hessian H is banded: block (k, l) is 0 unless |k − l| ≤ w. A
few products determine all of it, each for every (2w + 1)-th point at once (A. R. Curtis, M. J. D. Powell, J.
K. Reid, "On the estimation of sparse Jacobian matrices", IMA Journal of Applied Mathematics 13(1), 1974), and
a banded Cholesky factorization takes time proportional to N.

The user does not declare whether H is banded; it is tried if a system took more products than the band does.
One more product, with a random vector, shows whether the band is all of H; if not, that width is not tried
again. Conjugate gradients still solve every system with products of H, so a wrong band can only slow them
down; if it does, it is dropped. If H is indefinite, a multiple of its diagonal is added: the steps still end
at the trust region, but conjugate gradients reach it at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded

from geodual.arrays import Array
from geodual.manifolds import Euclidean, Frame, Manifold, PositiveOrthant, Power, Product
from geodual.manifolds.frame import Coordinates
from geodual.manifolds.product import ProductFrame

from .dense_hessian import DenseHessian
from .lagrangian import LocalLagrangian
from .scaling import ScaledSpace

_WIDTHS = (1, 2)  # neighbors on each side: first differences couple one, second differences two
_LONG = 4  # a band is tried only after a system took this many times its products
_SAME = 1e-6  # relative difference of two products due to rounding; finite differences have errors of 1e-8
_SHIFTS = 10.0 ** np.arange(-8, 1)  # of the diagonal, relative; the smallest is the error of a difference
_SEED = 1  # not 0: a draw with the seed that made the point itself has no tangent part


class BandedHessian:
    """Watch how long conjugate gradients take, and precondition them; `prepare` is for `newton_cg`.

    If the Hessian is not banded, systems are left to a `DenseHessian`.

    Parameters
    ----------
    manifold : Manifold
        The manifold.
    """

    def __init__(self, manifold: Manifold) -> None:
        self._manifold, self._dense = manifold, DenseHessian(manifold)
        self._length = sequence_length(manifold)
        self._widths = list(_WIDTHS) if self._length else []  # left to try
        self._band: _Band | None = None  # of the last system
        self._steps = 0  # of conjugate gradients with it
        self._own_products = 0

    @property
    def n_products(self) -> int:
        """Number of Hessian products spent."""
        return self._own_products + self._dense.n_products

    def prepare(self, model: LocalLagrangian) -> None:
        """Form the Hessian if that pays off, and precondition the model's next system."""
        fits = model.frame.orthonormal and not np.iscomplexobj(model.gradient)
        self._band = self._formed(model) if fits else None
        if self._band is None:
            self._dense.prepare(model)
        else:
            model.preconditioner = self._apply
        self._steps = 0

    def _formed(self, model: LocalLagrangian) -> _Band | None:
        """Return the factorized Hessian; None if it is not banded or takes too long."""
        while self._widths:
            colors, size = 2 * self._widths[0] + 1, self._manifold.dim // self._length
            price = colors * size + 1
            if self._length <= colors or (self._band is None and self._dense.steps <= _LONG * price):
                return None
            if self._steps > price:  # H has small parts outside the band, which a random vector does not show
                self._widths = []
                return None
            self._own_products += price
            band = _Band(model, blocks(self._manifold, model.frame), size, self._widths[0])
            if band.is_whole(model):
                return band if band.factorize() else None
            del self._widths[0]
        return None

    def _apply(self, _: LocalLagrangian, c: Coordinates) -> Coordinates:
        """Return H⁻¹ c."""
        assert self._band is not None
        self._steps += 1  # conjugate gradients call this once per step
        return self._band.solve(c)


class _Band:
    """Blocks of the Hessian in bases of the tangent spaces of all points: H[k + o, k] for o = 0, …, w.

    Parameters
    ----------
    model : LocalLagrangian
        The function at a point.
    order : array of shape (N, e)
        The coordinates that belong to each point.
    size : int
        Dimension of each tangent space.
    width : int
        w.
    """

    def __init__(self, model: LocalLagrangian, order: NDArray[np.intp], size: int, width: int) -> None:
        self._frame, self._order = model.frame, order
        self._basis = self._tangent_bases(size)
        n, colors = len(order), 2 * width + 1
        color = np.arange(n) % colors
        self._blocks = [np.zeros((n - o, size, size)) for o in range(width + 1)]
        for c in range(colors):
            for a in range(size):
                unit = np.zeros((n, size))
                unit[color == c, a] = 1.0
                image = self._parts(model.hessian_product(self._vector(unit)))
                for o, block in enumerate(self._blocks):
                    own = np.flatnonzero(color[: n - o] == c)
                    block[own, :, a] = image[own + o]
        self._blocks[0] = 0.5 * (self._blocks[0] + self._blocks[0].mT)
        self._factor = np.zeros((0, 0))

    def _tangent_bases(self, size: int) -> Array | None:
        """Return orthonormal bases of all tangent spaces, as columns; None for the coordinate bases."""
        if self._order.shape[1] == size:
            return None
        rng = np.random.default_rng(_SEED)
        draws = [np.ravel(self._frame.random(rng))[self._order] for _ in range(size)]
        return np.linalg.qr(np.stack(draws, axis=-1))[0]

    def _parts(self, c: Coordinates) -> Array:
        """Express a tangent vector in the bases."""
        own = np.ravel(c)[self._order]
        return own if self._basis is None else (own[:, None] @ self._basis)[:, 0]

    def _vector(self, parts: Array) -> Coordinates:
        """Return the tangent vector with these parts, in the coordinates of the frame."""
        c = np.empty(self._order.size)
        c[self._order] = parts if self._basis is None else (self._basis @ parts[..., None])[..., 0]
        return c.reshape(self._frame.shape)

    def is_whole(self, model: LocalLagrangian) -> bool:
        """Return whether the Hessian equals this band, tested by a product with a random vector."""
        c = self._frame.random(np.random.default_rng(_SEED + 1))
        v, wanted = self._parts(c), self._parts(model.hessian_product(c))
        found = (self._blocks[0] @ v[..., None])[..., 0]
        for o, block in enumerate(self._blocks[1:], start=1):
            found[o:] += (block @ v[:-o, :, None])[..., 0]
            found[:-o] += (v[o:, None] @ block)[:, 0]
        return bool(np.linalg.norm(found - wanted) <= _SAME * np.linalg.norm(wanted))

    def factorize(self) -> bool:
        """Factorize the band; return False if it is not positive definite."""
        n, size, _ = self._blocks[0].shape
        # Row i − j of column j is entry (i, j): LAPACK's format.
        rows = np.zeros((len(self._blocks) * size, n, size))
        for o, block in enumerate(self._blocks):
            for i, j in np.ndindex(size, size):
                if o * size + i >= j:
                    rows[o * size + i - j, : n - o, j] = block[:, i, j]
        diagonal = rows[0].copy()
        for shift in _SHIFTS:
            rows[0] = diagonal + shift * np.abs(diagonal)
            try:
                self._factor = cholesky_banded(rows.reshape(-1, n * size), lower=True)
            except LinAlgError:
                continue
            return True
        return False

    def solve(self, c: Coordinates) -> Coordinates:
        """Return H⁻¹ c."""
        parts = self._parts(c)
        solution = cho_solve_banded((self._factor, True), parts.ravel(), check_finite=False)
        return self._vector(solution.reshape(parts.shape))


def sequence_length(manifold: Manifold) -> int:
    """Return the number of points if a manifold is a sequence; otherwise 0."""
    if isinstance(manifold, Product):  # of sequences of the same length, such as rotations and positions
        lengths = set(map(sequence_length, manifold.factors))
        return lengths.pop() if len(lengths) == 1 else 0
    if isinstance(manifold, ScaledSpace):
        return sequence_length(manifold.space)
    if isinstance(manifold, Power):
        return manifold.n
    return manifold.shape[0] if isinstance(manifold, Euclidean | PositiveOrthant) else 0


def blocks(manifold: Manifold, frame: Frame) -> NDArray[np.intp]:
    """Return which coordinates belong to each point of a sequence, one row per point."""
    if isinstance(manifold, Product) and isinstance(frame, ProductFrame):
        parts = [blocks(*part) for part in zip(manifold.factors, frame.frames, strict=True)]
        starts = np.cumsum([0, *(part.size for part in parts)])
        return np.hstack([start + part for start, part in zip(starts, parts, strict=False)])
    return np.arange(frame.dim).reshape(sequence_length(manifold), -1)
