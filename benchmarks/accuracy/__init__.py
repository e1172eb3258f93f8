"""The accuracy studies: metrics for nearest neighbors, classifiers and regressors, on real data sets.

``python -m benchmarks accuracy`` shows ranks, tests and times of each study, on the sets used to choose
settings and on those that were evaluated once. ``--parts`` selects studies. An interrupted run resumes from
its folder of results; ``--fresh RPDML`` measures our own methods again after a change of their code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from .data_sets import HALVES
from .diagram import draw
from .methods import STUDIES
from .runs import forget, measure
from .summary import Results, critical_difference, scores, summary

CACHE = Path("output/accuracy")


def accuracy_table(
    parts: Sequence[str] = (),
    halves: Sequence[str] = tuple(HALVES),
    n_seeds: int = 1,
    cache: Path = CACHE,
    fresh: Sequence[str] = (),
    peers_only: bool = False,
    report: Callable[[str], object] = print,
) -> str:
    """Run the studies and return their tables; save a diagram of the ranks of each in the folder of results.

    Parameters
    ----------
    parts : sequence of str
        "metrics", "machines" and "regression"; all by default.
    halves : sequence of str
        "development", on which defaults were chosen, and "held-out", which was evaluated once afterward.
    n_seeds : int
        Number of draws of five folds; with many samples, two of the five are tested.
    cache : Path
        Folder of results; an interrupted run resumes from there.
    fresh : sequence of str
        Methods whose name contains one of these are measured again.
    peers_only : bool
        Whether to omit our own methods.
    report : callable
        Receives lines of progress.
    """
    unknown = set(parts) - set(STUDIES)
    if unknown:
        raise ValueError(f"unknown part {', '.join(sorted(unknown))}; choose from {', '.join(STUDIES)}")
    for name in fresh:
        report(f"  {forget(cache, name)} results of {name} are measured again")
    tables = []
    for part in parts or STUDIES:
        study = STUDIES[part].without_ours() if peers_only else STUDIES[part]
        measured = []
        for half in halves:
            sets, title = study.sets(half), f"{study.title}, the {half} sets"
            if sets:
                values = measure(sets, study.methods, range(n_seeds), cache, report)
                measured.append(Results(title, study, *values))
            else:
                tables.append(f"{title}: there are none.")
        if measured:
            _draw(measured, cache / f"{part}_ranks.png")
        tables += [table(results) for table in (summary, scores) for results in measured]
    return "\n\n".join(tables)


def _draw(measured: Sequence[Results], path: Path) -> None:
    study = measured[0].study
    panels = {
        results.title: (
            dict(zip(study.ranked, results.ranks.mean(axis=0).tolist(), strict=True)),
            critical_difference(len(study.ranked), len(results.sets)),
        )
        for results in measured
    }
    draw(panels, path, study.ours)
