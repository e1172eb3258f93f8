"""The critical-difference diagram: mean ranks on a line, with bars over methods that do not differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

_OURS, _OTHERS = "#D55E00", "#333333"


def groups(ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Return the longest runs of sorted ranks that span at most the critical difference, as (first, last)."""
    runs = []
    for first, rank in enumerate(ranks):
        last = int(np.searchsorted(ranks, rank + difference, side="right")) - 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def draw(panels: Mapping[str, tuple[Mapping[str, float], float]], path: Path, marked: str) -> None:
    """Draw one diagram per panel, one below the other, and save the figure.

    Parameters
    ----------
    panels : dict
        For each title, the mean ranks by method and the critical difference.
    path : Path
        Where to save the figure.
    marked : str
        The method to draw in color.
    """
    figure, axes = plt.subplots(len(panels), 1, figsize=(8.0, 3.4 * len(panels)), squeeze=False)
    for ax, (title, (by_name, difference)) in zip(axes.flat, panels.items(), strict=True):
        _panel(ax, title, by_name, difference, marked)
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _panel(ax: plt.Axes, title: str, by_name: Mapping[str, float], difference: float, marked: str) -> None:
    names = sorted(by_name, key=lambda name: by_name[name])
    ranks = [by_name[name] for name in names]
    low, high = np.floor(min(ranks)), np.ceil(max(ranks))
    ax.hlines(0.0, low, high, color="black")
    for tick in np.arange(low, high + 0.5):
        ax.vlines(tick, 0.0, 0.12, color="black")
        ax.text(tick, 0.2, f"{tick:.0f}", ha="center", va="bottom")
    ax.hlines(1.0, low, low + difference, color="black", linewidth=2)
    ax.text(low + difference / 2, 1.08, f"critical difference {difference:.2f}", ha="center", va="bottom")
    runs = groups(ranks, difference)
    for level, (first, last) in enumerate(runs):
        height = -0.16 - 0.14 * level
        ax.hlines(height, ranks[first] - 0.03, ranks[last] + 0.03, color="0.55", linewidth=4)
    half = (len(names) + 1) // 2
    top = -0.45 - 0.14 * len(runs)
    for place, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = place < half
        height = top - 0.3 * (place if left else len(names) - 1 - place)
        edge = low - 0.25 if left else high + 0.25
        color = _OURS if name == marked else _OTHERS
        ax.plot([rank, rank, edge], [0.0, height, height], color=color, linewidth=1)
        label = f"{name}  {rank:.2f}" if left else f"{rank:.2f}  {name}"
        gap = -0.06 if left else 0.06
        ax.text(edge + gap, height, label, ha="right" if left else "left", va="center", color=color)
    span = high - low
    ax.set(xlim=(low - 0.42 * span, high + 0.42 * span), ylim=(top - 0.3 * half, 1.6), title=title)
    ax.axis("off")
