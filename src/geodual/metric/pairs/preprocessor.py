"""The preprocessor of pair learners: from indices of samples to the samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array

from .selection import check_row_numbers


def look_up(preprocessor: Any, indices: Any) -> Array:
    """Return the samples with these indices.

    Parameters
    ----------
    preprocessor : array of shape (n_samples, n_features) or callable
        The samples, or a function from an array of indices to an array with one sample per row.
    indices : array of any shape
        Row numbers, or whatever the function takes.

    Returns
    -------
    array of the shape of `indices`, with one more axis of length n_features
        The samples.
    """
    indices = np.asarray(indices)
    if preprocessor is None:
        raise ValueError("Indices of samples need `preprocessor`; give it the samples or a function.")
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
        raise ValueError(f"`preprocessor` must give numbers: {error}.") from None
    if array.ndim != 2:
        raise ValueError(f"`preprocessor` must give samples as rows of a table, got shape {array.shape}.")
    return array
