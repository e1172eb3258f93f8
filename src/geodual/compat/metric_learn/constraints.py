"""Constraints drawn from class labels: pairs, chunks and triplets of row numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from geodual.arrays import Array, Indices
from geodual.metric.pairs.selection import sampled_pairs
from geodual.metric.parameter_checks import check_whole


def n_per_kind(n_constraints: Any, labels: Indices) -> int:
    """Return the number of similar and of dissimilar pairs: 20 times the squared number of classes."""
    if n_constraints is None:
        return 20 * len(np.unique(labels)) ** 2
    check_whole("n_constraints", n_constraints, 1)
    return int(n_constraints)


def drawn_pairs(labels: Indices, n_constraints: Any, random_state: Any) -> tuple[Indices, Indices]:
    """Return random similar pairs and as many dissimilar ones, fewer if there are too few of a kind."""
    wanted = n_per_kind(n_constraints, labels)
    rng = check_random_state(random_state)
    pairs = rng.permutation(sampled_pairs(labels, 2 * wanted, rng))
    similar = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    if similar.all() or not similar.any():
        raise ValueError("The labels make only one kind of pairs, similar or dissimilar; check `y`.")
    # If one kind has too few pairs, more of the other kind were drawn.
    n = min(int(similar.sum()), int((~similar).sum()), wanted)
    return pairs[similar][:n], pairs[~similar][:n]


def drawn_chunks(labels: Indices, n_chunks: int, chunk_size: int, random_state: Any) -> Indices:
    """Return the number of the chunk of each sample, or −1; a chunk is a few random samples of a class."""
    check_whole("n_chunks", n_chunks, 1)
    check_whole("chunk_size", chunk_size, 2)
    rng = check_random_state(random_state)
    groups: list[Indices] = []
    for label in np.unique(labels[labels >= 0]):
        members = rng.permutation(np.flatnonzero(labels == label))
        groups += [members[k : k + chunk_size] for k in range(0, len(members) - chunk_size + 1, chunk_size)]
    if len(groups) < n_chunks:
        raise ValueError(
            f"`n_chunks` must be at most {len(groups)} for chunks of {chunk_size} samples of a class, got "
            f"{n_chunks}."
        )
    chunks = np.full(len(labels), -1)
    for number, place in enumerate(rng.permutation(len(groups))[:n_chunks]):
        chunks[groups[place]] = number
    return chunks


def neighbour_triplets(X: Array, labels: Indices, k_genuine: int, k_impostor: int) -> Indices:
    """Return all triplets of a sample, a nearest neighbour in its class, and one in another class."""
    check_whole("k_genuine", k_genuine, 1)
    check_whole("k_impostor", k_impostor, 1)
    triplets = []
    for label in np.unique(labels):
        inside, outside = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
        if len(inside) < 2:
            continue  # the only sample of its class has no genuine neighbour
        search = NearestNeighbors(n_neighbors=min(k_genuine, len(inside) - 1)).fit(X[inside])
        genuine = inside[search.kneighbors(return_distance=False)]
        search = NearestNeighbors(n_neighbors=min(k_impostor, len(outside))).fit(X[outside])
        impostors = outside[search.kneighbors(X[inside], return_distance=False)]
        shape = (len(inside), genuine.shape[1], impostors.shape[1])
        columns = (inside[:, None, None], genuine[:, :, None], impostors[:, None, :])
        triplets.append(np.stack([np.broadcast_to(column, shape).ravel() for column in columns], axis=1))
    if not triplets:
        raise ValueError("No class has two samples, so there are no triplets; check `y`.")
    return np.vstack(triplets)
