"""Frames whose coordinates are real arrays that encode the coordinates of another frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodual.arrays import Array

from .frame import Coordinates, Frame, HalfSquaredDistance, HessianMap, Point, Vector

_MOST = 100  # tangent vectors of a basis; their inner products take about 0.1 s


@dataclass(frozen=True)
class Code:
    """A linear code: how real arrays represent coordinates of another kind.

    Attributes
    ----------
    shape : tuple of int
        Shape of the arrays.
    pack : callable
        Encodes coordinates as an array.
    unpack : callable
        Decodes the coordinates from an array.
    """

    shape: tuple[int, ...]
    pack: Callable[[Coordinates], Array]
    unpack: Callable[[Array], Coordinates]


class RecodedFrame(Frame):
    """A frame whose coordinates are encoded as real arrays.

    Parameters
    ----------
    frame : Frame
        The frame that does the computations.
    code : Code
        How the coordinates are encoded.
    orthonormal : bool
        Whether the plain inner product of the arrays is the Riemannian one.
    """

    def __init__(self, frame: Frame, code: Code, orthonormal: bool) -> None:
        self.point = frame.point
        self.frame, self.orthonormal = frame, orthonormal
        self.pack, self.unpack, self._shape = code.pack, code.unpack, code.shape

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def unit(self) -> float:
        return self.frame.unit

    @property
    def first_radius(self) -> float:
        return self.frame.first_radius

    def remoteness(self, y: Point) -> float:
        return self.frame.remoteness(y)

    def inner(self, a: Array, b: Array) -> float:
        return super().inner(a, b) if self.orthonormal else self.frame.inner(self.unpack(a), self.unpack(b))

    def tangent(self, c: Array) -> Vector:
        return self.frame.tangent(self.unpack(c))

    def coordinates(self, u: Vector) -> Array:
        return self.pack(self.frame.coordinates(u))

    def random(self, rng: np.random.Generator) -> Array:
        return self.pack(self.frame.random(rng))

    def gradient(self, egrad: Vector) -> Array:
        return self.pack(self.frame.gradient(egrad))

    def hessian_map(self, egrad: Vector) -> HessianMap:
        convert = self.frame.hessian_map(egrad)
        return lambda ehess, c: self.pack(convert(ehess, self.unpack(c)))

    def exp(self, c: Array) -> Point:
        return self.frame.exp(self.unpack(c))

    def log(self, y: Point) -> Array:
        return self.pack(self.frame.log(y))

    def dist(self, y: Point) -> float:
        return self.frame.dist(y)

    def retract(self, c: Array) -> Point:
        return self.frame.retract(self.unpack(c))

    def move(self, c: Array) -> Point:
        return self.frame.move(self.unpack(c))

    def transport(self, y: Point, c: Array) -> Vector:
        return self.frame.transport(y, self.unpack(c))

    def half_squared_distance(self, y: Point) -> HalfSquaredDistance:
        term = self.frame.half_squared_distance(y)
        return HalfSquaredDistance(
            term.value, self.pack(term.gradient), lambda c: self.pack(term.hessian(self.unpack(c)))
        )


def as_real(a: Any) -> Array:
    """Return a complex array as a real one, with real and imaginary parts side by side in the last axis."""
    return np.ascontiguousarray(a, dtype=complex).view(float)


def as_complex(a: Array) -> Array:
    """Undo `as_real`."""
    return np.ascontiguousarray(a).view(complex)


def real_frame(frame: Frame) -> RecodedFrame:
    """Return a frame of complex matrices with real coordinates; ⟨a, b⟩ = Re Σ āᵢbᵢ is their plain product."""
    *rest, last = frame.shape
    return RecodedFrame(frame, Code((*rest, 2 * last), as_real, as_complex), orthonormal=True)


def flat_frame(frame: Frame, example: Coordinates) -> RecodedFrame:
    """Return a frame with one real vector as coordinates.

    The coordinates of `frame` are arrays like `example`, or lists of arrays.
    """
    parts = example if isinstance(example, (tuple, list)) else [example]
    shapes, kinds = [np.shape(part) for part in parts], [np.iscomplexobj(part) for part in parts]
    sizes = [(2 if kind else 1) * int(np.prod(shape)) for shape, kind in zip(shapes, kinds, strict=True)]

    def pack(c: Coordinates) -> Array:
        given = c if isinstance(c, (tuple, list)) else [c]
        paired = zip(given, kinds, strict=True)
        return np.concatenate([np.ravel(as_real(part) if kind else part) for part, kind in paired])

    def unpack(a: Array) -> Coordinates:
        pieces = zip(np.split(a, np.cumsum(sizes)[:-1]), shapes, kinds, strict=True)
        read = [(as_complex(piece) if kind else piece).reshape(shape) for piece, shape, kind in pieces]
        return tuple(read) if isinstance(example, (tuple, list)) else read[0]

    return RecodedFrame(frame, Code((sum(sizes),), pack, unpack), orthonormal=False)


def orthonormal_frame(frame: Frame, dim: int) -> RecodedFrame | None:
    """Return a frame with an orthonormal basis of the tangent space; None if that would take too long.

    Parameters
    ----------
    frame : Frame
        The frame, whose coordinates may be of any kind.
    dim : int
        Dimension of the tangent space.
    """
    if dim > _MOST:
        return None
    rng = np.random.default_rng(0)
    zero = 0.0 * frame.random(rng)
    basis: list[Coordinates] = []
    for _ in range(dim):
        vector = frame.random(rng)
        for _ in range(2):  # Gram-Schmidt, twice: once leaves rounding errors of close draws
            for other in basis:
                vector = vector - frame.inner(other, vector) * other
        basis.append(vector * (1.0 / frame.norm(vector)))

    def pack(c: Coordinates) -> Array:
        return np.array([frame.inner(vector, c) for vector in basis])

    def unpack(a: Array) -> Coordinates:
        c = zero
        for weight, vector in zip(a, basis, strict=True):
            c = c + float(weight) * vector
        return c

    return RecodedFrame(frame, Code((dim,), pack, unpack), orthonormal=True)
