"""The plot of cross-validated scores against C, or against what was tried with one C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.extras import new_axes

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")


def plot_scores(
    ax: Any, Cs: Array, scores: Array, kinds: Sequence[str], best: tuple[int, int], what: str
) -> Any:
    """Plot mean scores over the folds with standard errors, and mark the best.

    With several values of C they are plotted against C, with a line per kind; with one C, against the kind.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    Cs : array of shape (n_Cs,)
        Values of C.
    scores : array of shape (n_kinds, n_Cs, n_folds)
        The scores.
    kinds : sequence of str
        Names of the kinds.
    best : (int, int)
        Place of the best kind and of the best C.
    what : str
        What is scored, for the axis.

    Returns
    -------
    matplotlib Axes
        The axes with the plot.
    """
    ax = new_axes(6.4, 4.0) if ax is None else ax
    means, n_folds = scores.mean(axis=2), scores.shape[2]
    errors = scores.std(axis=2, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.zeros_like(means)
    style: dict[str, Any] = {"fmt": "o-", "capsize": 3}
    if len(Cs) == 1 and len(kinds) > 1:
        ax.errorbar(range(len(kinds)), means[:, 0], errors[:, 0], color=_COLOURS[0], **style)
        ax.axvline(best[0], color="0.5", linestyle="--", linewidth=1)
        ax.set_xticks(range(len(kinds)), [kind.replace(", ", "\n") for kind in kinds])
    else:
        for position, kind in enumerate(kinds):
            colour = _COLOURS[position % len(_COLOURS)]
            ax.errorbar(Cs, means[position], errors[position], label=kind, color=colour, **style)
        ax.axvline(Cs[best[1]], color="0.5", linestyle="--", linewidth=1)
        ax.set(xscale="log", xlabel="C")
        ax.legend(frameon=False, title="pairs")
    ax.set_ylabel(what)
    ax.grid(alpha=0.3)
    return ax
