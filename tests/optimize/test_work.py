"""How many evaluations and Hessian products a solve takes must not grow unnoticed.

The numbers of a solve are the same on all machines for these problems: small changes of the start, of the
size of rounding errors, do not change them. If a solve has good reasons to take more, or takes less now,
write the record anew: ``python -m tests.optimize.test_work``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geodual.manifolds import Grassmann, Manifold, Sphere, Stiefel
from geodual.optimize import ConstraintVector, Lagrangian, Problem, limited_memory, minimize
from geodual.optimize.lagrangian import LocalLagrangian
from testing.problems import benchmark_problems, hard_problems
from testing.random_problems import random_problem

METHODS = ("proximal-lagrangian", "interior-point")
# Per method: evaluations of cost and constraints, and products with the Hessian of the Lagrangian.
RECORD = Path(__file__).with_name("recorded_work.txt")
CASES = {case.name: case for case in [*benchmark_problems(), *hard_problems()]}


def recorded() -> Iterator[tuple[str, str, tuple[int, int] | None]]:
    """Yield problem, method and numbers; None where rounding errors change them."""
    for line in RECORD.read_text("utf-8").splitlines():
        name, *cells = map(str.strip, line.split("|"))
        for method, cell in zip(METHODS, cells, strict=True):
            yield name, method, None if "-" in cell else tuple(map(int, cell.split()))


RUNS = [pytest.param(*run, id=", ".join(run[:2])) for run in recorded() if run[2]]


def problem_of(name: str) -> tuple[Problem, Any]:
    if name.startswith("random"):
        drawn = random_problem(int(name.split()[1]))
        return drawn.problem, drawn.start
    name, _, start = name.partition("/")
    start, _, weight = start.partition(" × ")
    case = CASES[name].scaled(float(weight or 1.0))
    return case.problem, case.starts[start]


@contextmanager
def counted_calls() -> Iterator[dict[str, int]]:
    """Count evaluations and Hessian products."""
    places = {"evaluate": ConstraintVector, "hessian_product": LocalLagrangian}
    counts, functions = dict.fromkeys(places, 0), {name: vars(owner)[name] for name, owner in places.items()}

    def counted(name: str) -> Any:
        def call(*arguments: Any) -> Any:
            counts[name] += 1
            return functions[name](*arguments)

        return call

    for name, owner in places.items():
        setattr(owner, name, counted(name))
    try:
        yield counts
    finally:
        for name, owner in places.items():
            setattr(owner, name, functions[name])


def work_of(name: str, method: str) -> tuple[int, int]:
    problem, x0 = problem_of(name)
    with counted_calls() as counts:
        minimize(problem, x0, method)
    return counts["evaluate"], counts["hessian_product"]


def most(recorded: int) -> int:
    return recorded + max(1, recorded // 20)


@pytest.mark.parametrize(("name", "method", "numbers"), RUNS)
def test_a_solve_takes_no_more_work_than_recorded(name: str, method: str, numbers: tuple[int, int]) -> None:
    evaluations, products = work_of(name, method)
    assert evaluations <= most(numbers[0])
    assert products <= most(numbers[1])


@pytest.mark.parametrize(
    ("manifold", "evaluations"), [(Sphere(30), 24), (Stiefel(30, 3), 28), (Grassmann(30, 3), 30)], ids=str
)
def test_a_solve_without_second_derivatives_takes_no_more_evaluations_than_recorded(
    manifold: Manifold, evaluations: int
) -> None:
    A = np.diag(np.geomspace(1.0, 100.0, 30))
    problem = Problem(manifold, lambda x: -np.sum(x * (A @ x)), gradient=lambda x: -2.0 * A @ x)
    x0 = manifold.random_point(np.random.default_rng(1))
    cost = Lagrangian(ConstraintVector(problem, x0), np.zeros(0))
    with counted_calls() as counts:
        limited_memory(cost, cost(x0), tol=1e-6, step_limit=manifold.step_limit)
    assert counts["evaluate"] <= most(evaluations)


def _record() -> None:
    lines: dict[str, list[str]] = {}
    for name, method, numbers in recorded():
        cell = "-" if numbers is None else "{} {}".format(*work_of(name, method))
        lines.setdefault(name, [name]).append(cell)
    RECORD.write_text("".join(" | ".join(cells) + "\n" for cells in lines.values()), "utf-8")


if __name__ == "__main__":
    _record()
