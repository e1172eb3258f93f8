"""The curvatures of the pairs of a tile, kept from an evaluation for the Hessian products that follow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array

from .pair_loss import LossTerms

_KEPT_PLAIN = 500_000  # curvatures of up to this number of pairs are kept as they are,
_KEPT_BITS = 1_000_000_000  # as one bit per pair up to this number (125 MB)
_KEPT_FLOATS = 32_000_000  # or as four bytes up to this one


class KeptCurvature(NamedTuple):
    """φ″/unit of the pairs of a tile; if there are many, as bits or in single precision."""

    values: NDArray[Any]
    unit: float

    @classmethod
    def of(cls, terms: LossTerms, n_pairs: int) -> KeptCurvature | None:
        """Keep the curvatures of a tile, unless those of all `n_pairs` pairs would take too much memory."""
        if n_pairs <= _KEPT_PLAIN:
            return cls(terms.curvature.astype(float), terms.unit)
        if terms.curvature.dtype == np.bool_:
            return cls(np.packbits(terms.curvature), terms.unit) if n_pairs <= _KEPT_BITS else None
        return cls(terms.curvature.astype(np.float32), terms.unit) if n_pairs <= _KEPT_FLOATS else None

    def multiply(self, forms: Array) -> None:
        """Multiply the forms of a tile by φ″/unit, in place."""
        if self.values.dtype == np.uint8:
            forms *= np.unpackbits(self.values, count=forms.size).reshape(forms.shape)
        else:
            forms *= self.values


Kept = list[KeptCurvature | None]
