"""`make bench-check` finds what became slower; the measuring itself is not part of the tests."""

import itertools
import tomllib

from benchmarks.speed_check import (
    RECORDED,
    Pair,
    measure_ratios,
    slower_than_recorded,
    speed_pairs,
    write_ratios,
)
from benchmarks.timing import best_seconds


def test_only_what_became_slower_is_told() -> None:
    recorded = {"a": 1.0, "b": 1.0, "c": 1.0, "gone": 1.0}
    measured = {"a": 1.49, "b": 1.51, "c": float("nan"), "new": 0.1}
    assert [line.split(":")[0] for line in slower_than_recorded(measured, recorded, 1.5)] == [
        "gone",
        "b",
        "c",
        "new",
    ]
    assert slower_than_recorded(recorded, recorded) == []


def test_ratios_are_those_of_the_shortest_turns() -> None:
    """A clock that every call moves on by what it costs."""
    now = 0.0
    costs = {"ours": itertools.cycle([3.0, 5.0]), "peer": itertools.cycle([2.0, 9.0])}

    def call(name: str) -> None:
        nonlocal now
        now += next(costs[name])

    pair = Pair(lambda: call("ours"), lambda: call("peer"))
    assert best_seconds(pair, rounds=4, clock=lambda: now) == [3.0, 2.0]


def test_ratios_are_written_and_read() -> None:
    ratios = measure_ratios({"a, b": Pair(dict, dict)}, rounds=1, report=lambda line: None)
    assert list(tomllib.loads(write_ratios(ratios))) == ["a, b"]


def test_every_ratio_is_recorded() -> None:
    recorded = tomllib.loads(RECORDED.read_text("utf-8"))
    assert list(recorded) == list(speed_pairs())
    assert all(ratio > 0.0 for ratio in recorded.values())
