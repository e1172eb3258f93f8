"""Plots of a learned metric: nearest neighbors before and after, and feature importances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from geodual.arrays import Array, Indices
from geodual.extras import new_axes

_COLORS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9"),
    *("#8C613C", "#7F3C8D", "#999933", "#000000", "#882255"),
)
_MARKERS = "o^sDvPX*p"  # one fewer than colors, so that no two of 90 classes look the same
_WRONG = "#D55E00"
_MOST_CLASSES = 20  # named in a legend
_MANY_SAMPLES = 300  # with more, markers are smaller


def draw_neighbors(axes: Any, spaces: Sequence[Array], y: Any, n_neighbors: int) -> Any:
    """Draw the samples of several spaces in two principal axes each, with lines to nearest neighbors.

    Parameters
    ----------
    axes : sequence of matplotlib Axes, or None
        One per space; None means a new figure.
    spaces : sequence of array of shape (n_samples, n_dimensions)
        The samples before and after the transformation.
    y : array of shape (n_samples,)
        Their classes.
    n_neighbors : int
        Number of neighbors of each sample.

    Returns
    -------
    array of matplotlib Axes
        The panels.
    """
    axes = new_axes(11.0, 4.8, len(spaces)) if axes is None else axes
    classes, labels = np.unique(y, return_inverse=True)
    for ax, Z, title in zip(axes, spaces, ("Before", "After"), strict=True):
        near = nearest(Z, n_neighbors)
        wrong = labels[near] != labels[:, None]
        plane = principal_plane(Z)
        _draw_lines(ax, plane, near, wrong)
        _draw_samples(ax, plane, classes, labels)
        ax.set_title(f"{title}: {wrong.mean():.1%} of the nearest neighbors are wrong", fontsize="medium")
    axes[-1].legend(fontsize="small", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return axes


def _draw_lines(ax: Any, plane: Array, near: Indices, wrong: NDArray[np.bool_]) -> None:
    from matplotlib.collections import LineCollection

    pairs = np.stack(np.broadcast_arrays(np.arange(len(near))[:, None], near), axis=-1)
    # Lines to wrong neighbors are also thicker and dashed, so that they stand out without colors.
    kinds = (
        (~wrong, {"colors": "0.6", "linewidths": 0.6, "label": "same class"}),
        (wrong, {"colors": _WRONG, "linewidths": 1.6, "linestyles": "--", "label": "other class"}),
    )
    for kind, style in kinds:
        ax.add_collection(LineCollection(list(plane[pairs[kind]]), zorder=1, **style))


def _draw_samples(ax: Any, plane: Array, classes: Any, labels: Indices) -> None:
    for k, name in enumerate(classes):
        ax.scatter(
            *plane[labels == k].T,
            s=18 if len(plane) <= _MANY_SAMPLES else 10,
            marker=_MARKERS[k % len(_MARKERS)],
            color=_COLORS[k % len(_COLORS)],
            edgecolors="white",
            linewidths=0.2,
            label=str(name) if len(classes) <= _MOST_CLASSES else None,
            zorder=2,
        )
    ax.set(xlabel="first principal axis", ylabel="second principal axis")


def nearest(Z: Array, n_neighbors: int) -> Indices:
    """Return the row numbers of the nearest neighbors of each sample, in all dimensions."""
    distance = cdist(Z, Z)
    np.fill_diagonal(distance, np.inf)
    return np.argsort(distance, axis=1, kind="stable")[:, :n_neighbors]


def principal_plane(Z: Array) -> Array:
    """Project samples on their two principal axes; the second is zero if there is only one dimension."""
    centered = Z - Z.mean(axis=0)
    U, spread, axes = np.linalg.svd(centered, full_matrices=False)
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])  # the same on every machine
    plane = np.zeros((len(Z), 2))
    kept = min(2, len(spread))
    plane[:, :kept] = (U * spread * signs)[:, :kept]
    return plane


def draw_importances(
    ax: Any,
    importances: Array,
    names: Sequence[str],
    n_features: int,
    whole: str = "variance after the transformation",
) -> Any:
    """Draw the largest importances as bars, with a line at the share of equally important features.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Where to draw; None means a new figure.
    importances : array of shape (n_features,)
        Shares that sum to one.
    names : sequence of str
        Names of the features.
    n_features : int
        Number of bars.
    whole : str
        The total of which they are shares.

    Returns
    -------
    matplotlib Axes
        The axes of the plot.
    """
    shown = np.argsort(-importances, kind="stable")[:n_features]
    ax = new_axes(6.4, 1.2 + 0.25 * len(shown)) if ax is None else ax
    places = np.arange(len(shown))
    ax.barh(places, importances[shown], color=_COLORS[0])
    ax.set_yticks(places, [names[k] for k in shown])
    ax.invert_yaxis()
    ax.axvline(1.0 / len(importances), color="0.4", linestyle="--", linewidth=1, label="all features equal")
    rest = len(importances) - len(shown)
    others = f"; {rest} other features have {1.0 - importances[shown].sum():.0%}" if rest else ""
    ax.set_xlabel(f"share of the {whole}{others}")
    ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize="small")
    ax.xaxis.set_major_formatter("{x:.1%}")
    ax.locator_params(axis="x", nbins=6)
    ax.grid(axis="x", alpha=0.3)
    return ax
