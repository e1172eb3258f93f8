"""Lower bounds hold at every point that a solver may return, with any multipliers."""

from types import SimpleNamespace

import numpy as np
import pytest

import geodual.model as gm
from geodual.manifolds import SPD, Euclidean, Hyperbolic, PositiveOrthant, Simplex, Sphere, Symmetric
from geodual.model.bounds import lower_bound
from testing.model_curves import draw_point

RNG = np.random.default_rng(5)


def definite() -> np.ndarray:
    a = RNG.standard_normal((2, 4))
    return np.asarray(a @ a.T / 2.0 + 0.1 * np.eye(2))


def north_ball(radius: float) -> gm.Variable:
    return gm.Variable(Sphere(3), name="s", center=np.array([0.0, 0.0, 1.0]), radius=radius)


def problems() -> dict[str, gm.Problem]:
    X, Y = gm.Variable(SPD(2), name="X"), gm.Variable(SPD(2), name="Y")
    x, p = gm.Variable(PositiveOrthant(3), name="x"), gm.Variable(Simplex(3), name="p")
    z, h, k = (
        gm.Variable(Euclidean(3), name="z"),
        gm.Variable(Hyperbolic(2), name="h"),
        gm.Variable(Hyperbolic(2), name="k"),
    )
    s, wide, S = north_ball(0.4), north_ball(1.2), gm.Variable(Symmetric(2), name="S")
    A, c, points = (
        RNG.standard_normal((6, 3)),
        RNG.standard_normal(3),
        [h.manifold.lift(q) for q in RNG.standard_normal((2, 2))],
    )
    far = np.array([np.sin(0.9), 0.0, np.cos(0.9)])
    north = np.array([0.0, 0.0, 1.0])
    low = np.array([np.sin(0.3), 0.0, np.cos(0.3)])
    stack = np.stack([definite() for _ in range(4)])
    V = RNG.standard_normal((7, 2))
    made = {
        "mean": gm.Minimize(gm.sum(gm.distance2(X, stack))),
        "median": gm.Minimize(gm.sum(gm.distance(X, stack))),
        "kinked median": gm.Minimize(gm.norm(gm.distance(X, stack), 1)),
        "kinked": gm.Minimize(0.5 * gm.distance2(X, stack[0]) + gm.norm(gm.distance(X, stack), 1)),
        "edge of a ball": gm.Minimize(gm.distance2(wide, low) + 0.01 * gm.distance2(wide, north)),
        "tyler": gm.Minimize(
            gm.sum(gm.log(gm.quad_form(V, gm.inv(X)))) + 3.5 * gm.log_det(X) + gm.distance2(X, np.eye(2))
        ),
        "log det": (gm.Minimize(-gm.log_det(X)), [gm.trace(X @ definite()) <= 2.0]),
        "geometric": (
            gm.Minimize(x[0] / x[1] + x[2] ** 2 + 1.0 / x[0]),
            [x[0] * x[1] * x[2] == 2.0, x[1] <= 3.0],
        ),
        "lasso": gm.Minimize(gm.sum_squares(A @ z - 1.0) + gm.sum_squares(z) + gm.norm(z, 1)),
        "max": gm.Minimize(gm.sum_squares(z - c) + 3.0 * gm.max(z)),
        "max of distances": gm.Minimize(gm.max(gm.distance2(X, stack))),
        "simplex": gm.Minimize(gm.sum_squares(A @ p) - gm.sum(gm.entr(p))),
        "ball": gm.Minimize(gm.distance2(s, far)),
        "wide ball": gm.Minimize(gm.distance2(wide, low)),
        "hyperbolic": (gm.Minimize(gm.distance2(h, points[0])), [gm.distance(h, points[1]) <= 0.5]),
        "pair": (
            gm.Minimize(gm.distance2(h, k) + gm.distance2(k, points[0])),
            [gm.distance(h, points[1]) <= 0.5],
        ),
        "equality": (gm.Minimize(gm.sum_squares(z - c)), [gm.sum(z) == 3.0]),
        "loewner": (
            gm.Minimize(gm.trace(X) + gm.distance2(X, np.eye(2))),
            [X << 2.0 * np.eye(2), gm.log_det(X) == 0.3],
        ),
        "largest": gm.Minimize(gm.lambda_max(X) + gm.distance2(X, stack[0])),
        "two": gm.Minimize(gm.distance2(X, Y) + gm.distance2(X, stack[0]) + gm.distance2(Y, stack[1])),
        "symmetric": (gm.Minimize(gm.sum_squares(S - definite())), [gm.trace(S) <= 0.1]),
        "maximize": (gm.Maximize(gm.prod(x)), [gm.sum(x) <= 2.0]),
    }
    return {
        name: gm.Problem(*one) if isinstance(one, tuple) else gm.Problem(one) for name, one in made.items()
    }


PROBLEMS = problems()


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_bound_is_below_the_optimum_wherever_the_solver_stops(name: str) -> None:
    problem = PROBLEMS[name]
    assert problem.proved
    best = problem.solve(tol=1e-9)
    tolerance = 1e-6 * (1.0 + abs(best.cost))
    if best.lower_bound is not None:
        assert best.lower_bound <= best.cost + 1e-7 * (1.0 + abs(best.cost))
    _check_stops(problem, best.cost + tolerance)
    _check_draws(problem, best, best.cost + tolerance)


def _check_stops(problem: gm.Problem, most: float) -> None:
    for steps in (1, 2, 3):
        for variable in problem.variables:
            variable.value = None
        early = problem.solve(max_iter=steps)
        assert early.lower_bound is None or early.lower_bound <= most, early.bound_reason


def _check_draws(problem: gm.Problem, best: gm.ModelResult, most: float) -> None:
    """Check points and multipliers that no solver would return."""
    rng = np.random.default_rng(0)
    compiled, geometry = problem._compiled()

    def moved(y: np.ndarray) -> np.ndarray:
        return np.asarray(y + rng.choice([0.0, 0.1, 3.0]) * rng.standard_normal(np.shape(y)))

    for _ in range(25):
        parts = []
        for variable, x in zip(problem.variables, compiled.parts(best.x), strict=True):
            away = variable.manifold.random_tangent(x, rng)
            away = rng.choice([1e-6, 0.1, 1.0]) * away / variable.manifold.norm(x, away)
            parts.append(variable.manifold.exp(x, away) if rng.uniform() < 0.8 else draw_point(variable, rng))
        multipliers = [SimpleNamespace(multiplier=moved(term.multiplier)) for term in best.terms]
        made = SimpleNamespace(
            x=compiled.made(parts),
            multipliers=moved(best.multipliers),
            equality_multipliers=moved(best.equality_multipliers),
            terms=multipliers,
        )
        bound = lower_bound(compiled, made, geometry)  # type: ignore[arg-type]
        assert bound.value is None or bound.value <= most, bound.reason
