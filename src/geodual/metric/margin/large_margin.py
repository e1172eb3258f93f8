"""The objective of LMNN, which pulls targets and pushes impostors: value, gradient, lower bound."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.sparse import csc_array, csr_array
from sklearn.neighbors import NearestNeighbors

from geodual.arrays import Array, Indices

from ..geometry.distances import gram_factors

_NO_MARGIN = -1.0  # for a missing target: no squared distance is below this, so there are no impostors
_ROWS = 256  # of a tile, whose distances stay in the cache
_COLUMNS = 512
_BLOCK = 65_536  # number of pairs in a full block


class MarginPass(NamedTuple):
    """The result of one pass over targets and impostors.

    Attributes
    ----------
    objective : float
        p(L).
    smoothed : float
        p_δ(L) ≥ p(L).
    smoothing_gap : float
        Upper bound on p(L) minus the optimum, if L minimizes p_δ.
    multipliers : float
        Σ λ, the sum of the slopes of all smoothed hinges.
    product : array of shape (n_samples, n_columns)
        Lap V. The edge weights of the Laplacian are the derivatives of p_δ with respect to squared distances.
    """

    objective: float
    smoothed: float
    smoothing_gap: float
    multipliers: float
    product: Array


class LargeMargin:
    r"""The objective p(L) of LMNN over samples i, targets j and impostors l, and a smooth upper bound p_δ.

    .. math:: p(L) = r \sum_{ij} w_i d_{ij} + (1 - r) \sum_{ijl} w_i [1 + d_{ij} - d_{il}]_+ ,
              \qquad d_{ij} = \|L (x_i - x_j)\|^2

    In p_δ, the hinge is replaced by a parabola for arguments within ±δ/2 of zero. The parabola exceeds the
    hinge by at most δ/8, and decreases with δ.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Samples, sorted by class.
    labels : array of int
        Classes in increasing order.
    targets : array of shape (n_samples, n_neighbors)
        Row numbers of the target neighbors of each sample; its own number if there is none.
    regularization : float
        The weight r of the pull.
    weight : array of shape (n_samples,), optional
        w, the weight of each sample's terms; 1 by default.
    """

    def __init__(
        self,
        X: Array,
        labels: Indices,
        targets: Indices,
        regularization: float,
        weight: Array | None = None,
    ) -> None:
        self.X = X
        self.near_pairs = NearPairs(labels)
        self._targets = targets
        self._missing = targets == np.arange(len(X))[:, None]
        self._weight = weight
        self._pull = np.full(targets.shape, regularization)  # for each sample and target
        if weight is not None:
            self._pull *= weight[:, None]
        self._push = 1.0 - regularization
        self._target_graph = _Graph(len(X))
        self._target_starts = np.arange(0, targets.size + 1, max(targets.shape[1], 1))
        self._impostor_graph = _Graph(len(X))

    def value_and_gradient(self, L: Array, width: float) -> tuple[MarginPass, Array]:
        """Return the pass at L with δ = `width` < 2, and the gradient of p_δ."""
        Y = self.X @ L.T
        result = self._pass(Y, width, Y)
        return result, 2.0 * (result.product.T @ self.X)

    def certify(self, L: Array, width: float) -> tuple[MarginPass, float]:
        r"""Return the pass at L, and a lower bound on p over all L, from the slopes of the hinges at this L.

        The dual of the convex program in M = LᵀL maximizes Σ λ over 0 ≤ λ ≤ 1 − r with a positive
        semidefinite G(λ) = r Σ v_ij v_ijᵀ + Σ λ_ijl (v_ij v_ijᵀ − v_il v_ilᵀ). At the minimum of p_δ, its
        slopes λ satisfy this, with p(L) − Σ λ = Σ (1 − r) [h]₊ − λ h over the slacks h. Elsewhere, λ is
        multiplied by a factor that makes G positive semidefinite. Weights w multiply r and 1 − r here.
        """
        result = self._pass(self.X @ L.T, width, self.X)
        G = self.X.T @ result.product
        P = self.X.T @ self._target_laplacian(self._pull, self.X)
        try:
            smallest = eigh(G, P, eigvals_only=True, subset_by_index=(0, 0))[0]
        except LinAlgError:  # P is singular: in some direction there is no pull, and 0 is the only safe bound
            return result, 0.0
        # G(sλ) = P + s (G − P) is positive semidefinite for s ≤ 1/(1 − smallest).
        return result, self._push * result.multipliers / (1.0 - min(float(smallest), 0.0))

    def _pass(self, Y: Array, width: float, V: Array) -> MarginPass:
        """Sum pulls and pushes at the samples Y, with Laplacian products of V."""
        distances = self.target_distances(Y)
        margin = np.where(self._missing, _NO_MARGIN, 1.0 + distances)
        pushes = _Pushes(margin, width, V, self._impostor_graph, self._weight)
        # Only pairs closer than the largest margin of a sample, plus the smoothing, contribute.
        for block in self.near_pairs.blocks(Y, np.maximum(margin.max(axis=1) + 0.5 * width, 0.0)):
            pushes.add(block)
        pull = float(np.vdot(self._pull, distances))
        product = self._target_laplacian(self._pull + self._push * pushes.target_slope, V)
        product -= self._push * pushes.impostor_product()
        return MarginPass(
            pull + self._push * pushes.hinge,
            pull + self._push * pushes.smoothed,
            self._push * pushes.gap,
            float(pushes.target_slope.sum()),
            product,
        )

    def target_distances(self, Y: Array) -> Array:
        """Return the squared distances of each sample to its targets; zero for missing targets."""
        # Column by column, so that differences to all targets are never in memory at once.
        distances = np.empty(self._targets.shape)
        for column, targets in zip(distances.T, self._targets.T, strict=True):
            difference = Y.take(targets, axis=0)
            difference -= Y
            np.einsum("ij,ij->i", difference, difference, out=column)
        return distances

    def _target_laplacian(self, weights: Array, V: Array) -> Array:
        # A sparse matrix with k entries per row; a missing target is a loop, which cancels.
        targets, edges = self._targets.ravel(), weights.ravel()
        degree = weights.sum(axis=1) + np.bincount(targets, edges, len(V))
        there, back = self._target_graph.products(edges, targets, self._target_starts, V)
        return np.asarray(degree[:, None] * V - there - back)


class _Pushes:
    """Sums of the hinges over all triples of a sample, a target and an impostor."""

    def __init__(
        self, margin: Array, width: float, V: Array, graph: _Graph, sample_weight: Array | None
    ) -> None:
        self.hinge = self.smoothed = self.gap = 0.0
        self.target_slope = np.zeros(margin.shape)
        self._margins = np.ascontiguousarray(margin.T)
        self._width = width
        self._V, self._graph, self._weight = V, graph, sample_weight
        self._degree = np.zeros(len(V))
        self._neighbor_sum = np.zeros(V.shape)

    def add(self, block: PairBlock) -> None:
        """Add the triples in which one sample of a near pair is an impostor of the other."""
        n = len(self._V)
        slope = np.zeros(len(block.first))  # total slope per pair, over all targets and both directions
        for column, margin in enumerate(self._margins):
            for sample in (block.first, block.second):
                slack = margin.take(sample) - block.squared_distance
                # Slope λ of the smoothed hinge; the value is δ λ²/2, plus the slack beyond the parabola.
                lam = np.clip(slack / self._width + 0.5, 0.0, 1.0)
                hinges, beyond = np.maximum(slack, 0.0), np.maximum(slack - 0.5 * self._width, 0.0)
                weighted = lam
                if self._weight is not None:
                    weight = self._weight.take(sample)
                    weighted, hinges, beyond = weight * lam, weight * hinges, weight * beyond
                hinge = float(hinges.sum())
                self.hinge += hinge
                self.smoothed += 0.5 * self._width * float(weighted @ lam) + float(beyond.sum())
                self.gap += hinge - float(weighted @ slack)
                self.target_slope[:, column] += np.bincount(sample, weighted, n)
                slope += weighted
        # `first` is sorted, so these are the row pointers of a sparse matrix without further sorting.
        starts = np.concatenate([[0], np.cumsum(np.bincount(block.first, minlength=n))])
        there, back = self._graph.products(slope, block.second, starts, self._V)
        self._neighbor_sum += there
        self._neighbor_sum += back
        self._degree += np.bincount(block.first, slope, n) + np.bincount(block.second, slope, n)

    def impostor_product(self) -> Array:
        """Return Lap V, where the edge weights of the Laplacian are the slopes of the pairs."""
        return np.asarray(self._degree[:, None] * self._V - self._neighbor_sum)


class _Graph:
    """A sparse matrix A of edge weights, created once and refilled, because SciPy's checks are slow."""

    def __init__(self, n: int) -> None:
        self._rows, self._columns = csr_array((n, n)), csc_array((n, n))

    def products(self, edges: Array, ends: Indices, starts: Indices, V: Array) -> tuple[Array, Array]:
        """Return A V and Aᵀ V, where row i of A has the weights `edges` from starts[i] in columns `ends`."""
        for matrix in (self._rows, self._columns):
            matrix.data, matrix.indices, matrix.indptr = edges, ends, starts
        return self._rows @ V, self._columns @ V


def target_neighbors(X: Array, labels: Indices, n_neighbors: int) -> Indices:
    """Return the nearest neighbors of each sample in its class; its own number if there are too few."""
    n_columns = min(n_neighbors, int(np.bincount(labels).max()) - 1)
    targets = np.tile(np.arange(len(X))[:, None], n_columns)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        k = min(n_neighbors, len(members) - 1)
        if k > 0:
            nearest = NearestNeighbors(n_neighbors=k).fit(X[members]).kneighbors(return_distance=False)
            targets[members, :k] = members[nearest]
    return targets


class PairBlock(NamedTuple):
    """Near pairs: row numbers of the first samples (sorted) and the second ones, and squared distances."""

    first: Indices
    second: Indices
    squared_distance: Array


_NO_PAIRS = PairBlock(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))


class _Tile(NamedTuple):
    rows: slice
    columns: slice


class NearPairs:
    """Find all pairs of different classes with ‖y − y′‖² < max(r, r′) for samples y and squared reaches r.

    All distances are computed, in tiles that stay in the cache: for a few thousand samples, this takes no
    longer than maintaining lists of pairs while samples move.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Classes in increasing order.
    """

    def __init__(self, labels: Indices) -> None:
        self._tiles = list(_tiles_between_classes(labels))
        self._scratch = np.empty(_ROWS * _COLUMNS)

    def blocks(self, Y: Array, squared_reach: Array) -> Iterator[PairBlock]:
        """Yield all near pairs in blocks of limited size.

        Parameters
        ----------
        Y : array of shape (n_samples, n_components)
            The samples.
        squared_reach : array of shape (n_samples,)
            r ≥ 0 of each sample.
        """
        factors = gram_factors(Y, Y)
        waiting: list[PairBlock] = []
        n_waiting = 0
        for tile in self._tiles:
            block = self._block(tile, factors, squared_reach[tile.rows], squared_reach[tile.columns])
            waiting.append(block)
            n_waiting += len(block.first)
            if n_waiting >= _BLOCK:
                yield _joined(waiting)
                waiting, n_waiting = [], 0
        yield _joined(waiting or [_NO_PAIRS])

    def _block(self, tile: _Tile, factors: tuple[Array, Array], r: Array, s: Array) -> PairBlock:
        """Return the pairs of a tile with a squared distance below r (first sample) or s (second sample)."""
        shape = len(r), len(s)
        distances = self._scratch[: len(r) * len(s)].reshape(shape)
        np.matmul(factors[0][tile.rows], factors[1][tile.columns].T, out=distances)
        near = distances < r[:, None]
        near |= distances < s
        flat = np.flatnonzero(near)
        first, second = np.divmod(flat, shape[1])
        return PairBlock(first + tile.rows.start, second + tile.columns.start, distances.take(flat))


def _tiles_between_classes(labels: Indices) -> Iterator[_Tile]:
    """Cut the distance matrix above the class blocks into tiles, so that each pair occurs once."""
    edges = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    for start, stop in pairwise(edges):
        for row in range(start, stop, _ROWS):
            for column in range(stop, len(labels), _COLUMNS):
                rows = slice(row, min(row + _ROWS, stop))
                yield _Tile(rows, slice(column, min(column + _COLUMNS, len(labels))))


def _joined(blocks: list[PairBlock]) -> PairBlock:
    if len(blocks) == 1:
        return blocks[0]
    first, second, distances = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    order = np.argsort(first, kind="stable")  # `PairBlock` promises first samples in increasing order
    return PairBlock(first[order], second[order], distances[order])
