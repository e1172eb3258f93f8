"""The plot of cross-validated scores against C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodual.arrays import Array

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")


def plot_scores(ax: Any, Cs: Array, scores: Array, kinds: Sequence[Any], best: float, what: str) -> Any:
    """Plot mean scores over the folds against C, with standard errors, and mark the best C.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    Cs : array of shape (n_Cs,)
        Values of C.
    scores : array of shape (n_kinds, n_Cs, n_folds)
        The scores.
    kinds : sequence
        The kinds of pairs, for the legend.
    best : float
        The C to mark.
    what : str
        What is scored, for the axis.

    Returns
    -------
    matplotlib Axes
        The axes with the plot.
    """
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")[1]
    for position, (kind, values) in enumerate(zip(kinds, scores, strict=True)):
        n_folds = values.shape[1]
        error = values.std(axis=1, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else None
        colour = _COLOURS[position % len(_COLOURS)]
        ax.errorbar(Cs, values.mean(axis=1), error, fmt="o-", capsize=3, label=str(kind), color=colour)
    ax.axvline(best, color="0.5", linestyle="--", linewidth=1)
    ax.set(xscale="log", xlabel="C", ylabel=what)
    ax.legend(frameon=False, title="pairs")
    ax.grid(alpha=0.3)
    return ax
