"""One pymanopt manifold, with fixes for what is missing or wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .base import NotOnManifoldError, as_finite_array, is_single

# pymanopt does not mark its manifolds as Hadamard or quotient, so they are listed by class name.
_HADAMARD = {
    "ComplexEuclidean",
    "Euclidean",
    "HermitianPositiveDefinite",
    "PoincareBall",
    "Positive",
    "SkewSymmetric",
    "SpecialHermitianPositiveDefinite",
    "Symmetric",
    "SymmetricPositiveDefinite",
}
_QUOTIENTS = {"ComplexGrassmann", "Elliptope", "Grassmann", "PSDFixedRank", "PSDFixedRankComplex"}
_MATRIX_GROUPS = {"SpecialOrthogonalGroup", "UnitaryGroup"}
_REFUSED = {
    "FixedRankEmbedded": "it has no second derivatives, and its gradients are undefined at equal singular "
    "values; use geodual.manifolds.FixedRank, whose costs are functions of the matrix itself.",
}


class PymanoptFactor:
    """A pymanopt manifold that is not a product, or one factor of a product.

    Its operations are those of pymanopt, except for the fixes named in the methods. They are for defects of
    pymanopt 2.2.1, and harmless in versions without them.

    Parameters
    ----------
    manifold : pymanopt.manifolds.manifold.Manifold
        The manifold.
    """

    def __init__(self, manifold: Any) -> None:
        self.manifold = manifold
        self.kind = type(manifold).__name__
        if self.kind in _REFUSED:
            raise ValueError(f"pymanopt's {self.kind} cannot be used: {_REFUSED[self.kind]}")
        self.hadamard, self.quotient = self.kind in _HADAMARD, self.kind in _QUOTIENTS

    def __str__(self) -> str:
        return str(self.manifold)

    def __getattr__(self, name: str) -> Any:
        if name == "manifold":  # missing while a copy is being made
            raise AttributeError(name)
        return getattr(self.manifold, name)

    def implements(self, operation: str) -> bool:
        """Return whether the manifold's own class has an operation; base classes only raise or warn."""
        own = (cls for cls in type(self.manifold).__mro__ if cls.__module__ != "pymanopt.manifolds.manifold")
        return any(operation in vars(cls) for cls in own)

    def dimension(self, example: Any) -> int:
        """Return the dimension; pymanopt's is too large for Hermitian matrices."""
        if self.kind.endswith("HermitianPositiveDefinite"):
            matrices = np.size(example) // np.shape(example)[-1] ** 2
            return np.size(example) - (matrices if self.kind.startswith("Special") else 0)
        return int(self.manifold.dim)

    def zero(self, x: Any) -> Any:
        """Return the zero vector; pymanopt's may be real on a complex manifold."""
        zero = self.manifold.zero_vector(x)
        return np.asarray(zero, dtype=np.result_type(zero, x))

    def inner_product(self, x: Any, a: Any, b: Any) -> float:
        """Return the inner product; pymanopt's is complex for unitary matrices."""
        return float(np.real(self.manifold.inner_product(x, a, b)))

    def coordinates(self, x: Any, u: Any) -> Any:
        """Return pymanopt's representation of a tangent vector; matrix groups use a different one."""
        return self.projection(x, u) if self.kind in _MATRIX_GROUPS else u

    def projection(self, x: Any, v: Any) -> Any:
        """Project onto the tangent space; for unitary matrices, pymanopt forgets to conjugate."""
        if self.kind in _MATRIX_GROUPS:
            relative = _adjoint(x) @ v
            return 0.5 * (relative - _adjoint(relative))
        return self.manifold.projection(x, v)

    def gradient(self, x: Any, egrad: Any) -> Any:
        """Convert a Euclidean gradient."""
        if self.kind in _MATRIX_GROUPS:
            return self.projection(x, egrad)
        return self.manifold.euclidean_to_riemannian_gradient(x, egrad)

    def hessian(self, x: Any, egrad: Any, ehess: Any, c: Any) -> Any:
        """Convert a Euclidean Hessian product; pymanopt cannot for matrices of determinant 1."""
        if self.kind == "SpecialHermitianPositiveDefinite":
            # They form a totally geodesic submanifold of the positive definite matrices: convert there and
            # project.
            bent = c @ _hermitian(egrad) @ x
            return self.manifold.projection(x, x @ _hermitian(ehess) @ x + _hermitian(bent))
        return self.manifold.euclidean_to_riemannian_hessian(x, egrad, ehess, c)

    def exp(self, x: Any, c: Any) -> Any:
        """Follow a geodesic, or retract if pymanopt has none; its complex geodesics lose a part."""
        if self.kind == "ComplexCircle":
            angle = np.abs(c)
            return x * np.cos(angle) + c * np.sinc(angle / np.pi)
        return self.manifold.exp(x, c) if self.implements("exp") else self.manifold.retraction(x, c)

    def log(self, x: Any, y: Any) -> Any:
        """Return the logarithm; 0 at equal points, where some of pymanopt's are undefined."""
        if self.kind == "ComplexCircle":
            return 1j * np.angle(np.conj(x) * y) * x
        if self.kind == "Oblique":
            across = self.projection(x, y - x)
            length, chord = np.linalg.norm(across, axis=0), np.linalg.norm(y - x, axis=0)
            angle = 2.0 * np.arctan2(chord, np.linalg.norm(y + x, axis=0))
            return across * (angle / np.maximum(length, np.finfo(float).tiny))
        return self.manifold.log(x, y)

    def check_point(self, x: Any, example: Any, owner: object) -> Any:
        """Return `x` in double precision if it is on the manifold, or raise a `NotOnManifoldError`.

        A retraction maps onto the manifold, so a step of zero moves points that are off it. Some of
        pymanopt's manifolds need a further check.
        """
        point = as_finite_array(x, np.shape(example), owner, complex if np.iscomplexobj(example) else float)
        if self.kind in _CHECKS:
            holds, condition = _CHECKS[self.kind]
            if not holds(self.manifold, point):
                raise NotOnManifoldError(f"A point of {owner} must be {condition}.")
        with np.errstate(all="ignore"):  # a zero column cannot be normalized; the defect is then NaN
            still = self.manifold.retraction(point, self.manifold.zero_vector(point))
        defect = float(np.abs(still - point).max())
        if not defect <= 1e-6 * max(1.0, float(np.abs(point).max())):
            raise NotOnManifoldError(
                f"Not a point of {owner}: it is off by {defect:.3g}; project it onto the manifold first."
            )
        return still if is_single(x) else point


def _adjoint(a: Any) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))


def _hermitian(a: Any) -> Any:
    return 0.5 * (a + _adjoint(a))


def _is_close(a: Any, b: Any) -> bool:
    return bool(np.abs(a - b).max() <= 1e-6 * max(1.0, float(np.abs(a).max())))


def _is_positive_definite(manifold: Any, x: Any) -> bool:
    return _is_close(x, _adjoint(x)) and bool(np.linalg.eigvalsh(_hermitian(x)).min() > 0.0)


def _is_fixed_by_projection(manifold: Any, x: Any) -> bool:
    # At the origin all of these project orthogonally onto a linear space that contains the points.
    return _is_close(x, manifold.projection(0.0 * x, x))


_DEFINITE = (
    _is_positive_definite,
    "symmetric (or Hermitian) and positive definite; symmetrize it and raise its smallest eigenvalues",
)
_CHECKS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "HermitianPositiveDefinite": _DEFINITE,
    "PoincareBall": (
        lambda manifold, x: bool((np.linalg.norm(x, axis=-1) < 1.0).all()),
        "inside the unit ball; shorten it",
    ),
    "Positive": (lambda manifold, x: bool((x > 0.0).all()), "positive; raise its smallest entries"),
    "SkewSymmetric": (_is_fixed_by_projection, "skew-symmetric; take (x - x.T) / 2"),
    "SpecialHermitianPositiveDefinite": _DEFINITE,
    "SpecialOrthogonalGroup": (
        lambda manifold, x: bool((np.linalg.det(x) > 0.0).all()),
        "a rotation, with determinant 1; change the sign of one column",
    ),
    "SphereSubspaceComplementIntersection": (_is_fixed_by_projection, "in the subspace; project it"),
    "SphereSubspaceIntersection": (_is_fixed_by_projection, "in the subspace; project it"),
    "Symmetric": (_is_fixed_by_projection, "symmetric; take (x + x.T) / 2"),
    "SymmetricPositiveDefinite": _DEFINITE,
}
