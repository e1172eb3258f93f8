"""Embed points of any manifold as flat vectors z, so that a function of z defines a problem on every one.

On most manifolds, z holds the entries of the point. On `Grassmann`, it holds those of the projector XXᵀ,
because a function must not depend on the basis of a subspace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodual.manifolds import FixedRank, Grassmann, Manifold, Power, Product, Stiefel

from ..problems.case import Array


@dataclass(frozen=True)
class Part:
    """A manifold that is neither a product nor a power, and the positions of its entries in z."""

    manifold: Manifold
    where: slice

    def is_joined(self, z: Array, other: Array) -> bool:
        """Return whether a curve connects this part of two points: square matrices have two signs."""
        side = _square_side(self.manifold)
        if not side:
            return True
        signs = [np.linalg.slogdet(vector[self.where].reshape(side, side))[0] for vector in (z, other)]
        return bool(signs[0] == signs[1])


def _square_side(manifold: Manifold) -> int:
    """Return n if the manifold splits into n × n matrices of positive and negative determinant, or 0."""
    if isinstance(manifold, Stiefel) and manifold.n == manifold.p:
        return manifold.n
    if isinstance(manifold, FixedRank) and manifold.m == manifold.n == manifold.r:
        return manifold.n
    return 0


class Entries:
    """z holds the entries of an array."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.size = int(np.prod(shape))

    def embed(self, x: Any) -> Array:
        """Return z(x)."""
        return np.asarray(x).ravel()

    def push(self, x: Any, u: Any) -> Array:
        """Return the derivative of z at `x` along the vector `u`."""
        return np.asarray(u).ravel()

    def pull(self, x: Any, g: Array) -> Any:
        """Return the transposed derivative of z at `x`, applied to `g`: the gradient of ⟨g, z(x)⟩."""
        return g.reshape(self.shape)

    def bend(self, x: Any, u: Any, g: Array) -> Any:
        """Return the second derivative of ⟨g, z(x)⟩ at `x`, applied to `u`."""
        return np.zeros(self.shape)


class Projector(Entries):
    """z holds the entries of XXᵀ."""

    def __init__(self, n: int) -> None:
        super().__init__((n, n))

    def embed(self, x: Any) -> Array:
        return np.ravel(x @ x.T)

    def push(self, x: Any, u: Any) -> Array:
        half = u @ x.T
        return np.ravel(half + half.T)

    def pull(self, x: Any, g: Array) -> Any:
        return self._doubled(g) @ x

    def bend(self, x: Any, u: Any, g: Array) -> Any:
        return self._doubled(g) @ u

    def _doubled(self, g: Array) -> Array:
        matrix = g.reshape(self.shape)
        return matrix + matrix.T


class Joined:
    """The concatenated vectors z of the parts of a product or of a power."""

    def __init__(self, parts: Sequence[Any], stacked: bool) -> None:
        self.parts, self.stacked = parts, stacked
        self.size = sum(part.size for part in parts)
        self._ends = np.cumsum([part.size for part in parts])[:-1]

    def embed(self, x: Any) -> Array:
        return np.concatenate([part.embed(y) for part, y in zip(self.parts, x, strict=True)])

    def push(self, x: Any, u: Any) -> Array:
        return np.concatenate([part.push(y, v) for part, y, v in zip(self.parts, x, u, strict=True)])

    def pull(self, x: Any, g: Array) -> Any:
        pieces = np.split(g, self._ends)
        return self._collected([part.pull(y, q) for part, y, q in zip(self.parts, x, pieces, strict=True)])

    def bend(self, x: Any, u: Any, g: Array) -> Any:
        rest = zip(self.parts, x, u, np.split(g, self._ends), strict=True)
        return self._collected([part.bend(y, v, q) for part, y, v, q in rest])

    def _collected(self, vectors: list[Any]) -> Any:
        return np.stack(vectors) if self.stacked else tuple(vectors)


Embedding = Entries | Joined


def embedding_of(manifold: Manifold) -> Embedding:
    """Return the embedding of a manifold."""
    if isinstance(manifold, Product):
        return Joined([embedding_of(factor) for factor in manifold.factors], stacked=False)
    if isinstance(manifold, Power):
        return Joined([embedding_of(manifold.manifold)] * manifold.n, stacked=True)
    if isinstance(manifold, Grassmann):
        return Projector(manifold.n)
    return Entries(np.shape(manifold.random_point(np.random.default_rng(0))))


def parts_of(manifold: Manifold, start: int = 0) -> Iterator[Part]:
    """Yield the parts of a manifold in the order of z."""
    factors = manifold.factors if isinstance(manifold, Product) else ()
    if isinstance(manifold, Power):
        factors = (manifold.manifold,) * manifold.n
    if not factors:
        yield Part(manifold, slice(start, start + embedding_of(manifold).size))
    for factor in factors:
        yield from parts_of(factor, start)
        start += embedding_of(factor).size
