"""Which tests may notice a mutant: those that run its statement, the nearest file first."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import coverage

from .operators import Mutant

_LONG = 2.0  # seconds; such tests run last, wherever they are


class Choice:
    """The tests of each line, from the record that `line_record` made.

    Parameters
    ----------
    data
        The folder with the record.
    root
        The folder of the copy.
    """

    def __init__(self, data: Path, root: Path) -> None:
        self._lines = coverage.CoverageData(str(data / "lines"))
        self._lines.read()
        self._root = root
        tests = json.loads((data / "tests.json").read_text("utf-8"))
        self.seconds = {name: test["seconds"] for name, test in tests.items() if test["passed"]}
        self._sizes = Counter(map(_file, self.seconds))
        self._users = defaultdict(set)
        for name, test in tests.items():
            for fixture in test["fixtures"]:
                self._users[fixture].add(name)
        self._alone = {
            name: self.seconds[name] + self._set_up(tests[name]["fixtures"]) for name in self.seconds
        }

    def _set_up(self, fixtures: list[str]) -> float:
        """Return how long shared fixtures take: what the first of their users took more than usual."""
        users = [sorted(self.seconds.get(name, 0.0) for name in self._users[fixture]) for fixture in fixtures]
        return max((times[-1] - times[len(times) // 2] for times in users), default=0.0)

    def quick_tests(self, mutant: Mutant, limit: float) -> list[str]:
        """Return the tests to try: near ones, then others, quick ones first, as many as the limit allows."""
        tests = self._all_tests(mutant)
        near = self._near_files(mutant, tests)

        def rank(test: str) -> tuple[bool, bool, float, str]:
            return self._alone[test] > _LONG, _file(test) not in near, self._alone[test], test

        return self._within(limit, sorted(tests, key=rank))

    def thorough_tests(self, mutant: Mutant, limit: float) -> list[str]:
        """Return tests to try for a survivor: those of near files, however long, then quick ones."""
        tests = self._all_tests(mutant)
        near = self._near_files(mutant, tests)
        ranked = sorted(tests, key=lambda test: (_file(test) not in near, self._alone[test], test))
        return self._within(limit, ranked)

    def _within(self, limit: float, tests: list[str]) -> list[str]:
        """Return as many of the tests as the limit allows, and at least one."""
        chosen, total = [], 0.0
        for test in tests:
            total += self.seconds[test]
            if not chosen or total <= limit:
                chosen.append(test)
        return chosen

    def _all_tests(self, mutant: Mutant) -> set[str]:
        """Return the tests that run the mutant's statement, or its module if it runs on import."""
        contexts = self._lines.contexts_by_lineno(str(self._root / mutant.path))
        first, last = mutant.lines
        names = {name for line in range(first, last + 1) for name in contexts.get(line, [])}
        if not mutant.function:
            names = {name for found in contexts.values() for name in found}
        return self._expand(names)

    def _expand(self, names: Iterable[str]) -> set[str]:
        """Put the users of a fixture in its place."""
        tests = set[str]()
        for name in names:
            tests |= self._users[name] if name.startswith("fixture ") else {name}
        return tests & set(self.seconds)

    def _near_files(self, mutant: Mutant, tests: set[str]) -> set[str]:
        """Return the test file of the same name and the two files with the largest share of such tests."""
        hits = Counter(map(_file, tests))
        ranked = sorted(hits, key=lambda name: (-hits[name] / self._sizes[name], name))
        return {name for name in hits if Path(name).stem == f"test_{Path(mutant.path).stem}"} | set(
            ranked[:2]
        )


def _file(test: str) -> str:
    return test.partition("::")[0]
