"""Sums over all pairs of samples; the distance matrix is computed in tiles, so that no pair is stored."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.threads import product_operations

from .gram import gram_factors
from .pair_loss import PairLoss
from .pair_set import LossPass, Pairs, PairTable
from .weights import copy_weight

_EPS = float(np.finfo(float).eps)
_ROWS = 256  # of a tile: enough for fast matrix products, and its distances stay in the cache
_COLUMNS = 8192
_CURVATURE_BUDGET = 32_000_000  # curvatures are kept up to this number of pairs (256 MB), then recomputed


def tile_operations(n_samples: int, n_features: int) -> float:
    """Return the operation count of the largest matrix product in a pass over all pairs."""
    return product_operations(min(n_samples, _ROWS), n_features, min(n_samples, _COLUMNS))


class _Tile(NamedTuple):
    rows: slice
    columns: slice
    similar: bool
    halved: bool  # a square on the diagonal, which contains every pair twice


class AllPairs(Pairs):
    """All pairs of samples; two samples of the same class are similar.

    The distance matrix is computed tile by tile, with its diagonal. There a sample of weight w makes a
    similar pair of weight w²/2 with itself. But w copies make only w (w − 1)/2 pairs with each other, so the
    surplus is taken off at the end of a pass.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Classes in increasing order. Samples must be sorted by class, so that a tile has one kind of pairs.
    sample_weight : array of shape (n_samples,), optional
        How often each sample counts; once by default. A pair gets the product of the weights of its samples.
    """

    def __init__(self, labels: NDArray[np.intp], sample_weight: Array | None = None) -> None:
        if (np.diff(labels) < 0).any():
            raise ValueError("`labels` must be sorted; sort the samples by class.")
        n = len(labels)
        self.n_pairs = n * (n - 1) // 2
        self._labels = labels
        self._is_weighted = sample_weight is not None
        self._weight = np.ones(n) if sample_weight is None else sample_weight
        self._tiles = list(_class_tiles(labels))
        # A sample of weight 2 stands for two equal samples, which also make a pair.
        mass, copy = float(self._weight.sum()), copy_weight(self._weight)
        self.total_weight = 0.5 * mass * (mass - copy)
        self._surplus = 0.5 * mass * copy

    def _pair_weight(self, tile: _Tile) -> Array | None:
        if not self._is_weighted:
            return None
        return np.outer(self._weight[tile.rows], self._weight[tile.columns])

    def evaluate(self, Z: Array, loss: PairLoss) -> LossPass:
        left, right = gram_factors(Z, Z)
        sums = _LaplacianSum(Z)
        value = conjugate = curvature_total = 0.0
        curvatures: list[Array] | None = [] if self.n_pairs <= _CURVATURE_BUDGET else None
        for tile in self._tiles:
            share = 0.5 if tile.halved else 1.0
            terms = loss.terms(_distances(left, right, tile), tile.similar, self._pair_weight(tile))
            value += share * terms.value
            conjugate += share * terms.conjugate
            curvature_total += share * float(terms.curvature.sum())
            sums.add(tile, terms.slope, share)
            if curvatures is not None:
                curvatures.append(terms.curvature)
        own = loss.terms(np.zeros(1), similar=True, weight=np.array([self._surplus]))
        return LossPass(
            value - own.value,
            conjugate - own.conjugate,
            sums.total(),
            curvature_total - float(own.curvature.sum()),
            curvatures,
            _EPS * (sums.size + abs(own.value)),
        )

    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: list[Array] | None) -> Array:
        # One product gives all forms (zᵢ − zⱼ)ᵀ S (zᵢ − zⱼ) of a tile.
        form_left, form_right = gram_factors(Z, Z @ S)
        left, right = gram_factors(Z, Z) if curvatures is None else (Z, Z)
        sums = _LaplacianSum(Z)
        for k, tile in enumerate(self._tiles):
            forms = form_left[tile.rows] @ form_right[tile.columns].T
            if curvatures is None:
                distances = _distances(left, right, tile)
                forms *= loss.terms(distances, tile.similar, self._pair_weight(tile)).curvature
            else:
                forms *= curvatures[k]
            sums.add(tile, forms, 0.5 if tile.halved else 1.0)
        return sums.total()

    def second_moment(self, Z: Array) -> Array:
        # Σ over pairs of wᵢwⱼ (zᵢ − zⱼ)(zᵢ − zⱼ)ᵀ = (Σw) Σ w (z − z̄)(z − z̄)ᵀ.
        weight, mass = self._weight, float(self._weight.sum())
        centred = Z - (weight @ Z) / mass
        return np.asarray((centred.T * (weight * (mass / max(self.total_weight, 1e-300)))) @ centred)

    def index_list(self, limit: int) -> PairTable:
        self._check_limit(limit)
        i, j = np.triu_indices(len(self._labels), 1)
        return PairTable(i, j, self._labels[i] == self._labels[j], self._weight[i] * self._weight[j])


class _LaplacianSum:
    """Sum up Zᵀ Lap(a) Z from tiles of the edge weights a.

    Zᵀ Lap(a) Z = Zᵀ diag(degrees) Z − C − Cᵀ, where C is the sum of a zᵢ zⱼᵀ and each pair counts once.
    """

    def __init__(self, Z: Array) -> None:
        self._Z = Z
        self._with_ones = np.hstack([Z, np.ones((len(Z), 1))])
        self._squares = np.einsum("ij,ij->i", Z, Z)
        self._degrees = np.zeros(len(Z))
        self._cross = np.zeros((Z.shape[1], Z.shape[1]))
        # Σ |a| (‖zᵢ‖² + ‖zⱼ‖²), which scales the rounding error; a has one sign within a tile.
        self.size = 0.0

    def add(self, tile: _Tile, a: Array, share: float) -> None:
        weighted = a @ self._with_ones[tile.columns]  # the column of ones gives the degrees of the rows
        for part, degrees in ((tile.rows, weighted[:, -1]), (tile.columns, a.sum(axis=0))):
            self._degrees[part] += share * degrees
            self.size += share * abs(float(degrees @ self._squares[part]))
        self._cross += share * (self._Z[tile.rows].T @ weighted[:, :-1])

    def total(self) -> Array:
        return np.asarray((self._Z.T * self._degrees) @ self._Z - self._cross - self._cross.T)


def _distances(left: Array, right: Array, tile: _Tile) -> Array:
    d = left[tile.rows] @ right[tile.columns].T
    np.maximum(d, 0.0, out=d)  # rounding may make small distances negative
    # A sample has distance zero from itself, without rounding errors.
    if tile.halved:
        np.fill_diagonal(d, 0.0)
    return np.asarray(d)


def _class_tiles(labels: NDArray[np.intp]) -> Iterator[_Tile]:
    """Cut the upper triangle of the distance matrix into tiles of one kind of pair."""
    n = len(labels)
    edges = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1, [n]])
    for start, stop in pairwise(edges.tolist()):
        for row in range(start, stop, _ROWS):
            rows = slice(row, min(row + _ROWS, stop))
            yield _Tile(rows, rows, similar=True, halved=True)
            for first, last, similar in ((rows.stop, stop, True), (stop, n, False)):
                for column in range(first, last, _COLUMNS):
                    yield _Tile(rows, slice(column, min(column + _COLUMNS, last)), similar, halved=False)
