"""`minimize` and its companions: random problems on all manifolds, with one thing wrong in most of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from geodual.optimize import (
    Constraint,
    Problem,
    Result,
    check_convexity,
    check_gradient,
    minimize,
    minimize_many,
)
from testing.independent_check import check_result
from testing.random_problems import random_problem

from ..case import Case, Rng, UserError, has_nan, pick
from ..hostile import STRANGE_NUMBERS, number, read_only

METHODS = (
    "proximal-lagrangian",
    "proximal-lagrangian",
    "interior-point",
    "primal-dual",
    "primal-dual-linearized",
)
STATUSES = {"converged", "max_iterations", "infeasible", "unbounded", "breakdown", "stopped", "max_time"}
_SECONDS = 10.0  # limit that the solver gets
_LATE = 30.0  # what it may need beyond the limit on a busy machine
_CHECKED_DIM = 30  # dimension up to which finite differences are quick


def draw(rng: Rng) -> Case:
    """Return a solve, or a check of derivatives or convexity."""
    drawn = random_problem(int(rng.integers(10**9)))
    mistake = "none" if rng.random() < 0.3 else pick(rng, *_MISTAKES)
    honest = mistake in _HONEST
    change = _MISTAKES.get(mistake)
    call = pick(rng, *["minimize"] * 8, "minimize_many", "check_gradient", "check_convexity")
    arguments = _arguments(rng)
    start = _form(rng, drawn.start)

    def run() -> Any:
        problem = drawn.problem if change is None else change(rng, drawn.problem)
        return _CALLS[call](problem, start, arguments)

    method = arguments.get("method", "default")
    return Case(
        f"{call}, {method}, mistake: {mistake}, problem {drawn.seed}: {drawn.label}, {_shown(arguments)}",
        run,
        (start,),
        lambda answer: _check(answer, drawn, honest),
        lambda answer: (
            ("certificate" if answer.success else "status") if isinstance(answer, Result) else "answer"
        ),
        (RuntimeError,) if call == "minimize_many" else (),  # if all solves fail
    )


_CALLS: dict[str, Callable[[Any, Any, dict[str, Any]], Any]] = {
    "minimize": lambda problem, start, given: minimize(problem, start, **given),
    "minimize_many": lambda problem, start, given: minimize_many(problem, [start, start], **given).best,
    "check_gradient": lambda problem, start, given: str(check_gradient(problem, start)),
    "check_convexity": lambda problem, start, given: str(check_convexity(problem, start, n_geodesics=5)),
}


def _shown(arguments: dict[str, Any]) -> str:
    return str({name: value for name, value in arguments.items() if not callable(value)})


def _fail(*arguments: Any) -> Any:
    raise UserError("the user's function failed")


def _arguments(rng: Rng) -> dict[str, Any]:
    """Return arguments of `minimize`, mostly few and valid."""
    drawn: dict[str, Callable[[], Any]] = {
        "method": lambda: pick(rng, *METHODS, *METHODS, "none", 3),
        "tol": lambda: number(rng, 1e-8, 1e-6, 1e-10, rate=0.1),
        "max_iter": lambda: number(rng, 0, 1, 20, rate=0.1),
        "callback": lambda: pick(rng, _fail, lambda it: it.iteration > 1, lambda it: None, lambda it: np.nan),
        "inner_callback": lambda: pick(rng, _fail, lambda it: True, lambda it: None, 3),
        "record": lambda: pick(rng, {"a": _fail}, {"a": lambda x: np.nan}, {"cost": abs}, {1: abs}, 3),
        "multipliers": lambda: pick(rng, [1.0], [np.nan], "a", [], [-1.0], [[1.0]]),
        "penalty": lambda: number(rng, 1.0, 1e3, rate=0.2),
        "alpha": lambda: number(rng, 0.0, 0.1, rate=0.2),
        "step": lambda: number(rng, "sqrt", 0.1, rate=0.2),
        "barrier": lambda: number(rng, 0.1, rate=0.2),
    }
    chosen = {
        name: make() for name, make in drawn.items() if rng.random() < (0.5 if name == "method" else 0.03)
    }
    return chosen | {"max_time": _SECONDS}


def _form(rng: Rng, start: Any) -> Any:
    """Return a start in another form, or now and then one that is none."""
    if rng.random() < 0.6 or isinstance(start, (tuple, list)):
        return start
    x = np.asarray(start)
    forms = (x.astype(np.float32), np.asfortranarray(x), read_only(x), x.tolist(), x.astype(object))
    wrong = (x * np.nan, x * 1e150, x * 0.0, x[:-1], x[None], "a", None, 3, x.astype(complex))
    return pick(rng, *(forms if rng.random() < 0.8 else wrong))


# --- mistakes in a problem ---------------------------------------------------------------------------------


def _rebuilt(problem: Problem, **changed: Any) -> Problem:
    """Return a problem with some of its parts replaced."""
    parts = {
        "cost": problem.cost,
        "gradient": problem.gradient,
        "hessian_product": problem.hessian_product,
        "inequalities": list(problem.inequalities) or None,
        "equalities": list(problem.equalities) or None,
    }
    return Problem(problem.manifold, **parts | changed)


def _times(factor: float, v: Any) -> Any:
    return tuple(_times(factor, part) for part in v) if isinstance(v, (tuple, list)) else factor * v


def _scaled(rng: Rng, problem: Problem, factor: float) -> Problem:
    product = problem.hessian_product
    return _rebuilt(
        problem,
        cost=lambda x: factor * problem.cost(x),
        gradient=lambda x: _times(factor, problem.gradient(x)),
        hessian_product=None if product is None else lambda x, u: _times(factor, product(x, u)),
    )


def _scaled_constraints(rng: Rng, problem: Problem, factor: float) -> Problem:
    blocks = [
        Constraint(
            lambda x, b=block: factor * np.asarray(b.value(x)),
            lambda x, w, b=block: _times(factor, b.jacobian_product(x, w)),
        )
        for block in problem.inequalities
    ]
    return _rebuilt(problem, inequalities=blocks or None)


def _after(calls: int, good: Callable[..., Any], bad: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is good a few times and bad from then on."""
    count = iter(range(10**9))
    return lambda *arguments: (good if next(count) < calls else bad)(*arguments)


def _contradictory(rng: Rng, problem: Problem) -> Problem:
    """Add a constraint that excludes the first one."""
    if not problem.inequalities:
        return _rebuilt(
            problem,
            inequalities=[Constraint(lambda x: 1.0, lambda x, w: _times(0.0, problem.gradient(x)))],
        )
    first = problem.inequalities[0]
    opposite = Constraint(
        lambda x: 1.0 - np.asarray(first.value(x)), lambda x, w: _times(-1.0, first.jacobian_product(x, w))
    )
    return _rebuilt(problem, inequalities=[*problem.inequalities, opposite])


def _odd_constraint(rng: Rng, problem: Problem) -> Problem:
    """Add a constraint whose values are of the wrong kind."""
    value = pick(rng, [], np.nan, [np.nan], np.inf, "a", None, [[1.0, 2.0]], 1, np.float32(-1.0), [1, -2])
    block = Constraint(lambda x: value, lambda x, w: _times(0.0, problem.gradient(x)))
    return _rebuilt(problem, **{pick(rng, "inequalities", "equalities"): [block]})


def _growing_constraint(rng: Rng, problem: Problem) -> Problem:
    """Add a constraint with one more value at each call."""
    count = iter(range(1, 10**9))
    block = Constraint(lambda x: -np.ones(next(count)), lambda x, w: _times(0.0, problem.gradient(x)))
    return _rebuilt(problem, inequalities=[block])


def _bounded(rng: Rng, problem: Problem) -> Problem:
    lower, upper = pick(rng, *_BOUNDS)
    return _rebuilt(problem, lower=lower, upper=upper)


_BOUNDS = [(1.0, -1.0), (np.nan, None), (np.inf, None), (None, -np.inf), ("a", None), ([1.0], None)]
_BOUNDS += [(0.0, 0.0), (-1e150, 1e150), (-0.1, 0.1), (None, 0.05), (5.0, 6.0), (-np.inf, np.inf), ((), ())]


def _given(name: str, value: Any) -> Callable[[Rng, Problem], Problem]:
    """Replace a function by one that returns a fixed value."""
    return lambda rng, problem: _rebuilt(problem, **{name: lambda *_: value})


_MISTAKES: dict[str, Callable[[Rng, Problem], Problem]] = {
    "none": lambda rng, problem: problem,
    "scaled cost": lambda rng, problem: _scaled(rng, problem, 10.0 ** rng.uniform(-6.0, 6.0)),
    "extremely scaled cost": lambda rng, problem: _scaled(
        rng, problem, pick(rng, 1e150, 1e-150, 1e30, 1e-30, 0.0)
    ),
    "unbounded cost": lambda rng, problem: _scaled(rng, problem, -1.0),
    "extremely scaled constraints": lambda rng, p: _scaled_constraints(
        rng, p, pick(rng, 1e150, 1e-150, 1e30, 1e-30)
    ),
    "contradictory constraints": _contradictory,
    "odd constraint": _odd_constraint,
    "growing constraint": _growing_constraint,
    "bounds": _bounded,
    "odd cost": lambda rng, p: _given("cost", pick(rng, *STRANGE_NUMBERS, np.ones(2), np.float32(1.0)))(
        rng, p
    ),
    "odd gradient": lambda rng, p: _given("gradient", pick(rng, *STRANGE_NUMBERS, np.ones((9, 9)), ()))(
        rng, p
    ),
    "odd Hessian": lambda rng, p: _given("hessian_product", pick(rng, *STRANGE_NUMBERS, np.ones((9, 9))))(
        rng, p
    ),
    "wrong gradient": lambda rng, p: _rebuilt(p, gradient=lambda x: _times(-1.0, p.gradient(x))),
    "wrong Hessian": lambda rng, p: _rebuilt(p, hessian_product=lambda x, u: _times(-3.0, u)),
    "cost fails later": lambda rng, p: _rebuilt(p, cost=_after(int(rng.integers(30)), p.cost, _fail)),
    "gradient fails later": lambda rng, p: _rebuilt(
        p, gradient=_after(int(rng.integers(30)), p.gradient, _fail)
    ),
    "cost turns NaN": lambda rng, p: _rebuilt(
        p, cost=_after(int(rng.integers(30)), p.cost, lambda x: np.nan)
    ),
    "gradient turns NaN": lambda rng, p: _rebuilt(
        p, gradient=_after(int(rng.integers(30)), p.gradient, lambda x: _times(np.nan, p.gradient(x)))
    ),
    "noisy cost": lambda rng, p: _rebuilt(p, cost=lambda x: p.cost(x) * (1.0 + 1e-6 * rng.standard_normal())),
}

_HONEST = ("none",)  # where finite differences of the problem must confirm a certificate


# --- checks ------------------------------------------------------------------------------------------------


def _check(answer: Any, drawn: Any, honest: bool) -> Iterator[str]:
    """Yield what is wrong with a result."""
    if not isinstance(answer, Result):
        return
    if answer.status not in STATUSES or len(answer.message) < 10:
        yield f"status {answer.status!r} with the message {answer.message!r}"
    if has_nan(answer.x):
        yield "x holds NaN"
    drawn.problem.manifold.check_point(answer.x)
    if answer.history[-1].seconds > _SECONDS + _LATE:
        yield f"max_time was exceeded by {answer.history[-1].seconds - _SECONDS:.0f} s"
    if answer.success:
        yield from _wrong_with_certificate(answer, drawn, honest)


def _wrong_with_certificate(answer: Result, drawn: Any, honest: bool) -> Iterator[str]:
    numbers = (answer.cost, answer.multipliers, answer.equality_multipliers)
    if any(map(has_nan, numbers)):
        yield "cost or multipliers of a certificate hold NaN"
    if not answer.kkt.worst <= answer.tol:
        yield f"the residual of a certificate is {answer.kkt.worst:g}, above {answer.tol:g}"
    if not honest or drawn.problem.manifold.dim > _CHECKED_DIM:
        return
    verdict = check_result(drawn.problem, drawn.start, answer)
    if not verdict.is_kkt_point:
        yield f"false certificate: {verdict}"
    elif answer.second_order == "holds" and not verdict.is_minimum:
        yield f"no minimum, although the second-order condition is said to hold: {verdict}"
