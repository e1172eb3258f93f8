"""Random expressions of `geodual.model` with all atoms and manifolds, convex or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import geodual.model as gm
from geodual.manifolds import SPD, Euclidean, Hyperbolic, PositiveOrthant, Simplex, Sphere, Symmetric
from geodual.model import Expression

N = 3  # size of all vectors and matrices


class Draw:
    """Draw expressions.

    Parameters
    ----------
    seed : int
        Seed of the draws.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        north = np.eye(N)[0]
        self.X, self.Y = gm.Variable(SPD(N), name="X"), gm.Variable(SPD(N), name="Y")
        self.S = gm.Variable(Symmetric(N), name="S")
        self.x, self.y = gm.Variable(PositiveOrthant(N), name="x"), gm.Variable(PositiveOrthant(N), name="y")
        self.z, self.p = gm.Variable(Euclidean(N), name="z"), gm.Variable(Simplex(N), name="p")
        self.h, self.k = gm.Variable(Hyperbolic(N - 1), name="h"), gm.Variable(Hyperbolic(N - 1), name="k")
        self.s = gm.Variable(Sphere(N), name="s", center=north, radius=float(self.rng.uniform(0.2, 1.2)))

    def pick(self, *choices: Any) -> Any:
        """Return one of the choices."""
        return choices[self.rng.integers(len(choices))]

    def choose(self, *makers: Callable[[], Expression]) -> Expression:
        """Return the result of one of the makers; if it raises an error, of another one."""
        for _ in range(20):
            try:
                return self.pick(*makers)()  # type: ignore[no-any-return]
            except (ValueError, TypeError, IndexError):
                continue
        return self.leaf_number()

    def array(self, *shape: int) -> np.ndarray:
        """Return numbers; sometimes all positive, or nonnegative with zeros."""
        a = self.rng.standard_normal(shape)
        kind = self.rng.integers(4)
        return np.asarray([a, np.abs(a), np.abs(a) * (a > -0.3), -np.abs(a)][kind])

    def psd(self) -> np.ndarray:
        """Return a symmetric matrix, usually positive definite or semidefinite."""
        a = self.rng.standard_normal((N, N + 1 if self.rng.uniform() < 0.6 else 1))
        a = a @ a.T
        return np.asarray(self.pick(a, a, a, -a, a - np.eye(N)))

    def parameter(self, *shape: int) -> gm.Parameter:
        """Return a parameter with a value."""
        value = self.rng.standard_normal(shape)
        if self.rng.uniform() < 0.5:
            return gm.Parameter(*shape, value=np.abs(value), nonneg=True)
        return gm.Parameter(*shape, value=value)

    def leaf_number(self) -> Expression:
        """Return a simple number."""
        i = int(self.rng.integers(N))
        return self.choose(
            lambda: self.x[i],
            lambda: self.z[i],
            lambda: self.y[i],
            lambda: gm.log_det(self.X),
            lambda: gm.trace(self.X),
            lambda: self.X[i, i],
            lambda: self.X[0, 2],
            lambda: self.p[i],
            lambda: self.S[0, 1],
        )

    def number(self, depth: int) -> Expression:
        """Return a number."""
        if depth <= 0:
            return self.leaf_number()
        d = depth - 1
        return self.choose(
            lambda: self.number(d) + self.number(d),
            lambda: self.number(d) - self.number(d),
            lambda: self.number(d) * self.number(d),
            lambda: self.number(d) / self.number(d),
            lambda: float(self.rng.standard_normal()) * self.number(d) + self.pick(0.0, 1.0, -1.0),
            lambda: self.parameter() * self.number(d),
            lambda: self.number(d) ** self.pick(-2.0, -1.0, -0.5, 0.5, 1.5, 2.0, 3.0, 4.0),
            lambda: self.pick(gm.exp, gm.log, gm.sqrt, gm.abs, gm.logistic, gm.huber, gm.entr)(
                self.number(d)
            ),
            lambda: self.pick(gm.sum, gm.max, gm.norm, gm.sum_squares, gm.log_sum_exp, gm.prod)(
                self.vector(d)
            ),
            lambda: gm.norm(self.vector(d), 1),
            lambda: self.array(N) @ self.vector(d),
            lambda: self.vector(d)[int(self.rng.integers(N))],
            lambda: gm.quad_form(self.vector(d), self.psd()),
            lambda: gm.quad_form(self.vector(d), self.matrix(d)),
            lambda: self.of_matrix(d),
            lambda: self.of_matrix(d),
            lambda: self.of_matrix(d),
            lambda: self.of_point(),
            lambda: self.pick(gm.sum, gm.norm, gm.sum_squares, gm.max)(self.table(d)),
            lambda: gm.max([self.number(d), self.number(d), 1.0]),
            lambda: gm.sum(gm.hstack([self.number(d), self.psd(), self.vector(d)])),
        )

    def of_matrix(self, d: int) -> Expression:
        """Return a number that is a function of a matrix."""
        m = self.matrix(d)
        return self.choose(
            lambda: gm.trace(m),
            lambda: gm.log_det(m),
            lambda: gm.det(m),
            lambda: gm.trace(self.psd() @ m),
            lambda: gm.trace(m @ self.matrix(d)),
            lambda: gm.trace_power(m, self.pick(-1.5, -0.5, 0.3, 0.5, 1.0, 2.0, 2.5)),
            lambda: gm.schatten_norm(m, self.pick(1.0, 2.0, 3.5)),
            lambda: gm.log_norm(m, self.pick(1.0, 2.0, 3.0)),
            lambda: self.pick(gm.lambda_max, gm.lambda_min)(m),
            lambda: self.pick(gm.lambda_sum_largest, gm.sum_log_largest)(m, self.pick(1, 2, 3)),
            lambda: self.pick(gm.distance, gm.distance2)(m, self.definite()),
            lambda: gm.sum(gm.distance2(m, np.stack([self.definite(), self.definite()]))),
            lambda: self.pick(gm.distance, gm.distance2, gm.s_divergence)(m, self.matrix(d)),
            lambda: gm.quad_form(self.array(N), m),
            lambda: gm.quad_form(self.parameter(N), m),
            lambda: self.pick(gm.sum, gm.norm, gm.sum_squares)(m),
        )

    def of_point(self) -> Expression:
        """Return a function of points of hyperbolic space or a sphere, or a distance of flat points."""
        h = self.h.manifold.lift(self.rng.standard_normal(N - 1))
        light = np.append(1.0, self.rng.standard_normal(N - 1))
        light[1:] /= self.pick(1.0, 1.5) * np.linalg.norm(light[1:])
        s = self.rng.standard_normal(N)
        s = np.eye(N)[0] + self.pick(0.0, 0.3, 3.0) * s
        s /= np.linalg.norm(s)
        return self.choose(
            lambda: self.pick(gm.distance, gm.distance2)(self.h, self.pick(h, self.k)),
            lambda: gm.lorentz(self.h, self.pick(h, light, self.k)),
            lambda: gm.lorentz_quadratic(self.psd(), self.h),
            lambda: self.pick(gm.distance, gm.distance2, gm.cosine)(self.s, s),
            lambda: self.pick(gm.distance, gm.distance2)(self.x, self.pick(np.abs(s) + 0.1, self.y)),
            lambda: self.pick(gm.distance, gm.distance2)(self.z, s),
        )

    def vector(self, depth: int) -> Expression:
        """Return a vector of N entries."""
        if depth <= 0:
            return self.pick(self.x, self.z, self.p, self.y)  # type: ignore[no-any-return]
        d = depth - 1
        return self.choose(
            lambda: self.vector(d) + self.vector(d),
            lambda: self.vector(d) - self.pick(1.0, self.array(N)),
            lambda: self.vector(d) + self.number(d),
            lambda: gm.multiply(self.vector(d), self.vector(d)),
            lambda: gm.multiply(self.array(N), self.vector(d)),
            lambda: self.array(N, N) @ self.vector(d),
            lambda: self.matrix(d) @ self.pick(self.array(N), self.vector(d)),
            lambda: self.vector(d) ** self.pick(-1.0, 0.5, 2.0, 3.0),
            lambda: self.pick(gm.exp, gm.log, gm.sqrt, gm.abs, gm.logistic, gm.huber, gm.entr)(
                self.vector(d)
            ),
            lambda: gm.hstack([self.number(d), self.number(d), self.pick(1.0, -1.0, self.number(d))]),
            lambda: gm.diag(self.matrix(d)),
            lambda: gm.quad_form(self.array(N, N), self.matrix(d)),
            lambda: gm.distance2(self.matrix(d), np.stack([self.definite() for _ in range(N)])),
            lambda: self.table(d)[0],
        )

    def table(self, depth: int) -> Expression:
        """Return a square array that is not symmetric."""
        d = depth - 1
        return self.choose(
            lambda: self.array(N, N) @ self.matrix(d),
            lambda: self.matrix(d) @ self.matrix(d),
            lambda: self.array(N, N) @ self.matrix(d) + self.psd(),
            lambda: self.array(N, N) + self.matrix(d),
            lambda: (self.matrix(d) @ self.array(N, N)).T,
            lambda: self.matrix(d)[:, :2],
        )

    def definite(self) -> np.ndarray:
        """Return a positive definite matrix."""
        a = self.rng.standard_normal((N, N))
        return np.asarray(a @ a.T + 0.1 * np.eye(N))

    def matrix(self, depth: int) -> Expression:
        """Return a symmetric matrix."""
        if depth <= 0:
            return self.pick(self.X, self.X, self.Y, self.S)  # type: ignore[no-any-return]
        d = depth - 1
        found = self.choose(
            lambda: self.matrix(d) + self.matrix(d),
            lambda: self.matrix(d) + self.psd(),
            lambda: self.matrix(d) - self.matrix(d),
            lambda: self.number(d) * self.matrix(d),
            lambda: self.number(d) * self.psd(),
            lambda: float(self.rng.standard_normal()) * self.matrix(d),
            lambda: gm.inv(self.matrix(d)),
            lambda: gm.inv(self.matrix(d)),
            lambda: gm.congruence(self.matrix(d), self.pick(self.array(N, N), np.diag([1.0, 1.0, 0.0]))),
            lambda: gm.congruence(self.matrix(d), self.parameter(N, N)),
            lambda: gm.hadamard(self.matrix(d), self.pick(self.psd(), self.matrix(d))),
            lambda: gm.diag(self.vector(d)),
            lambda: gm.kron(self.matrix(d), self.psd()[:1, :1]),
        )
        return found if found.shape == (N, N) and found.symmetric else self.X
