"""The manifolds of geodual in pymanopt's form, for the peer based on pymanopt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pymanopt
from pymanopt.manifolds import (
    Euclidean,
    FixedRankEmbedded,
    Grassmann,
    Oblique,
    Product,
    Sphere,
    Stiefel,
    SymmetricPositiveDefinite,
)

from geodual import manifolds as ours
from geodual.manifolds.low_rank_matrix import LowRankMatrix, truncated_svd
from testing.problems.case import Array


class Smooth(Protocol):
    """A function of geodual's points, with Euclidean derivatives."""

    def value(self, x: Any) -> float:
        """Return the value."""

    def gradient(self, x: Any) -> Any:
        """Return the Euclidean gradient."""

    def hessian_product(self, x: Any, u: Any) -> Any:
        """Return the Euclidean Hessian times `u`."""


@dataclass(frozen=True)
class Chart:
    """A pymanopt manifold with our points; pymanopt converts the derivatives.

    Attributes
    ----------
    manifold : pymanopt.manifolds.manifold.Manifold
        The manifold.
    is_product : bool
        Whether points have several parts. pymanopt passes them to functions as separate arguments.
    """

    manifold: Any
    is_product: bool = False

    def to_peer(self, x: Any) -> Any:
        """Convert one of our points, or a gradient, to pymanopt's form."""
        return list(x) if self.is_product else x

    def to_ours(self, *parts: Any) -> Any:
        """Convert a point or tangent vector of pymanopt to our form."""
        return parts if self.is_product else parts[0]

    def problem(self, function: Smooth) -> pymanopt.Problem:
        """Return the problem to minimize a function, for pymanopt's optimizers."""
        point = _LastParts(self.to_ours)
        count = self.manifold.num_values

        @pymanopt.function.numpy(self.manifold)
        def cost(*parts: Any) -> float:
            return function.value(point(*parts))

        @pymanopt.function.numpy(self.manifold)
        def euclidean_gradient(*parts: Any) -> Any:
            return self.to_peer(function.gradient(point(*parts)))

        @pymanopt.function.numpy(self.manifold)
        def euclidean_hessian(*parts: Any) -> Any:
            u = self.to_ours(*parts[count:])
            return self.to_peer(function.hessian_product(point(*parts[:count]), u))

        return pymanopt.Problem(
            self.manifold, cost, euclidean_gradient=euclidean_gradient, euclidean_hessian=euclidean_hessian
        )


@dataclass(frozen=True)
class FixedRankChart(Chart):
    """Matrices of fixed rank: pymanopt has points and retraction, but no second derivatives.

    Its tangent vectors (Up, M, Vp) are the coordinates of our frames, which therefore convert the
    derivatives.
    """

    def to_peer(self, x: Any) -> Any:
        known = x.factors if isinstance(x, LowRankMatrix) else None
        return known or truncated_svd(x, self.manifold._k)[0]

    def to_ours(self, *parts: Any) -> Any:
        return LowRankMatrix(*parts)

    def problem(self, function: Smooth) -> pymanopt.Problem:
        geometry = ours.FixedRank(self.manifold._m, self.manifold._n, self.manifold._k)
        frame = _LastParts(lambda *parts: geometry.frame(self.to_ours(*parts)))
        convert = _LastParts(lambda *parts: _hessian_at(frame(*parts), function))
        ends = [geometry.m, geometry.m + geometry.r]

        def tangent(c: Array, parts: Any) -> Any:
            return type(self.manifold.zero_vector(parts))(*np.split(c, ends))

        @pymanopt.function.numpy(self.manifold)
        def cost(*parts: Any) -> float:
            return function.value(frame(*parts).point)

        @pymanopt.function.numpy(self.manifold)
        def riemannian_gradient(*parts: Any) -> Any:
            there = frame(*parts)
            return tangent(there.gradient(function.gradient(there.point)), parts)

        @pymanopt.function.numpy(self.manifold)
        def riemannian_hessian(*parts: Any) -> Any:
            return tangent(convert(*parts[:3])(np.vstack(parts[3:])), parts)

        return pymanopt.Problem(
            self.manifold,
            cost,
            riemannian_gradient=riemannian_gradient,
            riemannian_hessian=riemannian_hessian,
        )


class _LastParts:
    """Compute something once per point with several arguments, the first of which identifies it."""

    def __init__(self, compute: Any) -> None:
        self._compute = compute
        self._first: Any = None
        self._value: Any = None

    def __call__(self, *parts: Any) -> Any:
        if parts[0] is not self._first:
            self._value = self._compute(*parts)
            self._first = parts[0]
        return self._value


def chart_of(manifold: ours.Manifold) -> Chart | None:
    """Return pymanopt's form of a manifold; None if there is none.

    Parameters
    ----------
    manifold : Manifold
        A geodual manifold. Stiefel manifolds use the second-order polar retraction.
    """
    if isinstance(manifold, ours.FixedRank):
        return FixedRankChart(FixedRankEmbedded(manifold.m, manifold.n, manifold.r))
    if isinstance(manifold, ours.Product):
        parts = [_single(factor) for factor in manifold.factors]
        return None if None in parts else Chart(Product(parts), is_product=True)
    single = _single(manifold)
    return None if single is None else Chart(single)


def _single(manifold: ours.Manifold) -> Any:
    match manifold:
        case ours.SPD():
            return SymmetricPositiveDefinite(manifold.n)
        case ours.Sphere():
            return Sphere(manifold.n)
        case ours.Stiefel():
            return Stiefel(manifold.n, manifold.p, retraction="polar")
        case ours.Grassmann():
            return Grassmann(manifold.n, manifold.p)
        case ours.Euclidean():
            return Euclidean(*manifold.shape)
        case ours.Oblique():
            return Oblique(manifold.n, manifold.m)
    return None


def _hessian_at(frame: ours.Frame, function: Smooth) -> Any:
    to_riemannian = frame.hessian_map(function.gradient(frame.point))
    return lambda c: to_riemannian(function.hessian_product(frame.point, frame.tangent(c)), c)
