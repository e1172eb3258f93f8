"""Random or published data of the system identification family."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_continuous_lyapunov

from ..problems.case import Array

FOLDER = "GEODUAL_IDENTIFICATION"
"""Environment variable with the folder dataset/StableIdentification/1 of the published code."""

TRAJECTORIES, LENGTH, TIME_STEP, DECIBELS = 5, 20, 0.02, 10.0
Intervals = list[tuple[float, float]]
Start = tuple[Array, Array, Array]


@dataclass(frozen=True)
class Measurements:
    """The states of all trajectories, one per column, and the states one time step later."""

    states: Array
    next_states: Array


@dataclass(frozen=True)
class EntryBounds:
    """Constraints q (a − c)² + s a − b ≤ 0 on entries a of A.

    Attributes
    ----------
    rows, columns : array of shape (m,)
        The entry of each constraint.
    coefficients : array of shape (4, m)
        q, c, s and b.
    """

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    coefficients: Array

    @classmethod
    def of(cls, table: Array) -> EntryBounds:
        """Read the table of the published code: kind, row, column and two numbers per line.

        Kinds 0 and 1 are intervals from the first number to the second. Kind 2 is (a − c)² ≥ k², where the
        numbers are c and k.
        """
        entries: list[tuple[int, int]] = []
        coefficients: list[tuple[float, ...]] = []
        for kind, row, column, first, second in table[:, :5]:
            found = (
                [(-1.0, first, 0.0, -(second**2))] if kind == 2.0 else [(0, 0, -1, -first), (0, 0, 1, second)]
            )
            coefficients += found
            entries += [(int(row), int(column))] * len(found)
        rows, columns = np.array(entries).T
        return cls(rows, columns, np.array(coefficients).T)


def draw_instance(dim: int, n_starts: int, seed: int) -> tuple[Measurements, EntryBounds, dict[str, Start]]:
    """Draw a stable system, bounds on its entries, trajectories, and strictly feasible starts (J, R, Q).

    A start comes from a random stable A with bounded entries drawn within their bounds. Given a
    random R, Lyapunov's equation AP + PAᵀ = −2R yields Q = P⁻¹ and J = AP + R with A = (J − R)Q.
    """
    rng = np.random.default_rng([seed, dim])
    A = _random_system(dim, rng)
    table = _random_bounds(A, rng)
    pairs = [_trajectory(A, rng) for _ in range(TRAJECTORIES)]
    starts: dict[str, Start] = {}
    while len(starts) < n_starts:
        trial = _random_system(dim, rng)
        for (row, column), allowed in _allowed_intervals(table).items():
            low, high = allowed[rng.integers(len(allowed))]
            trial[row, column] = rng.uniform(0.9 * low + 0.1 * high, 0.1 * low + 0.9 * high)
        if np.linalg.eigvals(trial).real.max() < -0.05:
            starts[f"start {len(starts) + 1}"] = _factored(trial, _random_definite(dim, rng))
    return _joined(pairs), EntryBounds.of(table), starts


def published_instance() -> tuple[Measurements, EntryBounds, dict[str, Start]]:
    """Read the instance of the published code, with its 20 starts, from the folder in `FOLDER`."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        raise FileNotFoundError(
            f"`{FOLDER}` is not set; give it the folder dataset/StableIdentification/1 of the published code."
        )

    def read(name: str) -> Array:
        return np.loadtxt(Path(folder) / f"{name}.csv")

    pairs = [read(f"noisyX_{i + 1}") for i in range(TRAJECTORIES)]
    starts = {f"start {c}": (read(f"initJ_{c}"), read(f"initR_{c}"), read(f"initQ_{c}")) for c in _LETTERS}
    return _joined(pairs), EntryBounds.of(read("constset")), starts


_LETTERS = "abcdefghijklmnopqrst"


def _joined(trajectories: list[Array]) -> Measurements:
    return Measurements(
        np.hstack([X[:, :-1] for X in trajectories]), np.hstack([X[:, 1:] for X in trajectories])
    )


def _random_definite(dim: int, rng: np.random.Generator) -> Array:
    turn = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    return np.asarray((turn * rng.uniform(1.0, 2.0, dim)) @ turn.T)


def _random_system(dim: int, rng: np.random.Generator) -> Array:
    noise = rng.standard_normal((dim, dim))
    J = 0.5 * (noise - noise.T)
    return np.asarray((J - _random_definite(dim, rng)) @ _random_definite(dim, rng))


def _random_bounds(A: Array, rng: np.random.Generator) -> Array:
    """Return intervals around a fifth of the entries, and a gap inside the interval of another tenth."""
    order, lines = rng.permutation(A.size), []
    one, two = A.size // 5, A.size // 10
    for position, entry in enumerate(order[: one + two]):
        row, column = divmod(int(entry), len(A))
        a, (below, above) = A[row, column], rng.uniform(0.2, 0.8, 2)
        if position < one:
            lines.append((0.0, row, column, a - below * abs(a), a + above * abs(a)))
            continue
        share, reach = rng.uniform(0.2, 0.8, 2)
        c = share * a
        lines.append((1.0, row, column, -(1.0 + below) * abs(a), (1.0 + above) * abs(a)))
        lines.append((2.0, row, column, c, c + reach * (a - c)))
    return np.array(lines)


def _allowed_intervals(table: Array) -> dict[tuple[int, int], Intervals]:
    """Return the intervals in which each bounded entry may lie."""
    allowed: dict[tuple[int, int], Intervals] = {}
    for kind, row, column, first, second in table:
        entry = int(row), int(column)
        if kind != 2.0:
            allowed[entry] = [(first, second)]
            continue
        low, high = allowed[entry][0]
        sides = [(low, first - abs(second)), (first + abs(second), high)]
        allowed[entry] = [(a, b) for a, b in sides if a < b]
    return allowed


def _trajectory(A: Array, rng: np.random.Generator) -> Array:
    """Return a noisy trajectory, with noise 10 dB below the signal at the same time.

    Like the published code, we take the exponential of each entry of A, not of the matrix: the data then do
    not fit any stable A, which makes bounds active.
    """
    start = rng.uniform(-1000.0, 1000.0, len(A))
    columns = [start, *(np.exp(i * TIME_STEP * A) @ start for i in range(1, LENGTH))]
    noise = [
        rng.standard_normal(len(A)) * np.sqrt(np.mean(x**2) / 10.0 ** (DECIBELS / 10.0)) for x in columns
    ]
    noisy = np.column_stack(columns) + np.column_stack(noise)
    return np.asarray(noisy / np.linalg.norm(noisy[:, 0]))


def _factored(A: Array, R: Array) -> Start:
    P = solve_continuous_lyapunov(A, -2.0 * R)
    P = 0.5 * (P + P.T)
    Q = np.linalg.inv(P)
    product = A @ P
    return 0.5 * (product - product.T), R, 0.5 * (Q + Q.T)
