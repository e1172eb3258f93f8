"""Draw the pictures of docs/scaling.md: the cost of a pass, and simulated fits on many workers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from .prediction import N_FEATURES, SAMPLES, saved_cluster
from .rows import rows_of
from .simulation import simulate_fit

_WORKERS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000)
_COLOURS = ("#1B6CA8", "#C8553D", "#3A7D44")
_FEATURES = (20, 70, 200)


def draw_passes(parts: Mapping[str, Any], path: Path) -> None:
    """Draw seconds per pass against samples, and cost per pair against features."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    rows = rows_of(parts["passes"])
    for name, colour in zip(("evaluation", "Hessian product"), _COLOURS, strict=False):
        points = [(_samples(row.size), row.value) for row in rows if row.name == name]
        left.loglog(*zip(*points, strict=True), "o-", color=colour, label=name)
    sizes = sorted({_samples(row.size) for row in rows})
    left.set_xticks(sizes, [f"{n:,}" for n in sizes], minor=False)
    left.set_xticks([], minor=True)
    left.set(xlabel=f"samples, {N_FEATURES} features", ylabel="processor seconds per pass")
    left.set_title("A pass over all pairs")
    left.legend(frameon=False)
    costs = saved_cluster(parts["cluster"])[0].costs
    names = {"evaluation": "evaluation", "product": "Hessian product", "count": "pass for the bounds"}
    for (kind, label), colour in zip(names.items(), _COLOURS, strict=True):
        nanoseconds = [1e9 * costs[kind].per_pair(n) for n in _FEATURES]
        right.plot(_FEATURES, nanoseconds, "-", color=colour, label=label)
    right.set(xlabel="features", ylabel="nanoseconds per pair", ylim=(0.0, None))
    right.set_title("Cost of a pair, one core (fitted lines)")
    right.legend(frameon=False)
    _save(figure, path)


def draw_workers(parts: Mapping[str, Any], path: Path) -> None:
    """Draw simulated seconds per fit, and the share of time for which workers compute, against workers."""
    cluster, passes = saved_cluster(parts["cluster"])
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for n, colour in zip((100_000, *SAMPLES), _COLOURS, strict=True):
        fits = [simulate_fit(n, N_FEATURES, w, cluster, passes) for w in _WORKERS]
        left.loglog(_WORKERS, [fit.seconds for fit in fits], "o-", color=colour, label=f"{n:,} samples")
        left.loglog(_WORKERS, [fits[0].work / w for w in _WORKERS], ":", color=colour)
        busy = [100.0 * fit.busy(w) for fit, w in zip(fits, _WORKERS, strict=True)]
        right.semilogx(_WORKERS, busy, "o-", color=colour)
    left.set(xlabel="workers", ylabel="seconds per fit")
    left.set_title("Simulated fit to all pairs (dotted: work ÷ workers)", fontsize=10)
    left.legend(frameon=False)
    right.axhline(50.0, color="#999999", linewidth=0.8)
    right.set(xlabel="workers", ylabel="% of the time", ylim=(0.0, 102.0))
    right.set_title("Workers compute; the rest is waiting", fontsize=10)
    _save(figure, path)


def _samples(size: str) -> int:
    return int(size.split(" ×")[0].replace(",", ""))


def _save(figure: Figure, path: Path) -> None:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None}, dpi=110)
