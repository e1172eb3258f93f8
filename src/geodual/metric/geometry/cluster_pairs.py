"""Sums over all pairs of samples on a cluster: one task per pair of blocks returns small sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.cluster import on_worker, persisted, summed

from ..losses import PairLoss
from .all_pairs import form_block, pair_masses, without_surplus
from .pair_set import LossPass, Pairs, PairTable, ThinnedPairs, thinned_rows
from .sample_blocks import SampleBlock, SampleBlocks, joined_samples, joined_weights
from .tiles import Block, Kept, Tile, class_tiles, curvature_sums, loss_sums, moment_sums

_EPS = float(np.finfo(float).eps)


class ClusterPairs(Pairs):
    """All pairs of samples in blocks on the workers of a cluster; the sums are those of `AllPairs`.

    The samples are not on the solver's machine. So instead of the samples Z = X L in the coordinates of a
    frame, the methods receive only L, and the workers compute Z. A program of these pairs has the identity as
    X.

    Parameters
    ----------
    blocks : SampleBlocks
        The samples, all with a label.
    """

    def __init__(self, blocks: SampleBlocks) -> None:
        n = len(blocks.labels)
        self.n_pairs = n * (n - 1) // 2
        self.total_weight, self._surplus = pair_masses(blocks.counts)
        self._blocks, self._couples = blocks, blocks.couples()

    def thinned(self, n_features: int) -> ThinnedPairs | None:
        rows = thinned_rows(self._blocks.labels, n_features)
        if rows is None:
            return None
        return ThinnedPairs(ClusterPairs(self._blocks.taken(rows)), slice(None), self.total_weight)

    def evaluate(self, Z: Array, loss: PairLoss) -> LossPass:
        L = on_worker(np.asarray, Z)  # sent once, then passed between workers
        parts = persisted([on_worker(_losses, *couple, L, loss, self.n_pairs) for couple in self._couples])
        *sums, size, n_dropped = summed([part[0] for part in parts])
        value, conjugate, slope_sum, curvature_total = sums
        kept = None if n_dropped else parts
        found = LossPass(value, conjugate, slope_sum, curvature_total, kept, _EPS * size)
        return without_surplus(found, loss, self._surplus)

    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: Any) -> Array:
        size = float(np.linalg.norm(S)) or 1.0
        where = on_worker(_both, Z, S / size)
        kept = [None] * len(self._couples) if curvatures is None else curvatures
        tasks = [
            on_worker(_products, *couple, where, loss, part, self.n_pairs)
            for couple, part in zip(self._couples, kept, strict=True)
        ]
        return size * np.asarray(summed(tasks)[0])

    def curvature_moment(self, Z: Array, loss: PairLoss, losses: LossPass) -> Array:
        if losses.curvatures is None:
            # As in `AllPairs`, treat φ″ as equal for all pairs.
            mean = self._blocks.scatter * (float(self._blocks.counts.sum()) / max(self.total_weight, 1e-300))
            return np.asarray(losses.curvature_total * (Z.T @ mean @ Z))
        L = on_worker(np.asarray, Z)
        parts = zip(self._couples, losses.curvatures, strict=True)
        return np.asarray(summed([on_worker(_moment, *couple, L, part) for couple, part in parts])[0])

    def index_list(self, limit: int) -> PairTable:
        raise ValueError("Pairs of samples on a cluster cannot be listed; pass `X` as a numpy array.")


Losses = tuple[tuple[float, float, Array, float, float, int], Kept]
"""Sums over pairs (φ, φ*, φ′zzᵀ, φ″, size of rounding errors, number of tiles without φ″), and φ″."""


# Tasks for the workers. They process the pairs between two blocks, or those within `a` if `b` is None, and
# return tuples for `summed`.


def _losses(a: SampleBlock, b: SampleBlock | None, L: Array, loss: PairLoss, n_pairs: int) -> Losses:
    """Return the sums of the loss over the pairs, and the curvatures, which stay on the worker."""
    Z, weight, tiles = _joined(a, b, L)
    found = loss_sums(Block.of(Z, weight), tiles, loss, n_pairs)
    n_dropped = sum(kept is None for kept in found.curvatures)
    slope_sum, size = found.slopes.total(Z), found.slopes.size
    sums = (found.value, found.conjugate, slope_sum, found.curvature_total, size, n_dropped)
    return sums, found.curvatures


def _both(L: Array, S: Array) -> tuple[Array, Array]:
    return L, S


def _products(
    a: SampleBlock,
    b: SampleBlock | None,
    where: tuple[Array, Array],
    loss: PairLoss,
    losses: Losses | None,
    n_pairs: int,
) -> tuple[Array]:
    """Return Σ φ″ (zᵀSz) zzᵀ for `where` = (L, S); without `losses`, φ″ is computed again."""
    Z, weight, tiles = _joined(a, b, where[0])
    distances = Block.of(Z, weight) if losses is None else None
    kept: Kept = [None] * len(tiles) if losses is None else losses[1]
    forms = form_block(Z, weight, where[1], n_pairs)
    return (curvature_sums(forms, distances, tiles, loss, kept).total(Z),)


def _moment(a: SampleBlock, b: SampleBlock | None, L: Array, losses: Losses) -> tuple[Array]:
    """Return Σ φ″ zzᵀ from the kept curvatures."""
    Z, weight, tiles = _joined(a, b, L)
    return (moment_sums(Block.of(Z, weight), tiles, losses[1]).total(Z),)


def _joined(a: SampleBlock, b: SampleBlock | None, L: Array) -> tuple[Array, Array | None, list[Tile]]:
    """Return Z = X L and the weights of the samples of one or two blocks, and the tiles of their pairs."""
    labels = a.labels if b is None else np.concatenate([a.labels, b.labels])
    tiles = list(class_tiles(labels, None if b is None else len(a.X)))
    return joined_samples(a, b) @ L, joined_weights(a, b), tiles
