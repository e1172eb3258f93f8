"""The result of solving a semidefinite program."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from geodual.arrays import Array

from .linear_map import Symmetric

_WIDTH = 100  # of printed results, in characters


class Round(NamedTuple):
    """One round of `SemidefiniteProgram.solve`: the number of columns of Y, and its certificate.

    Attributes
    ----------
    rank : int
        Number of columns of Y.
    cost : float
        ⟨C, YYᵀ⟩.
    lower_bound : float
        The lower bound from the multipliers of this round.
    smallest_eigenvalue : float
        Estimate of the smallest eigenvalue of S.
    status : str
        The status of `minimize`.

    See Also
    --------
    SemidefiniteResult : Its `history` consists of rounds.
    """

    rank: int
    cost: float
    lower_bound: float
    smallest_eigenvalue: float
    status: str


@dataclass(frozen=True, eq=False)
class SemidefiniteResult:
    """The result of `SemidefiniteProgram.solve`: a factor of X, multipliers, and what they prove.

    Attributes
    ----------
    Y : array of shape (n, p)
        The factor of X = YYᵀ, with as many columns as X has rank.
    X : array of shape (n, n)
        The matrix, formed on demand.
    cost : float
        ⟨C, X⟩. The structural constraint holds to rounding error, so this is an upper bound of the smallest
        cost if further constraints hold; see `infeasibility`.
    lower_bound : float
        If `bound_is_proved`, no feasible matrix costs less.
    gap : float
        `cost` − `lower_bound`.
    relative_gap : float
        The absolute value of the gap, divided by the largest of t‖C‖/n and the absolute values of `cost` and
        `lower_bound`; t is the trace of X and ‖C‖ the Frobenius norm. The term t‖C‖/n is the size of a
        typical cost; it matters only if the cost is close to 0.
    infeasibility : float
        Largest violation of a further constraint ⟨A, X⟩ = b or ≤ b, divided by the larger of the absolute
        value of b and t‖A‖/n; 0 without further constraints.
    multipliers : array
        y of the structural constraint: one number per row for a diagonal, a matrix per block, or one number
        for a trace.
    equality_multipliers, inequality_multipliers : array
        Those of further constraints; those of inequalities are never positive.
    dual_matrix : array, sparse array or LinearOperator
        S = C − A*(y); at a solution, SX = 0 and S ⪰ 0.
    smallest_eigenvalue : float
        Estimate of the smallest eigenvalue of S; for a trace ≤ t, it includes the multiplier of the slack.
    eigenvalue_bound : float
        A lower bound of all eigenvalues of S.
    bound_is_proved : bool
        Whether a Cholesky factorization proves `eigenvalue_bound`, rounding errors included. For more than
        8,000 rows it is not proved but is an estimate by Lanczos's method minus its residual. Nor is it
        proved if C or a constraint is an operator, because the rounding errors inside it are unknown.
    status : str
        "converged" only if `relative_gap` and `infeasibility` are at most the tolerance. Otherwise
        "max_rounds", "stalled" (no step decreases the cost any more), or the status of `minimize`.
    message : str
        What the status means, and what to do.
    history : tuple of Round
        One entry per rank that was tried.
    success : bool
        Whether the status is "converged".
    rank : int
        The rank of X: the number of columns of Y.

    See Also
    --------
    SemidefiniteProgram : The program, whose `solve` returns this.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.semidefinite import SemidefiniteProgram
    >>> result = SemidefiniteProgram(np.array([[0.0, 1.0], [1.0, 0.0]])).solve()
    >>> result.X.round(6).tolist(), round(result.cost, 6), result.rank, result.bound_is_proved
    ([[1.0, -1.0], [-1.0, 1.0]], -2.0, 1, True)
    >>> result.multipliers.round(6).tolist(), result.dual_matrix.round(6).tolist()
    ([-1.0, -1.0], [[1.0, 1.0], [1.0, 1.0]])
    """

    Y: Array = field(repr=False)
    cost: float
    lower_bound: float
    relative_gap: float
    infeasibility: float
    multipliers: Array = field(repr=False)
    equality_multipliers: Array = field(repr=False)
    inequality_multipliers: Array = field(repr=False)
    dual_matrix: Symmetric = field(repr=False)
    smallest_eigenvalue: float
    eigenvalue_bound: float
    bound_is_proved: bool
    status: str
    message: str
    history: tuple[Round, ...] = field(repr=False)

    @property
    def X(self) -> Array:
        """The matrix YYᵀ."""
        return np.asarray(self.Y @ self.Y.T)

    @property
    def gap(self) -> float:
        """The most by which a feasible matrix can cost less than `cost`."""
        return self.cost - self.lower_bound

    @property
    def rank(self) -> int:
        """The number of columns of Y."""
        return int(self.Y.shape[1])

    @property
    def success(self) -> bool:
        """Whether the gap and the constraints are within the tolerance."""
        return self.status == "converged"

    def __str__(self) -> str:
        ranks = " → ".join(str(entry.rank) for entry in self.history)
        proof = "proved" if self.bound_is_proved else "estimated, not proved"
        rows = {
            "cost": f"{self.cost:.10g}",
            "lower bound": f"{self.lower_bound:.10g} ({proof})",
            "gap": f"{self.gap:.2e}, relative {self.relative_gap:.2e}",
            "infeasibility": f"{self.infeasibility:.2e}",
            "eigenvalue of S": f"{self.smallest_eigenvalue:.2e}, at least {self.eigenvalue_bound:.2e}",
            "rank of X": f"{self.rank} of {len(self.Y)} rows; columns tried: {ranks}",
        }
        table = "\n".join(f"{name:16} {text}" for name, text in rows.items())
        return f"{self.status}. {textwrap.fill(self.message, _WIDTH)}\n{table}"
