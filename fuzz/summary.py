"""Count what became of the cases."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from .judge import VERDICTS, Outcome


class Summary:
    """The number of cases per kind and verdict, and the seconds spent on each kind.

    Parameters
    ----------
    kinds : iterable of str
        The kinds of entry points, in the order of the table.
    """

    def __init__(self, kinds: Iterable[str]) -> None:
        self.kinds = tuple(kinds)
        self.seconds = dict.fromkeys(self.kinds, 0.0)
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, kind: str, outcome: Outcome, seconds: float) -> None:
        """Count a case."""
        self._counts[kind][outcome.verdict] += 1
        self.seconds[kind] += seconds

    @property
    def findings(self) -> int:
        """The number of findings."""
        return sum(counts["finding"] for counts in self._counts.values())

    @property
    def cases(self) -> int:
        """The number of cases."""
        return sum(counts.total() for counts in self._counts.values())

    @property
    def next_kind(self) -> str:
        """The kind that has had the least time."""
        return min(self.kinds, key=self.seconds.__getitem__)

    def __str__(self) -> str:
        header = ("kind", "cases", *(f"{verdict}s" for verdict in VERDICTS), "seconds")
        header = tuple({"statuss": "statuses"}.get(name, name) for name in header)
        rows = [self._row(kind, self._counts[kind], self.seconds[kind]) for kind in self.kinds]
        total = sum(self._counts.values(), Counter[str]())
        rows.append(self._row("all", total, sum(self.seconds.values())))
        return "\n".join("".join(f"{cell:>13}" for cell in row) for row in (header, *rows))

    def _row(self, kind: str, counts: Counter[str], seconds: float) -> tuple[str, ...]:
        numbers = (counts.total(), *(counts[verdict] for verdict in VERDICTS))
        return (kind, *(f"{number:,}" for number in numbers), f"{seconds:,.0f}")
