"""The oblique manifold: matrices whose columns are unit vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from geodual.arrays import Array

from .base import Manifold, NotOnManifoldError, as_finite_array, check_size, defect_tolerance, is_single
from .frame import Vector
from .sphere import SphereFrame


class Oblique(Manifold):
    """Matrices with columns of unit norm, {X ∈ Rⁿˣᵐ : diag(XᵀX) = 1}, with the metric ⟨U, V⟩ = tr(UᵀV).

    Use it for many directions at once: points on a sphere, dictionaries, and factors of correlation
    matrices. It is the product of m unit spheres of Rⁿ, one per column. All operations have closed forms and
    are vectorized over the columns, so it is much faster than ``Product([Sphere(n)] * m)``.

    Parameters
    ----------
    n : int
        Number of rows, at least 2.
    m : int
        Number of columns.

    Attributes
    ----------
    n, m : int
        Number of rows and columns.
    dim : int
        (n − 1) m.

    See Also
    --------
    Sphere : A single unit vector.
    Power : Unit vectors as rows, ``Power(Sphere(n), m)``.

    References
    ----------
    P.-A. Absil, K. A. Gallivan, "Joint diagonalization on the oblique manifold for independent component
    analysis", ICASSP, 2006.

    Examples
    --------
    Two unit vectors in the plane; the second one turns by a right angle:

    >>> import numpy as np
    >>> from geodual.manifolds import Oblique
    >>> oblique = Oblique(2, 2)
    >>> x, u = np.eye(2), np.array([[0.0, np.pi / 2], [0.0, 0.0]])
    >>> y = oblique.exp(x, u)
    >>> np.round(y, 6).tolist(), round(oblique.dist(x, y) / np.pi, 6)
    ([[1.0, 1.0], [0.0, 0.0]], 0.5)
    """

    vectorized = True

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = check_size(n, "n", least=2), check_size(m, "m")
        self.dim = (self.n - 1) * self.m
        self.step_limit = math.pi / 2 * math.sqrt(self.m)  # every column may turn by a right angle

    def __repr__(self) -> str:
        return f"Oblique({self.n}, {self.m})"

    def frame(self, x: Array) -> SphereFrame:
        return SphereFrame(x, axis=-2)

    def check_point(self, x: Array) -> Array:
        return self._checked(as_finite_array(x, (self.n, self.m), self), x)

    def _checked(self, x: Array, given: Any) -> Array:
        norms = np.linalg.norm(x, axis=-2, keepdims=True)
        worst = int(np.argmax(np.abs(norms - 1.0)))
        if abs(norms.flat[worst] - 1.0) > defect_tolerance(given):
            raise NotOnManifoldError(
                f"A point of {self} must have columns of norm 1, got {norms.flat[worst]:.10g} for column "
                f"{worst}; divide it by numpy.linalg.norm(x, axis=0)."
            )
        return x / norms if is_single(given) else x

    def project(self, x: Array, v: Vector) -> Array:
        return SphereFrame(x, axis=-2).gradient(np.asarray(v, dtype=float))

    def random_point(self, rng: np.random.Generator) -> Array:
        x = rng.standard_normal((self.n, self.m))
        return np.asarray(x / np.linalg.norm(x, axis=0))
