"""Choose pairs without distances: random pairs, or given pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.random import sample_without_replacement

from geodual.arrays import Array, Indices

from ..base.checks import UNKNOWN, check_pair_weight, check_row_numbers


def sampled_pairs(labels: Indices, n_pairs: int, rng: np.random.RandomState) -> Indices:
    """Return random pairs without repetition, half of them similar if there are enough of each kind."""
    if n_pairs < 1:
        raise ValueError(f"`pairs` must be positive if it is a number, got {n_pairs}.")
    n = len(labels)
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], labels[order], side="right")
    after = np.arange(1, n + 1)
    # In this order, sample k forms similar pairs with the samples k + 1 … end of its class, and dissimilar
    # pairs with those after it. So pairs of a kind can be numbered, and drawn without a list.
    kinds = ((after, ends - after), (ends, n - ends))
    n_similar_all, n_dissimilar_all = (int(counts.sum()) for _, counts in kinds)
    wanted = min(n_pairs, n_similar_all + n_dissimilar_all)
    n_similar = min(max((wanted + 1) // 2, wanted - n_dissimilar_all), n_similar_all)
    pairs = []
    for (first, counts), drawn in zip(kinds, (n_similar, wanted - n_similar), strict=True):
        numbers = sample_without_replacement(int(counts.sum()), drawn, random_state=rng)
        # From the number of a pair to its first sample k, and from the remainder to its second sample.
        reached = np.cumsum(counts)
        k = np.searchsorted(reached, numbers, side="right")
        pairs.append(np.column_stack([k, first[k] + numbers - (reached - counts)[k]]))
    return np.asarray(order[np.vstack(pairs)])


def given_pairs(
    pairs: Any, labels: Indices, sample_weight: Array | None, pair_weight: Any
) -> tuple[Indices, Array]:
    """Return given pairs of positive weight, as rows among samples of positive weight, and weights."""
    indices = check_index_pairs(pairs, len(labels))
    unknown = np.flatnonzero((labels[indices] == UNKNOWN).any(axis=1))
    if unknown.size:
        raise ValueError(
            f"Pair {unknown[0]} of `pairs` has a sample with the label −1, which means unknown; remove it."
        )
    weight = check_pair_weight(pair_weight, len(indices), "pair_weight")
    if sample_weight is not None:
        weight = weight * sample_weight[indices].prod(axis=1)
        # Samples of weight zero are dropped later; these are the resulting row numbers of the others.
        indices = (np.cumsum(sample_weight > 0.0) - 1)[indices]
    if not weight.any():
        raise ValueError(
            "All `pairs` have weight zero; give both samples of some pair a positive `sample_weight`."
        )
    return indices[weight > 0.0], weight[weight > 0.0]


def check_index_pairs(pairs: Any, n_samples: int) -> Indices:
    """Return given pairs of row numbers as an array; raise an error if they are invalid."""
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2 or not len(array) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"`pairs` must be an integer array of shape (n_pairs, 2), got shape {array.shape} and dtype "
            f"{array.dtype}."
        )
    array = check_row_numbers("`pairs`", array, n_samples)
    if (array[:, 0] == array[:, 1]).any():
        row = int(np.flatnonzero(array[:, 0] == array[:, 1])[0])
        raise ValueError(f"Pair {row} of `pairs` joins sample {array[row, 0]} with itself; remove it.")
    return array
