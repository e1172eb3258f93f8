"""New figures to draw in, where the user gave none."""

from __future__ import annotations

from typing import Any

from .extras import import_extra


def new_axes(width: float, height: float, columns: int = 1) -> Any:
    """Return the axes of a new matplotlib figure: one, or an array of several side by side.

    Parameters
    ----------
    width, height : float
        Size of the figure in inches.
    columns : int
        Number of axes.
    """
    pyplot = import_extra("matplotlib.pyplot", "funds", "Plots need matplotlib")
    return pyplot.subplots(1, columns, figsize=(width, height), layout="constrained")[1]
