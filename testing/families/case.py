"""The class of published problems: a benchmark problem with the starts and the tolerance of its paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geodual.optimize import Constraint

from ..problems.case import Array, BenchmarkProblem, linear_constraint


@dataclass(frozen=True)
class PublishedProblem(BenchmarkProblem):
    """A problem of a published family, with any number of named starts.

    Attributes
    ----------
    family : str
        Name of the family, for summaries of results.
    points : mapping from str to point
        The starts by name.
    tol : float
        The KKT residual that counts as solved in the paper.
    max_seconds : float
        Time limit per solve.
    peer_starts : int or None
        Number of starts that are also run with the peers; all by default.
    squared_equality : bool
        Whether the equalities are squares, such as ‖Σ xᵢ‖² = 0. Their gradients vanish at feasible points, so
        multipliers grow without bound as the violation decreases.
    """

    family: str = ""
    points: Mapping[str, Any] = field(default_factory=dict)
    tol: float = 1e-6
    max_seconds: float = 60.0
    peer_starts: int | None = None
    squared_equality: bool = False

    @property
    def starts(self) -> dict[str, Any]:
        """The starts by name."""
        return dict(self.points)


def bounded_below(shape: tuple[int, ...], least: float = 0.0) -> Constraint:
    """Return least − x ≤ 0, one constraint per entry of an array of the given shape."""
    size = int(np.prod(shape))

    def gradients(x: Any, indices: Any) -> Array:
        rows = np.zeros((len(indices), size))
        rows[np.arange(len(indices)), indices] = -1.0
        return rows.reshape(-1, *shape)

    return linear_constraint(
        lambda x: -np.asarray(x).ravel(), lambda w: -w.reshape(shape), -least, gradients=gradients
    )
