"""Geometries of features: a view, a metric in it, and the resulting distances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from geodual.arrays import Array

from .views import View

_ENTRIES = 4_000_000  # of a block of distances: 32 MB


class Geometry(NamedTuple):
    """A view of the features, a map of the view, and an ordinary distance after it.

    Attributes
    ----------
    metric : "l1", "full" or "equal"
        The kind of learned metric: weights of the features, a matrix, or none.
    view : View
        The view.
    map : array of shape (n_features,) or (n_components, n_features)
        Factors of the features, or a linear map.
    kind : "l1" or "l2"
        The city-block or the Euclidean distance.
    weights : array of shape (n_features,)
        Learned weights of the features; the diagonal of a matrix; ones if nothing was learned.
    gap : float or None
        Relative duality gap of the metric; None if nothing was learned.
    """

    metric: str
    view: View
    map: Array
    kind: str
    weights: Array
    gap: float | None

    def apply(self, X: Array) -> MappedSamples:
        """Return samples after the view and the map."""
        A = self.view.transform(X)
        return MappedSamples(np.asarray(A * self.map if self.map.ndim == 1 else A @ self.map.T), self.kind)


def equal_weights(view: View, n_features: int, kind: str) -> Geometry:
    """Return the geometry in which all features of a view have the same weight."""
    ones = np.ones(n_features)
    return Geometry("equal", view, ones, kind, ones, None)


@dataclass(frozen=True, eq=False)
class MappedSamples:
    """Samples in a geometry.

    Attributes
    ----------
    A : array of shape (n_samples, n_components)
        The samples after view and map.
    kind : "l1" or "l2"
        The distance between them.
    """

    A: Array
    kind: str

    def distances(self, B: Array | None = None) -> Array:
        """Return the distances from mapped samples B, by default these samples, to these samples."""
        B = self.A if B is None else B
        return np.asarray(
            cdist(B, self.A, "cityblock") if self.kind == "l1" else np.sqrt(cdist(B, self.A, "sqeuclidean"))
        )

    def distance_blocks(self, B: Array) -> Iterator[Array]:
        """Yield the distances from mapped samples B to these samples, in blocks of rows."""
        step = max(_ENTRIES // len(self.A), 1)
        for start in range(0, len(B), step):
            yield self.distances(B[start : start + step])

    @cached_property
    def index(self) -> NearestNeighbors:
        """An index for nearest neighbors among these samples."""
        return NearestNeighbors(metric={"l1": "manhattan", "l2": "minkowski"}[self.kind]).fit(self.A)
