"""Pairs and other tuples of samples: checks, differences, and samples given by index."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from geodual.arrays import Array

from .checks import check_row_numbers, real_array
from .maps import LARGEST


def pair_differences(pairs: Any, n_features: int) -> Any:
    """Return the differences between the samples of pairs; sparse for two sparse arrays."""
    if isinstance(pairs, tuple) and len(pairs) == 2 and all(map(issparse, pairs)):
        first, second = pairs
        if first.shape != second.shape or first.shape[1] != n_features or not first.shape[0]:
            raise ValueError(
                f"`pairs` must be two sparse arrays of shape (n_pairs, {n_features}), got {first.shape} and "
                f"{second.shape}."
            )
        for samples in pairs:
            _check_entries(real_array(samples.data, "pairs"))
        return csr_array(first - second, dtype=float)
    array = check_pair_array(pairs, n_features)
    return array[:, 0] - array[:, 1]


def check_pair_array(pairs: Any, n_features: int | None = None) -> Array:
    """Return pairs as an array of shape (n_pairs, 2, n_features); raise an error if they are invalid."""
    array = real_array(pairs, "pairs")
    if array.ndim != 3 or array.shape[1] != 2 or not array.size:
        raise ValueError(f"`pairs` must have shape (n_pairs, 2, n_features), got {array.shape}.")
    if n_features is not None and array.shape[2] != n_features:
        raise ValueError(
            f"`pairs` has {array.shape[2]} features, but the metric was learned on {n_features}; give the "
            "features of `fit`."
        )
    _check_entries(array)
    return array


def _check_entries(entries: Array) -> None:
    if not np.isfinite(entries).all():
        raise ValueError("`pairs` must be finite, got NaN or infinite entries; drop these pairs.")
    check_reach(entries, "pairs")


def check_reach(array: Array, name: str) -> None:
    """Raise an error if entries of tuples of samples are so large that squared distances may overflow."""
    largest = float(np.abs(array).max(initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"`{name}` has values up to {largest:.3g}, so samples may be too far apart to square distances; "
            "scale the features."
        )


def look_up(preprocessor: Any, indices: Any) -> Array:
    """Return the samples with these indices.

    Parameters
    ----------
    preprocessor : array of shape (n_samples, n_features) or callable
        The samples, or a function from an array of indices to an array with one sample per row.
    indices : array of any shape
        Row numbers, or arguments of the function.

    Returns
    -------
    array of the shape of `indices`, with one more axis of length n_features
        The samples.
    """
    indices = np.asarray(indices)
    if preprocessor is None:
        raise ValueError("Indices of samples need `preprocessor`; set it to the samples or a function.")
    if callable(preprocessor):
        samples = _as_samples(preprocessor(indices.ravel()))
        if len(samples) != indices.size:
            raise ValueError(
                f"`preprocessor` must return one row per index, but returned {len(samples)} rows for "
                f"{indices.size} indices."
            )
    else:
        rows = _as_samples(preprocessor)
        samples = rows[check_row_numbers("Indices into `preprocessor`", indices, len(rows)).ravel()]
    return samples.reshape(*indices.shape, samples.shape[1])


def _as_samples(values: Any) -> Array:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`preprocessor` must return numbers: {error}.") from None
    if array.ndim != 2:
        raise ValueError(f"`preprocessor` must return samples as rows of a table, got shape {array.shape}.")
    return array
