"""Smooth functions of a vector z with their derivatives: the terms of random costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..problems.case import Array

_SOFTENING = 0.1  # of distances, which have a kink at 0


@dataclass(frozen=True)
class Term:
    """A function of z: its value, its gradient and, if known, its Hessian times a vector."""

    value: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    hessian: Callable[[Array, Array], Array] | None = None

    def times(self, weight: float) -> Term:
        """Return weight · f."""
        hessian = self.hessian
        return Term(
            lambda z: weight * self.value(z),
            lambda z: weight * self.gradient(z),
            None if hessian is None else lambda z, v: weight * hessian(z, v),
        )

    def on(self, where: slice, size: int) -> Term:
        """Return the function of a vector of the given size that depends only on a slice of it."""
        hessian = self.hessian

        def widened(part: Array) -> Array:
            whole = np.zeros(size)
            whole[where] = part
            return whole

        return Term(
            lambda z: self.value(z[where]),
            lambda z: widened(self.gradient(z[where])),
            None if hessian is None else lambda z, v: widened(hessian(z[where], v[where])),
        )


def total(terms: Sequence[Term]) -> Term:
    """Return the sum of terms; its Hessian is known if all Hessians are."""
    known = all(term.hessian is not None for term in terms)
    return Term(
        lambda z: sum(term.value(z) for term in terms),
        lambda z: np.sum([term.gradient(z) for term in terms], axis=0),
        (lambda z, v: np.sum([term.hessian(z, v) for term in terms], axis=0)) if known else None,  # type: ignore[misc]
    )


def of_products(A: Array, phi: Callable[[Array], tuple[Array, Array, Array]]) -> Term:
    """Return Σₖ φₖ((A z)ₖ), where ``phi(s)`` returns the values of φ and its first two derivatives."""
    return Term(
        lambda z: float(phi(A @ z)[0].sum()),
        lambda z: A.T @ phi(A @ z)[1],
        lambda z, v: A.T @ (phi(A @ z)[2] * (A @ v)),
    )


def linear(rng: np.random.Generator, size: int) -> Term:
    """Return ⟨c, z⟩ with ‖c‖ of about 1."""
    c = rng.standard_normal(size) / np.sqrt(size)
    return Term(lambda z: float(c @ z), lambda z: c, lambda z, v: np.zeros(size))


def least_squares(rng: np.random.Generator, size: int) -> Term:
    """Return ½‖Bz − b‖²; B may have fewer rows than columns."""
    rows = int(rng.integers(1, size + 3))
    B, b = rng.standard_normal((rows, size)) / np.sqrt(size), rng.standard_normal(rows)
    return of_products(B, lambda s: (0.5 * (s - b) ** 2, s - b, np.ones(rows)))


def indefinite(rng: np.random.Generator, size: int) -> Term:
    """Return ½ zᵀQz + ⟨c, z⟩ with eigenvalues of Q between −1 and 1."""
    Q = rng.standard_normal((size, size))
    Q += Q.T
    Q /= np.abs(np.linalg.eigvalsh(Q)).max()
    c = rng.standard_normal(size) / np.sqrt(size)
    return Term(lambda z: float(0.5 * z @ Q @ z + c @ z), lambda z: Q @ z + c, lambda z, v: Q @ v)


def waves(rng: np.random.Generator, size: int) -> Term:
    """Return Σ wₖ cos(⟨aₖ, z⟩ + bₖ), which is bounded and has many stationary points."""
    count = int(rng.integers(2, 7))
    A = 2.0 * rng.standard_normal((count, size)) / np.sqrt(size)
    w, b = rng.standard_normal(count), rng.uniform(0.0, 2.0 * np.pi, count)
    return of_products(A, lambda s: (w * np.cos(s + b), -w * np.sin(s + b), -w * np.cos(s + b)))


def wells(rng: np.random.Generator, size: int) -> Term:
    """Return ¼ Σ (⟨aₖ, z⟩² − 1)², with two wells in every direction aₖ."""
    A = np.linalg.qr(rng.standard_normal((size, min(size, 4))))[0].T
    return of_products(A, lambda s: (0.25 * (s**2 - 1.0) ** 2, s**3 - s, 3.0 * s**2 - 1.0))


def softplus(rng: np.random.Generator, size: int) -> Term:
    """Return Σ log(1 + exp(⟨aₖ, z⟩ − bₖ)), a logistic loss."""
    count = int(rng.integers(3, 20))
    A, b = rng.standard_normal((count, size)) / np.sqrt(size), rng.standard_normal(count)

    def phi(s: Array) -> tuple[Array, Array, Array]:
        share = 0.5 * (1.0 + np.tanh(0.5 * (s - b)))  # the logistic function, without overflow
        return np.logaddexp(0.0, s - b), share, share * (1.0 - share)

    return of_products(A, phi)


def rosenbrock(rng: np.random.Generator, size: int) -> Term:
    """Return Σ a (zₖ₊₁ − zₖ²)² + (1 − zₖ)², a curved valley; a is 10 or 100."""
    a = float(rng.choice([10.0, 100.0])) / size

    def residuals(z: Array) -> tuple[Array, Array]:
        return z[1:] - z[:-1] ** 2, (1.0 - z) / size

    def gradient(z: Array) -> Array:
        rise, rest = residuals(z)
        g = -2.0 * rest
        g[1:] += 2.0 * a * rise
        g[:-1] -= 4.0 * a * rise * z[:-1]
        return g

    def hessian(z: Array, v: Array) -> Array:
        rise, _ = residuals(z)
        d_rise = v[1:] - 2.0 * z[:-1] * v[:-1]
        image = 2.0 * v / size
        image[1:] += 2.0 * a * d_rise
        image[:-1] -= 4.0 * a * (d_rise * z[:-1] + rise * v[:-1])
        return image

    def value(z: Array) -> float:
        return float(a * np.sum(residuals(z)[0] ** 2) + np.sum((1.0 - z) ** 2) / size)

    return Term(value, gradient, hessian)


def distances(centers: Array) -> Term:
    """Return Σ √(‖z − aₖ‖² + ε²), whose minimum is a smoothed geometric median of the rows aₖ."""

    def lengths(z: Array) -> tuple[Array, Array]:
        away = z - centers
        return away, np.sqrt(np.sum(away**2, axis=1) + _SOFTENING**2)

    def gradient(z: Array) -> Array:
        away, length = lengths(z)
        return np.asarray((away / length[:, None]).sum(axis=0))

    def hessian(z: Array, v: Array) -> Array:
        away, length = lengths(z)
        return np.asarray(np.sum(1.0 / length) * v - away.T @ ((away @ v) / length**3))

    return Term(lambda z: float(lengths(z)[1].sum()), gradient, hessian)


def log_barrier(A: Array, b: Array) -> Term:
    """Return −Σ log(b − A z), which has values only where A z < b."""

    def phi(s: Array) -> tuple[Array, Array, Array]:
        room = b - s
        return -np.log(room), 1.0 / room, 1.0 / room**2

    return of_products(A, phi)


def squared_distance(center: Array, weight: float = 1.0) -> Term:
    """Return (weight/2) ‖z − center‖²."""
    return Term(
        lambda z: 0.5 * weight * float(np.sum((z - center) ** 2)),
        lambda z: weight * (z - center),
        lambda z, v: weight * v,
    )


CostKind = Callable[[np.random.Generator, int], Any]
"""Draws a term in a space of given size."""

KINDS: dict[str, CostKind] = {
    "linear": linear,
    "least squares": least_squares,
    "indefinite": indefinite,
    "waves": waves,
    "wells": wells,
    "softplus": softplus,
    "Rosenbrock": rosenbrock,
}
"""Costs that need only the size of z."""
