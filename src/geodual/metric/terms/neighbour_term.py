"""The term of neighbourhoods: the neighbours of a sample compete for its class."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array, Indices

from ..geometry.distances import PairDifferences, gram_factors
from ..geometry.pair_list import PairGraph
from ..geometry.pair_set import LossPass
from ..selection.local_pairs import neighbour_pairs
from .term import Term

_EPS = float(np.finfo(float).eps)
_LOST_DIGITS = 1e4  # largest loss of relative accuracy in sums from products over samples
_SMALLEST = float(np.finfo(float).tiny)
_FAR = 4.0  # width of a sample, relative to the squared distance of its k-th neighbour
_LEAST_WIDTH = 0.1  # of a sample, relative to the median
_ROUNDING = 64.0 * _EPS  # relative rounding error of a squared distance from products, with a safety factor
_NARROWEST, _WIDEST = 1e-140, 1e140  # squares of widths between these neither under- nor overflow
_BLOCK = 500_000  # distances of this many pairs are computed at once


def neighbour_widths(Z: Array, k: int) -> Array:
    """Return the width τ of each sample: four times the squared distance of its k-th nearest neighbour.

    It is at least a tenth of the median, so that samples with copies in other classes have one too. If that
    is true of most samples, the largest width stands for the median; of all, four times the mean squared
    distance of all pairs.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Samples, in coordinates in which the prior is Euclidean.
    k : int
        Number of neighbours; fewer if there are too few samples.
    """
    left, right = gram_factors(Z, Z)
    k, step = min(k, len(Z) - 1), max(_BLOCK // len(Z), 1)
    blocks = (left[start : start + step] @ right.T for start in range(0, len(Z), step))
    # The smallest of a row is the sample itself, at distance zero.
    distance = np.concatenate([np.partition(block, k, axis=1)[:, k] for block in blocks])
    norm = np.einsum("ij,ij->i", Z, Z)
    width = _FAR * np.where(distance > _ROUNDING * norm, distance, 0.0)  # of copies it is a rounding error
    usual = float(np.median(width)) or float(width.max())
    if usual == 0.0:
        mean = 2.0 * float(Z.var(axis=0).sum())
        usual = _FAR * mean if mean > _ROUNDING * float(norm.max()) else 0.0
    if not 0.0 < usual < np.inf:
        raise ValueError("The samples are equal, or too far apart to square distances; check the features.")
    if not _NARROWEST < usual < _WIDEST:
        raise ValueError(
            f"Squared distances of samples are about {usual:.3g} under the prior, too small or too large to "
            "compute with; scale the features, or give another `prior`."
        )
    return np.asarray(np.maximum(width, _LEAST_WIDTH * usual))


class NeighbourTerm(Term):
    r"""Samples with their nearest neighbours, of which one gives each sample its class.

    Sample i asks its neighbour j with the probability p ∝ w exp(−d/τ), where d is the squared distance, w how
    often the neighbour counts, and τ a width of sample i. Its loss is

    .. math:: \sum_j q_j (d_j/τ - \log w_j) + \log \sum_j w_j \exp(-d_j/τ)

    with fixed targets q, probabilities of the neighbours of its class. It is linear minus linear inside a
    log-sum-exp, so it is convex in the metric, and at least the entropy of q. It bounds −log P(right class)
    from above, up to that entropy. At the metric from which the targets q ∝ p were made, it is equal to it.

    Parameters
    ----------
    i, j : array of shape (n_pairs,)
        Row numbers of samples, in increasing order, and of their neighbours.
    similar : array of bool of shape (n_pairs,)
        Which neighbours are of the class of the sample. Each sample has one at least.
    distances : array of shape (n_pairs,)
        Squared distances in the metric that makes the targets.
    width : array of shape (n_samples,)
        τ of each sample.
    weight : array of shape (n_samples,), optional
        How often each sample counts; once by default.
    C : float
        Weight of the mean loss over the samples.

    Attributes
    ----------
    targets, widths : array of shape (n_pairs,)
        q of each neighbour, and τ of the sample that asks it.
    """

    def __init__(
        self,
        i: Indices,
        j: Indices,
        similar: NDArray[np.bool_],
        distances: Array,
        width: Array,
        weight: Array | None,
        C: float,
    ) -> None:
        self._i, self._j = i, j
        self.n_pairs = len(i)
        changes = np.diff(i, prepend=-1) != 0
        self._starts, self._group = np.flatnonzero(changes), np.cumsum(changes) - 1
        copies = np.ones(len(width)) if weight is None else weight
        self._log_weight, self.widths = np.log(copies[j]), width[i]
        asking = copies[i[self._starts]]
        # Divided by the number of samples, so that a good C does not depend on it.
        self._scale = (C / float(asking.sum()) * asking)[self._group]
        self.targets = self._probabilities(np.where(similar, self._exponents(distances), -np.inf))[0]

    @classmethod
    def find(
        cls,
        Z: Array,
        labels: Indices,
        counts: tuple[int, int],
        width: Array,
        weight: Array | None,
        C: float,
    ) -> NeighbourTerm:
        """Return the neighbourhoods of samples.

        Parameters
        ----------
        Z : array of shape (n_samples, n_features)
            Samples, in coordinates in which the metric that decides who is near is Euclidean.
        labels : array of shape (n_samples,)
            Their classes as 0, 1, …; some class has two samples at least.
        counts : (int, int)
            Numbers of neighbours in the class of a sample, and in other classes.
        width, weight, C
            As above.
        """
        # Who is alone in its class has nobody to ask.
        joined = np.bincount(labels)[labels] > 1
        pairs = neighbour_pairs(Z, labels, *counts)
        pairs = pairs[joined[pairs[:, 0]]]
        i, j = pairs[np.argsort(pairs[:, 0], kind="stable")].T
        distances = PairDifferences(i, j).distances(Z)
        return cls(i.copy(), j.copy(), labels[i] == labels[j], distances, width, weight, C)

    @property
    def pairs(self) -> Indices:
        """Row numbers of the samples and of their neighbours, of shape (n_pairs, 2)."""
        return np.column_stack([self._i, self._j])

    @cached_property
    def _graph(self) -> PairGraph:
        return PairGraph(self._i, self._j)

    def _exponents(self, d: Array) -> Array:
        return np.asarray(self._log_weight - d / self.widths)

    def _probabilities(self, e: Array) -> tuple[Array, Array]:
        """Return the probabilities exp(e)/Σ exp(e) within each neighbourhood, and log Σ exp(e)."""
        largest = np.maximum.reduceat(e, self._starts)
        p = np.exp(e - largest[self._group])
        total = np.add.reduceat(p, self._starts)
        return p / total[self._group], largest + np.log(total)

    def evaluate(self, Z: Array) -> LossPass:
        Y = self._graph.centred(Z)
        d = self._graph.distances(Y)
        e = self._exponents(d)
        p, log_sum = self._probabilities(e)
        scale, target = self._scale, self.targets
        linear = float(scale @ (target * e))
        joint = float(scale[self._starts] @ log_sum)
        # The conjugate at the slope: the negative entropy of p, and what the weights add.
        conjugate = p * np.log(np.maximum(p, _SMALLEST)) + (target - p) * self._log_weight
        slope = scale / self.widths * (target - p)
        size = self._graph.size(Y, slope)
        accurate = size <= _LOST_DIGITS * float(np.abs(slope) @ d)
        total = (
            self._graph.laplacian_form(Y, slope)
            if accurate
            else PairDifferences(self._i, self._j).weighted_sum(Z, slope)
        )
        curvature = scale / self.widths**2 * p
        noise = _EPS * ((size if accurate else 0.0) + float(scale @ (target * np.abs(e))) + abs(joint))
        return LossPass(
            joint - linear,
            float(scale @ conjugate),
            total,
            float(curvature @ (1.0 - p)),
            [curvature, p],
            noise,
        )

    def curvature_product(self, Z: Array, S: Array, losses: LossPass) -> Array:
        assert losses.curvatures is not None  # `evaluate` always keeps them
        curvature, p = losses.curvatures
        Y = self._graph.centred(Z)
        forms = self._graph.forms(Y, Y @ S)
        forms -= np.add.reduceat(p * forms, self._starts)[self._group]
        return self._graph.laplacian_form(Y, curvature * forms)

    def curvature_moment(self, Z: Array, losses: LossPass) -> Array:
        assert losses.curvatures is not None
        curvature, p = losses.curvatures
        return self._graph.laplacian_form(self._graph.centred(Z), curvature * (1.0 - p))
