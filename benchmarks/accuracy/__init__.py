"""The accuracy study: nearest neighbours under 12 metrics on real data sets, with ranks, tests and times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .data_sets import DEVELOPMENT, HELD_OUT
from .diagram import draw
from .methods import METRICS, OURS
from .runs import measure
from .summary import Half, accuracies, critical_difference, summary

HALVES = {"development": DEVELOPMENT, "held-out": HELD_OUT}
CACHE = Path("output/accuracy")


def accuracy_table(
    halves: tuple[str, ...] = tuple(HALVES),
    n_seeds: int = 3,
    cache: Path = CACHE,
    figure: Path | None = None,
    report: Callable[[str], object] = print,
) -> str:
    """Run the study and return its tables.

    Parameters
    ----------
    halves : tuple of str
        "development", on which defaults were chosen, and "held-out", which was looked at once afterwards.
    n_seeds : int
        Number of times that five folds are drawn.
    cache : Path
        Folder of results; an interrupted run goes on from there.
    figure : Path, optional
        Where to save the critical-difference diagram; by default in the folder of results.
    report : callable
        Receives lines of progress.
    """
    measured = [
        Half(f"The {name} half", *measure(HALVES[name], range(n_seeds), cache, report)) for name in halves
    ]
    panels = {
        half.title: (
            dict(zip(METRICS, half.ranks.mean(axis=0).tolist(), strict=True)),
            critical_difference(len(METRICS), len(half.sets)),
        )
        for half in measured
    }
    draw(panels, cache / "ranks.png" if figure is None else figure, OURS)
    head = f"k-NN with k = 5, features standardised, five stratified folds, {n_seeds} seeds"
    return "\n\n".join(
        [head, *(summary(half) for half in measured), *(accuracies(half) for half in measured)]
    )
