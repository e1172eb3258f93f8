"""Neighborhoods: the loss of samples that take their class from a neighbor, as a function of distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array, Indices

_EPS = float(np.finfo(float).eps)
_SMALLEST = float(np.finfo(float).tiny)


class NeighborLoss(NamedTuple):
    """The loss of neighborhoods at given distances.

    Attributes
    ----------
    value, conjugate : float
        The loss, and its conjugate at the slopes.
    slope : array of shape (n_pairs,)
        Derivative with respect to each distance.
    p : array of shape (n_pairs,)
        Probability of each neighbor.
    curvature : array of shape (n_pairs,)
        c, where the second derivative maps changes t of distances to c (t − Σ p t), with the sum over a
        neighborhood.
    noise : float
        Upper estimate of the rounding error of the value.
    """

    value: float
    conjugate: float
    slope: Array
    p: Array
    curvature: Array
    noise: float


class Neighborhoods:
    r"""Samples with their nearest neighbors, one of which gives each sample its class.

    Sample i takes its class from its neighbor j with the probability p ∝ w exp(−d/τ), where d is the distance
    (of any kind), w the weight of the neighbor, and τ the width of sample i. The loss is

    .. math:: \sum_j q_j (d_j/τ - \log w_j) + \log \sum_j w_j \exp(-d_j/τ)

    with fixed targets q, probabilities of the neighbors of its class. It is a linear function plus a
    log-sum-exp of linear functions, so it is convex in the distances, and at least the entropy of q. Up to
    that entropy, it is an upper bound of −log P(correct class), with equality at the distances that define
    the targets q ∝ p.

    Parameters
    ----------
    i, j : array of shape (n_pairs,)
        Row numbers of samples, in increasing order, and of their neighbors.
    similar : array of bool of shape (n_pairs,)
        Which neighbors are in the class of the sample. Each sample has at least one.
    distances : array of shape (n_pairs,)
        Distances that define the targets.
    width : array of shape (n_samples,)
        τ of each sample.
    weight : array of shape (n_samples,), optional
        Weight of each sample; 1 by default.
    C : float
        Weight of the mean loss over the samples.

    Attributes
    ----------
    targets, widths : array of shape (n_pairs,)
        q of each neighbor, and τ of its sample.
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
        self.i, self.j = i, j
        self.n_pairs = len(i)
        changes = np.diff(i, prepend=-1) != 0
        self.starts, self._group = np.flatnonzero(changes), np.cumsum(changes) - 1
        copies = np.ones(len(width)) if weight is None else weight
        self._log_weight, self.widths = np.log(copies[j]), width[i]
        asking = copies[i[self.starts]]
        # Divide by the number of samples, so that a good C does not depend on it.
        self._scale = (C / float(asking.sum()) * asking)[self._group]
        self.targets = self._probabilities(np.where(similar, self._exponents(distances), -np.inf))[0]

    @property
    def pairs(self) -> Indices:
        """Row numbers of the samples and of their neighbors, of shape (n_pairs, 2)."""
        return np.column_stack([self.i, self.j])

    def _exponents(self, d: Array) -> Array:
        return np.asarray(self._log_weight - d / self.widths)

    def _probabilities(self, e: Array) -> tuple[Array, Array]:
        """Return the probabilities exp(e)/Σ exp(e) within each neighborhood, and log Σ exp(e)."""
        largest = np.maximum.reduceat(e, self.starts)
        p = np.exp(e - largest[self._group])
        total = np.add.reduceat(p, self.starts)
        return p / total[self._group], largest + np.log(total)

    def loss(self, d: Array) -> NeighborLoss:
        """Return the loss at distances of the pairs, with its derivatives and its conjugate."""
        e = self._exponents(d)
        p, log_sum = self._probabilities(e)
        scale, target = self._scale, self.targets
        linear = float(scale @ (target * e))
        joint = float(scale[self.starts] @ log_sum)
        # The conjugate at the slope: the negative entropy of p, plus a part from the weights.
        conjugate = p * np.log(np.maximum(p, _SMALLEST)) + (target - p) * self._log_weight
        noise = _EPS * (float(scale @ (target * np.abs(e))) + abs(joint))
        slope, curvature = scale / self.widths * (target - p), scale / self.widths**2 * p
        return NeighborLoss(joint - linear, float(scale @ conjugate), slope, p, curvature, noise)

    def bend(self, changes: Array, losses: NeighborLoss) -> Array:
        """Return the second derivative applied to changes of the distances."""
        mean = np.add.reduceat(losses.p * changes, self.starts)
        return np.asarray(losses.curvature * (changes - mean[self._group]))
