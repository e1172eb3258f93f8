"""Squared distances and quadratic forms of all pairs from one matrix product."""

from __future__ import annotations

import numpy as np

from geodual.arrays import Array


def gram_factors(Z: Array, Y: Array) -> tuple[Array, Array]:
    """Return A and B such that A Bᵀ has the entries (zᵢ − zⱼ)ᵀ(yᵢ − yⱼ), for Y = Z S with S symmetric."""
    # The entry is zᵢᵀyᵢ + zⱼᵀyⱼ − 2 yᵢᵀzⱼ; the two extra columns add the first two terms.
    forms = np.einsum("ij,ij->i", Z, Y)[:, None]
    ones = np.ones((len(Z), 1), dtype=Z.dtype)
    return np.hstack([-2.0 * Y, forms, ones]), np.hstack([Z, ones, forms])
