"""Graphs and measured rotations for semidefinite programs, some with known answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.spatial.transform import Rotation

from geodual.arrays import Array, Indices


def random_graph(n: int, density: float, seed: int, *, signed: bool = False) -> sp.csr_array:
    """Return the weights of a random graph, drawn like G1 to G10 and G22 to G31 of the G-set by rudy.

    A share `density` of all pairs are edges, with weight 1, or randomly 1 and −1.
    """
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(n, 1)
    chosen = rng.choice(len(i), int(density * len(i)), replace=False)
    weights = rng.choice([-1.0, 1.0], len(chosen)) if signed else np.ones(len(chosen))
    upper = sp.coo_array((weights, (i[chosen], j[chosen])), shape=(n, n))
    return (upper + upper.T).tocsr()


def torus(rows: int, columns: int) -> sp.csr_array:
    """Return the weights of a grid with joined borders, like G48, G49 and G50 of the G-set."""
    grids = sp.kron(_cycle(rows), sp.eye_array(columns)) + sp.kron(sp.eye_array(rows), _cycle(columns))
    return grids.tocsr()


def torus_bound(rows: int, columns: int) -> float:
    """Return the relaxation of the largest cut of a torus: one closed form per cycle.

    In an even cycle, all edges are cut. In an odd cycle of n nodes, all angles between neighbors are π(n −
    1)/n, which gives n(1 + cos(π/n))/2.
    """
    return columns * _cycle_bound(rows) + rows * _cycle_bound(columns)


def _cycle(n: int) -> sp.csr_array:
    i = np.arange(n)
    one_way = sp.coo_array((np.ones(n), (i, (i + 1) % n)), shape=(n, n))
    return (one_way + one_way.T).tocsr()


def _cycle_bound(n: int) -> float:
    return float(n) if n % 2 == 0 else n * (1.0 + float(np.cos(np.pi / n))) / 2.0


class MeasuredRotations(NamedTuple):
    """Rotations, and noisy measurements M ≈ RᵢRⱼᵀ of some pairs."""

    rotations: Array
    pairs: Indices
    measured: Array


def measured_rotations(n: int, loops: int, noise: float, seed: int) -> MeasuredRotations:
    """Draw n rotations of space, measured along a chain and `loops` random pairs.

    Errors are rotations by vectors with normal entries of standard deviation `noise`.
    """
    rng = np.random.default_rng(seed)
    truth = Rotation.from_quat(rng.standard_normal((n, 4))).as_matrix()
    chain = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    far = rng.integers(0, n, (loops, 2))
    pairs = np.concatenate([chain, far[far[:, 0] != far[:, 1]]])
    errors = Rotation.from_rotvec(noise * rng.standard_normal((len(pairs), 3))).as_matrix()
    i, j = pairs.T
    return MeasuredRotations(truth, pairs, errors @ truth[i] @ truth[j].transpose(0, 2, 1))
