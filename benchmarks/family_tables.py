"""Summarize the runs on published families as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

OURS, PEERS = "geodual", ("published", "tuned")
COST_MARGIN = 1e-6  # largest relative difference of costs that count as equal


@dataclass(frozen=True)
class FamilyRun:
    """One solve of a published problem.

    Attributes
    ----------
    family, instance, start, solver : str
        The problem, its start and the solver.
    solved : bool
        Whether the KKT residual, measured independently, is within the tolerance.
    seconds : float
        Processor time of the solve.
    cost : float
        f(x).
    corrected_cost : float
        The Lagrangian at the end: the cost without, to first order, the savings from the remaining violation.
    residual, violation : float
        The KKT residual and its feasibility part.
    status : str
        The status in the solver's own words.
    """

    family: str
    instance: str
    start: str
    solver: str
    solved: bool
    seconds: float
    cost: float
    corrected_cost: float
    residual: float
    violation: float
    status: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Family, instance, start and solver."""
        return self.family, self.instance, self.start, self.solver

    @classmethod
    def from_text(cls, line: Mapping[str, str]) -> Self:
        """Read a row of the CSV file."""
        words = ("family", "instance", "start", "solver", "status")
        numbers = ("seconds", "cost", "corrected_cost", "residual", "violation")
        read: dict[str, Any] = {name: line[name] for name in words}
        return cls(**read, **{name: float(line[name]) for name in numbers}, solved=line["solved"] == "True")

    def __str__(self) -> str:
        return (
            f"{self.family}, {self.instance}, {self.start}: {self.solver} {_outcome(self)}, "
            f"cost {self.cost:.8g}, residual {self.residual:.1e} ({self.status})"
        )


def family_report(rows: Sequence[FamilyRun]) -> str:
    """Return the summary per family and the table of all solves, as Markdown."""
    families = list(dict.fromkeys(row.family for row in rows))
    parts = [summary_table(rows)]
    parts += [f"**{name}**\n\n{detail_table([r for r in rows if r.family == name])}" for name in families]
    return "\n\n".join(parts)


def summary_table(rows: Sequence[FamilyRun]) -> str:
    """Return one line per family and peer, as Markdown.

    "lost" counts runs that the peer solves but ours does not. Costs and times are compared if both solved:
    how often ours is no higher, the two means, and the geometric mean and the largest of our times divided by
    the peer's.
    """
    header = (
        "family", "peer", "solved, ours", "solved, peer", "lost", "cost no higher", "mean cost, ours",
        "mean cost, peer", "time, mean", "time, worst",
    )  # fmt: skip
    lines = []
    for name in dict.fromkeys(row.family for row in rows):
        chosen = [row for row in rows if row.family == name]
        lines += [(name, peer, *_summary(chosen, peer)) for peer in PEERS]
    return _markdown(header, lines)


def detail_table(rows: Sequence[FamilyRun]) -> str:
    """Return one line per instance and start, as Markdown; — (residual) means not solved."""
    solvers = (OURS, *PEERS)
    header = ("instance", "start", *solvers, *(f"cost, {name}" for name in solvers))
    found = {row.key: row for row in rows}
    lines = []
    for family, instance, start in dict.fromkeys(row.key[:3] for row in rows):
        runs = [found.get((family, instance, start, name)) for name in solvers]
        costs = ["" if run is None else f"{run.corrected_cost:.6g}" for run in runs]
        lines.append((instance, start, *("" if run is None else _outcome(run) for run in runs), *costs))
    return _markdown(header, lines)


def _summary(rows: Sequence[FamilyRun], peer: str) -> list[str]:
    ours = [row for row in rows if row.solver == OURS]
    theirs = {row.key[:3]: row for row in rows if row.solver == peer}
    pairs = [(row, theirs[row.key[:3]]) for row in ours if row.key[:3] in theirs]
    both = [(a, b) for a, b in pairs if a.solved and b.solved]
    lost = sum(b.solved and not a.solved for a, b in pairs)
    counts = [_share(row.solved for row in ours), _share(row.solved for row in theirs.values()), str(lost)]
    if not both:
        return [*counts, *["–"] * 5]
    means = np.mean([(a.corrected_cost, b.corrected_cost) for a, b in both], axis=0)
    ratios = np.array([a.seconds / b.seconds for a, b in both])
    return [
        *counts,
        _share(_no_higher(a.corrected_cost, b.corrected_cost) for a, b in both),
        *(f"{mean:.6g}" for mean in means),
        f"{np.exp(np.log(ratios).mean()):.2f}",
        f"{ratios.max():.2f}",
    ]


def _share(flags: Iterable[bool]) -> str:
    found = list(flags)
    return f"{sum(found)}/{len(found)}"


def _no_higher(ours: float, theirs: float) -> bool:
    return ours <= theirs + COST_MARGIN * abs(theirs) + 1e-12  # the last number is for costs of zero


def _outcome(run: FamilyRun) -> str:
    return f"{run.seconds:.3g} s" if run.solved else f"— ({run.residual:.0e}, {run.seconds:.3g} s)"


def _markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---"] * len(header)
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *lines))
