"""Sums over all pairs of samples; the distance matrix is computed in tiles and never stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from geodual.arrays import Array, Indices

from ..base.checks import copy_weight
from ..losses import PairLoss
from .pair_set import LossPass, Pairs, PairTable, ThinnedPairs, thinned_rows
from .tiles import Block, Kept, LaplacianSum, chunks_of, class_tiles, curvature_sums, loss_sums, moment_sums

_EPS = float(np.finfo(float).eps)
_MANY = 30_000_000  # pairs times features above which Hessian products are computed in single precision
_SINGLE_RANGE = (1e-12, 1e12)  # of coordinates whose squares do not under- or overflow in single precision

Task = TypeVar("Task")
Sums = TypeVar("Sums")


class AllPairs(Pairs):
    """All pairs of samples; two samples of the same class are similar.

    Samples must be centered: differences do not depend on the center, but rounding errors of products do.
    The distance matrix is computed tile by tile, including its diagonal, where a sample of weight w forms a
    similar pair of weight w²/2 with itself. But w copies form only w (w − 1)/2 pairs with each other, so the
    surplus is subtracted at the end of a pass.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Classes in increasing order. Samples must be sorted by class, so that a tile has one kind of pairs.
    sample_weight : array of shape (n_samples,), optional
        Weight of each sample; 1 by default. The weight of a pair is the product of its samples' weights.
    n_threads : int
        Number of threads over tiles; the sums do not depend on it.
    """

    def __init__(self, labels: Indices, sample_weight: Array | None = None, n_threads: int = 1) -> None:
        if (np.diff(labels) < 0).any():
            raise ValueError("`labels` must be sorted; sort the samples by class.")
        n = len(labels)
        self.n_pairs = n * (n - 1) // 2
        self._labels = labels
        self._given_weight, self._n_threads = sample_weight, n_threads
        self._weight = np.ones(n) if sample_weight is None else sample_weight
        self._chunks = chunks_of(list(class_tiles(labels)))
        self.total_weight, self._surplus = pair_masses(self._weight)

    def _block(self, Z: Array) -> Block:
        return Block.of(Z, self._given_weight)

    def _map(self, function: Callable[[Task], Sums], tasks: Sequence[Task]) -> Iterator[Sums]:
        """Yield the sums of all tasks in order, so that totals do not depend on the number of threads."""
        if self._n_threads == 1 or len(tasks) == 1:
            yield from map(function, tasks)
            return
        with ThreadPoolExecutor(self._n_threads) as pool:
            yield from pool.map(function, tasks)

    def thinned(self, n_features: int) -> ThinnedPairs | None:
        rows = thinned_rows(self._labels, n_features)
        if rows is None:
            return None
        weight = None if self._given_weight is None else self._given_weight[rows]
        return ThinnedPairs(AllPairs(self._labels[rows], weight, self._n_threads), rows, self.total_weight)

    def evaluate(self, Z: Array, loss: PairLoss) -> LossPass:
        block = self._block(Z)
        slopes = LaplacianSum(block)
        value = conjugate = curvature_total = 0.0
        curvatures: list[Kept] = []
        for sums in self._map(lambda tiles: loss_sums(block, tiles, loss, self.n_pairs), self._chunks):
            value += sums.value
            conjugate += sums.conjugate
            curvature_total += sums.curvature_total
            slopes.join(sums.slopes)
            curvatures.append(sums.curvatures)
        slope_sum, noise = slopes.total(block.Z), _EPS * slopes.size
        found = LossPass(value, conjugate, slope_sum, curvature_total, curvatures, noise)
        return without_surplus(found, loss, self._surplus)

    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: Any) -> Array:
        assert curvatures is not None
        size = float(np.linalg.norm(S)) or 1.0
        forms = form_block(Z, self._given_weight, S / size, self.n_pairs)
        distances = None if _are_kept(curvatures) else Block.of(Z, self._given_weight)
        sums = LaplacianSum(forms)
        tasks = list(zip(self._chunks, curvatures, strict=True))
        for part in self._map(lambda task: curvature_sums(forms, distances, task[0], loss, task[1]), tasks):
            sums.join(part)
        return size * sums.total(Z)

    def curvature_moment(self, Z: Array, loss: PairLoss, losses: LossPass) -> Array:
        assert losses.curvatures is not None
        if not _are_kept(losses.curvatures):
            # Computing them again would take a pass; treating φ″ as equal for all pairs is accurate enough.
            return losses.curvature_total * self._second_moment(Z)
        block = self._block(Z)
        sums = LaplacianSum(block)
        tasks = list(zip(self._chunks, losses.curvatures, strict=True))
        for part in self._map(lambda task: moment_sums(block, *task), tasks):
            sums.join(part)
        return sums.total(block.Z)

    def _second_moment(self, Z: Array) -> Array:
        """Return the weighted mean of z zᵀ over the differences z of all pairs."""
        # Σ over pairs of wᵢwⱼ (zᵢ − zⱼ)(zᵢ − zⱼ)ᵀ = (Σw) Σ w (z − z̄)(z − z̄)ᵀ.
        weight, mass = self._weight, float(self._weight.sum())
        centered = Z - (weight @ Z) / mass
        return np.asarray((centered.T * (weight * (mass / max(self.total_weight, 1e-300)))) @ centered)

    def index_list(self, limit: int) -> PairTable:
        self._check_limit(limit)
        i, j = np.triu_indices(len(self._labels), 1)
        return PairTable(i, j, self._labels[i] == self._labels[j], self._weight[i] * self._weight[j])


def pair_masses(weight: Array) -> tuple[float, float]:
    """Return the total weight of all pairs of samples, and the surplus of the diagonal, see `AllPairs`."""
    # A sample of weight 2 represents two equal samples, which also form a pair.
    mass, copy = float(weight.sum()), copy_weight(weight)
    return 0.5 * mass * (mass - copy), 0.5 * mass * copy


def without_surplus(found: LossPass, loss: PairLoss, surplus: float) -> LossPass:
    """Subtract the surplus of the diagonal, similar pairs of distance zero, from the sums of the loss."""
    own = loss.terms(np.zeros(1), similar=True, weight=np.array([surplus]))
    return found._replace(
        value=found.value - own.value,
        conjugate=found.conjugate - own.conjugate,
        curvature_total=found.curvature_total - float(own.curvature.sum()),
        noise=found.noise + _EPS * abs(own.value),
    )


def form_block(Z: Array, weight: Array | None, S: Array, n_pairs: int) -> Block:
    """Prepare the forms zᵀSz of centered samples; in single precision if there are many, in half the time.

    A Newton step needs no more; values, gradients and the duality gap are always in double precision.
    """
    fits = _SINGLE_RANGE[0] < float(np.abs(Z).max()) < _SINGLE_RANGE[1]
    kind = np.float32 if fits and n_pairs * Z.shape[1] >= _MANY else np.float64
    return Block.of(Z.astype(kind, copy=False), weight, S.astype(kind, copy=False))


def _are_kept(curvatures: list[Kept]) -> bool:
    return all(kept is not None for part in curvatures for kept in part)
