"""Try the mutants one by one and write what came of each; runs inside the copy of the project.

pytest collects the tests once. Per mutant the process forks, the child puts the error in and runs the tests
up to the first failure. A mutant outside functions is written to the file, and the child imports all again.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

from .choice import Choice
from .fork import BROKEN, changed, forget, limit_processor_time, live_functions, put_in, run_child, silence
from .operators import Mutant
from .sample import draw, package_of

_ROOT = Path.cwd()
_DATA = Path(os.environ["MUTANTS_DATA"])
_OUTCOMES, _KILLER = _DATA / "outcomes.jsonl", _DATA / "killer"
_OPTIONS = ["-o", "addopts=", "-x", "-p", "no:terminal", "-p", "no:xdist", "-p", "no:cacheprovider"]
_NO_WARNING = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]


class Attempts:
    """A pytest plugin that runs mutants instead of the tests.

    Parameters
    ----------
    mutants
        What to try.
    again
        Whether the mutants have survived the quick tests.
    budget
        Seconds of tests per mutant.
    minutes
        When to stop.
    """

    def __init__(self, mutants: Sequence[Mutant], again: bool, budget: float, minutes: float) -> None:
        self._mutants, self._again, self._budget = mutants, again, budget
        self._end = time.monotonic() + 60.0 * minutes
        self.choice = Choice(_DATA, _ROOT)
        self._sound = dict[str, bool]()
        self._failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        for mutant in self._mutants:
            importlib.import_module(".".join(Path(mutant.path).with_suffix("").parts[1:]))
        self._live = live_functions(_ROOT)
        gc.freeze()  # or collections in the children would copy all memory
        _say(f"{len(self._items)} tests collected")
        for number, mutant in enumerate(self._mutants, 1):
            if time.monotonic() > self._end:
                break
            started = time.monotonic()
            outcome, killer = self._attempt(mutant)
            seconds = round(time.monotonic() - started, 1)
            row = {"outcome": outcome, "killer": killer, "seconds": seconds, **asdict(mutant)}
            with _OUTCOMES.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            _say(f"{number}/{len(self._mutants)} {outcome} {seconds} s {_title(mutant)} {killer}")
        return True

    def _attempt(self, mutant: Mutant) -> tuple[str, str]:
        """Return ``killed``, ``timeout`` or ``survived``, and the test that noticed the mutant."""
        choose = self.choice.thorough_tests if self._again else self.choice.quick_tests
        tests = choose(mutant, self._budget)
        if not tests:
            return "survived", "no test runs this line"
        code, killer = self._run(tests, mutant)
        if code == 0:
            return "survived", ""
        sound = bool(killer) and self._is_sound(killer) if mutant.function else self._pass_anew(tests)
        if code == BROKEN or not sound:
            return "unsound", killer
        return ("timeout" if code < 0 else "killed"), killer

    def _is_sound(self, test: str) -> bool:
        """Whether a test passes without a mutant when it runs alone."""
        if test not in self._sound:
            self._sound[test] = self._run([test], None)[0] == 0
        return self._sound[test]

    def _pass_anew(self, tests: list[str]) -> bool:
        """Whether the tests pass without a mutant after all has been imported again."""
        return run_child(lambda: _run_anew(tests), self._limit(tests)) == 0

    def _limit(self, tests: list[str]) -> float:
        """Return the time after which tests must have ended, on a busy machine too."""
        return 60.0 + 10.0 * sum(self.choice.seconds[test] for test in tests)

    def _run(self, tests: list[str], mutant: Mutant | None) -> tuple[int, str]:
        _KILLER.write_text("", "utf-8")
        limit = self._limit(tests)
        if mutant is None or mutant.function:
            code = run_child(lambda: self._run_here(tests, mutant), limit)
        else:
            path = _ROOT / mutant.path
            with changed(path, mutant.apply(path.read_bytes())):
                code = run_child(lambda: _run_anew(tests), limit)
        return code, _KILLER.read_text("utf-8")

    def _run_here(self, tests: list[str], mutant: Mutant | None) -> None:
        """Run collected tests in this child with the mutant's code."""
        silence()
        if mutant:
            put_in(mutant, _ROOT, self._live)
        for test, following in zip(tests, [*tests[1:], None], strict=True):
            _KILLER.write_text(test, "utf-8")
            limit_processor_time(5.0 + 2.0 * self.choice.seconds[test])
            item = self._items[test]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=self._items.get(following))
            if self._failed:
                os._exit(1)
        _KILLER.write_text("", "utf-8")
        os._exit(0)


def _run_anew(tests: list[str]) -> None:
    """Import our modules again in this child, and run the tests."""
    silence()
    forget(["geodual", "tests", "testing", "benchmarks"])
    limit_processor_time(60.0)
    os._exit(int(pytest.main([*_OPTIONS, *_NO_WARNING, *tests])))


def key(row: dict[str, object]) -> str:
    """Return what distinguishes a mutant from others."""
    return f"{row['path']}:{row['start']}:{row['end']}:{row['new']}"


def outcomes() -> dict[str, str]:
    """Return the last outcome of each mutant tried so far."""
    lines = _OUTCOMES.read_text("utf-8").splitlines() if _OUTCOMES.exists() else []
    return {key(row): row["outcome"] for row in map(json.loads, lines)}


def table(mutants: Sequence[Mutant]) -> str:
    """Return the scores by package."""
    known = outcomes()
    counts = Counter((package_of(mutant.path), known.get(key(asdict(mutant)), "")) for mutant in mutants)
    words = ("killed", "timeout", "survived", "unsound")
    lines = [f"{'package':20}" + "".join(f"{word:>10}" for word in (*words, "score"))]
    for package in [*sorted({package for package, _ in counts}), "all"]:
        some = [
            sum(n for (name, found), n in counts.items() if found == word and package in (name, "all"))
            for word in words
        ]
        score = (some[0] + some[1]) / max(sum(some), 1)
        lines.append(f"{package:20}" + "".join(f"{count:10}" for count in some) + f"{100 * score:9.1f} %")
    return "\n".join(lines)


def main() -> None:
    """Try the mutants of the sample that have no outcome yet, and print the scores."""
    parser = argparse.ArgumentParser(prog="python -m mutants.attempt", description=__doc__)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--budget", type=float, required=True)
    parser.add_argument("--survivors", action="store_true")
    arguments = parser.parse_args()
    mutants, known = draw(_ROOT, arguments.size, arguments.seed), outcomes()
    wanted = ("survived", "unsound") if arguments.survivors else (None,)
    waiting = [mutant for mutant in mutants if known.get(key(asdict(mutant))) in wanted]
    warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)  # from jax; no thread of it runs yet
    attempts = Attempts(waiting, arguments.survivors, arguments.budget, arguments.minutes)
    files = sorted({test.partition("::")[0] for test in attempts.choice.seconds})
    pytest.main([*_OPTIONS, *files], plugins=[attempts])
    _say(table(mutants))


def _title(mutant: Mutant) -> str:
    old, new = (" ".join(text.split())[:60] for text in (mutant.old, mutant.new))
    return f"{mutant.path}:{mutant.line} {mutant.kind}: {old!r} -> {new!r}"


def _say(text: str) -> None:
    sys.__stdout__.write(text + "\n")
    sys.__stdout__.flush()


if __name__ == "__main__":
    main()
