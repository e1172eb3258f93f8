"""Semidefinite relaxations, and functions that turn their solutions into cuts, rotations and places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import LinearOperator

from geodual.arrays import Array, Indices

from .linear_map import as_symmetric
from .program import SemidefiniteProgram
from .result import SemidefiniteResult


def _laplacian(weights: Any) -> sp.csr_array:
    if isinstance(weights, LinearOperator):
        raise ValueError("`weights` must be an array or a sparse array, not an operator.")
    W = sp.csr_array(as_symmetric(weights, "weights"))
    if W.diagonal().any():
        raise ValueError("`weights` must have a diagonal of 0: an edge from a node to itself is never cut.")
    return (sp.diags_array(np.asarray(W.sum(axis=1)).ravel()) - W).tocsr()


def max_cut(weights: Any) -> SemidefiniteProgram:
    """Return the relaxation of the largest cut of a graph, by Goemans and Williamson.

    A cut is a sign per node, and its weight is ¼ sᵀLs with the Laplacian L. With X in place of ssᵀ the
    program minimizes ⟨−L/4, X⟩ with a diagonal of 1. So −`lower_bound` of the result is an upper bound of the
    weight of every cut.

    Parameters
    ----------
    weights : array or sparse array of shape (n, n)
        Symmetric weights of the edges, with a diagonal of 0; they may be negative.

    Returns
    -------
    SemidefiniteProgram
        The program.

    See Also
    --------
    round_cut : Rounds the solution to a cut.
    balanced_cut : The smallest cut into halves.

    References
    ----------
    M. X. Goemans, D. P. Williamson, "Improved approximation algorithms for maximum cut and satisfiability
    problems using semidefinite programming", Journal of the ACM 42(6), 1995.

    Examples
    --------
    A cycle of five nodes. The best cut has 4 edges, and the relaxation gives 5(1 + cos(π/5))/2:

    >>> import numpy as np
    >>> from geodual.semidefinite import max_cut, round_cut
    >>> weights = np.roll(np.eye(5), 1, axis=0) + np.roll(np.eye(5), -1, axis=0)
    >>> result = max_cut(weights).solve()
    >>> round(-result.cost, 4), result.rank
    (4.5225, 2)
    >>> round_cut(result, weights)[1]
    4.0
    """
    return SemidefiniteProgram(-0.25 * _laplacian(weights))


def balanced_cut(weights: Any, imbalance: float = 1.0) -> SemidefiniteProgram:
    """Return the relaxation of the smallest cut of a graph into two halves.

    The program minimizes ⟨L/4, X⟩ with a diagonal of 1 and ⟨11ᵀ, X⟩ ≤ `imbalance`². No cut whose sides differ
    by at most `imbalance` nodes has less weight than the `lower_bound` of the result.

    Parameters
    ----------
    weights : array or sparse array of shape (n, n)
        Symmetric weights of the edges, with a diagonal of 0.
    imbalance : float
        Largest difference between the numbers of nodes on the two sides; positive. With 1, the sides are
        equal if n is even. For even n, smaller numbers give better bounds but harder programs.

    Returns
    -------
    SemidefiniteProgram
        The program. Its dense constraint makes the certificate need n² numbers.

    See Also
    --------
    round_cut : Rounds the solution to a cut.
    max_cut : The largest cut.

    Examples
    --------
    Two triangles with one edge between them:

    >>> import numpy as np
    >>> from geodual.semidefinite import balanced_cut, round_cut
    >>> weights = np.kron(np.eye(2), 1.0 - np.eye(3))
    >>> weights[2, 3] = weights[3, 2] = 1.0
    >>> result = balanced_cut(weights).solve()
    >>> signs, weight = round_cut(result, weights, balanced=True)
    >>> bool(result.lower_bound <= weight), weight, (signs * signs[0]).tolist()
    (True, 1.0, [1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    """
    if not (imbalance > 0.0 and math.isfinite(imbalance)):
        raise ValueError(f"`imbalance` must be a positive and finite number, got {imbalance!r}; try 1.")
    L = _laplacian(weights)
    return SemidefiniteProgram(0.25 * L, inequalities=[(np.ones(L.shape), float(imbalance) ** 2)])


def round_cut(
    result: SemidefiniteResult, weights: Any, *, balanced: bool = False, trials: int = 100, seed: int = 0
) -> tuple[Array, float]:
    """Round the solution of a relaxation to a cut, by random hyperplanes.

    If no weight is negative, the expected weight of each trial is at least 0.878 times the optimum of the
    relaxation `max_cut`. There is no such guarantee for negative weights or for halves; compare the result
    with the lower bound.

    Parameters
    ----------
    result : SemidefiniteResult
        The solution of `max_cut` or `balanced_cut`.
    weights : array or sparse array of shape (n, n)
        The weights of the edges.
    balanced : bool
        Whether to split into halves at the median and keep the smallest cut, instead of the largest cut.
    trials : int
        Number of random hyperplanes.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    signs : array of shape (n,)
        The best cut of all trials: 1 or −1 per node, for its side.
    weight : float
        Sum of the weights of the edges between the sides.

    See Also
    --------
    max_cut, balanced_cut : The relaxations whose solutions it rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.semidefinite import max_cut, round_cut
    >>> weights = 1.0 - np.eye(4)
    >>> round_cut(max_cut(weights).solve(), weights)[1]
    4.0
    """
    L = _laplacian(weights)
    heights: Array = result.Y @ np.random.default_rng(seed).standard_normal((result.rank, trials))
    if balanced:
        heights = np.argsort(np.argsort(heights, axis=0), axis=0) - 0.5 * (len(heights) - 1)
    signs = np.where(heights >= 0.0, 1.0, -1.0)
    cuts = 0.25 * np.einsum("ij,ij->j", signs, L @ signs)
    best = int(np.argmin(cuts) if balanced else np.argmax(cuts))
    return signs[:, best], float(cuts[best])


def synchronization(
    pairs: ArrayLike, rotations: ArrayLike, weights: ArrayLike | None = None
) -> SemidefiniteProgram:
    """Return the relaxation of the rotations R₁, …, R_N that agree best with measured ones Mᵢⱼ ≈ RᵢRⱼᵀ.

    The program minimizes −Σ wᵢⱼ ⟨Mᵢⱼ, Xᵢⱼ⟩ over X ⪰ 0 whose d × d diagonal blocks are identities, with Xᵢⱼ in
    place of RᵢRⱼᵀ. The sum of squares Σ wᵢⱼ ‖Mᵢⱼ − RᵢRⱼᵀ‖² is 2(d Σ wᵢⱼ + cost).

    Parameters
    ----------
    pairs : array of int of shape (m, 2)
        The pairs (i, j), which must differ.
    rotations : array of shape (m, d, d)
        The measured Mᵢⱼ, one per pair.
    weights : array of shape (m,), optional
        Weights wᵢⱼ ≥ 0; 1 by default.

    Returns
    -------
    SemidefiniteProgram
        The program.

    See Also
    --------
    round_rotations : Rounds the solution to rotations.

    References
    ----------
    D. M. Rosen, L. Carlone, A. S. Bandeira, J. J. Leonard, "SE-Sync: a certifiably correct algorithm for
    synchronization over the special Euclidean group", International Journal of Robotics Research 38, 2019.

    Examples
    --------
    Three rotations of the plane by angles of 0, 1 and 2, measured without error:

    >>> import numpy as np
    >>> from geodual.semidefinite import round_rotations, synchronization
    >>> def turn(angle):
    ...     return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    >>> program = synchronization([(0, 1), (1, 2)], [turn(-1.0), turn(-1.0)])
    >>> result = program.solve()
    >>> R = round_rotations(result, 2)
    >>> result.rank, bool(np.allclose(R[2] @ R[0].T, turn(2.0), atol=1e-5))
    (2, True)
    """
    ij, M = _checked_pairs(pairs, "pairs"), np.asarray(rotations, dtype=float)
    w = np.ones(len(ij)) if weights is None else np.asarray(weights, dtype=float)
    if M.ndim != 3 or M.shape[1] != M.shape[2] or len(M) != len(ij):
        raise ValueError(
            f"`rotations` must have shape ({len(ij)}, d, d), one matrix per pair, got {M.shape}."
        )
    if w.shape != (len(ij),) or not (w >= 0.0).all():
        raise ValueError(f"`weights` must be {len(ij)} numbers of at least 0, one per pair, got {w.shape}.")
    d, n = M.shape[1], int(ij.max()) + 1
    i, j = (d * ij.T[..., None, None]) + np.stack(np.broadcast_arrays(*np.ogrid[:d, :d]))[:, None]
    upper = sp.coo_array(
        ((-0.5 * w[:, None, None] * M).ravel(), (i.ravel(), j.ravel())), shape=(n * d, n * d)
    )
    return SemidefiniteProgram((upper + upper.T).tocsr(), blocks=d)


def _checked_pairs(pairs: ArrayLike, name: str) -> Indices:
    ij = np.asarray(pairs)
    if ij.ndim != 2 or ij.shape[1] != 2 or not len(ij) or not np.issubdtype(ij.dtype, np.integer):
        raise ValueError(f"`{name}` must be whole numbers of shape (m, 2), got shape {ij.shape}.")
    if (ij < 0).any() or (ij[:, 0] == ij[:, 1]).any():
        raise ValueError(f"`{name}` must be pairs of different numbers, counted from 0.")
    return ij


def round_rotations(result: SemidefiniteResult, d: int) -> Array:
    """Round the solution of `synchronization` to rotations.

    X is truncated to rank d, and each block is replaced by the nearest rotation. If the solution has rank d,
    which is usual for moderate errors, and the determinants of all blocks have the same sign, then nothing is
    lost: these rotations are optimal, and the lower bound proves it to within the gap.

    Parameters
    ----------
    result : SemidefiniteResult
        The solution of `synchronization`.
    d : int
        Number of rows of a rotation.

    Returns
    -------
    array of shape (N, d, d)
        The rotations, up to a common rotation from the right.

    See Also
    --------
    synchronization : The relaxation whose solutions it rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.semidefinite import round_rotations, synchronization
    >>> result = synchronization([(0, 1)], [np.diag([-1.0, -1.0, 1.0])]).solve()
    >>> R = round_rotations(result, 3)
    >>> bool(np.allclose(R[0] @ R[1].T, np.diag([-1.0, -1.0, 1.0]), atol=1e-5))
    True
    >>> np.linalg.det(R).round(6).tolist()
    [1.0, 1.0]
    """
    U, s, _ = np.linalg.svd(result.Y, full_matrices=False)
    top = np.zeros((len(U), d))
    top[:, : min(d, len(s))] = (U * s)[:, :d]
    blocks = top.reshape(-1, d, d)
    if np.sum(np.linalg.det(blocks) < 0.0) > len(blocks) / 2:  # X is the same for a set and its mirror image
        blocks = blocks * np.append(np.ones(d - 1), -1.0)
    left, _, right = np.linalg.svd(blocks)
    left[:, :, -1] *= np.linalg.det(left @ right)[:, None]
    return np.asarray(left @ right)


def sensor_localization(
    pairs: ArrayLike,
    distances: ArrayLike,
    anchors: ArrayLike,
    n_sensors: int,
    error: float = 0.0,
) -> SemidefiniteProgram:
    """Return the relaxation of the places of sensors with given distances to each other and to anchors.

    With places P of the sensors, the unknown is X = [[I, Pᵀ], [P, PPᵀ]], relaxed to X ⪰ 0. The program
    spreads the sensors: it maximizes the sum of their squared norms, which favors solutions of low rank. The
    bound on the trace comes from paths: no sensor is farther from the origin than a path from an anchor
    allows.

    Parameters
    ----------
    pairs : array of int of shape (m, 2)
        Which pairs were measured: numbers below `n_sensors` are sensors; `n_sensors` + k is anchor k.
    distances : array of shape (m,)
        The distances; positive.
    anchors : array of shape (k, d)
        Places of the anchors.
    n_sensors : int
        Number of sensors.
    error : float
        Largest relative error of a distance, at least 0 and below 1. With 0, distances hold exactly.

    Returns
    -------
    SemidefiniteProgram
        The program.

    See Also
    --------
    sensor_positions : Reads the places from the solution.

    References
    ----------
    P. Biswas, Y. Ye, "Semidefinite programming for ad hoc wireless sensor network localization", Information
    Processing in Sensor Networks, 2004.

    Examples
    --------
    A sensor at (1, 1), seen from three anchors:

    >>> import numpy as np
    >>> from geodual.semidefinite import sensor_localization, sensor_positions
    >>> anchors = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    >>> program = sensor_localization([(0, 1), (0, 2), (0, 3)], [2**0.5] * 3, anchors, 1)
    >>> places, spread = sensor_positions(program.solve(), 2)
    >>> places.round(4).tolist(), bool(spread[0] < 1e-4)
    ([[1.0, 1.0]], True)
    """
    ij, length, a = _checked_network(pairs, distances, anchors, n_sensors, error)
    d, n = a.shape[1], n_sensors + a.shape[1]
    equalities: list[tuple[Any, float]] = [
        (_entry(n, i, j), float(i == j)) for i in range(d) for j in range(i, d)
    ]
    inequalities: list[tuple[Any, float]] = []
    # Row i is sensor or anchor i, as a combination of the rows of a factor of X.
    places = sp.block_array([[None, sp.eye_array(n_sensors)], [sp.csr_array(a), None]], format="csr")
    for (i, j), distance in zip(ij, length, strict=True):
        v = places[[i]] - places[[j]]
        A = (v.T @ v).tocsr()
        if error == 0.0:
            equalities.append((A, float(distance**2)))
        else:
            inequalities.append((A, float((distance * (1.0 + error)) ** 2)))
            inequalities.append((-A, -float((distance * (1.0 - error)) ** 2)))
    C = sp.diags_array(np.append(np.zeros(d), -np.ones(n_sensors))).tocsr()
    bound = d + float(np.sum(_reach(ij, (1.0 + error) * length, a, n_sensors) ** 2))
    return SemidefiniteProgram(C, trace_at_most=bound, equalities=equalities, inequalities=inequalities)


def _entry(n: int, i: int, j: int) -> sp.csr_array:
    """Return the matrix A with ⟨A, X⟩ = Xᵢⱼ."""
    return sp.csr_array(([0.5, 0.5], ([i, j], [j, i])), shape=(n, n))


def _checked_network(
    pairs: Any, distances: Any, anchors: Any, n_sensors: int, error: float
) -> tuple[Indices, Array, Array]:
    ij, a = _checked_pairs(pairs, "pairs"), np.asarray(anchors, dtype=float)
    length = np.asarray(distances, dtype=float)
    if a.ndim != 2 or not a.size or not np.isfinite(a).all():
        raise ValueError(f"`anchors` must be finite numbers of shape (k, d), got shape {a.shape}.")
    if length.shape != (len(ij),) or not (np.isfinite(length) & (length > 0.0)).all():
        raise ValueError(f"`distances` must be {len(ij)} positive numbers, one per pair, got {length.shape}.")
    if ij.max() >= n_sensors + len(a):
        raise ValueError(
            f"`pairs` has {ij.max()}, but there are {n_sensors} sensors and {len(a)} anchors; count from 0."
        )
    if not 0.0 <= error < 1.0:
        raise ValueError(f"`error` must be at least 0 and less than 1, got {error!r}.")
    return ij, length, a


def _reach(ij: Indices, length: Array, a: Array, n_sensors: int) -> Array:
    """Return how far from the origin each sensor may be, by paths from anchors."""
    n = n_sensors + len(a)
    graph = np.full((n, n), np.inf)
    np.minimum.at(graph, tuple(ij.T), length)
    paths = dijkstra(graph, directed=False, indices=np.arange(n_sensors, n))[:, :n_sensors]
    reach = np.min(paths + np.linalg.norm(a, axis=1)[:, None], axis=0)
    if not np.isfinite(reach).all():
        raise ValueError(
            f"Sensor {int(np.argmax(~np.isfinite(reach)))} has no path to an anchor in `pairs`; remove it."
        )
    return np.asarray(reach)


def sensor_positions(result: SemidefiniteResult, d: int) -> tuple[Array, Array]:
    """Read the places of sensors from the solution of `sensor_localization`.

    Parameters
    ----------
    result : SemidefiniteResult
        The solution of `sensor_localization`.
    d : int
        Dimension of the space.

    Returns
    -------
    places : array of shape (n_sensors, d)
        The places.
    spread : array of shape (n_sensors,)
        How far each sensor is from its place in the extra dimensions of the relaxation. It is 0 where the
        relaxation is exact; a large value means that the distances do not determine the place.

    See Also
    --------
    sensor_localization : The relaxation whose solutions it reads.

    Examples
    --------
    One distance does not determine a place in a plane:

    >>> import numpy as np
    >>> from geodual.semidefinite import sensor_localization, sensor_positions
    >>> program = sensor_localization([(0, 1)], [1.0], np.array([[0.0, 0.0]]), 1)
    >>> places, spread = sensor_positions(program.solve(), 2)
    >>> bool(np.isclose(np.sum(places**2) + spread[0] ** 2, 1.0))
    True
    """
    frame, Y = result.Y[:d], result.Y[d:]
    places = Y @ frame.T
    return places, np.linalg.norm(Y - places @ frame, axis=1)
