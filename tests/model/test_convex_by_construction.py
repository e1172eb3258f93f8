"""Expressions that are convex by a textbook construction are proved, and every atom keeps its claims.

The constructions are written here by hand, from theorems, with no look at the rules of the package.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import geodual.model as gm
from geodual.manifolds import SPD, Euclidean, Hyperbolic, PositiveOrthant, Sphere
from geodual.model import Expression
from geodual.model.atom import Atom, Bilinear, Linear
from geodual.model.atoms import arithmetic, distances, elementwise, matrices, reductions, spectral
from geodual.optimize import GradientCheck, check_gradient
from testing.model_curves import draw_point, refute
from testing.random_expressions import Draw

N = 3


class Builder:
    """Draws expressions that are convex by theorems."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.X, self.x = gm.Variable(SPD(N), name="X"), gm.Variable(PositiveOrthant(N), name="x")
        self.z, self.h = gm.Variable(Euclidean(N), name="z"), gm.Variable(Hyperbolic(2), name="h")

    def pick(self, *makers: Callable[[], Expression]) -> Expression:
        return makers[self.rng.integers(len(makers))]()

    def definite(self) -> np.ndarray:
        a = self.rng.standard_normal((N, N + 1))
        return np.asarray(a @ a.T)

    def positive_map(self) -> Expression:
        """A sum of congruences of X or its inverse, and a constant: positive linear maps (Ando)."""
        X = self.pick(lambda: self.X, lambda: gm.inv(self.X))
        maps = [gm.congruence(X, self.rng.standard_normal((N, N))) for _ in range(self.rng.integers(1, 3))]
        return gm.sum([*maps, gm.Constant(self.definite())])

    def posynomial(self) -> Expression:
        """A sum of monomials with positive coefficients."""
        terms = []
        for _ in range(self.rng.integers(1, 4)):
            monomial: Any = float(self.rng.uniform(0.5, 2.0))
            for k, power in enumerate(self.rng.choice([-2.0, -0.5, 1.0, 3.0], size=N)):
                monomial = monomial * self.x[k] ** power
            terms.append(monomial)
        return gm.sum(terms)

    def log_convex(self) -> Expression:
        """Positive numbers whose logarithm is convex."""
        v = self.rng.standard_normal(N)
        return self.pick(
            self.posynomial,
            lambda: gm.quad_form(v, self.positive_map()),
            lambda: gm.trace(self.definite() @ self.positive_map()),
            lambda: gm.lambda_max(self.positive_map()),
            lambda: gm.schatten_norm(self.positive_map(), 2.5),
            lambda: gm.lorentz(self.h, np.array([1.5, 0.5, -0.2])),
            lambda: gm.exp(self.convex(1)),
        )

    def convex(self, depth: int) -> Expression:
        simple = (
            lambda: gm.log(self.log_convex()),
            self.log_convex,
            lambda: gm.log_det(self.positive_map()),
            lambda: float(self.rng.standard_normal()) * gm.log_det(self.X),
            lambda: gm.distance2(self.X, self.definite()),
            lambda: gm.distance(self.X, self.definite()),
            lambda: gm.s_divergence(self.X, self.definite()),
            lambda: gm.distance(self.h, self.h.manifold.random_point(self.rng)),
            lambda: gm.norm(self.rng.standard_normal((2, N)) @ self.z - 1.0),
            lambda: gm.log_sum_exp(self.rng.standard_normal((4, N)) @ self.z),
            lambda: gm.distance2(self.x, np.exp(self.rng.standard_normal(N))),
        )
        if depth == 0:
            return self.pick(*simple)
        return self.pick(
            *simple,
            lambda: self.convex(depth - 1) + float(self.rng.uniform(0.1, 3.0)) * self.convex(depth - 1),
            lambda: gm.max([self.convex(depth - 1), self.convex(depth - 1)]),
            lambda: gm.exp(self.convex(depth - 1)),
            lambda: gm.logistic(self.convex(depth - 1)),
            lambda: gm.huber(gm.distance(self.X, self.definite()), 0.5) + self.convex(depth - 1),
            lambda: self.log_convex() * self.log_convex(),
        )


def test_two_hundred_expressions_that_are_convex_by_construction_are_proved() -> None:
    for seed in range(200):
        expression = Builder(seed).convex(depth=seed % 4)
        assert expression.is_convex(), f"seed {seed}: {expression}"


def curated() -> list[Expression]:
    """Return expressions that have every atom as a node."""
    draw = Draw(0)
    X, Y, x, z, h, k, s = draw.X, draw.Y, draw.x, draw.z, draw.h, draw.k, draw.s
    rng = np.random.default_rng(1)
    a = rng.standard_normal((N, N))
    C, north = a @ a.T, np.eye(N)[0]
    return [
        *(gm.distance(X, C), gm.distance2(X, C), gm.distance(X, Y), gm.distance2(X, Y)),
        *(gm.distance(h, k), gm.distance2(h, k), gm.distance2(s, north), gm.distance(s, north)),
        *(gm.lorentz(h, k), gm.lorentz_quadratic(np.diag([2.0, -1.0, 0.0]), h), gm.cosine(s, north)),
        *(gm.sum(gm.exp(z)), gm.sum(gm.log(x)), gm.abs(z[0]), gm.sum(gm.logistic(z)), gm.sum(gm.huber(z))),
        *(gm.sum(gm.entr(x)), gm.trace(X), gm.trace(C @ X), gm.trace(X @ Y), gm.log_det(a @ X @ a.T)),
        *(gm.sum(gm.quad_form(a, X)), gm.quad_form(z, C), gm.trace(gm.inv(X)), gm.log_det(gm.hadamard(X, C))),
        *(gm.log_det(gm.kron(X, Y)), gm.sum(gm.diag(X)), gm.log_det(gm.diag(x)), gm.sum_squares(z - 1.0)),
        *(gm.norm(z), gm.max(x), gm.log_sum_exp(z), gm.sum(gm.hstack([x[0], x[1]])), gm.trace_power(X, 1.5)),
        *(gm.schatten_norm(X, 3.0), gm.log_norm(X, 1.5), gm.log_norm(X, 3.0)),
        *(gm.lambda_max(X), gm.lambda_min(X), gm.lambda_sum_largest(X, 2), gm.sum_log_largest(X, 2)),
        *(x[0] * x[1] ** -2 + 1.0, gm.sum((C @ z) ** 2), gm.sum((a @ z) ** 2), gm.trace((a @ X).T)),
    ]


def test_every_atom_keeps_its_claims_along_random_curves() -> None:
    rng = np.random.default_rng(0)
    seen = set()
    for expression in curated():
        found, _ = refute(expression, rng, 20)
        assert not found, f"{expression}: {found[0]}"
        stack = [expression]
        while stack:
            node = stack.pop()
            seen.add(type(node.atom))
            stack.extend(node.args)
    modules = (arithmetic, distances, elementwise, matrices, reductions, spectral)
    classes = {c for module in modules for _, c in inspect.getmembers(module, inspect.isclass)}
    atoms = {c for c in classes if issubclass(c, Atom) and not inspect.isabstract(c)}
    parts = {spectral.LogPower, spectral.PowerMeanNorm}  # what other atoms are made of
    assert atoms - {Atom, Bilinear, Linear} - parts <= seen, atoms - seen


def test_the_text_of_a_formula_that_uses_its_parts_again_stays_short() -> None:
    x = gm.Variable(PositiveOrthant(1), name="x")
    y = gm.sum(x)
    for _ in range(30):
        y = y * (y + 1.0)
    assert len(str(y)) < 2000
    problem = gm.Problem(gm.Minimize(y))
    assert problem.is_dgcp()
    assert problem.explain().count("as above") >= 29


def test_the_derivatives_of_every_atom_are_right() -> None:
    """Gradients and Hessian products against values, at random points and at eigenvalues that nearly tie."""
    rng = np.random.default_rng(0)
    for expression in curated():
        problem = gm.Problem(gm.Minimize(expression))
        kinks = getattr(expression.atom, "name", "") in (
            "lambda_min",
            "lambda_sum_largest",
            "sum_log_largest",
        )
        for ties in (False,) if kinks else (False, True):
            # A slope of 3 is estimated from values, with an error that a second point need not have. A wrong
            # derivative has the wrong slope at every point.
            checks = [check_at_random_point(problem, rng, ties) for _ in range(2)]
            assert any(checks), f"{expression}, ties={ties}\n{checks[0]}"


def check_at_random_point(problem: gm.Problem, rng: np.random.Generator, ties: bool) -> GradientCheck:
    parts = {v.name: point_of(v, rng, ties) for v in problem.variables}
    return check_gradient(problem.to_problem(), parts if len(parts) > 1 else next(iter(parts.values())))


def point_of(variable: gm.Variable, rng: np.random.Generator, ties: bool) -> np.ndarray:
    """Return a random point; a matrix with two eigenvalues that are equal up to 1e-7, the smaller two."""
    if not (ties and isinstance(variable.manifold, SPD)):
        return np.asarray(draw_point(variable, rng))
    basis = np.linalg.qr(rng.standard_normal((N, N)))[0]
    return np.asarray((basis * [1.3, 1.3 + 1e-7, 2.0]) @ basis.T)


@pytest.mark.parametrize("radius", [0.3, 1.0])
def test_a_sphere_needs_a_ball_that_reaches_the_point(radius: float) -> None:
    north, east = np.eye(3)[0], np.eye(3)[1]
    s = gm.Variable(Sphere(3), name="s", center=north, radius=radius)
    assert gm.distance(s, north).is_convex()
    assert not gm.distance(s, east).is_convex()
