"""Distances of samples in a view under a learnt metric."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from geodual.arrays import Array

from .views import View


class MappedDistance(NamedTuple):
    """A view of the features, a map of the view, and a plain distance after it.

    Attributes
    ----------
    view : View
        The view.
    map : array of shape (n_features,) or (n_components, n_features)
        Factors of the features, or a linear map.
    kind : "l1" or "l2"
        The city-block or the Euclidean distance.
    """

    view: View
    map: Array
    kind: str

    def apply(self, X: Array) -> Array:
        """Return samples after the view and the map."""
        A = self.view.transform(X)
        return np.asarray(A * self.map if self.map.ndim == 1 else A @ self.map.T)

    def between(self, A: Array, B: Array) -> Array:
        """Return distances between samples that are mapped already."""
        return plain_distances(A, B, self.kind)


def plain_distances(A: Array, B: Array, kind: str) -> Array:
    """Return city-block ("l1") or Euclidean ("l2") distances."""
    return np.asarray(cdist(A, B, "cityblock") if kind == "l1" else np.sqrt(cdist(A, B, "sqeuclidean")))
