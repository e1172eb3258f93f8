"""The default method is readable: stages in order, and few constants, each with its origin."""

import inspect
import re
from pathlib import Path

import geodual.optimize
from geodual.optimize.proximal_lagrangian import method, safeguards

FOLDER = Path(geodual.optimize.__file__).parent
OWN = [
    *sorted((FOLDER / "proximal_lagrangian").glob("*.py")),
    FOLDER / "active_set.py",
    FOLDER / "feasibility.py",
]


def test_every_safeguard_is_a_stage_with_its_reason_in_the_order_of_the_list() -> None:
    listed = re.findall(r"^- ([a-z ]+):", safeguards.__doc__, re.M)
    stages = [stage.__name__ for stage in method.STAGES if inspect.getmodule(stage) is safeguards]
    assert listed == [*stages, "second method"]
    assert all(stage.__doc__ for stage in method.STAGES)


def test_constants_are_at_most_thirty_and_each_says_where_it_comes_from() -> None:
    lines = [line for path in OWN for line in path.read_text("utf-8").splitlines()]
    constants = [line for line in lines if re.match(r"_?[A-Z][A-Z_]+ = [^\"\[{(]*[0-9(]", line)]
    schedules = [line for line in constants if "Schedule(" in line]  # the comments are above them
    assert len(schedules) == 2
    assert 10 < len(constants) <= 30
    assert [line for line in constants if "  # " not in line and line not in schedules] == []
