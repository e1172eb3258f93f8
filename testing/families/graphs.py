"""Random graphs whose degrees follow a power law."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ..problems.case import Array

SEED_NODES = 5  # of the published code
EDGE_PROBABILITY = 0.5


def power_law_laplacian(n: int, density: float, rng: np.random.Generator) -> csr_array:
    """Return the Laplacian of a Barabási–Albert graph, as in the code of Liu and Boumal.

    The graph starts from a random graph of 2 · max(5, m) nodes without isolated nodes. Each further node is
    connected to m = ⌈density · n⌉ earlier nodes, drawn in proportion to their degrees.

    Parameters
    ----------
    n : int
        Number of nodes.
    density : float
        New edges per node, divided by n.
    rng : numpy.random.Generator
        Source of the random numbers.

    Returns
    -------
    csr_array of shape (n, n)
        The degrees on the diagonal, minus the adjacency matrix.
    """
    links = int(np.ceil(density * n))
    core = 2 * max(SEED_NODES, links)
    adjacency = np.zeros((n, n))
    adjacency[:core, :core] = _connected_enough(core, rng)
    for node in range(core, n):
        degrees = adjacency[:node, :node].sum(axis=0)
        chosen = rng.choice(node, links, replace=False, p=degrees / degrees.sum())
        adjacency[node, chosen] = adjacency[chosen, node] = 1.0
    return csr_array(np.diag(adjacency.sum(axis=0)) - adjacency)


def _connected_enough(n: int, rng: np.random.Generator) -> Array:
    while True:
        upper = np.triu(rng.uniform(size=(n, n)) < EDGE_PROBABILITY, 1)
        adjacency = np.asarray(upper + upper.T, dtype=float)
        if adjacency.any(axis=0).all():
            return adjacency
