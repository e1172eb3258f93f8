"""Squared distances of all pairs from fast products, with a bound on their rounding errors.

Who looks for few pairs among many computes rough distances of all pairs, and exact ones of those pairs only
that the rounding errors leave in doubt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array

ROWS, COLUMNS = 512, 1024  # of a tile: its distances stay in the cache
SINGLE_LARGEST = 1e30  # squares up to this size, in units of the median, fit into single precision

Rough = NDArray[np.floating[Any]]


class ScaledSamples(NamedTuple):
    """Samples in units in which half of them have a norm of about one or less, measured from their median.

    Distances do not depend on the centre, but rounding errors of products do. The median is a centre that a
    few samples far away do not move.

    Attributes
    ----------
    Z : array of shape (n_samples, n_features)
        The samples in these units, for exact distances.
    centred : array of shape (n_samples, n_features)
        The samples minus their median, for rough distances.
    squares : array of shape (n_samples,)
        Squared norms of the centred samples.
    exponent : int
        The unit is 2 to this power, so that scaling has no rounding errors.
    """

    Z: Array
    centred: Array
    squares: Array
    exponent: int

    @classmethod
    def of(cls, Z: Array) -> ScaledSamples:
        """Scale samples of any size."""
        centred = Z - np.median(Z, axis=0)
        exponent = _exponent(float(np.abs(centred).max()))
        # In two steps, because squares of unscaled samples may under- or overflow.
        squares = np.square(np.ldexp(centred, -exponent)).sum(axis=1)
        exponent += _exponent(float(np.sqrt(np.median(squares) or squares.max())))
        centred = np.ldexp(centred, -exponent)
        return cls(np.ldexp(Z, -exponent), centred, np.einsum("ij,ij->i", centred, centred), exponent)

    @property
    def fits_single(self) -> bool:
        """Whether all squares can be stored in single precision."""
        return bool(self.squares.max() < SINGLE_LARGEST)

    def error(self, kind: type[np.floating[Any]]) -> float:
        """Return γ such that a rough distance differs by at most γ (‖z‖² + ‖z′‖²) from the true one."""
        # A product of n + 2 terms, each with two rounded factors; |2 zᵀz′| ≤ ‖z‖² + ‖z′‖².
        return float(2.0 * (self.Z.shape[1] + 4) * np.finfo(kind).eps)

    def factors(self, kind: type[np.floating[Any]], side: int = 0) -> tuple[Rough, Rough]:
        """Return A and B such that the entries of A Bᵀ are rough squared distances.

        Parameters
        ----------
        kind : type
            Their precision: `numpy.float32` or `numpy.float64`.
        side : int
            −1 for distances that are at most the true ones, 1 for at least; 0 for either.
        """
        squares = ((1.0 + side * self.error(kind)) * self.squares)[:, None].astype(kind)
        Z, ones = self.centred.astype(kind, copy=False), np.ones((len(self.Z), 1), dtype=kind)
        return np.hstack([-2.0 * Z, squares, ones]), np.hstack([Z, ones, squares])


def _exponent(size: float) -> int:
    return int(np.frexp(size)[1]) if 0.0 < size < np.inf else 0


def upper_tiles(n_samples: int) -> Iterator[tuple[slice, list[slice]]]:
    """Cut the upper triangle of the distance matrix: yield rows, and columns from the first of them on."""
    for start in range(0, n_samples, ROWS):
        columns = [slice(k, min(k + COLUMNS, n_samples)) for k in range(start, n_samples, COLUMNS)]
        yield slice(start, min(start + ROWS, n_samples)), columns
