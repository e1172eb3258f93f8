"""The term of neighborhoods: the neighbors of a sample compete for its class."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from geodual.arrays import Array, Indices

from ..geometry.distances import PairDifferences
from ..geometry.pair_list import PairGraph
from ..geometry.pair_set import LossPass
from ..selection.local_pairs import LocalPairs, in_usual_units
from ..selection.nearest import Interval, NearestSearch
from .neighborhoods import Neighborhoods
from .term import Term

_EPS = float(np.finfo(float).eps)
_LOST_DIGITS = 1e4  # largest loss of relative accuracy in sums from products over samples
_FAR = 4.0  # width of a sample, relative to the squared distance to its k-th neighbor
_LEAST_WIDTH = 0.1  # of a sample, relative to the median
_ROUNDING = 64.0 * _EPS  # relative rounding error of a squared distance from products, with a safety factor
_NARROWEST, _WIDEST = 1e-140, 1e140  # squares of widths in this range neither underflow nor overflow


def neighbor_widths(Z: Array, k: int, anchors: Indices) -> Array:
    """Return the width τ of samples: four times the squared distance to the k-th nearest neighbor.

    It is at least a tenth of the median, so that samples with copies in other classes have one too. If most
    samples have such copies, the largest width replaces the median; if all have, four times the mean squared
    distance of all pairs does.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples, in coordinates in which the prior is Euclidean.
    k : int
        Number of neighbors; fewer if there are too few samples.
    anchors : array of shape (n_anchors,)
        Row numbers of the samples whose widths are requested.

    Returns
    -------
    array of shape (n_samples,)
        The widths of the anchors, and zero for other samples.
    """
    last = NearestSearch(in_usual_units(Z)).among(anchors, min(k, len(Z) - 1), Interval(0, len(Z)))[:, -1]
    distance = PairDifferences(anchors, last).distances(Z)
    norm = np.einsum("ij,ij->i", Z, Z)
    # For copies, it is a rounding error.
    width = _FAR * np.where(distance > _ROUNDING * norm[anchors], distance, 0.0)
    usual = float(np.median(width)) or float(width.max())
    if usual == 0.0:
        mean = 2.0 * float(Z.var(axis=0).sum())
        usual = _FAR * mean if mean > _ROUNDING * float(norm.max()) else 0.0
    if not 0.0 < usual < np.inf:
        raise ValueError("The samples are equal, or too far apart to square distances; check the features.")
    if not _NARROWEST < usual < _WIDEST:
        raise ValueError(
            f"Squared distances of samples are about {usual:.3g} under the prior, too small or too large to "
            "compute with; scale the features, or choose another `prior`."
        )
    widths = np.zeros(len(Z))
    widths[anchors] = np.maximum(width, _LEAST_WIDTH * usual)
    return widths


class NeighborTerm(Term):
    """Neighborhoods of samples under squared distances.

    Parameters
    ----------
    near : Neighborhoods
        The samples, their neighbors and the loss of their distances.
    """

    def __init__(self, near: Neighborhoods) -> None:
        self.near, self.n_pairs = near, near.n_pairs

    @classmethod
    def find(
        cls,
        Z: Array,
        labels: Indices,
        local: LocalPairs,
        width: Array,
        weight: Array | None,
        C: float,
    ) -> NeighborTerm:
        """Return the neighborhoods of samples.

        Parameters
        ----------
        Z : array of shape (n_samples, n_features)
            Samples, in coordinates in which the metric of the neighbor search is Euclidean.
        labels : array of shape (n_samples,)
            Their classes as 0, 1, …; some class has at least two samples.
        local : LocalPairs
            Numbers of neighbors in the same and in other classes, and how they are found.
        width : array of shape (n_samples,)
            τ of each sample whose neighbors count.
        weight : array of shape (n_samples,), optional
            Weight of each sample; 1 by default.
        C : float
            Weight of the mean loss over the samples.
        """
        i, j = local.find_by_sample(Z, labels)
        distances = PairDifferences(i, j).distances(Z)
        return cls(Neighborhoods(i, j, labels[i] == labels[j], distances, width, weight, C))

    @cached_property
    def _graph(self) -> PairGraph:
        return PairGraph(self.near.i, self.near.j)

    def evaluate(self, Z: Array) -> LossPass:
        Y = self._graph.centered(Z)
        d = self._graph.distances(Y)
        losses = self.near.loss(d)
        size = self._graph.size(Y, losses.slope)
        accurate = size <= _LOST_DIGITS * float(np.abs(losses.slope) @ d)
        total = (
            self._graph.laplacian_form(Y, losses.slope)
            if accurate
            else PairDifferences(self.near.i, self.near.j).weighted_sum(Z, losses.slope)
        )
        noise = (_EPS * size if accurate else 0.0) + losses.noise
        bend = float(losses.curvature @ (1.0 - losses.p))
        return LossPass(losses.value, losses.conjugate, total, bend, losses, noise)

    def curvature_product(self, Z: Array, S: Array, losses: LossPass) -> Array:
        Y = self._graph.centered(Z)
        forms = self._graph.forms(Y, Y @ S)
        return self._graph.laplacian_form(Y, self.near.bend(forms, losses.curvatures))

    def curvature_moment(self, Z: Array, losses: LossPass) -> Array:
        found = losses.curvatures
        return self._graph.laplacian_form(self._graph.centered(Z), found.curvature * (1.0 - found.p))
