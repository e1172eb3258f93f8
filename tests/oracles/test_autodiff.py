"""Derivatives by jax, by torch and by hand are the same numbers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from geodual.manifolds import SPD, Euclidean, Manifold, Product, Sphere
from geodual.optimize import Constraint, ConstraintVector, Problem
from tests.manifold_cases import flat

RNG = np.random.default_rng(0)
Q = np.cov(RNG.standard_normal((4, 9)))
A = RNG.standard_normal((3, 4))
a = np.array([0.3, -1.2, 0.7, 0.4])


@dataclass(frozen=True)
class Case:
    """Functions that need a library, and the same problem with derivatives by hand.

    Attributes
    ----------
    manifold : Manifold
        The manifold.
    data : dict
        Arrays that the functions use.
    functions : callable
        ``functions(lib)`` returns the cost, a list of two inequalities, and an equality for `jax.numpy` or
        torch.
    by_hand : Problem
        The same problem.
    """

    manifold: Manifold
    data: dict[str, np.ndarray]
    functions: Callable[[Any], tuple[Any, list[Any], Any]]
    by_hand: Problem

    def automatic(self, library: str, joined: bool = False) -> Problem:
        lib = jnp if library == "jax" else importlib.import_module("torch")
        cost, inequalities, equality = self.functions(lib)
        both = inequalities[0], inequalities[1]
        if joined:  # as one vector
            inequalities = lambda x, d: lib.hstack([both[0](x, d), both[1](x, d)])  # noqa: E731
        build = Problem.from_jax if library == "jax" else Problem.from_torch
        return build(self.manifold, cost, inequalities=inequalities, equalities=equality, data=self.data)


def flat_case() -> Case:
    def functions(lib):
        return (
            lambda x, d: lib.sum(lib.exp(x)) + 0.5 * x @ (d["Q"] @ x),
            [lambda x, d: d["A"] @ x**2 - 1.0, lambda x, d: lib.log(1.0 + x @ x) - 3.0],
            lambda x, d: x[0] * x[1] - 0.1,
        )

    def curve(x, w, u):
        s = 1.0 + x @ x
        return w[0] * (2 * u / s - 4 * x * (x @ u) / s**2)

    by_hand = Problem(
        Euclidean(4),
        lambda x: np.exp(x).sum() + 0.5 * x @ Q @ x,
        lambda x: np.exp(x) + Q @ x,
        lambda x, u: np.exp(x) * u + Q @ u,
        inequalities=[
            Constraint(
                lambda x: A @ x**2 - 1.0,
                lambda x, w: 2 * x * (A.T @ w),
                lambda x, u: A @ (2 * x * u),
                lambda x, w, u: 2 * u * (A.T @ w),
            ),
            Constraint(
                lambda x: np.log(1.0 + x @ x) - 3.0,
                lambda x, w: w[0] * 2 * x / (1.0 + x @ x),
                lambda x, u: 2 * x @ u / (1.0 + x @ x),
                curve,
            ),
        ],
        equalities=Constraint(
            lambda x: x[0] * x[1] - 0.1,
            lambda x, w: w[0] * np.array([x[1], x[0], 0.0, 0.0]),
            lambda x, u: x[0] * u[1] + u[0] * x[1],
            lambda x, w, u: w[0] * np.array([u[1], u[0], 0.0, 0.0]),
        ),
    )
    return Case(Euclidean(4), {"Q": Q, "A": A}, functions, by_hand)


def sphere_case() -> Case:
    def functions(lib):
        return (
            lambda x, d: 0.5 * x @ (d["Q"] @ x),
            [lambda x, d: 0.1 - x, lambda x, d: (d["a"] @ x) ** 3],
            lambda x, d: lib.sin(d["a"] @ x),
        )

    by_hand = Problem(
        Sphere(4),
        lambda x: 0.5 * x @ Q @ x,
        lambda x: Q @ x,
        lambda x, u: Q @ u,
        inequalities=[
            Constraint(lambda x: 0.1 - x, lambda x, w: -w, lambda x, u: -u, lambda x, w, u: 0.0 * u),
            Constraint(
                lambda x: (a @ x) ** 3,
                lambda x, w: w[0] * 3 * (a @ x) ** 2 * a,
                lambda x, u: 3 * (a @ x) ** 2 * (a @ u),
                lambda x, w, u: w[0] * 6 * (a @ x) * (a @ u) * a,
            ),
        ],
        equalities=Constraint(
            lambda x: np.sin(a @ x),
            lambda x, w: w[0] * np.cos(a @ x) * a,
            lambda x, u: np.cos(a @ x) * (a @ u),
            lambda x, w, u: -w[0] * np.sin(a @ x) * (a @ u) * a,
        ),
    )
    return Case(Sphere(4), {"Q": Q, "a": a}, functions, by_hand)


def matrix_case() -> Case:
    def functions(lib):
        return (
            lambda x, d: -lib.linalg.slogdet(x)[1] + 0.5 * lib.sum(x**2),
            [lambda x, d: lib.diagonal(x) - d["b"], lambda x, d: lib.sum(lib.linalg.inv(x)) - 9.0],
            lambda x, d: x[0, 1] * x[1, 2],
        )

    def inverse_gradient(x):
        y = np.linalg.inv(x).T
        return -y @ np.ones((3, 3)) @ y

    def inverse_hessian(x, w, u):
        y, ones = np.linalg.inv(x).T, np.ones((3, 3))
        return w[0] * (y @ u.T @ y @ ones @ y + y @ ones @ y @ u.T @ y)

    def product_gradient(x):
        gradient = np.zeros((3, 3))
        gradient[0, 1], gradient[1, 2] = x[1, 2], x[0, 1]
        return gradient

    by_hand = Problem(
        SPD(3),
        lambda x: -np.linalg.slogdet(x)[1] + 0.5 * np.sum(x**2),
        lambda x: -np.linalg.inv(x).T + x,
        lambda x, u: np.linalg.inv(x).T @ u.T @ np.linalg.inv(x).T + u,
        inequalities=[
            Constraint(
                lambda x: np.diag(x) - 0.6,
                lambda x, w: np.diag(w),
                lambda x, u: np.diag(u),
                lambda x, w, u: 0.0 * u,
            ),
            Constraint(
                lambda x: np.linalg.inv(x).sum() - 9.0,
                lambda x, w: w[0] * inverse_gradient(x),
                lambda x, u: np.vdot(inverse_gradient(x), u),
                inverse_hessian,
            ),
        ],
        equalities=Constraint(
            lambda x: x[0, 1] * x[1, 2],
            lambda x, w: w[0] * product_gradient(x),
            lambda x, u: np.vdot(product_gradient(x), u),
            lambda x, w, u: w[0] * product_gradient(u),
        ),
    )
    return Case(SPD(3), {"b": np.full(3, 0.6)}, functions, by_hand)


def product_case() -> Case:
    def functions(lib):
        return (
            lambda x, d: -lib.linalg.slogdet(x[0])[1] + x[1] @ (x[0] @ x[1]),
            [lambda x, d: x[0] @ x[1] - d["one"], lambda x, d: lib.trace(x[0]) - lib.sum(x[1] ** 3)],
            lambda x, d: x[1][0] * x[1][1],  # does not use the first part
        )

    def hessian(x, u):
        (X, v), (U, d) = x, u
        inverse = np.linalg.inv(X).T
        first = inverse @ U.T @ inverse + np.outer(d, v) + np.outer(v, d)
        return first, (U + U.T) @ v + (X + X.T) @ d

    by_hand = Problem(
        Product(SPD(2), Euclidean(2)),
        lambda x: -np.linalg.slogdet(x[0])[1] + x[1] @ x[0] @ x[1],
        lambda x: (-np.linalg.inv(x[0]).T + np.outer(x[1], x[1]), (x[0] + x[0].T) @ x[1]),
        hessian,
        inequalities=[
            Constraint(
                lambda x: x[0] @ x[1] - 1.0,
                lambda x, w: (np.outer(w, x[1]), x[0].T @ w),
                lambda x, u: u[0] @ x[1] + x[0] @ u[1],
                lambda x, w, u: (np.outer(w, u[1]), u[0].T @ w),
            ),
            Constraint(
                lambda x: np.trace(x[0]) - np.sum(x[1] ** 3),
                lambda x, w: (w[0] * np.eye(2), -3 * w[0] * x[1] ** 2),
                lambda x, u: np.trace(u[0]) - 3 * x[1] ** 2 @ u[1],
                lambda x, w, u: (np.zeros((2, 2)), -6 * w[0] * x[1] * u[1]),
            ),
        ],
        equalities=Constraint(
            lambda x: x[1][0] * x[1][1],
            lambda x, w: (np.zeros((2, 2)), w[0] * x[1][::-1]),
            lambda x, u: x[1][::-1] @ u[1],
            lambda x, w, u: (np.zeros((2, 2)), w[0] * u[1][::-1]),
        ),
    )
    return Case(Product(SPD(2), Euclidean(2)), {"one": np.ones(2)}, functions, by_hand)


CASES = [flat_case(), sphere_case(), matrix_case(), product_case()]
over_cases = pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.manifold))
over_libraries = pytest.mark.parametrize("library", ["jax", "torch"])


def assert_same(found, expected) -> None:
    np.testing.assert_allclose(flat(found), flat(expected), rtol=1e-12, atol=1e-12)


def drawn(case: Case) -> tuple[Any, Any]:
    """Draw a point and an ambient direction, which is not symmetric on SPD."""
    rng = np.random.default_rng(7)
    x = case.manifold.random_point(rng)
    if isinstance(x, tuple):
        return x, tuple(rng.standard_normal(part.shape) for part in x)
    return x, rng.standard_normal(x.shape)


@over_libraries
@over_cases
def test_costs(case: Case, library: str) -> None:
    pytest.importorskip(library)
    ours, theirs = case.automatic(library), case.by_hand
    x, u = drawn(case)
    assert float(ours.cost(x)) == pytest.approx(theirs.cost(x), rel=1e-12)
    assert_same(ours.gradient(x), theirs.gradient(x))
    assert_same(ours.hessian_product(x, u), theirs.hessian_product(x, u))


@over_libraries
@over_cases
def test_every_constraint_by_itself(case: Case, library: str) -> None:
    """A list of functions is joined into one vector, but each function is still available alone."""
    pytest.importorskip(library)
    ours, theirs = case.automatic(library), case.by_hand
    x, u = drawn(case)
    assert len(ours.inequalities) == 2
    assert len(ours.blocks) == 2
    for block, expected in zip(
        ours.inequalities + ours.equalities, theirs.inequalities + theirs.equalities, strict=True
    ):
        w = np.random.default_rng(1).standard_normal(len(expected(x)))
        assert_same(block(x), expected(x))
        assert_same(block.jacobian_product(x, w), expected.jacobian_product(x, w))
        assert_same(block.derivative(x, u), expected.derivative(x, u))
        assert_same(block.hessian_product(x, w, u), expected.hessian_product(x, w, u))
        last = np.array([len(w) - 1])
        assert_same(block.rows(x, last)[0], expected.rows(x, last)[0])


@pytest.mark.parametrize("joined", [False, True], ids=["list", "vector"])
@over_libraries
@over_cases
def test_the_vector_that_solvers_see(case: Case, library: str, joined: bool) -> None:
    pytest.importorskip(library)
    x, u = drawn(case)
    ours = ConstraintVector(case.automatic(library, joined), x)
    theirs = ConstraintVector(case.by_hand, x)
    w = np.random.default_rng(2).standard_normal(theirs.size)
    assert (ours.size, ours.n_inequalities) == (theirs.size, theirs.n_inequalities)
    assert_same(ours.value(x), theirs.value(x))
    assert_same(ours.derivative(x, u), theirs.derivative(x, u))
    assert_same(ours.lagrangian_gradient(x, 2.0, w), theirs.lagrangian_gradient(x, 2.0, w))
    for found, expected in zip(
        ours.gradients(x, np.arange(ours.size)), theirs.gradients(x, np.arange(ours.size)), strict=True
    ):
        assert_same(found, expected)
