"""Stable linear system identification over skew × SPD × SPD, the third family of Obara, Okuno and Takeda.

Constants are those of M. Obara, T. Okuno and A. Takeda, "A primal-dual interior point trust region method for
inequality-constrained optimization on Riemannian manifolds", arXiv:2501.15419, and of their code.
"""

from __future__ import annotations

import numpy as np

from geodual.manifolds import SPD, Euclidean, Product
from geodual.optimize import Constraint

from ..problems.case import Array, Cost, LastPoint
from .case import PublishedProblem
from .identification_data import TIME_STEP, EntryBounds, Measurements, draw_instance, published_instance

Point = tuple[Array, Array, Array]


def stable_identification(dim: int = 5, n_starts: int = 20, seed: int = 0) -> PublishedProblem:
    """Identify a stable linear system: min ‖X⁺ − (I + hA)X‖²/N over A = (J − R)Q, with bounds on entries.

    J is skew-symmetric, and R and Q are positive definite; such A are the stable matrices. X contains the
    states of five noisy trajectories, X⁺ the next states, and h = 0.02. A fifth of the entries of A must be
    in intervals. A tenth must be in an interval but outside another one, (A_ij − c)² ≥ k². All starts are
    strictly feasible.

    J is given by its coordinates in the orthonormal basis (E_ij − E_ji)/√2, i < j, which preserves lengths.

    Parameters
    ----------
    dim : int
        Size of A; published is 5.
    n_starts : int
        Number of starts; published are 20.
    seed : int
        Seed of the random data and starts.
    """
    return identification_problem(*draw_instance(dim, n_starts, seed), name=f"seed {seed}")


def published_identification() -> PublishedProblem:
    """Return `stable_identification` with the data of the published code, read from a folder.

    Raises
    ------
    FileNotFoundError
        If the environment variable `identification_data.FOLDER` is not set.
    """
    return identification_problem(*published_instance(), name="published data")


def identification_problem(
    data: Measurements, bounds: EntryBounds, starts: dict[str, Point], name: str
) -> PublishedProblem:
    """Return the problem for given states, bounds and starts (J, R, Q)."""
    dim = len(data.states)
    factors = _Factors(dim)
    S = data.states @ data.states.T
    B = (data.next_states - data.states) @ data.states.T
    h, n = TIME_STEP, data.states.shape[1]
    constant = float(np.sum((data.next_states - data.states) ** 2)) / n

    def slope(A: Array) -> Array:
        return np.asarray((2.0 / n) * (h**2 * A @ S - h * B))

    def value(x: Point) -> float:
        A = factors.system(x)
        return constant + float(np.vdot(A, h**2 * A @ S - 2.0 * h * B)) / n

    def hessian_product(x: Point, u: Point) -> Point:
        bent = (2.0 * h**2 / n) * factors.derivative(x, u) @ S
        return _sum(factors.adjoint(x, bent), factors.second(slope(factors.system(x)), u))

    return PublishedProblem(
        name,
        Product(Euclidean(dim * (dim - 1) // 2), SPD(dim), SPD(dim)),
        Cost(value, lambda x: factors.adjoint(x, slope(factors.system(x))), hessian_product),
        inequalities=(_entry_constraint(bounds, factors),),
        convex=False,
        family="system identification",
        # The peers use all their time and solve nothing, so a few of the 20 starts are enough.
        max_seconds=30.0,
        peer_starts=4,
        points={name: (factors.coordinates(J), R, Q) for name, (J, R, Q) in starts.items()},
    )


class _Factors:
    """The map (j, R, Q) → A = (J − R)Q and its derivatives."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._upper = np.triu_indices(dim, 1)
        self.system = LastPoint(lambda x: (self._skew(x[0]) - x[1]) @ x[2])

    def _skew(self, j: Array) -> Array:
        J = np.zeros((self._dim, self._dim))
        J[self._upper] = j / np.sqrt(2.0)
        return J - J.T

    def coordinates(self, G: Array) -> Array:
        """Return the coordinates of the skew part of a matrix."""
        return np.asarray((G - G.T)[self._upper] / np.sqrt(2.0))

    def derivative(self, x: Point, u: Point) -> Array:
        """Return the derivative of A along u."""
        return np.asarray((self._skew(u[0]) - u[1]) @ x[2] + (self._skew(x[0]) - x[1]) @ u[2])

    def adjoint(self, x: Point, G: Array) -> Point:
        """Return the gradient of ⟨G, A⟩."""
        across = G @ x[2]
        return self.coordinates(across), -_symmetric(across), _symmetric((self._skew(x[0]) - x[1]).T @ G)

    def second(self, G: Array, u: Point) -> Point:
        """Return the Hessian of ⟨G, A⟩ times u; A is bilinear in (J − R, Q)."""
        across = G @ u[2]
        return self.coordinates(across), -_symmetric(across), _symmetric((self._skew(u[0]) - u[1]).T @ G)


def _entry_constraint(bounds: EntryBounds, factors: _Factors) -> Constraint:
    """Return q (a − c)² + s a − b for entries a of A."""
    entries, (q, c, s, b) = (bounds.rows, bounds.columns), bounds.coefficients

    def slope(x: Point) -> Array:
        return np.asarray(2.0 * q * (factors.system(x)[entries] - c) + s)

    def spread(x: Point, w: Array) -> Array:
        G = np.zeros_like(x[1])
        np.add.at(G, entries, w)
        return G

    def hessian_product(x: Point, w: Array, u: Point) -> Point:
        bent = 2.0 * q * w * factors.derivative(x, u)[entries]
        return _sum(factors.adjoint(x, spread(x, bent)), factors.second(spread(x, w * slope(x)), u))

    return Constraint(
        lambda x: q * (factors.system(x)[entries] - c) ** 2 + s * factors.system(x)[entries] - b,
        lambda x, w: factors.adjoint(x, spread(x, w * slope(x))),
        directional=lambda x, u: slope(x) * factors.derivative(x, u)[entries],
        hessian_product=hessian_product,
    )


def _symmetric(G: Array) -> Array:
    return np.asarray(0.5 * (G + G.T))


def _sum(a: Point, b: Point) -> Point:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]
