"""The choice of a threshold on the distance, up to which a pair is predicted as similar."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array

from ..parameter_checks import check_not_negative, check_share

STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")


def check_calibration(strategy: Any = "accuracy", min_rate: Any = None, beta: Any = 1.0) -> None:
    """Raise unless these are valid parameters of `best_threshold`."""
    if strategy not in STRATEGIES:
        raise ValueError(f"`strategy` must be one of {', '.join(map(repr, STRATEGIES))}, got {strategy!r}.")
    if strategy.startswith("max_") and min_rate is None:
        raise ValueError(f"`min_rate` must lie in [0, 1] for {strategy!r}, got None.")
    if min_rate is not None:
        check_share("min_rate", min_rate)
    check_not_negative("beta", beta)


def best_threshold(
    distance: Array,
    similar: NDArray[np.bool_],
    strategy: str = "accuracy",
    min_rate: float | None = None,
    beta: float = 1.0,
    weight: Array | None = None,
) -> float:
    """Return the best threshold on the distances of given pairs.

    Parameters
    ----------
    distance : array of shape (n_pairs,)
        Distances of the pairs.
    similar : array of bool of shape (n_pairs,)
        Which pairs are similar. Pairs up to the threshold are predicted as similar.
    strategy : "accuracy", "f_beta", "max_tpr" or "max_tnr"
        What to maximise: the accuracy; the F-score; the true positive rate if the true negative rate must be
        at least `min_rate`; or the true negative rate if the true positive rate must be.
    min_rate : float, optional
        Required for "max_tpr" and "max_tnr".
    beta : float
        Weight of the recall in "f_beta"; 0 leaves the precision alone.
    weight : array of shape (n_pairs,), optional
        How often each pair counts; once by default.

    Returns
    -------
    float
        Half-way between two neighbouring distances.
    """
    check_calibration(strategy, min_rate, beta)
    least = 0.0 if min_rate is None else float(min_rate)
    order = np.argsort(distance, kind="stable")
    sorted_distance = distance[order]
    # Entry k of each array: if the k nearest pairs are called similar. No cut is between equal distances.
    counts = (np.ones(len(order)) if weight is None else weight)[order]
    hits = np.concatenate([[0.0], np.cumsum(counts * similar[order])])
    calls = np.concatenate([[0.0], np.cumsum(counts)])
    cuts = np.concatenate([[True], np.diff(sorted_distance) > 0.0, [True]])
    n_similar, n_dissimilar = hits[-1], calls[-1] - hits[-1]
    tpr = hits / (n_similar or 1.0)  # without similar pairs the rate is 0, not undefined
    tnr = 1.0 - (calls - hits) / (n_dissimilar or 1.0)
    if strategy == "accuracy":
        score = hits + n_dissimilar - (calls - hits)
    elif strategy == "f_beta":
        # If no pair is called similar, precision and recall are zero.
        score = (1.0 + beta**2) * hits / np.where(calls > 0.0, beta**2 * n_similar + calls, 1.0)
    elif strategy == "max_tpr":
        score = np.where(tnr >= least, tpr, -1.0)
    else:
        score = np.where(tpr >= least, tnr, -1.0)
    score = np.where(cuts, score, -np.inf)
    # Of equally good cuts, the one with the better other rate: more pairs are called similar, or fewer.
    prefer_more = strategy in ("f_beta", "max_tnr")
    k = len(score) - 1 - int(np.argmax(score[::-1])) if prefer_more else int(np.argmax(score))
    # The ends of the range have only one neighbouring distance: 1 stands in for the gap to the other.
    below = sorted_distance[k - 1] if k else sorted_distance[0] - 1.0
    above = sorted_distance[k] if k < len(order) else sorted_distance[-1] + 1.0
    return float(0.5 * (below + above)) if k else float(below)
