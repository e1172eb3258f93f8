"""A short run of the fuzzer: some cases of every kind of entry point, none of which may be a finding."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.__main__ import KINDS as NAMES
from fuzz.judge import run_case
from fuzz.kinds import KINDS

# Studies and commands take seconds each: only `make fuzz` runs them.
EXAMPLES = {
    "geometry": 30,
    "solver": 10,
    "metrics": 30,
    "pairs": 30,
    "compat": 30,
    "dask": 5,
    "saving": 30,
    "tables": 40,
}


def test_the_command_knows_every_kind() -> None:
    assert tuple(KINDS) == NAMES
    assert set(EXAMPLES) | {"studies", "commands"} == set(KINDS)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_no_case_is_a_finding(kind: str) -> None:
    @settings(max_examples=EXAMPLES[kind])
    @given(number=st.integers(0, 10**6))
    def run(number: int) -> None:
        outcome = run_case(KINDS[kind], kind, number)
        repeat = f"python -m fuzz --kind {kind} --case {number}"
        assert outcome.verdict != "finding", f"{repeat}\n{outcome.words}\n{outcome.name}"

    run()
